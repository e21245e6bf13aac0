"""The questions to a judge, the votes that answer one, and what they decide."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from astra_mcp.types import JsonObject

__all__ = ["Answer", "Judgement", "Question", "Vote", "judged"]

_MAX_REASON = 600


class Question(StrEnum):
    """What a judge is asked; each names what is true of a sound bundle, and a prompt."""

    NEEDED_DEPENDENCIES = "needed_dependencies"
    """Every sub-task needs what its dependencies find or bring about."""
    STATED_ANSWERS = "stated_answers"
    """The result of each gold call states its answer, and neither negates it nor means something else."""
    RIGHT_MAIN_ANSWER = "right_main_answer"
    """The main answer follows from the answers of the sub-tasks, and leaves nothing open."""
    SAME_SUBJECT = "same_subject"
    """The main question asks for what the sub-tasks ask, and for nothing else."""
    HIDDEN_ANSWERS = "hidden_answers"
    """No answer is told in other words by a question or by a tool's document."""
    FOLLOWING_ARGUMENTS = "following_arguments"
    """Arguments that say what they are worked out from follow from it."""


class Answer(StrEnum):
    """What one vote says to a question."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Vote:
    """One answer of the judge."""

    answer: Answer | None
    """None where the model gave none of use."""
    reason: str
    """In the judge's words, or why there is no answer."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the votes decide on one question."""

    question: Question
    votes: tuple[Vote, ...]
    question_id: str | None = None
    """The further question of the bundle that is judged; None is the main one."""

    @property
    def counts(self) -> dict[str, int]:
        """Votes by answer; failed ones are in none."""
        found = Counter(vote.answer for vote in self.votes)
        return {answer.value: found[answer] for answer in Answer}

    @property
    def answer(self) -> Answer:
        """What more than half of all votes say, failed ones included; else unclear."""
        wide = [a for a in Answer if 2 * self.counts[a.value] > len(self.votes)]
        return wide[0] if wide else Answer.UNCLEAR

    @property
    def verdict(self) -> bool | None:
        """True or false where the votes decide for or against the bundle; None where they do not."""
        return {Answer.YES: True, Answer.NO: False, Answer.UNCLEAR: None}[self.answer]

    def as_json(self) -> JsonObject:
        """Render for ``environments verify --judge --json``; reasons are in the order of the votes."""
        return {
            "question_id": self.question_id,
            "question": self.question.value,
            "verdict": self.verdict,
            "votes": dict(self.counts),
            "reasons": [vote.reason[:_MAX_REASON] for vote in self.votes],
        }


def judged(judgements: Sequence[Judgement]) -> bool | None:
    """Join what is decided: false where one question is decided against the bundle, true where all are for.

    None where some are open, or nothing was asked.
    """
    verdicts = [judgement.verdict for judgement in judgements]
    if False in verdicts:
        return False
    return True if verdicts and None not in verdicts else None
