"""Several modules become one: names of theirs that clash are told apart, by scope and not by text."""

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from astra_mcp.environments.syntax import parse_code

__all__ = ["joined_code", "renamed_function"]

_Import = ast.Import | ast.ImportFrom
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_BUILTIN = "builtin"
_NAMING: Mapping[type[ast.AST], str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
}
"""What binds a name that stands in it as a text."""


def joined_code(title: str, modules: Sequence[tuple[str, str]]) -> str:
    """Join the modules of tools, so that each goes on to mean what it means alone.

    Args:
        title: Of the whole.
        modules: The name of each tool, unique, and the text of its module, which parses.
    """
    trees = [(tool, parse_code(code)) for tool, code in modules]
    if len(modules) == 1:
        return modules[0][1].strip("\n") + "\n"
    clashing = _clashing(trees)
    taken = {tool for tool, _ in trees} | {name for _, tree in trees for name in _spoken(tree)}
    imports: dict[str, None] = {}
    bodies: list[str] = []
    for tool, tree in trees:
        names = {
            name: _fresh(tool, name, taken)
            for name in sorted(({*_bound(tree)} | _foreign(tree)) & clashing)
            if name != tool
        }
        changed: ast.Module = _Renaming(names).visit(tree)
        heads = [node for node in changed.body if isinstance(node, _Import)]
        imports |= dict.fromkeys(map(ast.unparse, heads))
        rest = [node for node in changed.body if not isinstance(node, _Import)]
        bodies.append(_text(rest))
    heads = sorted(imports, key=lambda line: not line.startswith("from __future__ "))
    parts = [_text([ast.Expr(ast.Constant(title))]), "\n".join(heads), *bodies]
    return "\n\n\n".join(part for part in parts if part) + "\n"


def renamed_function(code: str, old: str, new: str) -> str:
    """Give a function of a module another name, wherever the module speaks of it."""
    return ast.unparse(_Renaming({old: new}).visit(parse_code(code)))


def _text(body: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def _clashing(trees: Sequence[tuple[str, ast.Module]]) -> set[str]:
    """The names that are not one and the same thing in all modules that speak of them."""
    meanings: dict[str, set[str]] = {name: {_BUILTIN} for name in dir(builtins)}
    for tool, tree in trees:
        imported = {*_imported(tree)}
        own = [node for node in tree.body if not isinstance(node, _Import)]
        owned = {name for node in own for name in _stored(node)} | _foreign(tree)
        for name, meaning in (*imported, *((name, f"of {tool}") for name in owned)):
            meanings.setdefault(name, set()).add(meaning)
    return {name for name, found in meanings.items() if len(found) > 1}


def _foreign(tree: ast.Module) -> set[str]:
    """The names that a module speaks of and binds at no place but by ``global``: nobody else's are meant."""
    bound = {*_bound(tree), *dir(builtins)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                bound.add(name)
            case _:
                bound.update(_named(node))
    declared = {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    return ({*_spoken(tree)} - bound) | (declared - {*_bound(tree)})


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What a module imports at its top, and as what."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield _name_of(alias), alias.name if alias.asname else _name_of(alias)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield _name_of(alias), f"{node.module}:{alias.name}"


def _name_of(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _fresh(tool: str, name: str, taken: set[str]) -> str:
    """A name that nothing has, which says whose it is."""
    new = f"_{tool}_{name.strip('_').lower()}"
    while new in taken:
        new += "_"
    taken.add(new)
    return new


def _spoken(tree: ast.AST) -> Iterator[str]:
    """All names that stand anywhere in a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case _:
                yield from _named(node)


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that a module binds at its top level."""
    for node in tree.body:
        yield from _stored(node)


def _stored(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in its own scope, without those of functions and classes in it."""
    yield from _named(node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, _Comprehension):
        named = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
        yield from (each.target.id for each in named)
    elif not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _stored(child)


def _named(node: ast.AST) -> Iterator[str]:
    """The names that a node binds beside those that are nodes of their own."""
    if isinstance(node, _Function | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield _name_of(node)
    elif name := getattr(node, _NAMING.get(type(node), ""), None):
        yield name


def _shared(node: ast.AST) -> Iterator[str]:
    """The names that a function declares to be the module's."""
    if isinstance(node, ast.Global):
        yield from node.names
    elif not isinstance(node, _Function | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _shared(child)


class _Renaming(ast.NodeTransformer):
    """Renames names of the module wherever no function or class has one of its own."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._all = dict(names)
        self._names = self._all
        """Those that mean the module's where it is read."""
        self._inner = self._all
        """Those that mean the module's in a function that begins there: it knows nothing of its class."""

    def visit(self, node: ast.AST) -> Any:
        field = _NAMING.get(type(node), "")
        name = getattr(node, field, None)
        if name in self._names:
            setattr(node, field, self._names[name])
        return super().visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._all.get(name, name) for name in node.names]
        return node

    def visit_alias(self, node: ast.alias) -> ast.AST:
        if node.asname or node.name.isidentifier():
            node.asname = self._names.get(_name_of(node), node.asname)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        return node if node.module == "__future__" else self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        for outside in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(outside)
        before = self._names, self._inner
        own = {name for statement in node.body for name in _stored(statement)}
        self._names = _without(self._inner, own)
        for statement in node.body:
            self.visit(statement)
        self._names, self._inner = before
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(node)

    def _inside(self, node: _Function | ast.Lambda) -> ast.AST:
        args = node.args
        every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        arguments = [each for each in every if each is not None]
        outside = [*args.defaults, *args.kw_defaults, *(a.annotation for a in arguments)]
        if isinstance(node, _Function):
            node.name = self._names.get(node.name, node.name)
            outside += [*node.decorator_list, node.returns]
        for each in outside:
            if each is not None:
                self.visit(each)
        body = [node.body] if isinstance(node, ast.Lambda) else node.body
        shared = {name for each in body for name in _shared(each)}
        own = {a.arg for a in arguments} | {name for each in body for name in _stored(each)}
        before = self._names, self._inner
        kept = {old: new for old, new in self._all.items() if old in shared}
        self._names = self._inner = _without(self._inner, own) | kept
        for each in body:
            self.visit(each)
        self._names, self._inner = before
        return node


def _without(names: Mapping[str, str], own: set[str]) -> dict[str, str]:
    return {old: new for old, new in names.items() if old not in own}
