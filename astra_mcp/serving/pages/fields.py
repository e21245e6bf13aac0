"""The form of a tool: a field for each argument of its schema, and what was written there as arguments.

A text, a number, a date, a choice, each of them or null; whatever a schema says beyond that is written as
JSON. Knows schemas and texts; knows neither episodes nor templates.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Any, cast

from astra_mcp.schemas import SchemaError, compile_schema
from astra_mcp.serving.pages.argument_types import (
    NarrowedPart,
    finite,
    narrowed,
    sample,
    schema_object,
    type_words,
)
from astra_mcp.text.json_bounds import bounds_fault
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject, JsonValue

__all__ = ["ArgumentField", "FieldKind", "fields_of", "has_form", "read_fields", "read_object"]

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_PLACE = re.compile(r"argument '([^']*)'")
_MAX_CHOICES = 500
"""More are written as a text: nobody reads such a list."""
_MAX_FIELDS = 100
_MAX_CHARACTERS = 50_000
"""Of the choices of one tool; beyond these its arguments are written as JSON alone."""
_MAX_EXAMPLE = 120


class FieldKind(StrEnum):
    """How an argument is written."""

    TEXT = "text"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    """A day, as ISO 8601 writes it."""
    CHOICE = "choice"
    """One of some values."""
    BOOLEAN = "boolean"
    """Yes or no: a choice of two."""
    LINES = "lines"
    """A list of texts, one a line, or as JSON."""
    JSON = "json"
    """An object, a list, or what may be of several types."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentField:
    """One argument of a tool."""

    name: str
    kind: FieldKind
    description: str
    is_required: bool
    type_words: str
    """What its schema allows, in few words."""
    is_nullable: bool = False
    """It may be null, beside what it is written as."""
    choices: Sequence[tuple[str, str]] = ()
    """The JSON of each value, and how it is shown."""
    example: str = ""
    """What could be written there."""
    minimum: JsonValue = None
    maximum: JsonValue = None

    @property
    def input_name(self) -> str:
        """Of its control in a form; no argument's name is taken for another control's."""
        return f"argument:{self.name}"

    @property
    def must_be_written(self) -> bool:
        """It may not be left empty; one that is required and may be null is null then."""
        return self.is_required and not self.is_nullable


def fields_of(schema: Mapping[str, Any]) -> tuple[ArgumentField, ...]:
    """Describe the arguments of a schema, in its order; those of a name that is no text are left out."""
    properties = schema.get("properties")
    required = schema.get("required")
    listed = cast("list[object]", required) if isinstance(required, list) else []
    names = {name for name in listed if isinstance(name, str)}
    if not isinstance(properties, dict):
        return ()
    return tuple(
        _field(name, narrowed(part, schema), schema, is_required=name in names)
        for name, part in cast("dict[str, Any]", properties).items()
    )


def has_form(fields: Sequence[ArgumentField]) -> bool:
    """Tell whether a control for each field makes a form that somebody can use."""
    if len(fields) > _MAX_FIELDS:
        return False
    return sum(len(json) for field in fields for json, _ in field.choices) <= _MAX_CHARACTERS


def _field(
    name: str, what: NarrowedPart, root: Mapping[str, Any], *, is_required: bool
) -> ArgumentField:
    part, is_nullable = what
    choices = _choices(part)
    kind = FieldKind.CHOICE if choices else _kind(part, root)
    if kind is FieldKind.BOOLEAN:
        choices = (("true", "yes"), ("false", "no"))
    description = part.get("description")
    is_number = kind in (FieldKind.INTEGER, FieldKind.NUMBER)
    return ArgumentField(
        name=name,
        kind=kind,
        description=description if isinstance(description, str) else "",
        is_required=is_required,
        type_words=_words_of(part, root, kind, is_nullable=is_nullable),
        is_nullable=is_nullable and "null" not in [json for json, _ in choices],
        choices=choices,
        example=_example(part, root, kind),
        minimum=finite(part.get("minimum")) if is_number else None,
        maximum=finite(part.get("maximum")) if is_number else None,
    )


def _words_of(
    part: Mapping[str, Any], root: Mapping[str, Any], kind: FieldKind, *, is_nullable: bool
) -> str:
    said = type_words(part, root, is_nullable=is_nullable)
    if kind is not FieldKind.LINES:
        return said
    values = ", ".join(shown for _, shown in _choices(narrowed(part["items"], root).part))
    return f"{said}, one a line{f' of {values}' if values else ''}"


def _example(part: Mapping[str, Any], root: Mapping[str, Any], kind: FieldKind) -> str:
    examples = part.get("examples")
    shown = part.get("default", examples[0] if isinstance(examples, list) and examples else None)
    if kind is FieldKind.BOOLEAN and isinstance(shown, bool):
        return "yes" if shown else "no"
    if kind in (FieldKind.JSON, FieldKind.LINES) and not shown:
        return json.dumps(sample(part, root), ensure_ascii=False)
    return "" if shown is None else _shown(shown)


def _kind(part: Mapping[str, Any], root: Mapping[str, Any]) -> FieldKind:
    kinds = {
        "string": FieldKind.TEXT,
        "integer": FieldKind.INTEGER,
        "number": FieldKind.NUMBER,
        "boolean": FieldKind.BOOLEAN,
    }
    named = part.get("type")
    if named == "string" and part.get("format") == "date" and "pattern" not in part:
        return FieldKind.DATE
    if named == "array" and narrowed(part.get("items"), root).part.get("type") == "string":
        return FieldKind.LINES
    return kinds.get(named, FieldKind.JSON) if isinstance(named, str) else FieldKind.JSON


