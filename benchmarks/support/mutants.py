"""Mutations of one token each: named ones, found again by what stands in a function, and drawn ones.

A named mutation knows the package and the function that it is in and the expression that it changes, not the
file and the line, so it survives moves; where its anchor is gone, that is an error with its name.
"""

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from source_graph import Source, SourceGraph

__all__ = ["NAMED", "Anchor", "LostAnchorError", "Mutant", "drawn_mutants", "find_mutant"]


class LostAnchorError(LookupError):
    """What a named mutation changes is not there, or stands in several places."""


class Anchor(NamedTuple):
    """Where a named mutation is made, and what it makes of it."""

    place: str
    package: str
    """In which one function of this name holds the expression."""
    function: str
    expression: str
    """The smallest one that holds the token, as ``ast.unparse`` writes it."""
    mutated: str


@dataclass(frozen=True, slots=True)
class Mutant:
    """One module with one token changed."""

    name: str
    module: str
    line: int
    before: str
    after: str
    text: str
    """The whole module."""


NAMED = (
    Anchor("hot path", "gateway", "_call", "410", "411"),
    Anchor("hot path", "gateway", "_read_call", "type(name) is not str", "type(name) is str"),
    Anchor("record", "gateway", "_drop_torn_line", "whole < len(data)", "whole > len(data)"),
    Anchor("record", "gateway", "read_record", "number == len(lines)", "number != len(lines)"),
    Anchor(
        "restore",
        "gateway",
        "changed_servers",
        "opened.endpoint is not None",
        "opened.endpoint is None",
    ),
    Anchor(
        "restore",
        "gateway",
        "_is_answered_by_another",
        "server.emulator is not recorded",
        "server.emulator is recorded",
    ),
    Anchor(
        "matcher",
        "astra_mcp.answers.matching",
        "_holds",
        "tuple(tokens[i:i + len(wanted)]) == wanted",
        "tuple(tokens[i : i + len(wanted)]) != wanted",
    ),
    Anchor("matcher", "astra_mcp.answers.tokens", "_number", "value != '0'", 'value == "0"'),
    Anchor(
        "sandbox filters",
        "astra_mcp.sandbox",
        "_rules",
        "architecture.highest is not None",
        "architecture.highest is None",
    ),
    Anchor(
        "sandbox filters",
        "astra_mcp.sandbox",
        "_when",
        "2 * (len(tests) - 1 - index) + 1",
        "2 * (len(tests) - 1 - index) + 2",
    ),
    Anchor(
        "distractors",
        "astra_mcp.distractors",
        "membership_of",
        "normalised > _HIGH_ABOVE",
        "normalised >= _HIGH_ABOVE",
    ),
    Anchor(
        "distractors",
        "gateway",
        "_route_of",
        "chosen.tool in taken",
        "chosen.tool not in taken",
    ),
    Anchor(
        "failures",
        "gateway",
        "failure_at",
        "chance >= self._law.rate",
        "chance > self._law.rate",
    ),
    Anchor("failures", "gateway", "draw", "made + 1", "made + 0"),
    Anchor(
        "importers",
        "registry",
        "_why_passed_over",
        "official.get('isLatest') is False",
        'official.get("isLatest") is not False',
    ),
    Anchor(
        "importers",
        "registry",
        "body_arguments",
        "body.is_required and name in members.required",
        "body.is_required or name in members.required",
    ),
    Anchor("keys", "gateway", "is_known", "False", "True"),
    Anchor("keys", "gateway", "read_control_key", "os.name == 'posix'", 'os.name != "posix"'),
    Anchor("relay", "gateway", "_answer", "capability is None", "capability is not None"),
    Anchor(
        "relay",
        "gateway",
        "_list_tools",
        "visit.params.get('cursor') is not None",
        'visit.params.get("cursor") is None',
    ),
)


