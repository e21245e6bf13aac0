"""The loop: fill a batch, update, tell, validate and save, until the last step.

Batches, seeds and parts follow from the number of a step and of a group. So a run that goes on from a
checkpoint plays the very episodes, and makes the very weights, of one that never stopped.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio.to_thread
import torch

from astra_mcp.errors import ConfigError
from astra_mcp.synthesis.asking import Asks
from astra_mcp.types import canonical_json
from gateway.api.client import GatewayClient
from training.checkpoints import CheckpointStore, CheckpointWriter
from training.evaluation.evaluating import evaluate
from training.evaluation.sampler import ModelSampler, limits_of_model
from training.render import Renderer, Tokenizer
from training.rl.core.filling import BatchFilling
from training.rl.native.agenda import Question
from training.rl.native.generation import (
    Generation,
    Member,
    Rewards,
    group_of,
    group_state,
    limits_of_episode,
)
from training.rl.native.measuring import Meter, figures_of_rollouts, open_trackers
from training.rl.native.settings import RlSettings
from training.rl.native.supervision import Supervision
from training.rl.native.update import Update
from training.rl.native.watching import Watch
from training.rollout.plan import Source
from training.rollout.users.user import Users
from training.sft.model import (
    Model,
    load_model,
    make_optimizer,
    model_config,
    optimizer_state,
    restore_optimizer,
    side_files,
    tied_names,
    weights_of,
)
from training.sft.run_folder import RunFolder
from training.sft.settings import TrainingSettings
from training.sft.training import Ending, Outcome, Progress
from training.signals.health.alarms import Heard, Raised
from training.signals.health.probes import CallProbe
from training.signals.supervision.gold import Speech
from training.signals.supervision.guidance import (
    SIGNALS,
    Guidance,
    Help,
    check_users,
    figures_of_help,
    help_of,
)
from training.signals.supervision.reflections import require_speakable

__all__ = ["Playground", "train"]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Playground:
    """What a policy plays, and through what."""

    gateway: GatewayClient
    renderer: Renderer
    tokenizer: Tokenizer
    questions: Sequence[Question]
    """To learn from."""
    held_out: Sequence[tuple[Source, str | None]] = ()
    """To be judged by."""
    users: Users | None = None
    """Speak to the policy, in validations too; without them the prompt of a source is all that is said."""
    adviser: Asks | None = None
    """Writes hints and reflections, where ``signals`` has a model do so."""

    @property
    def digests(self) -> dict[str, str]:
        """What is played, in digests: what a run goes on with has to be what it began with."""
        judged = [(source.model_dump(mode="json"), version) for source, version in self.held_out]
        asked = [question.as_json() for question in self.questions]
        parts = {"the questions": asked, "the held-out environments": judged}
        return {name: sha256(canonical_json(each)).hexdigest() for name, each in parts.items()}


def _log_alarm(raised: Raised) -> None:
    _logger.warning("%s", raised)


async def train(
    settings: RlSettings,
    playground: Playground,
    *,
    versions: Mapping[str, str],
    hear: Callable[[Progress], None],
    should_stop: Callable[[], bool] = lambda: False,
    rewards: Rewards | None = None,
    hear_alarm: Heard = _log_alarm,
) -> Outcome:
    """Train to the last step, or until somebody asks for the end.

    Args:
        settings: Of the run.
        playground: Opened by the caller, who also closes it.
        versions: Of the libraries, for the record.
        hear: Told of each step.
        should_stop: Asked after each step.
        rewards: What episodes earned, in the place of the gateway's reward. Those of a validation are judged
            by the gateway.
        hear_alarm: Told of each alarm that is raised; by default it is logged.

    Raises:
        ConfigError: The folder holds another run, the model cannot be loaded, or it does not read as much as
            the limits say. Or rewards come from two places.
        CheckpointError: A checkpoint cannot be written.
        TrainingError: Too few groups can teach something, no group comes through, or the loss is no number.
        RefusedError: The gateway does not take what is asked for.
    """
    if rewards is not None and settings.objective.reward != "f1":
        msg = f"objective.reward is {settings.objective.reward}, and rewards of your own take its place"
        raise ConfigError(f"{msg}: leave it out")
    # Limits that the model cannot keep are refused before anything is begun.
    limits = limits_of_episode(settings, limits_of_model(model_config(settings.model)))
    guidance = await _guidance(settings, playground)
    if guidance is not None:
        guidance.require_room(limits)
    digests = playground.digests | (guidance.digests if guidance else {})
    folder = RunFolder.open(settings, digests, versions)
    keep = settings.checkpoints
    store = CheckpointStore(settings.out, keep.keep_states, keep.keep_weights)
    with CheckpointWriter(store) as writer:
        if guidance is not None:
            sources = [question.source for question in playground.questions]
            guidance = await guidance.advised(
                playground.gateway, sources, playground.adviser, settings.out / SIGNALS
            )
        run = _Run(
            settings,
            playground,
            _Files(store, writer, folder),
            rewards,
            hear_alarm,
            guidance=guidance,
        )
        folder.log_from(run.began_at or -1)  # what was told before step 1 is made anew, too
        with open_trackers(settings, run.began_at + 1) as tell:
            return await run.play(hear, should_stop, tell)


@dataclass(frozen=True, slots=True)
class _Files:
    """Where a run is kept."""

    store: CheckpointStore
    writer: CheckpointWriter
    folder: RunFolder


class _Run:
    """The parts of one run, from loading to the end."""

    def __init__(
        self,
        settings: RlSettings,
        playground: Playground,
        files: _Files,
        rewards: Rewards | None,
        hear_alarm: Heard,
        *,
        guidance: Guidance | None,
    ) -> None:
        self._settings = settings
        self._playground = playground
        self._run_files = files
        checkpoint = files.store.newest()
        self.began_at = checkpoint.step if checkpoint else 0
        self._saved: Path | None = checkpoint.weights if checkpoint else None
        self._model = _load(str(checkpoint.weights) if checkpoint else settings.model)
        self._side_files = side_files(self._model, settings.model)
        self._optimizer = make_optimizer(self._model, _optimisation(settings))
        reference = _load(settings.model) if settings.objective.kl != "none" else None
        self._update = Update(settings, self._model, self._optimizer, reference)
        sampler = ModelSampler(self._model, playground.tokenizer.end_ids)
        text = playground.renderer, playground.tokenizer
        self._watch = Watch(settings.alarms, text, sampler, hear_alarm)
        self._generation = Generation(
            settings,
            playground.gateway,
            sampler,
            text,
            playground.questions,
            users=playground.users,
            rewards=rewards,
            guidance=guidance,
        )
        self._supervision = (
            Supervision(
                settings,
                self._update,
                self._generation,
                guidance,
                lambda: make_optimizer(self._model, _optimisation(settings)),
            )
            if guidance and settings.signals.is_supervised
            else None
        )
        self._filling = BatchFilling[Member](
            num_groups=settings.training.groups, **settings.filling.model_dump()
        )
        if checkpoint:
            state = files.store.load_state(checkpoint)
            if state["optimizer"] is not None:
                restore_optimizer(self._model, self._optimizer, state["optimizer"])
            self._generation.next_number = state["next_group"]
            self._filling.restore(map(group_of, state["buffer"]))
            self._watch.restore(state.get("alarms", {}))  # those of older versions have none
            if self._supervision:
                self._supervision.restore(state)

    async def play(
        self,
        hear: Callable[[Progress], None],
        should_stop: Callable[[], bool],
        tell: Callable[[int, Mapping[str, float]], None],
    ) -> Outcome:
        """Make the steps that are left."""
        step, total, is_stopped = self.began_at, self._settings.training.steps, False
        if self._supervision:
            self._supervision.begin_at(step)
        if step == 0 and self._playground.held_out:
            self._tell(0, await self._validation(), tell)
        while step < total and not is_stopped:
            values = await self._step(step)
            step += 1
            heeded = self._watch.heed(step, values)
            values |= heeded.figures
            supervised = await self._supervise(step, heeded.holding)
            values |= supervised
            is_stopped = should_stop() or heeded.is_stopped
            is_last = step == total
            if is_last or step % self._settings.validation.every == 0:
                values |= await self._validation()
            self._tell(step, values, tell)
            is_due = step % self._settings.checkpoints.every == 0
            # A checkpoint of a step holds the phase behind it: what is saved is never between the two.
            if is_last or is_stopped or heeded.is_saved or is_due or supervised:
                await anyio.to_thread.run_sync(self._save, step)
            hear(Progress(step, total, values))
        await anyio.to_thread.run_sync(self._run_files.writer.wait)
        ending = Ending.DONE if step >= total else Ending.STOPPED
        return Outcome(ending, step, self.began_at, self._saved)

    async def _step(self, number: int) -> dict[str, float]:
        whole, policy = Meter(), self._generation.policy
        policy.seconds = policy.cpu_seconds = 0.0
        self._generation.played.clear()
        filled = await self._filling.fill(number, partial(self._generation.play, number))
        playing, playing_cpu = whole.seconds, whole.cpu_seconds
        played = self._generation.played
        alone = [one for one in played if help_of(one.trajectory) is Help.NONE]
        watched = await anyio.to_thread.run_sync(self._watch.look, alone)
        looking = whole.seconds - playing
        learned = await anyio.to_thread.run_sync(self._update.learn, filled.groups, number)
        if self._supervision:
            await anyio.to_thread.run_sync(self._supervision.keep, number + 1, played)
        return {
            **figures_of_rollouts(alone, filled),
            **figures_of_help([(help_of(one.trajectory), one.reward) for one in played]),
            **watched,
            **learned,
            "cpu_seconds/generation": policy.cpu_seconds,
            "cpu_seconds/environment": playing_cpu - policy.cpu_seconds,
            "seconds/generation": policy.seconds,
            "seconds/environment": playing - policy.seconds,
            "seconds/watching": looking,
            "seconds/update": whole.seconds - playing - looking,
            "seconds": whole.seconds,
        }

    async def _supervise(self, step: int, holding: Collection[str]) -> dict[str, float]:
        if self._supervision is None:
            return {}
        return await self._supervision.follow(step, holding, self._playground.adviser)

    async def _validation(self) -> dict[str, float]:
        if not self._playground.held_out:
            return {}
        spent = Meter()
        found = await evaluate(
            self._playground.gateway,
            ModelSampler(self._model, self._playground.tokenizer.end_ids),
            self._playground.renderer,
            self._playground.tokenizer,
            self._playground.held_out,
            samples=self._settings.validation.samples,
            root_seed=self._settings.seed,
            limits=limits_of_episode(self._settings, self._generation.policy.limits),
            users=self._playground.users,
            concurrency=self._settings.limits.concurrency,
            distractors=self._settings.validation.distractors,
        )
        return {
            **found.metrics(),
            "cpu_seconds/validation": spent.cpu_seconds,
            "seconds/validation": spent.seconds,
        }

    def _tell(
        self,
        step: int,
        values: Mapping[str, float],
        tell: Callable[[int, Mapping[str, float]], None],
    ) -> None:
        self._run_files.folder.log(step, values)
        tell(step, values)

    def _save(self, step: int) -> None:
        optimizer = self._optimizer
        state: dict[str, Any] = {
            # PyTorch would begin one that has not begun, and the next step would not be its first.
            "optimizer": optimizer_state(self._model, optimizer) if optimizer.state else None,
            "next_group": self._generation.next_number,
            "buffer": [group_state(group) for group in self._filling.buffered],
            "alarms": self._watch.state(),
        }
        if self._supervision:
            state |= self._supervision.state()
        weights = weights_of(self._model, tied_names(self._model))
        self._run_files.writer.save(step, weights, state, self._side_files)
        self._saved = self._run_files.store.weights.final(step)


async def _guidance(settings: RlSettings, playground: Playground) -> Guidance | None:
    """Find what the signals of a run are made of; None where there are none."""
    signals = settings.signals
    check_users(signals, has_users=playground.users is not None)
    has_probe = CallProbe.of(playground.renderer, playground.tokenizer) is not None
    if "start" in signals.schedule.alarms and not has_probe:
        raise ConfigError(
            "signals.schedule.alarms names start, and the dialect"
            f" {playground.renderer.dialect.name} has no start of a call"
        )
    if not (signals.num_helped or signals.is_supervised):
        return None
    if signals.reflects:
        require_speakable(playground.renderer)
    return await Guidance.of(
        signals,
        playground.gateway,
        [question.source for question in playground.questions],
        Speech(playground.renderer, playground.tokenizer),
    )


def _load(model: str) -> Model:
    """Load a model to the GPU, or the CPU where there is none; without dropout, as it samples."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    return load_model(model, gradient_checkpointing=False).to(device).eval()


def _optimisation(settings: RlSettings) -> TrainingSettings:
    asked = settings.training
    return TrainingSettings(
        learning_rate=asked.learning_rate, betas=asked.betas, weight_decay=asked.weight_decay
    )
