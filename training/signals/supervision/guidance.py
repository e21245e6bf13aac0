"""Who of a group is helped, and how: the first members play gold, the next ones are given a hint."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from statistics import fmean
from typing import Self

from astra_mcp.errors import ConfigError
from astra_mcp.synthesis.asking import Asks
from astra_mcp.trajectory import Trajectory
from astra_mcp.types import canonical_json
from gateway.api.client import GatewayClient
from training.rl.core.policy import PolicyLimits
from training.rl.core.policy_agent import Guide
from training.rollout.plan import Rollout, Source
from training.signals.supervision.gold import Gold, GoldGuide, Speech, find_gold
from training.signals.supervision.hints import (
    HintGuide,
    Hints,
    ask_hints,
    read_hints,
    template_hint,
)
from training.signals.supervision.questions import QuestionKey, QuestionRow
from training.signals.supervision.reviews import read_texts
from training.signals.supervision.settings import SignalSettings

__all__ = [
    "GUIDED",
    "SIGNALS",
    "Guidance",
    "Help",
    "check_users",
    "figures_of_help",
    "help_of",
    "marked",
]

SIGNALS = "signals"
"""Folder of what signals leave in a run's folder."""
GUIDED = "guided"
"""Label of an episode in which the policy was helped; says how."""


class Help(StrEnum):
    """How an episode came to be."""

    NONE = "none"
    """The policy played alone."""
    GOLD = "gold"
    """It played the gold calls."""
    HINT = "hint"
    """The policy was given a hint."""


def help_of(played: Trajectory | Rollout) -> Help:
    """Say how an episode of a run came to be, or is to come."""
    return Help(played.labels.get(GUIDED, Help.NONE))


def marked(group: Iterable[Rollout], settings: SignalSettings) -> list[Rollout]:
    """Label the members of a group that are helped; all others are as they were."""
    return [
        replace(each, labels={**each.labels, GUIDED: kind})
        if (kind := _help_for(each.sample, settings)) is not Help.NONE
        else each
        for each in group
    ]


def _help_for(sample: int, settings: SignalSettings) -> Help:
    """Say how the member of that number is helped."""
    if sample < settings.demonstrations.members:
        return Help.GOLD
    return Help.HINT if sample < settings.num_helped else Help.NONE


