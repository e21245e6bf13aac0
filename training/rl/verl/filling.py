"""Adaptive batch filling as verl's sampler: the one rule of :mod:`training.rl.core.filling`.

What waits for the next step stays in verl's own store, and so in its checkpoints.
"""

# pyright: reportMissingTypeStubs=false, reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false, reportUnknownParameterType=false

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import anyio
import transfer_queue as tq
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from astra_mcp.errors import TrainingError
from training.rl.core.filling import BatchFilling, Filled, Group
from training.rl.verl.account import Account, last_failure
from training.rl.verl.plan import Plan

__all__ = ["FilledBatches"]

_TRAIN = "train"
_POLL_SECONDS = 0.2
_MAX_LOST_ROUNDS = 5
"""So many rounds in a row of which no group is whole end a run, as in the native trainer."""


class FilledBatches(ReplayBuffer):
    """Samples exactly n valid groups for each step; validations are sampled as verl does."""

    def __init__(self, *, sampler_kwargs: Any, trainer_config: Any, **kwargs: Any) -> None:
        """Take what verl gives to a sampler."""
        super().__init__(
            sampler_kwargs=sampler_kwargs,
            trainer_config=trainer_config,
            poll_interval=_POLL_SECONDS,
            **kwargs,
        )
        asked = sampler_kwargs
        self._refill: Any = self.refill_fn
        self._group_size = int(asked.group_size)
        self._num_helped = int(asked.num_helped)
        self._episodes = Plan.read(asked.plan).episodes
        self._filling = BatchFilling[str](
            num_groups=asked.num_groups,
            min_spread=asked.min_spread,
            max_age=asked.max_age,
            max_refills=asked.max_refills,
        )
        self._is_restored = False
        self._lost_rounds = 0
        self.helped: tuple[str, ...] = ()
        """Trajectories of the newest batch in which the policy was helped."""
        self.comparable: tuple[str, ...] = ()
        """Those that the step's weights sampled without help: their groups did not wait."""
        self.before_looking: Callable[[], None] = _nothing
        """Called each time before the store is looked at."""

    def _sync_metadata_from_transfer_queue(self) -> None:
        self.before_looking()
        super()._sync_metadata_from_transfer_queue()

    def sample(
        self, global_steps: int, partition_id: str, batch_size: int
    ) -> tuple[KVBatchMeta, dict[str, float]]:
        """Give the trajectories of the next batch, and what it took.

        Raises:
            TrainingError: Too few groups can teach something, or no group comes through.
        """
        if partition_id != _TRAIN:
            return super().sample(global_steps, partition_id, batch_size)
        if not self._is_restored:
            self._restore()
        filled = anyio.run(self._filling.fill, global_steps, partial(self._play, global_steps))
        keys = [key for group in filled.groups for key in group.members]
        fresh = (group for group in filled.groups if group.step == global_steps)
        self.helped = tuple(filter(self._is_helped, keys))
        self.comparable = tuple(
            key for group in fresh for key in group.members if not self._is_helped(key)
        )
        self._sync_metadata_from_transfer_queue()
        tags = [self.partitions[_TRAIN][key] for key in keys]
        waiting = {_uid(key) for group in self._filling.buffered for key in group.members}
        used = _uids(keys)
        self._clear_groups(_TRAIN, self._terminal() - waiting - used)
        tq.kv_clear(partition_id=_TRAIN, keys=[*used])
        return KVBatchMeta(partition_id=_TRAIN, keys=keys, tags=tags), _figures(filled)

    async def _play(self, step: int, count: int) -> list[Group[str]]:
        """Play the next groups."""
        self._sync_metadata_from_transfer_queue()
        before = self._terminal()
        self._refill(count)
        while True:
            self._sync_metadata_from_transfer_queue()
            if not self.pending_keys[_TRAIN] and not self.running_keys[_TRAIN]:
                break
            await anyio.sleep(self.poll_interval)
        groups = self._groups(self._terminal() - before)
        self._watch(groups, step)
        return groups

    def _groups(self, uids: Iterable[str]) -> list[Group[str]]:
        """Read groups from the store, in the order of their numbers."""
        names = sorted(uids)
        if not names:
            return []
        numbers = tq.kv_batch_get(keys=names, partition_id=_TRAIN, select_fields=["index"])["index"]
        found = [self._group(*each) for each in zip(names, map(int, numbers), strict=True)]
        return sorted(found, key=lambda group: group.number)

    def _group(self, uid: str, number: int) -> Group[str]:
        step = self.prompt_global_steps[_TRAIN][uid]
        keys = sorted((key for key in self.partitions[_TRAIN] if _uid(key) == uid), key=_session_of)
        if uid in self.failure_keys[_TRAIN] or len(keys) != self._group_size:
            return Group(number=number, step=step, rewards=None, members=())
        found = tq.kv_batch_get(keys=keys, partition_id=_TRAIN, select_fields=["rm_scores"])
        rewards = tuple(float(scores.sum()) for scores in found["rm_scores"])
        return Group(number=number, step=step, rewards=rewards, members=tuple(keys))

    def _restore(self) -> None:
        """Go on with the groups that waited when a checkpoint was written, and drop what was trained on."""
        self._sync_metadata_from_transfer_queue()
        waiting = self._terminal()
        stale = [key for key in self.partitions[_TRAIN] if _uid(key) not in waiting]
        if stale:
            tq.kv_clear(partition_id=_TRAIN, keys=stale)
        self._filling.restore(self._groups(waiting))
        self._is_restored = True

    def _is_helped(self, key: str) -> bool:
        return _session_of(key) < self._num_helped

    def _terminal(self) -> set[str]:
        return self.finished_keys[_TRAIN] | self.failure_keys[_TRAIN]

    def _watch(self, groups: Sequence[Group[str]], step: int) -> None:
        is_lost = all(group.rewards is None for group in groups)
        self._lost_rounds = self._lost_rounds + 1 if is_lost else 0
        if self._lost_rounds == _MAX_LOST_ROUNDS:
            lines = (line for line in Account.read(self._episodes) if line.step == step)
            raise TrainingError(
                f"in {_MAX_LOST_ROUNDS} rounds of rollouts in a row each group had an episode that failed;"
                f" the last: {last_failure(lines)}"
            )


def _nothing() -> None:
    """Nobody is to be called."""


def _uid(key: str) -> str:
    """Name the group of a trajectory, whose key is ``{uid}_{session}_{number}``."""
    return key.split("_", 1)[0]


def _uids(keys: Iterable[str]) -> set[str]:
    return {_uid(key) for key in keys}


def _session_of(key: str) -> int:
    return int(key.split("_")[1])


def _figures(filled: Filled[str]) -> dict[str, float]:
    return {
        "filling/groups": filled.rolled_out,
        "filling/degenerate": filled.degenerate,
        "filling/failed": filled.failed,
        "filling/refills": filled.refills,
        "filling/expired": filled.expired,
        "filling/buffered": filled.buffered,
        "filling/oldest": filled.oldest,
    }
