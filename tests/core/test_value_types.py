"""The value types that cross every boundary."""

import json
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from astra_mcp.domains import Domain
from astra_mcp.types import (
    ContentBlock,
    JsonValue,
    Origin,
    ToolResult,
    ToolSpec,
    canonical_json,
    is_failure,
    tools_hash,
)

SPEC = ToolSpec(
    name="find", description="Find it.", input_schema={"type": "object", "properties": {}}
)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), JSON_VALUES, max_size=5))
def test_canonical_json_depends_on_the_value_alone(value: dict[str, object]) -> None:
    backwards = dict(reversed(value.items()))
    assert canonical_json(value) == canonical_json(backwards)
    assert json.loads(canonical_json(value)) == value


def test_numbers_of_a_list_stay_apart_in_the_text() -> None:
    assert ToolResult.from_value([1, 234]).text == "[1, 234]"


@given(JSON_VALUES)
def test_a_rendered_value_can_be_read_back(value: JsonValue) -> None:
    text = ToolResult.from_value(value).text
    assert text == value if isinstance(value, str) else json.loads(text) == value


def test_structured_content_needs_an_object() -> None:
    assert ToolResult.from_value({"a": 1}, structured=True).structured == {"a": 1}
    assert ToolResult.from_value([1], structured=True).structured is None
    assert ToolResult.from_value({"a": 1}).structured is None


def test_text_joins_the_text_blocks_alone() -> None:
    image: ContentBlock = {"type": "image", "data": "..."}
    result = ToolResult(
        content=({"type": "text", "text": "a"}, image, {"type": "text", "text": "b"})
    )
    assert result.text == "a\nb"


@pytest.mark.claim("P13")
def test_a_renamed_tool_keeps_the_rest() -> None:
    renamed = SPEC.renamed("other")
    assert (renamed.name, renamed.description) == ("other", "Find it.")
    assert SPEC.renamed("find") is SPEC
    assert SPEC.as_openai()["function"] == {
        "name": "find",
        "description": "Find it.",
        "parameters": SPEC.input_schema,
    }


def test_the_hash_of_a_tool_list_sees_order_and_wording() -> None:
    other = SPEC.renamed("other")
    assert tools_hash([SPEC, other]) == tools_hash([SPEC.model_dump(), other.model_dump()])
    assert tools_hash([SPEC, other]) != tools_hash([other, SPEC])
    whole = canonical_json([SPEC.model_dump(), other.model_dump()])
    assert tools_hash([SPEC, other]) == sha256(whole).hexdigest()
    assert tools_hash([SPEC]) != tools_hash([SPEC.model_copy(update={"description": "Find."})])


def test_value_types_are_frozen_and_refuse_unknown_fields() -> None:
    with pytest.raises(ValidationError):
        SPEC.name = "x"
    with pytest.raises(ValidationError):
        ToolSpec.model_validate({"name": "a", "input_schema": {}, "extra": 1})


def test_only_foreign_failures_void_a_score() -> None:
    assert {o for o in Origin if is_failure(o)} == {Origin.UPSTREAM, Origin.SANDBOX, Origin.GATEWAY}


@pytest.mark.claim("P21")
def test_there_are_41_domains_in_snake_case() -> None:
    assert len(Domain) == 41
    assert all(d.value == d.name.lower() for d in Domain)
