"""Documents of the registry as their pages show them: what is asked for, and a tool before and after."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from astra_mcp.domains import Domain
from astra_mcp.serving.pages.environments import ToolView, tool_view
from astra_mcp.serving.pages.rendering import CutText, cut_text, pretty_json
from registry.documents.sources import Provenance
from registry.search.scope import Scope, SearchBy
from registry.store.servers import ServerFilter, StoredTool
from registry.store.stats import RegistryStats

__all__ = ["Facets", "PlaceView", "facets_of", "filter_of", "place_view", "scope_of", "tools_of"]

_LONGEST_QUERY = 2000
"""Characters."""
_VERDICT = "verdict"
_KEPT = "kept"


class Facets(NamedTuple):
    """What can be chosen, each value with how many servers have it; a select for each."""

    source: Mapping[str, int]
    provenance: Mapping[str, int]
    domain: Mapping[str, int]
    language: Mapping[str, int]
    verdict: Mapping[str, int]
    """``kept``, ``rejected``, and each reason of a rejection."""


def facets_of(stats: RegistryStats) -> Facets:
    """Make the choices of what was counted; domains and languages are those of kept servers."""
    servers = stats.total.servers
    rejected = {"rejected": sum(servers.rejected.values())} if servers.rejected else {}
    return Facets(
        source={name: each.servers.imported for name, each in stats.sources.items()},
        provenance={name: num for name, (num, _) in stats.provenance.items() if num},
        domain={name: num for name, num in stats.domains.items() if name},
        language={name: num for name, num in stats.languages.items() if name},
        verdict={_KEPT: servers.kept, **rejected, **servers.rejected},
    )


def filter_of(asked: Mapping[str, str]) -> ServerFilter:
    """Read which servers an address asks for; kept and rejected ones where it does not say."""
    verdict = asked.get(_VERDICT)
    is_reason = verdict not in (None, _KEPT, "rejected")
    return ServerFilter(
        status=None if verdict is None else "rejected" if is_reason else verdict,
        reason=verdict if is_reason else None,
        source=asked.get("source"),
        provenance=asked.get("provenance"),
        domain=asked.get("domain"),
        language=asked.get("language"),
        words=asked.get("name"),
    )


def scope_of(asked: Mapping[str, str]) -> tuple[Scope, SearchBy, str]:
    """Read which tools an address asks for, and how; and what of it cannot be, in words."""
    for name, known in (("domain", Domain), ("provenance", Provenance), ("by", SearchBy)):
        if name in asked and asked[name] not in list(known):
            fault = f"there is no {name} {asked[name][:80]!r}: there are {', '.join(known)}"
            return Scope(), SearchBy.BOTH, fault
    fault = ""
    if asked.get(_VERDICT, _KEPT) != _KEPT:
        fault = "A search looks among the tools that are kept: leave the words out, or the verdict."
    elif "name" in asked:
        fault = "Search for tools, or for the name of a server: leave one of the two out."
    elif len(asked["q"]) > _LONGEST_QUERY:
        fault = f"A search has at most {_LONGEST_QUERY:,} characters."
    scope = Scope(
        domain=Domain(asked["domain"]) if "domain" in asked else None,
        language=asked.get("language"),
        provenance=Provenance(asked["provenance"]) if "provenance" in asked else None,
        source=asked.get("source"),
    )
    return scope, SearchBy(asked.get("by", SearchBy.BOTH)), fault


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceView:
    """A place in a server's list of tools, as it was found and as it is stored."""

    place: StoredTool
    original_name: CutText
    tool: ToolView | None
    """None where it could not be converted."""
    results: CutText | None
    """The schema of its results; None where it declares none."""
    original: CutText | None
    """The document as it was found, which is kept where it could not be converted."""
    others: Sequence[str]
    """Some other servers that list the very same tool."""
    num_others: int


_OTHERS = 5


def place_view(place: StoredTool, servers: Sequence[str], own: str) -> PlaceView:
    """Prepare a place for a page.

    Args:
        place: Is shown.
        servers: All that list its tool.
        own: The server that it is a place of.
    """
    others = [name for name in servers if name != own]
    spec = place.spec
    has_results = spec is not None and spec.output_schema is not None
    return PlaceView(
        place=place,
        original_name=cut_text(place.original_name, 300),
        tool=None if spec is None else tool_view(spec),
        results=cut_text(pretty_json(spec.output_schema)) if spec and has_results else None,
        original=None if place.document is None else cut_text(pretty_json(place.document)),
        others=others[:_OTHERS],
        num_others=len(others),
    )


def tools_of(places: Sequence[StoredTool]) -> list[str]:
    """The hashes of the tools that stand in places."""
    return [place.tool_hash for place in places if place.tool_hash is not None]
