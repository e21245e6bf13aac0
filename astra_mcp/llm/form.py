"""The form of a structured answer, as a JSON Schema that endpoints take."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import openai
from pydantic import BaseModel, RootModel

from astra_mcp.types import JsonObject

__all__ = ["AnswerForm", "answer_form"]

_MAX_FORMS = 256
_MAX_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """What an answer has to be."""

    name: str
    schema: JsonObject
    """As the model of the answer has it."""
    response_format: JsonObject
    """As endpoints take it: every field required and no other allowed."""


@lru_cache(maxsize=_MAX_FORMS)
def answer_form(answer: type[BaseModel]) -> AnswerForm:
    """Describe a model of answers.

    Raises:
        TypeError: Its answers are no JSON objects.
    """
    if issubclass(answer, RootModel):
        msg = (
            f"{answer.__name__} is no model of JSON objects, and endpoints answer with nothing else"
        )
        raise TypeError(msg)
    schema = cast("JsonObject", answer.model_json_schema())
    name = re.sub(r"[^A-Za-z0-9_-]", "_", answer.__name__)[:_MAX_NAME]
    # The client's way to a schema of the strict kind: it takes models for functions' parameters.
    function = openai.pydantic_function_tool(answer, name=name)["function"]
    strict = cast("JsonObject", function.get("parameters", {}))
    described: JsonObject = {"name": name, "strict": True, "schema": strict}
    return AnswerForm(
        name=name,
        schema=schema,
        response_format={"type": "json_schema", "json_schema": described},
    )
