"""What is embedded of a tool is its OpenAI document, and nothing else of it."""

import json

from astra_mcp.embedding.tool_text import ToolText, parameter_texts, read_tool_text, tool_text
from astra_mcp.types import ToolSpec

SPEC = ToolSpec(
    name="convert",
    description="Converts an amount.",
    input_schema={
        "type": "object",
        "properties": {
            "to": {"description": "the currency", "enum": ["EUR", "USD"]},
            "rows": {"type": "array", "items": {"properties": {"amount": {"type": "number"}}}},
        },
    },
)


def test_the_document_is_canonical_so_that_equal_tools_have_equal_texts() -> None:
    turned = dict(reversed(SPEC.input_schema.items()))
    assert tool_text(SPEC) == tool_text(SPEC.model_copy(update={"input_schema": turned}))
    assert json.loads(tool_text(SPEC)) == SPEC.as_openai()


def test_what_the_paper_does_not_embed_makes_no_difference() -> None:
    more = {"extra": {"title": "Money"}, "output_schema": {"type": "string"}}
    assert tool_text(SPEC.model_copy(update=more)) == tool_text(SPEC)


def test_a_document_is_taken_apart_again() -> None:
    assert read_tool_text(tool_text(SPEC)) == ToolText(
        name="convert",
        description="Converts an amount.",
        parameters="rows to the currency EUR USD amount",
    )


def test_other_texts_are_no_documents() -> None:
    assert read_tool_text("currency conversion") is None
    assert read_tool_text('{"function":{"name":') is None
    assert read_tool_text('{"function":{"name":7}}') is None


def test_a_parameter_called_like_a_keyword_is_a_parameter() -> None:
    schema = {
        "properties": {"properties": {"description": "of the house"}, "enum": {"enum": [1, "a"]}}
    }
    assert list(parameter_texts(schema)) == ["properties", "enum", "of the house", "a"]
