"""How the registry looks: tables for people, objects for programs."""

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from astra_mcp.cli.usage import print_usage
from astra_mcp.report.console import out, say
from astra_mcp.report.shown import Column, Table, cut, number, shown_time, styled, utc_text, whole
from astra_mcp.types import JsonObject
from registry.published.export import Export
from registry.search.scope import SearchAnswer, SearchBy
from registry.store.servers import StoredServer, StoredTool
from registry.store.stats import Funnel, RegistryStats

if TYPE_CHECKING:  # loaded where a model is asked alone
    from astra_mcp.compose.models import Labelled
    from registry.intake.removing import Removal

__all__ = [
    "labels",
    "print_export",
    "print_hits",
    "print_labels",
    "print_removal",
    "print_server",
    "print_servers",
    "print_stats",
    "progress",
    "removal",
    "search_answer",
    "server_details",
    "server_summary",
]

_SHOWN_TEXT = 100


@contextmanager
def progress(what: str) -> Generator[Callable[[int, int | None], None]]:
    """Show a bar while the block runs; it is told how much is done, and of how much where that is known."""
    with say.bars(transient=True) as drawn:
        task = drawn.add_task(what, total=None)
        yield lambda done, total: drawn.update(task, completed=done, total=total)


def server_summary(server: StoredServer) -> JsonObject:
    """Render a line of the list for programs."""
    return {
        "name": server.name,
        "title": server.title,
        "source": server.source,
        "provenance": server.provenance,
        "domain": server.domain,
        "language": server.language,
        "status": server.status,
        "reason": server.reason,
        "tools": len(server.specs),
    }


def server_details(server: StoredServer) -> dict[str, Any]:
    """Render a whole server for programs."""
    return {
        **server_summary(server),
        "key": server.key,
        "description": server.description,
        "version": server.version,
        "labels": list(server.labels),
        "domain_by": server.domain_by,
        "detail": server.detail,
        "origin": server.origin,
        "imported_at": utc_text(server.imported_at),
        "changed_at": utc_text(server.changed_at),
        "tools": [_tool_details(tool) for tool in server.tools],
    }


def _tool_details(tool: StoredTool) -> dict[str, Any]:
    return {
        "original_name": tool.original_name,
        "hash": tool.tool_hash,
        "tool": tool.spec.model_dump(mode="json") if tool.spec else None,
        "status": tool.status,
        "reason": tool.reason,
        "detail": tool.detail,
        "document": tool.document,
        "notes": list(tool.notes),
    }


def print_servers(servers: Sequence[StoredServer], total: int) -> None:
    """Show a list of servers."""
    # Long words are folded, the short ones are not.
    short = (whole("lang"), whole("from"), number("tools"), whole("status"))
    table = Table("name", "title", "source", "domain", *short)
    for server in servers:
        status = server.reason or server.status
        cells = (server.name, cut(server.title, 40), server.source, server.domain or "-")
        cells += (server.language or "-", server.provenance, str(len(server.specs)), status)
        table.add_row(*cells)
    out.print(table)
    if 0 < len(servers) < total:
        out.print(f"{len(servers)} of {total}; `--after {servers[-1].name}` goes on")


def print_server(server: StoredServer) -> None:
    """Show a server with its tools."""
    verdict = server.status
    if server.reason:
        verdict += f" ({server.reason}: {server.detail})"
    facts = {
        "": cut(server.description, 400),
        "status": verdict,
        "source": f"{server.source}, {server.provenance}, key {server.key}",
        "version": server.version or "",
        "labels": ", ".join(server.labels),
        "domain": f"{server.domain} (by {server.domain_by})" if server.domain else "none",
        "language": server.language or "unknown",
        "origin": ", ".join(f"{name} {value}" for name, value in server.origin.items()),
        "changed": shown_time(server.changed_at),
    }
    out.print(styled((server.name, "bold"), "  ", server.title))
    for name, fact in facts.items():
        if fact:
            out.print(f"  {name:9} {fact}")
    for tool in server.tools:
        _print_tool(tool)


def _print_tool(tool: StoredTool) -> None:
    name = tool.spec.name if tool.spec else tool.original_name or "(no name)"
    parameters = ", ".join(tool.spec.input_schema.get("properties", {})) if tool.spec else ""
    renamed = f"  was {tool.original_name}" if tool.spec and name != tool.original_name else ""
    style = None if tool.status == "kept" else "dim"
    out.print(f"{name}({parameters}){renamed}", style=style)
    if tool.reason:
        out.print(f"    {tool.reason}: {tool.detail}", style="red")
    if tool.spec and tool.spec.description:
        out.print(f"    {cut(tool.spec.description, _SHOWN_TEXT)}", style=style)
    for note in tool.notes:
        out.print(f"    note: {note}", style="yellow")


def removal(done: "Removal") -> JsonObject:
    """Render what was removed for programs."""
    return {
        "removed": [
            {
                **server_summary(server),
                "key": server.key,
                "listed": len(server.tools),
            }
            for server in done.servers
        ],
        "dropped_tools": done.dropped_tools,
        "kept_instead": list(done.kept_instead),
    }


