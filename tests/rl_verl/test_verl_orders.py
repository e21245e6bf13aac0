"""What the command decides between two steps of verl's, and how the trainer hears of it, without verl."""

import math
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.errors import ConfigError, TrainingError
from astra_mcp.trajectory import read_trajectories
from gateway.api.wire import SourceEnvironment
from training.rl.core.playing import PolicyTrajectory
from training.rl.core.policy import PolicyLimits
from training.rl.native.agenda import Question
from training.rl.native.lesson_updates import lesson_figures, lesson_updates
from training.rl.verl.account import Account, Line
from training.rl.verl.orders.files import OrderFiles, Orders, read_state, write_state
from training.rl.verl.orders.overseer import Overseer
from training.rl.verl.plan import Plan
from training.rl.verl.settings import VerlSettings
from training.signals.health.alarms import Raised
from training.signals.health.monitor import structures_of
from training.signals.health.structure import Classifier
from training.signals.supervision.gold import Speech
from training.signals.supervision.guidance import Guidance
from training.signals.supervision.lessons import Lesson

from policy_episodes import play, turns
from scripted_policy import END, CharacterTokenizer, ScriptedPolicy, call, tiny_renderer
from small_gateway import NAME, SmallGateway, open_small_gateway

RENDERER, TOKENIZER = tiny_renderer(), CharacterTokenizer()
LIMITS = PolicyLimits(turns=3, turn_tokens=200)
PHASES: dict[str, Any] = {
    "schedule": {"stages": [1, 2]},
    "supervision": {"learning_rate": 0.1, "epochs": 2, "batch_size": 2, "warmup_ratio": 0.5},
}
LESSONS = [Lesson((1, 2, 3), (False, True, True), "gold"), Lesson((4, 5), (False, True), "review")]


