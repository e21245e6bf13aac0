"""The parts of a bundle that each question is about, as the one JSON document of its prompt."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from astra_mcp.environments.bundle import EnvironmentDocument, GoldCall, GoldMember, SubTask
from astra_mcp.environments.judging.judgement import Question
from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.neighbours import property_of

__all__ = ["documents_of"]

_MAX_RESULT = 8000
"""Characters; a longer result is cut, and says so."""
_CUT = " [the rest is left out]"


def documents_of(
    document: EnvironmentDocument, results: Sequence[str]
) -> dict[Question, JsonObject]:
    """Gather what each question is about; a question that does not apply to the bundle is left out.

    Args:
        document: Of a bundle that passes the acceptance.
        results: Of its gold calls, in order.
    """
    found = {question: gather(document, results) for question, gather in _GATHERED.items()}
    return {question: parts for question, parts in found.items() if parts is not None}


def _dependencies(document: EnvironmentDocument, _: Sequence[str]) -> JsonObject | None:
    if not any(sub.dependencies for sub in document.sub_tasks):
        return None
    return {
        "main_question": document.prompt,
        "tools": {tool.name: tool.description for tool in document.tools},
        "sub_tasks": [
            {**_asked(sub), "answer": sub.answer, "dependencies": list(sub.dependencies)}
            for sub in document.sub_tasks
        ],
        "calls": [_call(call) for call in document.gold],
    }


def _statements(document: EnvironmentDocument, results: Sequence[str]) -> JsonObject:
    subs = {sub.id: sub for sub in document.sub_tasks}
    return {
        "calls": [
            {
                **_call(call),
                "result": result if len(result) <= _MAX_RESULT else result[:_MAX_RESULT] + _CUT,
                "answers": [
                    {**_asked(subs[number]), "answer": subs[number].answer}
                    for number in call.solves
                ],
            }
            for call, result in zip(document.gold, results, strict=True)
        ]
    }


def _main_answer(document: EnvironmentDocument, _: Sequence[str]) -> JsonObject:
    return {
        "now": document.clock.isoformat(),
        "main_question": document.prompt,
        "main_answer": document.answer,
        "sub_tasks": [{**_asked(sub), "answer": sub.answer} for sub in document.sub_tasks],
    }


def _subject(document: EnvironmentDocument, _: Sequence[str]) -> JsonObject:
    return {
        "main_question": document.prompt,
        "sub_tasks": [_asked(sub) for sub in document.sub_tasks],
    }


def _shown_texts(document: EnvironmentDocument, _: Sequence[str]) -> JsonObject:
    scored = [sub for sub in document.sub_tasks if sub.tool is not None]
    return {
        "main_question": document.prompt,
        "tools": [tool.model_dump(mode="json", exclude_none=True) for tool in document.tools],
        "sub_tasks": [{**_asked(sub), "answer": sub.answer} for sub in scored],
    }


def _derivations(document: EnvironmentDocument, _: Sequence[str]) -> JsonObject | None:
    subs = {sub.id: sub for sub in document.sub_tasks}
    tools = {tool.name: tool for tool in document.tools}
    derived: list[JsonValue] = [
        {
            "tool": call.tool,
            "parameter": path,
            "schema": dict(property_of(tools[call.tool], path.partition(".")[0])),
            "value": value,
            "worked_out_from": [_source(each, subs) for each in member.derived_from],
        }
        for call in document.gold
        for path, member, value in _members(call)
        if member.derived_from
    ]
    if not derived:
        return None
    return {
        "now": document.clock.isoformat(),
        "main_question": document.prompt,
        "arguments": derived,
    }


def _members(call: GoldCall) -> Iterator[tuple[str, GoldMember, JsonValue]]:
    """Every argument and every named member of one, with its path and its value."""
    for name, argument in call.arguments.items():
        yield name, argument, argument.value
        for path, member in argument.members.items():
            value = argument.value
            for key in path.split("."):
                value = value[key] if isinstance(value, dict) else None
            yield f"{name}.{path}", member, value


def _source(source: str | int, subs: Mapping[int, SubTask]) -> JsonObject:
    if isinstance(source, str):
        return {"words_of_the_question": source}
    sub = subs.get(source)
    return {"sub_task": source, **({"question": sub.question, "answer": sub.answer} if sub else {})}


def _asked(sub: SubTask) -> JsonObject:
    return {"id": sub.id, "question": sub.question, "tool": sub.tool}


def _call(call: GoldCall) -> JsonObject:
    return {"tool": call.tool, "arguments": call.values, "solves": list(call.solves)}


_Gather = Callable[[EnvironmentDocument, Sequence[str]], JsonObject | None]
_GATHERED: Final[dict[Question, _Gather]] = {
    Question.NEEDED_DEPENDENCIES: _dependencies,
    Question.STATED_ANSWERS: _statements,
    Question.RIGHT_MAIN_ANSWER: _main_answer,
    Question.SAME_SUBJECT: _subject,
    Question.HIDDEN_ANSWERS: _shown_texts,
    Question.FOLLOWING_ARGUMENTS: _derivations,
}
