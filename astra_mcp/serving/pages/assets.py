"""What the pages load beside themselves: a style, a script and a picture, under names that say their content.

A browser may keep them for a year: a file that changes gets another name. They hold nothing of the gateway,
so that the page for people without a session can load them.
"""

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from mimetypes import guess_type

from starlette.requests import Request
from starlette.responses import Response

__all__ = ["asset_path", "serve_asset"]

_YEAR = "public, max-age=31536000, immutable"
_LICENCE = "LICENSE"
"""Of vendored files; goes with them as a comment."""
_SOURCES = {
    "pages.css": (
        ("astra_mcp.report.html", "assets/tokens.css"),
        ("astra_mcp.serving.pages", "assets/pages.css"),
    ),
    "pages.js": (("astra_mcp.serving.pages", "assets/pages.js"),),
    "runs.css": (
        ("astra_mcp.report.html", f"vendored/uplot/{_LICENCE}"),
        ("astra_mcp.report.html", "vendored/uplot/uPlot.min.css"),
        ("astra_mcp.report.html", "assets/parts.css"),
        ("astra_mcp.serving.pages.runs", "assets/runs.css"),
    ),
    "runs.js": (
        ("astra_mcp.report.html", f"vendored/uplot/{_LICENCE}"),
        ("astra_mcp.report.html", "vendored/uplot/uPlot.iife.min.js"),
        ("astra_mcp.report.html", "assets/report.js"),
        ("astra_mcp.serving.pages.runs", "assets/runs.js"),
    ),
    "icon.svg": (("astra_mcp.serving.pages", "assets/icon.svg"),),
}
"""Each asset, and the files that it is put together from; the colours are those of reports."""


@dataclass(frozen=True, slots=True)
class _Asset:
    name: str
    """With a part of its digest."""
    media_type: str
    plain: bytes
    packed: bytes


def asset_path(name: str) -> str:
    """Name the address of an asset."""
    return f"/static/{_assets()[name].name}"


async def serve_asset(request: Request) -> Response:
    """Answer with an asset, packed where the browser takes that."""
    wanted = str(request.path_params["name"])
    asset = next((a for a in _assets().values() if a.name == wanted), None)
    if asset is None:
        return Response("there is no such file", 404, media_type="text/plain")
    headers = {
        "Cache-Control": _YEAR,
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    content = asset.plain
    if "gzip" in request.headers.get("accept-encoding", ""):
        content, headers["Content-Encoding"] = asset.packed, "gzip"
    return Response(content, headers=headers, media_type=asset.media_type)


@cache
def _assets() -> dict[str, _Asset]:
    return {name: _read(name) for name in _SOURCES}


def _part(package: str, file: str) -> bytes:
    content = files(package).joinpath(file).read_bytes()
    return b"/*!\n" + content + b"\n*/" if file.endswith(_LICENCE) else content


def _read(name: str) -> _Asset:
    parts = [_part(package, file) for package, file in _SOURCES[name]]
    content = b"\n".join(parts)
    stem, _, kind = name.rpartition(".")
    digest = sha256(content).hexdigest()[:12]
    media_type = guess_type(name)[0] or "application/octet-stream"
    # Without a time in it, so that every process has the same bytes.
    return _Asset(f"{stem}.{digest}.{kind}", media_type, content, gzip.compress(content, mtime=0))
