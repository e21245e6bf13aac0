"""Writes a report as one HTML file that loads nothing: style, script, plot library and data are in it.

Texts are escaped by the template engine wherever they stand, data by :func:`script_json`. Beside that, the
page's own policy lets the browser run this script and use this style alone, known by their hashes, and load
nothing at all. Equal reports give equal files.
"""

from base64 import b64encode
from collections.abc import Generator
from contextlib import contextmanager
from errno import EISDIR
from functools import cache
from hashlib import sha256
from importlib.resources import files
from os import strerror
from pathlib import Path
from secrets import token_hex

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import Report
from astra_mcp.report.html.views import views_of
from astra_mcp.text.plain import visible

__all__ = ["REPORT_TEMPLATES", "html_of", "require_writable", "write_report"]

REPORT_TEMPLATES = Path(__file__).parent / "assets"
"""The folder of the templates."""


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
    sections = views_of(report)
    has_plots = any(view.plot is not None for _, views in sections for view in views)
    style, script = _style(has_plots), _script() if has_plots else ""
    return _template().render(
        report=report,
        sections=sections,
        style=Markup(style),  # noqa: S704 - our own file, as the next one
        script=Markup(script),  # noqa: S704
        policy=_policy(style, script),
    )


# --- what every page holds -------------------------------------------------------------------------


def _asset(name: str) -> str:
    return files("astra_mcp.report.html").joinpath(name).read_text(encoding="utf-8")


def _style(has_plots: bool) -> str:
    ours = "\n".join(_asset(f"assets/{name}.css") for name in ("tokens", "report", "parts"))
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
        loader=FileSystemLoader(REPORT_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalized,
    )
    return environment.get_template("report.html.jinja")


def _finalized(value: object) -> object:
    """Write out what would steer the reading of a text, before the engine escapes it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
