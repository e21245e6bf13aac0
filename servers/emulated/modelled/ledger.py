"""The entities that a session has given out: which exist, and which were deleted.

Holds what answers said and nothing that was guessed. Where two entities could be meant, or where something
may have become of one that the answers do not tell, it claims to know nothing.
"""

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
from servers.emulated.modelled.mentions import Mentioned, Mentions
from servers.emulated.verbs import Verb

__all__ = ["MAX_SUMMARY", "Ledger", "Standing"]

MAX_SUMMARY: Final = 3000
"""Characters."""
_MAX_ENTITIES: Final = 5000
"""Beyond it, those that were named first are forgotten."""
_LOCAL_DIGITS: Final = 4
"""An identifier of so few digits says little without its place."""
_WORDS_OF_FAILURE: Final = ("success", "ok", "deleted", "removed")
_WORDS_OF_WAITING: Final = frozenset(
    {"pending", "scheduled", "queued", "failed", "error", "in_progress", "dry_run"}
)
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

    def is_of(self, noun: str, places: Mapping[str, str]) -> bool:
        """Say whether this can be what is meant."""
        return are_alike(self.noun, noun) and all(
            places.get(name, text) == text for name, text in self.places.items()
        )


class Ledger:
    """Of one session; its methods neither wait nor fail, so it is never half-way."""

    def __init__(self) -> None:
        self._entries: dict[str, list[_Entry]] = {}
        """By identifier; the one named last stands last."""

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

    def nouns(self) -> frozenset[str]:
        """Everything that was named so far."""
        return frozenset(entry.noun for entries in self._entries.values() for entry in entries)

    def take(self, call: ReadCall, value: JsonValue, mentions: Mentions) -> None:
        """Take a success over; what failed changes nothing."""
        if call.verb not in (Verb.GET, Verb.LIST, Verb.SEARCH):
            self._unsettle(call)
        about = call.entity if _is_done(call, value) else None
        if about is not None and call.leaves_doubt:
            self._forget(about, call.places)
            about = None
        if call.verb is Verb.DELETE:
            if about is not None:
                self._delete(about, call.places)
            return
        for entity in mentions.references:
            self._name(entity, {})
        for mentioned in mentions.objects:
            self._take_object(mentioned, call.places)
        if about is not None and call.verb is Verb.UPDATE:
            self._name(about, call.places)
        while len(self._entries) > _MAX_ENTITIES:
            del self._entries[next(iter(self._entries))]

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


def _is_done(call: ReadCall, value: JsonValue) -> bool:
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
