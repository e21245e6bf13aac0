"""The rules of what is told of one thing: its identifier was given out, and its values stay."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Final

from astra_mcp.types import JsonValue
from servers.emulated.modelled.document_entities import (
    Entity,
    ReadCall,
    Vocabulary,
    is_id_field,
)
from servers.emulated.modelled.effects import named_leaves, told_leaves
from servers.emulated.modelled.excerpts import cut
from servers.emulated.modelled.ledger import Ledger, Standing
from servers.emulated.modelled.mentions import Mentioned
from servers.emulated.modelled.rules import ALIASES, MAX_NAMED, Fault, Rule, Said
from servers.emulated.modelled.told_values import (
    Leaf,
    Leaves,
    are_same,
    is_counter,
    is_moving,
    is_state,
    is_wording,
)
from servers.emulated.verbs import Verb

__all__ = ["id_faults", "value_faults"]

_ADDRESSES: Final = frozenset(
    {"path", "file", "folder", "directory", "url", "uri", "link", "domain"}
)
_MAX_VALUE: Final = 100
"""Characters of a value in a message."""
_SAME_START: Final = 4
"""Words for a state begin alike: ``publish`` makes a thing ``published``."""


def id_faults(
    call: ReadCall, said: Said, ledger: Ledger, vocabulary: Vocabulary
) -> Iterator[Fault]:
    """Find identifiers in a call that was answered, although the server never gave them out."""
    named = [*call.references] if _uses_references(call, said) else []
    if call.entity is not None and is_id_field(call.id_field) and not call.brings_back:
        named.insert(0, call.entity)
    for entity in named:
        is_of_server = entity.noun in vocabulary.given_by_server or ledger.is_complete(entity.noun)
        if is_of_server and not _is_known(entity, call, ledger, vocabulary) and _tells(said.value):
            message = (
                f"no answer ever named a {entity.noun} {entity.id!r}: there is none, and the call"
                ' fails ("is_error" is true)'
            )
            yield Fault(Rule.UNKNOWN_IS_MISSING, message)


def _uses_references(call: ReadCall, said: Said) -> bool:
    """A list for what does not exist may be empty."""
    if call.verb in (Verb.LIST, Verb.SEARCH):
        return any(mentioned.noun == call.noun for mentioned in said.mentions.objects)
    return True


def _is_known(entity: Entity, call: ReadCall, ledger: Ledger, vocabulary: Vocabulary) -> bool:
    if entity.id.casefold() in ALIASES or entity.id.casefold() in vocabulary.words:
        return True
    standing = ledger.standing(entity, call.places)
    return standing is not Standing.UNKNOWN or ledger.may_be_given(entity.id)


def _tells(value: JsonValue) -> bool:
    """True for an answer that is more than nothing."""
    return bool(value) and value != "null"


def value_faults(
    call: ReadCall, said: Said, ledger: Ledger, vocabulary: Vocabulary
) -> Iterator[Fault]:
    """Find values that are not those that were told, or that the call gave."""
    if not call.shows_plainly:
        return
    effect = ledger.effect(call, vocabulary.settable)
    objects = said.mentions.objects
    seen = Counter((m.noun, text) for m in objects for text in {*m.ids, *m.names})
    messages: list[tuple[Rule, str]] = []
    for mentioned in objects:
        ids = mentioned.ids or mentioned.names
        entity = Entity(mentioned.noun, ids[0])
        if mentioned.is_gone or seen[entity] > 1:
            continue
        given = _given(call, mentioned)
        messages += [(Rule.ECHOES_WHAT_WAS_GIVEN, text) for text in _echo(entity, given, mentioned)]
        if call.verb is Verb.CREATE and mentioned.is_whole:
            continue
        told = ledger.told(entity, {**call.places, **mentioned.places})
        if mentioned.ids or mentioned.noun in vocabulary.stored:
            settable = vocabulary.settable.get(entity.noun, frozenset())
            left = told_leaves(call, effect.left_of(entity, told), settable)
            kept = {f: v for f, v in left.items() if f not in given}
            is_stored = entity.noun in vocabulary.stored
            steady = {f: v for f, v in kept.items() if _is_steady(f, v, settable, is_stored)}
            messages += [(Rule.VALUES_STAY, text) for text in _changed(entity, steady, mentioned)]
    for rule, message in messages[:MAX_NAMED]:
        yield Fault(rule, message)


def _is_steady(field: str, leaf: Leaf, settable: frozenset[str], is_stored: bool) -> bool:
    """Say whether a value changes by calls alone, and is told in one way."""
    if field in settable:
        return not (is_moving(field) and not isinstance(leaf, str))
    if is_moving(field) or is_wording(field.rpartition(".")[2]):
        return False
    return isinstance(leaf, str) or (is_stored and not is_counter(field))


def _given(call: ReadCall, mentioned: Mentioned) -> Leaves:
    """What a call gave the entity that is the result; empty where it is another."""
    is_it = mentioned.is_whole and mentioned.noun == call.noun
    if not is_it or call.verb not in (Verb.CREATE, Verb.UPDATE):
        return {}
    if call.entity is not None and call.verb is Verb.UPDATE:
        is_it = call.entity.id in (*mentioned.ids, *mentioned.names)
    return named_leaves(call) if is_it else {}


def _echo(entity: Entity, given: Leaves, mentioned: Mentioned) -> Iterator[str]:
    for field, value in given.items():
        told = mentioned.leaves.get(field)
        if told is None or are_same(value, told) or _may_become(field, value, told):
            continue
        name = f"the {entity.noun} {entity.id!r}"
        yield f"the call gives {name} the {field} {_shown(value)}, and the result says {_shown(told)}"


def _changed(entity: Entity, steady: Leaves, mentioned: Mentioned) -> Iterator[str]:
    for field, value in steady.items():
        told = mentioned.leaves.get(field)
        if told is not None and not are_same(value, told):
            yield (
                f"the {field} of the {entity.noun} {entity.id!r} was {_shown(value)}, no call changed"
                f" it, and the result says {_shown(told)}"
            )


def _may_become(field: str, given: Leaf, told: Leaf) -> bool:
    """Say whether a service may write what it was given so, such as a path in full."""
    one, other = str(given).casefold(), str(told).casefold()
    if is_moving(field):
        return isinstance(given, str) or isinstance(told, str)
    if is_state(field):
        return one[:_SAME_START] == other[:_SAME_START]
    is_address = not _ADDRESSES.isdisjoint(field.split("_"))
    return is_address and (one.strip("./") in other or other.strip("./") in one)


def _shown(value: Leaf) -> str:
    return cut(json.dumps(value, ensure_ascii=False), _MAX_VALUE)
