"""Tools that compute say what Python's own functions say, whatever they and their parameters are called."""

# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false
# The definitions are written as functions of any arguments.
import base64
import hashlib
import hmac
import json
import math
import re
import statistics
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from functools import reduce
from itertools import accumulate
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulated_worlds import World, document_of, spec, text

NUMBER: dict[str, Any] = {"type": "number"}
INTEGER: dict[str, Any] = {"type": "integer"}
NUMBERS: dict[str, Any] = {"type": "array", "items": NUMBER}
ANY_LIST: dict[str, Any] = {"type": "array"}
KINDS: dict[str, dict[str, Any]] = {
    "n": NUMBER, "i": INTEGER, "l": NUMBERS, "t": text, "m": ANY_LIST,
}  # fmt: skip

small = st.integers(-10_000, 10_000)
real = st.floats(-1e6, 1e6, allow_nan=False).map(lambda x: round(x, 4))
rows = st.lists(small, min_size=1, max_size=12)
words = st.text("abc dE,é-_/&=", max_size=30)
days = st.dates(date(1900, 1, 1), date(2100, 1, 1))


@dataclass(frozen=True)
class Case:
    """A definition, and tools that are to follow it."""

    forms: str
    """Names and their parameters with kinds, such as ``add(a:n, b:n)``; one a line."""
    inputs: st.SearchStrategy[tuple[Any, ...]]
    expected: Callable[..., Any]
    key: str = "result"


