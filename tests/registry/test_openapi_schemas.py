"""Schemas of OpenAPI documents: references, inheritance, discriminators, and the way a value goes."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.documents.sources import DocumentFault, ServerDocument
from registry.importers.openapi.document import read_document


def tool_of(schemas: dict[str, Any], request: Any, response: Any = None) -> Any:
    """The tool of an operation that takes one schema and answers another."""
    media = {"application/json": {"schema": request}}
    operation: dict[str, Any] = {"requestBody": {"content": media}}
    if response is not None:
        content = {"application/json": {"schema": response}}
        operation["responses"] = {"200": {"description": "OK", "content": content}}
    value: Any = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"post": operation}},
        "components": {"schemas": schemas},
    }
    (server,) = read_document(value, "a.json")
    assert isinstance(server, ServerDocument)
    return server.tools[0]


def accepts(schema: Any, value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema, offline=True).is_valid(value)


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def test_a_tool_carries_the_definitions_that_it_reaches_and_no_others() -> None:
    schemas = {
        "Deck": {
            "type": "object",
            "properties": {"cabins": {"type": "array", "items": ref("Cabin")}},
        },
        "Cabin": {"type": "object", "properties": {"number": {"type": "integer"}}},
        "Crew": {"type": "object"},
    }
    schema = tool_of(schemas, {"type": "array", "items": ref("Deck")}).input_schema
    assert set(schema["$defs"]) == {"Deck", "Cabin"}
    assert accepts(schema, {"body": [{"cabins": [{"number": 7}]}]})
    assert not accepts(schema, {"body": [{"cabins": [{"number": "seven"}]}]})


def test_an_index_of_any_length_is_a_reference_to_nothing() -> None:
    value: Any = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"get": {"parameters": [{"$ref": "#/tags/" + "9" * 5000}]}}},
        "tags": [{"name": "a"}],
    }
    faults = [each for each in read_document(value, "a.json") if isinstance(each, DocumentFault)]
    assert len(faults) == 1


def test_ancestors_that_are_reached_by_very_many_ways_are_read_once() -> None:
    schemas: dict[str, Any] = {
        f"S{i}": {"allOf": [ref(f"S{i + 1}"), ref(f"S{i + 1}"), ref(f"S{i + 1}")]}
        for i in range(60)
    }
    schemas["S60"] = {"type": "object", "properties": {"a": {"type": "string"}}}
    schema = tool_of(schemas, ref("S0"), ref("S0")).input_schema
    assert schema["properties"] == {"a": {"type": "string"}}


def test_a_schema_that_contains_itself_stays_finite() -> None:
    children = {"type": "array", "items": ref("Node")}
    members = {"name": {"type": "string"}, "children": children}
    node = {"type": "object", "required": ["name"], "properties": members}
    schema = tool_of({"Node": node}, ref("Node")).input_schema
    assert accepts(schema, {"name": "a", "children": [{"name": "b", "children": []}]})
    assert not accepts(schema, {"name": "a", "children": [{"children": []}]})


def test_a_reference_to_any_place_of_the_document_is_followed() -> None:
    schemas: dict[str, Any] = {
        "Ferry": {"type": "object", "properties": {"a/b": {"type": "integer"}}},
        "Copy": {"$ref": "#/components/schemas/Ferry/properties/a~1b"},
    }
    schema = tool_of(schemas, {"type": "array", "items": ref("Copy")}).input_schema
    assert accepts(schema, {"body": [1]})
    assert not accepts(schema, {"body": ["1"]})


def test_two_definitions_of_one_name_are_told_apart() -> None:
    shared = {"properties": {"x": {"type": "string"}}}
    schemas: dict[str, Any] = {
        "A": {
            "type": "object",
            "properties": {"p": {"$ref": "#/components/schemas/B/properties/x"}},
        },
        "B": shared,
        "properties_x": {"type": "integer"},
    }
    request = {"type": "array", "prefixItems": [ref("A"), ref("properties_x")]}
    schema = tool_of(schemas, request).input_schema
    assert accepts(schema, {"body": [{"p": "text"}, 1]})
    assert not accepts(schema, {"body": [{"p": 1}, 1]})


def test_members_go_only_the_way_that_they_are_marked_for() -> None:
    schemas = {
        "Id": {"type": "string", "readOnly": True},
        "Ferry": {
            "type": "object",
            "required": ["id", "name", "pin"],
            "properties": {
                "id": ref("Id"),
                "name": {"type": "string"},
                "pin": {"type": "string", "writeOnly": True},
            },
        },
    }
    tool = tool_of(schemas, ref("Ferry"), ref("Ferry"))
    assert list(tool.input_schema["properties"]) == ["name", "pin"]
    assert tool.input_schema["required"] == ["name", "pin"]
    assert list(tool.output_schema["properties"]) == ["id", "name"]
    assert tool.output_schema["required"] == ["id", "name"]


def test_an_heir_does_not_ask_for_what_its_ancestor_hides() -> None:
    schemas: dict[str, Any] = {
        "Record": {"type": "object", "properties": {"id": {"type": "string", "readOnly": True}}},
        "Ferry": {
            "allOf": [ref("Record"), {"required": ["id", "name"], "properties": {"name": {}}}]
        },
    }
    nested = tool_of(schemas, {"type": "array", "items": ref("Ferry")}).input_schema
    assert accepts(nested, {"body": [{"name": "Island Star"}]})
    spread = tool_of(schemas, ref("Ferry")).input_schema
    assert spread["required"] == ["name"]


def test_inherited_members_are_spread_and_repeated_ones_joined() -> None:
    schemas: dict[str, Any] = {
        "Base": {"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}}},
        "Heir": {
            "allOf": [
                ref("Base"),
                {"properties": {"a": {"maxLength": 3}, "b": {"type": "integer"}}},
            ],
            "description": "An heir.",
        },
    }
    schema = tool_of(schemas, ref("Heir")).input_schema
    assert schema["required"] == ["a"]
    assert accepts(schema, {"a": "abc", "b": 1})
    assert not accepts(schema, {"a": "abcd"})
    assert not accepts(schema, {"a": 1})


def test_an_object_that_closes_itself_does_not_close_its_heirs() -> None:
    closed: dict[str, Any] = {
        "type": "object",
        "properties": {"a": {}},
        "additionalProperties": False,
    }
    alone = tool_of({"Closed": closed}, ref("Closed")).input_schema
    assert alone["additionalProperties"] is False
    heir: dict[str, Any] = {"allOf": [ref("Closed"), {"properties": {"b": {}}}]}
    assert (
        "additionalProperties"
        not in tool_of({"Closed": closed, "Heir": heir}, ref("Heir")).input_schema
    )


PAYMENTS: dict[str, Any] = {
    "Card": {
        "type": "object",
        "required": ["number"],
        "properties": {"number": {"type": "string"}},
    },
    "Cash": {"type": "object", "properties": {"number": {"type": "string"}}},
}


@pytest.mark.parametrize(
    ("mapping", "card", "cash"),
    [
        (None, "Card", "Cash"),
        ({"card": "#/components/schemas/Card", "cash": "Cash"}, "card", "cash"),
    ],
)
def test_a_discriminator_becomes_a_constant_in_each_alternative(
    mapping: dict[str, str] | None, card: str, cash: str
) -> None:
    discriminator: dict[str, Any] = {"propertyName": "kind"}
    if mapping:
        discriminator["mapping"] = mapping
    payment = {"oneOf": [ref("Card"), ref("Cash")], "discriminator": discriminator}
    schema = tool_of({**PAYMENTS, "Payment": payment}, ref("Payment")).input_schema
    assert accepts(schema, {"body": {"kind": card, "number": "1"}})
    assert accepts(schema, {"body": {"kind": cash, "number": "1"}})
    assert not accepts(schema, {"body": {"kind": "cheque", "number": "1"}})
    assert not accepts(schema, {"body": {"kind": card}})
    assert not accepts(schema, {"body": {"number": "1"}})


def test_an_alternative_that_says_its_own_constant_is_left_alone() -> None:
    kind = {"type": "string", "enum": ["card"]}
    card = {"type": "object", "required": ["kind"], "properties": {"kind": kind}}
    payment = {
        "oneOf": [ref("Card")],
        "discriminator": {"propertyName": "kind", "mapping": {"card": "Card"}},
    }
    schema = tool_of({"Card": card, "Payment": payment}, ref("Payment")).input_schema
    assert schema["$defs"]["Payment"]["oneOf"] == [{"$ref": "#/$defs/Card"}]


@pytest.mark.parametrize("is_mapped", [True, False])
def test_a_schema_with_a_discriminator_stands_for_its_heirs(is_mapped: bool) -> None:
    discriminator: dict[str, Any] = {"propertyName": "kind"}
    if is_mapped:
        discriminator["mapping"] = {"Truck": "Truck", "Car": "#/components/schemas/Car"}
    schemas: dict[str, Any] = {
        "Vehicle": {
            "type": "object",
            "required": ["kind", "plate"],
            "discriminator": discriminator,
            "properties": {
                "kind": {"type": "string"},
                "plate": {"type": "string"},
                "tows": ref("Vehicle"),
            },
        },
        "Car": {"allOf": [ref("Vehicle"), {"properties": {"seats": {"type": "integer"}}}]},
        "Truck": {"allOf": [ref("Vehicle"), {"required": ["axles"], "properties": {"axles": {}}}]},
    }
    schema = tool_of(schemas, ref("Vehicle")).input_schema
    car = {"kind": "Car", "plate": "1", "seats": 4}
    assert accepts(schema, {"body": car})
    assert accepts(schema, {"body": {"kind": "Truck", "plate": "2", "axles": 3, "tows": car}})
    assert not accepts(schema, {"body": {"kind": "Truck", "plate": "2"}})
    assert not accepts(schema, {"body": {"kind": "Boat", "plate": "2"}})
    assert not accepts(schema, {"body": {**car, "tows": {"kind": "Truck", "plate": "2"}}})


def test_an_heir_by_name_is_itself_alone() -> None:
    schemas: dict[str, Any] = {
        "Vehicle": {
            "type": "object",
            "discriminator": {"propertyName": "kind"},
            "properties": {"kind": {"type": "string"}},
        },
        "Car": {"allOf": [ref("Vehicle"), {"properties": {"seats": {"type": "integer"}}}]},
    }
    schema = tool_of(schemas, ref("Car")).input_schema
    assert list(schema["properties"]) == ["kind", "seats"]


@pytest.mark.parametrize(
    "found",
    [
        {"type": "string", "format": "binary"},
        {"type": "string", "format": "byte"},
        {"type": "file"},
        {"contentMediaType": "image/png"},
    ],
)
def test_bytes_are_a_text_in_base64(found: dict[str, Any]) -> None:
    request = {"type": "object", "properties": {"photo": found}}
    photo = tool_of({}, request).input_schema["properties"]["photo"]
    assert photo["type"] == "string"
    assert photo["contentEncoding"] == "base64"
    assert "format" not in photo


def test_members_called_like_keywords_are_members() -> None:
    names = ["properties", "required", "$ref", "discriminator", "readOnly", "xml", "allOf"]
    inner = {name: {"type": "string"} for name in names}
    request = {"type": "object", "properties": {"a": {"type": "object", "properties": inner}}}
    assert tool_of({}, request).input_schema["properties"]["a"]["properties"] == inner


KEYWORDS = """$ref allOf oneOf properties required type items discriminator propertyName mapping readOnly
enum additionalProperties format"""
TEXTS = ["#/components/schemas/A", "#/components/schemas/B", "#", "x"]
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(TEXTS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYWORDS.split()), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(a=json_values, b=json_values, request=json_values)
def test_any_schemas_give_a_tool_or_a_fault_and_never_an_exception(
    a: Any, b: Any, request: Any
) -> None:
    media = {"application/json": {"schema": request}}
    operation = {"requestBody": {"content": media}, "responses": {"200": {"content": media}}}
    value: Any = {
        "openapi": "3.0.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"post": operation}},
        "components": {"schemas": {"A": a, "B": b}},
    }
    found = list(read_document(value, "a.json"))
    server = found[-1]
    assert isinstance(server, ServerDocument)
    assert server.tools or any(isinstance(each, DocumentFault) for each in found)
