"""``astra-mcp registry import``: documents of a file, a folder, an address or a program."""

import os
import re
import shlex
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from astra_mcp.cli.usage import print_usage
from astra_mcp.compose.registry import Spending
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.llm.usage import Usage, metered
from astra_mcp.report.console import out, say
from astra_mcp.report.shown import Table, number
from registry.documents.preparation import prepare_server
from registry.documents.prepared import PreparedServer
from registry.documents.sources import DocumentFault, DocumentStream, ServerDocument, ToolReason
from registry.documents.texts import public_url
from registry.importers.detection import detect, format_named
from registry.importers.formats import Format
from registry.importers.listing import fetch_listing
from registry.importers.running_server import LiveTarget, fetch_live
from registry.intake.importing import ImportReport, import_documents
from registry.published.directory import publish_names
from registry.store.database import Database, open_database
from registry.store.stats import Funnel

__all__ = ["LISTING", "LIVE", "Imported", "Source", "import_source", "print_imported"]

LIVE = "live"
LISTING = "listing"
"""What an address is besides the formats of files: a running MCP server, or a registry's list."""
_READABLE = (".json", ".jsonl", ".ndjson", ".yaml", ".yml")
_LISTING_PATH = re.compile(r"/v0(\.\d+)?(/|$)")
_MAX_SHOWN_ERRORS = 20

