"""The transition graph of one server: which tools followed which, and how often (ASTRA sec. 2.1)."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import networkx as nx

__all__ = ["TransitionGraph", "transition_graph", "transitions_from"]

TransitionGraph = nx.DiGraph
"""Nodes are names of tools; the ``weight`` of an edge is how often the pair was consecutive."""


def transition_graph(
    tools: Iterable[str], chains: Iterable[Sequence[str]]
) -> "TransitionGraph[str]":
    """Build the graph of a server.

    Args:
        tools: The names of all its tools; each is a node, also where no chain has it.
        chains: Those that were proposed, as a multiset: one that came twice counts twice.

    Raises:
        ValueError: A chain has a tool that the server has not.
    """
    graph: TransitionGraph[str] = nx.DiGraph()
    graph.add_nodes_from(tools)
    for chain in chains:
        unknown = next((tool for tool in chain if tool not in graph), None)
        if unknown is not None:
            msg = f"a chain has the tool {unknown!r}, which is none of the server's"
            raise ValueError(msg)
        for before, after in pairwise(chain):
            num = graph.get_edge_data(before, after, {"weight": 0})["weight"]
            graph.add_edge(before, after, weight=num + 1)
    return graph


def transitions_from(graph: "TransitionGraph[str]", tool: str) -> dict[str, int]:
    """How often each tool followed one, in the order of their names."""
    return {after: graph[tool][after]["weight"] for after in sorted(graph[tool])}
