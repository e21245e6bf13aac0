"""What a call leaves as it was: the values of which nothing says that the call changed them.

An update changes what it names and what follows from that. What a call does beside its own entity is
not known, so numbers, flags and states of what it touches are certain no more.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from astra_mcp.answers import tokenize
from astra_mcp.values.nouns import key_of
from servers.emulated.modelled.document_entities import Entity, ReadCall, id_text
from servers.emulated.modelled.given_words import words_in
from servers.emulated.modelled.told_values import (
    Leaf,
    Leaves,
    are_same,
    is_counter,
    is_moving,
    is_state,
    is_wording,
    leaves_of,
)
from servers.emulated.verbs import Verb

__all__ = ["READS", "Effect", "named_leaves", "told_leaves"]

READS: Final = frozenset({Verb.GET, Verb.LIST, Verb.SEARCH})
_RELATIVE: Final = frozenset({"adjust", "toggle", "increment", "decrement", "swap", "append"})
"""Updates whose arguments are no values that stand afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Of a call that succeeded."""

    call: ReadCall
    settable: Mapping[str, frozenset[str]]
    is_of_any: bool = False
    """It changes or deletes something of its noun, and nobody knows what."""
    replaced: tuple[str, ...] = ()
    """Texts that its entity had before: others may repeat them."""

    def left_of(self, entity: Entity, leaves: Leaves) -> Leaves:
        """Pick out which values of an entity are what they were."""
        if self.call.verb in READS or not leaves:
            return leaves
        if self.call.entity == entity or self.may_be(entity.noun):
            return self._left_of_target(leaves)
        is_touched = self.touches(entity.id)
        if self.call.verb is Verb.OTHER and (is_touched or self.is_anywhere()):
            return {}
        settable = self.settable.get(entity.noun, frozenset())
        is_settled = not is_touched and self.call.verb is not Verb.OTHER
        return {
            field: leaf
            for field, leaf in leaves.items()
            if self._is_text_of_its_own(field, leaf, is_settable=field in settable, entity=entity)
            or (is_settled and field in settable and not is_counter(field))
        }

    def may_be(self, noun: str) -> bool:
        """Say whether the call may be about any thing of a noun."""
        return self.is_of_any and self.call.noun in (noun, None)

    def touches(self, id: str) -> bool:
        """Say whether the call names an identifier anywhere."""
        return id.casefold() in words_in(dict(self.call.arguments))

    def is_anywhere(self) -> bool:
        """True for a call of which nothing says what it is about."""
        return self.call.verb is Verb.OTHER and not any(map(id_text, self.call.arguments.values()))

    def _left_of_target(self, leaves: Leaves) -> Leaves:
        if self.call.verb is not Verb.UPDATE or self.call.leaves_doubt:
            return {}
        named = self.call.named
        if self.call.reading.word in _RELATIVE:
            named = dict.fromkeys(leaves)
        sets_state = self.call.reading.state is not None or any(map(is_state, named))
        settable = self.settable.get(self.call.noun or "", frozenset())
        changed = [*_texts(leaves[f] for f in named if f in leaves), *_texts(named.values())]
        return {
            field: leaf
            for field, leaf in leaves.items()
            if field.partition(".")[0] not in named
            and not (sets_state and (is_state(field) or isinstance(leaf, bool)))
            and (field in settable or _stands_alone(field, leaf, changed))
        }

    def _is_text_of_its_own(
        self, field: str, leaf: Leaf, *, is_settable: bool, entity: Entity
    ) -> bool:
        if not isinstance(leaf, str) or is_state(field):
            return False
        is_own = is_settable and entity.noun == self.call.noun
        return is_own or not any(are_same(leaf, text) for text in self.replaced)


def named_leaves(call: ReadCall) -> Leaves:
    """Read the values that stand in an entity after a call that creates or changes it."""
    if call.reading.word in _RELATIVE:
        return {}
    adds = call.reading.word == "add"
    return {f: v for f, v in leaves_of(dict(call.named)).items() if not (adds and is_counter(f))}


def told_leaves(call: ReadCall, leaves: Leaves, settable: frozenset[str]) -> Leaves:
    """Leave out what only repeats an argument of a look, such as the currency that it asks for."""
    if call.verb not in READS:
        return leaves
    asked = {key_of(name) for name in call.arguments} - settable
    return {field: leaf for field, leaf in leaves.items() if field not in asked}


def _texts(values: Iterable[object]) -> list[str]:
    return [value for value in values if isinstance(value, str)]


def _stands_alone(field: str, leaf: Leaf, changed: Iterable[str]) -> bool:
    """True for a text that does not follow from others that were changed."""
    if not isinstance(leaf, str) or is_wording(field) or is_moving(field):
        return False
    words = set(tokenize(leaf))
    return not any(words.intersection(tokenize(text)) for text in changed)
