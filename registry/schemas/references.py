"""What ``$ref`` points to, within one document; nothing is ever fetched."""

import re
from urllib.parse import unquote, urldefrag, urljoin

from astra_mcp.types import JsonObject, JsonValue
from registry.schemas.dialects import Dialect, children, dialect_of
from registry.schemas.faults import NotConvertibleError

__all__ = ["References"]

_MAX_SHOWN = 80
_INDEX = re.compile(r"[0-9]{1,9}")


class References:
    """The places of a document that references may name: pointers, anchors and ids."""

    def __init__(self, root: JsonObject) -> None:
        dialect = dialect_of(root)
        self._id_keyword = "id" if dialect <= Dialect.DRAFT_4 else "$id"
        self._reference_hides_id = dialect <= Dialect.DRAFT_7
        self._root = root
        self._resources: dict[str, JsonObject] = {}
        self._anchors: dict[tuple[str, str], JsonObject] = {}
        self._bases: dict[int, str] = {}
        self.containers: set[str] = set()
        """Members of the root that pointers led through."""

    @property
    def has_several_resources(self) -> bool:
        """True where a part of the document has an id of its own."""
        self._index()
        return len(set(map(id, self._resources.values()))) > 1

    def find(self, reference: str, owner: JsonObject, place: str) -> JsonObject | bool:
        """The schema that a reference names.

        Args:
            reference: As it stands.
            owner: The schema that it stands in.
            place: Of the owner.

        Raises:
            NotConvertibleError: It names nothing in this document, or what is no schema.
        """
        self._index()
        base = self._bases.get(id(owner), "")
        try:
            address, fragment = urldefrag(urljoin(base, reference))
        except ValueError:
            raise _unresolved(reference, place) from None
        resource = self._resources.get(base if reference.startswith("#") else address)
        found: JsonValue
        if resource is None:
            raise _unresolved(reference, place)
        if fragment and not fragment.startswith("/"):
            found = self._anchors.get((address, unquote(fragment)))
        else:
            found = self._pointed(resource, fragment, reference, place)
        if not isinstance(found, dict | bool):
            raise _unresolved(reference, place)
        return found

    def _pointed(self, resource: JsonObject, pointer: str, reference: str, place: str) -> JsonValue:
        value: JsonValue = resource
        steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
        for number, step in enumerate(map(unquote, steps)):
            if isinstance(value, dict) and step in value:
                value = value[step]
            elif isinstance(value, list) and _INDEX.fullmatch(step) and int(step) < len(value):
                value = value[int(step)]
            else:
                raise _unresolved(reference, place)
            if number == 0 and resource is self._root:
                self.containers.add(step)
        return value

    def _index(self) -> None:
        """Look through the document, once and only where there is a reference in it."""
        if self._resources:
            return
        self._resources[""] = self._root
        pending: list[tuple[JsonValue, str]] = [(self._root, "")]
        while pending:
            schema, base = pending.pop()
            if isinstance(schema, dict) and id(schema) not in self._bases:
                inner = self._enter(schema, base)
                pending += [(child, inner) for child in children(schema)]

    def _enter(self, schema: JsonObject, base: str) -> str:
        """Write down what a schema is called; gives the base of the references in it."""
        name = schema.get(self._id_keyword)
        if isinstance(name, str) and not ("$ref" in schema and self._reference_hides_id):
            base = self._named(schema, name, base)
        self._bases[id(schema)] = base
        for keyword in ("$anchor", "$dynamicAnchor"):
            anchor = schema.get(keyword)
            if isinstance(anchor, str):
                self._anchors.setdefault((base, anchor), schema)
        return base

    def _named(self, schema: JsonObject, name: str, base: str) -> str:
        try:
            address, anchor = urldefrag(urljoin(base, name))
        except ValueError:
            return base
        if anchor:
            self._anchors.setdefault((address, anchor), schema)
            return base
        self._resources.setdefault(address, schema)
        return address


def _unresolved(reference: str, place: str) -> NotConvertibleError:
    shown = reference if len(reference) <= _MAX_SHOWN else f"{reference[:_MAX_SHOWN]}..."
    return NotConvertibleError(f"{place}.$ref", f"{shown!r} names no schema of this document")
