"""Renames names of a module by scope and not by text, so that the module goes on to mean the same."""

import ast
from collections.abc import Collection, Mapping, Sequence
from typing import Any, cast

from astra_mcp.environments.syntax import parse_code
from astra_mcp.synthesis.environments.building.scopes import (
    FUNCTION,
    NAMING,
    is_settled,
    name_of,
    read,
    shared,
    stored,
    unbound,
)

__all__ = ["UnjoinableError", "renamed_function", "renamed_tree"]


class UnjoinableError(ValueError):
    """A module means something else beside others; the message says where, and what to write."""


def renamed_function(code: str, old: str, new: str) -> str:
    """Give a function of a module another name, wherever the module speaks of it.

    Raises:
        UnjoinableError: A class binds the name itself, at a place that leaves open which one it reads.
    """
    return ast.unparse(renamed_tree(parse_code(code), {old: new}))


def renamed_tree(
    tree: ast.Module, names: Mapping[str, str], taken: Collection[str] = ()
) -> ast.Module:
    """Give names of a module other ones; changes the tree itself, whose statements stay those that they are.

    Args:
        tree: Of the module.
        names: All that are renamed: the new ones by the old ones.
        taken: Names that no class may have even for a moment, for others have them.

    Raises:
        UnjoinableError: As :func:`renamed_function`.
    """
    return ast.fix_missing_locations(_Renaming(names, taken).visit(tree))


class _Renaming(ast.NodeTransformer):
    """Renames names of the module wherever no function or class has one of its own.

    A class goes on to be called what it is called, for texts show that name: it is given the new one once it
    is there.
    """

    def __init__(self, names: Mapping[str, str], taken: Collection[str]) -> None:
        self._all: dict[str, str] = dict(names)
        self._taken = {*taken}
        self._reads: dict[str, str] = self._all
        """Those that mean the module's where they are read."""
        self._stores: dict[str, str] = self._all
        """Those that mean the module's where they are bound."""
        self._inner: dict[str, str] = self._all
        """Those that mean the module's in a function that begins there: it knows nothing of its class."""

    def visit(self, node: ast.AST) -> Any:
        field = NAMING.get(type(node), "")
        name = getattr(node, field, None)
        if name in self._stores:
            setattr(node, field, self._stores[name])
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        names = self._reads if isinstance(node.ctx, ast.Load) else self._stores
        node.id = names.get(node.id, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._all.get(name, name) for name in node.names]
        return node

    def visit_Import(self, node: ast.Import) -> ast.AST:
        node.names = [new for alias in node.names for new in self._imported(alias)]
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module != "__future__":
            node.names = [new for alias in node.names for new in self._imported(alias)]
        return node

    def _imported(self, alias: ast.alias) -> list[ast.alias]:
        old = name_of(alias)
        new = self._stores.get(old)
        if new is None:
            return [alias]
        renamed = ast.alias(alias.name, new)
        # What ``import a.b`` binds is ``a``.
        is_part = alias.asname is None and old != alias.name
        return [renamed, ast.alias(old, new)] if is_part else [renamed]

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        for outside in (*node.decorator_list, *node.bases, *node.keywords, *_types_of(node)):
            self.visit(outside)
        old, new = node.name, self._stores.get(node.name)
        self._class_body(node)
        if new is None:
            return node
        if old in self._taken:
            node.name = new
            return [node, *_lines(f"{new}.__name__ = {new}.__qualname__ = {old!r}")]
        return [node, *_lines(f"{new} = {old}\ndel {old}")]

    def _class_body(self, node: ast.ClassDef) -> None:
        before = self._reads, self._stores, self._inner
        declared = {name for statement in node.body for name in shared(statement)}
        names = self._inner | {old: new for old, new in self._all.items() if old in declared}
        own = {name for statement in node.body for name in stored(statement)} - declared
        self._stores = _without(names, own)
        sure, open_ = set[str](), set[str]()
        body: list[ast.stmt] = []
        for statement in node.body:
            binds = {*stored(statement)} - declared
            lost = unbound(statement) - declared
            is_clear = is_settled(statement)
            open_ |= lost if is_clear else lost | (binds - sure)
            sure -= lost
            self._reads = _without(names, sure)
            self._refuse(node, statement, open_ & names.keys())
            body += self._statements([statement])
            if is_clear and not (isinstance(statement, ast.AnnAssign) and statement.value is None):
                sure |= binds
                open_ -= binds
        node.body = body
        self._reads, self._stores, self._inner = before

    def _refuse(self, node: ast.ClassDef, statement: ast.stmt, doubtful: set[str]) -> None:
        for name in sorted(doubtful & {*read(statement)}):
            raise UnjoinableError(
                f"line {statement.lineno}: the class {node.name} binds {name} itself, and reads {name} where"
                " that may be its own or the module's: give one of the two another name"
            )

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(node)

    def _inside(self, node: FUNCTION | ast.Lambda) -> ast.AST:
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        arguments = [each for each in every if each is not None]
        outside = [*args.defaults, *args.kw_defaults, *(a.annotation for a in arguments)]
        if isinstance(node, FUNCTION):
            node.name = self._stores.get(node.name, node.name)
            outside += [*node.decorator_list, node.returns, *_types_of(node)]
        for each in outside:
            if each is not None:
                self.visit(each)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        declared = {name for each in body for name in shared(each)}
        own = {a.arg for a in arguments} | {name for each in body for name in stored(each)}
        before = self._reads, self._stores, self._inner
        kept = {old: new for old, new in self._all.items() if old in declared}
        self._reads = self._stores = self._inner = _without(self._inner, own) | kept
        if isinstance(node, ast.Lambda):
            self.visit(node.body)
        else:
            node.body = self._statements(node.body)
        self._reads, self._stores, self._inner = before
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        return self._comprehended(node)

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        return self._comprehended(node)

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        return self._comprehended(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        return self._comprehended(node)

    def _comprehended(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> ast.AST:
        """Its first iterable is read where it stands; all else is a function of its own."""
        first = node.generators[0].iter
        self.visit(first)
        before = self._reads, self._stores
        self._reads = self._stores = self._inner
        for part in _parts(node):
            if part is not first:
                self.visit(part)
        self._reads, self._stores = before
        return node

    def _statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            found += cast("list[ast.stmt]", new) if isinstance(new, list) else [new]
        return found


def _lines(code: str) -> list[ast.stmt]:
    return parse_code(code).body


def _parts(
    node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp,
) -> list[ast.expr]:
    values = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
    loops = [part for g in node.generators for part in (g.target, g.iter, *g.ifs)]
    return [*values, *loops]


def _types_of(node: ast.AST) -> Sequence[ast.AST]:
    """The parameters of types, which Python 3.12 knows."""
    return getattr(node, "type_params", ())


def _without(names: Mapping[str, str], own: set[str]) -> dict[str, str]:
    return {old: new for old, new in names.items() if old not in own}
