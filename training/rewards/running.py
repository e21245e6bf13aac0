"""Scores files of trajectories, several trajectories at once; what is scored is not scored again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from pydantic import BaseModel

from astra_mcp.errors import BudgetSpentError, ConfigError, ModelError
from astra_mcp.llm.outage import LOST, MAX_LOST, Outage
from astra_mcp.llm.prompt import Prompt
from astra_mcp.llm.usage import metered
from astra_mcp.synthesis.asking import Asks
from astra_mcp.trajectory import Trajectory, read_trajectories
from training.rewards.score import Method, digest_of
from training.rewards.score_files import ScoreWriter
from training.rewards.scoring import score_trajectory

__all__ = ["Plan", "plan_scoring", "run_scoring"]

AnswerT = TypeVar("AnswerT", bound=BaseModel)


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
        ModelError: The judge takes no call, as many trajectories in a row found; those are kept as unscored.
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
    if scoring.stopped is not None:
        raise scoring.stopped


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
        self._outage = Outage()
        self.stopped: BudgetSpentError | ModelError | None = None
        """Why no further trajectory is begun."""

    async def offer(self, send: MemoryObjectSendStream[Trajectory]) -> None:
        """Offer each trajectory that is to be scored, once."""
        begun = self._writer.settled
        async with send:
            for file in self._plan.files:
                for trajectory in read_trajectories(file):
                    if self.stopped is not None:
                        return
                    if (digest := digest_of(trajectory)) not in begun:
                        begun.add(digest)
                        await send.send(trajectory)

    async def work(self, receive: MemoryObjectReceiveStream[Trajectory]) -> None:
        """Score one after the other, as long as the judge can be asked."""
        async with receive:
            async for trajectory in receive:
                if self.stopped is not None:
                    continue
                judge = _HeardJudge(self._judge)
                try:
                    score = await score_trajectory(trajectory, judge, self._method)
                except BudgetSpentError as error:
                    self.stopped = error
                    continue
                self._writer.write(score)
                self._hear()
                self._note(judge)

    def _note(self, judge: "_HeardJudge") -> None:
        lost = None if judge.is_there else judge.lost
        is_dead = self._outage.note(is_lost=lost is not None, was_asked=judge.is_there)
        if is_dead and lost is not None and self.stopped is None:
            self.stopped = ModelError(
                f"the judge took no call for {MAX_LOST} trajectories in a row ({lost}): see to its endpoint"
                " and key; what was scored is kept: run it again to go on",
                lost.fault,
            )


class _HeardJudge:
    """Asks the judge about one trajectory, and knows afterwards whether it is there."""

    def __init__(self, judge: Asks) -> None:
        self._judge = judge
        self.is_there = False
        """It took a call, whatever became of that."""
        self.lost: ModelError | None = None
        """What came of the last call that it did not take."""

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        """Ask; what the judge answers or raises goes on as it is."""
        fault = None
        with metered() as meter:
            try:
                return await self._judge.ask(prompt, answer, sample=sample)
            except ModelError as error:
                fault = error.fault
                if fault in LOST:
                    self.lost = error
                raise
            finally:
                if fault not in LOST and meter.usage.calls:
                    self.is_there = True
