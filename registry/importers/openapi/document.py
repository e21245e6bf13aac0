"""OpenAPI 3.0 and 3.1 documents, as JSON or YAML: a document is a server, an operation a tool.

Knows the document as a whole: what it says of itself, its addresses and how it is authenticated, whose
values are never kept. What is broken is reported with its place, and the rest is imported.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

from openapi_pydantic.v3 import v3_1

from astra_mcp.types import JsonObject, JsonValue
from registry.documents.sources import (
    DocumentFault,
    DocumentStream,
    Provenance,
    ServerDocument,
    ToolDocument,
)
from registry.documents.texts import public_url
from registry.importers.formats import Format, Sample
from registry.importers.openapi.operations import Operations, read_part
from registry.importers.openapi.references import PartError, References, free_name
from registry.importers.openapi.schemas import Schemas
from registry.importers.reading import read_whole

__all__ = ["FORMAT", "read", "read_document"]

SOURCE: Final = "openapi"
MAX_OPERATIONS: Final = 5_000
MAX_LABELS: Final = 12

_METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
_CATEGORIES: Final = ("x-category", "x-categories", "x-apisguru-categories")
"""What catalogs of APIs add to ``info``, RapidAPI the first."""
_VERSION_LINE: Final = re.compile(
    r"""^\s*["']?(openapi|swagger)["']?\s*:\s*["']?[0-9]+\.""", re.MULTILINE
)
_CONVERT: Final = (
    "Swagger 2: convert it to OpenAPI 3, as `npx swagger2openapi FILE -o NEW` does, and import that"
)
_TEXTS: Final = ("title", "version")


def read(path: Path) -> DocumentStream:
    """Read the server that a file describes.

    Raises:
        ConfigError: The file cannot be opened.
    """
    return _read_as(path, path.name)


def _read_as(path: Path, name: str) -> DocumentStream:
    return read_whole(path, lambda value: read_document(value, name.removesuffix(".gz")))


def read_document(value: JsonValue, name: str) -> DocumentStream:
    """Make the server of a document.

    Args:
        value: The document.
        name: Of its file, without what says that it is packed; stands for the title where it has none.

    Yields:
        A fault for each part that cannot be read, with the number of the operation, and the server.
    """
    version = value.get("openapi") if isinstance(value, dict) else None
    if not isinstance(value, dict) or not str(version).startswith("3."):
        is_older = isinstance(value, dict) and "swagger" in value
        found = _CONVERT if is_older else f"openapi is {version!r:.40}"
        yield DocumentFault(line=1, reason=f"no OpenAPI 3 document: {found}")
        return
    yield from _Document(value, name).read()


class _Document:
    """One document while it is read."""

    def __init__(self, value: JsonObject, name: str) -> None:
        self._value = value
        self._name = name
        self._number = 1
        self._faults: list[DocumentFault] = []
        self._tags = Counter[str]()
        self._names: set[str] = set()
        self._references = References(value)
        self._schemes = dict(self._read_schemes())

    def read(self) -> Iterator[ServerDocument | DocumentFault]:
        server = self._server(tuple(self._tools()))
        yield from self._faults
        yield server

    def _report(self, error: PartError) -> None:
        self._faults.append(DocumentFault(line=self._number, reason=str(error)))

    def _tools(self) -> Iterator[ToolDocument]:
        operations = Operations(
            references=self._references,
            requests=Schemas(self._value, self._references, hiding="readOnly"),
            responses=Schemas(self._value, self._references, hiding="writeOnly"),
            credentials=self._credentials(),
            report=self._report,
        )
        for number, (path, method, item) in enumerate(self._operations(), 1):
            self._number = number
            if number > MAX_OPERATIONS:
                self._report(PartError("paths", f"only {MAX_OPERATIONS:,} operations are read"))
                return
            try:
                tool, tags = operations.tool(path, method, item[method], item.get("parameters"))
            except PartError as error:
                self._report(error)
            else:
                self._tags.update(tags)
                yield self._with_free_name(tool, item[method])

    def _with_free_name(self, tool: ToolDocument, operation: JsonValue) -> ToolDocument:
        """Number a name that was made of a path where another tool has it; others are as they are."""
        is_made = isinstance(operation, dict) and not operation.get("operationId")
        name = free_name(tool.name, self._names) if is_made else tool.name
        self._names.add(name)
        return replace(tool, name=name)

    def _operations(self) -> Iterator[tuple[str, str, JsonObject]]:
        paths = self._value.get("paths", {})
        if not isinstance(paths, dict):
            self._report(PartError("paths", "must be an object"))
            return
        for path, item in paths.items():
            if path.startswith("x-"):
                continue
            try:
                resolved = self._references.resolve(item, f"paths.{path}")
            except PartError as error:
                self._report(error)
            else:
                yield from ((path, method, resolved) for method in _METHODS if method in resolved)

    def _server(self, tools: tuple[ToolDocument, ...]) -> ServerDocument:
        self._number = 1
        info = self._info()
        url = self._url()
        title = info.title.strip() or self._name
        return ServerDocument(
            source=SOURCE,
            # Parts of one service, and its versions, often share the address and the title.
            key=f"{url or ''}#{title}#{self._name}",
            name=title,
            description=_longest_description(info),
            version=info.version or None,
            labels=self._labels(),
            provenance=Provenance.LIVE,
            tools=tools,
            origin=self._origin(info, url),
        )

    def _info(self) -> v3_1.Info:
        info = self._value.get("info")
        members: JsonObject = dict(info) if isinstance(info, dict) else {}
        for name in _TEXTS:  # YAML takes 1.0 for a number
            value = members.get(name, "")
            members[name] = str(value) if isinstance(value, str | int | float) else ""
        try:
            return read_part(v3_1.Info, members, "info")
        except PartError as error:
            self._report(error)
            members = {name: members[name] for name in _TEXTS}
            return v3_1.Info.model_validate(members)

    def _url(self) -> str | None:
        """The first address of the server; None where there is none that says a host."""
        servers = self._value.get("servers")
        for i, server in enumerate(servers if isinstance(servers, list) else ()):
            try:
                if url := public_url(read_part(v3_1.Server, server, f"servers[{i}]").url):
                    return url
            except PartError as error:
                self._report(error)
        return None

    def _labels(self) -> tuple[str, ...]:
        info = self._value.get("info")
        named = [info.get(name) for name in _CATEGORIES] if isinstance(info, dict) else []
        flat = [label for each in named for label in (each if isinstance(each, list) else [each])]
        categories = [label for label in flat if isinstance(label, str) and label]
        tags = [tag for tag, _ in self._tags.most_common()]
        return tuple(dict.fromkeys([*categories, *tags]))[:MAX_LABELS]

    def _origin(self, info: v3_1.Info, url: str | None) -> JsonObject:
        docs = self._value.get("externalDocs")
        origin: JsonObject = {
            "file": self._name,
            "openapi": str(self._value["openapi"]),
            "url": url,
            "website": public_url(docs.get("url")) if isinstance(docs, dict) else None,
            "license": info.license.name if info.license else None,
            "security": [*self._security()],
        }
        return {name: value for name, value in origin.items() if value not in (None, [])}

    def _security(self) -> Iterator[JsonObject]:
        """How requests are authenticated: the kinds and names, never a key or token."""
        for name, scheme in self._schemes.items():
            flows = sorted(scheme.flows.model_fields_set) if scheme.flows else []
            members: JsonObject = {
                "name": name,
                "type": scheme.type,
                "in": scheme.security_scheme_in,
                "parameter": scheme.name,
                "scheme": scheme.scheme,
                "flows": [*flows] or None,
            }
            yield {key: value for key, value in members.items() if value is not None}

    def _read_schemes(self) -> Iterator[tuple[str, v3_1.SecurityScheme]]:
        components = self._value.get("components")
        schemes = components.get("securitySchemes") if isinstance(components, dict) else None
        for name, scheme in schemes.items() if isinstance(schemes, dict) else ():
            place = f"components.securitySchemes.{name}"
            try:
                resolved = self._references.resolve(scheme, place)
                yield name, read_part(v3_1.SecurityScheme, resolved, place)
            except PartError as error:
                self._report(error)

    def _credentials(self) -> frozenset[tuple[str, str]]:
        keys = [s for s in self._schemes.values() if s.type == "apiKey"]
        named = [(key.security_scheme_in, key.name) for key in keys]
        return frozenset((p, n.lower() if p == "header" else n) for p, n in named if p and n)


def _longest_description(info: v3_1.Info) -> str:
    extra = info.model_extra or {}
    said = (info.description, extra.get("x-long-description"), info.summary)
    texts = [text.strip() for text in said if isinstance(text, str) and text.strip()]
    return max(texts, key=len, default="")


def _recognises(sample: Sample) -> bool:
    if isinstance(sample.value, dict):  # of any version: those that are not read are told so
        return not sample.value.keys().isdisjoint({"openapi", "swagger"})
    return sample.value is None and _VERSION_LINE.search(sample.text) is not None


FORMAT = Format(
    name=SOURCE,
    summary="an OpenAPI 3 document, JSON or YAML: each operation is a tool",
    recognises=_recognises,
    read=read,
    read_as=_read_as,
)