@pytest.fixture
async def harbour(tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


def settings_of(tmp_path: Path, **sections: Any) -> VerlSettings:
    given = {
        "model": "m",
        "out": tmp_path / "run",
        "data": [{"environments": [NAME]}],
        "training": {"learning_rate": 0.01, "steps": 3, "groups": 1, "group_size": 2},
        "verl": {"device": "cpu"},
        **sections,
    }
    return VerlSettings.model_validate(given)


class Command:
    """The command's part of a run, of which a written policy plays the episodes."""

    def __init__(self, harbour: SmallGateway, settings: VerlSettings, place: Path) -> None:
        self._harbour = harbour
        source = SourceEnvironment(kind="environment", name=NAME)
        self.plan = Plan(
            settings=settings,
            model="m",
            questions=[Question(source=source, version=None)],
            held_out=(),
            url=harbour.url,
            episodes=place / "episodes",
        )
        self.account = Account(self.plan.episodes)
        self.heard: list[Raised] = []

    async def overseer(self) -> Overseer:
        settings = self.plan.settings
        sources = [question.source for question in self.plan.questions]
        speech = Speech(RENDERER, TOKENIZER)
        guidance = await Guidance.of(settings.signals, self._harbour.client, sources, speech)
        return Overseer(
            self.plan,
            self._harbour.client,
            (RENDERER, TOKENIZER),
            LIMITS,
            guidance,
            adviser=None,
            hear_alarm=self.heard.append,
        )

    async def play(self, step: int, *script: str) -> list[Line]:
        """Play a group as the processes of verl do, and account for it in another order."""
        group = self.plan.group(step - 1, step - 1)
        played = await play(self._harbour.client, ScriptedPolicy(turns(*script)), group)
        lines = [line_of(one, step) for one in played]
        for one, line in reversed([*zip(played, lines, strict=True)]):
            self.account.keep(step, one.trajectory)
            self.account.note(line)
        return lines


def line_of(played: PolicyTrajectory, step: int) -> Line:
    trajectory = played.trajectory
    forms = structures_of(played.ids, played.turns, Classifier.of(RENDERER), TOKENIZER)
    return Line(
        step=step,
        kind="train",
        group=step - 1,
        sample=trajectory.sample or 0,
        episode=trajectory.episode_id,
        reward=played.reward,
        structures=forms,
    )


async def test_a_phase_is_mined_of_what_the_processes_kept_and_belongs_to_its_step(
    harbour: SmallGateway, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path, signals=PHASES)
    command = Command(harbour, settings, tmp_path / "place")
    overseer = await command.overseer()
    overseer.begin_at(0, {})
    await command.play(1, f"No idea.{END}")
    orders, figures = await overseer.decide(1, {})
    (lesson,) = orders.lessons
    written = [t for t, is_own in zip(lesson.ids, lesson.mask, strict=True) if is_own]
    assert TOKENIZER.decode(written).startswith(call("look", "{}"))
    assert (orders.is_saved, orders.is_stopped, orders.state["phases"]) == (True, False, [1])
    assert (figures["signals/errors"], figures["signals/lessons/gold"]) == (1, 1)
    kept = [*read_trajectories(settings.out / "trajectories" / "step-00000001.jsonl")]
    assert [each.sample for each in kept] == [0, 1]
    assert not [*command.plan.episodes.glob("step-*")]

    await command.play(2, f"No idea.{END}")
    orders, figures = await overseer.decide(2, {})
    assert (orders.lessons, orders.is_saved, orders.state["phases"]) == ((), False, [1])
    assert "signals/errors" not in figures


async def test_a_run_goes_on_with_the_phases_of_its_checkpoint_and_forgets_later_ones(
    harbour: SmallGateway, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path, signals=PHASES)
    command = Command(harbour, settings, tmp_path / "place")
    killed = await command.overseer()
    await command.play(1, f"No idea.{END}")
    first, _ = await killed.decide(1, {})
    again = await command.overseer()
    again.begin_at(0, {})
    assert not [*settings.out.glob("*/*/step-*")]
    await command.play(1, f"No idea.{END}")
    assert (await again.decide(1, {}))[0] == first
    later = await command.overseer()
    later.begin_at(1, first.state)
    await command.play(1, f"No idea.{END}")
    assert not (await later.decide(1, {}))[0].lessons


async def test_alarms_bring_phases_on_and_stop_the_run_and_are_remembered(
    harbour: SmallGateway, tmp_path: Path
) -> None:
    signals = {
        "schedule": {"alarms": ["calls"], "least_gap": 1},
        "supervision": {"learning_rate": 0.1, "window": 1},
    }
    settings = settings_of(tmp_path, signals=signals, alarms={"calls": "stop"})
    command = Command(harbour, settings, tmp_path / "place")
    overseer = await command.overseer()
    sound = overseer.look(await command.play(1, call("look"), f"300 tons.{END}"))
    assert sound["structure/healthy_tool_call"] == 0.5
    orders, figures = await overseer.decide(1, sound)
    assert (figures["alarms/calls"], orders.is_stopped, orders.is_saved) == (0, False, False)
    assert "alarms/start" not in figures

    resumed = await command.overseer()
    resumed.begin_at(1, orders.state)
    silent = resumed.look(await command.play(2, f"No idea.{END}"))
    orders, figures = await resumed.decide(2, silent)
    assert [each.alarm.name for each in command.heard] == ["calls"]
    assert (figures["alarms/calls"], orders.is_stopped, orders.is_saved) == (1, True, True)
    assert orders.state["phases"] == [2]
    assert len(orders.lessons) == 1


def test_a_line_that_is_torn_is_not_there_yet(tmp_path: Path) -> None:
    account = Account(tmp_path)
    account.note(Line(step=1, kind="train", group=0, sample=0, episode=None))
    (file,) = tmp_path.glob("*.jsonl")
    (tmp_path / "step-00000001").mkdir()
    for place in (file, tmp_path / "step-00000001" / file.name):
        with place.open("ab") as lines:
            lines.write(b'{"step": 1, "ki')
    assert len([*Account.read(tmp_path)]) == 1
    assert Account.trajectories(tmp_path, 1) == Account.trajectories(tmp_path, 2) == []


def test_orders_reach_the_trainer_as_they_were_given_and_once(tmp_path: Path) -> None:
    command, trainer = OrderFiles(tmp_path / "orders"), OrderFiles(tmp_path / "orders")
    assert command.told() is None
    trainer.tell(1, {"actor/kl_loss": 0.25})
    told = command.told()
    assert told is not None
    assert (told.step, told.figures) == (1, {"actor/kl_loss": 0.25})
    given = Orders(lessons=LESSONS, is_saved=True, is_stopped=True, state={"phases": [1]})
    command.give(1, given)
    assert command.told() is None
    assert trainer.wait(1) == given
    with pytest.raises(TrainingError, match="no orders behind step 1 within 0 s"):
        trainer.wait(1, 0)
    trainer.tell(2, {})
    told = command.told()
    assert told is not None
    assert told.step == 2


def test_a_state_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "global_step_1"
    assert read_state(folder) == {}
    with pytest.raises(ConfigError, match=r"global_step_1/astra_mcp\.json is missing"):
        read_state(folder, is_needed=True)
    write_state(folder, {"phases": [1]})
    assert read_state(folder) == {"phases": [1]}
    (folder / "astra_mcp.json").write_text("{")
    with pytest.raises(ConfigError, match=r"global_step_1/astra_mcp\.json is no JSON"):
        read_state(folder)


def test_updates_of_a_phase_see_each_lesson_once_an_epoch(tmp_path: Path) -> None:
    lessons = [*LESSONS, Lesson((7, 8), (False, True), "gold")]
    settings = settings_of(tmp_path, signals=PHASES)
    updates = lesson_updates(settings, lessons, 1)
    assert [len(update.lessons) for update in updates] == [2, 1, 2, 1]
    for epoch in (updates[:2], updates[2:]):
        found = [lesson for update in epoch for lesson in update.lessons]
        assert sorted(found, key=lambda each: each.ids) == lessons
    # A half of the updates warm up; from the peak it falls.
    assert [update.rate for update in updates] == pytest.approx([0.05, 0.1, 0.1, 0.05])
    sizes = [update.num_tokens for update in updates]
    figures = lesson_figures(settings, updates, [4.0, 1.0, 2.0, 2.0], 1)
    assert figures["signals/loss_first"] == pytest.approx((4 * sizes[0] + sizes[1]) / 4)
    assert figures["signals/loss_last"] == 2
    assert (figures["signals/updates"], figures["signals/tokens"]) == (4, 8)
    with pytest.raises(TrainingError, match="behind step 3 is no number any more"):
        lesson_figures(settings, updates, [1.0, math.nan, 1.0, 1.0], 3)
