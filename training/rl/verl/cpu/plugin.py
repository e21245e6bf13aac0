"""What verl loads in each of its processes: registers the platform and the server.

Two private things of verl are touched: the trainer's end of a server has no call to be registered by, and
what a reference is kept in is pinned for a device beside the CPU.
"""

# pyright: reportUnknownParameterType=false
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportPrivateUsage=false

from collections.abc import Generator
from contextlib import contextmanager

from torch.distributed.fsdp import CPUOffloadPolicy
from verl.workers.rollout import base
from verl.workers.rollout.replica import RolloutReplica, RolloutReplicaRegistry

from training.rl.verl.cpu import platform

__all__ = ["ROLLOUT", "platform", "unpinned"]

ROLLOUT = "transformers"


def _replica() -> type[RolloutReplica]:
    from training.rl.verl.cpu.replica import TransformersReplica  # noqa: PLC0415 - when it is used

    return TransformersReplica


RolloutReplicaRegistry.register(ROLLOUT, _replica)
base._ROLLOUT_REGISTRY[ROLLOUT, "async"] = "training.rl.verl.cpu.replica.ServerAdapter"


@contextmanager
def unpinned() -> Generator[None]:
    """Have models be made in memory that is not pinned, which PyTorch refuses where no device is beside."""
    from verl.workers.engine.fsdp import transformer_impl as engine  # noqa: PLC0415 - it is large

    known = engine.CPUOffloadPolicy
    engine.CPUOffloadPolicy = _unpinned
    try:
        yield
    finally:
        engine.CPUOffloadPolicy = known


def _unpinned(**_told: object) -> CPUOffloadPolicy:
    return CPUOffloadPolicy(pin_memory=False)
