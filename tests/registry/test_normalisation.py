"""How schemas of any dialect become one: references, limits, roots, wrappings, types."""

from typing import Any

import pytest

from astra_mcp.schemas import compile_schema
from registry.documents.normalisation import NormalTool, normalise_tool, tool_hash
from registry.documents.sources import Rejection, ToolDocument, ToolReason


def document(schema: Any = None, name: str = "find", **members: Any) -> ToolDocument:
    return ToolDocument(name=name, description="Find it there", input_schema=schema, **members)


def normal(schema: Any = None, **members: Any) -> NormalTool:
    found = normalise_tool(document(schema, **members))
    assert isinstance(found, NormalTool), found
    compile_schema(found.spec.input_schema)
    return found


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


def property_a(schema: Any, **beside: Any) -> Any:
    """What becomes of a schema as that of a property."""
    return normal({**of(a=schema), **beside}).spec.input_schema["properties"]["a"]


# References

HERE = "https://x.example/s"
INTEGER = {"type": "integer"}
DRAFT_7 = {"$schema": "http://json-schema.org/draft-07/schema#"}


@pytest.mark.parametrize(
    ("reference", "beside"),
    [
        ("#/definitions/T", {"definitions": {"T": INTEGER}}),
        ("#/$defs/a~1b%20~0c", {"$defs": {"a/b ~c": INTEGER}}),
        ("#/anyOf/0/then", {"anyOf": [{"then": INTEGER}]}),
        ("#/components/schemas/T", {"components": {"schemas": {"T": INTEGER}}}),
        ("#t", {"$defs": {"T": {"$anchor": "t", **INTEGER}}}),
        ("#t", {"definitions": {"T": {"$id": "#t", **INTEGER}}}),
        ("https://x.example/t", {"$defs": {"T": {"$id": "https://x.example/t", **INTEGER}}}),
        ("t#/$defs/U", {"$id": HERE, "$defs": {"T": {"$id": "t", "$defs": {"U": INTEGER}}}}),
        (f"{HERE}#/$defs/T", {"$id": HERE, "$defs": {"T": INTEGER}}),
    ],
)
def test_a_reference_is_replaced_by_what_it_names(reference: str, beside: dict[str, Any]) -> None:
    tool = normal({**of(a={"$ref": reference}), **beside})

    assert tool.spec.input_schema["properties"]["a"] == INTEGER
    assert not any("components" in note for note in tool.notes)


def test_references_within_a_part_with_an_id_of_its_own_start_there() -> None:
    inner = {
        "$id": "https://x.example/inner",
        "$defs": {"T": {"type": "boolean"}},
        "properties": {"b": {"$ref": "#/$defs/T"}},
    }
    tool = normal({**of(a=inner), "$defs": {"T": {"type": "string"}}})

    assert tool.spec.input_schema == of(a={"properties": {"b": {"type": "boolean"}}})
    assert tool.notes == ()


def test_what_is_said_beside_a_reference_is_kept() -> None:
    defs = {"$defs": {"T": {"type": "string", "description": "any"}}}

    assert property_a({"$ref": "#/$defs/T", "description": "this", "default": "x"}, **defs) == {
        "type": "string",
        "description": "this",
        "default": "x",
    }
    assert property_a({"$ref": "#/$defs/T", "maxLength": 3}, **defs) == {
        "maxLength": 3,
        "allOf": [{"type": "string", "description": "any"}],
    }


def test_constraints_beside_a_reference_do_not_count_where_the_dialect_ignores_them() -> None:
    limited = of(a={"$ref": "#/definitions/T", "maxLength": 3})
    tool = normal({**DRAFT_7, "definitions": {"T": {"type": "string"}}, **limited})

    assert tool.spec.input_schema == of(a={"type": "string"})
    assert "'maxLength' beside $ref" in tool.notes[0]


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = of(a=schema)
    return schema


A = "input_schema.properties.a"
OUTSIDE = ("https://x.example/other.json", "other.json", "#nowhere", "//[")
ROUND = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
STRUCTURES = {"properties": [1], "anyOf": {"type": "string"}, "not": 3, "patternProperties": "x"}
NO_TYPES: list[Any] = ["quux", 7, ["string", {"type": "null"}], {"type": "string"}]
NO_OBJECTS: list[Any] = [False, "object", 3, [], {"type": "array"}, {"not": {}}]
NOT_CONVERTIBLE: list[tuple[Any, str]] = [
    *((of(a={"$ref": reference}), f"{A}.$ref: ") for reference in OUTSIDE),
    ({"anyOf": [{}], **of(a={"$ref": "#/anyOf/" + "9" * 5000})}, "names no schema"),
    ({**of(x={"$ref": "#/$defs/a"}), "$defs": ROUND}, "itself alone"),
    (of(**{f"p{n}": {} for n in range(5000)}), "more than 4000 parts"),
    (nested(600), "levels deep"),
    *((of(a={"type": kind}), f"{A}.type") for kind in NO_TYPES),
    *((of(a={k: v}), f"{A}.{k}") for k, v in {**STRUCTURES, "items": 1}.items()),
    *((of(a={"enum": [v]}), f"{A}.enum[0]") for v in ("\ud800", "a\0", 2**70, float("nan"))),
    *((schema, "input_schema") for schema in NO_OBJECTS),
]


