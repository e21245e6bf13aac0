"""One argument object of the parameters and the body of an operation.

The members of a body that is an object stand beside the parameters; another body is the argument ``body``.
A name that two places use is an argument of each, called after its place: ``path_id`` and ``body_id``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from registry.importers.openapi.references import free_name
from registry.importers.openapi.schemas import Schemas, definition_of

__all__ = ["Argument", "body_arguments", "merge_arguments", "object_schema"]

_ANNOTATIONS: Final = frozenset(
    {"default", "deprecated", "description", "example", "examples", "title"}
)
_OF_OBJECTS: Final = frozenset(
    {"$ref", "additionalProperties", "allOf", "properties", "required", "type"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """Something that a request takes."""

    name: str
    place: str
    """``path``, ``query``, ``header``, ``cookie`` or ``body``."""
    schema: JsonValue
    """Translated."""
    is_required: bool


@dataclass(slots=True)
class _Members:
    """What is known of an object from a schema and those that it inherits from."""

    properties: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    required: dict[str, None] = field(default_factory=dict[str, None])
    additional: JsonValue = None
    num_schemas: int = 0
    named: set[str] = field(default_factory=set[str])
    """Definitions that are in it already: in a diamond, an ancestor is met once for each way to it."""

    @property
    def allowed(self) -> JsonValue:
        """What it says of ``additionalProperties``; None where nothing.

        An object that closes itself also closes itself to what inherits from it, which nobody means.
        """
        is_closed_twice = self.additional is False and self.num_schemas > 1
        return None if is_closed_twice else self.additional

    def add(self, name: str, schema: JsonValue) -> None:
        known = self.properties.get(name)
        self.properties[name] = schema if known in (None, schema) else {"allOf": [known, schema]}


def body_arguments(
    body: Argument, schemas: Schemas, *, description: JsonValue, may_be_spread: bool
) -> tuple[list[Argument], JsonValue]:
    """Split a body into arguments.

    Args:
        body: The whole of it.
        schemas: Those of requests.
        description: What stands beside its schema.
        may_be_spread: Its members can be told apart in its media type.

    Returns:
        The arguments, and what the body says of ``additionalProperties`` (None where nothing).

    Raises:
        PartError: A named schema cannot be translated.
    """
    members = _Members()
    is_object = may_be_spread and _collect(body.schema, schemas, members, frozenset())
    if not is_object or not members.properties:
        schema = body.schema
        is_told = isinstance(description, str) and description
        if is_told and isinstance(schema, dict) and "description" not in schema:
            return [replace(body, schema={**schema, "description": description})], None
        return [body], None
    arguments = [
        replace(
            body,
            name=name,
            schema=schema,
            is_required=body.is_required and name in members.required,
        )
        for name, schema in members.properties.items()
    ]
    return arguments, members.allowed


def object_schema(schema: JsonObject, schemas: Schemas) -> JsonObject:
    """Write out at the root the members of an object that inherits some; another schema stays as it is.

    Raises:
        PartError: A named schema cannot be translated.
    """
    members = _Members()
    if not _collect(schema, schemas, members, frozenset()) or not members.properties:
        return schema
    texts = {name: schema[name] for name in ("title", "description") if name in schema}
    result: JsonObject = {**texts, "type": "object", "properties": members.properties}
    if members.required:
        result["required"] = [*members.required]
    if members.allowed is not None:
        result["additionalProperties"] = members.allowed
    return result


def merge_arguments(
    arguments: Sequence[Argument], additional: JsonValue
) -> tuple[JsonObject, JsonObject]:
    """Merge arguments into one object, in their order.

    A name that stands in one place only is kept. One that stands in several becomes ``PLACE_NAME`` in each;
    where something has that name already, a number follows.

    Args:
        arguments: Of all places; a name stands at most once in each place.
        additional: What the body says of ``additionalProperties``; None where nothing.

    Returns:
        Their schema, and where each argument that is not called by its own name stands: ``in`` and ``name``.
    """
    times = Counter(argument.name for argument in arguments)
    taken = {name for name, number in times.items() if number == 1}
    properties: dict[str, JsonValue] = {}
    required: list[JsonValue] = []
    renamed: JsonObject = {}
    for argument in arguments:
        name = argument.name
        if times[name] > 1:
            name = free_name(f"{argument.place}_{argument.name}", taken)
            taken.add(name)
            renamed[name] = {"in": argument.place, "name": argument.name}
        properties[name] = argument.schema
        if argument.is_required:
            required.append(name)
    schema: JsonObject = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    if additional is not None:
        schema["additionalProperties"] = additional
    return schema, renamed


def _collect(schema: JsonValue, schemas: Schemas, members: _Members, above: frozenset[str]) -> bool:
    """Gather the members of an object; False where the schema says more than which members it has."""
    if not isinstance(schema, dict) or not _is_plain(schema):
        return False
    members.num_schemas += "properties" in schema or "additionalProperties" in schema
    name = definition_of(schema.get("$ref"))
    if name in above:
        return False
    if name is not None and name not in members.named:
        members.named.add(name)
        if not _collect(schemas.definition(name), schemas, members, above | {name}):
            return False
    branches = schema.get("allOf", [])
    if not isinstance(branches, list):
        return False
    if not all(_collect(branch, schemas, members, above) for branch in branches):
        return False
    return _collect_own(schema, members)


def _collect_own(schema: JsonObject, members: _Members) -> bool:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, dict) or not isinstance(required, list):
        return False
    for name, part in properties.items():
        members.add(name, part)
        # As in drafts before JSON Schema 4.
        if isinstance(part, dict) and part.get("required") is True:
            members.required[name] = None
    members.required.update((name, None) for name in required if isinstance(name, str))
    if "additionalProperties" in schema:
        members.additional = schema["additionalProperties"]
    return True


def _is_plain(schema: JsonObject) -> bool:
    """Tell whether a schema says of an object nothing but which members it has."""
    if schema.get("type", "object") != "object" or schema.get("nullable") is True:
        return False
    unknown = schema.keys() - _ANNOTATIONS - _OF_OBJECTS - {"nullable", "$comment"}
    return all(keyword.startswith("x-") for keyword in unknown)
