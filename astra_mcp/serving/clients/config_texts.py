"""One entry put into a TOML or YAML file as text, so that comments and everything else stay.

What comes out is read again, and has to say what was meant: a file that is written in a way in which this
does not work is left as it is.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any, cast

import yaml

from astra_mcp.serving.clients.client_configs import Entry, Syntax
from astra_mcp.types import JsonObject

__all__ = ["insert_entry", "parse_text", "render_document"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def parse_text(text: str, syntax: Syntax) -> object:
    """Read a file's text.

    Raises:
        ValueError: It is none of the syntax.
    """
    if syntax is Syntax.TOML:
        return tomllib.loads(text)
    try:
        document: object = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    return {} if document is None else document


def render_document(document: JsonObject, syntax: Syntax) -> str:
    """Render a whole document of one entry, for people."""
    if syntax is Syntax.JSON:
        return json.dumps(document, indent=2, ensure_ascii=False)
    if syntax is Syntax.YAML:
        return _yaml(document).rstrip("\n")
    [(key, servers)] = document.items()
    [(name, config)] = cast("JsonObject", servers).items()
    return _toml_section(key, name, cast("JsonObject", config)).rstrip("\n")


def insert_entry(
    text: str, syntax: Syntax, servers_key: str, entry: Entry, *, expected: JsonObject
) -> str:
    """Put an entry into a text, in the place of an earlier one of its name.

    Args:
        text: Of the file.
        syntax: TOML or YAML.
        servers_key: Where the client keeps its servers.
        entry: To put in.
        expected: What the text has to say then.

    Raises:
        ValueError: The text is written in a way in which nothing can be put in safely.
    """
    insert = _into_toml if syntax is Syntax.TOML else _into_yaml
    ends = "\r\n" if "\r\n" in text else "\n"
    changed = insert(text.splitlines(), servers_key, entry).replace("\n", ends)
    if parse_text(changed, syntax) != expected:
        raise ValueError(f"{servers_key} is written in a way that cannot be added to safely")
    return changed


# --- TOML ---------------------------------------------------------------------------------------


def _into_toml(lines: list[str], servers_key: str, entry: Entry) -> str:
    """Replace the tables of the entry, or add them at the end."""
    section = _toml_section(servers_key, entry.name, entry.config).splitlines()
    own = re.compile(
        rf"\s*\[\s*{re.escape(servers_key)}\s*\.\s*(?:{re.escape(_key(entry.name))}|"
        rf"\"{re.escape(entry.name)}\")\s*(?:\.[^]]*)?\]"
    )
    starts = [number for number, line in enumerate(lines) if own.match(line)]
    if not starts:
        gap = [""] if lines and lines[-1].strip() else []
        return "\n".join([*lines, *gap, *section]) + "\n"
    kept: list[str] = []
    is_inside = False
    for number, line in enumerate(lines):
        if number in starts:
            is_inside = True
            kept += section if number == starts[0] else []
        elif line.lstrip().startswith("["):
            is_inside = False
        if not is_inside or not line.strip() or line.lstrip().startswith("#"):
            kept.append(line)
    return "\n".join(kept) + "\n"


def _toml_section(servers_key: str, name: str, config: Mapping[str, Any]) -> str:
    table = f"{servers_key}.{_key(name)}"
    lines = [f"[{table}]"]
    lines += [f"{key} = {_value(v)}" for key, v in config.items() if not isinstance(v, dict)]
    for key, inner in config.items():
        if isinstance(inner, dict):
            lines += ["", f"[{table}.{key}]"]
            fields = cast("Mapping[str, Any]", inner)
            lines += [f"{_key(field)} = {_value(v)}" for field, v in fields.items()]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _value(name)


def _value(value: object) -> str:
    """Write a text, or a list of texts: their JSON is TOML, too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


# --- YAML ---------------------------------------------------------------------------------------


def _into_yaml(lines: list[str], servers_key: str, entry: Entry) -> str:
    """Replace the block of the entry, or put it first among the servers."""
    head = re.compile(rf"{re.escape(servers_key)}\s*:\s*(\{{\s*\}}|null|~)?\s*(#.*)?")
    start = next((n for n, line in enumerate(lines) if head.fullmatch(line)), None)
    if start is None:
        return "\n".join([*lines, _yaml({servers_key: {entry.name: entry.config}})])
    below = (line for line in lines[start + 1 :] if line.strip() and line.lstrip()[0] != "#")
    indent = _indent_of(next(below, "")) or "  "
    block = [indent + line for line in _yaml({entry.name: entry.config}).splitlines()]
    kept = list(_without_block(lines[start + 1 :], indent, entry.name))
    return "\n".join([*lines[:start], f"{servers_key}:", *block, *kept]) + "\n"


def _without_block(lines: list[str], indent: str, name: str) -> list[str]:
    """Leave out the entry of a name, with all that is written deeper."""
    kept: list[str] = []
    is_inside = False
    for line in lines:
        is_deeper = len(_indent_of(line)) > len(indent)
        if re.match(rf"{indent}[\"']?{re.escape(name)}[\"']?\s*:", line):
            is_inside = True
        elif line.strip() and not is_deeper:
            is_inside = False
        if not is_inside or line.lstrip().startswith("#"):
            kept.append(line)
    return kept


def _indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _yaml(document: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(document), sort_keys=False, width=1000)