@pytest.mark.claim("P20")
@pytest.mark.parametrize(("schema", "said"), NOT_CONVERTIBLE, ids=[s for _, s in NOT_CONVERTIBLE])
def test_what_cannot_be_mapped_rejects_the_tool_with_its_place(schema: Any, said: str) -> None:
    found = normalise_tool(document(schema))
    assert isinstance(found, Rejection)
    assert found.reason is ToolReason.NOT_CONVERTIBLE
    assert found.detail.startswith("input_schema")
    assert said in found.detail


def test_a_schema_that_holds_itself_at_the_root_is_cut_at_its_first_return() -> None:
    schema = {**of(name={"type": "string"}, parent={"$ref": "#"}), "additionalProperties": False}
    tool = normal(schema)

    assert tool.spec.input_schema["properties"]["parent"] == {
        "type": "object",
        "description": "(of the same form as all)",
    }
    assert tool.notes == (
        "input_schema.properties.parent: '#' is not written out here, it contains itself",
    )


def test_many_types_that_name_each_other_are_cut_where_they_would_fill_the_context() -> None:
    names = [f"T{n}" for n in range(12)]
    defs = {name: of(**{other: {"$ref": f"#/$defs/{other}"} for other in names}) for name in names}
    tool = normal({**of(start={"$ref": "#/$defs/T0"}), "$defs": defs})

    assert any("the whole grows too large" in note for note in tool.notes)
    assert len(tool.notes) <= 41


def test_doubling_references_never_blow_up() -> None:
    doubled = {
        f"d{n}": of(**{side: {"$ref": f"#/$defs/d{n + 1}"} for side in "lr"}) for n in range(30)
    }
    tool = normal({**of(a={"$ref": "#/$defs/d0"}), "$defs": {**doubled, "d30": {"type": "string"}}})

    assert any("too large" in note for note in tool.notes)


def test_a_cut_under_a_negation_drops_the_negation() -> None:
    node = of(child={"not": {"$ref": "#/$defs/N"}})
    tool = normal({**of(a={"$ref": "#/$defs/N"}), "$defs": {"N": node}})

    assert tool.spec.input_schema["properties"]["a"] == of(child={})
    assert any(".not: left out" in note for note in tool.notes)


# Dialects and types


@pytest.mark.parametrize(
    ("found", "written"),
    [
        ({"type": "dict"}, {"type": "object"}),
        ({"type": "tuple"}, {"type": "array", "items": {}}),
        ({"type": "List[str]"}, {"type": "array", "items": {}}),
        ({"type": "Optional[int]"}, {"type": ["integer", "null"]}),
        ({"type": "str | None"}, {"type": ["string", "null"]}),
        ({"type": "STRING"}, {"type": "string"}),
        ({"type": "DATE (YYYY-MM-DD)"}, {"type": "string"}),
        ({"type": "str, optional"}, {"type": "string"}),
        ({"type": "Any"}, {}),
        ({"type": None}, {}),
        ({"type": []}, {}),
        ({"type": ["number", "integer"]}, {"type": "number"}),
        ({"type": ["string"]}, {"type": "string"}),
        # Keywords of OpenAPI
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"enum": ["x"], "nullable": True}, {"anyOf": [{"enum": ["x"]}, {"type": "null"}]}),
        (
            {"type": "string", "enum": ["x"], "nullable": True, "default": None},
            {"type": ["string", "null"], "enum": ["x", None], "default": None},
        ),
        ({"type": "string", "nullable": False, "example": "x"}, {"type": "string", "examples": ["x"]}),
        ({"type": "number", "maximum": 5, "exclusiveMaximum": True},
         {"type": "number", "exclusiveMaximum": 5}),
    ],
)  # fmt: skip
def test_types_of_programming_languages_and_keywords_of_openapi_are_translated(
    found: dict[str, Any], written: dict[str, Any]
) -> None:
    assert property_a(found) == written


def test_what_properties_ask_of_each_other_is_translated_from_older_dialects_only() -> None:
    schema = {**of(a={}, b={}), "dependencies": {"a": ["b"]}}
    old = normal({**schema, **DRAFT_7})
    new = normal(schema)

    assert old.spec.input_schema["dependentRequired"] == {"a": ["b"]}
    assert new.spec.input_schema == of(a={}, b={})
    assert new.notes == ("input_schema.dependencies: left out, its dialect ignores it",)


def test_keywords_that_a_declared_dialect_does_not_have_are_left_out() -> None:
    array = {"type": "array", "prefixItems": [{"type": "string"}]}
    assert property_a(array, **DRAFT_7) == {"type": "array", "items": {}}


