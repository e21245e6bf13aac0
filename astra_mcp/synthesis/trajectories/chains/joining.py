"""Which field of an earlier result may become which argument of a later tool: by name, type and meaning.

Within a server a name leads to the thing that it names: ``order_id`` is the ``id`` of what ``list_orders``
gives. Between servers only what means the same to all of them is joined. A word that names anything, such as
``name``, ``query`` or ``type``, joins nothing by itself. What no document shows has the name that is usual:
who binds a join to a result looks for the argument's own name too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from astra_mcp.synthesis.trajectories.chain import Join
from astra_mcp.synthesis.trajectories.chains.deeds import Deed
from astra_mcp.synthesis.trajectories.chains.fields import (
    Evidence,
    Need,
    ResultField,
    ToolFields,
    fields_of,
)
from astra_mcp.synthesis.trajectories.chains.meanings import Given, given_by, taken_as
from astra_mcp.synthesis.trajectories.server import DocumentedServer

__all__ = ["Fit", "Step", "fit", "joins_for", "steps_of"]


@dataclass(frozen=True, slots=True)
class Fit:
    """That a field of a result may be an argument."""

    field: str
    strength: float
    """Over 0 to 1, to choose between several by; no probability."""


class Step:
    """A tool in its server, with what it gives and takes that all servers know; equal to itself alone."""

    def __init__(self, server: str, fields: ToolFields, listed: frozenset[str]) -> None:
        """Read what it gives and takes.

        Args:
            server: Its name.
            fields: Of the tool.
            listed: What tools of the server list.
        """
        self.server, self.fields, self.listed = server, fields, listed
        self.given: Mapping[str, Given] = {each.meaning.name: each for each in given_by(fields)}
        """By meaning."""
        self.taken: Mapping[str, str] = {
            need.name: meaning.name for need in fields.needs if (meaning := taken_as(fields, need))
        }
        """The meanings of its arguments, by their names."""


_EVIDENCE: Final = {Evidence.DECLARED: 1.0, Evidence.TOLD: 0.8, Evidence.IMPLIED: 0.6}
_BY_ID: Final = 1.0
_BY_NAME: Final = 0.8
_BY_MEANING: Final = 0.8
_BY_NOUN: Final = 0.6
_NUMBERS: Final = frozenset(("number", "integer"))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VAGUE: Final = _words(
    "name query limit text type content message body prompt question description comment note value data"
    " input output option mode format kind category status state date time language title key keyword"
    " term filter field property action operation method command script code expression statement sql"
    " task thought idea topic subject summary reason instruction context argument parameter param config"
    " setting header pattern condition color size count number amount price page offset position index x y"
    " width height result item object element record entry range user_agent level priority version label"
    " tag url link path file event source target destination origin direct role goal problem step"
    " annotation update change request response"
)
"""Names of arguments that say nothing of which thing is meant."""
_OWN: Final = frozenset((Deed.SHOWS, Deed.CHANGES, Deed.REMOVES))
"""What a tool does to a thing that it is told."""
_LISTED: Final = frozenset(
    ("number", "slug", "path", "symbol", "code", "key", "title", "url", "username")
)
"""What names a thing, beside an id and a name, and is shown where such things are listed."""


def steps_of(server: DocumentedServer) -> list[Step]:
    """All tools of a server, in its order."""
    fields = [*fields_of(server).values()]
    listed = frozenset(each.noun for each in fields if each.deed is Deed.LISTS)
    return [Step(server.name, each, listed) for each in fields]


def fit(source: Step, target: Step, need: Need) -> Fit | None:
    """Find the field of a result that an argument may be.

    Args:
        source: The earlier tool.
        target: The later tool.
        need: The argument of the later one.

    Returns:
        The strongest; None where nothing fits.
    """
    if need.has_choice or need.is_secret or source.fields.deed is Deed.REMOVES:
        return None
    if need.types and need.types.isdisjoint({"string", *_NUMBERS}):
        return None
    given = source.given.get(target.taken.get(need.name, ""))
    found = [] if given is None else [Fit(given.path, _BY_MEANING * _EVIDENCE[given.evidence])]
    if source.server == target.server:
        found += _by_thing(source, target.fields, need)
    return max(found, key=lambda each: each.strength, default=None)


def joins_for(earlier: Sequence[Step], target: Step) -> tuple[Join, ...] | None:
    """Join the arguments of a further step with what the steps before it give.

    Returns:
        The best join of each argument that has one; None where the step cannot follow: it needs what only a
        server can say and no earlier step gives, or a secret, or arguments that its schema does not tell.
    """
    if target.fields.has_more_needs:
        return None
    joins: list[Join] = []
    for need in target.fields.needs:
        fits = [
            (at, found) for at, step in enumerate(earlier) if (found := fit(step, target, need))
        ]
        if fits:
            at, best = max(fits, key=lambda each: (each[1].strength, each[0]))
            joins.append(Join(source=at, field=best.field, target=len(earlier), argument=need.name))
        elif not _may_be_told(target, need):
            return None
    return tuple(joins)


def _may_be_told(step: Step, need: Need) -> bool:
    """Say whether a user can say what an argument is."""
    if need.is_secret:
        return False
    return not need.is_issued or need.has_choice or need.name in step.taken


def _by_thing(source: Step, target: ToolFields, need: Need) -> Iterator[Fit]:
    noun, attribute = _thing(target, need)
    if not noun or any(own.key == need.key for own in source.fields.needs):
        return
    own_noun = source.fields.noun
    told = {own.attribute for own in source.fields.needs if (own.noun or own_noun) == noun}
    for field in source.fields.results:
        if attribute in told or (told and attribute != "id" and field.evidence is Evidence.IMPLIED):
            continue  # where the source is given it, its caller knows it already
        if noun in source.listed and field.noun != noun and field.evidence is Evidence.IMPLIED:
            continue  # those are listed by another tool
        strength = _strength(source.fields, field, noun, attribute)
        if strength and (not field.types or _is_of_type(field.types, need.types)):
            is_named = attribute or need.is_issued
            name = attribute or noun
            path = name if is_named and field.evidence is Evidence.IMPLIED else field.path
            yield Fit(path, strength * _EVIDENCE[field.evidence])


def _thing(tool: ToolFields, need: Need) -> tuple[str, str]:
    """The thing that an argument names, and how; the first is empty where it names none."""
    noun, attribute = need.noun, need.attribute
    if need.key.startswith("new_"):
        return "", ""
    if not noun:
        is_own = tool.deed in _OWN or (attribute == "id" and tool.deed is not Deed.MAKES)
        noun = tool.noun if is_own else ""
    elif not attribute and noun.rpartition("_")[2] in _VAGUE:
        return "", ""
    is_own = noun in _ends(tool.noun)
    makes_it = tool.deed is Deed.MAKES and is_own
    is_value = tool.deed is Deed.CHANGES and is_own and attribute != "id"
    if makes_it or (is_value and (not attribute or any(n.attribute == "id" for n in tool.needs))):
        return "", ""
    return noun, attribute


def _strength(source: ToolFields, field: ResultField, noun: str, attribute: str) -> float:
    """How well a field is what names a thing; 0 where it is not."""
    is_its = noun in _ends(field.noun)
    if attribute == "id":
        return _BY_ID if is_its and field.attribute == "id" else 0.0
    if not attribute:
        if field.attribute == noun and field.evidence is not Evidence.IMPLIED:
            return _BY_NAME
        is_name = field.attribute == "name" and source.deed is Deed.LISTS
        return _BY_NOUN if is_its and is_name else 0.0
    if not is_its or (source.deed is not Deed.LISTS and field.evidence is Evidence.IMPLIED):
        return 0.0
    if field.attribute == attribute:
        return _BY_NAME
    is_shown = field.evidence is Evidence.IMPLIED and field.attribute == "name"
    return _BY_NOUN if is_shown and attribute in _LISTED else 0.0


def _is_of_type(given: frozenset[str], taken: frozenset[str]) -> bool:
    wide = given | _NUMBERS if "integer" in given else given
    return not taken or not wide.isdisjoint(taken)


def _ends(noun: str) -> tuple[str, ...]:
    """``user_repo`` is a ``repo`` too."""
    words = noun.split("_")
    return tuple("_".join(words[at:]) for at in range(len(words)))
