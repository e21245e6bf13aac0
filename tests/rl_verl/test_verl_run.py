"""verl trains on the CPU: steps, checkpoints, resumes, and processes that are killed under way."""

import json
import os
import shutil
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.call_record import EpisodeId
from gateway.api.client import GatewayClient
from training.render import load_tokenizer
from training.rl.verl.account import Line
from training.rl.verl.plan import Plan
from training.signals.supervision.questions import QuestionKey

from verl_runs import VerlRun, open_gateway, played_in, wait_for

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(7200)]

_RUN = """
model = "{place}/pupil/weights/step-00000060"
out = "{name}"
[[data]]
environments = {names}
questions = "all"
[training]
steps = {steps}
groups = 4
group_size = 4
mini_batches = 2
learning_rate = 1e-3
[limits]
turns = 4
turn_tokens = 32
[validation]
environments = {held_out}
every = 2
[checkpoints]
every = 2
[log]
tensorboard = false
[verl]
device = "cpu"
gradient_checkpointing = false
start_seconds = 1200
"""
_GUIDED = """
overrides = [
    "trainer.v1.sampler.custom_sampler.path=pkg://seen_by_verl",
    "trainer.v1.sampler.custom_sampler.name=SeenBatches",
    'actor_rollout_ref.rollout.agent.agent_loop_config_path="{agents}"',
]
[signals.demonstrations]
members = 1
closing = "Done."
[signals.hints]
members = 1
"""
_HINT = "These calls lead to the answer:"


def config_of(run: VerlRun, *, steps: int) -> Path:
    names = sorted(each.name for each in run.environments.iterdir())
    text = _RUN.format(
        names=json.dumps(names[2:]),
        held_out=json.dumps(names[:2]),
        steps=steps,
        name=run.name,
        place=run.place,
    )
    run.config.write_text(text)
    return run.config


def test_steps_learn_and_are_saved_and_a_run_goes_on_with_the_very_batch(pupil: VerlRun) -> None:
    run = replace(pupil, name="three")
    with open_gateway(run) as gateway:
        assert "verl 0.9.1" in run.train(config_of(run, steps=3))
        for step in (1, 2, 3):
            figures = run.figures(step)
            assert figures["gradient_norm"] > 0
            assert figures["filling/failed"] == figures["rollout/failed"] == 0
            assert figures["rollout/turns"] > 1
            assert figures["rollout_correlation"] > 0.999
        assert {"greedy/reward", "sampled/reward"} <= {*run.figures(0)} & {*run.figures(2)}
        check_record(gateway.client(), [*run.lines])

        third = played_in(run, "from-0", 3)
        saved = run.out / "checkpoints"
        assert (saved / "global_step_2" / "transfer_queue").exists()
        shutil.rmtree(saved / "global_step_3")  # as it was before the third step
        (saved / "latest_checkpointed_iteration.txt").write_text("2")
        run.train(run.config)
        assert [line["step"] for line in run.metrics] == [0, 1, 2, 3]
        assert played_in(run, "from-2", 3) == third


def test_a_run_outlives_kills_of_gateway_and_player_and_ctrl_c_leaves_no_process(
    pupil: VerlRun,
) -> None:
    run = replace(pupil, name="killed")
    with open_gateway(run) as gateway:
        process = run.begin(config_of(run, steps=2))
        wait_for(lambda: any(line.kind == "train" for line in run.lines), process)
        player = next(run.out.glob("verl/from-0/episodes/*.jsonl")).name.partition("-")[0]
        os.kill(int(player), signal.SIGKILL)
        wait_for(lambda: len(players(run)) > 1, process)
        gateway.restart()
        said, _ = process.communicate()
        assert process.returncode == 0, said
        assert [line["step"] for line in run.metrics] == [0, 1, 2]
        lines = [line for line in run.lines if line.reward is not None]
        assert len(lines) >= 2 * 4 * 4
        check_record(gateway.client(), lines)

        process = run.begin(config_of(run, steps=50))
        wait_for(lambda: any(line.step > 2 for line in run.lines), process)
        assert run.processes()
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate()
        assert process.returncode == 130, said
        step = int(run.metrics[-1]["step"])
        assert f"stopped at step {step}, which is saved" in said
        assert (run.out / "checkpoints" / f"global_step_{step}" / "actor").exists()
        assert not run.processes()


