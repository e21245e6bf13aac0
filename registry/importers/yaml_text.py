"""YAML as a way to write JSON: bounded, without tags that make objects, and by the rules of YAML 1.2.

``no`` and ``2024-01-31`` are texts, as writers of API documents mean them. Aliases are counted with what
they stand for, so that a small text cannot stand for a huge value. Knows no format that is written in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any, Final

import yaml
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from astra_mcp.types import JsonValue
from registry.documents.sources import DocumentFault

__all__ = ["MAX_DEPTH", "YamlError", "parse_yaml"]

MAX_VALUES: Final = 2_000_000
"""In one text, with every alias counted as what it stands for."""
MAX_DEPTH: Final = 100

_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAGS: Final = frozenset(
    f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")
)
_TEXT_TAG: Final = "tag:yaml.org,2002:str"
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE: Final = frozenset({"true", "True", "TRUE"})
_FALSE: Final = frozenset({"false", "False", "FALSE"})
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,19}")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")

_NO_NUMBER: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


class YamlError(ValueError):
    """A text is no YAML, or stands for more than is read."""

    def __init__(self, line: int, reason: str) -> None:
        """Name the line, from 1, and what is wrong there."""
        super().__init__(f"line {line}: {reason}")
        self.line = line


@dataclass(slots=True)
class _Open:
    """A list or object whose end has not come yet."""

    value: list[JsonValue] | dict[str, JsonValue]
    anchor: str | None
    size_before: int
    key: str | None = None
    is_repeated: bool = False
    """Its key stands in the object already."""
    merged: list[JsonValue] = field(default_factory=list[JsonValue])
    """Values of ``<<``."""


def parse_yaml(text: str) -> tuple[JsonValue, tuple[DocumentFault, ...]]:
    """Read one YAML document as JSON.

    Returns:
        The value, and a fault for each key that stands twice in an object (the first one counts).

    Raises:
        YamlError: It cannot be read; nothing of it is.
    """
    reading = _Reading()
    try:
        for event in _events(text):
            reading.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(1 if mark is None else mark.line + 1, _problem(error)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError(
            line, f"the character U+{error.character:04X} may not stand there"
        ) from None
    return reading.root, tuple(reading.faults)


def _problem(error: yaml.MarkedYAMLError) -> str:
    mark = error.problem_mark or error.context_mark
    said = ", ".join(part for part in (error.context, error.problem) if part)
    if "nesting depth" in said:  # the library has a bound of its own, and reads ahead
        said = f"nested more than {MAX_DEPTH} levels deep"
    return said if mark is None else f"column {mark.column + 1}: {said}"


def _events(text: str) -> Iterator[Event]:
    # The events come one by one: building nodes would recurse in C, without a limit to its depth.
    library: Any = yaml  # whose stubs leave the types of the events out
    yield from library.parse(text, Loader=_LOADER)


class _Reading:
    """Builds the value from the events."""

    def __init__(self) -> None:
        self.root: JsonValue = None
        self.faults: list[DocumentFault] = []
        self._open: list[_Open] = []
        self._anchors: dict[str, tuple[JsonValue, int]] = {}
        self._size = 0
        self._documents = 0

    def take(self, event: Event) -> None:
        match event:
            case DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise YamlError(_line(event), "a second document begins: keep one")
            case AliasEvent():
                self._alias(event)
            case ScalarEvent():
                self._scalar(event)
            case MappingStartEvent() | SequenceStartEvent():
                self._begin(event)
            case MappingEndEvent() | SequenceEndEvent():
                self._end(event)
            case _:
                pass

    def _grow(self, size: int, event: Event) -> None:
        self._size += size
        if self._size > MAX_VALUES:
            msg = f"the text stands for more than {MAX_VALUES:,} values"
            raise YamlError(_line(event), msg)

    def _alias(self, event: AliasEvent) -> None:
        if event.anchor not in self._anchors:
            raise YamlError(_line(event), f"*{event.anchor} stands for nothing before it")
        value, size = self._anchors[event.anchor]
        self._grow(size, event)
        self._add(value, event)

    def _scalar(self, event: ScalarEvent) -> None:
        self._grow(1, event)
        opened = self._open[-1] if self._open else None
        if opened is not None and isinstance(opened.value, dict) and opened.key is None:
            self._set_key(opened, opened.value, event)
            return
        value = _resolve(event)
        if value == event.value and _is_no_number(event):
            message = f"{event.value} is no number of JSON; it is read as a text"
            self.faults.append(DocumentFault(line=_line(event), reason=message))
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, 1)
        self._add(value, event)

    def _set_key(self, opened: _Open, value: dict[str, JsonValue], event: ScalarEvent) -> None:
        """Take a key as the text it is written as, so that ``200`` and ``true`` are names."""
        opened.key = event.value
        opened.is_repeated = event.value in value
        if opened.is_repeated:
            message = f"the key {event.value!r} stands twice in one object; the first one counts"
            self.faults.append(DocumentFault(line=_line(event), reason=message))
        if event.anchor is not None:
            self._anchors[event.anchor] = (event.value, 1)

    def _begin(self, event: MappingStartEvent | SequenceStartEvent) -> None:
        if len(self._open) >= MAX_DEPTH:
            raise YamlError(_line(event), f"nested more than {MAX_DEPTH} levels deep")
        _check_tag(event)
        if self._open and isinstance(self._open[-1].value, dict) and self._open[-1].key is None:
            raise YamlError(_line(event), "a key must be a text")
        value: list[JsonValue] | dict[str, JsonValue] = (
            {} if isinstance(event, MappingStartEvent) else []
        )
        self._open.append(_Open(value, event.anchor, self._size))
        self._grow(1, event)

    def _end(self, event: Event) -> None:
        opened = self._open.pop()
        if isinstance(opened.value, dict):
            for merged in opened.merged:
                _merge(opened.value, merged, event)
        if opened.anchor is not None:
            self._anchors[opened.anchor] = (opened.value, self._size - opened.size_before)
        self._add(opened.value, event)

    def _add(self, value: JsonValue, event: Event) -> None:
        if not self._open:
            self.root = value
            return
        opened = self._open[-1]
        if isinstance(opened.value, list):
            opened.value.append(value)
            return
        if opened.key is None:  # an alias in the place of a key
            raise YamlError(_line(event), "a key must be a text")
        if opened.key == "<<":
            opened.merged.append(value)
        elif not opened.is_repeated:
            opened.value[opened.key] = value
        opened.key = None


def _merge(value: dict[str, JsonValue], merged: JsonValue, event: Event) -> None:
    """Put in what ``<<`` names; a member that is written out counts more."""
    for source in merged if isinstance(merged, list) else [merged]:
        if not isinstance(source, dict):
            raise YamlError(_line(event), "<< must name an object")
        for key, member in source.items():
            value.setdefault(key, member)


def _resolve(event: ScalarEvent) -> JsonValue:
    _check_tag(event)
    text = event.value
    if event.tag == _TEXT_TAG or (event.tag is None and event.style not in (None, "")):
        return text
    if text in _NULL:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if _INTEGER.fullmatch(text):
        return int(text)
    number = float(text) if _NUMBER.fullmatch(text) else inf
    return number if isfinite(number) else text


def _is_no_number(event: ScalarEvent) -> bool:
    """Say whether a text is a number to YAML, though none that JSON has."""
    is_plain = event.style in (None, "") and event.tag != _TEXT_TAG
    return is_plain and bool(_NO_NUMBER.fullmatch(event.value) or _NUMBER.fullmatch(event.value))


def _check_tag(event: NodeEvent) -> None:
    tag: str | None = getattr(event, "tag", None)
    if tag is not None and tag not in _TAGS and tag != "!":
        raise YamlError(_line(event), f"the tag {tag} has no meaning in JSON: take it out")


def _line(event: Event) -> int:
    mark: Any = event.start_mark
    return int(mark.line) + 1
