"""What verl loads in each of its processes: registers the platform and the server.

One private thing of verl is touched: the trainer's end of a server has no call to be registered by.
"""

# pyright: reportUnknownParameterType=false
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportPrivateUsage=false

from verl.workers.rollout import base
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

from training.rl.verl.cpu import platform

__all__ = ["ROLLOUT", "platform"]

ROLLOUT = "transformers"


def _replica() -> type[RolloutReplica]:
    from training.rl.verl.cpu.replica import TransformersReplica  # noqa: PLC0415 - when it is used

    return TransformersReplica


RolloutReplicaRegistry.register(ROLLOUT, _replica)
base._ROLLOUT_REGISTRY[ROLLOUT, "async"] = "training.rl.verl.cpu.replica.ServerAdapter"
