"""The calls that a scripted model has in mind: what a query has to tell of them, how they are filled in."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, cast

from scripted_words import (
    MARKS,
    TELLING,
    Doc,
    is_free,
    leaves,
    sentence,
    told_part,
    value_for,
    words,
)

__all__ = [
    "Step",
    "droppable",
    "filled",
    "first_text",
    "is_late",
    "is_told",
    "produces",
    "proposed_chain",
    "required",
    "spoilt",
    "telling",
    "tools_of",
    "without_first",
    "written_query",
    "written_text",
]

Step = tuple[str, str]
"""A server and a tool."""
_PRODUCING_WORDS = "create list search find get add lookup query start open new"
_PRODUCING = frozenset(_PRODUCING_WORDS.split())
_IDS = frozenset({"id", "uuid", "guid"})
_ASKED_WORDS = "city name place query id email owner symbol keyword location path topic"
_ASKED = frozenset(_ASKED_WORDS.split())
_SPECIAL = frozenset({"enum", "format", "pattern", "default"})


def tools_of(servers: Sequence[Doc], steps: Sequence[Step]) -> list[Doc]:
    found = {(s["server"], tool["name"]): tool for s in servers for tool in s["tools"]}
    return [found[step] for step in steps]


def required(tool: Doc) -> dict[str, Doc]:
    schema: Doc = tool.get("parameters") or {}
    members: Doc = schema.get("properties") or {}
    return {
        name: members[name]
        for name in schema.get("required") or ()
        if isinstance(members.get(name), dict)
    }


def _is_id(name: str) -> bool:
    return (words(name) or [""])[-1] in _IDS


def produces(tool: Doc, name: str) -> bool:
    """True where a tool is said, by its results or its name, to give the value of an id."""
    if not _is_id(name) or name in required(tool):
        return False
    if "returns" in tool:
        return f'"{name}"' in json.dumps(tool["returns"])
    own, subject = words(tool["name"]), words(name)[:-1]
    return (
        bool(own)
        and own[0] in _PRODUCING
        and bool(subject)
        and any(word.rstrip("s") == subject[-1].rstrip("s") for word in own[1:])
    )


def is_late(tools: Sequence[Doc]) -> bool:
    """True where a step needs what a later one gives, and none before it."""
    return any(
        any(produces(t, name) for t in tools[place + 1 :])
        and not any(produces(t, name) for t in tools[:place])
        for place, tool in enumerate(tools)
        for name, schema in required(tool).items()
        if not is_free(schema)
    )


def telling(tools: Sequence[Doc]) -> Iterator[tuple[int, str, Any]]:
    """The step, the argument and the value of what a query has to tell."""
    for place, tool in enumerate(tools):
        for name, schema in required(tool).items():
            if is_free(schema) or any(produces(t, name) for t in tools):
                continue
            yield place, name, value_for(name, schema, tool["parameters"])


def droppable(told: Sequence[tuple[int, str, Any]], tools: Sequence[Doc]) -> list[str]:
    return [
        name
        for place, name, value in told
        if not required(tools[place])[name].get("enum")
        and [*leaves(value)]
        and isinstance(value, str | int)
    ]


def without_first(
    told: Sequence[tuple[int, str, Any]], tools: Sequence[Doc]
) -> list[tuple[int, str, Any]]:
    dropped = droppable(told, tools)[0]
    gone = {leaf for _, name, value in told if name == dropped for leaf in leaves(value)}
    return [each for each in told if each[1] != dropped and gone.isdisjoint(leaves(each[2]))]


def written_query(language: str, told: Sequence[tuple[int, str, Any]], *of: object) -> str:
    phrases = (
        f'{" ".join(words(name))} is "{leaf}"' for _, name, value in told for leaf in leaves(value)
    )
    return written_text("zh" if language == "zh" else "en", "; ".join(dict.fromkeys(phrases)), *of)


def written_text(language: str, told: str, *of: object) -> str:
    before, after = TELLING[language]
    num = 1 + (len(told) // 60 if language == "zh" else len(told) // 400)
    opening = " ".join(sentence(language, *of, number) for number in range(num))
    return f"{opening} {before}{told}{after}"


def spoilt(query: str, flaw: str, language: str, tool: str) -> str:
    """Put a flaw of words into a query; others leave it as it is."""
    tongue = "zh" if language == "zh" else "en"
    match flaw:
        case "names_a_tool":
            return f"{query} (`{tool}`)"
        case "hidden_character":
            return f"{query}\u200b"
        case "other_language" if language != "other":
            return written_text("en" if tongue == "zh" else "zh", told_part(query), query)
        case _ if flaw in MARKS:
            return f"{query} {MARKS[flaw][tongue]}"
        case _:
            return query


def is_told(tool: Doc, name: str, query: str) -> bool:
    schema = required(tool).get(name)
    if schema is None:
        return False
    value = value_for(name, schema, tool["parameters"])
    return is_free(schema) or all(f'"{leaf}"' in query for leaf in leaves(value))


def filled(tool: Doc, query: str, results: Sequence[Any], given: set[str]) -> tuple[Doc, list[str]]:
    """Fill in a call from the query, and from results where it does not tell."""
    arguments: Doc = {}
    missing: list[str] = []
    for name, schema in required(tool).items():
        if name in given:
            continue
        value = value_for(name, schema, tool["parameters"])
        found = None if is_told(tool, name, query) else _in_results(name, results)
        if found is not None:
            arguments[name] = found
        elif is_told(tool, name, query) or schema.get("enum"):
            arguments[name] = value
        else:
            missing.append(name)
    return arguments, missing


def _in_results(name: str, results: Sequence[Any]) -> Any:
    for wanted in (words(name), ["id"] if _is_id(name) else []):
        for result in reversed(results):
            for key, value in _members(result):
                if wanted and words(key) == wanted and isinstance(value, str | int):
                    return value
    return None


def _members(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, member in cast("Doc", value).items():
            yield key, member
            yield from _members(member)
    elif isinstance(value, list):
        for member in cast("list[Any]", value):
            yield from _members(member)


def first_text(tool: Doc) -> str | None:
    """The first argument whose value cannot be the assistant's own text."""
    for name, schema in required(tool).items():
        is_plain = schema.get("type") == "string" and not _SPECIAL & schema.keys()
        if is_plain and (words(name) or [""])[-1] in _ASKED:
            return name
    return None


def proposed_chain(tools: Sequence[Doc], drawn: Any) -> list[str]:
    """Two or three tools; one that gives an id before one that takes it, or in every fourth the other way."""
    pairs = [
        (one["name"], other["name"])
        for one in tools
        for other in tools
        for name in required(other)
        if one is not other and produces(one, name)
    ]
    if pairs and drawn.random() < 0.75:
        pair = drawn.choice(pairs)
        return [*(reversed(pair) if drawn.random() < 0.4 else pair)]
    names = [tool["name"] for tool in tools]
    return drawn.sample(names, min(len(names), drawn.randint(2, 3)))
