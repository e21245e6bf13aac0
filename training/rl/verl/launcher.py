"""Runs verl from begin to end: writes what its processes read, starts them, and tells what they come to."""

import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory

import anyio
import anyio.to_thread

from astra_mcp.errors import ConfigError, TrainingError
from training.checkpoints.lock import RunLock
from training.rl.core.policy import PolicyLimits
from training.rl.native.measuring import open_trackers
from training.rl.native.trainer import Playground
from training.rl.verl.account import Account, Line, figures_of_lines
from training.rl.verl.configuration import AGENT, CHECKPOINTS, STOP, Places, overrides_of
from training.rl.verl.driver import FAULT
from training.rl.verl.orders.files import OrderFiles, read_state
from training.rl.verl.orders.overseer import Overseer
from training.rl.verl.plan import ORDERS, Plan
from training.rl.verl.processes import environment, open_process, open_ray, read_end
from training.rl.verl.settings import VerlSettings
from training.rl.verl.stretching import stretch
from training.sft.run_folder import RunFolder
from training.sft.training import Ending, Outcome, Progress
from training.signals.health.alarms import Heard, Raised
from training.signals.supervision.gold import Speech
from training.signals.supervision.guidance import (
    SIGNALS,
    Guidance,
    Help,
    figures_of_help,
)
from training.signals.supervision.reflections import require_speakable

__all__ = ["Reached", "check_by_verl", "train_by_verl"]

_logger = logging.getLogger(__name__)

_FOLDER = "verl"
_LATEST = "latest_checkpointed_iteration.txt"
_OVERRIDES = "overrides.json"
_DRIVER = (sys.executable, "-m", "training.rl.verl.driver")
_POLL_SECONDS = 0.5
_NAMES = {
    "actor/pg_loss": "loss",
    "actor/grad_norm": "gradient_norm",
    "actor/entropy": "entropy",
    "actor/pg_clipfrac": "clip_fraction",
    "actor/ppo_kl": "drift",
    "actor/kl_loss": "kl",
    "actor/lr": "learning_rate",
    "timing_s/step": "seconds",
    "timing_s/gen": "seconds/rollout",
    "timing_s/update_actor": "seconds/update",
    "training/rollout_actor_probs_pearson_corr": "rollout_correlation",
    "training/rollout_probs_diff_max": "rollout_probability_difference",
}
"""Figures of verl that have a name here; those of the filling and of phases have theirs already."""
_LEARNING = "timing_s/learn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What a run plays through."""

    playground: Playground
    url: str
    key: str
    limits: PolicyLimits
    model: str
    """Where it is."""


def _log_alarm(raised: Raised) -> None:
    _logger.warning("%s", raised)


async def train_by_verl(
    settings: VerlSettings,
    reached: Reached,
    *,
    versions: Mapping[str, str],
    hear: Callable[[Progress], None],
    should_stop: Callable[[], bool] = lambda: False,
    hear_alarm: Heard = _log_alarm,
) -> Outcome:
    """Train to the last step, or until somebody asks for the end.

    Args:
        settings: Of the run.
        reached: The gateway and what is played, which the caller opened.
        versions: Of the libraries, for the record.
        hear: Told of each step.
        should_stop: Asked now and then; the step under way is finished and saved.
        hear_alarm: Told of each alarm that is raised; by default it is logged.

    Raises:
        ConfigError: The folder holds another run, verl does not take its configuration, or a question lacks
            what a signal is made of.
        ModelError: The model gave no hint, or no reflection.
        TrainingError: Ray does not start, or the run ends early; names the log.
    """
    played = reached.playground
    if settings.signals.reflects:
        require_speakable(played.renderer)
    sources = [question.source for question in played.questions]
    speech = Speech(played.renderer, played.tokenizer)
    guidance = await Guidance.of(settings.signals, played.gateway, sources, speech)
    guidance.require_room(reached.limits)
    folder = RunFolder.open(settings, played.digests | guidance.digests, versions)
    lock = RunLock(settings.out)
    try:
        place = settings.out / SIGNALS
        guidance = await guidance.advised(played.gateway, sources, played.adviser, place)
        run = _Run(settings, reached, folder, guidance, hear_alarm)
        if run.began_at >= settings.training.steps:
            return run.outcome(is_stopped=False)
        folder.log_from(run.began_at or -1)  # what was told before step 1 is made anew, too
        env = environment(settings.verl, reached.key, run.metrics)
        async with open_ray(settings.verl, env, run.place / "ray.log") as address:
            with open_trackers(settings, run.began_at + 1) as tell:
                run.tell = tell
                return await run.follow({**env, "RAY_ADDRESS": address}, hear, should_stop)
    finally:
        lock.release()


