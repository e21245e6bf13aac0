"""What the registry holds, counted: from the documents of each source to what is kept of them."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.types import JsonObject
from registry.documents.sources import Provenance
from registry.store.tables import ServerRow, ServerToolRow, ToolRow
from registry.store.version import catalog_version

__all__ = ["Funnel", "RegistryStats", "SourceStats", "read_stats"]

KEPT = "kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class Funnel:
    """What became of what was imported; nothing is lost on the way."""

    kept: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict[str, int])
    """By reason, the most frequent first."""

    @property
    def imported(self) -> int:
        """All there are."""
        return self.kept + sum(self.rejected.values())

    def as_json(self) -> JsonObject:
        """Render for programs."""
        return {"imported": self.imported, "kept": self.kept, "rejected": dict(self.rejected)}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceStats:
    """The servers and tools of one source, or of all."""

    servers: Funnel = Funnel()
    tools: Funnel = Funnel()

    def as_json(self) -> JsonObject:
        """Render for programs."""
        return {"servers": self.servers.as_json(), "tools": self.tools.as_json()}


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryStats:
    """The whole registry, counted. All breakdowns but the first are of what is kept."""

    catalog_version: int
    total: SourceStats
    sources: Mapping[str, SourceStats]
    tool_versions: int
    """Distinct tools: equal ones of several servers are one."""
    provenance: Mapping[str, tuple[int, int]]
    """Servers and tools."""
    domains: Mapping[str, int]
    """Servers; those without a domain stand under an empty name."""
    labelled_by: Mapping[str, int]
    """How the servers came to their domains; those without one are left out."""
    languages: Mapping[str, int]
    """Servers; those with too little text stand under an empty name."""

    def as_json(self) -> JsonObject:
        """Render for programs."""
        return {
            "catalog_version": self.catalog_version,
            **self.total.as_json(),
            "tool_versions": self.tool_versions,
            "sources": {name: source.as_json() for name, source in self.sources.items()},
            "provenance": {
                name: {"servers": servers, "tools": tools}
                for name, (servers, tools) in self.provenance.items()
            },
            "domains": dict(self.domains),
            "labelled_by": dict(self.labelled_by),
            "languages": dict(self.languages),
        }


class _Count(NamedTuple):
    source: str
    provenance: str
    status: str
    reason: str | None
    num: int


def read_stats(session: Session) -> RegistryStats:
    """Count everything in one reading of the database."""
    servers = _servers(session)
    tools = _tools(session)
    names = sorted({count.source for count in (*servers, *tools)})
    return RegistryStats(
        catalog_version=catalog_version(session),
        total=SourceStats(servers=_funnel(servers), tools=_funnel(tools)),
        sources={
            name: SourceStats(
                servers=_funnel(c for c in servers if c.source == name),
                tools=_funnel(c for c in tools if c.source == name),
            )
            for name in names
        },
        tool_versions=session.scalar(select(func.count()).select_from(ToolRow)) or 0,
        provenance={
            kind.value: (_kept_of(servers, kind), _kept_of(tools, kind)) for kind in Provenance
        },
        domains=_breakdown(session, ServerRow.domain),
        labelled_by={k: n for k, n in _breakdown(session, ServerRow.domain_by).items() if k},
        languages=_breakdown(session, ServerRow.language),
    )


def _servers(session: Session) -> list[_Count]:
    columns = (
        *(col(ServerRow.source), col(ServerRow.provenance)),
        *(col(ServerRow.status), col(ServerRow.reason)),
    )
    rows = session.execute(select(*columns, func.count()).group_by(*columns))
    return [_Count(*row) for row in rows]


def _tools(session: Session) -> list[_Count]:
    columns = (
        *(col(ServerRow.source), col(ServerRow.provenance)),
        *(col(ServerToolRow.status), col(ServerToolRow.reason)),
    )
    counted = (
        select(*columns, func.count())
        .join(ServerToolRow, col(ServerToolRow.server_id) == col(ServerRow.id))
        .group_by(*columns)
    )
    return [_Count(*row) for row in session.execute(counted)]


def _breakdown(session: Session, column: Any) -> dict[str, int]:
    """Count the kept servers by a column."""
    counted = (
        select(col(column), func.count()).where(col(ServerRow.status) == KEPT).group_by(col(column))
    )
    return _most_frequent_first({value or "": num for value, num in session.execute(counted)})


def _funnel(counts: Iterable[_Count]) -> Funnel:
    kept = 0
    rejected: Counter[str] = Counter()
    for count in counts:
        if count.status == KEPT:
            kept += count.num
        else:
            rejected[count.reason or ""] += count.num
    return Funnel(kept=kept, rejected=_most_frequent_first(rejected))


def _kept_of(counts: Iterable[_Count], provenance: Provenance) -> int:
    return sum(c.num for c in counts if c.status == KEPT and c.provenance == provenance)


def _most_frequent_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
