"""Expressions as people write them, such as ``2 * (3 + 4)^2``: parsed, walked and bounded, never run."""

import ast
import math
import operator
import re
from collections.abc import Callable
from typing import Final

from astra_mcp.types import JsonValue
from servers.emulated.offline.computing.computation import (
    MAX_BITS,
    Computation,
    computation,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError
from servers.emulated.offline.computing.subjects.arithmetic import (
    FUNCTIONS,
    exact,
    logarithm,
    power,
)

__all__ = ["COMPUTATIONS", "evaluate"]

_MAX_LENGTH: Final = 1000
_MAX_NODES: Final = 400
_MAX_DEPTH: Final = 60
_NAMES: Final = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf}
_SIGNS: Final = str.maketrans({"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})
_CALL: Final = re.compile(r"\b(?:math|Math|np|numpy)\.")
_TIMES: Final = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)(?=\(|(?:pi|π|sqrt)\b)")
Number = int | float
_BINARY: Final[dict[type[ast.operator], Callable[[Number, Number], Number]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: operator.mod,
    ast.Pow: power,
}


def evaluate(expression: str) -> Number:
    """Work out an expression of numbers, the usual operators, functions and constants.

    ``^`` is a power, as on calculators; ``log`` is the natural logarithm of one number, or that of a base.

    Raises:
        UnfitError: It is none, or too long.
        ZeroDivisionError: It divides by zero.
        OverflowError: A number on the way is too large.
    """
    if len(expression) > _MAX_LENGTH:
        raise UnfitError(f"The expression is longer than {_MAX_LENGTH} characters")
    plain = _CALL.sub("", expression.strip().rstrip("=").strip().translate(_SIGNS))
    plain = _TIMES.sub(r"\1*", plain)
    try:
        tree = ast.parse(plain, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _invalid(expression) from None
    if sum(1 for _ in ast.walk(tree)) > _MAX_NODES:
        raise UnfitError("The expression has too many parts")
    return _value(tree.body, expression, 0)


def _invalid(expression: str) -> UnfitError:
    shown = expression if len(expression) <= 80 else f"{expression[:77]}..."
    return UnfitError(f"Invalid expression: {shown}")


def _value(node: ast.expr, expression: str, depth: int) -> Number:
    if depth > _MAX_DEPTH:
        raise UnfitError("The expression is nested too deeply")
    match node:
        case ast.Constant(value=int() | float() as found) if not isinstance(found, bool):
            return _small(found)
        case ast.Name(id=name) if name.lower() in _NAMES:
            return _NAMES[name.lower()]
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as op, operand=inner):
            value = _value(inner, expression, depth + 1)
            return -value if isinstance(op, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            first = _value(left, expression, depth + 1)
            return _small(_BINARY[type(op)](first, _value(right, expression, depth + 1)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
            values = [_value(each, expression, depth + 1) for each in arguments]
            return _small(_called(name, values, expression))
        case _:
            raise _invalid(expression)


def _called(name: str, values: list[Number], expression: str) -> Number:
    if name == "log":
        if not 1 <= len(values) <= 2:
            raise _invalid(expression)
        return logarithm(values[0], values[1] if len(values) == 2 else math.e)
    function = FUNCTIONS.get(name.lower())
    if function is None:
        raise UnfitError(f"Invalid expression: there is no function {name[:40]}")
    try:
        return function(*values)
    except (TypeError, ValueError):
        raise _invalid(expression) from None


def _small(number: Number) -> Number:
    if isinstance(number, int) and number.bit_length() > MAX_BITS:
        raise OverflowError
    return number


def _calculated(expression: str) -> JsonValue:
    result = evaluate(expression)
    return exact(result) if isinstance(result, int) else result


COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation(
        "calculate, evaluate, calculator, compute, calc, eval, math, expression, calculation, arithmetic",
        _calculated,
        text("expression", "expr math_expression formula calculation mathematical_expression"),
        beside="expression math evaluate calculate compute simple arithmetic formula eval",
    ),
)
