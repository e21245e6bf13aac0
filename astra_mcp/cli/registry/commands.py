"""The commands of ``astra-mcp registry``."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import typer

from astra_mcp.cli.completing import IMPORT_FORMATS
from astra_mcp.cli.registry import views
from astra_mcp.compose.registry import Spending
from astra_mcp.compose.settings import load_settings
from astra_mcp.domains import Domain
from astra_mcp.errors import ConfigError
from astra_mcp.report.choices import closest, not_one_of
from astra_mcp.report.console import ExitCode, fail, out, print_json, run_async, say
from registry.documents.sources import MIN_TOOLS, Provenance, ServerReason
from registry.published.export import Export, export_catalog
from registry.published.export_files import ExportFormat
from registry.search.scope import Scope, SearchAnswer, SearchBy
from registry.settings import EmbedderKind
from registry.store.database import Database, Deadlines, open_database
from registry.store.servers import (
    ServerFilter,
    StoredServer,
    count_servers,
    facet_values,
    find_server,
    list_servers,
)
from registry.store.stats import read_stats

if TYPE_CHECKING:  # loaded where a model is asked alone
    from astra_mcp.compose.models import Labelled
    from registry.intake.removing import Removal

__all__ = ["app"]

Found = TypeVar("Found")

app = typer.Typer(no_args_is_help=True, help="Import, look at, search and freeze tool documents.")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Named = Annotated[
    Domain | None, typer.Option("--domain", help="Only of this domain.", metavar="DOMAIN")
]
ByLanguage = Annotated[str | None, typer.Option("--language", help="Only of this one, as `en`.")]
ByEmbedder = Annotated[
    EmbedderKind | None,
    typer.Option("--embedder", help="What makes the vectors; by default registry.embedder."),
]
Crawled = Annotated[bool, typer.Option("--crawled", help="Also tools that were read off a page.")]
Limit = Annotated[int, typer.Option(min=1, help="Show at most so many.")]
MaxCalls = Annotated[int | None, typer.Option(min=0, help="Of the model, at most so many.")]
MaxCost = Annotated[
    float | None, typer.Option(min=0, help="Of its calls, in the currency of its prices.")
]
_EXPORT_SECONDS = 3600.0
"""All rows are read in one transaction, so that they are of one state."""
_FACETS: Final[tuple[Literal["source", "language"], ...]] = ("source", "language")
_STATUSES = {"kept": "kept", "rejected": "rejected", "any": None}


@app.command("import")
def import_(  # noqa: PLR0913 - one for each option
    place: Annotated[
        str | None,
        typer.Argument(metavar="FILE|FOLDER|URL", help="Where the documents are."),
    ] = None,
    *,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"{', '.join(IMPORT_FORMATS[:-2])}; of an address {' or '.join(IMPORT_FORMATS[-2:])}. "
            "By default it is found out.",
        ),
    ] = None,
    command: Annotated[
        str | None, typer.Option(help="Ask this MCP server over stdio, as `uvx mcp-server-time`.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call a running server.")] = None,
    header_from: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VARIABLE", help="Send a header whose value is in this variable."
        ),
    ] = None,
    judge: Annotated[
        bool,
        typer.Option("--judge", help="Ask models.judge where a description may be too vague."),
    ] = False,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    min_tools: Annotated[
        int, typer.Option(min=1, help="Keep servers of which at least so many tools are kept.")
    ] = MIN_TOOLS,
    as_json: Json = False,
) -> None:
    """Import tool documents: of a file, of all files of a folder, of a registry or of a server.

    A URL whose path holds /v0 is a registry's list of servers; any other one is
    a running MCP server. What cannot be read is named with its line, and the
    rest is imported: the exit code is then 1, and 0 where everything could be
    read, however much of it was rejected. Importing again changes nothing.
    """
    from astra_mcp.cli.registry import importing  # noqa: PLC0415 - readers of all formats

    headers = dict(_pair(each) for each in header_from or ())
    source = importing.Source(
        place=place,
        command=command,
        form=form,
        name=name,
        headers_from=headers,
        min_tools=min_tools,
    )
    if not judge and (max_calls is not None or max_cost is not None):
        raise typer.BadParameter("only --judge asks a model", param_hint="--max-calls, --max-cost")
    spending = Spending(max_calls=max_calls, max_cost=max_cost)
    imported = run_async(importing.import_source, source, spending if judge else None)
    if as_json:
        print_json(imported.as_json())
    else:
        importing.print_imported(imported)
    if imported.stopped is not None:
        fail(f"{imported.stopped}; what was imported before is kept, and importing again goes on")
    if imported.num_undecided:
        fail(
            f"the judge gave no verdict on {imported.num_undecided} tools: they are left out until an"
            " import with --judge asks again; `astra-mcp registry show SERVER` says what went wrong"
        )
    if imported.has_failed:
        raise typer.Exit(ExitCode.FAILED)


@app.command("list")
def list_(
    *,
    status: Annotated[
        str, typer.Option(help="kept, rejected, any, or a reason such as too_few_tools.")
    ] = "kept",
    source: Annotated[str | None, typer.Option(help="Only of this importer.")] = None,
    provenance: Annotated[Provenance | None, typer.Option(help="Only such.")] = None,
    domain: Named = None,
    language: ByLanguage = None,
    after: Annotated[str | None, typer.Option(help="Begin behind this name.")] = None,
    limit: Limit = 50,
    as_json: Json = False,
) -> None:
    """List servers by name; by default those that are kept."""
    reasons = [reason.value for reason in ServerReason]
    known = (*_STATUSES, *reasons)
    if status not in known:
        raise typer.BadParameter(not_one_of(status, known), param_hint="'--status'")
    where = ServerFilter(
        status=_STATUSES.get(status, "rejected"),
        reason=status if status in reasons else None,
        source=source,
        provenance=provenance,
        domain=domain,
        language=language,
    )
    total, servers = run_async(_list, where, after, limit)
    if as_json:
        print_json({"total": total, "servers": [views.server_summary(s) for s in servers]})
    elif servers:
        views.print_servers(servers, total)


async def _list(
    where: ServerFilter, after: str | None, limit: int
) -> tuple[int, tuple[StoredServer, ...]]:
    async with open_database(load_settings().registry_url) as database:
        total, servers = await database.read(
            lambda session: (
                count_servers(session, where),
                list_servers(session, where, after=after, limit=limit),
            )
        )
        if not total:
            await _say_nothing(database, where)
        return total, servers


async def _say_nothing(database: Database, where: ServerFilter) -> None:
    """Say that nothing matches, and which values there are in the place of one that no server has."""
    among = ServerFilter(status=where.status, reason=where.reason)
    found = await database.read(
        lambda session: {facet: facet_values(session, facet, among) for facet in _FACETS}
    )
    why = ""
    for facet, known in found.items():
        asked = where.source if facet == "source" else where.language
        if not why and asked is not None and known and asked not in known:
            close = closest(asked, known)
            hint = f"did you mean {close}? " if close else ""
            why = f": no {facet} is {asked!r}; {hint}there are {', '.join(known)}"
    say.print(f"nothing matches{why}", style="yellow")


@app.command("show")
def show(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="As `registry list` names it, or its source.")
    ],
    *,
    as_json: Json = False,
) -> None:
    """Show a server: where it comes from, its tools, and why some were rejected."""
    server = _read(partial(find_server, name=name))
    if as_json:
        print_json(views.server_details(server))
    else:
        views.print_server(server)


@app.command("remove")
def remove(
    names: Annotated[
        list[str],
        typer.Argument(metavar="NAME...", help="As `registry list` names them, or their sources."),
    ],
    *,
    as_json: Json = False,
) -> None:
    """Remove servers, and the tools that no other server lists; importing them again brings them back.

    Where a name is not known nothing is removed. A gateway that serves the
    registry follows. A server that was left out because it repeats a removed
    one is judged again, and told.
    """
    removal = run_async(_remove, names)
    if as_json:
        print_json(views.removal(removal))
    else:
        views.print_removal(removal)


async def _remove(names: Sequence[str]) -> "Removal":
    from registry.intake.removing import remove_servers  # noqa: PLC0415 - what imports load too
    from registry.published.directory import publish_names  # noqa: PLC0415

    settings = load_settings()
    async with open_database(settings.registry_url) as database:
        removal = await database.write(partial(remove_servers, names=names))
        await publish_names(database, settings.home)
        return removal


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="In any language of the tools.")],
    *,
    by: Annotated[SearchBy, typer.Option(help="What tools are ranked by.")] = SearchBy.BOTH,
    domain: Named = None,
    language: ByLanguage = None,
    crawled: Crawled = False,
    limit: Limit = 10,
    embedder: ByEmbedder = None,
    as_json: Json = False,
) -> None:
    """Search the tools of kept servers by their words, by their vectors, or by both."""
    if not query.strip():
        raise typer.BadParameter("say what is searched for", param_hint="QUERY")
    if by is SearchBy.WORDS and embedder is not None:
        raise typer.BadParameter("--by words needs no vectors", param_hint="--embedder")
    provenance = None if crawled else Provenance.LIVE
    scope = Scope(domain=domain, language=language, provenance=provenance)
    model, answer = run_async(_search, query, by, scope, limit, embedder)
    if as_json:
        print_json(views.search_answer(query, by, model, answer))
    else:
        views.print_hits(answer, by, model)


async def _search(
    query: str, by: SearchBy, scope: Scope, limit: int, kind: EmbedderKind | None
) -> tuple[str, SearchAnswer]:
    from astra_mcp.compose.embedders import open_embedder  # noqa: PLC0415 - with NumPy
    from registry.search.query import SearchIndex  # noqa: PLC0415
    from registry.search.vectors import update_vectors  # noqa: PLC0415

    settings = load_settings()
    async with (
        open_database(settings.registry_url) as database,
        open_embedder(settings, EmbedderKind.LEXICAL if by is SearchBy.WORDS else kind) as embedder,
    ):
        is_lexical = (kind or settings.registry.embedder) is EmbedderKind.LEXICAL
        if is_lexical and by is not SearchBy.WORDS:
            await update_vectors(database, embedder, scope)  # costs nothing but a little time
        index = SearchIndex(database, embedder)
        answer = await index.search(query, limit=limit, by=by, scope=scope)
        if not answer.hits:
            where = ServerFilter(language=scope.language, provenance=scope.provenance)
            await _say_nothing(database, where)
        return embedder.model, answer


@app.command("embed")
def embed(
    *,
    crawled: Crawled = False,
    embedder: ByEmbedder = None,
    as_json: Json = False,
) -> None:
    """Embed the kept tools that have no vector yet; what is done stays where it is interrupted."""
    scope = Scope(provenance=None if crawled else Provenance.LIVE)
    model, embedded = run_async(_embed, scope, embedder)
    if as_json:
        print_json({"model": model, "embedded": embedded})
    else:
        out.print(f"{embedded} tools embedded by {model}")


async def _embed(scope: Scope, kind: EmbedderKind | None) -> tuple[str, int]:
    from astra_mcp.compose.embedders import open_embedder  # noqa: PLC0415 - with NumPy
    from registry.search.vectors import update_vectors  # noqa: PLC0415

    settings = load_settings()
    async with (
        open_database(settings.registry_url) as database,
        open_embedder(settings, kind) as embedder,
    ):
        with views.progress("embedding") as advance:
            return embedder.model, await update_vectors(database, embedder, scope, hear=advance)


class LabelBy(StrEnum):
    """What says what a server is about."""

    MODEL = "model"
    """The model of the role judge."""
    EMBEDDING = "embedding"
    """The likeness of its tools with descriptions of the domains."""


@app.command("label")
def label(
    *,
    by: Annotated[
        LabelBy | None,
        typer.Option(help="By default a model where models.judge names one, else vectors."),
    ] = None,
    embedder: ByEmbedder = None,
    max_calls: MaxCalls = None,
    max_cost: MaxCost = None,
    as_json: Json = False,
) -> None:
    """Give domains to the kept servers whose labels say none; what is found stays when it ends early.

    The exit code is 1 where the model failed about a server; the next run asks
    again.
    """
    spending = Spending(max_calls=max_calls, max_cost=max_cost)
    labelled = run_async(_label, by, embedder, spending)
    if as_json:
        print_json(views.labels(labelled))
    else:
        views.print_labels(labelled)
    if labelled.report.failed:
        raise typer.Exit(ExitCode.FAILED)


async def _label(
    by: LabelBy | None, embedder: EmbedderKind | None, spending: Spending
) -> "Labelled":
    from astra_mcp.compose import models  # noqa: PLC0415 - a second to load

    settings = load_settings()
    chosen = by or (LabelBy.MODEL if settings.models.judge.model else LabelBy.EMBEDDING)
    _check_label_options(chosen, embedder, spending)
    with views.progress("servers") as advance:
        return await models.label_registry(
            settings,
            by_model=chosen is LabelBy.MODEL,
            embedder=embedder,
            spending=spending,
            hear=lambda done: advance(done, None),
        )


def _check_label_options(by: LabelBy, embedder: EmbedderKind | None, spending: Spending) -> None:
    """Refuse options that would do nothing."""
    if by is LabelBy.MODEL and embedder is not None:
        raise ConfigError("--embedder makes vectors, and a model needs none: add --by embedding")
    if by is LabelBy.EMBEDDING and spending != Spending(max_calls=None, max_cost=None):
        raise ConfigError("--max-calls and --max-cost bound what a model is asked: add --by model")


@app.command("stats")
def stats(*, as_json: Json = False) -> None:
    """Show the funnel: what was imported, what was rejected and why, and what is kept."""
    counted = _read(read_stats)
    if as_json:
        print_json(counted.as_json())
    else:
        views.print_stats(counted)


@app.command("export")
def export(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="A new or an empty one.")],
    *,
    form: Annotated[
        ExportFormat, typer.Option("--format", help="How the tables are written.")
    ] = ExportFormat.PARQUET,
    as_json: Json = False,
) -> None:
    """Freeze everything that the registry holds into files, with a manifest of their hashes.

    Equal content gives equal files. A folder that holds the same content is left
    as it is; one that holds anything else is never written over.
    """
    done = run_async(_export, folder.absolute(), form)
    if as_json:
        manifest = done.manifest.model_dump(mode="json")
        print_json({"folder": str(done.folder), "is_new": done.is_new, "manifest": manifest})
    else:
        views.print_export(done)


async def _export(folder: Path, form: ExportFormat) -> Export:
    deadlines = Deadlines(transaction_seconds=_EXPORT_SECONDS)
    async with open_database(load_settings().registry_url, deadlines=deadlines) as database:
        with say.status("writing"):
            return await database.read(lambda session: export_catalog(session, folder, form))


def _read(query: Callable[[Any], Found]) -> Found:
    """Ask the registry of the settings."""

    async def ask() -> Found:
        async with open_database(load_settings().registry_url) as database:
            return await database.read(query)

    return run_async(ask)


def _pair(named: str) -> tuple[str, str]:
    name, sign, variable = named.partition("=")
    if not (name and sign and variable):
        raise typer.BadParameter("write NAME=VARIABLE", param_hint="--header-from")
    return name, variable
