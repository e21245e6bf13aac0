"""Holds what a client says of its calls against the accounts of the server that it called."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from astra_mcp.completions import FaultKind
from astra_mcp.pipeline import ItemStatus, Outcome

from square_model import name_asked

__all__ = ["Accounts", "RequestCounts", "asked_again", "audit", "by_item"]

_SENT_AGAIN = (
    FaultKind.RATE_LIMITED,
    FaultKind.RATE_LIMITED_UNTIL,
    FaultKind.SERVER_ERROR,
    FaultKind.HANG,
    FaultKind.TRICKLE,
    FaultKind.CUT_BODY,
)
"""After these the same call sends its request again; the others end it."""
_GAVE_UP = (
    "model_rate_limited",
    "model_server_error",
    "model_timeout",
    "model_unreachable",
)
"""Reasons of a call that has sent its request as often as it may."""


class RequestCounts(NamedTuple):
    """What the server did for one item."""

    requests: int
    answers: int
    faults: Counter[str]

    @property
    def num_calls_ended(self) -> int:
        """Requests that ended a call: those that were not sent again."""
        return self.requests - sum(self.faults[kind] for kind in _SENT_AGAIN)


Accounts = Mapping[str, RequestCounts]


def by_item(stats: Mapping[str, Any]) -> Accounts:
    """Read a server's accounts by the names of the items."""
    return {
        name_asked(row["asked"]): RequestCounts(
            row["requests"], row["answers"], Counter(row["faults"])
        )
        for row in stats["accounts"].values()
    }


def audit(accounts: Accounts, outcomes: Iterable[Outcome]) -> list[str]:
    """Look for calls that were lost or doubled, and for failures that the server knows nothing of.

    Args:
        accounts: Of a server that nobody else called.
        outcomes: Of a first run, whose items it knew nothing of.

    Returns:
        What does not agree, item by item.
    """
    outcomes = list(outcomes)
    names = Counter(outcome.item for outcome in outcomes)
    found = [f"{name} ended {times} times" for name, times in names.items() if times > 1]
    found += [f"{name} was asked for and never ended" for name in accounts.keys() - names.keys()]
    for outcome in outcomes:
        account = accounts.get(outcome.item)
        faults = ["was never asked for"] if account is None else _disagreements(account, outcome)
        found += [f"{outcome.item} {fault}" for fault in faults]
    return found


def asked_again(before: Accounts, after: Accounts) -> set[str]:
    """Name the items of which a server heard between two looks at its accounts."""
    return {name for name, account in after.items() if account != before.get(name)}


def _disagreements(account: RequestCounts, outcome: Outcome) -> Iterator[str]:
    spoiled = account.faults.total() - account.faults[FaultKind.SLOW]
    if account.requests != account.answers + spoiled:
        yield f"has requests that nothing came of: {account}"
    calls = account.num_calls_ended + (outcome.reason in _GAVE_UP)
    if outcome.usage.calls != calls:
        yield f"counts {outcome.usage.calls} calls, and the server {calls}: {account}"
    match outcome.status:
        case ItemStatus.FINISHED:
            if account.answers != 1 or len(outcome.outputs) != 1:
                yield f"is finished by {account.answers} answers, with {len(outcome.outputs)} outputs"
        case ItemStatus.FAILED:
            if account.answers or not outcome.reason.startswith("model_") or not outcome.detail:
                yield f"failed ({outcome.reason}: {outcome.detail}) with {account.answers} answers"
        case ItemStatus.REJECTED:
            yield "is rejected, which nobody did"
