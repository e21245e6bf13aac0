"""Loading a bundle: read its folder, check everything that needs no execution, name every fault.

Tool code is parsed, never run: that a bundle loads says nothing about what its tools return, which
is for the acceptance.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from astra_mcp.environments.bundle import SCHEMA_VERSION, Bundle, EnvironmentDocument, Question
from astra_mcp.environments.decomposition import decomposition_faults
from astra_mcp.environments.invocations import (
    example_faults,
    gold_faults,
    tool_faults,
    tool_name_faults,
)
from astra_mcp.environments.server_document import server_faults
from astra_mcp.environments.signatures import signature_faults
from astra_mcp.errors import BundleError, BundleFault
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject, canonical_json

__all__ = [
    "MAX_CODE_BYTES",
    "document_faults",
    "load_bundle",
    "missing_fields",
    "parse_bundle",
    "read_bundle",
]

_MAX_DOCUMENT_BYTES = 4 << 20
MAX_CODE_BYTES = 1 << 20
_DOCUMENT, _CODE, _SERVER = "environment.json", "tools.py", "server.json"
_WORDS = {
    "missing": "is missing; add it",
    "extra_forbidden": "there is no such field; remove it, or correct its name",
    "string_type": "must be a text, in quotes",
    "int_type": "must be an integer, without quotes",
    "bool_type": "must be true or false, without quotes",
    "tuple_type": "must be a list, in square brackets",
    "dict_type": "must be an object, in braces",
    "model_type": "must be an object, in braces",
    "model_attributes_type": "must be an object, in braces",
    "string_too_short": "must not be empty",
    "string_too_long": "must have at most {max_length} characters",
    "too_short": "must not be empty",
    "greater_than_equal": "must be at least {ge}",
    "less_than": "must be below {lt}",
    "enum": "must be {expected}",
    "literal_error": "must be {expected}",
}
"""What a fault of one field means to its author, by pydantic's name of the fault."""
_PATTERNS = {
    "name": "must be lower-case words joined by hyphens, such as hotel-booking",
    "version": "must be three numbers with dots, such as 1.0.0",
    "id": "must be lower-case words joined by hyphens, such as fare-2",
}


def _parse_document(raw: str | None, faults: list[BundleFault]) -> EnvironmentDocument | None:
    """Parse ``environment.json``, or note why its fields are not valid one by one."""
    fields = _parse_object(_DOCUMENT, raw, faults)
    if raw is None or fields is None:
        return None
    version = fields.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        known = f"{SCHEMA_VERSION}, all that this version reads"
        message = f"{version} is newer than {known}; update it"
        faults.append(BundleFault.at(_DOCUMENT, "schema_version", message))
        return None
    try:
        return EnvironmentDocument.model_validate_json(raw, strict=True)
    except ValidationError as error:
        faults.extend(
            BundleFault.at(_DOCUMENT, _field(e["loc"]), _plain_words(e))
            for e in error.errors(include_url=False, include_input=False)
        )
    return None


def _plain_words(error: ErrorDetails) -> str:
    if error["type"] == "string_pattern_mismatch":
        return _PATTERNS.get(str(error["loc"][-1]), "is not of the wanted form")
    if error["type"].startswith("datetime"):
        return "must be a day and time with its time zone, such as 2026-01-05T09:00:00Z"
    words = _WORDS.get(error["type"])
    if words is None:
        return error["msg"].removeprefix("Value error, ")
    return words.format(**error.get("ctx", {}))


def _field(location: tuple[int | str, ...]) -> str:
    parts = (f"[{p}]" if isinstance(p, int) else f".{p}" for p in location)
    return "".join(parts).lstrip(".")


def _parse_object(file: str, raw: str | None, faults: list[BundleFault]) -> JsonObject | None:
    """Parse a file that must hold one JSON object, or note why it does not; None was not read."""
    if raw is None:
        return None
    try:
        value = parse_strict(raw)
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
            return cast("JsonObject", value)
        faults.append(BundleFault.at(file, "", "must hold one JSON object"))
    return None


