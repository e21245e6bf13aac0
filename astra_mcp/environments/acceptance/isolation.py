"""Does tool code reach out of its arguments, its data and its state? Reads the source, never runs it.

The sandbox refuses most of this at run time, on every machine that has one; here it is named by line,
also where the code hides the refusal. It is no boundary: the sandbox is.
"""

import ast
from collections.abc import Iterator

from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.syntax import parse_code
from astra_mcp.sandbox.zygote.imports import ALLOWED

__all__ = ["isolation_failures"]

_BUILTINS = frozenset(
    {
        "__builtins__",
        "__import__",
        "__loader__",
        "__spec__",
        "breakpoint",
        "compile",
        "eval",
        "exec",
        "globals",
        "input",
        "open",
    }
)
_OUTSIDE_MODULES = frozenset(
    {
        "_os",
        "_sys",
        "_thread",
        "_threading",
        "builtins",
        "ctypes",
        "importlib",
        "mmap",
        "multiprocessing",
        "open",
        "os",
        "pathlib",
        "shutil",
        "signal",
        "socket",
        "subprocess",
        "sys",
        "tempfile",
        "threading",
    }
)
"""What a module that tools may import has itself imported; ``open`` is that of ``io`` and ``codecs``."""
_INSIDES = frozenset(
    {
        "__bases__",
        "__builtins__",
        "__closure__",
        "__code__",
        "__globals__",
        "__import__",
        "__loader__",
        "__mro__",
        "__subclasses__",
        "f_back",
        "f_builtins",
        "f_globals",
        "f_locals",
    }
)
_DEFAULTS = frozenset({"__defaults__", "__kwdefaults__"})
_MAX_LINE = 120
_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def isolation_failures(code: str) -> Iterator[FailedCheck]:
    """Find imports, builtins and attributes by which tool code would reach out, by line."""
    module = parse_code(code)
    lines = code.split("\n")
    imported = {
        (alias.asname or alias.name).partition(".")[0]
        for node in ast.walk(module)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    for node, local in _nodes(module):
        found = _fault(node, local, imported)
        if found is not None:
            check, words = found
            number = getattr(node, "lineno", 1)
            line = lines[number - 1].strip()[:_MAX_LINE]
            yield FailedCheck.of(check, f"tools.py line {number}: {line}: {words}")


def _nodes(module: ast.Module) -> Iterator[tuple[ast.AST, frozenset[str]]]:
    """Every node, with the names that the functions around it bind themselves."""
    waiting: list[tuple[ast.AST, frozenset[str]]] = [(module, frozenset())]
    while waiting:
        node, local = waiting.pop()
        yield node, local
        inner = local | _bound(node) if isinstance(node, _Function) else local
        waiting.extend((child, inner) for child in reversed([*ast.iter_child_nodes(node)]))


def _bound(function: _Function) -> set[str]:
    names = {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
    body = function.body if isinstance(function.body, list) else [function.body]
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return names


def _fault(node: ast.AST, local: frozenset[str], imported: set[str]) -> tuple[Check, str] | None:
    match node:
        case ast.Import(names=names):
            return _import_fault([alias.name for alias in names])
        case ast.ImportFrom(module=name, level=level):
            return _import_fault(["." * level + (name or "")], [a.name for a in node.names])
        case ast.Name(id=name, ctx=ast.Load()) if name not in local:
            return _name_fault(name)
        case ast.Attribute(attr=attr, value=ast.Name(id=base)) if (
            attr in _OUTSIDE_MODULES and base in imported
        ):
            return Check.ISOLATION, f"tool code must not reach {attr} through {base}"
        case ast.Attribute(attr=name) | ast.Constant(value=str(name)):
            return _insides_fault(name)
        case _:
            return None


def _import_fault(modules: list[str], members: list[str] | None = None) -> tuple[Check, str] | None:
    for module in modules:
        if module not in ALLOWED:
            return Check.ISOLATION, f"module {module!r} is not available to tools"
    for member in members or ():
        if member in _OUTSIDE_MODULES:
            return Check.ISOLATION, f"tool code must not import {member} from {modules[0]}"
    return None


def _name_fault(name: str) -> tuple[Check, str] | None:
    if name == "id":
        reason = "an address differs from run to run; name records by a key of their own"
        return Check.DETERMINISM, reason
    if name in _BUILTINS:
        return Check.ISOLATION, f"tool code must not use {name}; keep its data in the module"
    return None


def _insides_fault(name: str) -> tuple[Check, str] | None:
    if name in _INSIDES:
        return Check.ISOLATION, f"tool code must not use {name}, the interpreter's insides"
    if name in _DEFAULTS:
        return (
            Check.SIGNATURE,
            f"tool code must not change {name}; give the defaults in the signature",
        )
    return None
