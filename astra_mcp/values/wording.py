"""Texts by what they are: a person's name, an address, a sentence; each is decided by its dice alone.

The times of a session begin at a moment that its seed decides, and pass with its calls.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from astra_mcp.values.nouns import plural
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.vocabulary import Words, words_in

__all__ = ["DAY", "VirtualClock", "Wording", "written"]

_FIRST: Final = int(datetime(2025, 2, 3, 8, tzinfo=UTC).timestamp())
_DAYS: Final = 360
_CALL_SECONDS: Final = 37
DAY: Final = 86_400


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
_WRITTEN: Final = frozenset(
    (
        "task", "issue", "ticket", "todo", "card", "note", "memo", "page", "article", "document", "doc",
        "message", "email", "post", "story", "item", "event", "meeting", "report", "project", "goal",
        "result", "entry", "book", "paper", "product", "template", "form", "deal", "incident",
    )
)  # fmt: skip
"""Are called by what they are about, not by what they are."""
_TAGS: Final = frozenset(("tag", "label", "category", "genre", "topic"))


class Wording:
    """Writes the texts of one language at one time."""

    def __init__(self, language: str | None, now: int) -> None:
        """Choose the words.

        Args:
            language: Of the server's texts.
            now: Seconds since 1970, around which all dates are.
        """
        self._words: Words = words_in(language)
        self._now = now
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

    def about(self, query: str, rng: RandomStream) -> str:
        """A title that holds the words of a query."""
        return rng.choose(self._words["found"]).format(query=query)

    def done(self, what: str) -> str:
        """That something was done."""
        return self._words["done"].format(what=what.capitalize())

    def one_of(self, name: str, rng: RandomStream) -> str:
        """One of a list of words; the logins are those of the names."""
        return rng.at(name.replace("logins", "names")).choose(self._words[name])

    def phrase(self, rng: RandomStream) -> str:
        """Two or three words with a sense."""
        return self._words["separator"].join(
            (self.one_of("adjectives", rng), self.one_of("subjects", rng))
        )

    def sentence(self, rng: RandomStream) -> str:
        """One sentence."""
        parts = (self.one_of("openings", rng), self.one_of("actions", rng))
        return self._words["separator"].join(parts) + ("." if self._is_english else "。")

    def paragraph(self, rng: RandomStream) -> str:
        """Two or three sentences."""
        parts = [self.sentence(rng.at(i)) for i in range(rng.between(1, 2))]
        return self._words["separator"].join((*parts, self.one_of("closings", rng)))

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
        words = words_in("en")
        name = f"{rng.at('a').choose(words['adjectives'])}-{rng.at('s').choose(words['subjects'])}"
        return name.lower().replace(" ", "-")

    def url(self, rng: RandomStream) -> str:
        """An address of the web."""
        return f"https://www.{self.domain(rng)}/{self.slug(rng)}"

    def moment(self, rng: RandomStream) -> int:
        """Seconds since 1970, within some weeks of now."""
        return self._now + rng.between(-60 * DAY, 45 * DAY) // 300 * 300

    def date(self, rng: RandomStream) -> str:
        """A day, ``2025-03-01``."""
        return written(self.moment(rng))[:10]

    def name(self, rng: RandomStream, noun: str) -> str:
        """A name that an entity of the noun may have."""
        head = noun.rpartition("_")[2]
        for nouns, meaning in _NAMES:
            if head in nouns:
                return self.text(meaning, rng)
        if not self._is_english or not noun.isascii() or head in _WRITTEN or not head:
            return self.phrase(rng)
        return f"{self.one_of('adjectives', rng)} {noun.replace('_', ' ').title()}"

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
    "title": lambda w, rng, _: w.phrase(rng),
    "sentence": lambda w, rng, _: w.sentence(rng),
    "paragraph": lambda w, rng, _: w.paragraph(rng),
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
    "query": lambda w, rng, _: w.phrase(rng),
}
"""Those that are not written in the list of words whose name is their plural."""