Judge = Callable[[PreparedServer], Awaitable[PreparedServer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What the person named."""

    place: str | None
    """A path or an address."""
    command: str | None
    """Starts a server that speaks MCP over stdio."""
    form: str | None
    """A format; None to find it out."""
    name: str | None
    """For a running server."""
    headers_from: Mapping[str, str]
    """Names of headers, each with the environment variable that holds its value."""
    min_tools: int
    """A server of which fewer are kept is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What became of everything that was named."""

    reports: tuple[tuple[str, ImportReport], ...]
    """By file or address."""
    usage: Usage | None
    """Of the judge; None where none was to be asked."""

    @property
    def stopped(self) -> str | None:
        """Why it ended before everything was read; None where everything was."""
        return self.reports[-1][1].stopped if self.reports else None

    @property
    def has_failed(self) -> bool:
        """True where something was not or could not be read."""
        return self.stopped is not None or any(report.errors for _, report in self.reports)

    @property
    def num_undecided(self) -> int:
        """Tools about which the judge failed."""
        return sum(r.tools.rejected.get(ToolReason.UNDECIDED, 0) for _, r in self.reports)

    @property
    def funnels(self) -> Mapping[str, Funnel]:
        """What became of servers, and of tools."""
        return {
            "servers": _joined(report.servers for _, report in self.reports),
            "tools": _joined(report.tools for _, report in self.reports),
        }

    @property
    def counts(self) -> Mapping[str, int]:
        """Servers that are new, others than before, and as before."""
        names = ("added", "changed", "unchanged")
        return {name: sum(getattr(r, name) for _, r in self.reports) for name in names}

    def as_json(self) -> dict[str, Any]:
        """Render for programs; errors name their file where there are several."""
        is_one = len(self.reports) == 1
        return {
            **{what: funnel.as_json() for what, funnel in self.funnels.items()},
            **self.counts,
            "errors": [
                {**({} if is_one else {"file": name}), "line": e.line, "reason": e.reason}
                for name, report in self.reports
                for e in report.errors
            ],
            **({"stopped": self.stopped} if self.stopped is not None else {}),
            **(self.usage.as_json() if self.usage is not None else {}),
        }


async def import_source(source: Source, spending: Spending | None = None) -> Imported:
    """Import what was named into the registry of the settings.

    Args:
        source: What was named.
        spending: On a model that is asked about descriptions that the rule leaves open; None asks none.

    Raises:
        ConfigError: What was named is not there, or in no format that is known.
        SourceError: A server or a list could not be reached.
        RegistryError: The database failed; what was stored before stays.
    """
    settings = load_settings()
    streams = await _streams(source)
    reports: list[tuple[str, ImportReport]] = []
    known: dict[tuple[str, str], tuple[str, bytes]] = {}
    with metered() as meter:
        async with (
            open_database(settings.registry_url) as database,
            _open_judge(settings, database, spending) as judge,
        ):
            for name, stream in streams:
                distinct = _distinct(name, stream, known)
                report = await _import(database, name, distinct, source.min_tools, judge)
                reports.append((name, report))
                if reports[-1][1].stopped is not None:
                    break
            await publish_names(database, settings.home)
    return Imported(reports=tuple(reports), usage=meter.usage if judge is not None else None)


def print_imported(imported: Imported) -> None:
    """Show what became of everything."""
    table = Table("", number("imported"), number("kept"), "rejected")
    for what, funnel in imported.funnels.items():
        reasons = ", ".join(f"{num} {reason}" for reason, num in funnel.rejected.items())
        table.add_row(what, str(funnel.imported), str(funnel.kept), reasons or "0")
    out.print(table)
    counts = imported.counts
    shown = f"{counts['added']} new, {counts['changed']} changed, {counts['unchanged']} as before"
    out.print(shown)
    if imported.usage is not None:
        print_usage(imported.usage)
    faults = [(name, fault) for name, report in imported.reports for fault in report.errors]
    for name, fault in faults[:_MAX_SHOWN_ERRORS]:
        say.print(f"{name}: line {fault.line}: {fault.reason}", style="red")
    if len(faults) > _MAX_SHOWN_ERRORS:
        say.print(f"and {len(faults) - _MAX_SHOWN_ERRORS} more; --json names all", style="red")


def _open_judge(
    settings: Settings, database: Database, spending: Spending | None
) -> AbstractAsyncContextManager[Judge | None]:
    if spending is None:
        return nullcontext()
    from astra_mcp.compose.models import open_judge  # noqa: PLC0415 - a second to load

    return open_judge(settings, database, spending)


async def _streams(source: Source) -> Sequence[tuple[str, DocumentStream]]:
    """Open what was named: nothing is stored before all of it is known to be there."""
    if (source.place is None) == (source.command is None):
        raise ConfigError("name one source: a file, a folder, an address, or --command")
    if source.command is not None:
        if source.headers_from or source.form not in (None, LIVE):
            msg = "--header-from and --format are not for --command, which starts a running server"
            raise ConfigError(msg)
        target = LiveTarget(command=_split(source.command), name=source.name)
        return [(target.shown, [await _fetch_live(target)])]
    place = source.place or ""
    if re.match(r"https?://", place):
        return await _at_address(place, source)
    if scheme := re.match(r"\w[\w+.-]*://", place):
        raise ConfigError(f"{scheme[0]} is no address: one begins with http:// or https://")
    if source.headers_from or source.name or source.form in (LIVE, LISTING):
        msg = f"{place} is no address: --name, --header-from and these formats are for addresses"
        raise ConfigError(msg)
    return _in_files(Path(place), source.form)


async def _fetch_live(target: LiveTarget) -> ServerDocument:
    from astra_mcp.compose.live_servers import list_live_tools  # noqa: PLC0415 - a second to load

    return await fetch_live(target, list_live_tools)


async def _at_address(url: str, source: Source) -> Sequence[tuple[str, DocumentStream]]:
    is_listing = _LISTING_PATH.search(url) if source.form is None else source.form == LISTING
    if is_listing:
        if source.headers_from or source.name:
            raise ConfigError("--name and --header-from are for running servers, not for lists")
        return [(public_url(url) or LISTING, [document async for document in fetch_listing(url)])]
    if source.form not in (None, LIVE):
        msg = f"--format {source.form} is for files: save what is at the address to one first"
        raise ConfigError(msg)
    target = LiveTarget(url=url, headers=_headers(source.headers_from), name=source.name)
    return [(target.shown, [await _fetch_live(target)])]


def _in_files(path: Path, form: str | None) -> Sequence[tuple[str, DocumentStream]]:
    named = format_named(form) if form else None
    if not path.is_dir():
        return [(path.name, (named or detect(path)).read(path))]
    files = _files_below(path)
    if not files:
        raise ConfigError(f"{path} holds no file that ends in {', '.join(_READABLE)} or in .gz")
    streams: list[tuple[str, DocumentStream]] = []
    for file in files:
        name = str(file.relative_to(path))
        streams.append((name, _read_below(path, file, named)))
    return streams


def _read_below(folder: Path, file: Path, named: Format | None) -> DocumentStream:
    """Read a file of a folder; one that cannot be read, or is in no format, keeps no other from it."""
    try:
        yield from (named or detect(file)).read_below(folder, file)
    except ConfigError as error:
        yield DocumentFault(line=1, reason=str(error).removeprefix(f"{file}: "))


def _distinct(
    name: str, stream: DocumentStream, known: dict[tuple[str, str], tuple[str, bytes]]
) -> DocumentStream:
    """Leave out documents whose key another document of an earlier file has, and say so.

    Each would take the place of the other, and importing them again would change both.
    """
    for place, entry in enumerate(stream, 1):
        if isinstance(entry, DocumentFault):
            yield entry
            continue
        content = sha256(repr(entry).encode(errors="surrogatepass")).digest()
        file, first = known.setdefault((entry.source, entry.key), (name, content))
        if file == name or first == content:
            yield entry
        else:
            reason = f"its key {entry.key!r} is that of another document, of {file}, which counts"
            yield DocumentFault(line=place, reason=reason)


def _files_below(folder: Path) -> list[Path]:
    try:
        found = (p for p in folder.rglob("*") if _is_readable(p.relative_to(folder)))
        return sorted(p for p in found if p.is_file())
    except OSError as error:
        where = error.filename or folder
        raise ConfigError(f"{folder}: {where} cannot be read: {error.strerror}") from error


def _is_readable(path: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.parts)
    return not is_hidden and path.name.lower().removesuffix(".gz").endswith(_READABLE)


def _split(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError as error:
        raise ConfigError(f"--command: {error}") from None


def _headers(headers_from: Mapping[str, str]) -> dict[str, str]:
    missing = [variable for variable in headers_from.values() if not os.environ.get(variable)]
    if missing:
        raise ConfigError(f"--header-from: the variable {missing[0]} is not set")
    return {name: os.environ[variable] for name, variable in headers_from.items()}


async def _import(
    database: Database, name: str, stream: DocumentStream, min_tools: int, judge: Judge | None
) -> ImportReport:
    prepare = partial(prepare_server, min_tools=min_tools)
    with say.bars(transient=True) as progress:
        task = progress.add_task(name, total=None)

        def hear(read: int, errors: int) -> None:
            said = f", {errors} unreadable" if errors else ""
            progress.update(task, description=f"{name}: documents{said}", completed=read)

        return await import_documents(database, stream, prepare=prepare, judge=judge, hear=hear)


def _joined(funnels: Iterable[Funnel]) -> Funnel:
    kept = 0
    rejected: Counter[str] = Counter()
    for funnel in funnels:
        kept += funnel.kept
        rejected.update(funnel.rejected)
    return Funnel(kept=kept, rejected=dict(rejected.most_common()))
