"""What a tool does to what, by its name and the first word of its description; English alone.

A guess, and the same for the same documents. Knows neither arguments nor results.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from astra_mcp.values.nouns import is_plural, singular, words_of

__all__ = ["Deed", "deed_of", "known_noun", "shared_prefix"]


class Deed(StrEnum):
    """What a tool does to the things that it is about."""

    LISTS = "lists"
    """Gives several, which its caller need not know."""
    SHOWS = "shows"
    """Gives one, or something of it."""
    MAKES = "makes"
    CHANGES = "changes"
    REMOVES = "removes"
    OTHER = "other"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SPLIT: Final[Mapping[Deed, str]] = {
    Deed.LISTS: "list search find query browse discover enumerate filter ls explore suggest recommend",
    Deed.SHOWS: "get fetch read show retrieve view describe display inspect lookup load check resolve"
    " geocode scrape crawl extract",
    Deed.MAKES: "create add new insert register make post submit upload generate send book write save store"
    " clone copy duplicate fork import draft log start open put append build render init initialize deploy"
    " remember schedule publish",
    Deed.CHANGES: "update edit modify set patch change rename replace move assign close reopen archive cancel"
    " complete approve reject enable disable pause resume stop restart lock unlock merge share toggle",
    Deed.REMOVES: "delete remove destroy drop erase clear purge unregister trash discard",
}
_DEEDS: Final = {verb: deed for deed, verbs in _SPLIT.items() for verb in verbs.split()}
_CUTS: Final = _words("by in from for to of with on at via using into as and per within between")
_FILLERS: Final = _words(
    "the a an all my our your single new multiple batch bulk current existing available one every latest"
    " recent advanced or specific trending top popular random"
)
_ENDINGS: Final = _words(
    "tool api endpoint list detail details info information data result results item items"
)
_SYNONYMS: Final = {
    "repository": "repo", "organization": "org", "organisation": "org", "db": "database", "dir": "directory",
    "folder": "directory", "msg": "message", "pr": "pull_request", "pull": "pull_request", "doc": "document",
    "app": "application", "env": "environment", "ticker": "symbol", "img": "image", "picture": "image",
    "photo": "image", "website": "site", "place": "location",
}  # fmt: skip


def shared_prefix(names: Sequence[str]) -> str:
    """The first word of most names, which says whose tools they are; empty where there is none."""
    firsts = Counter(words[0] for name in names if len(words := words_of(name)) > 1)
    word, num = max(firsts.items(), key=lambda item: item[1], default=("", 0))
    return word if num >= 2 and num > 0.6 * len(names) and word not in _DEEDS else ""


def deed_of(words: Sequence[str], description: str) -> tuple[Deed, str, bool]:
    """What a tool does, to what, and whether to several."""
    if words and words[0] in _DEEDS:
        verb, rest = words[0], words[1:]
    elif len(words) > 1 and words[-1] in _DEEDS:
        verb, rest = words[-1], words[:-1]
    elif words and _is_act(words[0], description):
        return Deed.OTHER, *_noun(words[1:])
    else:
        first = words_of(description[:40])[:1]
        told = singular(first[0]) if first else ""
        told = told if told in _DEEDS else told.removesuffix("e")
        deed = _DEEDS.get(told, Deed.OTHER)
        return (deed if deed in (Deed.LISTS, Deed.SHOWS) else Deed.OTHER), *_noun(words)
    return _DEEDS[verb], *_noun(rest)


def _is_act(word: str, description: str) -> bool:
    """Say whether a name begins with a verb that is none of the known ones, as its description does."""
    first = words_of(description[:40])[:1]
    return bool(first) and len(word) > 3 and first[0].startswith(word[:-1]) and word not in _CUTS


def _noun(words: Sequence[str]) -> tuple[str, bool]:
    end = next((at for at, word in enumerate(words) if word in _CUTS), len(words))
    kept = [word for word in words[:end] if word not in _FILLERS]
    is_many = "all" in words
    while len(kept) > 1 and kept[-1] in _ENDINGS:
        is_many |= kept.pop() in ("list", "items", "results")
    noun = "_".join(kept)
    return known_noun(singular(noun)), is_many or is_plural(noun)


def known_noun(noun: str) -> str:
    """A noun with its last word as all call it."""
    head, _, last = noun.rpartition("_")
    last = _SYNONYMS.get(last, last)
    return f"{head}_{last}" if head else last
