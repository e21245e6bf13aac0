"""Do tools and gold calls agree: names, schemas, arguments, order, and what each call solves?

Works on the document alone; whether a call really returns its answer is for the acceptance.
"""

import keyword
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, cast

from astra_mcp.environments.bundle import EnvironmentDocument, GoldArgument, GoldCall, SubTask
from astra_mcp.errors import BundleFault
from astra_mcp.schemas import ArgumentCheck, SchemaError, compile_schema, compile_validator
from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.neighbours import folded

__all__ = ["example_faults", "gold_faults", "tool_faults", "tool_name_faults"]

_fault = partial(BundleFault.at, "environment.json")
_HINTS = ("readOnlyHint", "idempotentHint", "destructiveHint", "openWorldHint")
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def tool_faults(document: EnvironmentDocument) -> Iterator[BundleFault]:
    """Find every fault of the tool specifications."""
    seen: dict[str, int] = {}
    for index, tool in enumerate(document.tools):
        field = f"tools[{index}]"
        if tool.name in seen:
            message = f"{tool.name!r} is also the name of tools[{seen[tool.name]}]; rename one"
            yield _fault(f"{field}.name", message)
        seen.setdefault(tool.name, index)
        yield from _name_faults(field, tool.name)
        if not tool.description.strip():
            yield _fault(f"{field}.description", "is empty; say what the tool returns")
        yield from _schema_faults(field, tool)
        yield from _hint_faults(field, tool)


def tool_name_faults(document: EnvironmentDocument) -> Iterator[BundleFault]:
    """Find the sub-tasks that name a tool which is not there."""
    names = dict.fromkeys(t.name for t in document.tools)
    for index, sub in enumerate(document.sub_tasks):
        if sub.tool is not None and sub.tool not in names:
            message = f"there is no tool {sub.tool!r}; the tools are {', '.join(names)}"
            yield _fault(f"sub_tasks[{index}].tool", message)


def _hint_faults(field: str, tool: ToolSpec) -> Iterator[BundleFault]:
    annotations = tool.extra.get("annotations", {})
    if not isinstance(annotations, dict):
        yield _fault(f"{field}.annotations", 'must be an object, such as {"readOnlyHint": true}')
        return
    for name in _HINTS:
        if not isinstance(cast("dict[str, Any]", annotations).get(name, True), bool):
            yield _fault(f"{field}.annotations.{name}", "must be true or false, without quotes")


def _name_faults(field: str, name: str) -> Iterator[BundleFault]:
    if not _TOOL_NAME.fullmatch(name):
        message = f"{name!r} must be 1 to 64 letters, digits, underscores or hyphens"
        yield _fault(f"{field}.name", message)
    elif not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
        message = f"{name!r} must be the name of a public Python function"
        yield _fault(f"{field}.name", message)


def _schema_faults(field: str, tool: ToolSpec) -> Iterator[BundleFault]:
    try:
        compile_schema(tool.input_schema)
    except SchemaError as error:
        yield _fault(f"{field}.input_schema", str(error))
        return
    if tool.input_schema.get("additionalProperties", False) is not False:
        message = "must be false or left out: the functions take no other arguments"
        yield _fault(f"{field}.input_schema.additionalProperties", message)
    if "patternProperties" in tool.input_schema:
        message = "cannot be used: declare each argument by its name under properties"
        yield _fault(f"{field}.input_schema.patternProperties", message)
    properties = cast("dict[str, Any]", tool.input_schema["properties"])
    for name in tool.input_schema.get("required", ()):
        if name not in properties:
            message = f"{name!r} is not among the properties"
            yield _fault(f"{field}.input_schema.required", message)
    for name, schema in properties.items():
        yield from _property_faults(f"{field}.input_schema.properties.{name}", schema)
    if tool.output_schema is not None:
        try:
            compile_validator(tool.output_schema)
        except SchemaError as error:
            yield _fault(f"{field}.output_schema", str(error))


def _property_faults(field: str, schema: object) -> Iterator[BundleFault]:
    if not isinstance(schema, dict):
        yield _fault(field, "must be an object with at least a type or an enum")
        return
    fields = cast("dict[str, Any]", schema)
    if not {"type", "enum", "const", "anyOf", "oneOf", "allOf", "$ref"} & fields.keys():
        yield _fault(field, "says nothing about its values; give it a type or an enum")
    try:
        validator = compile_validator(fields)
    except SchemaError:  # the whole schema compiled: only a local reference can be missing
        return
    if "default" in fields and not validator.is_valid(fields["default"]):
        yield _fault(f"{field}.default", f"{fields['default']!r} is not valid for this property")
    for index, example in enumerate(fields.get("examples", ())):
        if not validator.is_valid(example):
            yield _fault(f"{field}.examples[{index}]", f"{example!r} is not valid here")


