"""A value for a schema, whatever it is made of: drawn part by part, with what is known put where it fits.

What is made is valid under most schemas, not under all: keywords that only a trial can decide (``not``,
exactly one of several) are not followed. Who uses it checks, and tries again.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, cast

from astra_mcp.types import JsonValue
from astra_mcp.values.alternatives import NOTHING, Alternatives
from astra_mcp.values.merging import Schema, kinds_of
from astra_mcp.values.nouns import is_plural, key_of, singular
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.scalars import TooLargeError, UnmetError, make_number, make_text, takes
from astra_mcp.values.subjects.portraits import Portrait
from astra_mcp.values.vocabulary import LISTED, WRAPPINGS, Meaning, meaning_of, usual_values
from astra_mcp.values.wording import DAY, Wording, written

__all__ = ["Making", "Told", "ValueContext", "named_value"]

_DEPTH_OF_OPTIONS: Final = 3
"""Below it only what is required is made."""
_MAX_DEPTH: Final = 24
_DRAWS: Final = 16
_MAX_ITEMS: Final = 1000
_MAX_VALUES: Final = 10_000
"""So many values one schema is made of; more are a mistake, or an attack."""
_KEYWORDS: Final[Mapping[str, frozenset[str]]] = {
    "object": frozenset(
        (
            "properties", "required", "additionalProperties", "patternProperties", "minProperties",
            "maxProperties", "propertyNames", "dependentRequired", "unevaluatedProperties",
        )
    ),
    "array": frozenset(
        ("items", "prefixItems", "minItems", "maxItems", "contains", "uniqueItems", "unevaluatedItems")
    ),
    "string": frozenset(("pattern", "minLength", "maxLength", "format")),
    "number": frozenset(
        ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
    ),
}  # fmt: skip
"""What the keywords of a schema without a type are about."""
_KINDS: Final = ("string", "object", "integer", "array", "null", "boolean")
_ANY_KIND_ATTEMPT: Final = 10
"""From then on a schema without a type is taken at its word: it may be anything."""
_KIND_OF_MEANING: Final = {Meaning.NUMBER: "number", Meaning.FLAG: "boolean"}

Told = Mapping[str, JsonValue]
"""What is known of an object, by the names of its members in any writing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueContext:
    """Where a value is to stand, and what is known of it."""

    rng: RandomStream
    """Decide it."""
    key: str = ""
    """The name of the member that it is for, in normal form."""
    noun: str = ""
    """What the member belongs to."""
    told: object = NOTHING
    """What is known of the value: itself, or an object of which members may be of use."""
    depth: int = 0
    """How deep it lies."""
    portrait: Portrait | None = None
    """The thing that the value is of, where that is known."""

    def member(self, name: str | int, key: str, told: object) -> "ValueContext":
        """The place of a member or an item."""
        return ValueContext(
            rng=self.rng.at(name),
            key=key,
            noun=self.noun,
            told=told,
            depth=self.depth + 1,
            portrait=self.portrait,
        )


