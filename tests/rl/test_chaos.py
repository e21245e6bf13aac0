"""A run outlives kills of its gateway and servers that do not answer; nothing is done twice, or misjudged."""

import json
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
import torch

from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.trajectory import Trajectory
from astra_mcp.types import Origin
from gateway.api.client import GatewayClient
from gateway.api.wire import EpisodeLimits, EpisodeRequest, SourceEnvironment
from gateway.episodes.record import Record, read_record
from training.render import Tokenizer, load_tokenizer
from training.rl.core.filling import Group
from training.rl.core.playing import PolicyTrajectory, play_policy
from training.rl.core.policy import PolicyLimits, Sampled
from training.rl.native import generation, trainer
from training.rl.native.agenda import Question
from training.rl.native.generation import Member
from training.rl.native.settings import RlSettings
from training.rl.native.trainer import Playground, train
from training.rl.native.update import Update
from training.rollout.plan import Rollout
from training.sft.training import Ending, Outcome
from training.tiny.model import SMALLEST
from training.tiny.start import save_start

from chaos_gateway import ANSWER, NAME

pytestmark = [pytest.mark.train, pytest.mark.volume, pytest.mark.timeout(600)]

STEPS, GROUPS, SIZE = 4, 3, 4
CONTEXT = 4096
CALL_SECONDS = 3.0
KILLED_AT = (6, 40)
"""The gateway is killed once so many calls have had their effect."""
HANGS = 23
"""One in so many episodes calls a tool that never answers."""
_BOUNDARIES = {"transport", "upstream"}


