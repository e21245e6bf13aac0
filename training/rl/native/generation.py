"""Groups of episodes: what the policy wrote in them, and what they earned."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Literal, cast

import anyio.to_thread

from astra_mcp.errors import ConfigError, TrainingError
from gateway.api.client import GatewayClient
from training.render import Renderer, Tokenizer
from training.rl.core.filling import Group
from training.rl.core.playing import PolicyTrajectory, play_policy
from training.rl.core.policy import Policy, PolicyLimits, Sampled
from training.rl.core.policy_agent import Guide
from training.rl.native.agenda import Agenda, Question
from training.rl.native.settings import RlSettings
from training.rollout.plan import Rollout
from training.rollout.users.user import Users
from training.signals.supervision.guidance import Guidance, Help, help_of, marked
from training.signals.supervision.phase import gold_rollouts

__all__ = [
    "Generation",
    "Member",
    "MemberTurn",
    "Rewards",
    "group_of",
    "group_state",
    "limits_of_episode",
]

_LARGEST_REWARD = 1e100
_MAX_LOST_ROUNDS = 5
"""So many rounds in a row of which no group is whole end a run: something is broken."""

Rewards = Callable[[int, Sequence[PolicyTrajectory]], Sequence[float]]
"""What episodes of a group earned, by the group's number and the episodes, of which none failed. Called in a
thread, for one group after the other; also for what is left of a group that is not trained on.
"""


@dataclass(frozen=True, slots=True)
class MemberTurn:
    """Where a turn stands among the tokens of its episode, and what it came to."""

    begin: int
    end: int
    solved: int
    """Sub-tasks that were not solved before."""


@dataclass(frozen=True, slots=True)
class Member:
    """The tokens of one episode, as the policy saw and wrote them."""

    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    """Which of them the policy wrote."""
    logprobs: tuple[float, ...]
    """Of those, when they were written; 0 at all others."""
    turns: tuple[MemberTurn, ...] = ()
    """All of them; they are for the credit of turns alone."""
    help: Help = Help.NONE
    """Where the policy was helped, the log-probabilities are not its own: see :class:`Update`."""

    @classmethod
    def of(cls, played: PolicyTrajectory) -> "Member":
        """Keep what an update needs of an episode."""
        solved = zip(played.turns, played.solved_by_turn, strict=True)
        turns = tuple(MemberTurn(turn.begin, turn.end, count) for turn, count in solved)
        return cls(played.ids, played.mask, played.logprobs, turns, help_of(played.trajectory))

    @property
    def num_written(self) -> int:
        """Tokens that the policy wrote."""
        return sum(self.mask)


class Generation:
    """Plays groups, one after the other in the order of the run.

    What a group plays follows from its number. So what a checkpoint has to hold is the number of the next
    group, and the groups that wait.
    """

    def __init__(
        self,
        settings: RlSettings,
        gateway: GatewayClient,
        policy: Policy,
        text: tuple[Renderer, Tokenizer],
        questions: Sequence[Question],
        *,
        users: Users | None = None,
        rewards: Rewards | None = None,
        guidance: Guidance | None = None,
    ) -> None:
        self.next_number = 0
        self.played: list[PolicyTrajectory] = []
        """Since it was last emptied, those that failed among them."""
        self.policy = _MeasuredPolicy(policy)
        self._settings = settings
        self._gateway = gateway
        self._text = text
        self._agenda = Agenda(settings, questions)
        self._users = users
        self._rewards = rewards
        self._guidance = guidance
        self._lost_rounds = 0

    async def play(self, step: int, count: int) -> list[Group[Member]]:
        """Play the next groups at T = 1.

        Raises:
            TrainingError: Round after round, no group came through; names the last failure. Or rewards are
                no numbers.
            RefusedError: The gateway does not take what is asked for.
        """
        numbers = range(self.next_number, self.next_number + count)
        size = self._settings.training.group_size
        rollouts = [r for number in numbers for r in self._rollouts(number, step)]
        played = await self._play(
            rollouts, self._guidance.guides(rollouts) if self._guidance else {}
        )
        self.next_number += count
        groups: list[Group[Member]] = []
        for at, number in enumerate(numbers):
            members = played[at * size : (at + 1) * size]
            if self._rewards is not None:
                members = await anyio.to_thread.run_sync(_told, self._rewards, number, members)
            elif (kind := self._settings.objective.reward) != "f1":
                members = [_earning(kind, one) for one in members]
            self.played += members
            groups.append(_group(number, step, members))
        self._watch(groups, played)
        return groups

    async def play_gold(self, numbers: Sequence[int], step: int) -> list[PolicyTrajectory]:
        """Play the gold calls of the questions of these groups, in episodes as theirs were.

        Raises:
            RefusedError: The gateway does not take what is asked for.
        """
        if self._guidance is None:
            raise ValueError("no gold is known")
        rollouts = gold_rollouts(self._rollouts(number, step) for number in numbers)
        return await self._play(rollouts, self._guidance.guides(rollouts))

    async def _play(
        self, rollouts: Sequence[Rollout], guides: Mapping[int, Guide]
    ) -> list[PolicyTrajectory]:
        return await play_policy(
            self._gateway,
            self.policy,
            *self._text,
            rollouts,
            temperature=1.0,
            limits=limits_of_episode(self._settings, self.policy.limits),
            users=self._users,
            guides=guides,
            concurrency=self._settings.limits.concurrency,
        )

    def _rollouts(self, number: int, step: int) -> list[Rollout]:
        group = self._agenda.group(number, step)
        return marked(group, self._guidance.settings) if self._guidance else group

    def _watch(self, groups: Sequence[Group[Member]], played: Sequence[PolicyTrajectory]) -> None:
        is_lost = all(group.rewards is None for group in groups)
        self._lost_rounds = self._lost_rounds + 1 if is_lost else 0
        if self._lost_rounds == _MAX_LOST_ROUNDS:
            raise TrainingError(
                f"in {_MAX_LOST_ROUNDS} rounds of rollouts in a row each group had an episode that failed;"
                f" the last: {_last_failure(played)}"
            )


def _told(
    rewards: Rewards, number: int, played: Sequence[PolicyTrajectory]
) -> list[PolicyTrajectory]:
    """Ask what the episodes of a group earned; one that failed earns nothing, and nobody is asked."""
    whole = [one for one in played if one.trajectory.failure is None]
    answer = cast("object", rewards(number, whole)) if whole else ()
    earned = [*cast("Iterable[object]", answer)] if isinstance(answer, Iterable) else [answer]
    numbers = [float(cast("float", each)) for each in earned if _is_reward(each)]
    if not len(numbers) == len(earned) == len(whole):
        raise TrainingError(
            f"the rewards of group {number} are {earned}: a number for each of its {len(whole)} episodes is"
            " asked for"
        )
    left = iter(numbers)
    return [
        replace(one, told=next(left)) if one.trajectory.failure is None else one for one in played
    ]


def _earning(kind: Literal["recall", "precision"], played: PolicyTrajectory) -> PolicyTrajectory:
    """Take a part of the gateway's reward for all of it."""
    reward = played.trajectory.reward
    return played if reward is None else replace(played, told=getattr(reward, kind))


