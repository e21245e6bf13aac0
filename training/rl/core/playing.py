"""Play rollouts by a policy through the gateway, and keep both: the trajectory, and its tokens."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from astra_mcp.concurrency import map_concurrently
from astra_mcp.llm.usage import Usage
from astra_mcp.trajectory import AssistantMessage, Trajectory
from gateway.api.client import GatewayClient
from training.render.renderer import Renderer
from training.render.tokens import Tokenizer
from training.rl.core.policy import Policy, PolicyLimits, check_temperature
from training.rl.core.policy_agent import Guide, PolicyAgent
from training.rl.core.rounds import Rounds
from training.rl.core.token_log import TokenLog, TokenTurn
from training.rollout.plan import Rollout
from training.rollout.run import run_rollouts
from training.rollout.users.user import Users

__all__ = ["PolicyTrajectory", "play_policy"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyTrajectory:
    """An episode that a policy played."""

    trajectory: Trajectory
    """As any agent leaves it; it says at what boundary an episode failed."""
    ids: tuple[int, ...]
    """All tokens that the policy wrote or wrote after; empty where the episode was never opened."""
    mask: tuple[bool, ...]
    """Which of them the policy wrote."""
    logprobs: tuple[float, ...]
    """Of those; 0 at all others."""
    turns: tuple[TokenTurn, ...]
    told: float | None = None
    """What somebody says that it earned, in the place of the gateway."""

    @property
    def num_prompt(self) -> int:
        """Tokens before the first turn."""
        return self.turns[0].begin if self.turns else len(self.ids)

    @property
    def solved_by_turn(self) -> tuple[int, ...]:
        """How many sub-tasks each turn solved that were not solved before, as the record says."""
        said = [m for m in self.trajectory.messages if isinstance(m, AssistantMessage)]
        turn_of = {
            call.id: turn for turn, message in enumerate(said) for call in message.tool_calls
        }
        counts, known = [0] * len(said), set[int]()
        for note in self.trajectory.calls:
            new = set(note.solved or ()) - known
            counts[turn_of[note.tool_call_id]] += len(new)
            known |= new
        return tuple(counts)

    @property
    def reward(self) -> float | None:
        """None where the episode failed, or has no job and nobody says what it earned."""
        if self.told is not None:
            return self.told
        reward = self.trajectory.reward
        return None if reward is None else reward.reward


async def play_policy(  # noqa: PLR0913 - the parts of a policy, and what it plays
    gateway: GatewayClient,
    policy: Policy,
    renderer: Renderer,
    tokenizer: Tokenizer,
    rollouts: Sequence[Rollout],
    *,
    temperature: float,
    limits: PolicyLimits | None = None,
    users: Users | None = None,
    guides: Mapping[int, Guide] | None = None,
    concurrency: int,
) -> list[PolicyTrajectory]:
    """Play all rollouts, at most ``concurrency`` at once and in lock step; in the order of the rollouts.

    A failed episode is one without a reward, and its trajectory says where it failed; one that cannot be
    rendered fails alone. An exception of the policy ends all: the episodes are closed, and it propagates.

    Args:
        gateway: An open client of the control plane.
        policy: Writes the turns.
        renderer: Of its chat template.
        tokenizer: Of the policy.
        rollouts: What is played; no two are the same.
        temperature: 0 is greedy.
        limits: Of each episode; by default those of the policy.
        users: Speak to the policy, in the place of the prompts of the sources; what they say is masked.
            Without them an episode ends when the policy calls no tool.
        guides: Of those rollouts, by their places, in which the policy is helped.
        concurrency: Open episodes at once, and contexts in a batch.

    Raises:
        ValueError: Two rollouts are the same, a group has more members than are played at once, a turn
            has more tokens than an episode, or the temperature is none.
        RefusedError: The gateway does not take what the rollouts ask for (422).
    """
    limits = limits or policy.limits
    _check(rollouts, limits)
    check_temperature(temperature)
    played: dict[int, PolicyTrajectory] = {}
    for table in [*_tables(rollouts, concurrency)]:
        logs = {rollouts[place].agent_seed: (place, TokenLog()) for place in table}
        rounds = Rounds(policy, table, temperature=temperature, max_tokens=limits.turn_tokens)
        agent = PolicyAgent(
            renderer,
            tokenizer,
            logs=logs,
            write=rounds.turn,
            leave=rounds.leave,
            limits=limits,
            guides=guides,
        )
        members = [rollouts[place] for place in table]
        playing = partial(run_rollouts, gateway, agent, members, limits=limits.of_play, users=users)
        for place, trajectory in await _play(playing, members, table, rounds):
            log = logs[rollouts[place].agent_seed][1]
            played[place] = PolicyTrajectory(
                trajectory=trajectory,
                ids=tuple(log.ids),
                mask=tuple(log.mask),
                logprobs=tuple(log.logprobs),
                turns=tuple(log.turns),
            )
    return [played[place] for place in range(len(rollouts))]


async def _play(
    playing: Callable[..., Awaitable[None]],
    members: Sequence[Rollout],
    table: Sequence[int],
    rounds: Rounds,
) -> list[tuple[int, Trajectory]]:
    finished: list[tuple[int, Trajectory]] = []

    def keep(number: int, trajectory: Trajectory, _usage: Usage) -> None:
        finished.append((table[number], trajectory))
        rounds.leave(table[number])  # also one that was never opened

    sizes = Counter(rollout.group for rollout in members).values()

    async def play() -> None:
        # Rooms for groups as large as the largest: all have to be open, since they wait for each other.
        await playing(concurrency=len(sizes) * max(sizes), on_finished=keep)

    async def run(part: Callable[[], Awaitable[None]]) -> None:
        await part()

    await map_concurrently(run, (play, rounds.run), limit=2)
    return finished


def _check(rollouts: Sequence[Rollout], limits: PolicyLimits) -> None:
    if limits.fault is not None:
        raise ValueError(limits.fault)
    if len({rollout.agent_seed for rollout in rollouts}) < len(rollouts):
        raise ValueError(
            "two rollouts have one seed: they are the same, so give each an index or a sample"
        )


def _tables(rollouts: Sequence[Rollout], concurrency: int) -> Iterator[list[int]]:
    """Divide the places of the rollouts, so that no group is torn."""
    groups: dict[str, list[int]] = {}
    for place, rollout in enumerate(rollouts):
        groups.setdefault(rollout.group, []).append(place)
    table: list[int] = []
    for group in groups.values():
        if len(group) > concurrency:
            raise ValueError(f"a group of {len(group)} rollouts and {concurrency} at once")
        if len(table) + len(group) > concurrency:
            yield table
            table = []
        table += group
    if table:
        yield table
