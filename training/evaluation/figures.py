"""The figures of an evaluation: what the episodes of a policy come to."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import cast

from astra_mcp.trajectory import (
    AssistantMessage,
    FunctionCall,
    RolloutBoundary,
    Trajectory,
    UserMessage,
)
from astra_mcp.types import JsonObject
from training.rl.core.playing import PolicyTrajectory
from training.rollout.agent import UNREADABLE
from training.rollout.arguments import parse_arguments

__all__ = ["Evaluation", "Figures", "figures_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Means over the episodes that have a reward; None where there is none."""

    episodes: int
    failed: int
    """Without a reward: they are in no mean."""
    no_room: int
    """Of those, whose prompt was too long or left no room for a turn: the policy never played."""
    failures: Mapping[str, int]
    """The other failed ones, by the boundary at which they failed; as figures they are ``failed/...``."""
    reward: float | None
    recall: float | None
    precision: float | None
    calls: float | None
    """As the reward counts them; all of them where there is no job."""
    turns: float | None
    user_turns: float | None
    """Messages of the user, the first one included."""
    tokens: float | None
    """That the policy wrote."""
    response_tokens: float | None
    """Behind the first prompt: written, and shown in between."""
    solved: float | None
    """Sub-tasks; like the next, where there is a job."""
    solved_per_turn: float | None
    """Sub-tasks that were solved, over all turns of all these episodes."""
    unknown_tools: float | None
    """Calls of tools that the episode does not list."""
    malformed: float | None
    """Calls that could not be read, or whose arguments are no JSON object."""
    stops: Mapping[str, int]
    """Why the episodes with a reward ended."""

    def metrics(self, prefix: str) -> dict[str, float]:
        """Give the figures as flat numbers behind a prefix; without those that there are not."""
        figures = asdict(self)
        failures = {f"failed/{at}": count for at, count in figures.pop("failures").items()}
        return {f"{prefix}{name}": float(value) for name, value in _flat(figures | failures)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One policy on one set of environments."""

    greedy: Figures
    sampled: Figures | None
    """At T = 1; None where no samples were asked for."""

    def metrics(self) -> dict[str, float]:
        """Give the figures as flat numbers, such as ``greedy/reward``; without those that there are not."""
        sampled = self.sampled.metrics("sampled/") if self.sampled else {}
        return self.greedy.metrics("greedy/") | sampled

    def as_json(self) -> JsonObject:
        """Give the figures as JSON has them."""
        return asdict(self)


def figures_of(played: Sequence[PolicyTrajectory]) -> Figures:
    """Add up the episodes of one temperature."""
    scored = [one for one in played if one.reward is not None]
    rewards = [one.trajectory.reward for one in scored if one.trajectory.reward is not None]
    failed = [one for one in played if one.reward is None]
    others = [one.trajectory for one in failed if not _had_no_room(one)]
    num_turns = sum(len(one.turns) for one in scored if one.trajectory.reward is not None)
    return Figures(
        episodes=len(played),
        failed=len(failed),
        no_room=len(failed) - len(others),
        failures=_counted(t.failure.boundary.value if t.failure else "no job" for t in others),
        reward=_mean(one.reward for one in scored if one.reward is not None),
        recall=_mean(r.recall for r in rewards),
        precision=_mean(r.precision for r in rewards),
        calls=_mean(_num_calls(one.trajectory) for one in scored),
        turns=_mean(len(one.turns) for one in scored),
        user_turns=_mean(_num_said_by_user(one.trajectory) for one in scored),
        tokens=_mean(sum(one.mask) for one in scored),
        response_tokens=_mean(len(one.ids) - one.num_prompt for one in scored),
        solved=_mean(r.solved for r in rewards),
        solved_per_turn=sum(r.solved for r in rewards) / num_turns if num_turns else None,
        unknown_tools=_mean(_num_unknown(one.trajectory) for one in scored),
        malformed=_mean(_num_malformed(one.trajectory) for one in scored),
        stops=_counted(one.trajectory.stop.value for one in scored),
    )


def _had_no_room(one: PolicyTrajectory) -> bool:
    """Whether the agent gave up behind its prompt, which it does where no turn fits behind it."""
    failure = one.trajectory.failure
    is_of_agent = failure is not None and failure.boundary is RolloutBoundary.AGENT
    return is_of_agent and bool(one.ids) and not one.turns


def _num_said_by_user(trajectory: Trajectory) -> int:
    return sum(isinstance(message, UserMessage) for message in trajectory.messages)


def _mean(values: Iterable[float]) -> float | None:
    rows = list(values)
    return sum(rows) / len(rows) if rows else None


def _counted(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(names).items()))


def _calls(trajectory: Trajectory) -> Iterator[FunctionCall]:
    for message in trajectory.messages:
        if isinstance(message, AssistantMessage):
            yield from (call.function for call in message.tool_calls)


def _num_calls(trajectory: Trajectory) -> int:
    reward = trajectory.reward
    return sum(1 for _ in _calls(trajectory)) if reward is None else reward.calls


def _is_malformed(call: FunctionCall) -> bool:
    return call.name == UNREADABLE or isinstance(parse_arguments(call.arguments), str)


def _num_malformed(trajectory: Trajectory) -> int:
    return sum(_is_malformed(call) for call in _calls(trajectory))


def _num_unknown(trajectory: Trajectory) -> int:
    documents = [cast("JsonObject", tool["function"]) for tool in trajectory.tools]
    listed = {str(document["name"]) for document in documents}
    readable = (call for call in _calls(trajectory) if call.name != UNREADABLE)
    return sum(call.name not in listed for call in readable)


def _flat(figures: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, float]]:
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from _flat(cast("Mapping[str, object]", value), f"{prefix}{name}/")
        elif isinstance(value, (int, float)):
            yield f"{prefix}{name}", value
