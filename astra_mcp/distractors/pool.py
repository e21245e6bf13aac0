"""The tools that distractors are chosen from, one of each name."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from astra_mcp.domains import Domain
from astra_mcp.types import canonical_json

__all__ = ["Mask", "Pool", "PoolTool", "document_hash"]

Mask = npt.NDArray[np.bool_]
"""One truth value for each tool of a pool, in its order."""

_UNLABELLED = -1
_CODES = {domain: code for code, domain in enumerate(Domain)}


def document_hash(document: str) -> str:
    """Name a tool by the text that is embedded of it."""
    return sha256(document.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolTool:
    """A tool that may become a distractor."""

    server: str
    name: str
    domain: Domain | None
    """Of its server; without one it is never chosen."""
    hash: str
    """:func:`document_hash` of its document."""


class Pool:
    """T_uniq = {tau_1 ... tau_M} of ASTRA sec. 3.2.2: tools without duplicates of their exact names.

    The order is that of the names, so that nothing depends on the order in which tools were found except
    which of those with one name is meant.
    """

    def __init__(self, tools: Iterable[PoolTool]) -> None:
        """Keep the first tool of each name.

        Args:
            tools: In an order that the caller fixes, such as by server and place in its list.
        """
        first: dict[str, PoolTool] = {}
        for tool in tools:
            first.setdefault(tool.name, tool)
        self.tools = tuple(first[name] for name in sorted(first))
        self.places = {tool.name: place for place, tool in enumerate(self.tools)}
        """Of each name, in the order."""
        rows = [[tool.name, tool.server, tool.domain, tool.hash] for tool in self.tools]
        self.hash = sha256(canonical_json(rows)).hexdigest()
        """Of everything that choices depend on, besides the vectors."""
        codes = [_UNLABELLED if t.domain is None else _CODES[t.domain] for t in self.tools]
        self._domains = np.array(codes, dtype=np.int8)

    def __len__(self) -> int:
        """M, the number of tools."""
        return len(self.tools)

    def labelled(self) -> Mask:
        """Find the tools whose domain is known."""
        return self._domains != _UNLABELLED

    def of_domain(self, domain: Domain) -> Mask:
        """Find the tools of a domain."""
        return self._domains == _CODES[domain]

    def eligible(self, names: Iterable[str], servers: Collection[str] = ()) -> Mask:
        """Find the labelled tools that may be chosen.

        Args:
            names: Of tools that must not be.
            servers: None of whose tools must be.
        """
        mask = self.labelled()
        mask[[self.places[name] for name in names if name in self.places]] = False
        if servers:
            mask &= np.array([tool.server not in servers for tool in self.tools], dtype=np.bool_)
        return mask
