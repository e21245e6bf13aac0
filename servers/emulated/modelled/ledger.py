"""The entities that a session has given out: which exist, and which were deleted.

Holds what answers said and nothing that was guessed. Where two entities could be meant, or where something
may have become of one that the answers do not tell, it claims to know nothing.
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from astra_mcp.types import JsonValue
from astra_mcp.values.nouns import key_of
from servers.emulated.modelled.document_entities import (
    Entity,
    ReadCall,
    are_alike,
    id_text,
    is_id_field,
)
from servers.emulated.modelled.effects import READS, Effect, named_leaves, told_leaves
from servers.emulated.modelled.excerpts import cut
from servers.emulated.modelled.given_words import GivenWords, words_in
from servers.emulated.modelled.mentions import Mentioned, Mentions
from servers.emulated.modelled.told_values import Leaf, Leaves, is_state
from servers.emulated.parameters import Role
from servers.emulated.verbs import Verb

__all__ = ["MAX_SUMMARY", "MAX_VALUES", "Ledger", "Standing", "is_done"]

MAX_SUMMARY: Final = 3000
"""Characters."""
MAX_VALUES: Final = 3000
"""Characters of what is told of the values of entities."""
_MAX_ENTITY: Final = 600
_MAX_ENTITIES: Final = 5000
"""Beyond it, those that were named first are forgotten."""
_LOCAL_DIGITS: Final = 4
"""An identifier of so few digits says little without its place."""
_WORDS_OF_FAILURE: Final = ("success", "ok", "deleted", "removed")
_WORDS_OF_WAITING: Final = frozenset(
    {"pending", "scheduled", "queued", "failed", "error", "in_progress", "dry_run"}
)
_HIDDEN: Final = frozenset(
    {"closed", "archived", "completed", "complete", "done", "resolved", "inactive", "disabled"}
    | {"hidden", "expired", "draft", "merged", "rejected", "finished", "cancelled", "canceled"}
    | {"deleted", "true", "private", "unlisted", "paused", "suspended"}
    | {"is_archived", "is_completed", "is_deleted"}
)
"""States in which a thing may be in no list."""
_TRIALS: Final = frozenset({"dry_run", "preview", "simulate", "validate_only", "trash", "soft"})
_CONSENTS: Final = frozenset({"confirm", "confirmed", "force", "permanent", "permanently"})


class Standing(StrEnum):
    """What is known of an entity."""

    EXISTS = "exists"
    DELETED = "deleted"
    UNKNOWN = "unknown"
    """Never named, or named in a way that leaves a doubt."""


@dataclass(slots=True, eq=False)
class _Entry:
    """An entity of one place."""

    noun: str
    places: dict[str, str]
    is_deleted: bool = False
    other_ids: set[str] = field(default_factory=set[str])
    names: set[str] = field(default_factory=set[str])
    leaves: Leaves = field(default_factory=dict[str, Leaf])
    """What was told of it, as far as no call may have changed it."""
    is_listed: bool = False
    """A list of all of its noun shows it."""

    def is_of(self, noun: str, places: Mapping[str, str]) -> bool:
        """Say whether this can be what is meant."""
        return are_alike(self.noun, noun) and all(
            places.get(name, text) == text for name, text in self.places.items()
        )


class Ledger:
    """Of one session; its methods neither wait nor fail, so it is never half-way."""

    def __init__(self, known: frozenset[str] = frozenset()) -> None:
        """Begin with nothing given out but the words that are known beforehand, in lower case."""
        self._entries: dict[str, list[_Entry]] = {}
        """By identifier; the one named last stands last."""
        self._words = GivenWords(known)
        self._longest: dict[str, int] = {}
        """By tool: the longest list that it gave without being told how long."""
        self._complete = set[str]()
        """Nouns of which all were listed once."""

    def standing(self, entity: Entity, places: Mapping[str, str]) -> Standing:
        """Say what is known of an entity, seen from a place."""
        states = {entry.is_deleted for entry in self._of(entity, places)}
        if len(states) != 1:
            return Standing.UNKNOWN
        return Standing.DELETED if states.pop() else Standing.EXISTS

    def is_gone(self, mentioned: Mentioned, call: ReadCall) -> bool:
        """Say whether an object of a result was deleted before."""
        places = {**call.places, **mentioned.places}
        return any(
            self.standing(Entity(mentioned.noun, text), places) is Standing.DELETED
            and not self._is_elsewhere(Entity(mentioned.noun, text), places)
            for text in (*mentioned.ids, *mentioned.names)
        )

    def is_used(self, entity: Entity, places: Mapping[str, str]) -> bool:
        """Say whether an identifier is that of something which exists, and of nothing else."""
        nouns = {entry.noun for entry in self._entries.get(entity.id, ())}
        return nouns == {entity.noun} and self.standing(entity, places) is Standing.EXISTS

    def may_be_given(self, id: str) -> bool:
        """Say whether an identifier may have been given out."""
        return self._words.may_hold(id)

    def is_complete(self, noun: str) -> bool:
        """Say whether everything of a noun was listed once."""
        return noun in self._complete

    def longest(self, tool: str) -> int:
        """The longest list that a tool gave without being told how long."""
        return self._longest.get(tool, 0)

    def told(self, entity: Entity, places: Mapping[str, str]) -> Leaves:
        """What was told of an entity; empty where two could be meant."""
        entries = [e for e in self._of(entity, places) if e.noun == entity.noun]
        if len(entries) != 1 or entries[0].is_deleted or self._is_elsewhere(entity, places):
            return {}
        return entries[0].leaves

    def listed(self, call: ReadCall) -> Mapping[str, frozenset[str]]:
        """The entities that a list without filters has to show, each with all of its identifiers."""
        return {
            id: frozenset((id, *entry.other_ids, *entry.names))
            for id, entries in self._entries.items()
            for entry in entries
            if entry.noun == call.noun
            and entry.is_listed
            and not entry.is_deleted
            and all(entry.places.get(name) == text for name, text in call.places.items())
        }

    def hear(self, call: ReadCall, value: JsonValue) -> None:
        """Take over which identifiers a refusal names, beside those of its call."""
        self._words.add(words_in(value) - words_in(dict(call.arguments)))

    def note_list(self, call: ReadCall, length: int, *, is_all: bool) -> None:
        """Take over how long an answer without filters is, and whether it shows everything."""
        if not call.given(Role.LIMIT):
            self._longest[call.tool] = max(length, self.longest(call.tool))
        if is_all and call.noun and not call.places:
            self._complete.add(call.noun)

    def nouns(self) -> frozenset[str]:
        """Everything that was named so far."""
        return frozenset(entry.noun for entries in self._entries.values() for entry in entries)

    def take(
        self,
        call: ReadCall,
        value: JsonValue,
        mentions: Mentions,
        settable: Mapping[str, frozenset[str]] | None = None,
    ) -> None:
        """Take a success over; what failed changes nothing.

        Args:
            call: That was answered.
            value: The answer.
            mentions: What it names.
            settable: By noun, the members that calls alone decide.
        """
        self._words.add(words_in(value, dict(call.arguments)))
        if call.verb not in READS:
            self._spread(self.effect(call, settable or {}))
            self._unsettle(call)
        about = call.entity if is_done(call, value) else None
        if about is not None and call.leaves_doubt:
            self._forget(about, call.places)
            about = None
        if call.verb is Verb.DELETE:
            if about is not None:
                self._delete(about, call.places)
            return
        self._take_mentions(call, mentions, (settable or {}).get(call.noun or "", frozenset()))
        if about is not None and call.verb is Verb.UPDATE:
            self._change(about, call)
        while len(self._entries) > _MAX_ENTITIES:
            del self._entries[next(iter(self._entries))]

    def effect(self, call: ReadCall, settable: Mapping[str, frozenset[str]]) -> Effect:
        """Say what a call changes if it succeeds."""
        before: Leaves = {}
        if call.entity is not None and call.verb in (Verb.UPDATE, Verb.DELETE):
            before = self.told(call.entity, call.places)
        is_gone = call.verb is Verb.DELETE
        texts = (v for f, v in before.items() if is_gone or f in call.named)
        replaced = [text for text in texts if isinstance(text, str)]
        if is_gone and call.entity is not None:
            replaced.append(call.entity.id)
        is_known = (
            call.entity is not None
            and self.standing(call.entity, call.places) is not Standing.UNKNOWN
        )
        is_of_any = call.verb in (Verb.UPDATE, Verb.DELETE) and not is_known
        return Effect(call=call, settable=settable, is_of_any=is_of_any, replaced=tuple(replaced))

    def _spread(self, effect: Effect) -> None:
        """Keep of all entities what the call leaves as it was, and forget what may be gone with it."""
        call = effect.call
        gone = call.entity if call.verb is Verb.DELETE else None
        is_anywhere = effect.is_anywhere()
        words = words_in(dict(call.arguments))
        for id, entries in self._entries.items():
            is_touched = id.casefold() in words
            for entry in entries:
                is_doubtful = call.verb is Verb.OTHER and (is_touched or is_anywhere)
                if is_doubtful or effect.may_be(entry.noun):
                    entry.is_listed = False
                held = {*entry.places.values(), *entry.leaves.values()}
                if gone and gone.noun != entry.noun and gone.id in held:
                    entry.is_listed = False
                entry.leaves = effect.left_of(Entity(entry.noun, id), entry.leaves)
            if call.verb is Verb.DELETE and effect.is_of_any:
                entries[:] = [e for e in entries if e.is_deleted or not effect.may_be(e.noun)]
        self._complete.discard(call.noun or "")

    def _change(self, entity: Entity, call: ReadCall) -> None:
        """Take over what an update names of its entity."""
        entry = self._name(entity, call.places)
        entry.leaves = {**entry.leaves, **named_leaves(call)}
        if _hides(entry.leaves) or call.reading.state is not None:
            entry.is_listed = False

    def _take_mentions(self, call: ReadCall, mentions: Mentions, settable: frozenset[str]) -> None:
        for entity in mentions.references:
            self._name(entity, {})
        seen = Counter((m.noun, text) for m in mentions.objects for text in {*m.ids, *m.names})
        for mentioned in mentions.objects:
            self._take_object(mentioned, call.places)
            if mentioned.is_gone or not call.shows_plainly:
                continue
            made = call.verb is Verb.CREATE and mentioned.is_whole and mentioned.noun == call.noun
            for text in mentioned.ids or mentioned.names:
                if seen[mentioned.noun, text] == 1:
                    entry = self._name(
                        Entity(mentioned.noun, text), {**call.places, **mentioned.places}
                    )
                    entry.leaves = {**entry.leaves, **(named_leaves(call) if made else {})}
                    entry.leaves = {**entry.leaves, **told_leaves(call, mentioned.leaves, settable)}
                    is_shown = call.lists_all and mentioned.noun == call.noun
                    entry.is_listed |= is_shown or (made and not _hides(entry.leaves))

    def summary(self) -> str:
        """Tell the model which entities there are: a line for each noun, at most so long in all."""
        lines: dict[str, list[str]] = {}
        length = 0
        latest = ((t, entry) for t in reversed(self._entries) for entry in self._entries[t][::-1])
        for text, entry in latest:
            line = f"{entry.noun}, {'deleted' if entry.is_deleted else 'existing'}"
            length += len(text) + 2 + (len(line) + 3 if line not in lines else 0)
            if length > MAX_SUMMARY:
                break
            lines.setdefault(line, []).append(text)
        return "\n".join(f"{line}: {', '.join(reversed(ids))}" for line, ids in lines.items())

    def values(self) -> str:
        """Tell the model what entities are: a line for each, the latest last, at most so long in all."""
        lines: list[str] = []
        length = 0
        for id in reversed(self._entries):
            for entry in self._entries[id]:
                leaves = {f: v for f, v in entry.leaves.items() if v != id}
                if leaves and not entry.is_deleted:
                    told = json.dumps(leaves, ensure_ascii=False)
                    lines.append(cut(f"{entry.noun} {id}: {told}", _MAX_ENTITY))
                    length += len(lines[-1]) + 1
            if length > MAX_VALUES:
                break
        while lines and sum(len(line) + 1 for line in lines) > MAX_VALUES:
            lines.pop()
        return "\n".join(reversed(lines))

    def _of(self, entity: Entity, places: Mapping[str, str]) -> list[_Entry]:
        entries = self._entries.get(entity.id, ())
        return [entry for entry in entries if entry.is_of(entity.noun, places)]

    def _is_elsewhere(self, entity: Entity, places: Mapping[str, str]) -> bool:
        """True where an identifier counts in its place alone, and the place is not said."""
        if not entity.id.isdecimal() or len(entity.id) > _LOCAL_DIGITS:
            return False
        return any(entry.places.keys() - places.keys() for entry in self._of(entity, places))

    def _take_object(self, mentioned: Mentioned, places: Mapping[str, str]) -> None:
        where = {**places, **mentioned.places}
        for text in (*mentioned.ids, *mentioned.names):
            entity = Entity(mentioned.noun, text)
            if mentioned.is_gone:
                self._forget(entity, where, but_deleted=True)
                continue
            entry = self._name(entity, where)
            entry.is_deleted = False
            if text in mentioned.ids:
                entry.other_ids |= set(mentioned.ids) - {text}
                entry.names |= set(mentioned.names)

    def _name(self, entity: Entity, places: Mapping[str, str]) -> _Entry:
        """Find the entry of what is named, or begin it."""
        entries = self._entries.pop(entity.id, [])
        self._entries[entity.id] = entries
        for entry in entries:
            if entry.noun == entity.noun and entry.is_of(entity.noun, places):
                entry.places.update(places)
                return entry
        entries.append(_Entry(entity.noun, dict(places)))
        return entries[-1]

    def _delete(self, entity: Entity, places: Mapping[str, str]) -> None:
        self._name(entity, places)
        for entry in self._of(entity, places):
            entry.is_deleted = True
            for other in entry.other_ids:
                for same in self._of(Entity(entry.noun, other), places):
                    same.is_deleted = True
            for name in entry.names - {entity.id}:
                self._forget(Entity(entry.noun, name), places)

    def _unsettle(self, call: ReadCall) -> None:
        """Forget what a call that changes something may have brought back, or moved to another place.

        A deletion, and a place, are certain only until something is done with what they are about.
        """
        for name, value in call.arguments.items():
            text = id_text(value)
            if text is None or (text.isdecimal() and not is_id_field(key_of(name))):
                continue
            is_about_it = call.entity is not None and call.entity.id == text
            may_move = call.verb is Verb.OTHER or (call.verb is Verb.UPDATE and is_about_it)
            entries = self._entries.get(text, [])
            entries[:] = [e for e in entries if not (e.is_deleted or (may_move and e.places))]

    def _forget(
        self, entity: Entity, places: Mapping[str, str], *, but_deleted: bool = False
    ) -> None:
        entries = self._entries.get(entity.id, [])
        entries[:] = [
            e for e in entries if not e.is_of(entity.noun, places) or (but_deleted and e.is_deleted)
        ]


def _hides(leaves: Leaves) -> bool:
    """True for what a list may leave out by itself, such as a closed issue."""
    return any(
        (is_state(field) and str(leaf).casefold() in _HIDDEN) or (field in _HIDDEN and leaf is True)
        for field, leaf in leaves.items()
    )


def is_done(call: ReadCall, value: JsonValue) -> bool:
    """Say whether a success means that what was asked for has happened, now and in earnest."""
    arguments = {key_of(name): given for name, given in call.arguments.items()}
    if any(arguments.get(name) for name in _TRIALS):
        return False
    if any(arguments.get(name) is False for name in _CONSENTS):
        return False
    if not isinstance(value, dict):
        return True
    members = {key_of(name): given for name, given in value.items()}
    if members.get("error") or any(members.get(word) is False for word in _WORDS_OF_FAILURE):
        return False
    texts = (value for value in members.values() if isinstance(value, str))
    return not any(key_of(text) in _WORDS_OF_WAITING for text in texts)
