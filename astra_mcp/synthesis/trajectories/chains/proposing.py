"""The first two stages: a model writes tasks with their chains, and code refuses what no chain is.

Source: ASTRA sec. 2.1, joint synthesis; N runs for each server give the multiset of its chains.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from astra_mcp.concurrency import map_concurrently
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.seeds import generator
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.server import (
    DocumentedServer,
    Documents,
    ServerItem,
    document_of,
    shown_server,
)
from astra_mcp.types import FrozenModel, canonical_json

__all__ = [
    "USUAL_LENGTHS",
    "Lengths",
    "Proposal",
    "ProposalGate",
    "Proposing",
]

_MAX_BYTES: Final = 96_000
"""Of the documents in a prompt, as JSON. Schemas are not cut, so tools are left out beyond that."""
_LANGUAGES: Final = {"en": "English", "zh": "Chinese (Simplified)"}
_MAX_TOLD: Final = 80
"""Characters of a name that a message tells."""


class Lengths(FrozenModel):
    """How many calls a chain may have."""

    least: int = Field(default=2, ge=1)
    most: int = Field(default=5, ge=1, le=32)

    @model_validator(mode="after")
    def _is_range(self) -> Self:
        if self.least > self.most:
            msg = f"a chain of at least {self.least} and at most {self.most} calls is none"
            raise ValueError(msg)
        return self


USUAL_LENGTHS: Final = Lengths()


class Proposal(FrozenModel):
    """What a model wrote of a server: a task with its chain, or that there is none."""

    server: str
    version: str
    task: str
    tools: tuple[str, ...]
    is_possible: bool
    reason: str


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)

    is_possible: bool
    reason: str = ""
    task: str = ""
    tools: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposing:
    """Makes of a server as many proposals as are asked for, each an item of its own."""

    model: Asks
    name_of_model: str
    documents: Documents = field(repr=False)
    num_proposals: int = 4
    lengths: Lengths = USUAL_LENGTHS
    seed: int = 0
    """Chooses the tools that are shown of a server that has too many for one prompt."""
    name = "propose"
    takes = ServerItem

    @property
    def version(self) -> str:
        """Of the prompt, the model and what is asked for."""
        return stage_version(
            "propose",
            model=self.name_of_model,
            proposals=self.num_proposals,
            lengths=self.lengths,
            seed=self.seed,
        )

    async def run(self, item: Item[ServerItem]) -> Made[Proposal] | Rejected:
        """Ask for all proposals of one server, at once."""
        server = document_of(self.documents, item.value.name, item.value.version)
        if not server.tools:
            return Rejected("no_tool", "the server has no tool")
        if _tools_in_prompt(server, self.seed, 0) == []:
            return Rejected("too_large", f"each tool's document is longer than {_MAX_BYTES} bytes")
        numbers = range(1, self.num_proposals + 1)

        async def propose(number: int) -> Proposal:
            return await self._propose(server, number)

        proposals = await map_concurrently(propose, numbers, limit=self.num_proposals)
        return Made.of(
            *(
                Item(id=f"{item.id}/{number}", value=proposal)
                for number, proposal in zip(numbers, proposals, strict=True)
            )
        )

    async def _propose(self, server: DocumentedServer, number: int) -> Proposal:
        answer = await ask(
            self.model,
            "propose",
            _Answer,
            sample=number - 1,
            least=self.lengths.least,
            most=self.lengths.most,
            number=number,
            count=self.num_proposals,
            language=_LANGUAGES.get(server.language or "en", server.language),
            server=shown_server(server, _tools_in_prompt(server, self.seed, number)),
        )
        return Proposal(server=server.name, version=server.version, **dict(answer))


def _tools_in_prompt(server: DocumentedServer, seed: int, number: int) -> Sequence[str] | None:
    """The names of the tools that one prompt has room for; None where it has for all of them.

    Each proposal of a large server is shown others, so that more of its tools are seen. A tool whose own
    document is too long is shown to none.
    """
    if _num_bytes(server, None) <= _MAX_BYTES:
        return None
    names = [
        tool.name
        for tool in server.tools
        if _num_bytes(server.model_copy(update={"tools": (tool,)}), None) <= _MAX_BYTES
    ]
    generator(seed, "shown tools", server.name, number).shuffle(names)
    room = bisect_right(
        range(1, len(names) + 1), _MAX_BYTES, key=lambda num: _num_bytes(server, names[:num])
    )
    return names[:room]


def _num_bytes(server: DocumentedServer, names: Sequence[str] | None) -> int:
    return len(canonical_json(shown_server(server, names)))


@dataclass(frozen=True, slots=True)
class ProposalGate:
    """Lets proposals through whose chain is one of the server's tools."""

    documents: Documents = field(repr=False)
    lengths: Lengths = USUAL_LENGTHS
    name = "proposal"
    takes = Proposal

    @property
    def version(self) -> str:
        """Of the rules and the lengths."""
        return stage_version(rules="1", lengths=self.lengths)

    async def run(self, item: Item[Proposal]) -> Made[Proposal] | Rejected:
        """Judge one proposal."""
        proposal = item.value
        server = document_of(self.documents, proposal.server, proposal.version)
        return _fault(proposal, server, self.lengths) or Made.of(item)


def _fault(proposal: Proposal, server: DocumentedServer, lengths: Lengths) -> Rejected | None:
    """Why a proposal is refused: the first reason that there is.

    A chain with a tool that the server has not is dropped whole. To leave the tool out would join two that
    nobody said belong together.
    """
    if not proposal.is_possible:
        return Rejected("no_chain", proposal.reason or "the model says so, and not why")
    num = len(proposal.tools)
    if num < lengths.least:
        return Rejected("too_short", f"it has {num} calls, fewer than {lengths.least}")
    if num > lengths.most:
        return Rejected("too_long", f"it has {num} calls, more than {lengths.most}")
    unknown = next((name for name in proposal.tools if server.tool(name) is None), None)
    if unknown is not None:
        return Rejected("unknown_tool", _unknown(unknown, server))
    if not proposal.task.strip():
        return Rejected("no_task", "it has a chain, and no task")
    return None


def _unknown(name: str, server: DocumentedServer) -> str:
    near = get_close_matches(name, [tool.name for tool in server.tools], n=1, cutoff=0.0)
    told = name if len(name) <= _MAX_TOLD else f"{name[:_MAX_TOLD]}…"
    return f"the server has no tool {told!r}; the nearest is {near[0]!r}"
