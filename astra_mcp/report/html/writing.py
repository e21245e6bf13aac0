"""Writes a report as one HTML file that loads nothing: style, script, plot library and data are in it.

Texts are escaped by the template engine wherever they stand, data by :func:`script_json`. Beside that, the
page's own policy lets the browser run this script and use this style alone, known by their hashes, and load
nothing at all. Equal reports give equal files.
"""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Literal

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import BarChart, DataTable, Histogram, LinePlot, Part, Report
from astra_mcp.report.html.plots import Plot, plot_of, script_json
from astra_mcp.report.shown import visible

__all__ = ["html_of", "write_report"]


def write_report(report: Report, file: Path) -> None:
    """Write a report.

    Raises:
        ConfigError: The file cannot be written.
    """
    text = html_of(report)
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror}") from error


def html_of(report: Report) -> str:
    """Render a report as the text of an HTML page."""
    sections = [
        (section, [_view(part) for part in section.parts if not _is_empty(part)])
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
    kind: Literal["table", "bars", "plot"]
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
    plot = plot_of(part)
    data = Markup(script_json(plot.spec))  # noqa: S704 - escaped for where it stands
    return _View(kind="plot", part=part, plot=plot, data=data)


def _is_empty(part: Part) -> bool:
    match part:
        case DataTable():
            return not part.rows
        case BarChart():
            return not part.total
        case Histogram():
            return not part.bins
        case LinePlot():
            return not part.x


def _drawn_bars(part: BarChart) -> Iterator[_DrawnBar]:
    shares = [bar.count / part.total for bar in part.bars]
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
    ours = _asset("assets/report.css")
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
