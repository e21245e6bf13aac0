"""What lists need of a bundle, in little memory: its fields by themselves, its tools packed."""

import zlib
from base64 import b64decode, b64encode
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Self, cast

import orjson

from astra_mcp.environments.bundle import Bundle
from astra_mcp.types import JsonObject, ToolSpec

__all__ = ["BundleDigest"]

_UNPACKED = 256
"""Packed parts that stay unpacked at once, over all bundles together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleDigest:
    """A bundle without its sub-tasks, answers, gold calls and code."""

    name: str
    content_hash: str
    title: str
    description: str
    version: str
    """The document's, for people."""
    status: str
    domain: str | None
    language: str
    scenario_type: str | None
    family: str | None
    question: str
    prompt: str
    """The question as an agent is told it."""
    num_questions: int
    sub_tasks: int
    """How many sub-tasks an episode is scored on."""
    hops: int | None
    """The deepest hop level; None where no sub-task names one."""
    num_tools: int
    server_name: str
    """Of ``server.json``, in the official registry's form."""
    packed: str
    """The tools and ``server.json``, compressed: they are seldom looked at."""

    @classmethod
    def of(cls, bundle: Bundle) -> Self:
        """Take from a bundle what lists need."""
        document = bundle.document
        tools = [tool.model_dump(mode="json") for tool in document.tools]
        packed = zlib.compress(orjson.dumps({"tools": tools, "server": bundle.server}), 1)
        levels = [sub.hop_level for sub in document.sub_tasks if sub.hop_level is not None]
        return cls(
            name=document.name,
            content_hash=bundle.content_hash,
            title=document.title,
            description=document.description,
            version=document.version,
            status=document.status,
            domain=document.domain and document.domain.value,
            language=document.language,
            scenario_type=document.scenario_type and document.scenario_type.value,
            family=document.provenance.family,
            question=document.question,
            prompt=document.prompt,
            num_questions=1 + len(document.questions),
            sub_tasks=len(document.scored),
            hops=max(levels, default=None),
            num_tools=len(document.tools),
            server_name=str(bundle.server.get("name", document.name)),
            packed=b64encode(packed).decode("ascii"),
        )

    @classmethod
    def from_json(cls, fields: JsonObject) -> Self:
        """Read what :meth:`as_json` gave.

        Raises:
            TypeError: These are other fields.
        """
        return cls(**cast("Any", fields))

    def as_json(self) -> JsonObject:
        """Render as an object of plain fields."""
        return asdict(self)

    @property
    def tools(self) -> tuple[ToolSpec, ...]:
        """In the order of the document."""
        return _unpack(self.packed)[0]

    @property
    def server(self) -> JsonObject:
        """The contents of ``server.json``."""
        return _unpack(self.packed)[1]


@lru_cache(_UNPACKED)
def _unpack(packed: str) -> tuple[tuple[ToolSpec, ...], JsonObject]:
    content = orjson.loads(zlib.decompress(b64decode(packed)))
    tools = tuple(ToolSpec.model_validate(tool) for tool in content["tools"])
    return tools, content["server"]
