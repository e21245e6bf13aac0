"""What the acceptance says of a bundle: each failed check by name, with its evidence."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from astra_mcp.types import JsonObject

__all__ = ["Check", "FailedCheck", "Verdict"]

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
    GUESSABLE = "guessable"
    """Calling each tool once, with what its schema suggests or with as little as it takes, solves nothing."""


@dataclass(frozen=True, slots=True)
class FailedCheck:
    """A check that failed, with what was seen."""

    check: Check
    detail: str

    @classmethod
    def of(cls, check: Check, detail: str) -> "FailedCheck":
        """Name a failure; evidence is cut at 600 characters."""
        return cls(
            check, detail if len(detail) <= _MAX_DETAIL else detail[: _MAX_DETAIL - 3] + "..."
        )


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the acceptance found of one bundle."""

    name: str
    failed_checks: tuple[FailedCheck, ...] = ()

    @property
    def verified(self) -> bool:
        """True where no check failed."""
        return not self.failed_checks

    @classmethod
    def of(cls, name: str, failures: Iterable[FailedCheck]) -> "Verdict":
        """Collect failures, each once."""
        return cls(name, tuple(dict.fromkeys(failures)))

    def as_json(self) -> JsonObject:
        """Render for ``environments verify --json``."""
        return {
            "name": self.name,
            "verified": self.verified,
            "failed_checks": [
                {"check": f.check.value, "detail": f.detail} for f in self.failed_checks
            ],
        }
