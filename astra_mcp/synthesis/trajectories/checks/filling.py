"""Filling in the arguments of one call: joins by code, the rest by a model, and all of it checked."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import Field

from astra_mcp.schemas import SchemaError, compile_schema
from astra_mcp.synthesis.asking import Asks, FreeAnswer
from astra_mcp.synthesis.texts import Fault
from astra_mcp.synthesis.trajectories.asking import ask
from astra_mcp.synthesis.trajectories.chain import Chain, ExecutedCall, Join
from astra_mcp.synthesis.trajectories.checks.binding import Bound, Nothing, bind
from astra_mcp.synthesis.trajectories.checks.results import listed, object_of
from astra_mcp.synthesis.trajectories.checks.told import invented_values, swapped_ends
from astra_mcp.types import JsonObject, JsonValue, ToolSpec, canonical_json

__all__ = ["PROMPT", "Blank", "fill"]

PROMPT = "step_arguments"
_MENDABLE = frozenset({"invalid_arguments", "invented_argument", "swapped_arguments"})
_MAX_RESULT = 12_000
"""Characters of an earlier result that a model is shown."""


class _Written(FreeAnswer):
    arguments: JsonObject
    sources: dict[str, tuple[str, ...]] = Field(default_factory=dict[str, tuple[str, ...]])
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Blank:
    """A call that is to be filled in."""

    query: str
    chain: Chain
    index: int
    """Of the step, from 0."""
    tool: ToolSpec
    shown_tool: JsonObject
    earlier: Sequence[ExecutedCall]

    @property
    def joins(self) -> list[Join]:
        """Those by which the step takes something of an earlier one."""
        return [j for j in self.chain.joins if j.source < j.target == self.index]


@dataclass(slots=True)
class _Joined:
    """What the joins of a call come to."""

    values: JsonObject = field(default_factory=JsonObject)
    asked: list[Join] = field(default_factory=list[Join])
    """Whose field code does not find."""
    nothing: str = ""
    """Why an argument can have no value."""


async def fill(model: Asks, blank: Blank) -> JsonObject | Fault:
    """Fill in one call; the model is asked for what no join gives, and once again where it errs.

    Raises:
        ModelError: The model gave no answer of the form.
    """
    joined = _join(blank)
    if joined.nothing:
        return Fault("nothing_to_bind", f"{_place(blank)}: {joined.nothing}")
    first = await _attempt(model, blank, joined, None)
    if not isinstance(first, Fault) or first.reason not in _MENDABLE:
        return first
    return await _attempt(model, blank, joined, first)


async def _attempt(
    model: Asks, blank: Blank, joined: _Joined, earlier: Fault | None
) -> JsonObject | Fault:
    parameters = object_of(blank.tool.input_schema.get("properties")).keys()
    is_done = joined.values.keys() >= parameters
    written = _Written(arguments={}) if is_done else await _ask(model, blank, joined, earlier)
    own = {name: v for name, v in written.arguments.items() if name not in joined.values}
    fault = await _fault(blank, joined, own, written)
    if fault is not None:
        return Fault(fault.reason, f"{_place(blank)}: {fault.detail}")
    return {**own, **joined.values}


def _join(blank: Blank) -> _Joined:
    joined = _Joined()
    for join in blank.joins:
        if join.argument in joined.values:
            continue
        found = bind(join, blank.earlier[join.source], blank.tool.input_schema)
        match found:
            case Bound():
                joined.values[join.argument] = found.value
            case Nothing():
                joined.nothing = joined.nothing or found.detail
            case _:
                joined.asked.append(join)
    return joined


async def _ask(model: Asks, blank: Blank, joined: _Joined, fault: Fault | None) -> _Written:
    earlier: list[JsonValue] = [
        {
            "step": number,
            "tool": call.step.tool,
            "arguments": call.arguments,
            "result": _shown(call.result),
        }
        for number, call in enumerate(blank.earlier, 1)
    ]
    joins: list[JsonValue] = [
        {"argument": j.argument, "from_step": j.source + 1, "field": j.field} for j in joined.asked
    ]
    return await ask(
        model,
        PROMPT,
        _Written,
        sample=0 if fault is None else 1,
        query=blank.query,
        tool=blank.shown_tool,
        earlier=earlier,
        given=joined.values,
        joins=joins,
        complaint=fault.detail if fault else "",
    )


async def _fault(blank: Blank, joined: _Joined, own: JsonObject, written: _Written) -> Fault | None:
    """The first thing that is wrong with what was written; what joins give was not."""
    schema = blank.tool.input_schema
    missing = [n for n in written.missing if n in listed(schema, "required") and n not in own]
    missing = [name for name in missing if name not in joined.values]
    if missing:
        return Fault("nothing_to_bind", f"nothing that is known gives {', '.join(missing)}")
    try:
        faults = compile_schema(schema).faults({**own, **joined.values})
    except SchemaError as error:
        return Fault("unusable_schema", f"the schema of its arguments is unsound: {error}")
    if faults:
        return Fault("invalid_arguments", "; ".join(faults))
    invented = await _invented(blank, joined, own, written.sources)
    if invented:
        return Fault("invented_argument", "; ".join(invented))
    told = [call.arguments for call in blank.earlier]
    swapped = swapped_ends({**own, **joined.values}, blank.query, told) if own else []
    return Fault("swapped_arguments", "; ".join(swapped)) if swapped else None


async def _invented(
    blank: Blank, joined: _Joined, own: JsonObject, sources: dict[str, tuple[str, ...]]
) -> list[str]:
    schema = blank.tool.input_schema
    results = [_known(call) for call in blank.earlier]
    found = await invented_values(
        own,
        schema,
        query=blank.query,
        results=results,
        sources=sources,
        tool=blank.tool.name,
    )
    for join in joined.asked:
        taken = {name: value for name, value in own.items() if name == join.argument}
        # A join is of one result: what another one, or the query, says is not what it gives.
        found += await invented_values(
            taken, {}, query="", results=[results[join.source]], sources={}
        )
    return list(dict.fromkeys(found))


def _known(call: ExecutedCall) -> str:
    structured = "" if call.structured is None else canonical_json(call.structured).decode()
    return f"{call.result}\n{structured}"


def _shown(result: str) -> str:
    if len(result) <= _MAX_RESULT:
        return result
    return f"{result[:_MAX_RESULT]}\n[the first {_MAX_RESULT} of {len(result)} characters]"


def _place(blank: Blank) -> str:
    return f"step {blank.index + 1} ({blank.tool.name})"
