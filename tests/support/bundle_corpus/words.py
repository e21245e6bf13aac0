"""Names, codes, days and amounts, distinct within one bundle."""

import datetime as dt
from random import Random

from astra_mcp.values.vocabulary import words_in

FIRST_DAY = dt.date(2026, 2, 2)


def people(rng: Random, language: str, count: int) -> list[str]:
    """Full names, in which no word stands twice."""
    words = words_in(language)
    last = rng.sample(words["last_names"], count)
    first = rng.sample(words["first_names"], count)
    joint = "" if language == "zh" else " "
    pairs = zip(last, first, strict=True) if language == "zh" else zip(first, last, strict=True)
    return [joint.join(pair) for pair in pairs]


def companies(rng: Random, language: str, count: int) -> list[str]:
    """Names of companies."""
    words = words_in(language)
    starts = rng.sample(words["company_starts"], count)
    ends = [rng.choice(words["company_ends"]) for _ in range(count)]
    joint = "" if language == "zh" else " "
    return [joint.join(pair) for pair in zip(starts, ends, strict=True)]


def cities(rng: Random, language: str, count: int) -> list[str]:
    """Names of cities."""
    return rng.sample(words_in(language)["cities"], count)


def codes(rng: Random, prefix: str, count: int) -> list[str]:
    """Codes such as ``BK-4471``, in no order."""
    return [f"{prefix}-{number}" for number in rng.sample(range(1103, 9897), count)]


def days(rng: Random, count: int, *, spread: int = 120) -> list[str]:
    """Days of 2026 in ISO's spelling, in no order."""
    drawn = rng.sample(range(max(spread, count)), count)
    return [(FIRST_DAY + dt.timedelta(days=n)).isoformat() for n in drawn]


def amounts(rng: Random, count: int) -> list[str]:
    """Amounts with two decimals, in no order."""
    return [f"{cents / 100:.2f}" for cents in rng.sample(range(1111, 49999), count)]


def word(rng: Random, length: int = 7) -> str:
    """A word that means nothing."""
    return "".join(rng.choice("bcdfghklmnprstvw" if i % 2 else "aeiou") for i in range(length))
