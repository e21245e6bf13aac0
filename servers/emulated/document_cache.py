"""Documents of many servers in little memory: packed for good, unpacked while they are used.

What was used last stays unpacked, over all servers together, and so do the compiled checks of
arguments. Knows documents; knows neither where they come from nor who answers.
"""

import zlib
from functools import lru_cache
from weakref import ReferenceType, ref

import orjson

from astra_mcp.schemas import ArgumentCheck, compile_schema
from astra_mcp.types import ToolSpec
from servers.emulated.emulator import EmulatedDocument

__all__ = ["DocumentCache", "PackedDocument"]

MAX_DOCUMENTS = 256
"""Unpacked at once, besides those that sessions hold; some 50 kB each."""
MAX_CHECKS = 2048
"""Compiled at once; some 3 kB each."""


class PackedDocument:
    """A document as a twentieth of its bytes."""

    def __init__(self, document: EmulatedDocument) -> None:
        """Pack it."""
        content = {
            "name": document.name,
            "title": document.title,
            "description": document.description,
            "domain": document.domain,
            "language": document.language,
            "version": document.version,
            "tools": [tool.model_dump() for tool in document.tools],
        }
        self._content = zlib.compress(orjson.dumps(content))
        self._unpacked: ReferenceType[EmulatedDocument] = ref(document)

    def unpack(self) -> EmulatedDocument:
        """Make an equal document; the same one as long as somebody holds it."""
        known = self._unpacked()
        if known is not None:
            return known
        content = orjson.loads(zlib.decompress(self._content))
        tools = tuple(ToolSpec.model_validate(tool) for tool in content.pop("tools"))
        document = EmulatedDocument(**content, tools=tools)
        self._unpacked = ref(document)
        return document


class DocumentCache:
    """The documents and checks in use, of any number of servers."""

    def __init__(self, *, max_documents: int = MAX_DOCUMENTS, max_checks: int = MAX_CHECKS) -> None:
        """Hold nothing yet.

        Args:
            max_documents: How many stay unpacked that nobody holds.
            max_checks: How many stay compiled.
        """
        self._documents = lru_cache(max_documents)(PackedDocument.unpack)
        self._checks = lru_cache(max_checks)(self._compile)

    def document(self, packed: PackedDocument) -> EmulatedDocument:
        """Unpack a document, unless it was used lately."""
        return self._documents(packed)

    def check(self, packed: PackedDocument, tool: str) -> ArgumentCheck:
        """Compile the argument check of a tool of a document, unless it was used lately."""
        return self._checks(packed, tool)

    def _compile(self, packed: PackedDocument, tool: str) -> ArgumentCheck:
        [spec] = [t for t in self.document(packed).tools if t.name == tool]
        return compile_schema(spec.input_schema)
