"""What a module may not do, or has to do in another way, where it shares its file with others."""

import ast
import importlib
from collections.abc import Iterable
from types import ModuleType

from astra_mcp.environments.syntax import parse_code
from astra_mcp.sandbox.zygote.imports import ALLOWED
from astra_mcp.synthesis.environments.building.renaming import UnjoinableError
from astra_mcp.synthesis.environments.building.scopes import FUNCTION, bound, spoken

__all__ = ["has_texts_for_annotations", "joinable_tree", "with_texts_for_annotations"]

_LOOKUPS = frozenset({"vars", "locals", "dir"})
"""What finds the module's names by their text where it is called without arguments, outside of functions."""
_OF_ALL = frozenset({"globals", "__doc__", "__annotations__"})
"""What is one for all that stands in a file."""


def joinable_tree(code: str) -> ast.Module:
    """Parse a module, with all names that ``*`` imports written out as far as it speaks of them.

    Raises:
        UnjoinableError: It means something else in one file with others.
        SyntaxError, ValueError, RecursionError, MemoryError: It does not parse.
    """
    tree = parse_code(code)
    own = bound(tree)
    _Lookups(own).visit(tree)
    return ast.fix_missing_locations(_Stars({*spoken(tree)}).visit(tree))


def has_texts_for_annotations(tree: ast.Module) -> bool:
    """True where ``from __future__ import annotations`` says that annotations are texts."""
    return any(
        alias.name == "annotations"
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module == "__future__"
        for alias in node.names
    )


def with_texts_for_annotations(tree: ast.Module) -> ast.Module:
    """Write annotations as the texts that they are, in place of the import that says so of a whole file."""
    tree.body = [n for n in tree.body if getattr(n, "module", None) != "__future__"]
    return ast.fix_missing_locations(_Texts().visit(tree))


class _Texts(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = _text(node.annotation)
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        node.annotation = ast.Constant(ast.unparse(node.annotation))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._returning(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._returning(node)

    def _returning(self, node: FUNCTION) -> ast.AST:
        self.generic_visit(node)
        node.returns = _text(node.returns)
        return node


def _text(annotation: ast.expr | None) -> ast.expr | None:
    return None if annotation is None else ast.Constant(ast.unparse(annotation))


class _Lookups(ast.NodeVisitor):
    """Refuses what finds names of the module by their text: they may be others beside other modules."""

    def __init__(self, own: set[str]) -> None:
        self._own = own

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in _OF_ALL - self._own and isinstance(node.ctx, ast.Load):
            self._refuse(node, node.id)

    def visit_Call(self, node: ast.Call) -> None:
        match node:
            case ast.Call(func=ast.Name(id=name), args=[], keywords=[]) if (
                name in _LOOKUPS - self._own
            ):
                self._refuse(node, f"{name}()")
            case _:
                self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(node)

    def _inside(self, node: FUNCTION | ast.Lambda) -> None:
        """There ``vars()`` and its like tell of the function, unless it has such names of its own."""
        arguments = {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
        before, self._own = self._own, self._own | _LOOKUPS | arguments
        self.generic_visit(node)
        self._own = before

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        before, self._own = self._own, self._own | _LOOKUPS
        self.generic_visit(node)
        self._own = before

    def _refuse(self, node: ast.expr, what: str) -> None:
        raise UnjoinableError(
            f"line {node.lineno}: {what} tells of all that stands in tools.py, which tools of one environment"
            " share: speak of the names of the module themselves"
        )


class _Stars(ast.NodeTransformer):
    """Writes out what ``*`` imports."""

    def __init__(self, names: set[str]) -> None:
        self._names = names

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.names[0].name != "*":
            return node
        if node.level or node.module not in ALLOWED:
            dots = "." * node.level
            raise UnjoinableError(
                f"line {node.lineno}: nobody can say what {ast.unparse(node)} binds, for tools have no module"
                f" {dots}{node.module or ''}: import names of the standard library, each by its name"
            )
        wanted = sorted(self._names & _offered(importlib.import_module(node.module)))
        return (
            ast.ImportFrom(node.module, [ast.alias(n) for n in wanted], 0) if wanted else ast.Pass()
        )


def _offered(module: ModuleType) -> set[str]:
    named: Iterable[str] | None = getattr(module, "__all__", None)
    return {*named} if named is not None else {n for n in dir(module) if not n.startswith("_")}