def check_users(settings: SignalSettings, *, has_users: bool) -> None:
    """Refuse signals that episodes with a user who speaks cannot have.

    Raises:
        ConfigError: There are some.
    """
    if has_users and (settings.demonstrations.members or settings.is_supervised):
        raise ConfigError(
            "gold calls answer no user who goes on speaking: leave user.model out, or signals.demonstrations"
            " and signals.schedule"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Guidance:
    """Helps members of groups; which ones, follows from their numbers alone."""

    settings: SignalSettings
    speech: Speech
    gold: Gold
    """Of each question, where something is made of it."""
    hints: Hints
    """Of each question, where some are given."""
    texts: Sequence[QuestionRow] = ()
    """Reviews and analyses, where a file has them."""

    @classmethod
    async def of(
        cls,
        settings: SignalSettings,
        gateway: GatewayClient,
        sources: Sequence[Source],
        speech: Speech,
    ) -> Self:
        """Find what the signals of a run are made of, but for what a model writes.

        Args:
            settings: Of the run.
            gateway: Tells gold and questions.
            sources: What is played, to learn from it.
            speech: Of the policy.

        Raises:
            ConfigError: A question has no gold, or no hint; or a file cannot be used.
            TransportError: The gateway does not tell.
        """
        gold: Gold = await find_gold(gateway, sources) if settings.needs_gold else {}
        texts = settings.reflections.file
        made = cls(
            settings=settings,
            speech=speech,
            gold=gold,
            hints={},
            texts=read_texts(texts, {*gold}) if texts else (),
        )
        if not settings.hints.members or settings.hints.source == "model":
            return made
        keys = keys_of(sources)
        if settings.hints.source == "file":
            return replace(made, hints=read_hints(settings.hints, keys))
        return replace(made, hints={key: template_hint(gold[key]) for key in keys})

    async def advised(
        self,
        gateway: GatewayClient,
        sources: Sequence[Source],
        adviser: Asks | None,
        folder: Path,
    ) -> Self:
        """Have a model write the hints, where one is to, or take those that it wrote for the run before.

        Args:
            gateway: Tells questions.
            sources: What is played.
            adviser: The model.
            folder: Where what it wrote stays.

        Raises:
            ConfigError: No model is given, or what it wrote cannot be read or kept.
            ModelError: It gave no hint.
            TransportError: The gateway does not tell.
        """
        if not self.settings.hints.members or self.settings.hints.source != "model":
            return self
        questions = await _texts(gateway, keys_of(sources))
        return replace(self, hints=await ask_hints(questions, self.gold, adviser, folder))

    def require_room(self, limits: PolicyLimits) -> None:
        """Refuse hints that no prompt can hold: each group of such a question would fail.

        Args:
            limits: Of an episode.

        Raises:
            ConfigError: A hint alone is longer than a prompt may be.
        """
        most = min(limits.prompt_tokens, limits.context_tokens - limits.turn_tokens)
        for key, text in self.hints.items():
            number = len(self.speech.tokenizer.encode(text))
            if number > most:
                raise ConfigError(
                    f"{self.settings.hints.file or 'signals.hints'}: the hint for {key} has {number} tokens,"
                    f" and the whole prompt may have {most}: shorten it, or leave the question out of"
                    " [[data]]"
                )

    @property
    def digests(self) -> dict[str, str]:
        """What the signals are made of, in digests: a run goes on with what it began with."""
        gold = {
            str(key): [c.model_dump(mode="json") for c in calls] for key, calls in self.gold.items()
        }
        hints = {str(key): text for key, text in self.hints.items()}
        texts = [row.model_dump(mode="json") for row in self.texts]
        parts = {"the gold calls": gold, "the hints": hints, "the reflections": texts}
        return {
            name: sha256(canonical_json(part)).hexdigest() for name, part in parts.items() if part
        }

    def guides(self, rollouts: Sequence[Rollout]) -> Mapping[int, Guide]:
        """Make the guides of those that are marked, by their places."""
        made: dict[int, Guide] = {}
        for place, rollout in enumerate(rollouts):
            key = QuestionKey.of_source(rollout.source)
            kind = help_of(rollout)
            if key is not None and kind is Help.GOLD:
                made[place] = self.player(key)
            elif key is not None and kind is Help.HINT:
                made[place] = HintGuide(self.hints[key], self.settings.hints, self.speech)
        return made

    def player(self, key: QuestionKey) -> GoldGuide:
        """Make the guide that plays a question's gold."""
        return GoldGuide(self.gold[key], self.settings.demonstrations.closing, self.speech)


def figures_of_help(played: Sequence[tuple[Help, float | None]]) -> dict[str, float]:
    """Count the episodes of each kind of help, and give what they earned.

    Args:
        played: Of each episode how it came to be, and what it earned; None where it failed.
    """
    found: dict[str, float] = {}
    for kind in (Help.GOLD, Help.HINT):
        helped = [reward for how, reward in played if how is kind]
        earned = [reward for reward in helped if reward is not None]
        if helped:
            found[f"signals/{kind.value}/episodes"] = len(helped)
        if earned:
            found[f"signals/{kind.value}/reward"] = fmean(earned)
    return found


def keys_of(sources: Sequence[Source]) -> list[QuestionKey]:
    """Give the questions of what is played, each once.

    Raises:
        ConfigError: Something is no environment.
    """
    keys = [QuestionKey.of_source(source) for source in sources]
    if None in keys:
        raise ConfigError(
            "hints are for questions of environments: leave other sources out of [[data]]"
        )
    return [*dict.fromkeys(key for key in keys if key is not None)]


async def _texts(gateway: GatewayClient, keys: Sequence[QuestionKey]) -> dict[QuestionKey, str]:
    """Read what questions ask."""
    there = {each.name: each for each in await gateway.environments()}
    found: dict[QuestionKey, str] = {}
    for key in keys:
        if key.question is None:
            found[key] = there[key.environment].question
        elif key not in found:
            details = await gateway.environment(key.environment)
            found |= {QuestionKey(key.environment, q.id): q.question for q in details.questions}
    return {key: found[key] for key in keys}
