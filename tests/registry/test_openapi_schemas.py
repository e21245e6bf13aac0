"""Schemas of OpenAPI documents: references, inheritance, discriminators, and the way a value goes."""

from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.documents.sources import DocumentFault, ServerDocument
from registry.importers.openapi.document import read_document

from random_json import random_json

ANY: dict[str, Any] = {}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}


def found_in(operation: Any, **more: Any) -> list[ServerDocument | DocumentFault]:
    """What a document of one operation holds."""
    info = {"title": "t", "version": "1"}
    value: Any = {"openapi": "3.1.0", "info": info, "paths": {"/a": {"post": operation}}, **more}
    return list(read_document(value, "a.json"))


def content(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def tool_of(schemas: dict[str, Any], request: Any, response: Any = ANY) -> Any:
    """The tool of an operation that takes one schema and answers another."""
    operation = {"requestBody": content(request), "responses": {"200": content(response)}}
    (server,) = found_in(operation, components={"schemas": schemas})
    assert isinstance(server, ServerDocument)
    return server.tools[0]


def accepts(schema: Any, value: Any) -> bool:
    return jsonschema_rs.Draft202012Validator(schema, offline=True).is_valid(value)


def ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def of(*required: str, **properties: Any) -> dict[str, Any]:
    """A schema of an object with these properties."""
    asked = {"required": list(required)} if required else {}
    return {"type": "object", **asked, "properties": properties}


def list_of(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


def test_a_tool_carries_the_definitions_that_it_reaches_and_no_others() -> None:
    deck, cabin = of(cabins=list_of(ref("Cabin"))), of(number=NUMBER)
    schemas = {"Deck": deck, "Cabin": cabin, "Crew": {"type": "object"}}
    schema = tool_of(schemas, list_of(ref("Deck"))).input_schema
    assert set(schema["$defs"]) == {"Deck", "Cabin"}
    assert accepts(schema, {"body": [{"cabins": [{"number": 7}]}]})
    assert not accepts(schema, {"body": [{"cabins": [{"number": "seven"}]}]})


def test_an_index_of_any_length_is_a_reference_to_nothing() -> None:
    operation = {"parameters": [{"$ref": "#/tags/" + "9" * 5000}]}
    found = found_in(operation, tags=[{"name": "a"}])
    assert sum(isinstance(each, DocumentFault) for each in found) == 1


def test_ancestors_that_are_reached_by_very_many_ways_are_read_once() -> None:
    schemas: dict[str, Any] = {f"S{i}": {"allOf": [ref(f"S{i + 1}")] * 3} for i in range(60)}
    schemas["S60"] = of(a=TEXT)
    schema = tool_of(schemas, ref("S0"), ref("S0")).input_schema
    assert schema["properties"] == {"a": TEXT}


def test_a_schema_that_contains_itself_stays_finite() -> None:
    node = of("name", name=TEXT, children=list_of(ref("Node")))
    schema = tool_of({"Node": node}, ref("Node")).input_schema
    assert accepts(schema, {"name": "a", "children": [{"name": "b", "children": []}]})
    assert not accepts(schema, {"name": "a", "children": [{"children": []}]})


def test_a_reference_to_any_place_of_the_document_is_followed() -> None:
    schemas = {"Ferry": of(**{"a/b": NUMBER}), "Copy": ref("Ferry/properties/a~1b")}
    schema = tool_of(schemas, list_of(ref("Copy"))).input_schema
    assert accepts(schema, {"body": [1]})
    assert not accepts(schema, {"body": ["1"]})


def test_two_definitions_of_one_name_are_told_apart() -> None:
    a = of(p=ref("B/properties/x"))
    schemas = {"A": a, "B": {"properties": {"x": TEXT}}, "properties_x": NUMBER}
    request = {"type": "array", "prefixItems": [ref("A"), ref("properties_x")]}
    schema = tool_of(schemas, request).input_schema
    assert accepts(schema, {"body": [{"p": "text"}, 1]})
    assert not accepts(schema, {"body": [{"p": 1}, 1]})


def test_members_go_only_the_way_that_they_are_marked_for() -> None:
    pin = {**TEXT, "writeOnly": True}
    ferry = of("id", "name", "pin", id=ref("Id"), name=TEXT, pin=pin)
    schemas = {"Id": {**TEXT, "readOnly": True}, "Ferry": ferry}
    tool = tool_of(schemas, ref("Ferry"), ref("Ferry"))
    assert list(tool.input_schema["properties"]) == ["name", "pin"]
    assert tool.input_schema["required"] == ["name", "pin"]
    assert list(tool.output_schema["properties"]) == ["id", "name"]
    assert tool.output_schema["required"] == ["id", "name"]


def test_an_heir_does_not_ask_for_what_its_ancestor_hides() -> None:
    own = {"required": ["id", "name"], "properties": {"name": ANY}}
    ferry = {"allOf": [ref("Record"), own]}
    schemas = {"Record": of(id={**TEXT, "readOnly": True}), "Ferry": ferry}
    nested = tool_of(schemas, list_of(ref("Ferry"))).input_schema
    assert accepts(nested, {"body": [{"name": "Island Star"}]})
    spread = tool_of(schemas, ref("Ferry")).input_schema
    assert spread["required"] == ["name"]


def test_inherited_members_are_spread_and_repeated_ones_joined() -> None:
    own = {"properties": {"a": {"maxLength": 3}, "b": NUMBER}}
    heir = {"allOf": [ref("Base"), own], "description": "An heir."}
    schema = tool_of({"Base": of("a", a=TEXT), "Heir": heir}, ref("Heir")).input_schema
    assert schema["required"] == ["a"]
    assert accepts(schema, {"a": "abc", "b": 1})
    assert not accepts(schema, {"a": "abcd"})
    assert not accepts(schema, {"a": 1})


def test_an_object_that_closes_itself_does_not_close_its_heirs() -> None:
    heir = {"allOf": [ref("Closed"), {"properties": {"b": ANY}}]}
    schemas = {"Closed": {**of(a={}), "additionalProperties": False}, "Heir": heir}
    assert tool_of(schemas, ref("Closed")).input_schema["additionalProperties"] is False
    assert "additionalProperties" not in tool_of(schemas, ref("Heir")).input_schema


PAYMENTS = {"Card": of("number", number=TEXT), "Cash": of(number=TEXT)}


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
    card = of("kind", kind={**TEXT, "enum": ["card"]})
    discriminator = {"propertyName": "kind", "mapping": {"card": "Card"}}
    payment = {"oneOf": [ref("Card")], "discriminator": discriminator}
    schema = tool_of({"Card": card, "Payment": payment}, ref("Payment")).input_schema
    assert schema["$defs"]["Payment"]["oneOf"] == [{"$ref": "#/$defs/Card"}]


@pytest.mark.parametrize("is_mapped", [True, False])
def test_a_schema_with_a_discriminator_stands_for_its_heirs(is_mapped: bool) -> None:
    discriminator: dict[str, Any] = {"propertyName": "kind"}
    if is_mapped:
        discriminator["mapping"] = {"Truck": "Truck", "Car": "#/components/schemas/Car"}
    vehicle = of("kind", "plate", kind=TEXT, plate=TEXT, tows=ref("Vehicle"))
    schemas = {
        "Vehicle": {**vehicle, "discriminator": discriminator},
        "Car": {"allOf": [ref("Vehicle"), {"properties": {"seats": NUMBER}}]},
        "Truck": {"allOf": [ref("Vehicle"), {"required": ["axles"], "properties": {"axles": ANY}}]},
    }
    schema = tool_of(schemas, ref("Vehicle")).input_schema
    car = {"kind": "Car", "plate": "1", "seats": 4}
    assert accepts(schema, {"body": car})
    assert accepts(schema, {"body": {"kind": "Truck", "plate": "2", "axles": 3, "tows": car}})
    assert not accepts(schema, {"body": {"kind": "Truck", "plate": "2"}})
    assert not accepts(schema, {"body": {"kind": "Boat", "plate": "2"}})
    assert not accepts(schema, {"body": {**car, "tows": {"kind": "Truck", "plate": "2"}}})


def test_an_heir_by_name_is_itself_alone() -> None:
    vehicle = {**of(kind=TEXT), "discriminator": {"propertyName": "kind"}}
    car = {"allOf": [ref("Vehicle"), {"properties": {"seats": NUMBER}}]}
    schema = tool_of({"Vehicle": vehicle, "Car": car}, ref("Car")).input_schema
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
    photo = tool_of({}, of(photo=found)).input_schema["properties"]["photo"]
    assert photo["type"] == "string"
    assert photo["contentEncoding"] == "base64"
    assert "format" not in photo


def test_members_called_like_keywords_are_members() -> None:
    names = ["properties", "required", "$ref", "discriminator", "readOnly", "xml", "allOf"]
    inner = dict.fromkeys(names, TEXT)
    assert tool_of({}, of(a=of(**inner))).input_schema["properties"]["a"]["properties"] == inner


KEYWORDS = """$ref allOf oneOf properties required type items discriminator propertyName mapping readOnly
enum additionalProperties format"""
TEXTS = ["#/components/schemas/A", "#/components/schemas/B", "#", "x"]
json_values = random_json(st.sampled_from(TEXTS), st.sampled_from(KEYWORDS.split()), max_leaves=15)


@given(a=json_values, b=json_values, request=json_values)
def test_any_schemas_give_a_tool_or_a_fault_and_never_an_exception(
    a: Any, b: Any, request: Any
) -> None:
    operation = {"requestBody": content(request), "responses": {"200": content(request)}}
    found = found_in(operation, components={"schemas": {"A": a, "B": b}})
    server = found[-1]
    assert isinstance(server, ServerDocument)
    assert server.tools or any(isinstance(each, DocumentFault) for each in found)
