"""The form of a structured answer, and the one JSON object in what a model wrote, held against it."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, TypeVar, cast

import json_repair
import openai
from pydantic import BaseModel, RootModel, ValidationError

from astra_mcp.errors import ModelFault, fault_words
from astra_mcp.llm.chat import ChatReply
from astra_mcp.llm.thoughts import THOUGHT_BEGINS, THOUGHT_ENDS
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import JsonObject

__all__ = ["AnswerForm", "UnreadableAnswerError", "answer_form", "read_answer"]

AnswerT = TypeVar("AnswerT", bound=BaseModel)
_MARKS = re.compile(r'\\.|["{}\[\]]|\.\.\.', re.DOTALL)
"""What decides where an object ends, and three dots in the place of something left out."""
_MAX_DEPTH = 100
"""Deeper ones are refused: the time that a repair takes grows with the square of the depth."""
_MAX_FAULTS = 3
_CUT = "length"
"""What endpoints call an answer that reached its greatest length."""
_FILTERED = "content_filter"
_MAX_FORMS = 256
_MAX_NAME = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerForm:
    """What an answer has to be."""

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
        raise TypeError(
            f"{answer.__name__} is no model of JSON objects, and endpoints answer with nothing else"
        )
    schema = cast("JsonObject", answer.model_json_schema())
    name = re.sub(r"[^A-Za-z0-9_-]", "_", answer.__name__)[:_MAX_NAME]
    # The client's way to a schema of the strict kind: it takes models for functions' parameters.
    function = openai.pydantic_function_tool(answer, name=name)["function"]
    strict = cast("JsonObject", function.get("parameters", {}))
    described: JsonObject = {"name": name, "strict": True, "schema": strict}
    response_format: JsonObject = {"type": "json_schema", "json_schema": described}
    return AnswerForm(schema=schema, response_format=response_format)


class UnreadableAnswerError(ValueError):
    """A model's words give no answer of the form."""

    def __init__(self, fault: ModelFault, message: str) -> None:
        super().__init__(fault, message)
        self.fault = fault
        self.message = message


def read_answer(reply: ChatReply, answer: type[AnswerT]) -> AnswerT:
    """Read a structured answer.

    Raises:
        UnreadableAnswerError: There is none; says why.
    """
    if reply.refusal is not None or reply.finish_reason == _FILTERED:
        words = reply.refusal or "a filter of the endpoint cut it off"
        raise UnreadableAnswerError(ModelFault.DECLINED, f"it declined to answer: {words}")
    if reply.finish_reason == _CUT:
        raise UnreadableAnswerError(
            ModelFault.TRUNCATED, "its answer was cut at its greatest length"
        )
    text = (reply.content or "").strip()
    whole = _parse(text)
    return _choose([whole], answer) if whole is not None else _find(_without_thoughts(text), answer)


def _without_thoughts(text: str) -> str:
    """Leave what follows the last thought that ends, and stands before one that does not."""
    ends = list(THOUGHT_ENDS.finditer(text))
    rest = text[ends[-1].end() :] if ends else text
    begins = THOUGHT_BEGINS.search(rest)
    return (rest[: begins.start()] if begins else rest).strip()


def _find(text: str, answer: type[AnswerT]) -> AnswerT:
    if not text:
        raise UnreadableAnswerError(ModelFault.EMPTY, "its answer is empty, but for thoughts")
    spans = list(_spans(text))
    if any(span.is_open for span in spans):
        raise UnreadableAnswerError(ModelFault.TRUNCATED, "its answer breaks off")
    strict = [value for value in (_parse(span.text) for span in spans) if value is not None]
    if strict:
        return _choose(strict, answer)
    if any(span.depth > _MAX_DEPTH for span in spans):
        raise UnreadableAnswerError(ModelFault.INVALID, "its answer nests too deep")
    if any(span.is_elided for span in spans):
        raise UnreadableAnswerError(ModelFault.TRUNCATED, "its answer leaves something out (...)")
    return _choose([v for v in (_repair(span.text) for span in spans) if v is not None], answer)


def _parse(text: str) -> JsonObject | None:
    """Read JSON as it stands; None where it is none, or no object.

    Raises:
        UnreadableAnswerError: It is JSON that could be read in two ways, or by no other program.
    """
    try:
        value = parse_strict(text)
    except json.JSONDecodeError:
        return None
    except ValueError as error:
        raise UnreadableAnswerError(ModelFault.INVALID, f"its answer: {error}") from None
    except RecursionError:
        raise UnreadableAnswerError(ModelFault.INVALID, "its answer nests too deep") from None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _repair(text: str) -> JsonObject | None:
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except ValueError:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None


def _choose(values: Sequence[JsonObject], answer: type[AnswerT]) -> AnswerT:
    """Take the one object that is of the form."""
    if not values:
        raise UnreadableAnswerError(ModelFault.NOT_JSON, "its answer holds no JSON object")
    valid: list[AnswerT] = []
    faults = ""
    for value in values:
        try:  # by way of JSON, in which tuples, dates and enumerations are what they are there
            valid.append(answer.model_validate_json(json.dumps(value)))
        except ValidationError as error:
            faults = _words(error)
    if not valid:
        raise UnreadableAnswerError(ModelFault.INVALID, f"its answer is of another form: {faults}")
    if any(other != valid[0] for other in valid):
        raise UnreadableAnswerError(ModelFault.INVALID, "it gave several answers that differ")
    return valid[0]


def _words(error: ValidationError) -> str:
    faults = error.errors(include_url=False, include_input=False)[:_MAX_FAULTS]
    return "; ".join(
        f"{'.'.join(map(str, f['loc'])) or 'the object'}: {fault_words(f['type'], f['msg'])}"
        for f in faults
    )


class _Span(NamedTuple):
    """From a brace to the one that closes it."""

    text: str
    is_open: bool
    """The text ends before it is closed, or closes what was not opened."""
    is_elided: bool
    depth: int
    """Of objects and lists in it, itself included."""


def _spans(text: str) -> Iterator[_Span]:
    """Find the outermost objects, in a text that need not be JSON in all details."""
    depth, deepest, begin, is_elided, in_string = 0, 0, 0, False, False
    for mark in _MARKS.finditer(text):
        sign = mark.group()
        if sign == '"':
            in_string = depth > 0 and not in_string
        elif in_string or sign.startswith("\\"):
            continue
        elif sign == "...":
            is_elided = True
        elif sign == "{" or (sign == "[" and depth):
            if not depth:
                begin, is_elided, deepest = mark.start(), False, 0
            depth += 1
            deepest = max(deepest, depth)
        elif sign == "}" or (sign == "]" and depth):
            depth -= 1
            if depth <= 0:
                yield _Span(text[begin : mark.end()], depth < 0, is_elided, deepest)
                depth, begin = 0, mark.end()
    if depth:
        yield _Span(text[begin:], True, is_elided, deepest)