def _is_reward(value: object) -> bool:
    """Whether it is a number, and sums of squares of it are; not a number is none."""
    return isinstance(value, Real) and bool(abs(cast("float", value)) <= _LARGEST_REWARD)


def _group(number: int, step: int, played: Sequence[PolicyTrajectory]) -> Group[Member]:
    """Put a group together; one with an episode that failed has no rewards, and keeps no tokens."""
    earned = tuple(one.reward for one in played if one.reward is not None)
    if len(earned) < len(played):
        return Group(number=number, step=step, rewards=None, members=())
    members = tuple(map(Member.of, played))
    return Group(number=number, step=step, rewards=earned, members=members)


def _last_failure(played: Sequence[PolicyTrajectory]) -> str:
    for one in reversed(played):
        failure = one.trajectory.failure
        if failure is not None:
            return f"at the boundary {failure.boundary}: {failure.message}"
    return "the source has nothing to solve, so there is no reward: give rewards of your own"


def limits_of_episode(settings: RlSettings, usual: PolicyLimits) -> PolicyLimits:
    """Give the limits of an episode.

    Args:
        settings: Of the run.
        usual: Those of the policy, which hold where the settings say nothing.

    Raises:
        ConfigError: The model does not read so much, or a turn fits no episode.
    """
    asked = settings.limits
    if asked.context_tokens is not None and asked.context_tokens > usual.context_tokens:
        raise ConfigError(
            f"limits.context_tokens is {asked.context_tokens}, and the model reads"
            f" {usual.context_tokens}"
        )
    limits = PolicyLimits(
        turns=asked.turns,
        user_turns=asked.user_turns,
        prompt_tokens=asked.prompt_tokens,
        response_tokens=asked.response_tokens,
        context_tokens=asked.context_tokens or usual.context_tokens,
        turn_tokens=asked.turn_tokens or usual.turn_tokens,
        end_when_solved=asked.end_when_solved,
    )
    if limits.fault is not None:
        raise ConfigError(f"limits.{limits.fault}")
    return limits


class _MeasuredPolicy:
    """A policy, and the wall and processor time that it takes."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.seconds = self.cpu_seconds = 0.0

    @property
    def limits(self) -> PolicyLimits:
        return self._policy.limits

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        began, began_cpu = time.perf_counter(), time.process_time()
        try:
            return self._policy.generate(
                contexts, temperature=temperature, max_tokens=max_tokens, seeds=seeds
            )
        finally:
            self.seconds += time.perf_counter() - began
            self.cpu_seconds += time.process_time() - began_cpu


def group_state(group: Group[Member]) -> dict[str, Any]:
    """Give a group that waits as a checkpoint holds it."""
    return {
        "number": group.number,
        "step": group.step,
        "rewards": list(group.rewards or ()),
        "members": [
            {
                "ids": list(m.ids),
                "mask": list(m.mask),
                "logprobs": list(m.logprobs),
                "turns": [[turn.begin, turn.end, turn.solved] for turn in m.turns],
                "help": m.help.value,
            }
            for m in group.members
        ],
    }


def group_of(state: Mapping[str, Any]) -> Group[Member]:
    """Make a group again of what :func:`group_state` gave."""
    members = cast("Sequence[Mapping[str, Sequence[Any]]]", state["members"])
    return Group(
        number=state["number"],
        step=state["step"],
        rewards=tuple(state["rewards"]),
        members=tuple(
            Member(
                tuple(m["ids"]),
                tuple(m["mask"]),
                tuple(m["logprobs"]),
                tuple(MemberTurn(*turn) for turn in m["turns"]),
                Help(cast("str", m.get("help", Help.NONE))),  # in older states nobody was helped
            )
            for m in members
        ),
    )