@pytest.mark.parametrize(
    ("keyword", "value"),
    [("minLength", "3"), ("minLength", -1), ("maximum", None), ("multipleOf", 0), ("pattern", 5),
     ("uniqueItems", "yes"), ("enum", "a,b"), ("additionalProperties", "no"), ("anyOf", [])],
)  # fmt: skip
def test_a_constraint_that_says_nothing_readable_is_dropped_and_noted(
    keyword: str, value: Any
) -> None:
    tool = normal(of(a={"type": "string", keyword: value}))

    assert tool.spec.input_schema == of(a={"type": "string"})
    assert tool.notes[0].startswith(f"input_schema.properties.a.{keyword}")


# Roots and wrappings


def test_alternatives_at_the_root_are_merged_into_what_any_of_them_takes() -> None:
    text = {"type": "string"}
    by_name = {**of(name=text, limit=INTEGER), "required": ["name", "limit"]}
    by_id = {**of(id=INTEGER, limit=text), "required": ["id", "limit"]}
    tool = normal({"anyOf": [by_name, by_id, {"type": "null"}]})

    merged = of(name=text, limit={"anyOf": [INTEGER, text]}, id=INTEGER)
    assert tool.spec.input_schema == {**merged, "required": ["limit"]}


def test_alternatives_that_take_names_of_a_pattern_do_not_close_the_root() -> None:
    by_pattern: Any = {"patternProperties": {"^x": {}}, "additionalProperties": False}
    tool = normal({"anyOf": [by_pattern, {**of(a={}), "additionalProperties": False}]})
    assert "additionalProperties" not in tool.spec.input_schema


def test_all_parts_of_a_root_are_asked_together() -> None:
    closed = {**of(b={"type": "string"}), "required": ["b"], "additionalProperties": False}
    tool = normal({**of(a={"type": "string"}), "required": ["a"], "allOf": [closed, True]})

    assert tool.spec.input_schema == {
        **of(a={"type": "string"}, b={"type": "string"}),
        "required": ["a", "b"],
        "additionalProperties": False,
    }


def test_conditions_at_the_root_keep_the_names_that_they_mention() -> None:
    kind = {"enum": ["x", "y"]}
    condition = {"properties": {"kind": {"const": "x"}, "mode": {"const": 1}}}
    then = {**of(size=INTEGER), "required": ["size"]}
    tool = normal({**of(kind=kind), "if": condition, "then": then, "enum": [{}]})

    assert tool.spec.input_schema == of(kind=kind, size=INTEGER, mode={})
    assert {note.split(":")[0] for note in tool.notes} == {"input_schema.if", "input_schema.enum"}


@pytest.mark.parametrize(
    "wrapped",
    [
        {"type": "function", "function": {"name": "f", "parameters": of(a={"type": "string"})}},
        {"name": "f", "parameters": of(a={"type": "string"})},
        {"json": of(a={"type": "string"})},
        {"inputSchema": {"json": of(a={"type": "string"})}},
        {"a": {"type": "string"}},
        {"properties": {"a": "str"}},
        {"type": ["object", "null"], "properties": {"a": {"type": "string"}}},
    ],
)
def test_a_schema_is_found_in_what_was_given_for_it(wrapped: dict[str, Any]) -> None:
    assert normal(wrapped).spec.input_schema == of(a={"type": "string"})


@pytest.mark.parametrize("schema", [None, True, {}, {"type": "object", "properties": None}])
def test_a_tool_without_a_schema_takes_no_arguments(schema: Any) -> None:
    assert normal(schema).spec.input_schema == of()


# The tool as a whole


@pytest.mark.parametrize("name", ["", "   "])
def test_an_entry_without_a_name_is_rejected(name: str) -> None:
    found = normalise_tool(document(name=name))

    assert isinstance(found, Rejection)
    assert found.detail.startswith("name")


def test_a_name_that_cannot_be_written_gets_digits_that_tell_it_from_others() -> None:
    names = {normal(name=name).spec.name for name in ("查询", "搜索", "🚆")}

    assert len(names) == 3
    assert all(name.startswith("tool_") for name in names)


def test_a_schema_of_results_is_kept_where_results_are_objects() -> None:
    kept = normal(output_schema={"allOf": [of(a={"type": "str"}), of(b={})]})
    dropped = normal(output_schema={"type": "array", "items": {}})

    assert kept.spec.output_schema == of(a={"type": "string"}, b={})
    assert dropped.spec.output_schema is None
    assert dropped.notes == ("output_schema: left out: output_schema: must be that of an object",)


def test_equal_tools_have_equal_hashes_whatever_the_order_of_their_members() -> None:
    one = normal({"type": "object", "properties": {"a": {"type": "string", "title": "A"}}})
    other = normal({"properties": {"a": {"title": "A", "type": "string"}}, "$comment": "aside"})
    third = normal({"properties": {"a": {"title": "B", "type": "string"}}})

    assert tool_hash(one.spec) == tool_hash(other.spec) != tool_hash(third.spec)
    assert len(tool_hash(one.spec)) == 64


def test_the_document_is_not_changed() -> None:
    schema = {**of(a={"type": "str", "default": None, "enum": ["x", "x"]}), "required": ["b", "b"]}
    before = repr(schema)
    normal(schema)

    assert repr(schema) == before
