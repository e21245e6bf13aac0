"""The error tree. Every failure is attributed to the boundary that it crossed.

AstraError
    ConfigError
    BundleError
    BudgetSpentError
    ModelError
    SandboxError
        SandboxUnavailableError
        ToolCodeError
        SandboxDiedError
        SandboxLostError
        StartRefusedError
    UpstreamError
        BusyError
        RelayedError
    GatewayError
        UnknownNameError
        CallFaultError
        RecordError
        EpisodeEndedError
        NotAvailableError
        CapacityError
        ShortageError
            NoSpaceError
            NoFilesError
            NoMemoryError
            NoProcessesError
        WorkerError
        PortInUseError
    PipelineError
    UndecidedError
    RegistryError
    DrawError
    TransportError
        RefusedError    in gateway.api.client
        CallRefusedError    in gateway.api.client
    TrainingError
    SourceError
    AgentError    in training.rollout.agent
    LimitReachedError    in training.rollout.limits
    UntoldTokensError    in training.rollout.limits
    UserError    in training.rollout.users.user

Errors that never leave their package are not listed; each of them is a kind of its boundary's error.

An error of the caller is a message with a remedy, never a traceback. A failure inside an episode is
data in its record (see :class:`astra_mcp.types.Failure`), never a score.
"""

import difflib
import heapq
from collections.abc import Iterable, Sequence
from enum import StrEnum

__all__ = [
    "AstraError",
    "BudgetSpentError",
    "BundleError",
    "BundleFault",
    "BusyError",
    "CallFaultError",
    "CapacityError",
    "ConfigError",
    "DrawError",
    "EpisodeEndedError",
    "GatewayError",
    "ModelError",
    "ModelFault",
    "NoFilesError",
    "NoMemoryError",
    "NoProcessesError",
    "NoSpaceError",
    "NotAvailableError",
    "PipelineError",
    "PortInUseError",
    "RecordError",
    "RegistryError",
    "RelayedError",
    "SandboxDiedError",
    "SandboxError",
    "SandboxLostError",
    "SandboxUnavailableError",
    "ShortageError",
    "SourceError",
    "StartRefusedError",
    "ToolCodeError",
    "TrainingError",
    "TransportError",
    "UndecidedError",
    "UnknownNameError",
    "UpstreamError",
    "WorkerError",
    "fault_words",
]

_IN_JSON = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
"""What pydantic calls by the names of Python, by the kinds of its faults."""


class AstraError(Exception):
    """Base of every error that this project raises on purpose."""


class ConfigError(AstraError, ValueError):
    """An option, file or environment variable of the caller is wrong; the message says which."""


class BundleFault(str):
    """One problem of a bundle, as ``file: field: what is wrong``."""

    __slots__ = ()

    @classmethod
    def at(cls, file: str, field: str, message: str) -> "BundleFault":
        """Name the place and the problem."""
        return cls(f"{file}: {field}: {message}" if field else f"{file}: {message}")

    def within(self, place: str) -> "BundleFault":
        """Name a fault of what stands at a place of the file, whose fields it names."""
        file, _, fault = self.partition(": ")
        return BundleFault(f"{file}: {place}.{fault}")


class BundleError(AstraError, ValueError):
    """A bundle does not load; carries every fault found, not only the first."""

    def __init__(self, path: str, faults: Sequence[BundleFault]) -> None:
        super().__init__(path, tuple(faults))
        self.path = path
        self.faults = tuple(faults)

    def __str__(self) -> str:
        return f"{self.path} is not a valid bundle:\n" + "\n".join(f"  {f}" for f in self.faults)


class BudgetSpentError(AstraError):
    """The budget is spent: the call was not begun. Not a fault of the model, and no retry helps."""


class ModelFault(StrEnum):
    """What kept a call of a model from giving data; failures are counted by it."""

    TIMEOUT = "timeout"
    """No answer within the deadline of an attempt or of the call."""
    UNREACHABLE = "unreachable"
    """No connection, or one that broke."""
    RATE_LIMITED = "rate_limited"
    """429, after the retries or with a pause that is too long to wait for."""
    SERVER_ERROR = "server_error"
    """5xx, after the retries."""
    DENIED = "denied"
    """401 or 403: the key is missing or wrong."""
    REFUSED = "refused"
    """Any other 4xx: the endpoint does not take the request as it is."""
    DECLINED = "declined"
    """The model refused to answer, or a filter of the endpoint cut its answer off."""
    MALFORMED = "malformed"
    """The endpoint's answer is not what its protocol says."""
    EMPTY = "empty"
    """The model answered without words, or with thoughts alone."""
    TRUNCATED = "truncated"
    """The model's answer ends before its end."""
    NOT_JSON = "not_json"
    """There is no JSON object in an answer that has to be one."""
    INVALID = "invalid"
    """The JSON of the answer is not of the form that was asked for, or could mean two things."""


class ModelError(AstraError):
    """A model endpoint could not be reached, refused, or answered what cannot be used."""

    def __init__(self, message: str, fault: ModelFault) -> None:
        super().__init__(message, fault)
        self.message = message
        self.fault = fault

    def __str__(self) -> str:
        return self.message


