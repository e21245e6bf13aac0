"""Turns templates and values into answers. Every text is escaped, and what would steer its reading is shown.

The one home of the template engine here, and of what every page has: its policy, its navigation, its frame.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from astra_mcp import __version__
from astra_mcp.compose.runs.notes import RUN_ID_LENGTH, is_run_id
from astra_mcp.report.html.writing import REPORT_TEMPLATES
from astra_mcp.report.shown import shown_time
from astra_mcp.serving.pages.assets import asset_path
from astra_mcp.text.plain import visible

__all__ = [
    "CUT_AT",
    "NAVIGATION",
    "PAGE_SIZE",
    "SAFE_HEADERS",
    "CutText",
    "Paging",
    "Renderer",
    "cut_text",
    "page_number",
    "paging_of",
    "pretty_json",
]

NAVIGATION = (
    ("Start", "/"),
    ("Environments", "/environments"),
    ("Servers", "/servers"),
    ("Episodes", "/episodes"),
    ("Runs", "/runs"),
    ("Registry", "/registry"),
)
"""Name and address of each part, in their order."""
_HERE = Path(__file__).parent
_TEMPLATES = (_HERE / "templates", _HERE / "runs" / "templates", REPORT_TEMPLATES)
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "base-uri": "'none'",
    "frame-ancestors": "'none'",
}
SAFE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": "; ".join(f"{what} {allowed}" for what, allowed in _POLICY.items()),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer that is no asset. A link into the pages carries a token, which nobody else may be told."""
CUT_AT = 4_000
"""Characters of a text that somebody wrote; what is longer is cut, and leads to the whole."""


PAGE_SIZE = 50
"""Rows of a page of a list."""
_LARGE = 1e6
_DIGITS = 8
"""Of the number of a page; more are of none."""


class CutText(NamedTuple):
    """A text, or its beginning."""

    shown: str
    left_out: int
    """Characters that are not shown."""


class Paging(NamedTuple):
    """Which page of a list is shown, and where those beside it are."""

    number: int
    num_pages: int
    num_found: int
    begin: int
    end: int
    before: str | None
    after: str | None


def paging_of(
    request: Request,
    path: str,
    asked: Mapping[str, str] | Sequence[tuple[str, str]],
    num_found: int,
    size: int = PAGE_SIZE,
) -> Paging:
    """Find the page that an address asks for, or the last one of a list that ends before it."""
    pairs = [*asked.items()] if isinstance(asked, Mapping) else [*asked]

    def address(number: int) -> str:
        return f"{path}?{urlencode([*pairs, ('page', number)])}"

    num_pages = max(1, -(-num_found // size))
    number = min(page_number(request), num_pages)
    end = number * size
    before = address(number - 1) if number > 1 else None
    after = address(number + 1) if number < num_pages else None
    return Paging(number, num_pages, num_found, end - size, min(end, num_found), before, after)


def shown_figure(value: float) -> str:
    """Write a reward or a share: three decimals, and no long row of digits."""
    return f"{value:.3f}" if abs(value) < _LARGE else f"{value:.3g}"


def page_number(request: Request) -> int:
    """Read which page of a list an address asks for; the first one where that is no number."""
    text = request.query_params.get("page", "")
    is_number = text.isascii() and text.isdigit() and len(text) < _DIGITS
    return max(1, int(text)) if is_number else 1


def cut_text(text: str, length: int = CUT_AT) -> CutText:
    """Cut a text that is too long to be read on a page."""
    return CutText(text[:length], max(0, len(text) - length))


def pretty_json(value: object) -> str:
    """Write a JSON value down for people."""
    return json.dumps(value, ensure_ascii=False, indent=2)


class Renderer:
    """Renders the pages of one process."""

    def __init__(self, root: str) -> None:
        """Read no template yet.

        Args:
            root: The path before every address, where a proxy puts one there.
        """
        self._root = root.rstrip("/")
        self._environment = Environment(
            loader=FileSystemLoader(_TEMPLATES),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            finalize=_finalized,
            auto_reload=False,
        )
        shared: dict[str, Any] = (
            self._environment.globals
        )  # typed by what the engine puts there itself
        shared.update(
            url=self.url,
            asset=self._asset,
            version=__version__,
            navigation=NAVIGATION,
            cut_text=cut_text,
        )
        self._environment.tests["whole_run_id"] = _is_whole_run_id
        self._environment.filters.update(
            moment=shown_time, iso=datetime.isoformat, pretty=pretty_json, figure=shown_figure
        )

    def url(self, path: str) -> str:
        """Name an address as the browser reaches it."""
        return f"{self._root}{path}"

    def _asset(self, name: str) -> str:
        return self.url(asset_path(name))

    def page(
        self, request: Request, template: str, *, code: int = 200, **values: Any
    ) -> HTMLResponse:
        """Render a page.

        Args:
            request: Whose session the forms of the page belong to.
            template: Name of its file, without the ending.
            code: HTTP status of the answer.
            values: What the template shows.
        """
        session = request.scope.get("session")
        text = self._environment.get_template(f"{template}.html.jinja").render(
            form_token=session.form_token if session else "",
            has_session=session is not None,
            here=request.url.path,
            **values,
        )
        return HTMLResponse(text, code)

    def fragment(self, template: str, **values: object) -> str:
        """Render a part of a page that is the same for all who may see it."""
        return self._environment.get_template(f"{template}.html.jinja").render(**values)

    def go_to(self, path: str) -> Response:
        """Lead a browser on after a form was sent, so that a reload sends nothing again."""
        return RedirectResponse(self.url(path), 303)

    def fault(self, request: Request, code: int, title: str, *lines: str) -> HTMLResponse:
        """Say in a page why there is nothing to see."""
        shown: Sequence[str] = lines
        return self.page(request, "fault", code=code, title=title, lines=shown)


def _is_whole_run_id(value: object) -> bool:
    """Tell whether a text leads to the page of a run."""
    return isinstance(value, str) and len(value) == RUN_ID_LENGTH and is_run_id(value)


def _finalized(value: object) -> object:
    """Write out what would steer the reading of a text, before the engine escapes it."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
