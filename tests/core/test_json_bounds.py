"""What one JSON text holds is counted exactly, before anything parses it."""

import json
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.text.json_bounds import MAX_DEPTH, bounds_fault

from random_json import random_json

TEXTS = st.text(st.sampled_from(list(',:[]{}"\\ x\u00e9')), max_size=6)
PADDING = b" " * 3 * MAX_DEPTH
"""Short bodies are not looked at, since they can hold too much of nothing."""


def held_by(value: object) -> int:
    """Count names and values as a reader meets them."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return 1 + len(members) + sum(map(held_by, members.values()))
    if isinstance(value, list):
        return 1 + sum(map(held_by, cast("list[Any]", value)))
    return 1


@given(
    value=random_json(TEXTS | st.integers() | st.floats(allow_nan=False), TEXTS, max_leaves=30),
    indent=st.sampled_from([None, 2]),
    ascii_only=st.booleans(),
)
def test_names_and_values_are_counted_whatever_texts_hold(
    value: object, indent: int | None, ascii_only: bool
) -> None:
    body = json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode() + PADDING
    held = held_by(value)
    assert bounds_fault(body, held) is None
    fault = f"at most {held - 1} names and values are accepted in one body: send less at once"
    assert bounds_fault(body, held - 1) == fault


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"[":', "}]")])
def test_levels_are_counted_to_the_bound(opening: str, closing: str) -> None:
    levels = len(opening.replace('"[":', "").replace('"a":', ""))
    deepest = MAX_DEPTH // levels

    def nested(times: int) -> bytes:
        return (opening * times + "1" + closing * times).encode()

    assert bounds_fault(nested(deepest)) is None
    assert bounds_fault(nested(deepest + 1)) == (
        f"at most {MAX_DEPTH} levels of objects and lists are accepted in one body"
    )


def test_many_shallow_objects_are_not_deep() -> None:
    assert bounds_fault(json.dumps([{"a": []}] * 1000).encode()) is None


def test_brackets_in_a_text_are_no_levels() -> None:
    assert bounds_fault(json.dumps({"a": "[" * 5000}).encode()) is None


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" + b"1," * 100_000, id="cut off"),
        pytest.param(b"[" + b"1," * 100_000 + b'"', id="a text that never ends"),
        pytest.param(b"[" + b"1," * 100_000 + b'\\"\\"]', id="backslashes outside of texts"),
        pytest.param(b"[" + b"1," * 100_000 + b'\\"]' + b'"' * 9, id="quotes that do not pair"),
        pytest.param(b"[" + b'"",' * 100_000 + b'""]', id="empty texts"),
        pytest.param(b"[" * 100_000 + b"]" * 4_000_000, id="more is closed than opened"),
    ],
)
def test_what_is_no_json_at_its_end_is_counted_up_to_there(body: bytes) -> None:
    assert bounds_fault(body) is not None


def test_texts_of_another_encoding_hide_nothing() -> None:
    # A letter with the byte of a quote in it would open a text where there is none.
    body = ('["\u0122",' + "1," * 100_000 + '"\u0122"]').encode("utf-16-be")
    assert bounds_fault(body) == "a body in UTF-8 is accepted, and this one is no JSON in UTF-8"


def test_long_numbers_are_refused_and_long_texts_are_not() -> None:
    number = "7" * 4300
    assert bounds_fault(json.dumps({"n": [number] * 900}).encode()) is None
    fault = "the numbers of one body are too long: send fewer digits"
    assert bounds_fault(f'{{"n": [{",".join([number] * 900)}]}}'.encode()) == fault
    assert bounds_fault(json.dumps({"n": [0.1234567890123456789] * 9000}).encode()) is None
