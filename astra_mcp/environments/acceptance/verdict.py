"""What the acceptance says of a bundle: each failed check by name, with its evidence."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum

from astra_mcp.types import JsonObject

__all__ = ["Check", "FailedCheck", "Spent", "Verdict"]

_MAX_DETAIL = 600


class Check(StrEnum):
    """The checks of the acceptance, in the order in which they run."""

    DOCUMENT = "document"
    """The bundle loads: every field is valid, and they fit together."""
    SIGNATURE = "signature"
    """The functions of ``tools.py`` take the parameters that the document declares."""
    COMPLETE = "complete"
    """Questions, answers, hop levels and gold calls are there."""
    SPECIFIC_ANSWER = "specific_answer"
    """No answer is so short or common that it is found by chance."""
    LEAKED_ANSWER = "leaked_answer"
    """No answer stands where the agent reads it before any call."""
    ISOLATION = "isolation"
    """Tool code reaches for no file, process, network or interpreter internals."""
    LOAD = "load"
    """The module of the tools loads within its limits."""
    LIMITS = "limits"
    """Every call keeps its limits of time, memory and size."""
    RESULT = "result"
    """Results are returned, as JSON that the output schema allows."""
    GOLD_ANSWER = "gold_answer"
    """The gold calls contain their answers."""
    DETERMINISM = "determinism"
    """Equal calls have equal results; answers depend on neither seed, clock nor memory."""
    ECHOED_ANSWER = "echoed_answer"
    """No gold call carries its own answer."""
    UNGROUNDED_ARGUMENT = "ungrounded_argument"
    """What gold calls are given stands in what an agent is told, or is worked out from it."""
    REPETITION = "repetition"
    """A call that is repeated has the same result, or errs clearly; hints about tools hold."""
    ORDER = "order"
    """Gold calls hold their answers in every order that dependencies allow, and after failed calls."""
    LONG_SESSION = "long_session"
    """However many calls came before, a call that changes nothing has one result."""
    OMITTED_ARGUMENT = "omitted_argument"
    """Without an identifying argument the answer is lost."""
    OPEN_TABLE = "open_table"
    """No call without the values that identify a record holds its answer."""
    IDENTIFYING_ARGUMENT = "identifying_argument"
    """Other identifying arguments lose the answer."""
    ONLY_GOLD = "only_gold"
    """Other existing arguments have real results of their own."""
    LIVE_PARAMETER = "live_parameter"
    """Every declared parameter changes some result, by more than repeating itself."""
    CLEAR_ERROR = "clear_error"
    """Bad arguments are answered with errors that say what is wrong."""
    SWALLOWED_ARGUMENT = "swallowed_argument"
    """Senseless arguments are not answered as if they were good."""
    REWARD = "reward"
    """The oracle scores at least 0.999, and no gold call earns what it does not declare."""
    HYGIENE = "hygiene"
    """Results are of use to an agent: small, plain, addressed to nobody, at a cost that has a bound."""
    BUDGET = "budget"
    """The calls of the acceptance end within its calls and seconds."""
    GUESSABLE = "guessable"
    """Calling each tool once, with what its schema suggests or with as little as it takes, solves nothing."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that failed, with what was seen."""

    check: Check
    detail: str
    subject: str = ""
    """What it is about, such as one answer of a tool; of those alike the first one is told."""
    question: str | None = None
    """Id of the further question that it speaks of; None for the main one, and for what all share."""

    @classmethod
    def of(cls, check: Check, detail: str, subject: str = "") -> "FailedCheck":
        """Name a failure; evidence is cut at 600 characters."""
        is_short = len(detail) <= _MAX_DETAIL
        return cls(check, detail if is_short else f"{detail[: _MAX_DETAIL - 3]}...", subject)

    def __str__(self) -> str:
        where = "" if self.question is None else f"question {self.question}: "
        return f"{self.check.value}: {where}{self.detail}"


@dataclass(frozen=True, slots=True)
class Spent:
    """What an acceptance used of its budget, which each question has for itself."""

    calls: int
    max_calls: int
    seconds: float
    """That slow calls took."""
    max_seconds: float
    left_out: tuple[str, ...] = ()
    """What a cap on the calls of a check left out."""

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.calls + other.calls,
            self.max_calls + other.max_calls,
            round(self.seconds + other.seconds, 2),
            self.max_seconds + other.max_seconds,
            (*self.left_out, *other.left_out),
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the acceptance found of one bundle."""

    name: str
    failed_checks: tuple[FailedCheck, ...] = ()
    spent: Spent | None = None
    """None where nothing was executed."""

    @property
    def verified(self) -> bool:
        """True where no check failed."""
        return not self.failed_checks

    @classmethod
    def of(
        cls, name: str, failures: Iterable[FailedCheck], spent: Spent | None = None
    ) -> "Verdict":
        """Collect failures, each once."""
        told = dict[object, FailedCheck]()
        for failure in failures:
            about = (failure.question, failure.subject) if failure.subject else failure
            told.setdefault(about, failure)
        return cls(name, tuple(told.values()), spent)

    def as_json(self) -> JsonObject:
        """Render for ``environments verify --json``."""
        return {
            "name": self.name,
            "verified": self.verified,
            "failed_checks": [
                {"check": f.check.value, "question": f.question, "detail": f.detail}
                for f in self.failed_checks
            ],
            "spent": None if self.spent is None else asdict(self.spent),
        }
