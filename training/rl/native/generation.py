"""Groups of episodes: which question each plays, and what the policy wrote in them."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, cast

import anyio.to_thread

from astra_mcp.errors import TrainingError
from astra_mcp.seeds import derive_seed, generator
from astra_mcp.types import JsonObject
from gateway.api.client import GatewayClient
from gateway.api.wire import DistractorRequest, FailureRequest
from training.render import Renderer, Tokenizer
from training.rl.core.filling import Group
from training.rl.core.playing import PolicyTrajectory, play_policy
from training.rl.core.policy import Policy, PolicyLimits, Sampled
from training.rl.native.settings import RlSettings
from training.rollout.plan import Rollout, Source

__all__ = ["Generation", "Member", "Question", "Rewards", "group_of", "group_state", "limits_of"]

_MAX_LOST_ROUNDS = 5
"""So many rounds in a row of which no group is whole end a run: something is broken."""

Rewards = Callable[[int, Sequence[PolicyTrajectory]], Sequence[float]]
"""What episodes of a group earned, by the group's number and the episodes, of which none failed. Called in a
thread, for one group after the other; also for what is left of a group that is not trained on.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a group plays."""

    source: Source
    version: str | None
    distractors: DistractorRequest | None = None
    failures: FailureRequest | None = None

    def as_json(self) -> JsonObject:
        """Give all of it."""
        asked = {"distractors": self.distractors, "failures": self.failures}
        return {
            "source": self.source.model_dump(mode="json"),
            "version": self.version,
            **{name: each and each.model_dump(mode="json") for name, each in asked.items()},
        }


@dataclass(frozen=True, slots=True)
class Member:
    """The tokens of one episode, as the policy saw and wrote them."""

    ids: tuple[int, ...]
    mask: tuple[bool, ...]
    """Which of them the policy wrote."""
    logprobs: tuple[float, ...]
    """Of those, when they were written; 0 at all others."""

    @property
    def num_written(self) -> int:
        """Tokens that the policy wrote."""
        return sum(self.mask)


class Generation:
    """Plays groups, one after the other in the order of the run.

    Which question a group plays, and all of its seeds, follow from its number. So what a checkpoint has to
    hold is the number of the next group, and the groups that wait.
    """

    def __init__(
        self,
        settings: RlSettings,
        gateway: GatewayClient,
        policy: Policy,
        text: tuple[Renderer, Tokenizer],
        questions: Sequence[Question],
        *,
        rewards: Rewards | None = None,
    ) -> None:
        self.next_number = 0
        self.played: list[PolicyTrajectory] = []
        """Since it was last emptied, those that failed among them."""
        self.policy = _MeasuredPolicy(policy)
        self._settings = settings
        self._gateway = gateway
        self._text = text
        self._questions = questions
        self._rewards = rewards
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
        played = await play_policy(
            self._gateway,
            self.policy,
            *self._text,
            [r for number in numbers for r in self._rollouts(number, step)],
            temperature=1.0,
            limits=limits_of(self._settings, self.policy),
            concurrency=self._settings.limits.concurrency,
        )
        self.next_number += count
        groups: list[Group[Member]] = []
        for at, number in enumerate(numbers):
            members = played[at * size : (at + 1) * size]
            if self._rewards is not None:
                members = await anyio.to_thread.run_sync(_told, self._rewards, number, members)
            self.played += members
            groups.append(_group(number, step, members))
        self._watch(groups, played)
        return groups

    def _rollouts(self, number: int, step: int) -> list[Rollout]:
        asked = self._questions[self._place(number)]
        labels = {"run": self._settings.out.name, "step": str(step), "group": str(number)}
        return [
            Rollout(
                source=asked.source,
                version=asked.version,
                root_seed=derive_seed(self._settings.seed, "rl", "episodes") >> 1,
                index=number,
                sample=sample,
                distractors=asked.distractors,
                failures=asked.failures,
                labels=labels,
            )
            for sample in range(self._settings.training.group_size)
        ]

    def _place(self, number: int) -> int:
        """Give the question of a group: all questions in an order of each epoch's own."""
        epoch, place = divmod(number, len(self._questions))
        order = [*range(len(self._questions))]
        generator(self._settings.seed, "rl", "order", epoch).shuffle(order)
        return order[place]

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
    earned = [*rewards(number, whole)] if whole else []
    if len(earned) != len(whole) or not all(map(isfinite, earned)):
        raise TrainingError(
            f"the rewards of group {number} are {earned}: a number for each of its {len(whole)} episodes is"
            " asked for"
        )
    told = iter(earned)
    return [
        replace(one, told=float(next(told))) if one.trajectory.failure is None else one
        for one in played
    ]


def _group(number: int, step: int, played: Sequence[PolicyTrajectory]) -> Group[Member]:
    """Put a group together; one with an episode that failed has no rewards, and keeps no tokens."""
    earned = tuple(one.reward for one in played if one.reward is not None)
    if len(earned) < len(played):
        return Group(number=number, step=step, rewards=None, members=())
    members = tuple(Member(one.ids, one.mask, one.logprobs) for one in played)
    return Group(number=number, step=step, rewards=earned, members=members)


def _last_failure(played: Sequence[PolicyTrajectory]) -> str:
    for one in reversed(played):
        failure = one.trajectory.failure
        if failure is not None:
            return f"at the boundary {failure.boundary}: {failure.message}"
    return "the source has nothing to solve, so there is no reward: give rewards of your own"


def limits_of(settings: RlSettings, policy: Policy) -> PolicyLimits:
    """Give the limits of an episode, those of the policy where the settings say nothing."""
    asked, usual = settings.limits, policy.limits
    return PolicyLimits(
        turns=asked.turns,
        turn_tokens=asked.turn_tokens or usual.turn_tokens,
        context_tokens=asked.context_tokens or usual.context_tokens,
    )


class _MeasuredPolicy:
    """A policy, and the processor time that it takes."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.cpu_seconds = 0.0

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
        began = time.process_time()
        try:
            return self._policy.generate(
                contexts, temperature=temperature, max_tokens=max_tokens, seeds=seeds
            )
        finally:
            self.cpu_seconds += time.process_time() - began


def group_state(group: Group[Member]) -> dict[str, Any]:
    """Give a group that waits as a checkpoint holds it."""
    return {
        "number": group.number,
        "step": group.step,
        "rewards": list(group.rewards or ()),
        "members": [
            {"ids": list(m.ids), "mask": list(m.mask), "logprobs": list(m.logprobs)}
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
            Member(tuple(m["ids"]), tuple(m["mask"]), tuple(m["logprobs"])) for m in members
        ),
    )
