"""References within one OpenAPI document; what lies outside of it is never fetched."""

import re
from collections.abc import Container
from itertools import chain, count
from typing import Final
from urllib.parse import unquote

from astra_mcp.types import JsonObject, JsonValue

__all__ = ["PartError", "References", "definition_name", "free_name"]

_MAX_HOPS: Final = 50
_INDEX: Final = re.compile(r"[0-9]{1,9}")
_UNNAMED: Final = re.compile(r"[^A-Za-z0-9._-]+")


class PartError(ValueError):
    """A part of the document cannot be read; the message names its place."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(place, message)
        self.place = place
        self.message = message

    def __str__(self) -> str:
        return f"{self.place}: {self.message}"


class References:
    """Finds the parts that ``$ref`` names."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document

    def find(self, reference: JsonValue, place: str) -> JsonValue:
        """Return the part that a reference names.

        Args:
            reference: The value of ``$ref``.
            place: Where it stands, for messages.

        Raises:
            PartError: It leads out of the document, or to nothing.
        """
        if not isinstance(reference, str):
            raise PartError(f"{place}.$ref", "must be a text")
        if not reference.startswith("#"):
            fault = "leads out of the document; put what it names into `components`"
            raise PartError(f"{place}.$ref", f"{reference!r} {fault}")
        part: JsonValue = self._document
        for step in _pointer_steps(reference):
            if isinstance(part, dict) and step in part:
                part = part[step]
            elif isinstance(part, list) and _INDEX.fullmatch(step) and int(step) < len(part):
                part = part[int(step)]
            else:
                raise PartError(f"{place}.$ref", f"{reference!r} names nothing in the document")
        return part

    def resolve(self, part: JsonValue, place: str) -> JsonObject:
        """Follow a part's ``$ref``, if it has one, to an object.

        Raises:
            PartError: It leads out of the document, to nothing, in a circle, or not to an object.
        """
        for _ in range(_MAX_HOPS):
            if not isinstance(part, dict):
                raise PartError(place, "must be an object")
            if "$ref" not in part:
                return part
            part = self.find(part["$ref"], place)
        raise PartError(f"{place}.$ref", "leads in a circle")


def _pointer_steps(reference: str) -> list[str]:
    """Split a reference such as ``#/components/schemas/Lease`` into its names."""
    pointer = unquote(reference.removeprefix("#")).removeprefix("/")
    return [s.replace("~1", "/").replace("~0", "~") for s in pointer.split("/")] if pointer else []


def free_name(name: str, taken: Container[str]) -> str:
    """The name where nothing has it, else the first free one of ``name_2``, ``name_3`` …."""
    numbered = (f"{name}_{number}" for number in count(2))
    return next(each for each in chain((name,), numbered) if each not in taken)


def definition_name(reference: str) -> str:
    """Suggest a name for what a reference names: that of the component, or the last two steps."""
    steps = _pointer_steps(reference)
    is_component = len(steps) == 3 and steps[:2] == ["components", "schemas"]
    return _UNNAMED.sub("_", steps[2] if is_component else "_".join(steps[-2:])) or "root"
