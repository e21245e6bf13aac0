"""What is thrown: numbers, coins, dice, choices and identifiers; by the session's own dice."""

import re
import string
from typing import Final
from uuid import UUID

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.random_stream import RandomStream
from servers.emulated.offline.computing.computation import (
    Computation,
    Moment,
    computation,
    flag,
    integer,
    items,
    number,
    option,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError

__all__ = ["COMPUTATIONS"]

_MAX_THROWS: Final = 1000
_MAX_SIDES: Final = 1_000_000
_MAX_WIDTH: Final = 2**53
_NOTATION: Final = re.compile(r"\s*(\d{0,4})\s*[dD]\s*(\d{1,7}|%)\s*(?:([+-])\s*(\d{1,6}))?\s*")
_SIGNS: Final = "!@#$%^&*()-_=+"


def _throws(count: int) -> range:
    if not 1 <= count <= _MAX_THROWS:
        raise UnfitError(f"The count must be between 1 and {_MAX_THROWS}")
    return range(count)


def _dice(sides: int, count: int, moment: Moment, bonus: int = 0) -> JsonObject:
    if not 2 <= sides <= _MAX_SIDES:
        raise UnfitError(f"The number of sides must be between 2 and {_MAX_SIDES}")
    rolls = [moment.rng.at("die", at).between(1, sides) for at in _throws(count)]
    told: JsonObject = {"rolls": [*rolls]}
    if bonus:
        told["modifier"] = bonus
    return {**told, "total": sum(rolls) + bonus}


def _noted(notation: str, moment: Moment) -> JsonObject:
    match = _NOTATION.fullmatch(notation)
    if match is None:
        raise UnfitError(f"Invalid dice notation: {notation[:40]!r}; use the form 2d6+3")
    sides = 100 if match[2] == "%" else int(match[2])
    bonus = int(f"{match[3]}{match[4]}") if match[3] else 0
    return _dice(sides, int(match[1] or 1), moment, bonus)


def _coins(count: int, moment: Moment) -> JsonObject:
    sides = [moment.rng.at("coin", at).choose(("heads", "tails")) for at in _throws(count)]
    if count == 1:
        return {"result": sides[0]}
    return {"results": [*sides], "heads": sides.count("heads"), "tails": sides.count("tails")}


def _between(low: float, high: float, count: int, form: str, moment: Moment) -> JsonValue:
    if low > high:
        raise UnfitError(f"The minimum {low} is greater than the maximum {high}")
    if max(abs(low), abs(high)) > _MAX_WIDTH:
        raise UnfitError("The bounds are out of range")
    is_whole = form != "float" and float(low).is_integer() and float(high).is_integer()
    thrown: list[JsonValue] = []
    for at in _throws(count):
        place = moment.rng.at("number", at)
        whole = place.between(int(low), int(high)) if is_whole else None
        thrown.append(low + place.fraction() * (high - low) if whole is None else whole)
    return thrown[0] if count == 1 else thrown


def _chosen(items: list[JsonValue], count: int, moment: Moment) -> JsonValue:
    if not items:
        raise UnfitError("There is nothing to choose from")
    if count == 1:
        return {"result": moment.rng.at("choice").choose(items)}
    if not 1 <= count <= len(items):
        raise UnfitError(f"The count must be between 1 and {len(items)}")
    return _shuffled(items, moment)[:count]


def _shuffled(items: list[JsonValue], moment: Moment) -> list[JsonValue]:
    places = [(moment.rng.at("order", at).number, at) for at in range(len(items))]
    return [items[at] for _, at in sorted(places)]


def _uuids(count: int, moment: Moment) -> JsonValue:
    made = [_uuid(moment.rng.at("uuid", at)) for at in _throws(count)]
    return made[0] if count == 1 else [*made]


def _uuid(rng: RandomStream) -> str:
    return str(UUID(int=rng.number << 64 | rng.at(1).number, version=4))


def _password(length: int, has_signs: object, has_digits: object, moment: Moment) -> str:
    if not 4 <= length <= 256:
        raise UnfitError("The length must be between 4 and 256")
    alphabets = [string.ascii_lowercase, string.ascii_uppercase]
    alphabets += [string.digits] if has_digits else []
    alphabets += [_SIGNS] if has_signs else []
    letters = [
        moment.rng.at("letter", at).choose(
            alphabets[at] if at < len(alphabets) else "".join(alphabets)
        )
        for at in range(length)
    ]
    return "".join(str(letter) for letter in _shuffled([*letters], moment))


_COUNT: Final = integer(
    "count",
    "n num number times quantity num_rolls rolls dice flips amount how_many num_dice number_of_dice",
    default=1,
)
_LOW: Final = "min minimum min_value lower start from lower_bound a"
_HIGH: Final = "max maximum max_value upper end to upper_bound b"
COMPUTATIONS: Final[tuple[Computation, ...]] = (
    computation("roll dice, dice roll, roll die, roll, dice", _noted, text("notation", "dice dice_notation expression roll formula"), is_of_session=True),
    computation("roll dice, dice roll, roll die, roll, dice", _dice, integer("sides", "num_sides faces die_sides number_of_sides", default=6), _COUNT,
                integer("bonus", "modifier", default=0), is_of_session=True),
    computation("flip coin, coin flip, toss coin, coin toss", _coins, _COUNT, is_of_session=True),
    computation("random number, random integer, random int, number random, random, generate random number, random range, random float", _between,
                number("low", _LOW, default=1), number("high", _HIGH, default=100), integer("count", "n quantity how_many", default=1),
                option("form", "type", "integer", "float decimal=float integer int=integer"), is_of_session=True,
                beside="generate integer int in between range float"),
    computation("random choice, random pick, pick random, choose random, random item, random element, random select, select random", _chosen, items("items", "options choices list values elements array"),
                integer("count", "n num k", default=1), is_of_session=True, beside="item element pick choice"),
    computation("shuffle", _shuffled, items("items", "list values elements array"), is_of_session=True, beside="item random"),
    computation("generate uuid, uuid generator, generate guid, create uuid, new uuid, random uuid, uuid4", _uuids, integer("count", "n num quantity number", default=1),
                is_of_session=True, beside="generate uuid v4"),
    computation("generate password, password generator, random password, create password", _password, integer("length", "len size", default=16),
                flag("has_signs", "include_symbols symbols special_chars include_special include_special_chars use_symbols special_characters include_special_characters", default=True),
                flag("has_digits", "include_numbers numbers digits include_digits use_numbers", default=True),
                is_of_session=True, beside="random secure strong"),
)  # fmt: skip
