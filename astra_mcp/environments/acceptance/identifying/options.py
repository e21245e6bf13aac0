"""No option makes one of the identifying values needless, alone or with another option."""

import itertools
from collections.abc import Iterator, Mapping

from astra_mcp.environments.acceptance.identifying.cases import Case, Cases
from astra_mcp.environments.acceptance.planned import GoldStep, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.neighbours import known_values

__all__ = ["option_faults", "with_options"]

_MAX_OF_OPTION = 6
_MAX_COMBINATIONS = 24
_MAX_WRONG = 2
_Chosen = tuple[tuple[str, JsonValue], ...]
"""Options, each with a value other than that of the gold call."""


async def option_faults(
    player: Player, step: GoldStep, cases: Mapping[str, Cases]
) -> list[tuple[int, str]]:
    """Repeat values of other records beside each option: the sub-tasks whose answers are kept, and how."""
    wrong = {n: c.real[:_MAX_WRONG] for n, c in cases.items()}
    tried = [
        (chosen, call, name, [case for case in wrong[name] if _loses(step, case)])
        for chosen, call in with_options(player, step)
        for name in cases
    ]
    calls = [call.having(name, case.value) for _, call, name, found in tried for case in found]
    results = iter(await player.observe_each(calls, step.before))
    faults: dict[int, str] = {}
    for chosen, call, name, found in tried:
        seen = [*itertools.islice(results, len(found))]
        for number, answer in step.answers:
            if seen and all(s.holds(answer) for s in seen):
                how = " and ".join(f"{n} = {canonical_json(v).decode()}" for n, v in chosen)
                fault = f"{call} keeps answer {number} whatever {name} is; {how} must not open all"
                faults.setdefault(number, fault)
    return [*faults.items()]


def _loses(step: GoldStep, case: Case) -> bool:
    return not any(case.seen.holds(answer) for _, answer in step.answers)


def with_options(player: Player, step: GoldStep) -> Iterator[tuple[_Chosen, PlannedCall]]:
    """The gold call with other values of what does not identify: of one option, then of two."""
    options = {
        name: [*_others(player, step, name)]
        for name in player.tools[step.call.tool].input_schema["properties"]
        if name not in step.slots or not step.is_identifying(name)
    }
    single = [((name, v),) for name, values in options.items() for v in values]
    double = [
        ((a, x), (b, y))
        for a, b in itertools.combinations(options, 2)
        for x, y in itertools.product(options[a], options[b])
    ]
    made = ((chosen, _given(step.call, chosen)) for chosen in (*single, *double))
    accepted = ((chosen, call) for chosen, call in made if player.accepts(call))
    yield from itertools.islice(accepted, _MAX_COMBINATIONS)


def _others(player: Player, step: GoldStep, name: str) -> Iterator[JsonValue]:
    """What the schema names for a parameter, and the bundle, other than its value in the call.

    Numbers are none: a wider list of other records is no fault.
    """
    schema = player.property_of(step.call, name)
    own = step.call.value(name, schema.get("default"))
    declared = step.slots[name].neighbours if name in step.slots else ()
    named = [v for v in (*declared, *known_values(schema)) if isinstance(v, str | bool)]
    values = (v for v in named if canonical_json(v) != canonical_json(own))
    return itertools.islice(values, _MAX_OF_OPTION)


def _given(call: PlannedCall, chosen: _Chosen) -> PlannedCall:
    for name, value in chosen:
        call = call.having(name, value)
    return call
