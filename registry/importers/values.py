"""Reading a file that is one value, written as JSON or YAML; bounded in size and depth."""

import json
from collections import Counter
from pathlib import Path
from typing import Any, Final, NoReturn

from astra_mcp.types import JsonValue
from registry.documents.sources import DocumentFault
from registry.importers.opening import PACKING_FAULTS, open_documents
from registry.importers.yaml_text import MAX_DEPTH, YamlError, parse_yaml

__all__ = ["UnreadableError", "parse_value", "read_value"]

MAX_JSON_BYTES: Final = 64 * 2**20
MAX_YAML_BYTES: Final = 16 * 2**20
"""YAML takes ten times as long to read as JSON."""
_TOO_DEEP: Final = f"nested more than {MAX_DEPTH} levels deep"
_YAML_ENDINGS: Final = (".yaml", ".yml")


class UnreadableError(ValueError):
    """A file holds no value that can be read; the message says why."""


def read_value(path: Path) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    """Read a file, packed by gzip or plain.

    Returns:
        Its value, and a fault for each key that stands twice in an object.

    Raises:
        ConfigError: The file cannot be opened.
        UnreadableError: It is no JSON and no YAML, or larger than is read.
    """
    with open_documents(path) as file:
        try:
            data = file.read(MAX_JSON_BYTES + 1)
        except (OSError, *PACKING_FAULTS) as error:
            raise UnreadableError(f"cannot be read on: {error}") from None
    return parse_value(data, path.name)


def parse_value(data: bytes, name: str) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    """Read the bytes of a file; see :func:`read_value`.

    Args:
        data: All of them.
        name: Of the file: one that ends in ``.yaml`` or ``.yml`` is YAML. Another one is JSON where it begins
            with a bracket, else YAML.
    """
    is_yaml = _is_yaml(data, name)
    limit = MAX_YAML_BYTES if is_yaml else MAX_JSON_BYTES
    if len(data) > limit:
        raise UnreadableError(f"larger than {limit // 2**20} MiB: split it")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"not UTF-8 at byte {error.start}") from None
    return _parse_yaml(text) if is_yaml else _parse_json(text)


def _is_yaml(data: bytes, name: str) -> bool:
    plain = name.lower().removesuffix(".gz")
    begin = data[:1024].removeprefix(b"\xef\xbb\xbf").lstrip()
    return plain.endswith(_YAML_ENDINGS) or not begin.startswith((b"{", b"["))


def _parse_yaml(text: str) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    try:
        return parse_yaml(text)
    except YamlError as error:
        raise UnreadableError(f"not YAML: {error}") from None


def _parse_json(text: str) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    faults: list[DocumentFault] = []

    def keep_first(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        members = dict(reversed(pairs))
        if len(members) == len(pairs):
            return dict(pairs)
        times = Counter(name for name, _ in pairs)
        for name in sorted(name for name, number in times.items() if number > 1):
            message = f"the key {name!r} stands twice in one object; the first one counts"
            faults.append(DocumentFault(line=1, reason=message))
        return {name: members[name] for name in times}

    try:
        value = json.loads(text, object_pairs_hook=keep_first, parse_constant=_refuse)
    except RecursionError:
        raise UnreadableError(_TOO_DEEP) from None
    except ValueError as error:
        raise UnreadableError(f"not JSON: {error}") from None
    if not _is_shallow(value):
        raise UnreadableError(_TOO_DEEP)
    return value, tuple(faults)


def _refuse(name: str) -> NoReturn:
    msg = f"{name} is no number of JSON"
    raise ValueError(msg)


def _is_shallow(value: JsonValue) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        if not level:
            return True
    return False
