"""JSON Schema of tool arguments: is a schema sound, and what is wrong with these arguments?

Messages are for a model that must correct its call: they name the argument, the fault and what is
allowed. Knows schemas and JSON values; knows neither tools nor servers.
"""

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import jsonschema_rs
from jsonschema_rs import ValidationErrorKind

from astra_mcp.text.plain import one_line
from astra_mcp.types import JsonValue

__all__ = ["ArgumentCheck", "SchemaError", "compile_schema", "compile_validator"]

_MAX_FAULTS = 8
_MAX_LENGTH = 300
_MAX_SHOWN = 60
_MAX_OPTIONS = 12
_BACKTRACK_LIMIT = 100_000


class SchemaError(ValueError):
    """A schema is not valid JSON Schema 2020-12; the message names the place in it."""


class ArgumentCheck:
    """A compiled schema of arguments; built once, asked at every call."""

    def __init__(self, schema: Mapping[str, Any], validator: jsonschema_rs.Validator) -> None:
        self._validator = validator
        self._properties: Mapping[str, Any] = schema.get("properties") or {}
        self._takes_any = "patternProperties" in schema or schema.get(
            "additionalProperties", False
        ) not in (False, None)

    def faults(self, arguments: Mapping[str, JsonValue]) -> tuple[str, ...]:
        """Say what is wrong, as at most 8 messages of at most 300 characters; empty if nothing is.

        Names that the schema does not declare are refused, unless it takes additional ones.
        """
        messages = [] if self._takes_any else self._unknown_names(arguments)
        try:
            if not messages and self._validator.is_valid(dict(arguments)):
                return ()
            for error in self._validator.iter_errors(dict(arguments)):
                if not isinstance(error.kind, ValidationErrorKind.AdditionalProperties):
                    messages.append(self._message(error))
                elif error.instance_path:
                    messages.append(f"{_place(error.instance_path)}: {error.message}")
                if len(messages) >= _MAX_FAULTS:
                    break
        except ValueError as error:
            messages.append(f"the arguments cannot be checked: {error}")
        return tuple(_cut(one_line(m), _MAX_LENGTH) for m in messages[:_MAX_FAULTS])

    def _unknown_names(self, arguments: Mapping[str, JsonValue]) -> list[str]:
        unknown = [name for name in arguments if name not in self._properties]
        if not unknown:
            return []
        known = ", ".join(self._properties) or "none"
        messages: list[str] = []
        for name in unknown[:_MAX_FAULTS]:
            close = difflib.get_close_matches(name[:_MAX_SHOWN], self._properties, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            messages.append(
                f"unknown argument {_cut(name, _MAX_SHOWN)!r}; {hint}known arguments: {known}"
            )
        return messages

    def _message(self, error: jsonschema_rs.ValidationError) -> str:
        path = error.instance_path
        place = _place(path)
        match error.kind:
            case ValidationErrorKind.Required(property=name):
                wanted = _describe(self._properties.get(name)) if not path else ""
                return f"{_place([*path, name])} is required{wanted}"
            case ValidationErrorKind.Enum(options=options):
                got = _show(error.instance)
                return f"{place} must be one of {_show_all(options)}; got {got}"
            case ValidationErrorKind.Type(types=types):
                wanted = " or ".join(types)
                return f"{place} must be of type {wanted}; got {_show(error.instance)}"
            case ValidationErrorKind.Format(format=name):
                return f"{place} must be in the format {name!r}; got {_show(error.instance)}"
            case _:
                return f"{place}: {_cut(error.message, _MAX_LENGTH // 2)}"


def compile_schema(schema: Mapping[str, Any]) -> ArgumentCheck:
    """Compile the schema of a tool's arguments.

    References are never fetched from anywhere; formats are asserted.

    Raises:
        SchemaError: Not valid JSON Schema 2020-12, or its root is not an object with ``properties``.
    """
    if schema.get("type") != "object":
        raise SchemaError(f"type: must be 'object', not {schema.get('type')!r}")
    if not isinstance(schema.get("properties"), dict):
        msg = "properties: must be there, as an object (empty where the tool takes no argument)"
        raise SchemaError(msg)
    return ArgumentCheck(schema, compile_validator(schema))


def compile_validator(schema: Mapping[str, Any]) -> jsonschema_rs.Validator:
    """Compile any JSON Schema 2020-12, such as that of a tool's output.

    Raises:
        SchemaError: The schema is not valid.
    """
    try:
        return jsonschema_rs.Draft202012Validator(
            dict(schema),
            validate_formats=True,
            offline=True,
            pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACK_LIMIT),
        )
    except jsonschema_rs.ValidationError as error:
        place = ".".join(str(p) for p in error.instance_path)
        msg = f"{place}: {error.message}" if place else error.message
        raise SchemaError(_cut(msg, _MAX_LENGTH)) from None
    except ValueError as error:
        raise SchemaError(_cut(str(error), _MAX_LENGTH)) from None


def _place(path: list[str | int]) -> str:
    if not path:
        return "the arguments"
    name = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
    return f"argument {_cut(name, _MAX_SHOWN)!r}"


def _describe(schema: Any) -> str:
    if not isinstance(schema, dict):
        return ""
    fields = cast("dict[str, Any]", schema)
    words = [fields["type"]] if isinstance(fields.get("type"), str) else []
    if isinstance(fields.get("enum"), list):
        words.append("one of " + _show_all(fields["enum"]))
    return f" ({', '.join(words)})" if words else ""


def _show_all(options: Sequence[object]) -> str:
    more = ", ..." if len(options) > _MAX_OPTIONS else ""
    return ", ".join(_show(o) for o in options[:_MAX_OPTIONS]) + more


def _show(value: object) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str), _MAX_SHOWN)


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 3] + "..."
