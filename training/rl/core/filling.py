"""Adaptive batch filling: every step trains on exactly n groups that can teach something.

A group whose rewards are all alike has an advantage of zero for each of its members, so it only dilutes the
batch. Groups are rolled out until n are valid; the first n train, and those beyond stay for the next step.
Source: ASTRA sec. 3.1 and figure 5. Knows rewards and numbers of steps; neither episodes nor a model.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from statistics import pstdev
from typing import Generic, TypeVar

from astra_mcp.errors import ConfigError, TrainingError

__all__ = ["BatchFilling", "Filled", "Group"]

MemberT = TypeVar("MemberT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Generic[MemberT]):
    """What one question's rollouts came to."""

    number: int
    """Place in the order of all groups of the run, from 0: it names the group."""
    step: int
    """The training step for which it was rolled out."""
    rewards: tuple[float, ...] | None
    """Of each member; None where an episode failed, so that the members cannot be compared."""
    members: tuple[MemberT, ...]

    @property
    def spread(self) -> float | None:
        """Std(R), over the members as a population."""
        return pstdev(self.rewards) if self.rewards else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled(Generic[MemberT]):
    """A batch, and what it took."""

    groups: tuple[Group[MemberT], ...]
    """Exactly n; those that waited come first."""
    rolled_out: int
    """Groups that were played for this step."""
    refills: int
    """Rounds of rollouts beyond the first."""
    degenerate: int
    """Of those played, groups whose spread is too small."""
    failed: int
    """Of those played, groups with an episode that failed."""
    expired: int
    """Groups that had waited too long."""
    buffered: int
    """Groups that stay for the next step: fewer than n."""
    oldest: int
    """How many steps the oldest group of the batch has waited."""


@dataclass(slots=True)
class _Tally:
    rolled_out: int = 0
    rounds: int = 0
    degenerate: int = 0
    failed: int = 0


@dataclass(slots=True, kw_only=True)
class BatchFilling(Generic[MemberT]):
    """The buffer, and the rule by which batches are filled from it.

    Raises:
        ConfigError: A bound makes no sense.
    """

    num_groups: int
    """n, of every batch; a round plays as many, so that fewer are ever left over."""
    min_spread: float = 0.0
    """Delta; a group is valid where Std(R) is more than it."""
    max_age: int | None = None
    """Steps that a group may wait; None, as in the paper, is without bound."""
    max_refills: int | None = None
    """Rounds beyond the first for one batch; None is without bound."""
    _buffer: list[Group[MemberT]] = field(default_factory=list[Group[MemberT]], init=False)

    def __post_init__(self) -> None:
        if self.num_groups < 1:
            raise ConfigError(f"a batch has at least one group, not {self.num_groups}")
        if not self.min_spread >= 0:
            raise ConfigError(f"the least spread of rewards is {self.min_spread}: it is 0 or more")
        for name, bound, least in (("age", self.max_age, 1), ("refills", self.max_refills, 0)):
            if bound is not None and bound < least:
                raise ConfigError(f"the bound on {name} is {bound}: it is at least {least}")

    @property
    def buffered(self) -> tuple[Group[MemberT], ...]:
        """What waits for the next batch, in its order; it goes into a checkpoint."""
        return tuple(self._buffer)

    def restore(self, groups: Iterable[Group[MemberT]]) -> None:
        """Go on with what a checkpoint held.

        Raises:
            ConfigError: There are more than this rule would have left.
        """
        kept = list(groups)
        if len(kept) >= self.num_groups:
            raise ConfigError(
                f"the checkpoint holds {len(kept)} groups that wait, and a batch has {self.num_groups}:"
                " go on with the batch size that it was written with"
            )
        self._buffer = kept

    async def fill(
        self, step: int, play: Callable[[int], Awaitable[Sequence[Group[MemberT]]]]
    ) -> Filled[MemberT]:
        """Roll out until there are n valid groups, and take the first n.

        Where it is cancelled or fails, the buffer is as it was before.

        Args:
            step: Number of the batch's step, from 0; errors count from 1, as figures do.
            play: Plays exactly so many new groups, and gives them in their order.

        Raises:
            TrainingError: The refills are used up, and fewer than n groups are valid.
        """
        kept = [group for group in self._buffer if self._is_fresh(group, step)]
        expired, tally = len(self._buffer) - len(kept), _Tally()
        while len(kept) < self.num_groups:
            if self.max_refills is not None and tally.rounds > self.max_refills:
                raise TrainingError(self._words(step, len(kept), tally))
            kept += self._judge(await play(self.num_groups), tally)
        batch, self._buffer = kept[: self.num_groups], kept[self.num_groups :]
        return Filled(
            groups=tuple(batch),
            rolled_out=tally.rolled_out,
            refills=tally.rounds - 1,
            degenerate=tally.degenerate,
            failed=tally.failed,
            expired=expired,
            buffered=len(self._buffer),
            oldest=max(step - group.step for group in batch),
        )

    def _judge(self, played: Sequence[Group[MemberT]], tally: _Tally) -> list[Group[MemberT]]:
        """Count a round, and give its valid groups."""
        if len(played) != self.num_groups:
            msg = f"a round of {self.num_groups} groups was asked for, and {len(played)} came back"
            raise ValueError(msg)
        spreads = [group.spread for group in played]
        valid = [
            group
            for group, spread in zip(played, spreads, strict=True)
            if spread is not None and spread > self.min_spread
        ]
        failed = spreads.count(None)
        tally.rounds += 1
        tally.rolled_out += len(played)
        tally.failed += failed
        tally.degenerate += len(played) - failed - len(valid)
        return valid

    def _is_fresh(self, group: Group[MemberT], step: int) -> bool:
        return self.max_age is None or step - group.step <= self.max_age

    def _words(self, step: int, num_valid: int, tally: _Tally) -> str:
        return (
            f"step {step + 1}: of {tally.rolled_out} groups that were played, {num_valid} can teach"
            f" something, and a batch takes {self.num_groups}; in {tally.degenerate} all members earned the"
            f" same, and {tally.failed} failed: take questions that the policy solves now and then, or allow"
            " more refills"
        )
