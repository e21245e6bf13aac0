"""Lists, nouns and amounts as people write them."""

from collections.abc import Sequence

__all__ = [
    "amount",
    "clauses",
    "itemised",
    "labelled",
    "listed",
    "possessive",
    "tagged",
    "with_article",
]


def listed(items: Sequence[str], language: str, *, either: bool = False) -> str:
    """``A, B and C``, or with ``either`` ``A, B or C``; in Chinese ``A、B和C``."""
    *first, last = items
    if not first:
        return last
    if language == "zh":
        return "、".join(first) + "和" + last
    return ", ".join(first) + (" or " if either else " and ") + last


def tagged(items: Sequence[str], tags: Sequence[str], language: str, *, about: str = "") -> str:
    """``A (red) and B (blue)``; where all tags are the same ``A and B (both red)``, in Chinese likewise.

    Args:
        items: What is listed.
        tags: What is said of each.
        language: ``en`` or ``zh``.
        about: What stands in English between ``both`` and the tag.
    """
    if len(items) == 1 or len({*tags}) > 1:
        rows = [
            f"{item}（{tag}）" if language == "zh" else f"{item} ({tag})"
            for item, tag in zip(items, tags, strict=True)
        ]
        return listed(rows, language)
    every = "both" if len(items) == 2 else "all"
    shared = f"（都是{tags[0]}）" if language == "zh" else f" ({every} {about}{tags[0]})"
    return listed(items, language) + shared


def with_article(noun: str) -> str:
    """An English noun with its article: ``a ticket``, ``an order``, ``a unit``."""
    first = noun.lower()
    is_vowel = first[0] in "aeiou" and not first.startswith(("uni", "one", "eu"))
    is_vowel = is_vowel or first.startswith(("heir", "hour"))
    return f"{'an' if is_vowel else 'a'} {noun}"


def possessive(name: str) -> str:
    """An English name as what has something: ``Lana's``, ``Northgate Rivers'``."""
    return f"{name}'" if name.endswith("s") else f"{name}'s"


def clauses(items: Sequence[str], language: str) -> str:
    """Several statements as one sentence, without its end: ``A is here, B is there, and C is nowhere``."""
    if language == "zh":
        return ("；" if any("，" in item for item in items) else "，").join(items)
    *first, last = items
    return ", ".join([*first, f"and {last}"]) if first else last


def amount(cents: int, unit: str) -> str:
    """``12.05 EUR`` of 1205 cents."""
    return f"{cents // 100}.{cents % 100:02d} {unit}"


def itemised(items: Sequence[str], language: str) -> str:
    """Long items as one phrase: like :func:`listed`, with marks that keep more than two of them apart."""
    if len(items) < 3:
        return listed(items, language)
    if language == "zh":
        return "；".join(f"{n}）{item}" for n, item in enumerate(items, 1))
    *first, last = items
    return "; ".join(first) + "; and " + last


def labelled(labels: Sequence[str], answers: Sequence[Sequence[str]], language: str) -> str:
    """What was found for each of several subjects; for a single one without its label."""
    found = [listed(answer, language) for answer in answers]
    if len(found) == 1:
        return found[0]
    colon, end = ("：", "；") if language == "zh" else (": ", "; ")
    return end.join(f"{label}{colon}{text}" for label, text in zip(labels, found, strict=True))