async def check_by_verl(
    settings: VerlSettings, limits: PolicyLimits, model: str
) -> Mapping[str, str]:
    """Have verl compose its configuration of a run and check it; nothing is played or written.

    Args:
        settings: Of the run.
        limits: Of each episode.
        model: Where it is, or is to be.

    Returns:
        What verl is told, by its own names.

    Raises:
        ConfigError: verl does not take it.
    """
    with TemporaryDirectory(prefix="astra-mcp-") as folder:
        place = Path(folder)
        overrides = overrides_of(settings, limits, Places(place), model)
        file, log = place / _OVERRIDES, place / "check.log"
        file.write_text(json.dumps(overrides), encoding="utf-8")
        env = environment(settings.verl, "", place / "metrics.jsonl")
        async with open_process([*_DRIVER, str(file), "--check"], env, log) as process:
            await process.wait()
        if process.returncode != 0:
            raise ConfigError(_fault(place, log))
    return dict(each.split("=", 1) for each in overrides)


class _Run:
    """One start of a run, in a folder of its own below the run's."""

    def __init__(
        self,
        settings: VerlSettings,
        reached: Reached,
        folder: RunFolder,
        guidance: Guidance,
        hear_alarm: Heard,
    ) -> None:
        self._settings = settings
        self._folder = folder
        self.began_at = _saved(settings.out)
        self.place = settings.out.resolve() / _FOLDER / f"from-{self.began_at}"
        self.metrics = self.place / "metrics.jsonl"
        self._episodes = self.place / "episodes"
        self._told = 0
        self.tell: Callable[[int, Mapping[str, float]], None] = lambda _step, _values: None
        if self.place.exists():  # of a start that saved nothing
            rmtree(self.place)
        self.place.mkdir(parents=True)
        (settings.out / STOP).unlink(missing_ok=True)
        plan = self._write(reached, guidance)
        self._orders = OrderFiles(self.place / ORDERS)
        self._seen: dict[int, Mapping[str, float]] = {}
        self._is_ended_by_alarm = False
        played = reached.playground
        self._overseer = Overseer(
            plan,
            played.gateway,
            (played.renderer, played.tokenizer),
            reached.limits,
            guidance,
            adviser=played.adviser,
            hear_alarm=hear_alarm,
        )
        saved = settings.out / CHECKPOINTS / f"global_step_{self.began_at}"
        is_needed = bool(self.began_at) and settings.signals.is_supervised
        self._overseer.begin_at(self.began_at, read_state(saved, is_needed=is_needed))

    def _write(self, reached: Reached, guidance: Guidance) -> Plan:
        played = reached.playground
        model, factor = reached.model, self._settings.verl.rope_factor
        if factor is not None:
            model = str(stretch(Path(model), self.place / "model", factor))
        plan = Plan(
            settings=self._settings,
            model=model,
            questions=played.questions,
            held_out=played.held_out,
            url=reached.url,
            episodes=self._episodes,
            gold=guidance.gold if self._settings.signals.num_helped else {},
            hints=guidance.hints,
        )
        places = Places(self.place)
        plan.write(places.plan)
        plan.write(places.held_out)
        agent = {
            "name": AGENT,
            "_target_": "training.rl.verl.agent_loop.EpisodeLoop",
            "plan": str(places.plan),
        }
        places.agents.write_text(json.dumps([agent]), encoding="utf-8")  # JSON is YAML too
        overrides = overrides_of(self._settings, reached.limits, places, model)
        if self.began_at:
            overrides.append("trainer.val_before_train=false")
        self._overrides = self.place / _OVERRIDES
        self._overrides.write_text(json.dumps(overrides, indent=1), encoding="utf-8")
        return plan

    async def follow(
        self,
        env: Mapping[str, str],
        hear: Callable[[Progress], None],
        should_stop: Callable[[], bool],
    ) -> Outcome:
        """Start the process that trains, and tell its steps until it ends."""
        command = [*_DRIVER, str(self._overrides)]
        log, is_stopped = self.place / "trainer.log", False
        async with open_process(command, env, log) as process:
            while process.returncode is None:
                if should_stop() and not is_stopped:
                    is_stopped = True
                    (self._settings.out / STOP).touch()
                with anyio.move_on_after(_POLL_SECONDS):
                    await process.wait()
                await self._answer()
                await self._tell(hear)
        await self._tell(hear)
        if process.returncode != 0:
            raise TrainingError(_fault(self.place, log))
        return self.outcome(is_stopped=is_stopped or self._is_ended_by_alarm)

    def outcome(self, *, is_stopped: bool) -> Outcome:
        """Say where the run stands."""
        step = _saved(self._settings.out)
        is_done = step >= self._settings.training.steps or not is_stopped
        weights = self._settings.out / CHECKPOINTS / f"global_step_{step}" / "actor" / "huggingface"
        return Outcome(
            Ending.DONE if is_done else Ending.STOPPED,
            step,
            self.began_at,
            weights if weights.exists() else None,
        )

    async def _answer(self) -> None:
        """Give orders where the trainer waits for some."""
        told = await anyio.to_thread.run_sync(self._orders.told)
        if told is None:
            return
        values = await anyio.to_thread.run_sync(self._looked_at, told.step)
        named = _named(told.figures)
        orders, decided = await self._overseer.decide(told.step, {**named, **values})
        self._seen[told.step] = {**values, **decided}
        self._is_ended_by_alarm = orders.is_stopped
        await anyio.to_thread.run_sync(self._orders.give, told.step, orders)

    async def _tell(self, hear: Callable[[Progress], None]) -> None:
        for step, found in await anyio.to_thread.run_sync(lambda: [*self._new_lines()]):
            values = {**_named(found), **self._seen.pop(step, {})}
            if _LEARNING in found:
                values["seconds/supervision"] += found[_LEARNING]
            values |= await anyio.to_thread.run_sync(self._judged, step)
            self._folder.log(step, values)
            self.tell(step, values)
            if step:
                hear(Progress(step, self._settings.training.steps, values))

    def _new_lines(self) -> Iterator[tuple[int, Mapping[str, float]]]:
        """Read what verl wrote since the last time; a line that is being written waits."""
        if not self.metrics.exists():
            return
        lines = self.metrics.read_bytes().split(b"\n")[:-1]
        for line in lines[self._told :]:
            told = json.loads(line)
            yield int(told["step"]), told["data"]
        self._told = len(lines)

    def _judged(self, step: int) -> dict[str, float]:
        lines = self._lines(step)
        figures: dict[str, float] = {}
        for kind in ("greedy", "sampled"):
            if judged := [line for line in lines if line.kind == kind]:
                figures |= figures_of_lines(judged, f"{kind}/")
        return figures

    def _lines(self, step: int) -> list[Line]:
        return [line for line in Account.read(self._episodes) if line.step == step]

    def _looked_at(self, step: int) -> dict[str, float]:
        played = [line for line in self._lines(step) if line.kind == "train"]
        return {**self._trained_on(played), **self._overseer.look(played)}

    def _trained_on(self, played: Sequence[Line]) -> Mapping[str, float]:
        earned = self._settings.objective.reward
        alone = [line for line in played if line.help is Help.NONE]
        return {
            **figures_of_lines(alone, "rollout/", earned),
            **figures_of_help([(line.help, line.earned(earned)) for line in played]),
        }


def _named(found: Mapping[str, float]) -> dict[str, float]:
    """Give verl's figures that have a name here, by that."""
    values = {ours: found[theirs] for theirs, ours in _NAMES.items() if theirs in found}
    values |= {name: v for name, v in found.items() if name.startswith(("filling/", f"{SIGNALS}/"))}
    return values


def _fault(place: Path, log: Path) -> str:
    """Say why the process that trains ended: in our words where it is one of our errors."""
    told = place / FAULT
    if told.exists():
        return told.read_text(encoding="utf-8")
    words = [line for line in read_end(log).splitlines() if line.strip()]
    return f"verl ended early: {words[-1] if words else 'it said nothing'}; {log} says more"


def _saved(out: Path) -> int:
    """Give the last step that is saved; 0 where none is.

    Raises:
        ConfigError: What verl says of it is no number.
    """
    file = out / CHECKPOINTS / _LATEST
    if not file.exists():
        return 0
    try:
        return int(file.read_text(encoding="utf-8"))
    except ValueError:
        raise ConfigError(
            f"{file} names no step, as a kill within a save leaves it: write the number of the last whole"
            " folder beside it there"
        ) from None
