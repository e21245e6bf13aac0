"""What is known of a run by verl before verl is loaded: its settings, its plan, its account."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import NoneType
from typing import Any

import pytest
from pydantic import ValidationError

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import UserMessage
from gateway.api.client import GatewayClient
from gateway.api.seams import GoldCall
from gateway.api.wire import DistractorRequest, FailureRequest, SourceEnvironment
from training.rl.core.policy import PolicyLimits
from training.rl.core.policy_agent import Guide
from training.rl.native import generation
from training.rl.native.agenda import Question
from training.rl.native.generation import Generation
from training.rl.native.settings import DistractorShare
from training.rl.verl import versions
from training.rl.verl.account import Account, Line, figures_of_lines, last_failure
from training.rl.verl.configuration import Places, overrides_of
from training.rl.verl.plan import Plan
from training.rl.verl.presets import find_preset, preset_names
from training.rl.verl.settings import VerlSettings
from training.rl.verl.stretching import stretch
from training.rl.verl.versions import check_verl
from training.rollout.plan import Rollout
from training.sft.configuring import read_settings_of
from training.signals.supervision.gold import GoldGuide, Speech
from training.signals.supervision.guidance import Help, help_of
from training.signals.supervision.hints import HintGuide
from training.signals.supervision.questions import QuestionKey

from scripted_policy import END, CharacterTokenizer, ScriptedPolicy, call, tiny_renderer

NAMES = ("harbour", "market", "station")
QUESTIONS = [
    Question(source=SourceEnvironment(kind="environment", name=name), version=name[:1])
    for name in NAMES
]
PHASES = {"schedule": {"first": 5}, "supervision": {"learning_rate": 1e-5}}
HELP = {"demonstrations": {"members": 1, "closing": "Done."}, "hints": {"members": 1}}


def settings_of(tmp_path: Path, **sections: Any) -> VerlSettings:
    given: dict[str, Any] = {
        "model": "m",
        "out": tmp_path / "run",
        "data": [{"environments": ["harbour"]}],
        "training": {"learning_rate": 1e-6, "groups": 4, "group_size": 2},
    }
    for name, values in sections.items():
        given[name] = {**given.get(name, {}), **values}
    return VerlSettings.model_validate(given)


def plan_of(tmp_path: Path, questions: Sequence[Question] = QUESTIONS) -> Plan:
    return Plan(
        settings=settings_of(
            tmp_path, validation={"samples": 2, "distractors": {"mode": "random"}}
        ),
        model="m",
        questions=questions,
        held_out=[(QUESTIONS[0].source, "h"), (QUESTIONS[2].source, None)],
        url="http://127.0.0.1:1",
        episodes=tmp_path / "episodes",
    )


@pytest.mark.parametrize(
    ("sections", "words"),
    [
        ({"objective": {"credit": "turn"}}, "credit"),
        ({"user": {"model": "simulated"}}, "user.model"),
        ({"limits": {"user_turns": 3}}, "user_turns"),
        ({"alarms": {"start": "log"}}, "alarms.start: .*leave it out"),
        ({"signals": PHASES | {"schedule": {"alarms": ["start"]}}}, "alarms.start"),
        ({"signals": {"demonstrations": {"members": 1, "shaping": "luffy"}}}, "shaping"),
        ({"signals": HELP}, "guide 2 members of each group, and a group has 2"),
        ({"training": {"mini_batches": 3}}, "mini_batches"),
        ({"verl": {"devices": 3}}, "verl.devices"),
        ({"verl": {"devices": 2, "tensor_parallel": 3}}, "tensor_parallel"),
        ({"verl": {"device": "cpu", "devices": 2}}, "a CPU is one device"),
        ({"verl": {"workers": 60}, "limits": {"concurrency": 50}}, "verl.workers"),
    ],
)
def test_what_verl_cannot_do_is_refused_by_its_name(
    tmp_path: Path, sections: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        settings_of(tmp_path, **sections)


async def test_a_group_plays_the_same_episodes_with_both_back_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = [
        QUESTIONS[0],
        replace(QUESTIONS[1], failures=FailureRequest(rate=0.5)),
        replace(
            QUESTIONS[2],
            mixture=(
                DistractorShare(mode="none", share=0.5),
                DistractorShare(mode="banded", k=2, share=0.5),
            ),
        ),
    ]
    plan, played = plan_of(tmp_path, asked), list[Rollout]()

    async def note(*args: Any, **_: Any) -> list[Any]:
        played.extend(args[4])
        raise NotImplementedError

    monkeypatch.setattr(generation, "play_policy", note)
    client = GatewayClient("http://127.0.0.1:1", "key")  # never opened
    text = (tiny_renderer(), CharacterTokenizer())
    native = Generation(plan.settings, client, ScriptedPolicy(str), text, asked)
    for number in range(0, 12, 4):
        native.next_number = number
        with pytest.raises(NotImplementedError):
            await native.play(5, 4)
    expected = [rollout for number in range(12) for rollout in plan.group(number, 5)]
    assert played == expected
    assert len({rollout.labels.get("distractors") for rollout in played}) == 3


def guided_plan(tmp_path: Path) -> Plan:
    keys = [QuestionKey(name, None) for name in NAMES]
    settings = settings_of(tmp_path, signals=HELP, training={"group_size": 4})
    return replace(
        plan_of(tmp_path),
        settings=settings,
        gold={key: (GoldCall(tool=f"ask_{key}", arguments={"n": 1}, solves=(0,)),) for key in keys},
        hints={key: f"Look at the {key}." for key in keys},
    )


async def test_both_back_ends_help_the_same_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, text = guided_plan(tmp_path), (tiny_renderer(), CharacterTokenizer())
    guidance, told = plan.guidance(Speech(*text)), list[tuple[Rollout, Guide | None]]()

    async def note(*args: Any, guides: Mapping[int, Guide], **_: Any) -> list[Any]:
        told.extend((rollout, guides.get(at)) for at, rollout in enumerate(args[4]))
        raise NotImplementedError

    monkeypatch.setattr(generation, "play_policy", note)
    client = GatewayClient("http://127.0.0.1:1", "key")  # never opened
    native = Generation(
        plan.settings, client, ScriptedPolicy(str), text, QUESTIONS, guidance=guidance
    )
    with pytest.raises(NotImplementedError):
        await native.play(5, 2)
    played = [rollout for rollout, _ in told]
    assert played == [rollout for number in (0, 1) for rollout in plan.group(number, 5)]
    kinds = [Help.GOLD, Help.HINT, Help.NONE, Help.NONE] * 2
    assert [help_of(rollout) for rollout in played] == kinds
    by_verl = [guidance.guides([rollout]).get(0) for rollout in played]  # verl plays one by one
    assert [type(each) for each in by_verl] == [type(guide) for _, guide in told]
    assert [type(each) for each in by_verl] == [GoldGuide, HintGuide, NoneType, NoneType] * 2


def test_help_is_read_from_a_plan_as_it_was_written(tmp_path: Path) -> None:
    plan, text = guided_plan(tmp_path), (tiny_renderer(), CharacterTokenizer())
    plan.write(tmp_path / "plan.json")
    read = Plan.read(tmp_path / "plan.json")
    members = read.group(0, 0)
    guides, name = read.guidance(Speech(*text)).guides(members), members[0].environment
    turns = [guides[0].turn(number) for number in (0, 1)]
    said = [text[1].decode(turn.ids) for turn in turns if turn is not None]
    assert said == [call(f"ask_{name}", '{"n": 1}'), f"Done.{END}"]
    hinted = guides[1].prompt([UserMessage(content="Where?")], [])
    assert hinted is not None
    assert f"Look at the {name}." in text[1].decode(hinted)
    assert (read.gold.keys(), read.hints) == (plan.gold.keys(), plan.hints)


def test_how_long_ray_may_take_is_no_part_of_a_run(tmp_path: Path) -> None:
    patient = settings_of(tmp_path, verl={"start_seconds": 900})
    assert patient.verl.start_seconds == 900
    assert patient.model_dump() == settings_of(tmp_path).model_dump()


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    mixed = replace(
        QUESTIONS[1],
        distractors=DistractorRequest(mode="random"),
        failures=FailureRequest(rate=0.25),
        mixture=(DistractorShare(mode="none"),),
    )
    plan = plan_of(tmp_path, [QUESTIONS[0], mixed])
    plan.write(tmp_path / "plan.json")
    assert Plan.read(tmp_path / "plan.json") == plan


def test_a_validation_plays_each_environment_greedily_and_by_samples(tmp_path: Path) -> None:
    asked = plan_of(tmp_path).validation
    assert [each.kind for each in asked] == ["greedy"] * 2 + ["sampled"] * 4
    assert len({each.rollout.agent_seed for each in asked[2:]}) == 4
    assert all(each.rollout.distractors == DistractorRequest(mode="random") for each in asked)


def test_batches_clip_and_limits_are_said_in_the_words_of_verl(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path,
        training={"groups": 6, "mini_batches": 3},
        objective={"clip": 0.3, "kl": "loss", "kl_weight": 1e-4},
        verl={"overrides": ["trainer.nnodes=1"]},
    )
    limits = PolicyLimits(prompt_tokens=900, context_tokens=512, turn_tokens=24)
    said = overrides_of(settings, limits, Places(tmp_path), "m")
    told = dict(each.split("=", 1) for each in said)
    assert said[-1] == "trainer.nnodes=1"
    assert told["data.train_batch_size"] == "6"
    assert told["actor_rollout_ref.actor.ppo_mini_batch_size"] == "2"
    assert told["actor_rollout_ref.actor.clip_ratio_high"] == "0.3"
    assert told["actor_rollout_ref.actor.use_kl_loss"] == "true"
    assert told["actor_rollout_ref.actor.kl_loss_coef"] == "0.0001"
    assert told["data.max_prompt_length"] == told["data.max_response_length"] == "512"
    assert (told["trainer.test_freq"], told["data.val_batch_size"]) == ("-1", "1")
    assert told["+trainer.v1.sampler.sampler_kwargs.num_helped"] == "0"


@pytest.mark.parametrize(
    ("found", "words"),
    [("0.10.0", r"verl 0\.10\.0 is installed"), (None, "needs verl: install")],
)
def test_another_verl_and_none_are_told_before_anything_begins(
    monkeypatch: pytest.MonkeyPatch, found: str | None, words: str
) -> None:
    def version(_name: str) -> str:
        if found is None:
            raise PackageNotFoundError
        return found

    monkeypatch.setattr(versions, "version", version)
    with pytest.raises(ConfigError, match=words):
        check_verl()


@pytest.mark.parametrize("name", preset_names())
def test_each_preset_makes_a_run_with_a_file_that_names_data(tmp_path: Path, name: str) -> None:
    file = tmp_path / "run.toml"
    file.write_text(f'preset = "{name}"\nout = "o"\n[[data]]\nenvironments = ["e"]\n')
    settings = read_settings_of(VerlSettings, file, {}, find=find_preset)
    assert settings.verl.device == "gpu"
    reads = settings.limits.context_tokens
    assert reads is not None
    assert reads <= settings.limits.prompt_tokens + settings.limits.response_tokens


def test_the_paper_has_one_update_of_256_groups(tmp_path: Path) -> None:
    for name in ("paper-14b", "paper-32b"):
        training: Any = find_preset(name)["training"]
        assert (training["groups"], training["mini_batches"]) == (256, 1)
        assert training["learning_rate"] == 2e-6


@pytest.mark.parametrize(
    ("groups", "devices", "allowed", "at_once"),
    [(4, (1, 1), 32, 8), (12, (1, 1), 32, 24), (12, (2, 1), 8, 6), (12, (2, 2), 8, 8)],
)
def test_episodes_are_computed_in_equal_parts(
    tmp_path: Path, groups: int, devices: tuple[int, int], allowed: int, at_once: int
) -> None:
    settings = settings_of(
        tmp_path,
        training={"groups": groups, "micro_batch_size": allowed},
        verl={"devices": devices[0], "sequence_parallel": devices[1]},
    )
    assert settings.episodes_at_once == at_once


def test_a_preset_that_is_not_there_names_the_closest_one() -> None:
    with pytest.raises(ConfigError, match="did you mean paper-14b"):
        find_preset("paper-14")


def test_episodes_of_all_processes_come_to_the_figures_of_a_step(tmp_path: Path) -> None:
    common: dict[str, Any] = {"step": 3, "kind": "train", "group": 0}
    first, second = Account(tmp_path), Account(tmp_path)
    first.note(
        Line(
            **common, sample=0, episode="a", reward=1.0, recall=1.0, calls=2, turns=3, stop="answer"
        )
    )
    second.note(
        Line(
            **common, sample=1, episode="b", reward=0.5, recall=1.0, calls=4, turns=5, stop="turns"
        )
    )
    second.note(Line(**common, sample=2, episode=None, failure="at the boundary gateway: gone"))
    lines = [*Account.read(tmp_path)]
    figures = figures_of_lines(lines, "rollout/")
    assert (figures["rollout/episodes"], figures["rollout/failed"]) == (3, 1)
    assert (figures["rollout/reward"], figures["rollout/calls"]) == (0.75, 3)
    assert figures["rollout/stops/turns"] == 1
    assert figures_of_lines(lines, "rollout/", "recall")["rollout/reward"] == 1.0
    assert {line.help for line in lines} == {Help.NONE}
    assert last_failure(lines) == "at the boundary gateway: gone"


def test_a_line_that_is_being_written_is_not_read(tmp_path: Path) -> None:
    Account(tmp_path).note(Line(step=0, kind="greedy", group=1, sample=0, episode="a", reward=1.0))
    file = next(tmp_path.glob("*.jsonl"))
    file.write_bytes(file.read_bytes() + b'{"step": 0, "ki')
    assert [line.episode for line in Account.read(tmp_path)] == ["a"]


@pytest.mark.parametrize("name", ["rope_parameters", "rope_scaling"])
def test_a_stretched_model_reads_further_and_keeps_its_files(tmp_path: Path, name: str) -> None:
    model = tmp_path / "model"
    model.mkdir()
    config = {"max_position_embeddings": 40_960, name: None, "rope_theta": 1e6}
    (model / "config.json").write_text(json.dumps(config))
    (model / "model.safetensors").write_bytes(b"weights")
    made = stretch(model, tmp_path / "made", 2.0)
    told = json.loads((made / "config.json").read_text())
    assert told["max_position_embeddings"] == 81_920
    assert told[name] == {
        "rope_type": "yarn",
        "factor": 2.0,
        "original_max_position_embeddings": 40_960,
    }
    assert (made / "model.safetensors").read_bytes() == b"weights"
    with pytest.raises(ConfigError, match="stretches its positions already"):
        stretch(made, tmp_path / "again", 2.0)
