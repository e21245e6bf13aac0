"""The rules that an answer has to keep: those of its form, and what its session has given out.

Where the words of an answer leave a doubt whether what was asked for does not exist, they say nothing.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from jsonschema_rs import ValidationError

from astra_mcp.schemas import compile_validator
from astra_mcp.types import JsonValue, ToolSpec, json_fault
from astra_mcp.values.nouns import key_of, singular, words_of
from servers.emulated.modelled.document_entities import (
    Entity,
    ReadCall,
    Vocabulary,
    id_text,
    noun_of_field,
)
from servers.emulated.modelled.excerpts import answer_text, cut
from servers.emulated.modelled.ledger import Ledger, Standing, is_done
from servers.emulated.modelled.list_rules import list_faults
from servers.emulated.modelled.rules import ALIASES, MAX_NAMED, Fault, Rule, Said
from servers.emulated.modelled.value_rules import id_faults, value_faults
from servers.emulated.verbs import Verb

__all__ = ["Fault", "Rule", "Said", "contradictions", "form_faults"]

_LONGEST = 300
"""Characters of one message."""
_MAX_CHANCE = 3
"""Texts up to so long stand in others by chance."""


def form_faults(tool: ToolSpec, value: JsonValue, *, is_error: bool) -> Sequence[Fault]:
    """Say what is wrong with an answer by itself."""
    if json_fault(value) is not None:
        message = "the result is nested too deep, or has numbers or texts that JSON cannot carry"
        return [Fault(Rule.FORM, message)]
    if is_error:
        message = "the result of a call that fails is the message of the service, as a text"
        return [] if value else [Fault(Rule.FORM, message)]
    if tool.output_schema is None:
        return []
    try:
        errors = islice(compile_validator(tool.output_schema).iter_errors(value), MAX_NAMED)
        return [Fault(Rule.FORM, _schema_fault(error)) for error in errors]
    except ValueError as error:  # the schema is unsound, or a pattern takes for ever
        message = f"the result cannot be held against the output schema: {error}"
        return [Fault(Rule.FORM, cut(message, _LONGEST))]


def _schema_fault(error: ValidationError) -> str:
    place = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in error.instance_path)
    return cut(
        f"the result does not fit the output schema: result{place}: {error.message}", _LONGEST
    )


def contradictions(
    call: ReadCall, said: Said, ledger: Ledger, vocabulary: Vocabulary
) -> Sequence[Fault]:
    """Hold an answer against the ledger; empty where it is consistent, or where that is not certain."""
    found: list[Fault] = []
    if call.entity is not None:
        found += _about_one(call, call.entity, said, ledger, vocabulary)
    if not said.is_error and call.verb in (Verb.LIST, Verb.SEARCH):
        found += _about_many(call, said, ledger)
    if not said.is_error and call.verb is Verb.CREATE:
        found += _about_new(call, said, ledger)
    if not said.is_error and is_done(call, said.value):
        found += id_faults(call, said, ledger, vocabulary)
        if not found:
            found += value_faults(call, said, ledger, vocabulary)
            found += list_faults(call, said, ledger)
    return found


def _about_one(
    call: ReadCall, entity: Entity, said: Said, ledger: Ledger, vocabulary: Vocabulary
) -> Iterator[Fault]:
    standing = ledger.standing(entity, call.places)
    name = f"the {entity.noun} {entity.id!r}"
    if standing is Standing.EXISTS and _denies(said, call, ledger.nouns() | vocabulary.settled):
        message = f"an earlier answer named {name}, and nothing deleted it: it is found"
        yield Fault(Rule.KNOWN_EXISTS, message)
    if said.is_error:
        return
    if standing is Standing.DELETED and not (call.brings_back or _shows_deletion(call, said)):
        message = f'{name} was deleted: the call fails ("is_error" is true)'
        yield Fault(Rule.DELETED_IS_GONE, message)
    elif call.verb is Verb.GET and (other := _another(entity, said)) is not None:
        message = f"the call asks for {name}, and the result is {other!r}"
        yield Fault(Rule.GET_RETURNS_IT, message)
    elif (
        call.verb in (Verb.UPDATE, Verb.DELETE)
        and (other := _another(entity, said)) is not None
        and ledger.is_used(Entity(entity.noun, other), call.places)
    ):
        message = f"the call is about {name}, and the result about {other!r}"
        yield Fault(Rule.GET_RETURNS_IT, message)


def _about_many(call: ReadCall, said: Said, ledger: Ledger) -> Iterator[Fault]:
    if _asks_for_deleted(call):
        return
    gone = [
        (mentioned.ids or mentioned.names)[0]
        for mentioned in said.mentions.objects
        if mentioned.noun == call.noun and not mentioned.is_gone and ledger.is_gone(mentioned, call)
    ]
    if gone:
        named = ", ".join(repr(text) for text in gone[:MAX_NAMED])
        message = f"these were deleted, and are in no list: {call.noun} {named}"
        yield Fault(Rule.LISTS_WITHOUT_DELETED, message)


def _about_new(call: ReadCall, said: Said, ledger: Ledger) -> Iterator[Fault]:
    given = {id_text(value) for value in call.arguments.values()}
    for mentioned in said.mentions.objects:
        places = {**call.places, **mentioned.places}
        for text in mentioned.ids if mentioned.is_whole else ():
            entity = Entity(mentioned.noun, text)
            if text not in given and ledger.is_used(entity, places):
                message = f"there is a {entity.noun} {text!r} already: what is created is another"
                yield Fault(Rule.CREATED_IS_NEW, message)


def _shows_deletion(call: ReadCall, said: Said) -> bool:
    """True where a service shows what it keeps of something deleted, and marks it so."""
    return call.verb is Verb.GET and any(mentioned.is_gone for mentioned in said.mentions.objects)


def _another(entity: Entity, said: Said) -> str | None:
    """Find the entity that a result is in the place of the one that was asked for."""
    asked = entity.id.casefold()
    whole = next((mentioned for mentioned in said.mentions.objects if mentioned.is_whole), None)
    if whole is None or not whole.ids or asked in ALIASES or _holds(said.value, asked):
        return None
    if any(len(text) > _MAX_CHANCE and text.casefold() in asked for text in whole.ids):
        return None
    return whole.ids[0]


def _holds(value: JsonValue, text: str) -> bool:
    """Say whether a text is a value in a result, or a part of one if it is too long for chance."""
    pending: list[JsonValue] = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str | int):
            said = str(item).casefold()
            if said == text or (len(text) > _MAX_CHANCE and text in said):
                return True
    return False


def _asks_for_deleted(call: ReadCall) -> bool:
    """True where arguments say that deleted things are wanted."""
    said = " ".join(
        f"{name} {value if isinstance(value, str) else ''}"
        for name, value in call.arguments.items()
        if value not in (False, None)
    ).casefold()
    return any(word in said for word in ("deleted", "archived", "trash", "removed", "all_states"))


_MISSING: Final = re.compile(
    r"\bnot[ _-]?(?:be )?found\b|\bno such\b|\b(?:does|do|did)(?:n[o']t| not) exist\b|\bnon-?existent\b"
    r"|\bunknown\b|\b(?:could|can|was)(?:n[o']t| not|not)(?: be)? (?:find|found|locate|located)\b"
    r"|\bno \w+(?: \w+)? (?:with|has|having|for|matching|by|was found|were found|found|exists)\b|\b404\b"
    r"|未找到|没有找到|找不到|未能找到|不存在|查无|無法找到"
    r"|見つかりません|存在しません|찾을 수 없|존재하지 않",
    re.IGNORECASE,
)
_OTHER_REASON: Final = re.compile(
    r"permission|\baccess\b|forbidden|unauthori[sz]|denied|allowed|authenticat|authori[sz]|credential"
    r"|权限|授权|禁止|拒绝|無權",
    re.IGNORECASE,
)
_MAX_LENGTH: Final = 400
"""Longer texts are answers, not refusals."""
_MIN_VALUE: Final = 3
"""Shorter values stand in texts by chance."""


def _denies(said: Said, call: ReadCall, nouns: Iterable[str]) -> bool:
    """Say whether an answer tells that the entity of its call does not exist.

    A success does only where it holds an error in its place.

    Args:
        said: The answer.
        call: Of which the entity is known.
        nouns: Of everything else that there may be: what names another may be about that.
    """
    text = answer_text(said.value) if said.is_error else _error_in(said.value)
    if call.entity is None or not text or len(text) > _MAX_LENGTH:
        return False
    if not _MISSING.search(text) or _OTHER_REASON.search(text):
        return False
    return not _is_about_another(text, call, nouns)


def _error_in(value: JsonValue) -> str:
    """Find the error that a success holds; empty where there is none."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        error = value.get("error")
        return answer_text(error) if error else ""
    return ""


def _is_about_another(text: str, call: ReadCall, nouns: Iterable[str]) -> bool:
    """Say whether the words name another argument of the call, or something else that there is."""
    if call.entity is None:
        return True
    rest = text.casefold().replace(call.entity.id.casefold(), " ")
    words = {singular(word) for word in words_of(rest)}
    own = {*words_of(call.entity.noun), "id"}
    for name, value in call.arguments.items():
        given = id_text(value)
        if key_of(name) == call.id_field or given is None:
            continue
        if len(given) >= _MIN_VALUE and given.casefold() in rest:
            return True
        if words.intersection(words_of(noun_of_field(name) or name)) - own:
            return True
    others = {word for noun in nouns for word in words_of(noun)} - own
    return not words.isdisjoint(others)