class Making:
    """Makes values of the schemas of one document."""

    def __init__(
        self, root: Schema, wording: Wording, *, attempt: int = 0, share: float = 1.0
    ) -> None:
        """Prepare.

        Args:
            root: Where local references begin.
            wording: Has the words.
            attempt: Another one chooses other alternatives.
            share: Of the members that are not required, how many are made, in [0, 1].
        """
        self._alternatives = Alternatives(root, attempt)
        self._wording = wording
        self._attempt = attempt
        self._share = share
        self._left = _MAX_VALUES
        self._by_kind: Mapping[str, Callable[[Schema, ValueContext], JsonValue]] = {
            "object": self._object,
            "array": self._array,
            "string": self._text,
            "integer": partial(self._number, is_integer=True),
            "number": partial(self._number, is_integer=False),
            "boolean": self._flag,
            "null": lambda _schema, _spot: None,
        }

    def value(self, schema: object, spot: ValueContext) -> JsonValue:
        """Make one value.

        Raises:
            UnmetError: There is none, or it is not found.
        """
        self._left -= 1
        if self._left < 0:
            raise TooLargeError(f"more than {_MAX_VALUES} values")
        if spot.depth > _MAX_DEPTH:
            raise UnmetError("nested too deeply")
        flat = self._alternatives.flat(schema, spot.rng, spot.told, spot.depth)
        for kept in _kept(flat, spot):
            return kept
        if "const" in flat:
            return cast("JsonValue", flat["const"])
        members: Any = flat.get("enum")
        if isinstance(members, list):
            return self._member(flat, cast("list[JsonValue]", members), spot.rng)
        for shown in _portrayed(flat, spot):
            return shown
        return self._by_kind.get(self._kind(flat, spot), self._text)(flat, spot)

    def _member(self, schema: Schema, members: list[JsonValue], rng: RandomStream) -> JsonValue:
        fitting = [m for m in members if isinstance(m, dict | list) or takes(schema, m)]
        valued = [m for m in fitting if m is not None] or fitting
        if not valued:
            raise UnmetError("no member of the enumeration is allowed")
        return valued[(rng.below(len(valued)) + self._attempt) % len(valued)]

    def _kind(self, schema: Schema, spot: ValueContext) -> str:
        """Which type to make."""
        kinds: Any = schema.get("type")
        if isinstance(kinds, str):
            return kinds
        if isinstance(kinds, list):
            return self._kind_among(cast("list[str]", kinds), schema, spot)
        told = _structure(spot.told)
        if told is not None:
            return told
        if self._attempt >= _ANY_KIND_ATTEMPT:
            return _KINDS[self._attempt % len(_KINDS)]
        described = (kind for kind, words in _KEYWORDS.items() if not words.isdisjoint(schema))
        return next(described, _kind_of_name(spot.key))

    def _kind_among(self, kinds: list[str], schema: Schema, spot: ValueContext) -> str:
        wanted = [kind for kind in kinds if kind != "null"] or kinds
        if not wanted:
            raise UnmetError("no type is allowed")
        told = _structure(spot.told)
        if told in wanted:
            return told
        for kind in ("object", "array"):
            if kind in wanted and not _KEYWORDS[kind].isdisjoint(schema) and not self._attempt:
                return kind
        return wanted[(spot.rng.at("type").below(len(wanted)) + self._attempt) % len(wanted)]

    def _text(self, schema: Schema, spot: ValueContext) -> str:
        if spot.portrait is not None and meaning_of(spot.key)[1] in _TIMES:
            for text in _times(spot.key, spot.portrait, self._wording):
                if takes(schema, text):
                    return text
        return make_text(schema, spot.rng, self._wording, key=spot.key, noun=spot.noun)

    def _number(self, schema: Schema, spot: ValueContext, *, is_integer: bool) -> int | float:
        return make_number(schema, spot.rng, key=spot.key, is_integer=is_integer)

    def _flag(self, _: Schema, spot: ValueContext) -> bool:
        meaning, usual = meaning_of(spot.key)
        return usual == "true" if meaning is Meaning.FLAG else spot.rng.below(2) == 1

    def _object(self, schema: Schema, spot: ValueContext) -> dict[str, JsonValue]:
        spot = self._of_its_own(spot)
        known = _known(spot.told)
        declared: Mapping[str, Any] = schema.get("properties") or {}
        alone = _only_list(declared, known)
        made: dict[str, JsonValue] = {}
        for name in self._names(schema, declared, known, spot):
            key = key_of(name)
            if key in known:
                told: object = known[key]
            elif key == f"{spot.noun}_id" and "id" in known:
                told = known["id"]
            else:
                is_wrapping = key in WRAPPINGS or key == alone or singular(key) == spot.noun
                told = known if known and is_wrapping else NOTHING
            made[name] = self.value(
                _member_schema(schema, declared, name), spot.member(name, key, told)
            )
        return made

    def _of_its_own(self, spot: ValueContext) -> ValueContext:
        """An object whose name is that of a kind of things is one of them."""
        if not spot.depth or not spot.key or spot.key in WRAPPINGS:
            return spot
        found = self._wording.found(spot.key)
        if found is None or not found.is_thing:
            return spot
        if spot.portrait is not None and spot.portrait.subject is found.subject:
            return spot
        return replace(spot, portrait=self._wording.portrait(spot.key, spot.rng), noun=spot.key)

    def _names(
        self, schema: Schema, declared: Mapping[str, Any], known: Told, spot: ValueContext
    ) -> list[str]:
        """Which members to make, in the order of the schema."""
        required: list[str] = [*schema.get("required", ())]
        wanted = {*required, *(n for n in declared if known.get(key_of(n)) is not None)}
        unknown = (n for n in declared if n not in wanted and key_of(n) not in known)
        optional = [n for n in unknown if declared[n] is not False]
        if spot.depth < _DEPTH_OF_OPTIONS:
            wanted |= {n for n in optional if spot.rng.at("?", n).fraction() < self._share}
        _add_dependent(schema, wanted)
        names = [n for n in declared if n in wanted]
        told = _free_names(schema, declared, spot.told)
        names += [
            n for n in dict.fromkeys((*required, *sorted(wanted), *told)) if n not in declared
        ]
        least, most = schema.get("minProperties", 0), schema.get("maxProperties")
        if len(names) < least or self._is_map(schema, declared, names):
            names += self._further(schema, names, optional, max(least - len(names), 1), spot.rng)
        if most is not None and len(names) > most:
            kept = {
                *required,
                *[n for n in names if n not in required][: max(most - len(required), 0)],
            }
            names = [n for n in names if n in kept]
        return names

    def _is_map(self, schema: Schema, declared: Mapping[str, Any], names: list[str]) -> bool:
        """An object of any names, of which the members are described."""
        extra = schema.get("additionalProperties")
        return not declared and not names and isinstance(extra, dict) and self._share == 1

    def _further(
        self, schema: Schema, names: list[str], optional: list[str], number: int, rng: RandomStream
    ) -> list[str]:
        """More members than are asked for by name."""
        if number > _MAX_ITEMS:
            raise UnmetError(f"an object of {number} more members")
        more = [n for n in optional if n not in names][:number]
        patterns = list(_patterns(schema))
        for at in range(_DRAWS * number):
            if len(more) >= number:
                break
            place = rng.at("name", at)
            if patterns and at % 2:
                name = self._text({"pattern": place.choose(patterns)}, ValueContext(rng=place))
            else:
                name = str(
                    self.value(schema.get("propertyNames", {}), ValueContext(rng=place, key="tag"))
                )
            if name not in {*names, *more} and _member_schema(schema, {}, name) is not False:
                more.append(name)
        return more

    def _array(self, schema: Schema, spot: ValueContext) -> list[JsonValue]:
        prefix: list[Any] = schema.get("prefixItems") or []
        items = schema.get("items", schema.get("unevaluatedItems", True))
        contains = schema.get("contains")
        wanted = schema.get("minContains", 1) if contains is not None else 0
        listed = _listed(spot.told)
        made: list[JsonValue] = []
        for at in range(_length(schema, items, listed, spot)):
            member = prefix[at] if at < len(prefix) else items
            if at < wanted:
                member = {"allOf": [member, contains]}
            told = listed[at] if listed is not None and at < len(listed) else NOTHING
            inner = spot.member(at, singular(spot.key), told)
            if spot.portrait is not None:
                inner = replace(inner, portrait=spot.portrait.neighbour(at))
            taken = made if schema.get("uniqueItems") else ()
            made.append(self._item(member, inner, taken))
        return made

    def _item(self, member: Any, spot: ValueContext, taken: Sequence[JsonValue]) -> JsonValue:
        """Make an item that is none of those before."""
        item = self.value(member, spot)
        for draw in range(_DRAWS):
            if item not in taken:
                break
            item = self.value(member, replace(spot, rng=spot.rng.at("again", draw), told=NOTHING))
        return item


