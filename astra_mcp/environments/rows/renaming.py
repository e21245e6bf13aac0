"""Gives names of a source other ones, and back, without another change of its text.

Knows Python's syntax alone. Where text and syntax do not agree on what was renamed, nothing is: positions
inside formatted strings, for one, are not always those of the text.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from astra_mcp.environments.syntax import parse_code

__all__ = ["renamed"]


class _UnclearError(Exception):
    """Whether the renamed source would do the same cannot be told."""


class _Edit(NamedTuple):
    line: int
    start: int
    end: int
    text: str


def renamed(source: str, names: Mapping[str, str]) -> str | None:
    """Rename what a source binds at its top level, wherever it stands.

    Args:
        source: Python that parses.
        names: Old names with the new ones, which stand nowhere in the source.

    Returns:
        None where that cannot be done beyond doubt.
    """
    try:
        tree = parse_code(source)
        _refuse_unclear(tree, names)
        text = _edited(source, _edits(tree, source, names))
        wanted = ast.dump(_Renamer(names).visit(parse_code(source)))
        return text if ast.dump(parse_code(text)) == wanted else None
    except (_UnclearError, SyntaxError, RecursionError, MemoryError, UnicodeDecodeError):
        return None


def _refuse_unclear(tree: ast.Module, names: Mapping[str, str]) -> None:
    """Refuse names that are part of an interface, or that a statement names without a place."""
    both = {*names, *names.values()}
    for node in ast.walk(tree):
        match node:
            case ast.arg(arg=name) if name in both:
                raise _UnclearError
            case ast.Global(names=many) | ast.Nonlocal(names=many) if both & {*many}:
                raise _UnclearError
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) if name in both:
                raise _UnclearError
            case ast.Name(id=name) if name in names.values():
                raise _UnclearError
            case ast.ClassDef(body=body):
                stored = {
                    inner.id
                    for statement in body
                    for inner in ast.walk(statement)
                    if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
                }
                if stored & both:  # perhaps an attribute
                    raise _UnclearError
            case _:
                pass


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def generic_visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Name(id=name) if name in self._names:
                node.id = self._names[name]
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ) if name in self._names:
                node.name = self._names[name]
            case ast.alias():
                node.asname = _alias_of(node, self._names)
            case _:
                pass
        return super().generic_visit(node)


def _alias_of(alias: ast.alias, names: Mapping[str, str]) -> str | None:
    """Say under which name an import is bound, where that is not its own."""
    bound = alias.asname or alias.name
    if alias.asname is None and alias.name.partition(".")[0] in names and "." in alias.name:
        raise _UnclearError  # binds the package, which no alias of the whole does
    new = names.get(bound)
    if new is None:
        return alias.asname
    return None if new == alias.name else new


def _edits(tree: ast.Module, source: str, names: Mapping[str, str]) -> Iterator[_Edit]:
    lines = source.encode().split(b"\n")
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) if name in names:
                start = node.col_offset
                yield _Edit(node.lineno, start, start + len(name.encode()), names[name])
            case (
                ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
                | ast.ClassDef(name=name)
            ) if name in names:
                word = re.compile(rb"(?:async\s+def|def|class)\s+")
                found = word.match(lines[node.lineno - 1], node.col_offset)
                if found is None:
                    raise _UnclearError
                yield _Edit(node.lineno, found.end(), found.end() + len(name.encode()), names[name])
            case ast.alias() if (new := _alias_of(node, names)) != node.asname:
                if node.end_lineno != node.lineno or node.end_col_offset is None:
                    raise _UnclearError
                text = node.name if new is None else f"{node.name} as {new}"
                yield _Edit(node.lineno, node.col_offset, node.end_col_offset, text)
            case _:
                pass


def _edited(source: str, edits: Iterator[_Edit]) -> str:
    lines = source.encode().split(b"\n")
    for edit in sorted(edits, reverse=True):
        line = lines[edit.line - 1]
        lines[edit.line - 1] = line[: edit.start] + edit.text.encode() + line[edit.end :]
    return b"\n".join(lines).decode()
