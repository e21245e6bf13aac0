"""Numbers of any count added, multiplied, divided and the rest of what calculators have keys for."""

import math
from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Final

from astra_mcp.types import JsonValue
from servers.emulated.offline.computing.computation import (
    MAX_BITS,
    Computation,
    computation,
    integer,
    number,
    numbers,
    option,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS", "FUNCTIONS", "exact", "factorial", "logarithm", "power"]

Number = int | float
_MAX_FACTORIAL: Final = 1000
_MAX_INDEX: Final = 10_000
_MAX_FACTORED: Final = 10**12
_MAX_SIEVE: Final = 100_000


def exact(result: int) -> JsonValue:
    """A whole number as JSON has it; beyond 64 bits as a text, which loses no digit."""
    return result if -(2**63) <= result < 2**63 else str(result)


def add(numbers: list[Number]) -> Number:
    """The sum."""
    return sum(numbers)


def subtract(numbers: list[Number]) -> Number:
    """The first without the others."""
    return reduce(lambda a, b: a - b, _some(numbers))


def multiply(numbers: list[Number]) -> Number:
    """The product."""
    result: Number = 1
    for each in numbers:
        result *= each
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise OverflowError
    return result


def divide(numbers: list[Number]) -> Number:
    """The first by the others."""
    return reduce(lambda a, b: a / b, _some(numbers))


def _some(numbers: list[Number]) -> list[Number]:
    if not numbers:
        raise UnfitError("The list of numbers is empty")
    return numbers


def power(base: Number, exponent: Number) -> Number:
    """A power whose size is known before it is taken.

    Raises:
        OverflowError: It is too large.
        UnfitError: It is not real.
    """
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0:
        if base.bit_length() * exponent > MAX_BITS and abs(base) > 1:
            raise OverflowError
        return base**exponent
    result = float(base) ** exponent if exponent >= 0 or base != 0 else base**exponent
    if isinstance(result, complex):
        raise UnfitError(f"{base} to the power of {exponent} is not a real number")
    return result


def _power(base: Number, exponent: Number) -> JsonValue:
    result = power(base, exponent)
    return exact(result) if isinstance(result, int) else result


def root(number: Number, degree: Number) -> float:
    """The real root of a degree."""
    if degree == 0:
        raise UnfitError("The root of degree 0 is not defined")
    if number >= 0:
        return math.cbrt(number) if degree == 3 else float(number) ** (1 / degree)
    if degree % 2 == 1:
        return -math.cbrt(-number) if degree == 3 else -(float(-number) ** (1 / degree))
    raise UnfitError("Cannot take an even root of a negative number")


def square_root(number: Number) -> float:
    """The square root of what is not negative."""
    if number < 0:
        raise UnfitError("Cannot calculate the square root of a negative number")
    return math.sqrt(number)


def factorial(number: int) -> int:
    """The product of all whole numbers up to one."""
    if number < 0:
        raise UnfitError("Factorial is not defined for negative numbers")
    if number > _MAX_FACTORIAL:
        raise OverflowError
    return math.factorial(number)


def _factorial(number: int) -> JsonValue:
    return exact(factorial(number))


def logarithm(number: Number, base: Number) -> float:
    """To any base; 10 and 2 without a detour."""
    if number <= 0:
        raise UnfitError("Logarithm is only defined for positive numbers")
    if base <= 0 or base == 1:
        raise UnfitError("The base of a logarithm must be positive and not 1")
    if base in (2, 10):
        return math.log2(number) if base == 2 else math.log10(number)
    return math.log(number) if base == math.e else math.log(number, base)


def _log(number: Number, base: str) -> float:
    named = {"log10": 10.0, "log2": 2.0}
    return logarithm(number, named.get(base, math.e))


def is_prime(number: int) -> bool:
    """Whether a number has no divisor but itself and 1."""
    _bounded(number, _MAX_FACTORED)
    return number > 1 and _least_factor(number) == number


def _bounded(number: int, most: int) -> None:
    if number > most:
        raise UnfitError(f"{number} is too large: at most {most} is supported")


def _least_factor(number: int) -> int:
    if number % 2 == 0:
        return 2
    odd = range(3, math.isqrt(number) + 1, 2)
    return next((factor for factor in odd if number % factor == 0), number)


def prime_factors(number: int) -> JsonValue:
    """All prime factors, ascending, each as often as it divides."""
    _bounded(number, _MAX_FACTORED)
    if number < 2:
        raise UnfitError("Prime factors are defined for numbers from 2 on")
    found: list[JsonValue] = []
    while number > 1:
        factor = _least_factor(number)
        found.append(factor)
        number //= factor
    return found


def primes_up_to(limit: int) -> JsonValue:
    """All primes up to a number, itself included."""
    _bounded(limit, _MAX_SIEVE)
    sieve = bytearray([1]) * (max(limit, 1) + 1)
    sieve[:2] = b"\0\0"
    for n in range(2, math.isqrt(max(limit, 1)) + 1):
        if sieve[n]:
            sieve[n * n :: n] = bytes(len(range(n * n, len(sieve), n)))
    return [n for n, is_left in enumerate(sieve) if is_left]


def divisors(number: int) -> JsonValue:
    """All divisors, ascending."""
    _bounded(number, _MAX_FACTORED)
    if number < 1:
        raise UnfitError("Divisors are defined for positive numbers")
    low = [n for n in range(1, math.isqrt(number) + 1) if number % n == 0]
    return [*low, *(number // n for n in reversed(low) if n * n != number)]


def fibonacci(number: int, form: str) -> JsonValue:
    """The number of an index, from F(0) = 0; or so many from the beginning."""
    if not 0 <= number <= _MAX_INDEX:
        raise UnfitError(f"n must be between 0 and {_MAX_INDEX}")
    if form == "sequence":
        _bounded(number, 1000)
    a, b, row = 0, 1, list[JsonValue]()
    for _ in range(number):
        row.append(exact(a) if form == "sequence" else None)
        a, b = b, a + b
    return row if form == "sequence" else exact(a)


def _angle(function: Callable[[float], float], number: Number, unit: str) -> float:
    return function(math.radians(number) if unit.lower().startswith("deg") else number)


def _arc(function: Callable[[float], float], number: Number, unit: str) -> float:
    if function is not math.atan and not -1 <= number <= 1:
        raise UnfitError(f"{number} is not between -1 and 1")
    result = function(number)
    return math.degrees(result) if unit.lower().startswith("deg") else result


def _atan2(y: Number, x: Number) -> float:
    return math.atan2(y, x)


def _whole(function: Callable[[list[int]], int], numbers: list[Number]) -> JsonValue:
    if not numbers or not all(float(n).is_integer() for n in numbers):
        raise UnfitError("Only whole numbers are supported")
    return exact(function([int(n) for n in numbers]))


def _gcd(numbers: list[int]) -> int:
    return math.gcd(*numbers)


def lcm(numbers: list[int]) -> int:
    """The least common multiple, as long as it stays short."""
    result = 1
    for each in numbers:
        result = math.lcm(result, each)
        if result.bit_length() > MAX_BITS:
            raise OverflowError
    return result


def _counted(function: Callable[[int, int], int], n: int, k: int) -> JsonValue:
    if n < 0 or k < 0:
        raise UnfitError("n and r must not be negative")
    _bounded(n, _MAX_FACTORIAL)
    return exact(function(n, k))


def _halved(number: Number, *, is_even: bool) -> bool:
    if not float(number).is_integer():
        raise UnfitError(f"{number} is not a whole number")
    return (number % 2 == 0) is is_even


def compare(a: Number, b: Number) -> JsonValue:
    """How two numbers stand."""
    relation = "equal" if a == b else ("greater" if a > b else "less")
    return {"result": relation, "difference": a - b}


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "sqrt": square_root, "cbrt": math.cbrt, "abs": abs, "floor": math.floor, "ceil": math.ceil,
    "round": round, "trunc": math.trunc, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": partial(_arc, math.asin, unit="rad"), "acos": partial(_arc, math.acos, unit="rad"),
    "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh, "tanh": math.tanh, "exp": math.exp,
    "ln": partial(logarithm, base=math.e), "log2": partial(logarithm, base=2), "log10": partial(logarithm, base=10),
    "degrees": math.degrees, "radians": math.radians, "factorial": factorial, "hypot": math.hypot,
    "gcd": math.gcd, "min": min, "max": max, "pow": power,
}  # fmt: skip
"""What expressions may call."""


def _of_one(function: Callable[[Number], Number | bool]) -> Callable[..., JsonValue]:
    def run(number: Number) -> JsonValue:
        return function(number)

    return run


def _of_two(function: Callable[[Number, Number], Number]) -> Callable[..., JsonValue]:
    def run(a: Number, b: Number) -> JsonValue:
        return function(a, b)

    return run


def _rounded(number: Number, decimals: int) -> Number:
    if abs(decimals) > 308:
        raise UnfitError("decimals is out of range")
    return round(number, decimals) if decimals else round(number)


_ONE: Final = number("number", "n x value num a input angle", is_neutral=True)
_WHOLE: Final = integer("number", "n x value num a integer", is_neutral=True)
_UNIT: Final = option(
    "unit", "angle_unit units mode", "radians",
    "degree=degrees degrees deg=degrees radian=radians radians rad=radians",
)  # fmt: skip
_ANGLE: Final = number(
    "number",
    "angle x value n theta degrees radians angle_degrees angle_radians a num",
    is_neutral=True,
)
_TWO: Final = (
    number("a", "dividend numerator x number1 num1", is_neutral=True),
    number("b", "divisor denominator modulus y number2 num2", is_neutral=True),
)


def _subtracted(minuend: Number, subtrahend: Number) -> Number:
    return minuend - subtrahend


def _divided(dividend: Number, divisor: Number) -> Number:
    return dividend / divisor


_MANY: Final = numbers(is_neutral=True)
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("add, addition, sum, plus, total, summation, adder", add, _MANY, beside="up together"),
    computation("subtract, sub, subtraction, difference, minus", _subtracted,
                number("minuend"), number("subtrahend")),
    computation("subtract, sub, subtraction, difference, minus", subtract, _MANY),
    computation("multiply, mul, multiplication, product, times", multiply, _MANY),
    computation("divide, div, division, quotient", _divided,
                number("dividend", "numerator"), number("divisor", "denominator")),
    computation("divide, div, division, quotient", divide, _MANY),
    computation("modulo, mod, modulus, remainder, modular", _of_two(lambda a, b: a % b), *_TWO, beside="division"),
    computation("floor division, floor divide, integer division, integer divide", _of_two(lambda a, b: a // b), *_TWO),
    computation("power, pow, exponent, exponentiate, exponentiation, raise power", _power,
                number("base", "x number value", is_neutral=True),
                number("exponent", "power exp y n", is_neutral=True), beside="raise calculate"),
    computation("square root, sqrt, squareroot", square_root, _ONE),
    computation("cube root, cbrt, cuberoot", _of_one(math.cbrt), _ONE),
    computation("root, nth root", root, number("number", "radicand x value base", is_neutral=True),
                number("degree", "n root index k", is_neutral=True), beside="nth"),
    computation("square, squared", _of_one(lambda number: number * number), _ONE),
    computation("cube, cubed", _of_one(lambda number: number**3), _ONE),
    computation("absolute, abs, absolute value", _of_one(abs), _ONE, beside="value"),
    computation("negate, negation", _of_one(lambda number: -number), _ONE),
    computation("reciprocal", _of_one(lambda number: 1 / number), _ONE),
    computation("floor", _of_one(math.floor), _ONE, beside="round down"),
    computation("ceil, ceiling", _of_one(math.ceil), _ONE, beside="round up"),
    computation("truncate, trunc", _of_one(math.trunc), _ONE),
    computation("round, rounding", _rounded,
                integer("decimals", "precision decimal_places digits places ndigits num_digits", default=0),
                _ONE, beside="off decimal place nearest"),
    computation("factorial", _factorial, _WHOLE),
    computation("gcd, hcf, greatest common divisor, highest common factor, greatest common factor",
                partial(_whole, _gcd), _MANY),
    computation("lcm, least common multiple, lowest common multiple", partial(_whole, lcm), _MANY),
    computation("prime, primality", is_prime, _WHOLE, beside="test is check"),
    computation("prime factor, factorize, prime factorization, factorization", prime_factors, _WHOLE),
    computation("generate prime, list prime, prime", primes_up_to, integer("limit", "max upper_limit up_to max_value")),
    computation("divisor, factor", divisors, _WHOLE),
    computation("fibonacci", fibonacci, integer("number", "n index count position length terms limit", is_neutral=True),
                option("form", "", "number", "sequence series=sequence terms=sequence list=sequence"),
                beside="nth sequence generate"),
    computation("permutation", partial(_counted, math.perm), integer("n", "total"), integer("k", "r choose")),
    computation("combination, binomial, binomial coefficient, choose", partial(_counted, math.comb),
                integer("n", "total"), integer("k", "r choose")),
    computation("even", partial(_halved, is_even=True), _ONE),
    computation("odd", partial(_halved, is_even=False), _ONE),
    computation("compare", compare, *_TWO, is_sure=False),
    *(computation(f"{name}, {word}", partial(_angle, function), _ANGLE, _UNIT) for name, word, function in (
        ("sin", "sine", math.sin), ("cos", "cosine", math.cos), ("tan", "tangent", math.tan))),
    *(computation(words, partial(_arc, function), _ANGLE, _UNIT) for words, function in (
        ("asin, arcsin, arcsine, inverse sine", math.asin),
        ("acos, arccos, arccosine, inverse cosine", math.acos),
        ("atan, arctan, arctangent, inverse tangent", math.atan))),
    computation("atan2", _atan2, number("y"), number("x")),
    *(computation(words, _of_one(function), _ONE) for words, function in (
        ("sinh, hyperbolic sine", math.sinh), ("cosh, hyperbolic cosine", math.cosh),
        ("tanh, hyperbolic tangent", math.tanh), ("exp, exponential", math.exp))),
    computation("log, logarithm", logarithm, number("number", "x value n a num argument"), number("base", "b")),
    computation("log, logarithm, ln", _log, _ONE, option("base", "", "natural", "natural ln log10 log2")),
    computation("log10, common logarithm, common log", partial(logarithm, base=10), _ONE, beside="base"),
    computation("log2, binary logarithm, binary log", partial(logarithm, base=2), _ONE, beside="base"),
    computation("hypotenuse, hypot", _of_two(math.hypot), *_TWO),
)  # fmt: skip
