"""verl's own synchronous trainer, which asks our sampler for rounds and hears when it is to stop."""

# pyright: reportUntypedClassDecorator=false
# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from pathlib import Path
from typing import Any, cast

import transfer_queue as tq
from omegaconf import open_dict
from verl.protocol import DataProto
from verl.trainer.main_ppo import TaskRunnerV1
from verl.trainer.ppo.v1 import PPOTrainerSync, register_trainer
from verl.utils.debug.metrics import calculate_debug_metrics

from training.rl.verl.configuration import STOP, TRAINER
from training.rl.verl.filling import FilledBatches

__all__ = ["GatewayTrainer", "Runner"]

_COMPARED = ("old_log_probs", "rollout_log_probs", "response_mask", "responses")


class _StoppedError(Exception):
    """The run was asked to stop, and its last step is saved."""


@register_trainer(TRAINER)
class GatewayTrainer(PPOTrainerSync):
    """Any mode but verl's own ``sync`` also keeps the groups that wait in checkpoints."""

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        self._stop = Path(config.trainer.default_local_dir).parent / STOP
        self._is_stopping = False

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
        """Make a step; where it is to be the last one, have it saved."""
        batch = super().step(metrics, timing_raw)
        if self._stop.exists():
            self._is_stopping = True
            with open_dict(self.config):
                self.config.trainer.save_freq = 1
        return batch

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


class Runner(TaskRunnerV1.__ray_metadata__.modified_class):  # type: ignore[name-defined, misc]
    """verl's task runner, in whose process the trainer above is known."""

    def run(self, config: Any) -> None:
        """Train; being stopped is no failure."""
        try:
            super().run(config)
        except _StoppedError:
            return
