"""Arguments that a document took are taken still, whatever became of its schema."""

import json
from collections import Counter
from typing import Any

import jsonschema_rs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from astra_mcp.schemas import compile_schema, compile_validator
from registry.documents.normalisation import NormalTool, normalise_tool
from registry.documents.sources import Rejection, ServerDocument, ToolDocument
from registry.importers import toucan
from registry.schemas.faults import NotConvertibleError, Notes
from registry.schemas.translation import translate

from random_arguments import RandomArguments
from random_schemas import DIALECTS, RandomSchemas
from real_documents import TOUCAN, real_data

_VALIDATORS = dict(
    zip(
        DIALECTS,
        (
            jsonschema_rs.Draft4Validator,
            jsonschema_rs.Draft6Validator,
            jsonschema_rs.Draft7Validator,
            jsonschema_rs.Draft201909Validator,
            jsonschema_rs.Draft202012Validator,
        ),
        strict=True,
    )
)
_NUM_VALUES = 24

seeds = st.integers(0, 2**32 - 1)
many = settings(
    max_examples=10 * settings().max_examples,
    suppress_health_check=[HealthCheck.filter_too_much],
)
"""An example takes a millisecond."""


def validator_of(schema: dict[str, Any]) -> Any:
    """Compile a schema as found under its own dialect; None where it is not valid itself."""
    kind = _VALIDATORS.get(schema.get("$schema", ""), jsonschema_rs.Draft202012Validator)
    try:
        return kind(schema, validate_formats=True, offline=True)
    except ValueError:
        return None


def valid_under(validator: Any, instance: Any) -> bool:
    """Say whether a value is valid; a schema that goes round in circles says nothing of it."""
    try:
        return validator.is_valid(instance)
    except ValueError:
        return False


@many
@given(seed=seeds)
def test_every_value_that_was_valid_is_valid_in_the_schema_written_anew(seed: int) -> None:
    drawn = RandomSchemas(seed)
    document = drawn.document()
    original = validator_of(document)
    assume(original is not None)
    before = json.dumps(document)
    try:
        schema = translate(document, "schema", Notes())
    except NotConvertibleError:
        return
    normal = compile_validator(schema) if isinstance(schema, dict) else None

    assert json.dumps(document) == before
    assert "$ref" not in json.dumps(schema)
    for _ in range(_NUM_VALUES):
        value = drawn.value()
        if valid_under(original, value):
            assert schema is True or (normal is not None and normal.is_valid(value)), value


@many
@given(seed=seeds)
def test_every_object_of_declared_arguments_that_was_valid_is_taken_by_the_tool(seed: int) -> None:
    drawn = RandomSchemas(seed)
    document = drawn.document()
    original = validator_of(document)
    assume(original is not None and has_no_alternatives(document))
    normal = normalise_tool(
        ToolDocument(name="t", description="Find the cheapest trains", input_schema=document)
    )
    if isinstance(normal, Rejection):
        return
    check = compile_schema(normal.spec.input_schema)
    for _ in range(_NUM_VALUES):
        arguments = drawn.object()
        is_declared = arguments.keys() <= normal.spec.input_schema["properties"].keys()
        if is_declared and valid_under(original, arguments):
            assert check.faults(arguments) == ()


def has_no_alternatives(document: dict[str, Any]) -> bool:
    """Of alternatives at the root, an argument is held to those that name it: another promise."""
    alternatives = {"anyOf", "oneOf", "if", "dependentSchemas", "$ref"}
    parts = json.dumps(document.get("allOf", []))
    return document.keys().isdisjoint(alternatives) and not any(
        f'"{keyword}"' in parts for keyword in alternatives
    )


def test_arguments_of_real_tools_stay_valid() -> None:
    counts: Counter[str] = Counter()
    seen: set[str] = set()
    for document in toucan.read(real_data(TOUCAN)):
        assert isinstance(document, ServerDocument)
        for tool in document.tools:
            content = json.dumps(tool.input_schema)
            normal = normalise_tool(tool)
            if content not in seen and isinstance(normal, NormalTool) and is_changed(tool, normal):
                seen.add(content)
                counts.update(checked(tool.input_schema, normal.spec.input_schema))

    assert counts["schemas"] > 150
    assert counts["valid arguments"] > 500


def is_changed(tool: ToolDocument, normal: NormalTool) -> bool:
    found = dict(tool.input_schema) if isinstance(tool.input_schema, dict) else {}
    found.pop("$schema", None)
    return found != normal.spec.input_schema


def checked(found: Any, schema: dict[str, Any]) -> Counter[str]:
    original = validator_of(found)
    if original is None:
        return Counter({"invalid schemas": 1})
    check = compile_schema(schema)
    drawn = RandomArguments(found, seed=0)
    valid = [a for a in (drawn.arguments() for _ in range(8)) if original.is_valid(a)]
    for arguments in valid:
        assert check.faults(arguments) == (), found
    return Counter({"schemas": 1, "valid arguments": len(valid)})
