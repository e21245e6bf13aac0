"""Writes a report as one HTML file that loads nothing: style, script, plot library and data are in it.

Texts are escaped by the template engine wherever they stand, data by :func:`script_json`. Beside that, the
page's own policy lets the browser run this script and use this style alone, known by their hashes, and load
nothing at all. Equal reports give equal files.
"""

from base64 import b64encode
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from errno import EISDIR
from functools import cache
from hashlib import sha256
from importlib.resources import files
from os import strerror
from pathlib import Path
from secrets import token_hex
from typing import Literal

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import BarChart, DataTable, Part, Reading, Report, is_empty
from astra_mcp.report.html.plots import Plot, plot_of, script_json
from astra_mcp.text.plain import visible

__all__ = ["html_of", "require_writable", "write_report"]


def write_report(report: Report, file: Path) -> None:
    """Write a report, whole or not at all: a page that stands there stays until the new one is complete.

    Raises:
        ConfigError: The file cannot be written.
    """
    text = html_of(report)
    with _told_of(file):
        if _is_special(file):
            file.write_text(text, encoding="utf-8")
            return
        with _draft_beside(file) as draft:
            draft.write_text(text, encoding="utf-8")
            draft.replace(file.resolve())


def require_writable(file: Path) -> None:
    """Find out before long work whether a report can be written; a page that stands there stays.

    Raises:
        ConfigError: It cannot.
    """
    with _told_of(file):
        if file.is_dir():
            raise IsADirectoryError(EISDIR, strerror(EISDIR))
        if not _is_special(file):
            with _draft_beside(file) as draft:
                draft.touch()


@contextmanager
def _told_of(file: Path) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error


@contextmanager
def _draft_beside(file: Path) -> Generator[Path]:
    draft = file.resolve().with_name(f".{token_hex(8)}.draft")
    try:
        yield draft
    finally:
        draft.unlink(missing_ok=True)


def _is_special(file: Path) -> bool:
    """Whether something stands there that takes text and is no file, such as standard output."""
    return file.exists() and not file.is_file()


def html_of(report: Report) -> str:
    """Render a report as the text of an HTML page."""
    sections = [
        (section, [_view(part) for part in section.parts if not is_empty(part)])
        for section in report.sections
    ]
    has_plots = any(view.plot is not None for _, views in sections for view in views)
    style, script = _style(has_plots), _script() if has_plots else ""
    return _template().render(
        report=report,
        sections=sections,
        style=Markup(style),  # noqa: S704 - our own file, as the next one
        script=Markup(script),  # noqa: S704
        policy=_policy(style, script),
    )


# --- parts as the template takes them --------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _DrawnBar:
    """A bar with its figures written down; lengths are per cent of the longest."""

    label: str
    count: str
    share: str
    reference: str
    length: float
    mark: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _View:
    kind: Literal["table", "bars", "plot", "reading"]
    part: Part
    bars: Sequence[_DrawnBar] = ()
    plot: Plot | None = None
    data: str = ""
    """What the script reads."""


def _view(part: Part) -> _View:
    if isinstance(part, DataTable):
        return _View(kind="table", part=part)
    if isinstance(part, BarChart):
        return _View(kind="bars", part=part, bars=tuple(_drawn_bars(part)))
    if isinstance(part, Reading):
        return _View(kind="reading", part=part)
    plot = plot_of(part)
    data = Markup(script_json(plot.spec))  # noqa: S704 - escaped for where it stands
    return _View(kind="plot", part=part, plot=plot, data=data)


def _drawn_bars(part: BarChart) -> Iterator[_DrawnBar]:
    shares = [bar.count / (part.whole or part.total) for bar in part.bars]
    longest = max((*shares, *(bar.reference or 0.0 for bar in part.bars)))
    for bar, share in zip(part.bars, shares, strict=True):
        yield _DrawnBar(
            label=bar.label,
            count=f"{bar.count:,}",
            share=f"{share:.1%}",
            reference="" if bar.reference is None else f"{bar.reference:.1%}",
            length=round(100 * share / longest, 2),
            mark=None if bar.reference is None else round(100 * bar.reference / longest, 2),
        )


# --- what every page holds -------------------------------------------------------------------------


def _asset(name: str) -> str:
    return files("astra_mcp.report.html").joinpath(name).read_text(encoding="utf-8")


def _style(has_plots: bool) -> str:
    ours = f"{_asset('assets/tokens.css')}\n{_asset('assets/report.css')}"
    return f"{_asset('vendored/uplot/uPlot.min.css')}\n{ours}" if has_plots else ours


def _script() -> str:
    library = _asset("vendored/uplot/uPlot.iife.min.js")
    licence = _asset("vendored/uplot/LICENSE")
    return f"/*!\n{licence}\n*/\n{library}\n{_asset('assets/report.js')}"


def _policy(style: str, script: str) -> str:
    """What the browser may do: everything that is not named here is forbidden."""
    allowed = {"style-src": _source(style), "script-src": _source(script) if script else "'none'"}
    named = "; ".join(f"{what} {source}" for what, source in allowed.items())
    return f"default-src 'none'; {named}; img-src data:; base-uri 'none'; form-action 'none'"


def _source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


@cache
def _template() -> Template:
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    return environment.from_string(_asset("assets/report.html.jinja"))


def _finalized(value: object) -> object:
    """Write out what would steer the reading of a text, before the engine escapes it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
