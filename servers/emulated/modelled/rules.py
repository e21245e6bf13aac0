"""The rules that answers keep, and what breaks one."""

from enum import StrEnum
from typing import NamedTuple

from astra_mcp.types import JsonValue
from servers.emulated.modelled.mentions import Mentions

__all__ = ["ALIASES", "MAX_NAMED", "Fault", "Rule", "Said"]

MAX_NAMED = 5
"""Identifiers in one message, and faults of a form."""
ALIASES = frozenset({"me", "self", "@me", "current", "latest", "default", "last", "first", "main"})
"""Words in the place of an identifier."""


class Rule(StrEnum):
    """What every service keeps to."""

    FORM = "form"
    """A result is JSON that any program can read, and fits the output schema; an error is a text."""

    KNOWN_EXISTS = "known_exists"
    """What was given out and not deleted is found."""
    DELETED_IS_GONE = "deleted_is_gone"
    """A call that is about something deleted fails."""
    LISTS_WITHOUT_DELETED = "lists_without_deleted"
    """No list and no search shows what was deleted."""
    CREATED_IS_NEW = "created_is_new"
    """What is created has an identifier of its own."""
    GET_RETURNS_IT = "get_returns_it"
    """What is asked for by its identifier is what is returned."""
    UNKNOWN_IS_MISSING = "unknown_is_missing"
    """An identifier that only the server gives, and that it never gave out, is not found."""
    VALUES_STAY = "values_stay"
    """A value that was told is the same until a call may have changed it."""
    ECHOES_WHAT_WAS_GIVEN = "echoes_what_was_given"
    """What is created or changed has the values that its call gave."""
    LISTS_ARE_WHOLE = "lists_are_whole"
    """A list without filters shows all that is known, unless it is a page."""
    COUNTS_AGREE = "counts_agree"
    """A list is as long as it says."""


class Fault(NamedTuple):
    """Why an answer cannot be given."""

    rule: Rule
    message: str
    """For the model, that it can mend its answer."""


class Said(NamedTuple):
    """An answer that is not taken over yet."""

    value: JsonValue
    is_error: bool
    mentions: Mentions
