"""Which schemas of an OpenAPI document inherit from which, and which value of a discriminator means which."""

from collections import deque
from collections.abc import Mapping
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from registry.importers.openapi.references import References

__all__ = ["Inheritance", "discriminator_of", "is_pinned", "mapping_of"]

_COMPONENTS: Final = "#/components/schemas/"


class Inheritance:
    """Knows the heirs of the schemas of one document."""

    def __init__(self, document: JsonObject, references: References) -> None:
        self._references = references
        self._heirs = _heirs(document)

    def stands_for_heirs(self, reference: str, place: str) -> bool:
        """Tell whether a schema means any of those that inherit from it.

        Raises:
            PartError: The reference names nothing.
        """
        schema = self._references.find(reference, place)
        if not isinstance(schema, dict) or "oneOf" in schema or "anyOf" in schema:
            return False
        return discriminator_of(schema) is not None and bool(self.named_heirs(reference, schema))

    def named_heirs(self, reference: str, schema: JsonObject) -> dict[str, list[str]]:
        """List the schemas that a discriminator chooses among, with the values that choose them."""
        heirs = mapping_of(schema)
        if heirs or not reference.startswith(_COMPONENTS):
            return heirs
        return {heir: [heir.removeprefix(_COMPONENTS)] for heir in self._descendants(reference)}

    def _descendants(self, reference: str) -> list[str]:
        found: dict[str, None] = {}
        pending = deque(self._heirs.get(reference, ()))
        while pending:
            heir = pending.popleft()
            if heir not in found and heir != reference:
                found[heir] = None
                pending += self._heirs.get(heir, ())
        return list(found)


def discriminator_of(schema: JsonObject) -> str | None:
    """Name the member that chooses among alternatives; None where there is no discriminator."""
    discriminator = schema.get("discriminator")
    name = discriminator.get("propertyName") if isinstance(discriminator, dict) else None
    return name if isinstance(name, str) else None


def mapping_of(schema: JsonObject) -> dict[str, list[str]]:
    """The values that choose each schema, by its reference; a bare name means a component."""
    discriminator = schema.get("discriminator")
    mapping = discriminator.get("mapping") if isinstance(discriminator, dict) else None
    chosen: dict[str, list[str]] = {}
    for value, target in mapping.items() if isinstance(mapping, dict) else ():
        if isinstance(target, str):
            is_name = "/" not in target and "#" not in target
            chosen.setdefault(_COMPONENTS + target if is_name else target, []).append(value)
    return chosen


def is_pinned(schema: JsonValue, name: str, values: list[str]) -> bool:
    """Tell whether a schema itself allows no other value of the discriminator."""
    if not isinstance(schema, dict):
        return False
    branches = schema.get("allOf")
    parts = [schema, *(branches if isinstance(branches, list) else [])]
    for part in parts:
        properties = part.get("properties") if isinstance(part, dict) else None
        own = properties.get(name) if isinstance(properties, dict) else None
        if isinstance(own, dict):
            allowed = own.get("enum", [own["const"]] if "const" in own else None)
            if isinstance(allowed, list) and all(value in values for value in allowed):
                return True
    return False


def _heirs(document: JsonObject) -> Mapping[str, list[str]]:
    """Who inherits from whom, by ``allOf``."""
    components = document.get("components")
    schemas = components.get("schemas") if isinstance(components, dict) else None
    heirs: dict[str, list[str]] = {}
    for name, schema in schemas.items() if isinstance(schemas, dict) else ():
        branches = schema.get("allOf") if isinstance(schema, dict) else None
        for branch in branches if isinstance(branches, list) else ():
            reference = branch.get("$ref") if isinstance(branch, dict) else None
            if isinstance(reference, str):
                heirs.setdefault(reference, []).append(_COMPONENTS + name)
    return heirs
