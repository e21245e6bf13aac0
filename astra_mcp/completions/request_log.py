"""Who asked for what how often, and what became of it: what an audit holds against a client's own account."""

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio

from astra_mcp.completions.planned_faults import FaultKind
from astra_mcp.types import JsonObject

__all__ = ["RequestCounts", "RequestLog"]


@dataclass(slots=True)
class RequestCounts:
    """What happened to the requests with one content.

    When none is under way, ``requests`` is the sum of ``answers``, ``refusals``, ``given_up`` and the
    faults but the slow ones, which are answers too.
    """

    asked: str
    """The beginning of the last message, for people."""
    requests: int = 0
    answers: int = 0
    """Made by the model and sent whole; what an endpoint would want to be paid for."""
    refusals: int = 0
    """Errors that the policy or the recordings gave."""
    given_up: int = 0
    """The client left before the policy had said anything."""
    faults: Counter[FaultKind] = field(default_factory=Counter[FaultKind])

    def as_json(self) -> JsonObject:
        """The account as ``GET /stats`` shows it."""
        return {
            "asked": self.asked,
            "requests": self.requests,
            "answers": self.answers,
            "refusals": self.refusals,
            "given_up": self.given_up,
            "faults": {kind.value: n for kind, n in sorted(self.faults.items())},
        }


class RequestLog:
    """All accounts of a server."""

    def __init__(self) -> None:
        self.accounts: dict[str, RequestCounts] = {}
        """By the name of the content."""
        self.malformed = 0
        """Requests that were none of the API's; they have no account."""
        self.in_flight = 0
        self.most_in_flight = 0
        self._awaited: dict[int, anyio.Event] = {}

    def open(self, request_id: str, asked: str) -> RequestCounts:
        """Find the account of a content, or begin it."""
        return self.accounts.setdefault(request_id, RequestCounts(asked))

    @contextmanager
    def under_way(self) -> Generator[None]:
        """Count a request while it is answered."""
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if self.in_flight in self._awaited:
            self._awaited.pop(self.in_flight).set()
        try:
            yield
        finally:
            self.in_flight -= 1

    async def wait_in_flight(self, num: int) -> None:
        """Wait until so many requests have been under way at once; policies may hold answers back by it."""
        if self.most_in_flight < num:
            await self._awaited.setdefault(num, anyio.Event()).wait()

    @property
    def total(self) -> RequestCounts:
        """The sum of all accounts."""
        total = RequestCounts("")
        for account in self.accounts.values():
            total.requests += account.requests
            total.answers += account.answers
            total.refusals += account.refusals
            total.given_up += account.given_up
            total.faults += account.faults
        return total

    def as_json(self) -> JsonObject:
        """What ``GET /stats`` answers."""
        total = self.total.as_json()
        del total["asked"]
        return {
            **total,
            "malformed": self.malformed,
            "in_flight": self.in_flight,
            "most_in_flight": self.most_in_flight,
            "accounts": {name: account.as_json() for name, account in self.accounts.items()},
        }