def _kind_of_name(key: str) -> str:
    """Which type a member has of which only the name is known."""
    meaning, name = meaning_of(key)
    if is_plural(key) and "tag" in (name, meaning_of(singular(key))[1]):
        return "array"
    if is_plural(key) and meaning is Meaning.UNKNOWN and not usual_values(key):
        return "integer"  # how many of them there are
    return _KIND_OF_MEANING.get(meaning, "string")


_TIMES: Final = ("date", "datetime")
_LAST: Final = frozenset(("end", "to", "until", "due", "return", "checkout", "expires"))


def _times(key: str, portrait: Portrait, wording: Wording) -> tuple[str, str]:
    """A time of a thing as a member of the name has it, and as another schema may: a day, or a moment."""
    moment = wording.between(portrait.dice, key)
    if meaning_of(key)[1] == "datetime":
        return written(moment), written(moment)[:10]
    is_last = not _LAST.isdisjoint(key.split("_"))
    days = portrait.dice.at("days").between(1, 6) * DAY if is_last else 0
    return written(moment + days)[:10], written(moment)


def named_value(
    key: str, noun: str, rng: RandomStream, wording: Wording, portrait: Portrait | None
) -> JsonValue:
    """Make a value of which only the name is known; the same as of a schema that takes anything.

    Args:
        key: The name of the member, in normal form.
        noun: What the member belongs to.
        rng: Decide it.
        wording: Has the words.
        portrait: The thing that the member is of; it was asked, and says nothing of the member.
    """
    match _kind_of_name(key):
        case "string" if portrait is not None and meaning_of(key)[1] in _TIMES:
            return _times(key, portrait, wording)[0]
        case "string":
            return make_text({}, rng, wording, key=key, noun=noun)
        case "number":
            return make_number({}, rng, key=key, is_integer=False)
        case "integer":
            return make_number({}, rng, key=key, is_integer=True)
        case _:
            return Making({}, wording).value({}, ValueContext(rng=rng, key=key, noun=noun, depth=1))


def _kept(flat: Schema, spot: ValueContext) -> Iterator[JsonValue]:
    """What is told, where the schema takes it as it is; a number may become a text."""
    told = spot.told
    if told is NOTHING:
        return
    known = cast("JsonValue", told)
    kind = _structure(told)
    if kind is not None:
        rows = _listed(told)
        if spot.key and _is_free(flat, "array" if rows is not None else kind):
            yield known if rows is None else rows
    elif takes(flat, known):
        yield known
    elif isinstance(known, int | float) and not isinstance(known, bool) and takes(flat, str(known)):
        yield str(known)