def gold_faults(document: EnvironmentDocument) -> Iterator[BundleFault]:
    """Find every fault of the gold calls; expects tools and sub-tasks without faults."""
    subs = {s.id: s for s in document.sub_tasks}
    checks = {t.name: compile_schema(t.input_schema) for t in document.tools}
    solved: set[int] = set()
    for index, call in enumerate(document.gold):
        field = f"gold[{index}]"
        check = checks.get(call.tool)
        if check is None:
            message = f"there is no tool {call.tool!r}; the tools are {', '.join(checks)}"
            yield _fault(f"{field}.tool", message)
        else:
            yield from _argument_faults(field, call, check)
        yield from _solves_faults(field, call, subs)
        yield from _order_faults(field, call, subs, solved)
        for number in set(call.after) - solved:
            message = f"{number} is solved by no earlier call; name sub-tasks of earlier gold calls"
            yield _fault(f"{field}.after", message)
        if set(call.solves) <= solved:
            message = "solves nothing that earlier calls did not; remove the call"
            yield _fault(f"{field}.solves", message)
        solved.update(call.solves)
    if document.gold:
        for sub in document.sub_tasks:
            if sub.tool is not None and sub.id not in solved:
                message = f"no gold call solves sub-task {sub.id}; add one with {sub.tool!r}"
                yield _fault("gold", message)


def _argument_faults(field: str, call: GoldCall, check: ArgumentCheck) -> Iterator[BundleFault]:
    faults = check.faults(call.values)
    yield from (_fault(f"{field}.arguments", fault) for fault in faults)
    if faults:
        return
    for name, argument in call.arguments.items():
        yield from _member_faults(f"{field}.arguments.{name}", argument)
        for index, neighbour in enumerate(argument.neighbours):
            place = f"{field}.arguments.{name}.neighbours[{index}]"
            if folded(neighbour) == folded(argument.value):
                message = "equals the gold value, but for case and space; name another one"
                yield _fault(place, message)
            for fault in check.faults({**call.values, name: neighbour}):
                yield _fault(place, fault)


def _member_faults(field: str, argument: GoldArgument) -> Iterator[BundleFault]:
    for path in argument.members:
        value: JsonValue = argument.value
        for name in path.split("."):
            if not isinstance(value, dict) or name not in value:
                message = "names no member of the value; write outer.inner for one that lies deeper"
                yield _fault(f"{field}.members.{path}", message)
                break
            value = value[name]


def example_faults(document: EnvironmentDocument) -> Iterator[BundleFault]:
    """Find every fault of the example calls; expects tools without faults."""
    checks = {t.name: compile_schema(t.input_schema) for t in document.tools}
    for index, example in enumerate(document.examples):
        if example.tool not in checks:
            message = f"there is no tool {example.tool!r}; the tools are {', '.join(checks)}"
            yield _fault(f"examples[{index}].tool", message)
        else:
            for fault in checks[example.tool].faults(example.arguments):
                yield _fault(f"examples[{index}].arguments", fault)


def _solves_faults(
    field: str, call: GoldCall, subs: Mapping[int, SubTask]
) -> Iterator[BundleFault]:
    for solved in call.solves:
        if solved not in subs:
            message = f"there is no sub-task {solved}; the ids are {sorted(subs)}"
            yield _fault(f"{field}.solves", message)
        elif subs[solved].tool != call.tool:
            message = f"sub-task {solved} belongs to tool {subs[solved].tool!r}, not {call.tool!r}"
            yield _fault(f"{field}.solves", message)


def _order_faults(
    field: str, call: GoldCall, subs: Mapping[int, SubTask], solved: set[int]
) -> Iterator[BundleFault]:
    available = solved | set(call.solves)
    for sub in (subs[i] for i in call.solves if i in subs):
        missing = sorted(set(sub.dependencies) - available)
        if missing:
            message = f"sub-task {sub.id} needs {missing}, which no earlier call solves; reorder"
            yield _fault(f"{field}.solves", message)
