"""Runs: a list, and each with what it came to; of trainings several in one plot.

Everything is read and rendered in threads, of which few work at once: a file may be large, or its disk slow.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from typing import TypeVar
from urllib.parse import parse_qsl, urlencode

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from astra_mcp.compose.runs.notes import (
    KnownRun,
    RunKind,
    RunState,
    SeenFiles,
    find_run,
    list_runs,
    report_time,
    stored_report,
)
from astra_mcp.compose.runs.settings import settings_of
from astra_mcp.errors import CapacityError, ConfigError
from astra_mcp.report.html.parts import Report, shortened
from astra_mcp.report.html.views import views_of
from astra_mcp.report.html.writing import html_of
from astra_mcp.report.shown import shown_time
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.rendering import (
    CUT_AT,
    PAGE_SIZE,
    Paging,
    Renderer,
    page_number,
    paging_of,
)
from astra_mcp.serving.pages.runs.shelf import CurveShelf, Seen

__all__ = ["RunPages", "RunRow", "row_of"]

_MAX_TOGETHER = 6
"""Runs of one plot: so many looks there are."""
_MAX_OTHERS = 30
"""Trainings that can be chosen beside one; others are named in the address."""
_MAX_POINTS, _MAX_POINTS_OF_ALL = 120, 60
"""Of a line on a page, of few figures or all of them; a file has more."""
_MAX_PLOTS, _MAX_PLOTS_OF_FILE = 200, 500
"""Figures that are drawn on one page, and in a file."""
_OVERVIEW = ("Rewards", "Loss", "Batches", "Form of turns")
_AT_ONCE = 2
_WAIT_SECONDS = 20.0

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """A report, and what a page says beside it."""

    report: Report | None
    faults: Sequence[str]
    mark: str
    is_unread: bool = False
    """Whether the next look reads more of what there is already."""
    has_more: bool = False
    """Whether there are figures that the overview leaves out."""
    paging: Paging | None = None
    """Of the figures of a training."""


class RunPages:
    """Answers at ``/runs``."""

    def __init__(self, parts: PageParts, renderer: Renderer) -> None:
        self._home = parts.home
        self._renderer = renderer
        self._shelf = CurveShelf()
        self._seen: SeenFiles = {}
        self._threads = anyio.CapacityLimiter(_AT_ONCE)

    def routes(self) -> Iterator[Route]:
        """Lay out the addresses."""
        yield Route("/runs", self.show_list, methods=["GET"])
        yield Route("/runs/{id}", self.show_one, methods=["GET"])
        yield Route("/runs/{id}/file", self.download, methods=["GET"])

    async def show_list(self, request: Request) -> Response:
        """Show those that were begun last first, a page at a time."""
        return await self._in_thread(partial(self._list, request))

    async def show_one(self, request: Request) -> Response:
        """Show one run; 304 to a script that has it as it is."""
        return await self._in_thread(partial(self._one, request))

    async def download(self, request: Request) -> Response:
        """Hand over the report as one file, which needs no gateway."""
        return await self._in_thread(partial(self._file, request))

    async def _in_thread(self, make: Callable[[], Made]) -> Made:
        with anyio.move_on_after(_WAIT_SECONDS):
            return await anyio.to_thread.run_sync(make, limiter=self._threads)
        raise CapacityError("others look at runs, or the disk is slow: load the page again")

    # --- the list --------------------------------------------------------------------------------

    def _list(self, request: Request) -> Response:
        asked = request.query_params.get("kind", "")
        fault = (
            "" if asked in ("", *RunKind) else f"there is no kind {asked!r}: {', '.join(RunKind)}"
        )
        kind = RunKind(asked) if asked and not fault else None
        look = partial(list_runs, self._home, kind=kind, limit=PAGE_SIZE, seen=self._seen)
        number = page_number(request)
        found = look(begin=(number - 1) * PAGE_SIZE)
        paging = paging_of(request, "/runs", {"kind": asked} if asked else {}, found.num_all)
        if paging.number < number:
            found = look(begin=paging.begin)
        return self._renderer.page(
            request,
            "runs",
            rows=() if fault else [row_of(run) for run in found.runs],
            kinds=[kind.value for kind in RunKind],
            asked=asked,
            fault=fault,
            paging=paging,
            num_unread=found.num_unread,
        )

    # --- one -------------------------------------------------------------------------------------

    def _one(self, request: Request) -> Response:
        run = find_run(self._home, request.path_params["id"])
        shows_all = request.query_params.get("figures") == "all"
        together = self._together(run, request.query_params.getlist("with"))
        if run.kind is RunKind.TRAINING:
            with self._shelf.lock:
                seen = self._shelf.look(together)
                asks = f"{seen.mark}\n{page_number(request)}"
                tag = _tag(together.values(), asks, shows_all)
                if request.headers.get("if-none-match") == tag:
                    return Response(status_code=304, headers={"ETag": tag})
                address = _address(together, shows_all=shows_all)
                told = _told_of_training(seen, request, address, shows_all=shows_all)
        else:
            mark = str(report_time(self._home, run))
            tag = _tag([run], mark, shows_all)
            if request.headers.get("if-none-match") == tag:
                return Response(status_code=304, headers={"ETag": tag})
            told = self._told(run, mark)
        report = None if told.report is None else shortened(told.report, CUT_AT)
        is_training = run.kind is RunKind.TRAINING
        settings, settings_faults = _settings_of(run)
        page = self._renderer.page(
            request,
            "run",
            run=row_of(run),
            note=run.note,
            is_gone=run.is_gone,
            is_live=told.is_unread or any(each.is_running for each in together.values()),
            report=report,
            sections=[] if report is None else views_of(report),
            faults=[*told.faults, *settings_faults],
            settings=settings,
            together=list(together.values())[1:],
            others=[row_of(each) for each in self._others(together)] if is_training else [],
            is_training=is_training,
            shows_all=shows_all,
            other_figures=_address(together, shows_all=not shows_all) if told.has_more else None,
            here_again=_at_page(_address(together, shows_all=shows_all), told.paging),
            paging=told.paging,
            file=_address(together, shows_all=False, at="/file"),
        )
        page.headers["ETag"] = tag
        return page

    def _together(self, run: KnownRun, ids: Sequence[str]) -> dict[str, KnownRun]:
        """Name a run and those that are shown with it, each by a name of its own.

        Raises:
            UnknownNameError: An id is none.
        """
        found = {run.id: run}
        for id_ in ids[: _MAX_TOGETHER - 1] if run.kind is RunKind.TRAINING else ():
            other = find_run(self._home, id_)
            if other.kind is RunKind.TRAINING:
                found.setdefault(other.id, other)
        names = [each.note.name for each in found.values()]
        return {
            each.note.name if names.count(each.note.name) == 1 else f"{each.note.name} {id_}": each
            for id_, each in found.items()
        }

    def _others(self, together: Mapping[str, KnownRun]) -> Sequence[KnownRun]:
        """Find the trainings that can be shown beside those that are."""
        shown = {run.id for run in together.values()}
        num = _MAX_OTHERS + len(shown)
        listed = list_runs(self._home, kind=RunKind.TRAINING, limit=num, seen=self._seen).runs
        return [*together.values()][1:] + [run for run in listed if run.id not in shown]

    def _told(self, run: KnownRun, mark: str) -> _Told:
        try:
            report = stored_report(self._home, run)
        except ConfigError as error:
            return _Told(report=None, faults=[str(error)], mark=mark)
        return _Told(report=report, faults=(), mark=mark)

    def _file(self, request: Request) -> Response:
        run = find_run(self._home, request.path_params["id"])
        if run.kind is RunKind.TRAINING:
            from astra_mcp.compose.runs.training import report_of_curves  # noqa: PLC0415 - as below

            with self._shelf.lock:
                seen = self._shelf.look(self._together(run, request.query_params.getlist("with")))
                report = report_of_curves(seen.curves, max_plots=_MAX_PLOTS_OF_FILE)
        else:
            report = self._told(run, "").report
        if report is None or not (report.sections or report.key_figures):
            return self._renderer.fault(request, 404, "This run has come to nothing yet")
        headers = {"Content-Disposition": f'attachment; filename="{run.kind}-{run.id}.html"'}
        return Response(html_of(report), headers=headers, media_type="text/html")


def _settings_of(run: KnownRun) -> tuple[Mapping[str, str], Sequence[str]]:
    """With what a run was made; where that cannot be read, why, and the rest of its page is of use."""
    try:
        return settings_of(run), ()
    except ConfigError as error:
        return {}, [str(error)]


def _told_of_training(seen: Seen, request: Request, address: str, *, shows_all: bool) -> _Told:
    # A gateway without a look at a training needs none of what knows their figures.
    from astra_mcp.compose.runs.training import report_of_curves, sections_of  # noqa: PLC0415

    of = None if shows_all else _OVERVIEW
    num_figures = sum(map(len, sections_of(seen.curves.values(), of=of).values()))
    path, _, query = address.partition("?")
    paging = paging_of(request, path, parse_qsl(query), num_figures, _MAX_PLOTS)
    report = report_of_curves(
        seen.curves,
        max_points=_MAX_POINTS_OF_ALL if shows_all else _MAX_POINTS,
        of=of,
        begin=paging.begin,
        max_plots=_MAX_PLOTS,
    )
    titles = sections_of(seen.curves.values())
    return _Told(
        report=report if report.sections else None,
        faults=seen.faults,
        mark=seen.mark,
        is_unread=seen.is_unread,
        has_more=shows_all or not set(titles) <= {*_OVERVIEW},
        paging=paging,
    )


def _at_page(address: str, paging: Paging | None) -> str:
    if paging is None or paging.number == 1:
        return address
    return f"{address}{'&' if '?' in address else '?'}page={paging.number}"


def _address(together: Mapping[str, KnownRun], *, shows_all: bool, at: str = "") -> str:
    first, *others = together.values()
    asked = [("with", run.id) for run in others] + ([("figures", "all")] if shows_all else [])
    return f"/runs/{first.id}{at}{'?' if asked else ''}{urlencode(asked)}"


def _tag(runs: Iterable[KnownRun], mark: str, shows_all: bool) -> str:
    stand = [f"{run.state}\n{run.is_gone}\n{run.note.model_dump_json()}" for run in runs]
    told = "\n".join([*stand, str(shows_all), mark])
    return f'"{sha256(told.encode()).hexdigest()[:32]}"'


# --- what rows say -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """A run as lists show it."""

    id: str
    kind: str
    name: str
    command: str
    state: str
    look: str
    """The style of its state."""
    begun_at: datetime
    begun: str
    figure: str


_LOOKS = {
    RunState.RUNNING: "open",
    RunState.DONE: "closed",
    RunState.STOPPED: "warning",
    RunState.FAILED: "failed",
}


def row_of(run: KnownRun) -> RunRow:
    """What lists show of a run."""
    return RunRow(
        id=run.id,
        kind=run.kind.value,
        name=run.note.name,
        command=run.note.command,
        state=run.state.value,
        look=_LOOKS[run.state],
        begun_at=run.note.begun_at,
        begun=_ago(run.note.begun_at),
        figure=run.note.figure,
    )


_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def _ago(at: datetime) -> str:
    """Say how long ago a moment was."""
    seconds = int((datetime.now(UTC) - at).total_seconds())
    if seconds < 0:  # by another clock
        return f"at {shown_time(at)}"
    for size, name in _SPANS:
        if seconds >= size:
            count = seconds // size
            return f"{count:,} {name}{'s' * (count != 1)} ago"
    return "just now"
