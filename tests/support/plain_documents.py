"""Server documents for tests, with a preparation that takes each tool as it is.

As a program, it imports a file of such documents: ``URL FILE [STEP]``.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import anyio
from pydantic import TypeAdapter
from sqlalchemy import Engine, event

from astra_mcp.types import ToolSpec, canonical_json, tools_hash
from registry.documents.prepared import PreparedServer, PreparedTool
from registry.documents.sources import (
    Provenance,
    Rejection,
    ServerDocument,
    ServerReason,
    ToolDocument,
    ToolReason,
)
from registry.intake.importing import import_documents
from registry.store.database import open_database

_DOCUMENT = TypeAdapter(ServerDocument)
_STEPS = ("before_cursor_execute", "commit")


def tool(name: str, description: str | None = "Says what it does.") -> ToolDocument:
    """A tool with one parameter; one without a schema cannot be converted."""
    return ToolDocument(
        name=name,
        description=description,
        input_schema={"type": "object", "properties": {"text": {"type": "string"}}},
    )


def server(key: str, *tools: str | ToolDocument, **fields: Any) -> ServerDocument:
    """A live server of three tools of its own, where none are named."""
    listed = tools or tuple(f"{key}_{verb}" for verb in ("find", "make", "drop"))
    document = ServerDocument(
        source="plain",
        key=key,
        name=key,
        provenance=Provenance.LIVE,
        tools=tuple(t if isinstance(t, ToolDocument) else tool(t) for t in listed),
    )
    return replace(document, **fields)


def prepare(document: ServerDocument) -> PreparedServer:
    """Reject tools without a description or a schema, and servers of which fewer than three are left."""
    tools = tuple(_prepared(t) for t in document.tools)
    kept = [t.spec for t in tools if t.rejection is None and t.spec is not None]
    reason = None
    if not tools:
        reason = Rejection(ServerReason.NO_TOOLS, "tools: there are none")
    elif len(kept) < 3:
        reason = Rejection(ServerReason.TOO_FEW_TOOLS, f"tools: {len(kept)} are left")
    return PreparedServer(
        document=document,
        document_hash=sha256(canonical_json(asdict(document))).hexdigest(),
        name=document.name.lower().replace(" ", "-")[:64],
        tools=tools if reason is None else tuple(_fallen(t) for t in tools),
        tools_hash=tools_hash(kept) if kept else None,
        domain=None,
        language="en",
        rejection=reason,
    )


def _prepared(document: ToolDocument) -> PreparedTool:
    if not isinstance(document.input_schema, dict):
        rejection = Rejection(ToolReason.NOT_CONVERTIBLE, "input_schema: is no object")
        return PreparedTool(document=document, spec=None, hash=None, words="", rejection=rejection)
    spec = ToolSpec(
        name=document.name,
        description=document.description or "",
        input_schema=document.input_schema,
    )
    return PreparedTool(
        document=document,
        spec=spec,
        hash=sha256(canonical_json(spec.model_dump())).hexdigest(),
        words=f"{spec.name}\n{spec.description}\ntext",
        notes=("name: kept",),
        rejection=None
        if document.description
        else Rejection(ToolReason.NO_DESCRIPTION, "description: is missing"),
    )


def _fallen(tool: PreparedTool) -> PreparedTool:
    fallen = Rejection(ToolReason.SERVER_REJECTED, "server: too_few_tools")
    return replace(tool, rejection=tool.rejection or fallen)


def write_documents(path: Path, documents: Iterable[ServerDocument]) -> Path:
    """Write documents, one a line."""
    path.write_text("".join(json.dumps(asdict(d)) + "\n" for d in documents), encoding="utf-8")
    return path


def read_documents(path: Path) -> Iterator[ServerDocument]:
    """Read what was written."""
    for line in path.read_text(encoding="utf-8").splitlines():
        yield _DOCUMENT.validate_python(json.loads(line))


@contextmanager
def watched_steps(look: Callable[[int], None]) -> Generator[None]:
    """Be told the number of each statement and each commit, before it is sent to a database."""
    numbers = count(1)

    def step(*_: Any) -> None:
        look(next(numbers))

    for kind in _STEPS:
        event.listen(Engine, kind, step)
    yield
    for kind in _STEPS:
        event.remove(Engine, kind, step)


async def _import(url: str, path: Path) -> None:
    async with open_database(url) as database:
        await import_documents(database, read_documents(path), prepare=prepare)


def _main(url: str, path: str, kill_at: str = "0") -> None:
    """Import a file as soon as standard input ends; kill the process at a step, as nobody can resist."""

    def look(number: int) -> None:
        if number == int(kill_at):
            os.kill(os.getpid(), signal.SIGKILL)

    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()
    with watched_steps(look):
        anyio.run(_import, url, Path(path))


if __name__ == "__main__":
    _main(*sys.argv[1:])