def sets(*strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.tuples(*strategies)


def lists_of_two(least: int = 2) -> st.SearchStrategy[tuple[list[int], list[int]]]:
    return st.integers(least, 8).flatmap(
        lambda size: st.tuples(*[st.lists(small, min_size=size, max_size=size)] * 2)
    )


CASES = {
    "sum": Case("""add(a:n, b:n)
        add_numbers(first_number:n, second_number:n)
        calculate_sum(x:n, y:n)
        math_add(num1:n, num2:n)""", sets(real, real), lambda a, b: a + b),
    "sum of many": Case("""sum(numbers:l)
        calculate_sum(values:l)
        sumNumbers(list:l)
        add(addends:l)
        total(data:l)""", sets(rows), sum),
    "sum of four": Case("add_numbers(a:n, b:n, c:n, d:n)", sets(*[small] * 4), lambda *row: sum(row)),
    "difference": Case("""subtract(a:n, b:n)
        subtract(minuend:n, subtrahend:n)
        difference(x:n, y:n)
        calc-subtract(first:n, second:n)""", sets(real, real), lambda a, b: a - b),
    "product": Case("""multiply(a:n, b:n)
        multiply_numbers(number_1:n, number_2:n)
        product(x:n, y:n)""", sets(small, small), lambda a, b: a * b),
    "product of many": Case("""multiply(numbers:l)
        calculateProduct(values:l)""", sets(st.lists(st.integers(-30, 30), max_size=8)), lambda row: reduce(lambda a, b: a * b, row, 1)),
    "quotient": Case("""divide(a:n, b:n)
        divide_numbers(dividend:n, divisor:n)
        division(numerator:n, denominator:n)""", sets(real, real.filter(bool)), lambda a, b: a / b),
    "modulo": Case("""modulo(a:i, b:i)
        mod(dividend:i, divisor:i)
        remainder(x:i, y:i)""", sets(small, small.filter(bool)), lambda a, b: a % b),
    "power": Case("""power(base:n, exponent:n)
        pow(x:n, y:n)
        calculate_power(base:n, exp:n)""", sets(st.integers(-20, 20), st.integers(0, 12)), lambda a, b: a**b),
    "square root": Case("""sqrt(number:n)
        square_root(x:n)
        calculateSquareRoot(value:n)""", sets(st.floats(0, 1e12)), math.sqrt),
    "factorial": Case("""factorial(n:i)
        calculate_factorial(number:i)""", sets(st.integers(0, 20)), math.factorial),
    "gcd": Case("""gcd(a:i, b:i)
        greatest_common_divisor(numbers:l)""".replace("numbers:l", "x:i, y:i"), sets(st.integers(1, 10**6), st.integers(1, 10**6)), math.gcd),
    "lcm": Case("lcm(a:i, b:i)\nleast_common_multiple(num1:i, num2:i)", sets(st.integers(1, 9999), st.integers(1, 9999)), math.lcm),
    "prime": Case("""is_prime(n:i)
        check_prime(number:i)""", sets(st.integers(0, 5000)), lambda n: n > 1 and all(n % k for k in range(2, n))),
    "absolute": Case("abs(x:n)\nabsolute_value(number:n)", sets(real), abs),
    "floor": Case("floor(number:n)\nmath_floor(x:n)", sets(real), math.floor),
    "ceil": Case("ceil(number:n)\nceiling(value:n)", sets(real), math.ceil),
    "round": Case("round(number:n, decimals:i)\nround_number(value:n, precision:i)", sets(real, st.integers(1, 4)), round),
    "sine": Case("sin(x:n)\nsine(angle:n)\ncalculate_sin(radians:n)", sets(real), math.sin),
    "logarithm": Case("ln(x:n)\nnatural_log(number:n)", sets(st.floats(1e-6, 1e9)), math.log),
    "logarithm of 10": Case("log10(x:n)", sets(st.floats(1e-6, 1e9)), math.log10),
    "combinations": Case("combinations(n:i, k:i)\ncalculate_combinations(n:i, r:i)", sets(st.integers(0, 30), st.integers(0, 30)), math.comb),
    "mean": Case("""mean(numbers:l)
        calculate_average(data:l)
        get_mean(values:l)""", sets(rows), statistics.fmean),
    "median": Case("median(numbers:l)\ncalculateMedian(values:l)", sets(rows), statistics.median),
    "minimum": Case("min(numbers:l)\nfind_minimum(list:l)\nget_min(a:n, b:n)".replace("\nget_min(a:n, b:n)", ""), sets(rows), min),
    "maximum": Case("max(values:l)\nfindMax(array:l)", sets(rows), max),
    "spread": Case("""standard_deviation(numbers:l)
        sample_stdev(data:l)
        calculate_std_dev(values:l)""", sets(st.lists(small, min_size=2, max_size=9)), statistics.stdev),
    "spread of all": Case("population_standard_deviation(numbers:l)\npstdev(data:l)", sets(rows), statistics.pstdev),
    "variance": Case("variance(numbers:l)", sets(st.lists(small, min_size=2, max_size=9)), statistics.variance),
    "running total": Case("cumulative_sum(numbers:l)", sets(rows), lambda row: [*accumulate(row)]),
    "slope": Case("linear_regression(x:l, y:l)\nregression(x_values:l, y_values:l)",
                  lists_of_two().filter(lambda pair: len(set(pair[0])) > 1), lambda x, y: statistics.linear_regression(x, y).slope, "slope"),
    "correlation": Case("correlation(x:l, y:l)\npearson_correlation(list1:l, list2:l)",
                        lists_of_two().filter(lambda p: min(len(set(p[0])), len(set(p[1]))) > 1), statistics.correlation),
    "fahrenheit": Case("celsius_to_fahrenheit(celsius:n)\nconvertCelsiusToFahrenheit(temperature:n)\nc_to_f(value:n)",
                       sets(st.floats(-200, 1000)), lambda c: c * 9 / 5 + 32),
    "miles": Case("km_to_miles(km:n)\nconvert_kilometers_to_miles(distance:n)\nkm2mi(value:n)", sets(st.floats(0, 1e6)), lambda km: km / 1.609344),
    "pounds": Case("kg_to_lbs(kg:n)\nconvert_kilograms_to_pounds(weight:n)", sets(st.floats(0, 1e6)), lambda kg: kg / 0.45359237),
    "binary": Case("decimal_to_binary(number:i)\ndec_to_bin(n:i)", sets(st.integers(0, 10**9)), lambda n: f"{n:b}"),
    "from hexadecimal": Case("hex_to_decimal(hex:t)", sets(st.integers(0, 10**9).map(hex)), lambda t: int(t, 16)),
    "percentage": Case("percentage(part:n, total:n)\ncalculate_percentage(part:n, whole:n)", sets(real, real.filter(bool)), lambda a, b: a / b * 100),
    "days between": Case("""days_between(start_date:t, end_date:t)
        date_difference(date1:t, date2:t)
        calculateDaysBetweenDates(from_date:t, to_date:t)""", sets(days.map(str), days.map(str)),
        lambda a, b: (date.fromisoformat(b) - date.fromisoformat(a)).days),
    "days later": Case("add_days(date:t, days:i)\naddDaysToDate(start_date:t, days:i)", sets(days.map(str), st.integers(-5000, 5000)),
                       lambda a, n: str(date.fromisoformat(a) + timedelta(days=n))),
    "weekday": Case("day_of_week(date:t)\nget_weekday(date:t)", sets(days.map(str)), lambda a: f"{date.fromisoformat(a):%A}"),
    "leap year": Case("is_leap_year(year:i)\ncheckLeapYear(year:i)", sets(st.integers(1, 9999)), lambda y: y % 4 == 0 and (y % 100 != 0 or y % 400 == 0)),
    "upper": Case("uppercase(text:t)\nto_upper(string:t)\ntoUpperCase(input:t)\nconvert_to_uppercase(message:t)", sets(words), str.upper),
    "lower": Case("to_lowercase(text:t)\nlower(s:t)", sets(words), str.lower),
    "title": Case("title_case(text:t)\nto_title_case(input:t)", sets(words), str.title),
    "reverse": Case("reverse_string(text:t)\nreverse(string:t)\nreverseText(input:t)", sets(words), lambda t: t[::-1]),
    "length": Case("string_length(text:t)\nlength(string:t)\ncount_characters(text:t)", sets(words), len),
    "words": Case("count_words(text:t)\nword_count(content:t)\nwordCount(text:t)", sets(words), lambda t: len(t.split())),
    "replace": Case("replace(text:t, old:t, new:t)\nfind_and_replace(text:t, find:t, replace:t)".replace("find_and_replace", "find_replace"),
                    sets(words, st.text("abc", min_size=1, max_size=2), words), str.replace),
    "trim": Case("trim(text:t)\nstrip_whitespace(string:t)", sets(words), str.strip),
    "contains": Case("contains(text:t, substring:t)", sets(words, words), lambda a, b: b in a),
    "sort": Case("sort_numbers(numbers:l)\nsort_list(items:l)\nsort(values:l)", sets(rows), sorted),
    "md5": Case("md5(text:t)\nmd5_hash(input:t)\ngenerate_md5(data:t)", sets(words), lambda t: hashlib.md5(t.encode()).hexdigest()),
    "sha256": Case("sha256(text:t)\nsha256_hash(input:t)\nhash_sha256(text:t)", sets(words), lambda t: hashlib.sha256(t.encode()).hexdigest()),
    "crc32": Case("crc32(text:t)", sets(words), lambda t: f"{zlib.crc32(t.encode()):08x}"),
    "hmac": Case("hmac_sha256(text:t, key:t)\ngenerate_hmac_sha256(message:t, secret:t)", sets(words, words),
                 lambda t, k: hmac.new(k.encode(), t.encode(), "sha256").hexdigest()),
    "base64": Case("base64_encode(text:t)\nencodeBase64(input:t)\nencode_base64(content:t)", sets(words), lambda t: base64.b64encode(t.encode()).decode()),
    "from base64": Case("base64_decode(encoded:t)\ndecode_base64(text:t)", sets(words.map(lambda t: base64.b64encode(t.encode()).decode())),
                        lambda t: base64.b64decode(t).decode()),
    "url": Case("url_encode(text:t)\nencode_url(url:t)\nurlEncode(input:t)", sets(words), lambda t: quote(t, safe="")),
    "hex": Case("hex_encode(text:t)", sets(words), lambda t: t.encode().hex()),
    "json": Case("minify_json(json:t)", sets(st.dictionaries(words, small).map(lambda d: json.dumps(d, indent=3))),
                 lambda t: json.dumps(json.loads(t), separators=(",", ":"), ensure_ascii=False)),
    "dot product": Case("dot_product(a:l, b:l)\nvector_dot_product(vector1:l, vector2:l)", lists_of_two(1), lambda a, b: sum(x * y for x, y in zip(a, b, strict=True))),
    "transpose": Case("transpose(matrix:m)\nmatrix_transpose(matrix:m)", sets(st.lists(st.lists(small, min_size=3, max_size=3), min_size=1, max_size=4)),
                      lambda m: [list(c) for c in zip(*m, strict=True)]),
    "pieces": Case("extract_regex(text:t, pattern:t)\nregex_find_all(text:t, regex:t)",
                   sets(st.text("ab1 -", max_size=20), st.sampled_from([r"\d+", "a+b?", "[ab]+|-", r"\w+?1", "(?:ab)*", r"\bb", "^a.*$", "a{1,2}"])),
                   lambda t, p: [m[0] for m in re.finditer(p, t)], "matches"),
}  # fmt: skip


def tools(case: Case) -> list[tuple[str, dict[str, dict[str, Any]]]]:
    found: list[tuple[str, dict[str, dict[str, Any]]]] = []
    for form in case.forms.splitlines():
        name, _, inner = form.strip().rstrip(")").partition("(")
        members = (each.split(":") for each in inner.split(", "))
        found.append((name, {key: KINDS[kind] for key, kind in members}))
    return found


@pytest.mark.parametrize("name", CASES)
@settings(max_examples=12)
@given(data=st.data())
def test_a_tool_computes_what_its_name_says(name: str, data: st.DataObject) -> None:
    case = CASES[name]
    tool, parameters = data.draw(st.sampled_from(tools(case)))
    given_values = data.draw(case.inputs)
    shuffled: dict[str, Any] = dict(data.draw(st.permutations([*parameters.items()])))
    world = World(document_of(spec(tool, "", optional=(), **shuffled)))

    answer = world.call(tool, **dict(zip(parameters, given_values, strict=True)))

    expected = case.expected(*given_values)
    if isinstance(expected, float):
        assert answer[case.key] == pytest.approx(expected, rel=1e-9, abs=1e-9)
    else:
        assert answer[case.key] == expected
