"""What a run plays, as its processes read it: a file names the settings, and a number says the rest.

Which question a group plays, and its seeds, follow from the number of the group as in the native trainer, so
that the same file plays the same groups with both.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from gateway.api.seams import GoldCall
from gateway.api.wire import DistractorRequest, FailureRequest
from training.rl.native.agenda import Agenda, Question
from training.rl.native.settings import DistractorShare
from training.rl.verl.settings import VerlSettings
from training.rollout.plan import Rollout, Source, plan_rollouts
from training.signals.supervision.gold import Gold, Speech
from training.signals.supervision.guidance import Guidance, marked
from training.signals.supervision.hints import Hints
from training.signals.supervision.questions import QuestionKey

__all__ = ["ORDERS", "Asked", "Plan"]

ORDERS = "orders"
"""Folder beside the plan, in which the trainer and the command tell each other of steps."""

_SOURCE: TypeAdapter[Source] = TypeAdapter(Source)


@dataclass(frozen=True, slots=True)
class Asked:
    """One held-out episode."""

    rollout: Rollout
    temperature: float

    @property
    def kind(self) -> str:
        """How figures of a validation call it."""
        return "sampled" if self.temperature else "greedy"


@dataclass(frozen=True)
class Plan:
    """Settings and questions of a run, and the gateway that it plays through."""

    settings: VerlSettings
    model: str
    """Where the model is: the folder that settings name, or one that was stretched."""
    questions: Sequence[Question]
    held_out: Sequence[tuple[Source, str | None]]
    url: str
    """Of the gateway; its key is in the environment of the processes."""
    episodes: Path
    """A folder, in which each process that plays keeps an account of its episodes."""
    gold: Gold = field(default_factory=dict[QuestionKey, Sequence[GoldCall]])
    """Of each question, where members of groups are helped by it."""
    hints: Hints = field(default_factory=dict[QuestionKey, str])

    @cached_property
    def _agenda(self) -> Agenda:
        return Agenda(self.settings, self.questions)

    def group(self, number: int, step: int) -> list[Rollout]:
        """Give the episodes of a group, those marked in which the policy is helped.

        Args:
            number: Of the group.
            step: Of training, from 0, for which it is played.
        """
        return marked(self._agenda.group(number, step), self.settings.signals)

    def guidance(self, speech: Speech) -> Guidance:
        """Give what helps those that are marked.

        Args:
            speech: Of the policy.
        """
        return Guidance(
            settings=self.settings.signals, speech=speech, gold=self.gold, hints=self.hints
        )

    @cached_property
    def validation(self) -> Sequence[Asked]:
        """All held-out episodes: each environment once greedily, and so many times at T = 1."""
        asked = self.settings.validation

        def planned(samples: int) -> list[Rollout]:
            return plan_rollouts(
                self.held_out,
                num_episodes=1,
                num_samples=samples,
                root_seed=self.settings.seed,
                distractors=asked.distractors,
            )

        sampled = planned(asked.samples)
        return [*(Asked(r, 0.0) for r in planned(1)), *(Asked(r, 1.0) for r in sampled)]

    def write(self, file: Path) -> None:
        """Write it where the processes read it."""
        file.write_text(json.dumps(self._as_json(), ensure_ascii=False), encoding="utf-8")

    @classmethod
    def read(cls, file: str | Path) -> "Plan":
        """Read what :meth:`write` wrote."""
        found = json.loads(Path(file).read_text(encoding="utf-8"))
        return cls(
            settings=VerlSettings.model_validate(found["settings"]),
            model=found["model"],
            questions=[_question(each) for each in found["questions"]],
            held_out=[(_SOURCE.validate_python(s), version) for s, version in found["held_out"]],
            url=found["url"],
            episodes=Path(found["episodes"]),
            gold={
                QuestionKey(*key): [GoldCall.model_validate(call) for call in calls]
                for key, calls in found["gold"]
            },
            hints={QuestionKey(*key): text for key, text in found["hints"]},
        )

    def _as_json(self) -> dict[str, Any]:
        return {
            # What was not asked for stays so: some settings go with others alone.
            "settings": self.settings.model_dump(mode="json", exclude_unset=True),
            "model": self.model,
            "questions": [each.as_json() for each in self.questions],
            "held_out": [[s.model_dump(mode="json"), version] for s, version in self.held_out],
            "url": self.url,
            "episodes": str(self.episodes),
            "gold": [
                [key, [call.model_dump(mode="json") for call in calls]]
                for key, calls in self.gold.items()
            ],
            "hints": [*map(list, self.hints.items())],
        }


def _question(found: dict[str, Any]) -> Question:
    asked, failures = found["distractors"], found["failures"]
    return Question(
        source=_SOURCE.validate_python(found["source"]),
        version=found["version"],
        distractors=None if asked is None else DistractorRequest.model_validate(asked),
        failures=None if failures is None else FailureRequest.model_validate(failures),
        mixture=tuple(DistractorShare.model_validate(each) for each in found["mixture"]),
    )