@dataclass(slots=True)
class _Parts:
    """The files of a bundle, each read by itself; what could not be read is None, and a fault says why."""

    document: EnvironmentDocument | None
    code: str | None
    server: JsonObject | None
    faults: list[BundleFault]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the files of a folder.

        Raises:
            BundleError: There is no such folder.
        """
        if not path.is_dir():
            raise BundleError(str(path), [BundleFault("there is no such folder; check the path")])
        faults: list[BundleFault] = []
        raw_document = _read(path / _DOCUMENT, _MAX_DOCUMENT_BYTES, faults)
        code = _read(path / _CODE, MAX_CODE_BYTES, faults)
        raw_server = _read(path / _SERVER, _MAX_DOCUMENT_BYTES, faults)
        return cls.parse(path.resolve().name, raw_document, code, raw_server, faults)

    @classmethod
    def parse(
        cls,
        folder: str,
        raw_document: str | None,
        code: str | None,
        raw_server: str | None,
        faults: list[BundleFault],
    ) -> Self:
        """Parse the texts of the files that a folder of this name holds."""
        document = _parse_document(raw_document, faults)
        server = _parse_object(_SERVER, raw_server, faults)
        if document is not None and document.name != folder:
            message = f"is {document.name!r}, but the folder is {folder!r}; rename one of them"
            faults.append(BundleFault.at(_DOCUMENT, "name", message))
        return cls(document, code, server, faults)

    def join(self, path: Path) -> Bundle:
        """Make a bundle of them.

        Raises:
            BundleError: There are faults; carries all of them.
        """
        document, code, server = self.document, self.code, self.server
        if self.faults or document is None or code is None or server is None:
            raise BundleError(str(path), self.faults)
        return Bundle(document=document, code=code, server=server)


def load_bundle(path: Path) -> Bundle:
    """Load the bundle in a folder.

    Raises:
        BundleError: It does not load; carries every fault found.
    """
    return _whole(_Parts.read(path), path)


def read_bundle(path: Path) -> Bundle:
    """Read the bundle in a folder without asking whether its parts fit together, in a fifth of the time.

    What it returns can be listed; before it is used, :func:`load_bundle` has to load it.

    Raises:
        BundleError: A file or a field is wrong by itself; carries those faults, and no others.
    """
    return _Parts.read(path).join(path)


def parse_bundle(name: str, texts: Mapping[str, str]) -> Bundle:
    """Make a bundle of the texts of its files, as if they stood in a folder of this name.

    Raises:
        BundleError: It does not load; carries every fault found.
    """
    faults: list[BundleFault] = []
    for file, text in texts.items():
        limit = MAX_CODE_BYTES if file == _CODE else _MAX_DOCUMENT_BYTES
        if (size := len(text.encode())) > limit:
            faults.append(BundleFault.at(file, "", f"has {size} bytes; the limit is {limit}"))
    parts = _Parts.parse(name, texts[_DOCUMENT], texts[_CODE], texts[_SERVER], faults)
    return _whole(parts, Path(name))


def _whole(parts: _Parts, path: Path) -> Bundle:
    """Join parts that fit together."""
    if parts.document is not None:
        parts.faults.extend(document_faults(parts.document, parts.code))
    if parts.server is not None:
        parts.faults.extend(server_faults(parts.server, parts.document))
    return parts.join(path)


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


def document_faults(document: EnvironmentDocument, code: str | None) -> Iterator[BundleFault]:
    """Find every fault that several fields, or a field and the tool code, have together.

    Args:
        document: A document whose fields are valid one by one.
        code: Source text of the tools; None where it could not be read.
    """
    if document.clock.tzinfo is None:
        message = "has no time zone; write it as 2026-01-05T09:00:00Z"
        yield BundleFault.at(_DOCUMENT, "clock", message)
    texts = {n: getattr(document, n) for n in ("title", "description", "background")}
    yield from _blank_faults(texts)
    tools = [*tool_faults(document)]
    yield from tools
    if not tools:
        yield from example_faults(document)
    yield from _question_faults(document, are_tools_sound=not tools)
    seen: dict[str, int] = {}
    for index, further in enumerate(document.questions):
        place = f"questions[{index}]"
        if further.id in seen:
            message = f"is also the id of questions[{seen[further.id]}]; ids must be unique"
            yield BundleFault.at(_DOCUMENT, f"{place}.id", f"{further.id!r} {message}")
        seen.setdefault(further.id, index)
        asked = document.asking(further)
        faults = _question_faults(asked, are_tools_sound=not tools)
        yield from (fault.within(place) for fault in faults)
    if not tools and code is not None:
        yield from signature_faults(document, code)


def _question_faults(
    document: EnvironmentDocument, *, are_tools_sound: bool
) -> Iterator[BundleFault]:
    """Find every fault of the main question of a document, its decomposition and its gold calls."""
    yield from _blank_faults(_texts_of(document))
    if document.status == "verified":
        remedy = 'is required of a verified environment; add it, or set status to "unverified"'
        yield from (BundleFault.at(_DOCUMENT, name, remedy) for name in missing_fields(document))
        if all(s.tool is None for s in document.sub_tasks):
            message = "no sub-task has a tool, so that nothing could be scored; name one"
            yield BundleFault.at(_DOCUMENT, "sub_tasks", message)
    structure = [*decomposition_faults(document), *tool_name_faults(document)]
    yield from structure
    if are_tools_sound and not structure:
        yield from gold_faults(document)


def missing_fields(asked: Question) -> list[str]:
    """Name the fields that a question of a verified environment has and this one lacks."""
    required = ("answer", "scenario_type", "gold")
    if isinstance(asked, EnvironmentDocument):
        required = ("domain", *required)
    missing = [n for n in required if not getattr(asked, n)]
    missing += [
        f"sub_tasks[{index}].{name}"
        for index, sub in enumerate(asked.sub_tasks)
        for name in ("question", "hop_level", "is_parallel")
        if getattr(sub, name) in (None, "")
    ]
    return missing


def _texts_of(asked: Question) -> dict[str, str | None]:
    texts = {"question": asked.question, "answer": asked.answer}
    for index, sub in enumerate(asked.sub_tasks):
        texts[f"sub_tasks[{index}].question"] = sub.question
        texts[f"sub_tasks[{index}].answer"] = sub.answer
    return texts


def _blank_faults(texts: Mapping[str, str | None]) -> Iterator[BundleFault]:
    for name, text in texts.items():
        if text is not None and not text.strip():
            yield BundleFault.at(_DOCUMENT, name, "is blank; write what stands there")
