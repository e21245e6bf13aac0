"""Servers as their pages show them: which ones fit, and what stands in a row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from astra_mcp.serving.pages.servers.figures import ServerFigures, half_within
from astra_mcp.types import Origin, ServerKind, ServerStatus
from gateway.api.seams import CountedUpstream, Upstream, emulated
from gateway.edge.metrics import CallTimes

__all__ = ["AuthorRow", "ServerRow", "author_rows", "choose", "num_tools_of", "server_row"]

_AUTHORS: Mapping[str, str] = {
    Origin.TOOL: "the tool",
    Origin.INJECTED: "a failure on purpose",
    Origin.LIMIT: "a limit of the episode",
    Origin.UPSTREAM: "the server failed",
    Origin.SANDBOX: "the sandbox failed",
    Origin.GATEWAY: "the gateway failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRow:
    """A server in a list, or at the head of its page."""

    name: str
    kind: ServerKind
    emulator: str | None
    """Who makes up its answers; None where they are real."""
    status: ServerStatus
    detail: str
    """Why it failed; else empty."""
    num_tools: int | None
    """None of one that nobody has looked at."""
    figures: ServerFigures


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorRow:
    """The calls whose results are of one author."""

    words: str
    calls: int
    errors: int
    half_within: str


def server_row(upstream: Upstream, figures: ServerFigures) -> ServerRow:
    """Describe a server; nothing is read or started for it."""
    made_up = emulated(upstream)
    status, detail = upstream.status
    return ServerRow(
        name=upstream.name,
        kind=upstream.kind,
        emulator=None if made_up is None else made_up.emulator.value,
        status=status,
        detail=detail,
        num_tools=num_tools_of(upstream),
        figures=figures,
    )


def num_tools_of(upstream: Upstream) -> int | None:
    """Count the tools of a server; None where nobody has looked at it."""
    if isinstance(upstream, CountedUpstream):
        return upstream.num_tools
    return len(upstream.tools) or (None if upstream.status[0] != ServerStatus.READY else 0)


def author_rows(times: Sequence[CallTimes]) -> Sequence[AuthorRow]:
    """Tell the calls apart by who made their results."""
    return [
        AuthorRow(
            words=_AUTHORS.get(each.origin, each.origin),
            calls=sum(each.counts),
            errors=each.errors,
            half_within=half_within([each]),
        )
        for each in times
    ]


def choose(every: Sequence[Upstream], asked: Mapping[str, str]) -> tuple[Sequence[Upstream], str]:
    """Find the servers that fit what an address asks for; and what of it cannot be, in words."""
    kind, status = asked.get("kind"), asked.get("status")
    for name, value, known in (("kind", kind, ServerKind), ("status", status, ServerStatus)):
        if value is not None and value not in list(known):
            return (), f"there is no {name} {value!r}: there are {', '.join(known)}"
    words = asked.get("q", "").casefold()
    found = [
        upstream
        for upstream in every
        if (kind is None or upstream.kind == kind)
        and words in upstream.name.casefold()
        and (status is None or upstream.status[0] == status)
    ]
    return found, ""
