"""What the registry holds, counted: from the documents of each source to what is kept of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

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

    @classmethod
    def of_counts(cls, counts: Iterable[tuple[str, str | None, int]]) -> Self:
        """Sum up how many came to a status for a reason."""
        kept = 0
        rejected: Counter[str] = Counter()
        for status, reason, num in counts:
            if status == KEPT:
                kept += num
            else:
                rejected[reason or ""] += num
        return cls(kept=kept, rejected=_most_frequent_first(rejected))

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
    servers = _counted(session, ServerRow)
    tools = _counted(session, ServerToolRow)
    names = sorted({count.source for count in (*servers, *tools)})
    return RegistryStats(
        catalog_version=catalog_version(session),
        total=_stats_of(servers, tools, names),
        sources={name: _stats_of(servers, tools, [name]) for name in names},
        tool_versions=session.scalar(select(func.count()).select_from(ToolRow)) or 0,
        provenance={k.value: (_kept_of(servers, k), _kept_of(tools, k)) for k in Provenance},
        domains=_breakdown(session, ServerRow.domain),
        labelled_by={k: n for k, n in _breakdown(session, ServerRow.domain_by).items() if k},
        languages=_breakdown(session, ServerRow.language),
    )


def _counted(session: Session, judged: type[ServerRow] | type[ServerToolRow]) -> list[_Count]:
    """Count what became of the servers, or of the places of their tools."""
    columns = (
        *(col(ServerRow.source), col(ServerRow.provenance)),
        *(col(judged.status), col(judged.reason)),
    )
    counted = select(*columns, func.count()).group_by(*columns)
    if judged is ServerToolRow:
        of_server = col(ServerToolRow.server_id) == col(ServerRow.id)
        counted = counted.join(ServerToolRow, of_server)
    return [_Count(*row) for row in session.execute(counted)]


def _stats_of(
    servers: Iterable[_Count], tools: Iterable[_Count], sources: Collection[str]
) -> SourceStats:
    of_servers, of_tools = (
        Funnel.of_counts(c[2:] for c in counts if c.source in sources)
        for counts in (servers, tools)
    )
    return SourceStats(servers=of_servers, tools=of_tools)


def _breakdown(session: Session, column: Any) -> dict[str, int]:
    """Count the kept servers by a column."""
    counted = (
        select(col(column), func.count()).where(col(ServerRow.status) == KEPT).group_by(col(column))
    )
    return _most_frequent_first({value or "": num for value, num in session.execute(counted)})


def _kept_of(counts: Iterable[_Count], provenance: Provenance) -> int:
    return sum(c.num for c in counts if c.status == KEPT and c.provenance == provenance)


def _most_frequent_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
