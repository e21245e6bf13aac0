"""Loading a bundle: read its folder, check everything that needs no execution, name every fault.

Tool code is parsed, never run: that a bundle loads says nothing about what its tools return, which
is for the acceptance.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from astra_mcp.environments.bundle import SCHEMA_VERSION, Bundle, EnvironmentDocument
from astra_mcp.environments.decomposition import decomposition_faults
from astra_mcp.environments.invocations import gold_faults, tool_faults
from astra_mcp.environments.server_document import server_faults
from astra_mcp.environments.signatures import signature_faults
from astra_mcp.errors import BundleError, BundleFault
from astra_mcp.types import canonical_json

__all__ = ["MAX_CODE_BYTES", "MAX_DOCUMENT_BYTES", "document_faults", "load_bundle"]

MAX_DOCUMENT_BYTES = 4 << 20
MAX_CODE_BYTES = 1 << 20
_DOCUMENT, _CODE, _SERVER = "environment.json", "tools.py", "server.json"


def load_bundle(path: Path) -> Bundle:
    """Load the bundle in a folder.

    Raises:
        BundleError: It does not load; carries every fault found.
    """
    faults: list[BundleFault] = []
    if not path.is_dir():
        message = "there is no such folder; check the path"
        raise BundleError(str(path), [BundleFault(message)])
    raw_document = _read(path / _DOCUMENT, MAX_DOCUMENT_BYTES, faults)
    code = _read(path / _CODE, MAX_CODE_BYTES, faults)
    raw_server = _read(path / _SERVER, MAX_DOCUMENT_BYTES, faults)
    document = _parse_document(raw_document, faults) if raw_document is not None else None
    server = _parse_object(_SERVER, raw_server, faults) if raw_server is not None else None
    if document is not None:
        faults.extend(_folder_faults(document, path.resolve().name))
        faults.extend(document_faults(document, code))
    if server is not None:
        faults.extend(server_faults(server, document))
    if faults or document is None or code is None or server is None:
        raise BundleError(str(path), faults)
    return Bundle(document=document, code=code, server=server)


def _read(file: Path, max_bytes: int, faults: list[BundleFault]) -> str | None:
    """Read a text file, or note why it cannot be read."""
    fault = None
    try:
        if not file.is_file():
            fault = "is missing; every bundle has this file"
        elif (size := file.stat().st_size) > max_bytes:
            fault = f"has {size} bytes; the limit is {max_bytes}"
        else:
            return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        fault = f"is not UTF-8 (byte {error.start}); save it as UTF-8"
    except OSError as error:
        fault = f"cannot be read: {error.strerror}"
    faults.append(BundleFault.at(file.name, "", fault))
    return None


def _parse_document(raw: str, faults: list[BundleFault]) -> EnvironmentDocument | None:
    fields = _parse_object(_DOCUMENT, raw, faults)
    if fields is None:
        return None
    version = fields.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        message = (
            f"{version} is newer than {SCHEMA_VERSION}, all that this version reads; update it"
        )
        faults.append(BundleFault.at(_DOCUMENT, "schema_version", message))
        return None
    try:
        return EnvironmentDocument.model_validate_json(raw, strict=True)
    except ValidationError as error:
        for e in error.errors(include_url=False, include_input=False):
            message = e["msg"].removeprefix("Value error, ")
            faults.append(BundleFault.at(_DOCUMENT, _field(e["loc"]), message))
    return None


def _field(location: tuple[int | str, ...]) -> str:
    parts = (f"[{p}]" if isinstance(p, int) else f".{p}" for p in location)
    return "".join(parts).lstrip(".")


def _parse_object(file: str, raw: str, faults: list[BundleFault]) -> dict[str, Any] | None:
    try:
        value: object = json.loads(
            raw, object_pairs_hook=_unique_keys, parse_constant=_refuse_constant
        )
        canonical_json(value)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno} column {error.colno}"
        faults.append(BundleFault.at(file, place, f"is not JSON: {error.msg}"))
    except RecursionError:
        faults.append(BundleFault.at(file, "", "nests too deeply"))
    except TypeError as error:
        faults.append(BundleFault.at(file, "", f"holds a value that JSON cannot carry: {error}"))
    except ValueError as error:
        faults.append(BundleFault.at(file, "", str(error)))
    else:
        if isinstance(value, dict):
            return cast("dict[str, Any]", value)
        faults.append(BundleFault.at(file, "", "must hold one JSON object"))
    return None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({n for n in names if names.count(n) > 1})
        msg = f"the key {twice[0]!r} stands twice in one object; remove one"
        raise ValueError(msg)
    return row


def _refuse_constant(name: str) -> float:
    msg = f"{name} is not JSON; use null or a number"
    raise ValueError(msg)


def _folder_faults(document: EnvironmentDocument, folder: str) -> Iterator[BundleFault]:
    if document.name != folder:
        message = f"is {document.name!r}, but the folder is {folder!r}; rename one of them"
        yield BundleFault.at(_DOCUMENT, "name", message)


def document_faults(document: EnvironmentDocument, code: str | None) -> Iterator[BundleFault]:
    """Find every fault that several fields, or a field and the tool code, have together.

    Args:
        document: A document whose fields are valid one by one.
        code: Source text of the tools; None where it could not be read.
    """
    if document.clock.tzinfo is None:
        message = "has no time zone; write it as 2026-01-05T09:00:00Z"
        yield BundleFault.at(_DOCUMENT, "clock", message)
    if document.status == "verified":
        yield from _completeness_faults(document)
    structure = [*decomposition_faults(document)]
    tools = [*tool_faults(document)]
    yield from structure
    yield from tools
    if not tools and not structure:
        yield from gold_faults(document)
    if not tools and code is not None:
        yield from signature_faults(document, code)


def _completeness_faults(document: EnvironmentDocument) -> Iterator[BundleFault]:
    remedy = 'is required of a verified environment; add it, or set status to "unverified"'
    for name in ("answer", "scenario_type", "gold"):
        if not getattr(document, name):
            yield BundleFault.at(_DOCUMENT, name, remedy)
    for index, sub in enumerate(document.sub_tasks):
        for name in ("question", "hop_level", "is_parallel"):
            if getattr(sub, name) in (None, ""):
                yield BundleFault.at(_DOCUMENT, f"sub_tasks[{index}].{name}", remedy)
    if all(s.tool is None for s in document.sub_tasks):
        message = "no sub-task has a tool, so that nothing could be scored; name one"
        yield BundleFault.at(_DOCUMENT, "sub_tasks", message)
