"""Which trajectories an export takes, and how many of them each filter left out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import StopReason, Trajectory, read_trajectories
from training.rewards.floors import Floors
from training.rewards.score import Score, digest_of

__all__ = ["SCORABLE", "ScoreFloors", "Selected", "Selection", "source_names"]

SCORABLE = (EpisodeStatus.CLOSED, EpisodeStatus.EXPIRED, EpisodeStatus.LIMIT)
"""What is taken unless it is said otherwise: whatever did not fail."""


@dataclass(frozen=True, slots=True)
class ScoreFloors:
    """Scores of trajectories, and what they must be."""

    scores: Mapping[str, Score]
    """By digest."""
    floors: Floors

    def refusing(self, trajectory: Trajectory) -> str | None:
        """Name the first floor that leaves a trajectory out."""
        return self.floors.refusing(self.scores.get(digest_of(trajectory)), trajectory)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What a trajectory must be like; what is empty or None asks for nothing."""

    statuses: Sequence[EpisodeStatus] = SCORABLE
    stops: Sequence[StopReason] = ()
    agents: Sequence[str] = ()
    """Names of agents or of models."""
    sources: Sequence[str] = ()
    """Names of environments or servers."""
    min_reward: float | None = None
    """Whatever has no reward is left out, as by the next."""
    max_reward: float | None = None
    min_calls: int | None = None
    """Answered calls."""
    max_calls: int | None = None
    max_messages: int | None = None
    scored: ScoreFloors | None = None
    """What has no score is left out as well."""

    def refusing(self, trajectory: Trajectory) -> str | None:
        """Name the first filter, as its option is called, that leaves a trajectory out."""
        refused = (name for name, takes in self._tests() if not takes(trajectory))
        name = next(refused, None)
        return name or (self.scored.refusing(trajectory) if self.scored else None)

    @property
    def filters(self) -> Sequence[str]:
        """Name the filters that ask for something, in the order in which they are asked."""
        floors: Sequence[str] = self.scored.floors.names if self.scored else ()
        return [*(name for name, _ in self._tests()), *floors]

    def _tests(self) -> Iterator[tuple[str, Callable[[Trajectory], bool]]]:
        yield "status", lambda t: t.status in self.statuses
        if self.stops:
            yield "stop", lambda t: t.stop in self.stops
        if self.agents:
            yield "agent", lambda t: bool({t.agent.name, t.agent.model} & {*self.agents})
        if self.sources:
            yield "source", lambda t: bool({*source_names(t)} & {*self.sources})
        yield from _bounds("reward", _reward, self.min_reward, self.max_reward)
        yield from _bounds("calls", lambda t: len(t.calls), self.min_calls, self.max_calls)
        yield from _bounds("messages", lambda t: len(t.messages), None, self.max_messages)


def _bounds(
    what: str,
    value_of: Callable[[Trajectory], float | None],
    least: float | None,
    most: float | None,
) -> Iterator[tuple[str, Callable[[Trajectory], bool]]]:
    if least is not None:
        yield f"min-{what}", lambda t: (found := value_of(t)) is not None and found >= least
    if most is not None:
        yield f"max-{what}", lambda t: (found := value_of(t)) is not None and found <= most


def _reward(trajectory: Trajectory) -> float | None:
    return trajectory.reward.reward if trajectory.reward else None


def source_names(trajectory: Trajectory) -> Sequence[str]:
    """Name what was played: an environment, a task by its id and its servers, or the servers."""
    source = trajectory.source
    match source.get("kind"):
        case "environment":
            return [str(source.get("name"))]
        case "task":
            servers = trajectory.labels.get("servers", "")
            return [str(source.get("id")), *filter(None, servers.split(", "))]
        case _:
            pass
    names = source.get("names")
    return [str(name) for name in names] if isinstance(names, list) else []


_LACKS = {"no user message": "user", "no assistant message": "assistant"}
"""Why a trajectory is no chat, and the role that it has no message of."""


@dataclass(slots=True)
class Selected:
    """The trajectories of files that a selection takes; counts as they are read, once."""

    files: Sequence[Path]
    selection: Selection
    needs_chat: bool
    """Leave out also what is no chat: without a message of the user, or of the agent."""
    num_read: int = 0
    num_taken: int = 0
    left_out: dict[str, int] = field(init=False)
    """How many each filter left out, by its name, in their order; the first one that does so counts."""

    def __post_init__(self) -> None:
        lacks = _LACKS if self.needs_chat else {}
        self.left_out = dict.fromkeys([*self.selection.filters, *lacks], 0)

    def __iter__(self) -> Iterator[Trajectory]:
        """Give them in the order of files and lines.

        Raises:
            ConfigError: A file cannot be read, a line is no trajectory, or none is taken.
        """
        for trajectory in self._read():
            self.num_read += 1
            refusing = self.selection.refusing(trajectory) or self._lack(trajectory)
            if refusing is not None:
                self.left_out[refusing] += 1
                continue
            self.num_taken += 1
            yield trajectory
        if not self.num_taken:
            raise ConfigError(f"nothing is left to write: {self.account()}")

    def account(self) -> str:
        """Say what was read, and what was left out by what."""
        reasons = ", ".join(f"{num} by {name}" for name, num in self.left_out.items() if num)
        return f"{self.num_read} trajectories were read; left out: {reasons or 'none'}"

    def _read(self) -> Iterable[Trajectory]:
        return (each for file in self.files for each in read_trajectories(file))

    def _lack(self, trajectory: Trajectory) -> str | None:
        roles = {message.role for message in trajectory.messages}
        lacks = (lack for lack, role in _LACKS.items() if role not in roles)
        return next(lacks, None) if self.needs_chat else None