def test_gold_and_hints_help_in_real_episodes_of_which_verl_trains_on_the_policys_part(
    pupil: VerlRun,
) -> None:
    run = replace(pupil, name="guided")
    begun, agents = run.out / "verl" / "from-0", run.place / "agents.json"
    loop = {
        "name": "astra_mcp",
        "_target_": "seen_by_verl.SeenLoop",
        "plan": str(begun / "plan.json"),
    }
    agents.write_text(json.dumps([loop]))
    config = config_of(run, steps=2)
    text = config.read_text().replace("mini_batches = 2", "mini_batches = 1")
    config.write_text(text + _GUIDED.format(agents=agents))
    with open_gateway(run) as gateway:
        run.train(config)
        lines = [line for line in run.lines if line.kind == "train"]
        check_record(gateway.client(), lines)
        check_batches(begun, gateway.client(), run.place / "pupil/weights/step-00000060")
    groups = {line.group for line in lines}
    for group in groups:
        kinds = Counter(line.help for line in lines if line.group == group)
        assert kinds == {"gold": 1, "hint": 1, "none": 2}
    assert all(line.reward >= 0.999 for line in lines if line.help == "gold" and line.reward)
    told = [json.loads(line)["data"] for line in (begun / "metrics.jsonl").read_text().splitlines()]
    for step in (1, 2):
        figures = run.figures(step)
        assert figures["signals/gold/reward"] >= 0.999
        helped = figures["signals/gold/episodes"], figures["signals/hint/episodes"]
        assert [*helped, figures["rollout/episodes"] / 2] == [figures["filling/groups"]] * 3
        assert figures["rollout_correlation"] > 0.999
        assert figures["gradient_norm"] > 0
        # The ratio is 1 where nothing is learnt yet, and no correction takes help for another policy's.
        assert figures["drift"] == pytest.approx(0, abs=1e-5)
        assert told[step]["rollout_corr/kl"] == pytest.approx(0, abs=1e-5)


def check_batches(begun: Path, client: GatewayClient, model: Path) -> None:
    """Hold the tensors that verl trained on against gold, and against what was sampled behind what."""
    tokenizer, renderer = load_tokenizer(str(model))
    plan, suffix = Plan.read(begun / "plan.json"), tokenizer.encode(renderer.sampling_only)
    episodes = {each["key"]: each for file in begun.glob("contexts-*") for each in lines_in(file)}
    gold = dict[str, Any]()

    async def ask() -> None:
        async with client as gateway:
            for key, episode in episodes.items():
                if episode["split"] == "train":
                    source = plan.group(episode["group"], 0)[0].source
                    question = QuestionKey.of_source(source)
                    assert question is not None
                    gold[key] = await gateway.gold(*question)

    anyio.run(ask)
    batches = lines_in(begun / "batches.jsonl")
    assert [len(batch["rows"]) for batch in batches] == [4 * 4] * 2
    for row in (row for batch in batches for row in batch["rows"]):
        sample, contexts = int(row["key"].split("_")[1]), episodes[row["key"]]["contexts"]
        turns = [*written(row["response_mask"])]
        assert _HINT not in tokenizer.decode([*row["prompts"], *row["responses"]])
        if sample == 0:
            assert contexts == []
            assert sum(row["rm_scores"]) >= 0.999
            said = [tokenizer.decode(row["responses"][begin:end]) for begin, end in turns]
            calls = [
                [(c.name, json.loads(c.arguments)) for c in renderer.parse(s).calls] for s in said
            ]
            assert calls == [*([(c.tool, c.arguments)] for c in gold[row["key"]]), []]
            assert renderer.parse(said[-1]).content == "Done."
            continue
        assert len(contexts) == len(turns)
        prompt = contexts[0][: len(contexts[0]) - len(suffix)]
        assert (_HINT in tokenizer.decode(prompt)) == (prompt != row["prompts"]) == (sample == 1)
        for context, (begin, end) in zip(contexts, turns, strict=True):
            assert context == [*prompt, *row["responses"][:begin], *suffix]
            ends = [at in tokenizer.end_ids for at in row["responses"][begin:end]]
            assert not any(ends[:-1])
            assert ends[-1] or end - begin == 32


def written(mask: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where turns begin and end; something is always shown between two."""
    at = 0
    for is_written, tokens in groupby(mask):
        begin, at = at, at + len([*tokens])
        if is_written:
            yield begin, at


def lines_in(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def players(run: VerlRun) -> set[Path]:
    return {*run.out.glob("verl/from-0/episodes/*.jsonl")}


def check_record(client: GatewayClient, lines: list[Line]) -> None:
    """Hold what the run knows of its episodes against the gateway's record."""

    async def check() -> None:
        async with client as gateway:
            for line in lines:
                assert line.episode is not None
                record = await gateway.record(EpisodeId(line.episode))
                assert len(record.calls) == line.calls
                assert record.state.reward is not None
                assert record.state.reward.reward == line.reward

    assert lines
    anyio.run(check)