class SandboxError(AstraError):
    """The sandbox failed; the tool code is not to blame."""


class SandboxUnavailableError(SandboxError):
    """A layer that the sandbox requires is missing on this machine."""


class ToolCodeError(SandboxError):
    """Tool code does not compile, or its module raised while it was loaded."""


class SandboxDiedError(SandboxError):
    """The process of a sandbox session ended or was stopped because of what its tool code did.

    The message says why in words that may be shown to an agent (no path, no traceback).
    """


class SandboxLostError(SandboxError):
    """The process of a sandbox session ended for no fault of its tool code, such as with its fork server.

    The call took no effect that outlives the process: it may be repeated on rebuilt state.
    """


class StartRefusedError(SandboxError):
    """The machine lets no process be started for now (ulimit -u, pids.max); no tool code has run for it."""


class UpstreamError(AstraError):
    """A server behind the gateway failed, after retries."""


class BusyError(UpstreamError):
    """As many processes of a server as allowed run, and none of them ended within the deadline."""


class RelayedError(UpstreamError):
    """The other side of a relayed request answered with a JSON-RPC error, which is passed on as it is."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(code, message, data)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class GatewayError(AstraError):
    """The gateway could not do what it was asked to."""


class UnknownNameError(GatewayError, LookupError):
    """No environment, server, episode or tool has this name."""

    @classmethod
    def among(
        cls, what: str, name: str, known: Iterable[str], otherwise: str
    ) -> "UnknownNameError":
        """Name what is closest.

        Args:
            what: Such as ``environment``.
            name: What was asked for; an endless one is cut, and close to none.
            known: What there is.
            otherwise: What to do where nothing is close.
        """
        if len(name) > _MAX_NAME:
            shown = f"{name[:_MAX_NAME]!r}... ({len(name)} characters)"
            return cls(f"no {what} is named {shown}; {otherwise}")
        close = difflib.get_close_matches(name, _likeliest(name, list(known)), n=3)
        hint = f"did you mean {', '.join(close)}?" if close else otherwise
        return cls(f"no {what} is named {name!r}; {hint}")


_MAX_NAME = 256
"""Characters of an unknown name that a message repeats."""
_MAX_COMPARED = 200
"""So many words are compared letter by letter; one of ten thousand alike ones takes 50 microseconds."""


def _likeliest(word: str, known: Sequence[str]) -> Sequence[str]:
    """Leave of many words those that share most pairs of letters with another one."""
    if len(known) <= _MAX_COMPARED:
        return known
    pairs = {word[at : at + 2] for at in range(len(word) - 1)}

    def shared(other: str) -> tuple[int, int]:
        return sum(pair in other for pair in pairs), -abs(len(other) - len(word))

    return heapq.nlargest(_MAX_COMPARED, known, key=shared)


class CallFaultError(GatewayError):
    """A call's id, ``seq`` or other ``_meta`` is wrong or contradicts the record; its caller can mend it."""


class RecordError(GatewayError):
    """A record cannot be written or read; nothing that is not recorded may be answered."""


class EpisodeEndedError(GatewayError):
    """The episode no longer takes calls."""


class NotAvailableError(GatewayError):
    """The request asks for what this version does not do; it is refused, never ignored."""


class CapacityError(GatewayError):
    """As many episodes as allowed are open; close some or wait for them to expire."""


class ShortageError(GatewayError):
    """The machine lacks what this takes, for now: nothing has ended, and the same may be asked again.

    A call that carries an id takes effect once, however often it is asked.
    """


class NoSpaceError(ShortageError):
    """Records cannot be written, such as on a full disk."""


class NoFilesError(ShortageError):
    """No files can be opened any more (ulimit -n)."""


class NoMemoryError(ShortageError):
    """The process may use no more memory (ulimit -v)."""


class NoProcessesError(ShortageError):
    """No process can be started any more (ulimit -u, pids.max)."""


class WorkerError(GatewayError):
    """Another worker of this gateway does not answer; it may be starting again."""


class PortInUseError(GatewayError, OSError):
    """Another program listens on the address."""


class PipelineError(AstraError):
    """A pipeline cannot go on, whatever its items are; outcomes that were saved stay saved."""


class UndecidedError(AstraError):
    """An item cannot be decided before an earlier one that failed or was not begun in this run."""


class RegistryError(AstraError):
    """The registry's database cannot be opened, read or written; nothing of the transaction is kept."""


class DrawError(AstraError):
    """A family drew no world in which its question has one answer; other draws may."""


class TransportError(AstraError):
    """A client could not reach the gateway, or did not understand its answer."""


class TrainingError(AstraError):
    """A run of training cannot go on; its checkpoints stay as they were."""


class SourceError(AstraError):
    """A source of documents cannot be reached, or does not answer as its format says."""


def fault_words(kind: str, message: str) -> str:
    """Say what is wrong with a value in the words of JSON.

    Args:
        kind: Of one of pydantic's faults (``type``).
        message: Its own words (``msg``).
    """
    wanted = _IN_JSON.get(kind)
    return f"Input should be {wanted}" if wanted else message.removeprefix("Value error, ")