def _choices(part: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    values: object = [part["const"]] if "const" in part else part.get("enum")
    if not isinstance(values, list) or len(cast("list[Any]", values)) > _MAX_CHOICES:
        return ()
    return tuple((json.dumps(v), _shown(v)) for v in cast("list[Any]", values))


def _shown(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def read_fields(
    schema: Mapping[str, Any], fields: Sequence[ArgumentField], form: Mapping[str, str]
) -> tuple[JsonObject, dict[str, str]]:
    """Read what was written into the fields of a form.

    Args:
        schema: Of the tool's arguments.
        fields: Of that schema.
        form: By the names of controls.

    Returns:
        The arguments, and what is wrong by the name of an argument; under an empty name what concerns none.
    """
    arguments: JsonObject = {}
    faults: dict[str, str] = {}
    for field in fields:
        written = form.get(field.input_name, "")
        if not written.strip() and (field.kind is not FieldKind.TEXT or not written):
            if field.must_be_written:
                faults[field.name] = "is required"
            elif field.is_required:
                arguments[field.name] = None
            continue
        try:
            arguments[field.name] = _read(field, written)
        except ValueError as error:
            faults[field.name] = str(error)
    return arguments, faults or _schema_faults(schema, fields, arguments)


def _read(field: ArgumentField, written: str) -> JsonValue:
    match field.kind:
        case FieldKind.TEXT:
            return written.replace("\r\n", "\n")
        case FieldKind.INTEGER:
            if not _INTEGER.fullmatch(written.strip()):
                raise ValueError("write a whole number, such as 7")
            return int(written)
        case FieldKind.NUMBER:
            return _read_number(written.strip())
        case FieldKind.DATE:
            return _read_date(written.strip())
        case FieldKind.CHOICE | FieldKind.BOOLEAN:
            return _read_choice(field, written)
        case FieldKind.JSON | FieldKind.LINES:
            is_json = field.kind is FieldKind.JSON or written.lstrip().startswith(("[", "{"))
            return _read_json(written, field.example) if is_json else _lines(written)


def _read_choice(field: ArgumentField, written: str) -> JsonValue:
    if written not in [value for value, _ in field.choices]:
        is_choice = field.kind is FieldKind.CHOICE
        raise ValueError("choose one of the list" if is_choice else "choose yes or no")
    return json.loads(written)


def _lines(written: str) -> JsonValue:
    return [line for each in written.splitlines() if (line := each.strip())]


def _read_date(written: str) -> JsonValue:
    try:
        if _DATE.fullmatch(written) and date.fromisoformat(written):
            return written
    except ValueError:
        pass  # a day that is in no calendar
    raise ValueError("write a date as year-month-day, such as 2026-01-31")


def _read_number(written: str) -> JsonValue:
    if _INTEGER.fullmatch(written):
        return int(written)
    number = float(written) if _NUMBER.fullmatch(written) else math.nan
    if not math.isfinite(number):
        raise ValueError("write a number, such as 2.5")
    return number


def _read_json(written: str, example: str) -> JsonValue:
    fault = bounds_fault(written.encode("utf-8", "replace"))
    if fault is not None:
        raise ValueError(fault)
    try:
        return cast("JsonValue", parse_strict(written))
    except RecursionError:
        raise ValueError("this JSON is nested too deep") from None
    except ValueError as error:
        such = f", such as {example}" if 0 < len(example) <= _MAX_EXAMPLE else ""
        raise ValueError(f"write JSON{such}: {error}") from None


def read_object(written: str) -> tuple[JsonObject, str | None]:
    """Read arguments that were written as one JSON object; the object, and what is wrong with the text."""
    try:
        value = _read_json(written, '{"a": 1}')
    except ValueError as error:
        return {}, str(error)
    return (value, None) if isinstance(value, dict) else ({}, "write one JSON object, such as {}")


def _schema_faults(
    schema: Mapping[str, Any], fields: Sequence[ArgumentField], arguments: JsonObject
) -> dict[str, str]:
    try:
        said = compile_schema(schema).faults(arguments)
        if said:  # in the words of the one type that was meant, not of a union that none of it fits
            said = compile_schema(_without_null(schema, arguments)).faults(arguments) or said
    except SchemaError:
        return {}  # of a server that says more than can be checked; the tool answers for itself
    faults: dict[str, str] = {}
    for message in said:
        place = _PLACE.search(message)
        named = [f.name for f in fields if place and re.split(r"[.\[]", place[1])[0] == f.name]
        name = named[0] if named else ""
        faults.setdefault(name, message.removeprefix(f"argument {name!r}").lstrip(": "))
    return faults


def _without_null(schema: Mapping[str, Any], arguments: JsonObject) -> Mapping[str, Any]:
    """Take null out of what the arguments that are not null may be."""
    properties = schema_object(schema.get("properties"))
    others = {
        name: narrowed(part, schema).part
        for name, part in properties.items()
        if arguments.get(name) is not None
    }
    return {**schema, "properties": {**properties, **others}}
