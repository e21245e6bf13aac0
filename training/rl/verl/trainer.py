"""verl's own synchronous trainer, which asks our sampler for rounds and waits for orders behind each step."""

# pyright: reportUntypedClassDecorator=false
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

import math
from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any, cast

import ray
import transfer_queue as tq
from omegaconf import open_dict
from verl.protocol import DataProto
from verl.trainer.main_ppo import TaskRunnerV1
from verl.trainer.ppo.utils import Role
from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer
from verl.utils.debug import marked_timer
from verl.utils.debug.metrics import calculate_debug_metrics

from training.rl.native.lesson_updates import lesson_figures, lesson_updates
from training.rl.verl.configuration import STOP, TRAINER
from training.rl.verl.filling import FilledBatches
from training.rl.verl.orders.files import OrderFiles, read_state, write_state
from training.rl.verl.orders.learner import LearningWorker
from training.rl.verl.plan import ORDERS, Plan
from training.signals.supervision.lessons import Lesson

__all__ = ["GatewayTrainer", "Runner"]

_COMPARED = ("old_log_probs", "rollout_log_probs", "response_mask", "responses")


class _StoppedError(Exception):
    """The run was asked to stop, and its last step is saved."""


@register_trainer(TRAINER)
class GatewayTrainer(PPOTrainerSync):
    """Any mode but verl's own ``sync`` also keeps the groups that wait in checkpoints."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._checkpoints = Path(config.trainer.default_local_dir)
        self._stop = self._checkpoints.parent / STOP
        self._is_stopping = False
        self._save_freq = config.trainer.save_freq
        plan = Path(config.trainer.v1.sampler.sampler_kwargs.plan)
        self._settings = Plan.read(plan).settings
        self._orders = OrderFiles(plan.with_name(ORDERS))
        self._state: Mapping[str, Any] = {}

    def _init_resource_pool_mgr(self) -> None:
        super()._init_resource_pool_mgr()
        for role in (Role.ActorRollout, Role.ActorRolloutRef):
            if role in self.role_worker_mapping:
                self.role_worker_mapping[role] = ray.remote(LearningWorker)

    @property
    def _batches(self) -> FilledBatches:
        return cast("FilledBatches", self.replay_buffer)

    def fit(self, agent_loop_manager: Any) -> None:
        """Train; the sampler hears of groups that went with a process."""
        self._batches.before_looking = agent_loop_manager.fail_lost
        super().fit(agent_loop_manager)

    def prepare_step(self) -> dict[str, Any]:
        """Play nothing yet: the sampler asks for each round."""
        return {}

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, Any]) -> Any:
        """Make a step, tell of it, and follow the orders; where it is to be the last one, have it saved."""
        batch = super().step(metrics, timing_raw)
        step = self.global_steps
        self._orders.tell(step, {name: float(v) for name, v in metrics.items() if _is_number(v)})
        orders = self._orders.wait(step)
        if orders.lessons:
            with marked_timer("learn", timing_raw):
                metrics.update(self._learn(orders.lessons, step))
        self._state = orders.state
        self._is_stopping = orders.is_stopped or self._stop.exists()
        with open_dict(self.config):
            is_now = orders.is_saved or self._is_stopping
            self.config.trainer.save_freq = 1 if is_now else self._save_freq
        return batch

    def _learn(self, lessons: Sequence[Lesson], step: int) -> dict[str, float]:
        settings = self._settings
        updates = lesson_updates(settings, lessons, step)
        found = self.actor_rollout_wg.learn_lessons(
            [(each.rate, [(one.ids, one.mask) for one in each.lessons]) for each in updates],
            settings.signals.supervision.optimizer,
            settings.training.micro_batch_size,
            is_renewed=self._is_renewed,
        )
        losses = next(each for each in found if None not in each)
        return lesson_figures(settings, updates, losses, step)

    @property
    def _is_renewed(self) -> bool:
        is_asked = self._settings.signals.supervision.reference == "renewed"
        return is_asked and self.use_reference_policy

    def _save_checkpoint(self) -> None:
        """Keep what orders came to before verl names the checkpoint as the newest."""
        folder = self._checkpoints / f"global_step_{self.global_steps}"
        write_state(folder, self._state)
        if self._is_renewed and self._state.get("phases"):
            self.actor_rollout_wg.save_reference(str(folder / "actor"))
        super()._save_checkpoint()

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.global_steps:
            folder = self._checkpoints / f"global_step_{self.global_steps}"
            self._state = read_state(folder)
            if self._is_renewed and self._state.get("phases"):
                self.actor_rollout_wg.load_reference(str(folder / "actor"))

    def _compute_old_log_prob(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Compare with what the same weights sampled: groups that waited and help are left out."""
        batch = super()._compute_old_log_prob(batch, metrics=metrics)
        found = tq.kv_batch_get(
            keys=[*self._batches.comparable],
            partition_id=batch.partition_id,
            select_fields=[*_COMPARED],
        )
        metrics.update(calculate_debug_metrics(DataProto(batch=found.to_padded_tensor())))
        self._own_helped(batch.partition_id)
        return batch

    def _own_helped(self, partition: str) -> None:
        """Take trajectories with help for the policy's own, so that no correction weighs them otherwise."""
        helped = [*self._batches.helped]
        if helped:
            found = tq.kv_batch_get(
                keys=helped, partition_id=partition, select_fields=["old_log_probs"]
            )
            found["rollout_log_probs"] = found.pop("old_log_probs")
            tq.kv_batch_put(keys=helped, partition_id=partition, fields=found)

    def on_step_begin(self) -> None:
        """Leave where the step before was to be the last one."""
        if self._is_stopping:
            raise _StoppedError
        super().on_step_begin()


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and math.isfinite(float(value))


class Runner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[name-defined, misc]
    """verl's task runner, in whose process the trainer above is known."""

    def run(self, config: Any) -> None:
        """Train; being stopped is no failure."""
        try:
            super().run(config)
        except _StoppedError:
            return
