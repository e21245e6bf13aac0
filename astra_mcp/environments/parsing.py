"""Reading the documents of a bundle: strict JSON, and faults of single fields in plain words."""

import json
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from astra_mcp.environments.bundle import SCHEMA_VERSION, EnvironmentDocument
from astra_mcp.errors import BundleFault
from astra_mcp.strict_json import parse_strict
from astra_mcp.types import canonical_json

__all__ = ["parse_document", "parse_object"]

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
}


def parse_document(file: str, raw: str, faults: list[BundleFault]) -> EnvironmentDocument | None:
    """Parse ``environment.json``, or note why its fields are not valid one by one."""
    fields = parse_object(file, raw, faults)
    if fields is None:
        return None
    version = fields.get("schema_version")
    if isinstance(version, int) and version > SCHEMA_VERSION:
        message = (
            f"{version} is newer than {SCHEMA_VERSION}, all that this version reads; update it"
        )
        faults.append(BundleFault.at(file, "schema_version", message))
        return None
    try:
        return EnvironmentDocument.model_validate_json(raw, strict=True)
    except ValidationError as error:
        faults.extend(
            BundleFault.at(file, _field(e["loc"]), _plain_words(e))
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


def parse_object(file: str, raw: str, faults: list[BundleFault]) -> dict[str, Any] | None:
    """Parse a file that must hold one JSON object, or note why it does not."""
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
            return cast("dict[str, Any]", value)
        faults.append(BundleFault.at(file, "", "must hold one JSON object"))
    return None
