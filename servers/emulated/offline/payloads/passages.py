"""Sentences on any topic, by the kind of page that they stand on."""

import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.wording import Wording

__all__ = ["Section", "sections_on", "spoken_on"]

_CODE: Final = (
    ("python", "import {name}\n\nresult = {name}.run(timeout=10)\nprint(result)"),
    (
        "javascript",
        'import {{ run }} from "{name}";\n\nconst result = await run({{ timeout: 10 }});',
    ),
)


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, empty before the first one, and the Markdown below it."""

    heading: str
    text: str


@lru_cache(maxsize=1)
def _passages() -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(
        (files("servers.emulated.offline.payloads") / "passages.toml").read_text(encoding="utf-8")
    )


def sections_on(
    topic: str, kind: str, wording: Wording, rng: RandomStream, now: int, **more: str
) -> list[Section]:
    """Write a page.

    Args:
        topic: What it is about, in words.
        kind: One of the tables of ``passages.toml``; a page in Chinese has but one kind.
        wording: Says the language, and who wrote it.
        rng: Decide the choice of words.
        now: It was written before that.
        more: What else sentences name, such as ``site``.
    """
    kind = kind if wording.is_english else "zh"
    named = _named(topic, wording, rng, now) | more
    return [
        Section(
            _filled(part["heading"], named), _filled(rng.at(kind, at).choose(part["texts"]), named)
        )
        for at, part in enumerate(_passages()[kind])
    ]


def spoken_on(topic: str, wording: Wording) -> list[str]:
    """What somebody says who talks about a topic, sentence by sentence."""
    kind = "spoken" if wording.is_english else "zh_spoken"
    named = {"topic": topic}
    return [_filled(each, named) for each in _passages()[kind][0]["texts"]]


def _named(topic: str, wording: Wording, rng: RandomStream, now: int) -> dict[str, str]:
    written = datetime.fromtimestamp(now - rng.at("written").between(3, 300) * 86_400, UTC)
    slug = "-".join(re.findall(r"[a-z0-9]+", topic.casefold())[:6]) or "project"
    lang, code = rng.at("code").choose(_CODE)
    return {
        "topic": topic,
        "Topic": topic[:1].upper() + topic[1:],
        "date": written.date().isoformat(),
        "year": str(written.year),
        "author": wording.person(rng.at("author")),
        "slug": slug,
        "lang": lang,
        "code": code.format(name=slug.replace("-", "_")),
    }


def _filled(text: str, named: dict[str, str]) -> str:
    """The text with its names in braces replaced; braces of code stay."""
    return re.sub(r"\{(\w+)\}", lambda match: named.get(match.group(1), match.group()), text)
