"""Which names a piece of code binds, reads and speaks of, by scope (Python's execution model)."""

import ast
from collections.abc import Iterator, Mapping

__all__ = [
    "COMPREHENSION",
    "FUNCTION",
    "IMPORT",
    "NAMING",
    "bound",
    "is_settled",
    "name_of",
    "named",
    "read",
    "shared",
    "spoken",
    "stored",
    "unbound",
]

IMPORT = ast.Import | ast.ImportFrom
FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
COMPREHENSION = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_SETTLED = IMPORT | FUNCTION | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.Expr | ast.Pass
NAMING: Mapping[type[ast.AST], str] = {
    ast.ExceptHandler: "name",
    ast.MatchAs: "name",
    ast.MatchStar: "name",
    ast.MatchMapping: "rest",
    # Parameters of types, which Python 3.12 knows.
    **{getattr(ast, kind): "name" for kind in ("TypeVar", "ParamSpec") if hasattr(ast, kind)},
}
"""What binds a name that stands in it as a text."""


def name_of(alias: ast.alias) -> str:
    """What an import binds: of a dotted name its first part."""
    return alias.asname or alias.name.partition(".")[0]


def named(node: ast.AST) -> Iterator[str]:
    """The names that a node binds beside those that are nodes of their own."""
    if isinstance(node, FUNCTION | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.alias):
        yield name_of(node)
    elif name := getattr(node, NAMING.get(type(node), ""), None):
        yield name


def spoken(tree: ast.AST) -> Iterator[str]:
    """All names that stand anywhere in a module."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.arg(arg=name):
                yield name
            case ast.Global(names=names) | ast.Nonlocal(names=names):
                yield from names
            case _:
                yield from named(node)


def bound(tree: ast.Module) -> set[str]:
    """The names that a module binds at its top level."""
    return {name for node in tree.body for name in stored(node)}


def stored(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds in its own scope, without those of functions and classes in it."""
    yield from named(node)
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
        yield node.id
    elif isinstance(node, COMPREHENSION):
        walruses = (each for each in ast.walk(node) if isinstance(each, ast.NamedExpr))
        yield from (each.target.id for each in walruses)
    elif not isinstance(node, FUNCTION | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from stored(child)


def shared(node: ast.AST) -> Iterator[str]:
    """The names that a function or a class declares to be the module's."""
    if isinstance(node, ast.Global):
        yield from node.names
    elif not isinstance(node, FUNCTION | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from shared(child)


def read(node: ast.AST) -> Iterator[str]:
    """The names that a statement reads when it is executed: not in the functions that it defines."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            yield name
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name
            yield from read(node.value)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for part in (*node.decorator_list, node.args, node.returns):
                yield from read(part) if part is not None else ()
        case ast.Lambda():
            yield from read(node.args)
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            yield from read(node.generators[0].iter)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from read(child)


def unbound(node: ast.AST) -> set[str]:
    """The names that a statement takes away in its own scope, for certain or perhaps."""
    if isinstance(node, FUNCTION | ast.ClassDef | ast.Lambda):
        return set()
    own = {node.id} if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) else set[str]()
    if isinstance(node, ast.ExceptHandler) and node.name:
        own.add(node.name)
    return own.union(*map(unbound, ast.iter_child_nodes(node)))


def is_settled(statement: ast.stmt) -> bool:
    """True where a statement first reads all that it reads, and then binds all that it binds."""
    return isinstance(statement, _SETTLED) and not any(
        isinstance(node, ast.NamedExpr) for node in ast.walk(statement)
    )