def print_removal(done: "Removal") -> None:
    """Show what was removed."""
    for server in done.servers:
        out.print(
            f"removed {server.name}: {cut(server.title, 40)}, of {server.source},"
            f" key {server.key}, {len(server.tools)} tools"
        )
    out.print(f"{done.dropped_tools} tools are listed by no other server and went with them")
    if done.kept_instead:
        names = ", ".join(done.kept_instead)
        out.print(f"kept from now on, since they repeated one of these: {names}")


def search_answer(query: str, by: SearchBy, model: str, answer: SearchAnswer) -> JsonObject:
    """Render what a search found for programs."""
    return {
        "query": query,
        "by": by.value,
        "model": None if by is SearchBy.WORDS else model,
        "searched": answer.searched,
        "embedded": answer.embedded,
        "hits": [
            {
                "name": hit.tool.name,
                "description": hit.tool.description,
                "servers": list(hit.servers),
                "hash": hit.hash,
                "score": hit.score,
            }
            for hit in answer.hits
        ],
    }


def print_hits(answer: SearchAnswer, by: SearchBy, model: str) -> None:
    """Show what a search found."""
    table = Table(number("score"), "tool", "of", "description")
    for hit in answer.hits:
        first, *others = hit.servers
        servers = f"{first} and {len(others)} more" if others else first
        table.add_row(
            f"{hit.score:.3f}", hit.tool.name, servers, cut(hit.tool.description, _SHOWN_TEXT)
        )
    if answer.hits:
        out.print(table)
    how = by.value if by is SearchBy.WORDS else f"{by.value}, vectors of {model}"
    out.print(f"{answer.searched} tools searched by {how}")
    if by is not SearchBy.WORDS and answer.embedded < answer.searched:
        missing = answer.searched - answer.embedded
        hint = f"{missing} of them have no vector: `astra-mcp registry embed` makes them"
        out.print(hint, style="yellow")


def print_stats(stats: RegistryStats) -> None:
    """Show the funnel and what is kept."""
    sources = {**stats.sources, "all": stats.total}
    if len(stats.sources) == 1:
        del sources["all"]
    _print_funnel("tools", {name: s.tools for name, s in sources.items()})
    _print_funnel("servers", {name: s.servers for name, s in sources.items()})
    kept = Table("kept", number("servers"), number("tools"))
    for name, (servers, tools) in stats.provenance.items():
        kept.add_row(name, str(servers), str(tools))
    out.print(kept)
    out.print(f"{stats.tool_versions} distinct tools, catalog version {stats.catalog_version}")
    _print_counts("domains", stats.domains)
    _print_counts("domains by", stats.labelled_by)
    _print_counts("languages", stats.languages)


def _print_funnel(what: str, funnels: Mapping[str, Funnel]) -> None:
    """Show a column a source, a row a step, from all that was imported to what is kept."""
    reasons = dict.fromkeys(reason for funnel in funnels.values() for reason in funnel.rejected)
    # There may be many sources: their names wrap, so that all fit.
    table = Table(whole(what), *(Column(name=name, is_number=True) for name in funnels))
    table.add_row("imported", *(str(f.imported) for f in funnels.values()))
    for reason in reasons:
        counts = (f.rejected.get(reason, 0) for f in funnels.values())
        table.add_row(f"- {reason}", *(str(count) if count else "" for count in counts))
    table.add_row("kept", *(str(f.kept) for f in funnels.values()), style="bold")
    out.print(table)


def _print_counts(what: str, counts: Mapping[str, int]) -> None:
    if counts:
        shown = ", ".join(f"{name or 'none'} {num}" for name, num in counts.items())
        out.print(f"{what}: {shown}")


def labels(labelled: "Labelled") -> JsonObject:
    """Render what a labelling found for programs."""
    report = labelled.report
    return {
        "by": labelled.by,
        "labelled": {domain.value: num for domain, num in report.labelled.items()},
        "unlabelled": report.unlabelled,
        "failed": dict(report.failed),
        **labelled.usage.as_json(),
    }


def print_labels(labelled: "Labelled") -> None:
    """Show what a labelling found."""
    report = labelled.report
    num_labelled = sum(report.labelled.values())
    found = f"{num_labelled} servers labelled by {labelled.by}, {report.unlabelled} fit no domain"
    out.print(found)
    _print_counts("domains", {domain.value: num for domain, num in report.labelled.items()})
    print_usage(labelled.usage)
    for fault, num in report.failed.items():
        say.print(f"the model failed about {num} servers: {fault}", style="red")


def print_export(done: Export) -> None:
    """Show what was written."""
    manifest = done.manifest
    state = "wrote" if done.is_new else "already there, with the same content:"
    out.print(f"{state} {done.folder}")
    for name, file in manifest.files.items():
        out.print(f"  {name:16} {file.rows:8} rows {file.bytes:12} bytes  {file.sha256}")
    out.print(f"  catalog version {manifest.catalog_version}, content {manifest.content_hash}")
