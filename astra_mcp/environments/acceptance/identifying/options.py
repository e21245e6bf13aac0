"""No option makes one of the identifying values needless, alone or with another option."""

import itertools
from collections.abc import Iterator, Mapping, Sequence

from astra_mcp.environments.acceptance.identifying.cases import Case, Cases
from astra_mcp.environments.acceptance.identifying.results import masked, words_of
from astra_mcp.environments.acceptance.planned import GoldStep, Observation, PlannedCall
from astra_mcp.environments.acceptance.playing import Player
from astra_mcp.types import JsonValue, canonical_json
from astra_mcp.values.merging import kinds_of
from astra_mcp.values.neighbours import known_values

__all__ = ["option_faults"]

_MAX_OF_OPTION = 6
_MAX_COMBINATIONS = 16
_MAX_WRONG = 2
_MANY = 1_000_000
_Chosen = tuple[tuple[str, JsonValue], ...]
"""Options, each with a value other than that of the gold call."""


async def option_faults(
    player: Player, step: GoldStep, cases: Mapping[str, Cases]
) -> list[tuple[int, str]]:
    """Repeat values of other records beside each option: the sub-tasks whose answers are kept, and how."""
    wrong = {n: [x for x in c.rows if _loses(step, x)][:_MAX_WRONG] for n, c in cases.items()}
    tried = [
        (chosen, call, name, wrong[name])
        for chosen, call in _with_options(player, step)
        for name in cases
        if wrong[name] and name not in dict(chosen)
    ]
    calls = [
        made
        for _, call, name, found in tried
        for made in (call, *(call.having(name, case.value) for case in found))
    ]
    results = iter(await player.observe_each(calls, step.before))
    faults: dict[int, str] = {}
    for chosen, call, name, found in tried:
        right, *seen = itertools.islice(results, len(found) + 1)
        # A wider list of other records is no fault, unless it is the same list for all.
        is_wider = any(_is_number(v) for _, v in chosen)
        if is_wider and not _are_alike(step, name, right, found, seen):
            continue
        for number, answer in step.answers:
            if all(s.holds(answer) for s in seen):
                how = " and ".join(f"{n} = {canonical_json(v).decode()}" for n, v in chosen)
                fault = f"{call} keeps answer {number} whatever {name} is; {how} must not open all"
                faults.setdefault(number, fault)
    return [*faults.items()]


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _are_alike(
    step: GoldStep,
    name: str,
    right: Observation,
    found: Sequence[Case],
    seen: Sequence[Observation],
) -> bool:
    """Tell whether results are one and the same, whatever a parameter is."""
    words = {t for v in (step.call.value(name), *(c.value for c in found)) for t in words_of(v)}
    return len({masked(s, words) for s in (right, *seen)}) == 1


def _loses(step: GoldStep, case: Case) -> bool:
    return not any(case.seen.holds(answer) for _, answer in step.answers)


def _with_options(player: Player, step: GoldStep) -> Iterator[tuple[_Chosen, PlannedCall]]:
    """The gold call with other values of what does not identify, or is a choice: of one, then of two."""
    options = {
        name: [*_others(player, step, name)]
        for name in _names(player, step)
        if not step.is_identifying(name) or player.property_of(step.call, name).get("enum")
    }
    single = [((name, v),) for name, values in options.items() for v in values]
    double = [
        ((a, x), (b, y))
        for a, b in itertools.combinations(options, 2)
        for x, y in itertools.product(options[a], options[b])
    ]
    made = ((chosen, step.call.having_all(dict(chosen))) for chosen in (*single, *double))
    accepted = ((chosen, call) for chosen, call in made if player.accepts(call))
    yield from itertools.islice(accepted, _MAX_COMBINATIONS)


def _names(player: Player, step: GoldStep) -> list[str]:
    """Places of values: parameters, and members of objects that have roles."""
    nested = {n.partition(".")[0] for n in step.slots if "." in n}
    properties = player.tools[step.call.tool].input_schema["properties"]
    return [n for n in dict.fromkeys((*properties, *step.slots)) if n not in nested]


def _others(player: Player, step: GoldStep, name: str) -> Iterator[JsonValue]:
    """What the schema names for a parameter, and the bundle, other than its value in the call; bounds."""
    schema = player.property_of(step.call, name)
    own = step.call.value(name, schema.get("default"))
    declared = step.slots[name].neighbours if name in step.slots else ()
    named = [v for v in (*declared, *known_values(schema)) if isinstance(v, str | bool)]
    if {*kinds_of(schema)} & {"integer", "number"}:
        named += [schema.get("minimum"), schema.get("maximum"), _MANY]
    fresh = {canonical_json(v): v for v in named if v is not None}
    fresh.pop(canonical_json(own), None)
    return itertools.islice(fresh.values(), _MAX_OF_OPTION)
