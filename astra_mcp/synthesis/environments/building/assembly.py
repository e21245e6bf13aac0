"""Tools and their instance become a bundle, as loading would read it from a folder."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

from astra_mcp.environments.bundle import Bundle, ScenarioType
from astra_mcp.environments.decomposition import scenario_of
from astra_mcp.environments.loading import parse_bundle
from astra_mcp.environments.server_document import SERVER_SCHEMA
from astra_mcp.errors import BundleError, BundleFault
from astra_mcp.synthesis.environments.building.namespaces import in_own_words, joined_code
from astra_mcp.synthesis.environments.building.renaming import UnjoinableError, renamed_function
from astra_mcp.synthesis.environments.building.tool import Built, SolvingCall, Tool
from astra_mcp.synthesis.environments.questions.instance import Instance, SubQuestion, levels_of
from astra_mcp.types import JsonObject

__all__ = ["assemble", "bundle_name", "of_own_modules", "single_bundle"]

_CLOCK = "2026-03-02T09:00:00+00:00"
_LICENSE = "as its source"
"""Nobody but who gave the source can say more."""
_MAX_SLUG, _NUM_DIGITS = 36, 8
_MAX_TITLE, _MAX_SERVER_TEXT, _MAX_DESCRIPTION = 100, 100, 400
_CODE_FAULTS = (SyntaxError, ValueError, RecursionError, MemoryError)


def bundle_name(instance: Instance) -> str:
    """Name an environment after its title and its content."""
    slug = "-".join(re.findall(r"[a-z0-9]+", instance.title.lower()))[:_MAX_SLUG].strip("-")
    slug = slug if slug[:1].isalpha() else f"task-{slug}".strip("-")
    content = f"{instance.source}\0{instance.main_question}"
    return f"{slug}-{sha256(content.encode()).hexdigest()[:_NUM_DIGITS]}"


def assemble(built: Built) -> Bundle:
    """Put a bundle together.

    Raises:
        BundleError: What the tools are does not fit the format, or the code does not parse; says where.
    """
    instance, tools = built.instance, _unique_names(built.tools)
    levels = levels_of(instance)
    if len(levels) < len(instance.sub_questions):
        raise _error("the dependencies form a cycle")
    by_sub = {id: tool.document.name for tool in tools for id in tool.solves}
    width = Counter(levels.values())
    subs: list[JsonObject] = [
        {
            **_told(sub, by_sub.get(sub.id)),
            "dependencies": [*sub.dependencies],
            "hop_level": levels[sub.id],
            "is_parallel": width[levels[sub.id]] > 1,
        }
        for sub in instance.sub_questions
    ]
    calls = [(tool, call) for tool in tools for call in tool.calls]
    calls.sort(key=lambda pair: (levels[pair[1].solves], pair[1].solves))
    return _bundle(instance, scenario_of(width), subs, tools, calls)


def single_bundle(instance: Instance, tool: Tool) -> Bundle:
    """A bundle of one tool, with the sub-questions that it answers as if they depended on nothing.

    Raises:
        BundleError: As :func:`assemble`.
    """
    subs: list[JsonObject] = [
        {**_told(instance.sub(id), tool.document.name), "dependencies": [], "hop_level": 1}
        | {"is_parallel": len(tool.calls) > 1}
        for id in tool.solves
    ]
    calls = [(tool, call.model_copy(update={"sources": {}})) for call in tool.calls]
    return _bundle(instance, scenario_of(Counter({1: len(subs)})), subs, [tool], calls)


def of_own_modules(built: Built, complaint: str) -> str:
    """A complaint about the assembled tools, with names as the modules of the tools have them."""
    return in_own_words(_modules(_unique_names(built.tools)), complaint)


def _modules(tools: Sequence[Tool]) -> list[tuple[str, str]]:
    return [(tool.document.name, tool.code) for tool in tools]


def _bundle(
    instance: Instance,
    shape: ScenarioType,
    subs: Sequence[JsonObject],
    tools: Sequence[Tool],
    calls: Sequence[tuple[Tool, SolvingCall]],
) -> Bundle:
    name, title = bundle_name(instance), instance.title.strip()[:_MAX_TITLE]
    document: JsonObject = {
        "schema_version": 1,
        "name": name,
        "title": title,
        "description": f"{title}. {_about(tools)}"[:_MAX_DESCRIPTION],
        "status": "verified",
        "domain": instance.label,
        "language": instance.language,
        "scenario_type": shape.value,
        "question": instance.main_question,
        "answer": instance.final_answer,
        "sub_tasks": [*subs],
        "tools": [_tool_document(tool) for tool in tools],
        "gold": [_gold(tool, call) for tool, call in calls],
        "clock": _CLOCK,
        "provenance": {
            "source": "synthesized",
            "authors": [instance.writer],
            "license": _LICENSE,
            "notes": f"Written by {instance.writer} from the source {instance.source}.",
        },
    }
    server = {
        "$schema": SERVER_SCHEMA,
        "name": f"dev.astra-mcp.synthesized/{name}",
        "description": title[:_MAX_SERVER_TEXT],
        "version": "1.0.0",
    }
    try:
        code = joined_code(title, _modules(tools))
    except UnjoinableError as error:
        raise _error(str(error)) from None
    except _CODE_FAULTS as error:
        raise _error(f"tools.py does not parse: {error}") from None
    texts = {
        "environment.json": json.dumps(document, ensure_ascii=False),
        "tools.py": code,
        "server.json": json.dumps(server, ensure_ascii=False),
    }
    try:
        return parse_bundle(name, texts)
    except UnicodeEncodeError:
        raise _error("a text holds half a surrogate pair") from None


def _unique_names(tools: Sequence[Tool]) -> list[Tool]:
    """Give tools that have the name of an earlier one a name of their own, in document and code."""
    found: list[Tool] = []
    for tool in tools:
        old = tool.document.name
        new = old
        while new in {known.document.name for known in found}:
            new = f"{old}_{tool.solves[0]}" if new == old else f"{new}_x"
        if new != old:
            try:
                code = renamed_function(tool.code, old, new)
            except UnjoinableError as error:
                raise _error(f"the module of {old}, {error}") from None
            except _CODE_FAULTS as error:
                raise _error(f"tools.py does not parse: {error}") from None
            renamed = tool.document.model_copy(update={"name": new})
            found.append(tool.model_copy(update={"document": renamed, "code": code}))
        else:
            found.append(tool)
    return found


def _about(tools: Sequence[Tool]) -> str:
    return " ".join(dict.fromkeys(tool.document.description.strip() for tool in tools))


def _told(sub: SubQuestion, tool: str | None) -> JsonObject:
    return {"id": sub.id, "question": sub.question, "answer": sub.answer, "tool": tool}


def _tool_document(tool: Tool) -> JsonObject:
    document = tool.document
    return {
        "name": document.name,
        "description": document.description,
        "input_schema": document.input_schema,
    }


def _gold(tool: Tool, call: SolvingCall) -> JsonObject:
    roles = tool.document.roles
    arguments: JsonObject = {}
    for name, value in call.arguments.items():
        argument: JsonObject = {"value": value, "role": roles.get(name, "identifying")}
        others = [n for n in call.neighbours.get(name, ()) if n != value]
        if others and argument["role"] == "identifying":
            argument["neighbours"] = others
        if call.sources.get(name):
            argument["from"] = [*call.sources[name]]
        arguments[name] = argument
    return {"tool": tool.document.name, "arguments": arguments, "solves": [call.solves]}


def _error(message: str) -> BundleError:
    return BundleError("the environment does not fit together", [BundleFault(message)])