class Writer:
    """Stands for the model: counts under a name of its own, looks in half of the episodes, and answers."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self.limits = PolicyLimits(turns=4, turn_tokens=128, context_tokens=CONTEXT)

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        """Write a turn for each; see :class:`training.rl.core.policy.Policy`."""
        del temperature
        return [
            self._write(self._tokenizer.decode(context), seed, max_tokens)
            for context, seed in zip(contexts, seeds, strict=True)
        ]

    def probabilities(
        self, contexts: Sequence[Sequence[int]], tokens: Sequence[int]
    ) -> list[tuple[float, ...]]:
        """Everything is as likely; see :class:`training.evaluation.sampler.ModelSampler`."""
        return [(0.1,) * len(tokens) for _ in contexts]

    def _write(self, context: str, seed: int, max_tokens: int) -> Sampled:
        turn = context.count("<|im_start|>assistant")
        said = "done"
        if turn == 1:
            said = _call("count" if seed % HANGS else "hang", {"nonce": f"n{seed:x}"})
        elif turn == 2 and seed % 2:
            said = _call("look", {})
        ids = self._tokenizer.encode(f"{said}<|im_end|>")
        assert len(ids) <= max_tokens
        return Sampled(tuple(ids), tuple(-6.0 for _ in ids), is_ended=True)


def _call(name: str, arguments: dict[str, str]) -> str:
    called = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{called}\n</tool_call>"


class Harbour:
    """The gateway's process, its home and its ledger."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self._ledger = folder / "ledger"
        self._port = 0
        self.kills = 0
        self.process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        script = Path(__file__).parents[1] / "support" / "chaos_gateway.py"
        command = [sys.executable, "-P", str(script), str(self.home), str(self._port)]
        process = subprocess.Popen([*command, str(self._ledger)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        self.url = json.loads(process.stdout.readline())["url"]
        self._port = int(self.url.rpartition(":")[2])
        return process

    def restart(self) -> None:
        """Kill the gateway, and start another one on the same home and port."""
        self.stop()
        self.process = self._start()
        self.kills += 1

    def stop(self) -> None:
        """Kill it."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def executed(self) -> list[str]:
        """What the tools did, by the names of the calls."""
        return self._ledger.read_text().split() if self._ledger.exists() else []

    def records(self) -> dict[str, Record]:
        """What the gateways knew, by the ids of the episodes."""
        found = [read_record(path) for path in (self.home / "records").rglob("*.jsonl")]
        return {record.opened.id: record for record in found}

    async def be_killed(self) -> None:
        """Be killed twice, in the middle of calls."""
        for count in KILLED_AT:
            while len(self.executed()) < count:  # noqa: ASYNC110 - another process writes it
                await anyio.sleep(0.01)
            await anyio.to_thread.run_sync(self.restart)


@asynccontextmanager
async def open_harbour(folder: Path) -> AsyncGenerator[Harbour]:
    harbour = await anyio.to_thread.run_sync(Harbour, folder)
    try:
        yield harbour
    finally:
        harbour.stop()


class Heard:
    """What the run played, and what it trained on."""

    def __init__(self) -> None:
        self.played: list[PolicyTrajectory] = []
        self.trained: list[Group[Member]] = []

    async def play(self, *args: Any, **options: Any) -> list[PolicyTrajectory]:
        played = await play_policy(*args, **options)
        self.played += played
        return played

    @property
    def failed(self) -> list[Trajectory]:
        """The episodes that failed."""
        return [one.trajectory for one in self.played if one.trajectory.failure is not None]

    def groups(self) -> dict[str, list[PolicyTrajectory]]:
        """The episodes by the number of their group."""
        found: dict[str, list[PolicyTrajectory]] = {}
        for one in self.played:
            found.setdefault(one.trajectory.labels["group"], []).append(one)
        return found


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """Look over the shoulder of a run whose model is written down and whose calls have little time."""
    heard = Heard()
    learn, request = Update.learn, Rollout.request.fget
    assert request is not None

    def learn_and_note(self: Update, groups: Sequence[Group[Member]], step: int) -> Any:
        heard.trained += groups
        return learn(self, groups, step)

    def hurried(rollout: Rollout) -> EpisodeRequest:
        limits = EpisodeLimits(call_seconds=CALL_SECONDS)
        return request(rollout).model_copy(update={"limits": limits})

    monkeypatch.setattr(Update, "learn", learn_and_note)
    monkeypatch.setattr(Rollout, "request", property(hurried))
    monkeypatch.setattr(generation, "play_policy", heard.play)
    return heard


def settings_of(start: Path, out: Path) -> RlSettings:
    return RlSettings.model_validate(
        {
            "model": str(start),
            "out": out,
            "seed": 3,
            "data": [{"environments": [NAME]}],
            "limits": {"turns": 4, "turn_tokens": 128, "context_tokens": CONTEXT},
            "training": {
                "learning_rate": 0.001,
                "steps": STEPS,
                "groups": GROUPS,
                "group_size": SIZE,
            },
            "log": {"tensorboard": False},
        }
    )


def _reading(start: Path, tokens: int) -> Path:
    """Let a model read more than it does."""
    file = start / "config.json"
    config = json.loads(file.read_text()) | {"max_position_embeddings": tokens}
    file.write_text(json.dumps(config))
    return start


async def test_a_run_outlives_kills_of_its_gateway_and_servers_that_do_not_answer(
    heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.set_num_threads(1)
    start = _reading(save_start(tmp_path / "start", size=SMALLEST), CONTEXT)
    tokenizer, renderer = load_tokenizer(str(start))

    def write(*_: object) -> Writer:
        return Writer(tokenizer)

    monkeypatch.setattr(trainer, "ModelSampler", write)
    async with (
        open_harbour(tmp_path) as harbour,
        GatewayClient(harbour.url, CONTROL_KEY) as client,
    ):
        await client.environments()
        playground = Playground(
            gateway=client,
            renderer=renderer,
            tokenizer=tokenizer,
            questions=[
                Question(source=SourceEnvironment(kind="environment", name=NAME), version=None)
            ],
        )
        outcomes: list[Outcome] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(harbour.be_killed)
            outcomes.append(
                await train(
                    settings_of(start, tmp_path / "run"),
                    playground,
                    versions={},
                    hear=lambda _: None,
                )
            )
        records = harbour.records()
    [done] = outcomes
    assert (done.ending, done.step, harbour.kills) == (Ending.DONE, STEPS, 2)
    _check_failures(heard, tmp_path / "run")
    _check_effects(heard, harbour.executed(), records)
    _check_rewards(heard, records)


def _check_failures(heard: Heard, out: Path) -> None:
    """Whatever failed says where, has no reward, and takes its whole group out of the batches."""
    said = Counter(t.failure.boundary for t in heard.failed if t.failure is not None)
    assert set(said) <= _BOUNDARIES, said
    messages = [t.failure.message for t in heard.failed if t.failure is not None]
    assert any("no answer from harbour within" in message for message in messages), messages
    assert any("delivery unknown" in m or "no answer from the gateway" in m for m in messages)
    assert all(t.reward is None for t in heard.failed)
    broken = {t.labels["group"] for t in heard.failed}
    trained = [str(group.number) for group in heard.trained]
    assert broken.isdisjoint(trained)
    assert len(trained) == STEPS * GROUPS == len(set(trained))
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    assert sum(line["filling/failed"] for line in lines) == len(broken) > 0


def _check_effects(heard: Heard, executed: list[str], records: dict[str, Record]) -> None:
    """What had an effect had it once, and stands in a record; what was answered had one."""
    assert not [nonce for nonce, times in Counter(executed).items() if times > 1]
    counted = [c for record in records.values() for c in record.calls if "nonce" in c.arguments]
    assert set(executed) <= {str(c.arguments["nonce"]) for c in counted}
    answered = {c.result.text for c in counted if c.result is not None and not c.result.is_error}
    assert answered <= set(executed)
    assert len(answered) > len(heard.trained)


def _check_rewards(heard: Heard, records: dict[str, Record]) -> None:
    """Each reward is what its record comes to, and each group trains on those of its members."""
    judged = [one for one in heard.played if one.reward is not None]
    for one in judged:
        assert one.trajectory.episode_id is not None
        record = records[one.trajectory.episode_id]
        texts = [call.result.text for call in record.calls if call.result is not None]
        assert all(c.origin is Origin.TOOL for c in record.finished_calls)
        assert len(texts) == len(record.calls) == len(one.trajectory.calls)
        solved = any(ANSWER in text for text in texts)
        precision = 1 / (len(texts) + 1e-6)
        assert one.reward == pytest.approx(2 * precision / (precision + 1) if solved else 0.0)
    groups = heard.groups()
    for group in heard.trained:
        assert group.rewards == tuple(one.reward for one in groups[str(group.number)])
    assert len({one.reward for one in judged}) == 2