def find_mutant(graph: SourceGraph, anchor: Anchor) -> Mutant:
    """Make a named mutation; the last of several equal expressions of one function is changed.

    Raises:
        LostAnchorError: No function, or more than one, holds the expression.
    """
    found = {
        name: node
        for name, source in graph.sources.items()
        if name == anchor.package or name.startswith(f"{anchor.package}.")
        for node in _expressions(source, anchor)
    }
    if len(found) != 1:
        where = ", ".join(sorted(found)) or "nowhere"
        msg = (
            f"{anchor.place}: in {anchor.package}, {anchor.expression!r} stands {where}"
            f" in a function {anchor.function}; it has to stand in one: correct its anchor in NAMED"
        )
        raise LostAnchorError(msg)
    [(name, node)] = found.items()
    return _mutant(graph.sources[name], node, anchor.mutated, anchor.place)


def drawn_mutants(graph: SourceGraph, number: int, seed: int) -> list[Mutant]:
    """Draw mutations from all that the operators make of the product."""
    candidates = [
        (source, node, after)
        for _, source in sorted(graph.sources.items())
        for node, after in _changes(source.tree)
    ]
    chosen = random.Random(seed).sample(range(len(candidates)), number)  # noqa: S311 - not secret
    return [_mutant(*candidates[at], f"drawn {n}") for n, at in enumerate(chosen, 1)]


def _expressions(source: Source, anchor: Anchor) -> Iterator[ast.expr]:
    for function in ast.walk(source.tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if function.name != anchor.function:
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.expr) and ast.unparse(node) == anchor.expression:
                yield node


def _mutant(source: Source, node: ast.expr | ast.stmt, after: str, name: str) -> Mutant:
    lines = source.text.splitlines(keepends=True)
    begin = _offset(lines, node.lineno, node.col_offset)
    end = _offset(lines, node.end_lineno or 0, node.end_col_offset or 0)
    data = source.text.encode()
    text = (data[:begin] + after.encode() + data[end:]).decode()
    ast.parse(text)  # a mutant that does not compile is none
    before = " ".join(data[begin:end].decode().split())
    return Mutant(name, source.name, node.lineno, before, " ".join(after.split()), text)


def _offset(lines: Sequence[str], line: int, column: int) -> int:
    """In bytes, as the columns are."""
    return len("".join(lines[: line - 1]).encode()) + column


# --- operators ----------------------------------------------------------------------------------

_FLIPPED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


def _changes(tree: ast.Module) -> Iterator[tuple[ast.expr | ast.stmt, str]]:
    """Every mutation of a module: what it changes, and what stands there then."""
    for node in _executed(tree):
        match node:
            case ast.Compare(ops=[operator]):
                flipped = ast.Compare(node.left, [_FLIPPED[type(operator)]()], node.comparators)
                yield node, f"({ast.unparse(flipped)})"
            case ast.BoolOp():
                other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
                yield node, f"({ast.unparse(ast.BoolOp(other, node.values))})"
            case ast.UnaryOp(op=ast.Not()):
                yield node, f"({ast.unparse(node.operand)})"
            case ast.Constant(value=bool() as value):
                yield node, str(not value)
            case ast.Constant(value=int() as value):
                yield node, str(value + 1)
                yield node, f"({value - 1})"
            case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
                yield node, "return None"
            case ast.Raise():
                yield node, "pass"
            case _:
                pass


def _executed(tree: ast.Module) -> Iterator[ast.AST]:
    """All nodes but those of annotations and of texts made at run time, and what only type checkers see."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        yield node
        waiting.extend(reversed(_parts(node)))


def _parts(node: ast.AST) -> Sequence[ast.AST]:
    skipped: list[ast.AST | None] = []
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            skipped = [node.returns]
        case ast.arg() | ast.AnnAssign():
            skipped = [node.annotation]
        case ast.JoinedStr():
            return []
        case _:
            pass
    return [child for child in ast.iter_child_nodes(node) if child not in skipped]