def _portrayed(flat: Schema, spot: ValueContext) -> Iterator[JsonValue]:
    """What the thing itself says of the value, in a kind that the schema takes."""
    if spot.portrait is None or not spot.key:
        return
    kinds = kinds_of(flat)
    for value in spot.portrait.member(spot.key):
        many: list[JsonValue] = value if isinstance(value, list) else [value]
        if kinds and "array" in kinds and _KEYWORDS["array"].isdisjoint(flat.keys() - {"items"}):
            if isinstance(value, str | list) and _items_may_be(flat, "string"):
                yield many
        elif isinstance(value, list) and not kinds:
            yield value
        elif isinstance(value, list):
            text = ", ".join(map(str, value))
            if takes(flat, text):
                yield text
        else:
            fitting = (v for v in _in_kinds(value) if takes(flat, v))
            yield from fitting


def _items_may_be(flat: Schema, kind: str) -> bool:
    items: Any = flat.get("items", {})
    if not isinstance(items, dict):
        return True
    item = cast("Schema", items)
    return item.get("type", kind) == kind and "enum" not in item


def _in_kinds(value: JsonValue) -> Iterator[JsonValue]:
    """A value, and what it is as a whole number and as a text."""
    yield value
    if isinstance(value, int | float) and not isinstance(value, bool):
        yield round(value)
        yield str(value)


def _is_free(flat: Schema, kind: str) -> bool:
    """Say whether a schema takes any object, or any list."""
    return kind in (kinds_of(flat) or (kind,)) and _KEYWORDS[kind].isdisjoint(flat)


def _structure(told: object) -> str | None:
    if isinstance(told, dict):
        return "object"
    return "array" if isinstance(told, list) else None


def _length(
    schema: Schema, items: object, listed: list[JsonValue] | None, spot: ValueContext
) -> int:
    """How many items to make."""
    fixed = len(schema.get("prefixItems") or ())
    wanted = schema.get("minContains", 1) if "contains" in schema else 0
    least = max(schema.get("minItems", 0), wanted)
    most = min(schema.get("maxItems", _MAX_ITEMS), fixed if items is False else _MAX_ITEMS)
    if least > most:
        raise UnmetError(f"no list of {least} to {most} items")
    if listed is not None:
        return min(max(len(listed), least), most)
    if spot.depth > _DEPTH_OF_OPTIONS:
        return least
    return min(max(fixed or spot.rng.at("length").between(1, 3), least), most)


def _known(told: object) -> Told:
    if not isinstance(told, dict):
        return {}
    return {key_of(name): value for name, value in cast("dict[str, JsonValue]", told).items()}


def _listed(told: object) -> list[JsonValue] | None:
    if isinstance(told, list):
        return cast("list[JsonValue]", told)
    if isinstance(told, dict):
        entities = cast("dict[str, JsonValue]", told).get(LISTED)
        return entities if isinstance(entities, list) else None
    return None


def _add_dependent(schema: Schema, wanted: set[str]) -> None:
    dependent: Mapping[str, list[str]] = schema.get("dependentRequired") or {}
    pending = list(wanted)
    while pending:
        further = set(dependent.get(pending.pop(), ())) - wanted
        wanted |= further
        pending.extend(further)


def _free_names(schema: Schema, declared: Mapping[str, Any], told: object) -> list[str]:
    """The members that are known of an object of any names."""
    is_open = not declared and schema.get("additionalProperties", True) is not False
    if not is_open or not isinstance(told, dict):
        return []
    return [name for name in cast("dict[str, JsonValue]", told) if name != LISTED]


def _only_list(declared: Mapping[str, Any], known: Told) -> str | None:
    """The one list of an object, where it has no more of them and entities are to be listed."""
    if LISTED not in known:
        return None
    lists = [
        key_of(n)
        for n, s in declared.items()
        if isinstance(s, dict) and "array" in kinds_of(cast("Schema", s))
    ]
    left = [key for key in lists if key not in known]
    return left[0] if len(left) == 1 else None


def _patterns(schema: Schema) -> Mapping[str, Any]:
    return schema.get("patternProperties") or {}


def _member_schema(schema: Schema, declared: Mapping[str, Any], name: str) -> object:
    """The schema of a member, whatever says it."""
    found = [member for at, member in _patterns(schema).items() if takes({"pattern": at}, name)]
    if name in declared:
        found.insert(0, declared[name])
    if not found:
        return schema.get("additionalProperties", schema.get("unevaluatedProperties", True))
    return found[0] if len(found) == 1 else {"allOf": found}
