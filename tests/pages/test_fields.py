"""The fields of a tool's form, and what was written there."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.serving.pages.fields import (
    FieldKind,
    fields_of,
    has_form,
    read_fields,
    read_object,
)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "string": st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
        lambda text: "\r" not in text
    ),
    "integer": st.integers(-(2**62), 2**62),
    "number": st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "array": st.lists(st.integers(), max_size=3),
    "object": st.dictionaries(st.text("ab"), st.integers(), max_size=3),
}


def schema_of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@given(st.data())
def test_what_is_written_into_fields_is_read_as_it_was_meant(data: st.DataObject) -> None:
    named = data.draw(st.lists(st.sampled_from(list(VALUES)), max_size=4))
    meant = {f"{kind} {n}": data.draw(VALUES[kind]) for n, kind in enumerate(named)}
    schema = schema_of(**{name: {"type": name.split()[0]} for name in meant})
    form = {
        f"argument:{name}": value if isinstance(value, str) else json.dumps(value)
        for name, value in meant.items()
    }
    assert read_fields(schema, fields_of(schema), form) == (meant, {})


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists), st.text())
def test_no_schema_and_no_text_breaks_a_form(part: Any, written: str) -> None:
    schema = {"type": "object", "properties": {"a": part, "b": {"type": part, "enum": part}}}
    schemas: tuple[dict[str, Any], ...]
    schemas = (schema, {"properties": part}, {"required": part, "properties": {"": {}}})
    for each in schemas:
        fields = fields_of(each)
        form = {field.input_name: written for field in fields}
        arguments, faults = read_fields(each, fields, form)
        assert arguments.keys() <= {field.name for field in fields}
        assert faults or all(field.name in arguments for field in fields if field.is_required)
    read_object(written)


def test_a_reference_within_the_schema_is_followed_and_no_other() -> None:
    definitions = {"Size": {"enum": ["S", "M"]}, "Loop": {"$ref": "#/$defs/Loop"}}
    schema = {
        **schema_of(
            size={"$ref": "#/$defs/Size", "description": "how large"},
            loop={"$ref": "#/$defs/Loop"},
            away={"$ref": "http://foreign.example/schema"},
        ),
        "$defs": definitions,
    }
    size, loop, away = fields_of(schema)
    assert size.choices == (('"S"', "S"), ('"M"', "M"))
    assert size.description == "how large"
    assert loop.kind is away.kind is FieldKind.JSON


@pytest.mark.parametrize(
    ("part", "written", "fault"),
    [
        ({"type": "integer"}, "1.0", "write a whole number"),
        ({"type": "integer"}, "9" * 21, "write a whole number"),
        ({"type": "number"}, "nan", "write a number"),
        ({"type": "number"}, "1e999", "write a number"),
        ({"type": "number"}, "1_0", "write a number"),
        ({"type": "number"}, "\u0663", "write a number"),
        ({"enum": [1, 2]}, "3", "choose one"),
        ({"type": "boolean"}, "maybe", "choose yes or no"),
        ({"type": "string", "format": "date"}, "2026-02-30", "write a date"),
        ({"type": "string", "format": "date"}, "20260131", "write a date"),
        ({"type": "array"}, "[1", "write JSON"),
        ({"type": "object"}, '{"a": 1, "a": 2}', "stands twice"),
        ({"type": "array"}, "[NaN]", "NaN is not JSON"),
        ({"type": "array", "items": {"type": "integer"}}, "1,", "write JSON, such as [1]:"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "two", "write a whole number"),
        ({"anyOf": [{"type": "integer", "maximum": 5}, {"type": "null"}]}, "6", "maximum of 5"),
        ({"type": ["null", "string"], "maxLength": 2}, "abc", "longer than 2"),
        ({"type": "string", "maxLength": 2}, "abc", "longer than 2"),
    ],
)
def test_what_is_wrong_is_said_of_the_field(part: Any, written: str, fault: str) -> None:
    schema = schema_of(it=part)
    _, faults = read_fields(schema, fields_of(schema), {"argument:it": written})
    assert fault in faults["it"]


def test_a_bound_that_no_number_can_have_is_left_out() -> None:
    huge = {"type": "integer", "minimum": 10**400, "maxLength": 10**5000}
    (field,) = fields_of(schema_of(it=huge))
    assert field.minimum is None
    assert field.type_words == "integer"


@pytest.mark.parametrize(
    ("parts", "is_usable"),
    [
        ({f"a{n}": {"type": "string"} for n in range(100)}, True),
        ({f"a{n}": {"type": "string"} for n in range(101)}, False),
        ({f"a{n}": {"enum": ["x" * 1000] * 30} for n in range(2)}, False),
    ],
)
def test_a_form_of_too_many_words_is_none(parts: dict[str, Any], is_usable: bool) -> None:
    assert has_form(fields_of(schema_of(**parts))) is is_usable


def test_what_is_left_empty_is_left_out_unless_it_is_required() -> None:
    schema = {**schema_of(a={"type": "string"}, b={"type": "integer"}), "required": ["b"]}
    assert read_fields(schema, fields_of(schema), {"argument:b": " "}) == ({}, {"b": "is required"})
    assert read_fields(schema, fields_of(schema), {"argument:b": "0"}) == ({"b": 0}, {})


@pytest.mark.parametrize(
    ("part", "kind", "written", "meant"),
    [
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, FieldKind.INTEGER, "7", 7),
        ({"oneOf": [{"type": "null"}, {"type": "number"}]}, FieldKind.NUMBER, "2.5", 2.5),
        ({"type": ["string", "null"]}, FieldKind.TEXT, "null", "null"),
        ({"type": ["boolean", "null"]}, FieldKind.BOOLEAN, "false", False),
        ({"anyOf": [{"$ref": "#/$defs/Size"}, {"type": "null"}]}, FieldKind.CHOICE, '"M"', "M"),
        (
            {"anyOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            FieldKind.DATE,
            "2026-01-31",
            "2026-01-31",
        ),
        ({"anyOf": [{"type": "array"}, {"type": "null"}]}, FieldKind.JSON, "[]", []),
        ({"type": ["string", "integer", "null"]}, FieldKind.JSON, "7", 7),
    ],
)
def test_what_may_also_be_null_has_the_field_of_what_it_is_else(
    part: Any, kind: FieldKind, written: str, meant: Any
) -> None:
    schema = {**schema_of(it=part), "$defs": {"Size": {"enum": ["S", "M"]}}}
    (field,) = fields_of(schema)
    assert field.kind is kind
    assert "null" in field.type_words or kind is FieldKind.CHOICE
    assert read_fields(schema, [field], {"argument:it": written}) == ({"it": meant}, {})
    assert read_fields(schema, [field], {"argument:it": ""}) == ({}, {})


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("sesame\r\n soy \r\n\r\n", ["sesame", "soy"]),
        ('["sesame", "soy"]', ["sesame", "soy"]),
        ("soy", ["soy"]),
        ("[]", []),
    ],
)
def test_a_list_of_texts_is_written_one_a_line_or_as_json(written: str, meant: list[str]) -> None:
    items = {"$ref": "#/$defs/Allergen"}
    definitions = {"Allergen": {"type": "string", "enum": ["sesame", "soy"]}}
    schema = {**schema_of(it={"type": "array", "items": items}), "$defs": definitions}
    (field,) = fields_of(schema)
    assert (field.kind, field.example) == (FieldKind.LINES, '["sesame"]')
    assert field.type_words == "array, one a line of sesame, soy"
    assert read_fields(schema, [field], {"argument:it": written}) == ({"it": meant}, {})
    assert "it" in read_fields(schema, [field], {"argument:it": "wheat"})[1]


def test_what_is_required_and_may_be_null_is_null_where_it_is_left_empty() -> None:
    schema = {**schema_of(it={"type": ["integer", "null"]}), "required": ["it"]}
    (field,) = fields_of(schema)
    assert not field.must_be_written
    assert read_fields(schema, [field], {}) == ({"it": None}, {})


def test_what_is_written_as_json_has_an_example_of_its_type() -> None:
    stop = {"type": "object", "properties": {"day": {"type": "string", "format": "date"}}}
    schema = {
        **schema_of(
            stops={"type": "array", "items": {"$ref": "#/$defs/Stop"}, "default": []},
            either={"anyOf": [{"type": "null"}, {"type": "integer"}, {"type": "string"}]},
            tree={"$ref": "#/$defs/Tree"},
        ),
        "$defs": {
            "Stop": stop,
            "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        },
    }
    stops, either, tree = fields_of(schema)
    assert json.loads(stops.example) == [{"day": "2026-01-31"}]
    assert (either.example, either.type_words) == ("1", "null or integer or string")
    assert tree.example == "[[[[]]]]"
