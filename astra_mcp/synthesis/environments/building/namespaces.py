"""Several modules become one: names of theirs that clash are told apart, by scope and not by text."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from astra_mcp.environments.syntax import parse_code

__all__ = ["joined_code", "renamed_function"]

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def joined_code(title: str, modules: Sequence[tuple[str, str]]) -> str:
    """Join the modules of tools.

    Args:
        title: Of the whole.
        modules: The name of each tool, unique, and the text of its module, which parses.
    """
    trees = [parse_code(code) for _, code in modules]
    counts = Counter(name for tree in trees for name in {*_bound(tree)})
    parts: list[str] = []
    imports: dict[str, None] = {}
    for (tool, code), tree in zip(modules, trees, strict=True):
        names = {*_bound(tree)} - {tool}
        clashing = {n: f"_{tool}_{n.strip('_').lower()}" for n in sorted(names) if counts[n] > 1}
        body = [node for node in tree.body if not isinstance(node, ast.Import | ast.ImportFrom)]
        if len(modules) == 1:
            return code.strip("\n") + "\n"
        imports |= dict.fromkeys(ast.unparse(n) for n in tree.body if n not in body)
        changed = ast.Module([_Renaming(clashing).visit(node) for node in body], [])
        parts.append(ast.unparse(ast.fix_missing_locations(changed)))
    heads = [f'"""{title}"""'.replace("\\", " "), "\n".join(imports)]
    return "\n\n\n".join(part for part in [*heads, *parts] if part) + "\n"


def renamed_function(code: str, old: str, new: str) -> str:
    """Give a function of a module another name, wherever the module speaks of it."""
    return ast.unparse(ast.fix_missing_locations(_Renaming({old: new}).visit(parse_code(code))))


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names that a module binds at its top level, but for what it imports."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif not isinstance(node, ast.Import | ast.ImportFrom):
            yield from _stored(node)


def _stored(node: ast.AST) -> Iterator[str]:
    """The names that are assigned under a node, without those of functions and comprehensions in it."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif not isinstance(
        node, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ):
        for child in ast.iter_child_nodes(node):
            yield from _stored(child)


class _Renaming(ast.NodeTransformer):
    """Renames names of the module wherever no function has one of its own."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = dict(names)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._names.get(name, name) for name in node.names]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self._inside(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.name = self._names.get(node.name, node.name)
        return self._inside(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self._inside(node)

    def _inside(self, node: _Scope) -> ast.AST:
        outer = self._names
        args = node.args
        own = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        own |= {a.arg for a in (args.vararg, args.kwarg) if a is not None}
        body = node.body if isinstance(node.body, list) else [node.body]
        shared = {
            n for each in body for g in ast.walk(each) if isinstance(g, ast.Global) for n in g.names
        }
        own |= {name for statement in body for name in _stored(statement)} - shared
        defaults = [*args.defaults, *(d for d in args.kw_defaults if d is not None)]
        for outside in (*defaults, *getattr(node, "decorator_list", [])):
            self.visit(outside)
        self._names = {old: new for old, new in outer.items() if old not in own}
        for statement in body:
            self.visit(statement)
        self._names = outer
        return node
