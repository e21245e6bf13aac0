"""Choosing environments from a long list: by what they are, and a page at a time.

Knows summaries; knows neither HTTP nor the command line.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from astra_mcp.types import FrozenModel
from gateway.api.seams import EnvironmentSummary

__all__ = ["DEFAULT_PAGE", "MAX_PAGE", "EnvironmentFilter", "EnvironmentPage", "page_of"]

DEFAULT_PAGE = 200
MAX_PAGE = 1000
"""Environments of one answer."""


class EnvironmentFilter(FrozenModel):
    """What environments must be; None asks for nothing."""

    domain: str | None = None
    language: str | None = None
    type: str | None = None
    """The shape of the decomposition, in any letters."""
    hops: int | None = None
    """The deepest hop level."""
    family: str | None = None
    verified: bool | None = None
    """Whether the author claims that the acceptance passes."""

    def fits(self, summary: EnvironmentSummary) -> bool:
        """Tell whether an environment is what is asked for."""
        return (
            self.domain in (None, summary.domain)
            and self.language in (None, summary.language)
            and (self.type is None or _plain(self.type) == _plain(summary.scenario_type))
            and self.hops in (None, summary.hops)
            and self.family in (None, summary.family)
            and self.verified in (None, summary.status == "verified")
        )

    def choose(self, summaries: Iterable[EnvironmentSummary]) -> Iterator[str]:
        """Name those that fit, in their order."""
        return (summary.name for summary in summaries if self.fits(summary))


class EnvironmentPage(NamedTuple):
    """A part of a list."""

    names: Sequence[str]
    total: int
    """How many fit in all."""
    cursor: str | None
    """Leads to the next page; None on the last one."""


def page_of(
    summaries: Sequence[EnvironmentSummary], wanted: EnvironmentFilter, cursor: str, limit: int
) -> EnvironmentPage:
    """Take a page of those that fit.

    Args:
        summaries: All, by name.
        wanted: What they must be.
        cursor: Of the page before; empty for the first one. What comes or goes meanwhile moves no other.
        limit: How many at most.
    """
    names = tuple(wanted.choose(summaries))
    begin = bisect_right(names, cursor)
    shown = names[begin : begin + limit]
    has_more = begin + limit < len(names)
    return EnvironmentPage(shown, len(names), shown[-1] if has_more else None)


def _plain(shape: str | None) -> str:
    """A shape without what people write in different ways: ``multi-hop`` is ``Multi-Hop``."""
    return "" if shape is None else shape.casefold().replace("-", " ")
