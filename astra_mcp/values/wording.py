"""Texts by what they are: a person's name, an address, a sentence; each is decided by its dice alone.

The times of a session begin at a moment that its seed decides, and pass with its calls.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from astra_mcp.values.nouns import plural
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.subjects.finding import Found, find_subject
from astra_mcp.values.subjects.portraits import Portrait, portrait_of
from astra_mcp.values.vocabulary import Words, words_in

__all__ = ["DAY", "VirtualClock", "Wording", "written"]

_FIRST: Final = int(datetime(2025, 2, 3, 8, tzinfo=UTC).timestamp())
_DAYS: Final = 360
_CALL_SECONDS: Final = 37
DAY: Final = 86_400
_MAX_WORDS: Final = 2
"""So many words of a noun stand in a name."""


class VirtualClock:
    """The time of one session; no other clock is read."""

    def __init__(self, rng: RandomStream) -> None:
        """Begin on a day and in a working hour that are thrown."""
        place = rng.at("clock")
        self.start = _FIRST + place.at("day").below(_DAYS) * DAY + place.below(10 * 3600)

    def after(self, calls: int) -> int:
        """Seconds since 1970, after so many calls."""
        return self.start + calls * _CALL_SECONDS


def written(moment: int) -> str:
    """A moment as APIs write it, in UTC: ``2025-03-01T09:30:00Z``."""
    return f"{datetime.fromtimestamp(moment, UTC).isoformat()[:19]}Z"


_ASCII_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_TOKEN: Final = f"0123456789{_ASCII_LETTERS}{_ASCII_LETTERS.upper()}"
_PEOPLE: Final = frozenset(
    (
        "user", "contact", "customer", "member", "lead", "person", "employee", "author", "candidate",
        "client", "patient", "student", "doctor", "profile", "friend", "follower", "participant",
        "attendee", "player", "artist", "agent", "teacher",
    )
)  # fmt: skip
_WHO: Final = frozenset(
    ("name", "full_name", "display_name", "first_name", "last_name", "username", "login", "email")
)
_READ: Final = frozenset(
    (
        "note", "page", "article", "document", "doc", "entry", "wiki", "blog", "news", "story", "paper",
        "publication", "book", "post", "item", "result", "guide", "topic", "content", "course", "video",
        "question", "discussion", "thread", "search", "web", "documentation", "memo", "episode", "title",
    )
)  # fmt: skip
"""Things that people read or watch, so that their titles say what they are about."""
_COMPANIES: Final = frozenset(
    (
        "company", "organization", "organisation", "business", "vendor", "supplier", "merchant", "brand",
        "employer", "shop", "store", "restaurant", "hotel", "bank", "team", "account",
    )
)  # fmt: skip
_PLACES: Final = frozenset(("city", "place", "location", "venue", "station", "airport", "region"))
_HANDLES: Final = frozenset(
    (
        "repository", "repo", "branch", "instance", "container", "pod", "cluster", "service", "server",
        "table", "database", "bucket", "index", "namespace", "node", "package", "module", "column",
        "variable", "volume", "host", "queue", "function", "workflow", "device", "collection",
    )
)  # fmt: skip
_FILES: Final = frozenset(("file", "attachment", "image", "asset", "screenshot", "photo", "backup"))
_TAGS: Final = frozenset(("tag", "label", "category", "genre", "topic"))


_ENDS: Final = frozenset(
    (
        "end",
        "ends",
        "until",
        "arrival",
        "expires",
        "expiry",
        "finish",
        "finished",
        "checkout",
        "to",
        "return",
    )
)


class Wording:
    """Writes the texts of one language at one time."""

    def __init__(
        self,
        language: str | None,
        now: int,
        *,
        domain: str | None = None,
        around: frozenset[str] = frozenset(),
    ) -> None:
        """Choose the words.

        Args:
            language: Of the server's texts.
            now: Seconds since 1970, around which all dates are.
            domain: What the server is about, one of :class:`astra_mcp.domains.Domain`.
            around: Words that say more of it.
        """
        self._language = language
        self._words: Words = words_in(language)
        self._now = now
        self._domain = domain
        self._around = around
        self._is_english = bool(self._words["separator"])

    def text(self, meaning: str, rng: RandomStream, noun: str = "") -> str:
        """Write a text.

        Args:
            meaning: One of those that :func:`astra_mcp.values.vocabulary.meaning_of` gives.
            rng: Decide it.
            noun: What the text belongs to, which says what its name is a name of.
        """
        if meaning in _WRITERS:
            return _WRITERS[meaning](self, rng, noun)
        return self.one_of(plural(meaning), rng)

    def found(self, noun: str, near: frozenset[str] = frozenset()) -> Found | None:
        """The subject that a noun of the server belongs to.

        Args:
            noun: In normal form.
            near: Words of the tools that are about it.
        """
        return find_subject(
            noun, language=self._language, domain=self._domain, near=near, around=self._around
        )

    def portrait(self, noun: str, rng: RandomStream) -> Portrait | None:
        """One thing that the noun names; None where the words for it are not known."""
        found = self.found(noun) if noun else None
        if found is None:
            return None
        return portrait_of(found, rng, {}, None)

    def titles(self, titles: Sequence[str], noun: str, query: str) -> Sequence[str]:
        """How things are called that are found; ``{query}`` stands for what they are searched by.

        Args:
            titles: Of their subject; empty where it has none.
            noun: What they are.
            query: What they are searched by.
        """
        head = noun.rpartition("_")[2]
        if self._is_english and head in _PEOPLE:
            return self._namesakes(query)
        is_read = head in _READ or not self._is_english
        return titles or self._words["found" if is_read else "found_things"]

    def _namesakes(self, query: str) -> Sequence[str]:
        """People who are called as is asked: of that name, or of that first or last name."""
        first, _, last = query.strip().rpartition(" ")
        if first and first[0].isalpha():
            return ("{query}", f"{first[0].upper()}. {last}", f"{first} M. {last}")
        names = self._words["last_names"]
        at = sum(map(ord, query))
        return tuple(f"{{query}} {names[(at + 7 * turn) % len(names)]}" for turn in range(4))

    def on(self, query: str, rng: RandomStream) -> str:
        """A sentence of the words of a query."""
        return rng.choose(self._words["on"]).replace("{query}", query)

    def url_of(self, title: str, rng: RandomStream) -> str:
        """Where a page of a title lies."""
        words = re.findall(r"[a-z0-9]+", title.casefold()) or [self.slug(rng)]
        return f"https://www.{self.domain(rng)}/{'-'.join(words[:8])}"

    def done(self, what: str) -> str:
        """That something was done."""
        return self._words["done"].format(what=what.capitalize())

    @property
    def is_english(self) -> bool:
        """Its words are divided by spaces, and its names stand in their Western order."""
        return self._is_english

    def one_of(self, name: str, rng: RandomStream) -> str:
        """One of a list of words; the logins are those of the names."""
        return rng.at(name.replace("logins", "names")).choose(self._words[name])

    def phrase(self, rng: RandomStream) -> str:
        """A few words that may be a title or a query."""
        return self.one_of("phrases", rng)

    def plain(self, rng: RandomStream) -> str:
        """A word for a member of which the name says nothing."""
        return self.one_of("plain", rng)

    def title(self, rng: RandomStream, noun: str) -> str:
        """What a thing of the noun may be titled."""
        portrait = self.portrait(noun, rng)
        called = portrait and portrait.called()
        return called or (self._qualified(noun, rng) if noun else self.phrase(rng))

    def sentence(self, rng: RandomStream, noun: str = "") -> str:
        """One sentence, on a thing of the noun where that is known."""
        portrait = self.portrait(noun, rng)
        told = (portrait and portrait.told()) or self._one_named(noun, rng)
        if told or not noun or not self._is_english or not noun.isascii():
            return told or self.one_of("sentences", rng)
        return self.one_of("purposes", rng).format(
            who=self.one_of("qualifiers", rng.at("who")).lower()
        )

    def paragraph(self, rng: RandomStream, noun: str = "") -> str:
        """Two or three sentences."""
        parts = [self.sentence(rng.at(i), noun) for i in range(rng.between(2, 3))]
        return self._words["separator"].join(dict.fromkeys(parts))

    def person(self, rng: RandomStream) -> str:
        """A full name."""
        first, last = self.one_of("first_names", rng), self.one_of("last_names", rng)
        return f"{first} {last}" if self._is_english else f"{last}{first}"

    def company(self, rng: RandomStream) -> str:
        """The name of a company that there is not."""
        parts = (self.one_of("company_starts", rng), self.one_of("company_ends", rng))
        return self._words["separator"].join(parts)

    def login(self, rng: RandomStream) -> str:
        """A name that people log in with: that of the person whom the same dice name."""
        kind = "names" if self._is_english else "logins"
        return f"{self.one_of(f'first_{kind}', rng)}.{self.one_of(f'last_{kind}', rng)}".lower()

    def domain(self, rng: RandomStream) -> str:
        """A host name."""
        if "domain_names" in self._words:
            name = self.one_of("domain_names", rng)
        else:
            ends = self._words["company_ends"]
            name = self.one_of("company_starts", rng) + rng.at("domain").choose(ends)
        return f"{name.lower()}.{self.one_of('domain_ends', rng)}"

    @staticmethod
    def is_of_person(noun: str, key: str) -> bool:
        """Say whether a field of a noun says who somebody is, as others of its fields do."""
        return noun.rpartition("_")[2] in _PEOPLE and key in _WHO

    def slug(self, rng: RandomStream) -> str:
        """A name as it stands in addresses."""
        return rng.at("slug").choose(words_in("en")["slugs"])

    def url(self, rng: RandomStream) -> str:
        """An address of the web."""
        return f"https://www.{self.domain(rng)}/{self.slug(rng)}"

    def moment(self, rng: RandomStream) -> int:
        """Seconds since 1970, within some weeks of now."""
        return self._now + rng.between(-60 * DAY, 45 * DAY) // 300 * 300

    def between(self, whole: RandomStream, key: str) -> int:
        """A moment of a thing: what ends does so after it began, and within a day."""
        start = self.moment(whole.at("moment"))
        is_end = not _ENDS.isdisjoint(key.split("_"))
        return start + (whole.at("lasts").between(1, 16) * 900 if is_end else 0)

    def date(self, rng: RandomStream) -> str:
        """A day, ``2025-03-01``."""
        return written(self.moment(rng))[:10]

    def name(self, rng: RandomStream, noun: str) -> str:
        """A name that an entity of the noun may have."""
        head = noun.rpartition("_")[2]
        portrait = None if head in _PEOPLE else self.portrait(noun, rng)
        called = portrait and portrait.called()
        if called:
            return called
        for nouns, meaning in _NAMES:
            if head in nouns:
                return self.text(meaning, rng)
        return self._qualified(noun, rng) if head else self.phrase(rng)

    def _one_named(self, noun: str, rng: RandomStream) -> str:
        """One of the names that things of a noun have; empty where none are listed."""
        names: str = self._words.get("names", {}).get(noun.rpartition("_")[2], "")
        return rng.at("named").choose(names.split(", ")) if names else ""

    def _qualified(self, noun: str, rng: RandomStream) -> str:
        """What a thing is called of whose kind nothing is known: ``Billing flow``."""
        known = self._one_named(noun, rng)
        if known:
            return known
        qualifier = self.one_of("qualifiers", rng.at("of many"))
        if not self._is_english and noun.isascii():
            return f"{qualifier}项目"
        words = " ".join(noun.split("_")[-_MAX_WORDS:])
        return f"{qualifier}{self._words['separator']}{words}"

    def path(self, rng: RandomStream) -> str:
        """Where a file lies."""
        return f"/{self.one_of('folders', rng)}/{self.filename(rng)}"

    def filename(self, rng: RandomStream) -> str:
        """What a file is called."""
        return f"{self.slug(rng)}.{self.one_of('extensions', rng)}"

    def address(self, rng: RandomStream) -> str:
        """Street, number and city."""
        number, street = rng.at("number").between(2, 148), self.one_of("streets", rng)
        city = self.one_of("cities", rng)
        return f"{number} {street}, {city}" if self._is_english else f"{city}市{street}{number}号"

    def phone(self, rng: RandomStream) -> str:
        """A number of a phone, in the writing of its country."""
        digits = rng.digits(9, "0123456789")
        if self._is_english:
            return f"+1 {200 + rng.below(700)}-555-01{digits[:2]}"
        return f"13{digits}"


_Writer = Callable[[Wording, RandomStream, str], str]


_NAMES: Final = (
    (_PEOPLE, "person"),
    (_COMPANIES, "company"),
    (_PLACES, "city"),
    (_HANDLES, "slug"),
    (_FILES, "filename"),
    (_TAGS, "tag"),
)
_WRITERS: Final[Mapping[str, _Writer]] = {
    "name": lambda w, rng, noun: w.name(rng, noun),
    "person": lambda w, rng, _: w.person(rng),
    "username": lambda w, rng, _: w.login(rng),
    "email": lambda w, rng, _: f"{w.login(rng)}@{w.domain(rng)}",
    "phone": lambda w, rng, _: w.phone(rng),
    "company": lambda w, rng, _: w.company(rng),
    "address": lambda w, rng, _: w.address(rng),
    "postal_code": lambda w, rng, _: str(rng.between(10115, 98660)),
    "title": lambda w, rng, noun: w.title(rng, noun),
    "sentence": lambda w, rng, noun: w.sentence(rng, noun),
    "paragraph": lambda w, rng, noun: w.paragraph(rng, noun),
    "url": lambda w, rng, _: w.url(rng),
    "slug": lambda w, rng, _: w.slug(rng),
    "path": lambda w, rng, _: w.path(rng),
    "filename": lambda w, rng, _: w.filename(rng),
    "domain": lambda w, rng, _: w.domain(rng),
    "ip": lambda w, rng, _: (
        f"10.{rng.at(1).below(256)}.{rng.at(2).below(256)}.{rng.between(2, 254)}"
    ),
    "date": lambda w, rng, _: w.date(rng),
    "datetime": lambda w, rng, _: written(w.moment(rng)),
    "action": lambda w, rng, _: w.one_of("past_actions", rng),
    "version": lambda w, rng, _: f"{rng.between(1, 6)}.{rng.at(1).below(15)}.{rng.at(2).below(10)}",
    "hash": lambda w, rng, _: rng.digits(40),
    "code": lambda w, rng, _: (
        rng.digits(3, _ASCII_LETTERS.upper()) + rng.at(1).digits(5, "0123456789")
    ),
    "key": lambda w, rng, _: f"{rng.digits(3, _ASCII_LETTERS.upper())}-{rng.between(100, 9999)}",
    "token": lambda w, rng, _: rng.digits(24, _TOKEN),
    "weather": lambda w, rng, _: w.one_of("weathers", rng),
    "branch": lambda w, rng, _: f"feature/{w.slug(rng)}",
    "query": lambda w, rng, _: w.one_of("queries", rng),
}
"""Those that are not written in the list of words whose name is their plural."""
