"""Which calls are necessary: what code decides of a call before a judge is asked, and the judge's form.

Source: ASTRA sec. 2.1.5, eq. (9), and appendix A.3, prompt 2.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, Final, Self, cast

from pydantic import BaseModel, ConfigDict, StrictBool, model_validator

from astra_mcp.schemas import SchemaError, compile_validator
from astra_mcp.trajectory import ToolCall, Trajectory
from astra_mcp.types import JsonObject
from training.rewards.shown import calls_of
from training.rollout.arguments import parse_arguments

__all__ = ["CallVerdict", "CallVerdicts", "decided_by_code", "verdicts_on"]

_MAX_FAULT: Final = 300
_MAX_FORMS: Final = 512


class CallVerdict(BaseModel):
    """What the judge says of one call, its reason first."""

    model_config = ConfigDict(frozen=True)

    call: int
    reason: str
    necessary: StrictBool


class CallVerdicts(BaseModel):
    """What the judge says of the calls that it is asked about: of each once, and of no other."""

    model_config = ConfigDict(frozen=True)
    asked: ClassVar[tuple[int, ...]] = ()

    verdicts: tuple[CallVerdict, ...]

    @model_validator(mode="after")
    def _is_of_the_calls(self) -> Self:
        told = Counter(verdict.call for verdict in self.verdicts)
        if told != Counter(self.asked):
            numbers = ", ".join(map(str, self.asked))
            raise ValueError(f"verdicts: must be one on each of the calls {numbers}, and no other")
        return self


@lru_cache(maxsize=_MAX_FORMS)
def verdicts_on(numbers: tuple[int, ...]) -> type[CallVerdicts]:
    """Give the form of an answer about these calls."""

    class _Verdicts(CallVerdicts):
        asked: ClassVar[tuple[int, ...]] = numbers

    _Verdicts.__name__ = CallVerdicts.__name__
    _Verdicts.__doc__ = CallVerdicts.__doc__
    return _Verdicts


def decided_by_code(trajectory: Trajectory) -> dict[int, str]:
    """Find the calls that are worth 0 whatever a judge says, by their numbers from 1, and why.

    A call is, if its tool is none of those that the agent was shown, or its arguments are no JSON object or
    not of the tool's schema. A schema that is itself unsound decides nothing.
    """
    schemas = dict(map(_described, trajectory.tools))
    faults = ((n, _fault(call, schemas)) for n, call in enumerate(calls_of(trajectory), 1))
    return {number: fault for number, fault in faults if fault is not None}


def _described(tool: JsonObject) -> tuple[str, JsonObject]:
    function = cast("Mapping[str, Any]", tool.get("function", tool))
    schema = function.get("parameters")
    return str(function.get("name")), cast("JsonObject", schema if isinstance(schema, dict) else {})


def _fault(call: ToolCall, schemas: Mapping[str, JsonObject]) -> str | None:
    name, text = call.function.name, call.function.arguments
    if name not in schemas:
        return f"undefined tool: {name[:_MAX_FAULT]!r} is none of those that the agent was shown"
    arguments = parse_arguments(text)
    if isinstance(arguments, str):
        return f"malformed arguments: {arguments}"[:_MAX_FAULT]
    return _schema_fault(arguments, schemas[name])


def _schema_fault(arguments: JsonObject, schema: JsonObject) -> str | None:
    try:
        validator = compile_validator(schema)
        error = next(iter(validator.iter_errors(arguments)), None)
    except (SchemaError, ValueError):
        return None
    if error is None:
        return None
    place = ".".join(str(part) for part in error.instance_path)
    told = f"malformed arguments: {place + ': ' if place else ''}{error.message}"
    return told[:_MAX_FAULT]
