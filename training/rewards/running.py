"""Scores files of trajectories, several trajectories at once; what is scored is not scored again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from astra_mcp.errors import BudgetSpentError, ConfigError
from astra_mcp.synthesis.asking import Asks
from astra_mcp.trajectory import Trajectory, read_trajectories
from training.rewards.score import Method, digest_of
from training.rewards.score_files import ScoreWriter
from training.rewards.scoring import score_trajectory

__all__ = ["Plan", "plan_scoring", "run_scoring"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be scored."""

    files: Sequence[Path]
    order: Sequence[str]
    """Digests of all trajectories, each once."""
    num_read: int

    @property
    def num_repeated(self) -> int:
        """Trajectories of the content of an earlier one."""
        return self.num_read - len(self.order)


def plan_scoring(files: Sequence[Path]) -> Plan:
    """Read all files to the end, before anything is paid for.

    Raises:
        ConfigError: A file cannot be read, is named twice or holds no trajectory, or a line is none.
    """
    resolved = [each.resolve() for each in files]
    if twice := [each for each in files if resolved.count(each.resolve()) > 1]:
        raise ConfigError(f"{twice[0]} is named twice; name each file once")
    digests = [digest_of(each) for file in files for each in read_trajectories(file)]
    if not digests:
        raise ConfigError(f"{', '.join(map(str, files))}: there is no trajectory to score")
    return Plan(files, [*dict.fromkeys(digests)], len(digests))


async def run_scoring(
    plan: Plan,
    writer: ScoreWriter,
    judge: Asks,
    method: Method,
    *,
    concurrency: int,
    hear: Callable[[], None],
) -> None:
    """Score what the file does not hold yet, or holds as unscored.

    Args:
        plan: Its trajectories.
        writer: Takes each score once it is there; is put in order and closed at the end.
        judge: Is asked.
        method: How.
        concurrency: Trajectories at once.
        hear: Called after each.

    Raises:
        BudgetSpentError: The budget is spent; what was scored is kept.
        ConfigError: A file cannot be read or written.
        PipelineError: The cache does not answer.
    """
    scoring = _Scoring(plan, writer, judge, method, hear)
    send, receive = anyio.create_memory_object_stream[Trajectory](0)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(scoring.offer, send)
            for _ in range(concurrency):
                group.start_soon(scoring.work, receive.clone())
            receive.close()
    finally:
        writer.arrange(plan.order)
    if scoring.spent is not None:
        raise scoring.spent


class _Scoring:
    """One run: a task that reads, and others that score."""

    def __init__(
        self,
        plan: Plan,
        writer: ScoreWriter,
        judge: Asks,
        method: Method,
        hear: Callable[[], None],
    ) -> None:
        self._plan = plan
        self._writer = writer
        self._judge = judge
        self._method = method
        self._hear = hear
        self.spent: BudgetSpentError | None = None

    async def offer(self, send: MemoryObjectSendStream[Trajectory]) -> None:
        """Offer each trajectory that is to be scored, once."""
        begun = self._writer.settled
        async with send:
            for file in self._plan.files:
                for trajectory in read_trajectories(file):
                    if self.spent is not None:
                        return
                    if (digest := digest_of(trajectory)) not in begun:
                        begun.add(digest)
                        await send.send(trajectory)

    async def work(self, receive: MemoryObjectReceiveStream[Trajectory]) -> None:
        """Score one after the other; once the budget is spent nothing is begun."""
        async with receive:
            async for trajectory in receive:
                if self.spent is not None:
                    continue
                try:
                    score = await score_trajectory(trajectory, self._judge, self._method)
                except BudgetSpentError as error:
                    self.spent = error
                    continue
                self._writer.write(score)
                self._hear()
