"""Does ``tools.py`` define what the document declares? Reads the source, never executes it."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final, cast

from astra_mcp.environments.bundle import EnvironmentDocument
from astra_mcp.environments.syntax import parse_code
from astra_mcp.errors import BundleFault
from astra_mcp.types import ToolSpec, canonical_json

__all__ = ["signature_faults"]

_fault = partial(BundleFault.at, "tools.py")
_TYPES = {
    "str": {"string"},
    "int": {"integer"},
    "float": {"number", "integer"},
    "bool": {"boolean"},
    "list": {"array"},
    "dict": {"object"},
}


_NO_LITERAL: Final = object()
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Parameters = Mapping[str, tuple[ast.expr | None, ast.expr | None]]
"""Each parameter with its default and its annotation; None where it has none."""


def signature_faults(document: EnvironmentDocument, code: str) -> list[BundleFault]:
    """Compare the signature of each tool's top-level function with its input schema."""
    try:
        module = parse_code(code)
    except SyntaxError as error:
        return [_fault(f"line {error.lineno}", f"does not compile: {error.msg}")]
    except (RecursionError, MemoryError):
        return [_fault("", "nests too deeply to be parsed; simplify its expressions")]
    except ValueError as error:
        return [_fault("", f"does not compile: {error}")]
    bound = Counter(_bound_names(module))
    functions = {n.name: n for n in module.body if isinstance(n, _Function)}
    faults: list[BundleFault] = []
    for tool in document.tools:
        function = functions.get(tool.name)
        if function is None:
            message = "define a top-level function of this name; the document declares such a tool"
            faults.append(_fault(tool.name, message))
        elif bound[tool.name] > 1:
            faults.append(_fault(tool.name, "is bound more than once; keep one definition"))
        else:
            faults.extend(_function_faults(tool, function))
    return faults


def _bound_names(module: ast.Module) -> Iterator[str]:
    for node in module.body:
        if isinstance(node, _Function | ast.ClassDef):
            yield node.name
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id
            elif isinstance(inner, ast.alias):
                yield (inner.asname or inner.name).partition(".")[0]
            elif isinstance(inner, _Function | ast.ClassDef):
                yield inner.name


def _function_faults(tool: ToolSpec, function: _Function) -> Iterator[BundleFault]:
    if isinstance(function, ast.AsyncFunctionDef):
        yield _fault(tool.name, "must be a plain function, not async")
    if function.decorator_list:
        yield _fault(tool.name, "must not be decorated: its signature could not be trusted")
    arguments = function.args
    for star in (arguments.vararg, arguments.kwarg):
        if star is not None:
            yield _fault(tool.name, f"must not take *{star.arg}; name every parameter")
    if arguments.posonlyargs:
        yield _fault(tool.name, "must not have positional-only parameters; remove the /")
    yield from _parameter_faults(tool, _parameters(arguments))


def _parameters(arguments: ast.arguments) -> _Parameters:
    plain = [*arguments.posonlyargs, *arguments.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
    defaults = [*missing, *arguments.defaults, *arguments.kw_defaults]
    rows = zip((*plain, *arguments.kwonlyargs), defaults, strict=True)
    return {parameter.arg: (default, parameter.annotation) for parameter, default in rows}


def _parameter_faults(tool: ToolSpec, parameters: _Parameters) -> Iterator[BundleFault]:
    properties = cast("dict[str, dict[str, Any]]", tool.input_schema.get("properties", {}))
    required = set(tool.input_schema.get("required", ()))
    for name in parameters.keys() - properties.keys():
        yield _fault(f"{tool.name}.{name}", "the document does not declare this parameter")
    for name, schema in properties.items():
        field = f"{tool.name}.{name}"
        if name not in parameters:
            yield _fault(field, "the document declares this parameter; the function lacks it")
            continue
        default, annotation = parameters[name]
        yield from _default_faults(field, schema, default, is_required=name in required)
        yield from _annotation_faults(field, schema, annotation)


def _default_faults(
    field: str, schema: Mapping[str, Any], default: ast.expr | None, *, is_required: bool
) -> Iterator[BundleFault]:
    if is_required:
        if default is not None:
            yield _fault(field, "is required in the document, but has a default; remove one")
        elif "default" in schema:
            yield _fault(field, "is required, but its schema names a default; remove one")
        return
    if default is None:
        yield _fault(field, "is optional in the document, but has no default; add one")
        return
    value = _literal(default)
    if value is _NO_LITERAL:
        yield _fault(field, "its default must be a literal, so that it can be compared")
    elif "default" not in schema:
        if value is not None:
            yield _fault(field, f"has the default {value!r}, which its schema must name too")
    elif not _is_same(value, schema["default"]):
        message = f"has the default {value!r}, but its schema says {schema['default']!r}"
        yield _fault(field, message)


def _is_same(left: object, right: object) -> bool:
    """Compare as JSON: 1 equals 1.0, but True does not equal 1."""
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left == right and isinstance(left, bool) == isinstance(right, bool)
    return canonical_json(left) == canonical_json(right)


def _literal(expression: ast.expr) -> object:
    try:
        value: object = ast.literal_eval(expression)
        canonical_json(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return _NO_LITERAL
    return value


def _annotation_faults(
    field: str, schema: Mapping[str, Any], annotation: ast.expr | None
) -> Iterator[BundleFault]:
    declared: Any = schema.get("type")
    declared_types: set[str] = {declared} if isinstance(declared, str) else set(declared or ())
    allowed = _annotated_types(annotation)
    wrong = declared_types - {"null"} - allowed if allowed else set[str]()
    if wrong and annotation is not None:
        message = f"is annotated {ast.unparse(annotation)}, but its schema says {sorted(wrong)}"
        yield _fault(field, message)


def _annotated_types(annotation: ast.expr | None) -> set[str]:
    """JSON types that an annotation allows; empty where it cannot be told."""
    match annotation:
        case ast.Name(id=name) | ast.Subscript(value=ast.Name(id=name)):
            return _TYPES.get(name, set())
        case ast.BinOp(left=left, op=ast.BitOr(), right=ast.Constant(value=None)):
            return _annotated_types(left)
        case _:
            return set()
