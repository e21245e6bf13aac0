"""YAML as a way to write JSON: by YAML 1.2, bounded, and without tags that make objects."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.importers.yaml_text import YamlError, parse_yaml

from random_json import random_json


def value_of(text: str) -> Any:
    value, faults = parse_yaml(text)
    assert faults == ()
    return value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("2024-01-31", "2024-01-31"),
        ("12:30", "12:30"),
        ("0123", 123),
        ("1.5e3", 1500.0),
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("~", None),
        ("", None),
        ("true", True),
        ("{200: ok, true: b}", {"200": "ok", "true": "b"}),
        ("a: |\n  one\n  two\n", {"a": "one\ntwo\n"}),
        ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
        ("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}", {"a": {"p": 1, "q": 2}, "b": {"q": 3, "p": 1}}),
    ],
)
def test_scalars_and_aliases_are_what_writers_of_documents_mean(text: str, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize("text", [".inf", "-.INF", ".nan", "1e999"])
def test_a_number_that_json_has_not_is_read_as_a_text_and_told_with_its_line(text: str) -> None:
    value, (fault,) = parse_yaml(f"a: 1\nb: {text}")
    assert value == {"a": 1, "b": text}
    assert fault.line == 2
    assert f"{text} is no number of JSON" in fault.reason
    assert value_of(f"'{text}'") == text


texts = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]), max_size=20)
integers = st.integers(-(10**18), 10**18)


@given(random_json(integers | texts, texts.filter(lambda key: key != "<<"), max_leaves=100))
def test_json_means_the_same_as_yaml(value: Any) -> None:
    assert value_of(json.dumps(value, ensure_ascii=False)) == value


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    refused, value = None, None
    try:
        value, _ = parse_yaml(text)
    except YamlError as error:
        refused = error
    assert json.loads(json.dumps(value, allow_nan=False)) == value
    assert refused is None or 1 <= refused.line <= len(text) + 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("a: &a [*a]", "*a stands for nothing before it"),
        ("a: *b", "*b stands for nothing before it"),
        ("x: !!python/object/apply:os.system [ls]", "has no meaning in JSON"),
        ("x: !include secrets.yaml", "has no meaning in JSON"),
        ("a: 1\n---\nb: 2", "line 2: a second document begins"),
        ("? [a]\n: 1", "a key must be a text"),
        ("a: 1\n<<: 2", "<< must name an object"),
        ("[" * 5000, "nested more than 100 levels deep"),
        ("a: [1", "did not find"),
    ],
)
def test_what_is_no_json_is_refused_with_its_line(text: str, fault: str) -> None:
    with pytest.raises(YamlError) as caught:
        parse_yaml(text)
    assert fault in str(caught.value)
    assert "line " in str(caught.value)


def test_a_small_text_cannot_stand_for_a_huge_value() -> None:
    levels = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    text = "\n".join(["a0: &a0 [x, x, x, x, x, x, x, x, x]", *levels])
    with pytest.raises(YamlError, match="stands for more than 2,000,000 values"):
        parse_yaml(text)


def test_a_key_that_stands_twice_is_reported_with_its_line_and_the_first_counts() -> None:
    value, faults = parse_yaml("a: 1\nb: {c: 1, c: 2}\na: 3\n")
    assert value == {"a": 1, "b": {"c": 1}}
    assert [(fault.line, fault.reason) for fault in faults] == [
        (2, "the key 'c' stands twice in one object; the first one counts"),
        (3, "the key 'a' stands twice in one object; the first one counts"),
    ]
