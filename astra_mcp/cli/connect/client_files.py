"""Merging one entry into a client's configuration file without harm to anything else in it."""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, cast
from urllib.parse import parse_qs

from astra_mcp.errors import ConfigError
from astra_mcp.serving.clients.client_configs import FORMATS, Entry, Syntax
from astra_mcp.serving.clients.config_texts import insert_entry, parse_text
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject

__all__ = ["add_entry", "known_caller", "merge_entry", "read_config", "write_config"]


def read_config(file: Path, syntax: Syntax = Syntax.JSON) -> JsonObject:
    """Read a client's file; a missing or empty one is an empty object.

    Raises:
        ConfigError: It is not of the syntax, or cannot be read; nothing was changed.
    """
    if file.exists() and not file.is_file():
        raise ConfigError(f"{file} is no regular file: choose another with --path")
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        msg = f"{file} cannot be read ({error.strerror}): choose another with --path"
        raise ConfigError(msg) from None
    if not content.strip():
        return {}
    try:
        text = content.decode("utf-8-sig")
        is_json = syntax is Syntax.JSON
        document = parse_strict(text) if is_json else parse_text(text, syntax)
    except (ValueError, RecursionError) as error:
        fault = f"not plain {syntax.upper()} ({error}), and rewriting it could lose comments or settings"
        raise _unchanged(file, fault) from None
    if not isinstance(document, dict):
        raise ConfigError(f"{file} holds no {syntax.upper()} object; it is left as it is")
    return cast("JsonObject", document)


def merge_entry(file: Path, document: JsonObject, servers_key: str, entry: Entry) -> JsonObject:
    """Put an entry into a client's document; every other key and server stays.

    Args:
        file: Named in errors.
        document: What the file holds.
        servers_key: Where the client keeps its servers.
        entry: Replaces an earlier entry of ours of the same name.

    Raises:
        ConfigError: The document is not of the client's format, or another server has the name.
    """
    servers = document.get(servers_key, {})
    if not isinstance(servers, dict):
        raise ConfigError(f"{file}: {servers_key} is no object; it is left as it is")
    present = servers.get(entry.name)
    if present is not None and not _is_ours(present):
        raise ConfigError(
            f"{file} already has a server named {entry.name!r} that is not astra-mcp's; it is left"
            " as it is: rename that server first"
        )
    merged: JsonObject = {**document, servers_key: {**servers, entry.name: entry.config}}
    if entry.inputs:
        merged["inputs"] = _merge_inputs(file, document.get("inputs", []), entry.inputs)
    return merged


def add_entry(
    file: Path, syntax: Syntax, servers_key: str, entry: Entry, merged: JsonObject
) -> Path | None:
    """Write a document with its new entry; of TOML and YAML, everything else stays as it is written.

    Args:
        file: The client's.
        syntax: Of the file.
        servers_key: Where the client keeps its servers.
        entry: The new one.
        merged: What the file has to say then.

    Returns:
        The copy of what it held; None where there was no file.

    Raises:
        ConfigError: Nothing can be added safely, or the file cannot be written; it is as it was.
    """
    if syntax is Syntax.JSON:
        return write_config(file, merged)
    written = file.read_bytes().decode() if file.exists() else ""
    text = written.removeprefix("\ufeff")
    try:
        changed = insert_entry(text, syntax, servers_key, entry, expected=merged)
    except ValueError as error:
        raise _unchanged(file, f"not changed ({error})") from None
    return write_config(file, merged, text=written[: len(written) - len(text)] + changed)


def _unchanged(file: Path, fault: str) -> ConfigError:
    by_hand = "It is left as it is: run again without --write and add the entry by hand"
    return ConfigError(f"{file} is {fault}. {by_hand}")


def write_config(file: Path, document: JsonObject, *, text: str | None = None) -> Path | None:
    """Replace a client's file in one step, keeping its mode and a copy of what it held.

    Args:
        file: The client's.
        document: What it will say.
        text: How it says that; by default as JSON.

    Returns:
        The copy; None where there was no file.

    Raises:
        ConfigError: The folder or file cannot be written; the file is as it was.
    """
    target = file.resolve()  # where the file is a link, the link stays
    try:
        content = (text or json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
        target.parent.mkdir(parents=True, exist_ok=True)
        backup = _back_up(target) if target.exists() else None
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        _replace(target, content, mode)
    except OSError as error:
        msg = f"{file} cannot be written: {error.strerror or error}; choose another with --path"
        raise ConfigError(msg) from None
    except UnicodeEncodeError as error:
        raise _unchanged(file, f"not changed ({error})") from None
    return backup


def known_caller(document: Mapping[str, Any], servers_key: str, name: str) -> str | None:
    """Find the caller token that an earlier run gave to an entry, so that its state is kept."""
    servers = document.get(servers_key)
    present = cast("Mapping[str, Any]", servers).get(name) if isinstance(servers, dict) else None
    return _caller(present)


def _caller(entry: object) -> str | None:
    if not isinstance(entry, dict):
        return None
    fields = cast("Mapping[str, object]", entry)
    urls = [url for form in FORMATS.values() if isinstance(url := fields.get(form.url_key), str)]
    values = parse_qs(urls[0].partition("?")[2]).get("caller") if urls else None
    return values[0] if values else None


def _is_ours(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    arguments = cast("Mapping[str, Any]", entry).get("args")
    starts_us = isinstance(arguments, list) and "astra_mcp" in cast("list[Any]", arguments)
    return starts_us or _caller(cast("object", entry)) is not None


def _merge_inputs(file: Path, present: object, added: Sequence[JsonObject]) -> list[Any]:
    if not isinstance(present, list):
        raise ConfigError(f"{file}: inputs is no list; it is left as it is")
    ids = [entry["id"] for entry in added]
    others: list[Any] = [
        i
        for i in cast("list[Any]", present)
        if not (isinstance(i, dict) and cast("Mapping[str, Any]", i).get("id") in ids)
    ]
    return [*others, *added]


def _back_up(target: Path) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    number = 0
    while True:
        suffix = f".{number}" if number else ""
        backup = target.with_name(f"{target.name}.{stamp}{suffix}.bak")
        try:
            backup.touch(mode=0o600, exist_ok=False)
        except FileExistsError:
            number += 1
            continue
        shutil.copy2(target, backup)
        return backup


def _replace(target: Path, content: bytes, mode: int) -> None:
    with NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as draft:
        try:
            draft.write(content)
            draft.flush()
            os.fsync(draft.fileno())
            Path(draft.name).chmod(mode)
            Path(draft.name).replace(target)
        except OSError:
            Path(draft.name).unlink(missing_ok=True)
            raise
