"""What the tiny model's tokenizer is made of: texts of micro environments, and names that they might have.

No gateway and no agent: the texts of bundles alone, with calls and results in the form in which they come.
"""

import json
import re
from collections.abc import Iterator

from astra_mcp.environments.bundle import Bundle
from astra_mcp.seeds import generator
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.entities import closed_vocabulary
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan

__all__ = ["name_pieces", "names", "texts"]

_RESULT = re.compile(r'return \{"(\w+)":')
_ERROR = re.compile(r'raise ValueError\(f"([^"]*)"\)')
_LANGUAGES = ("en", "zh")
_SAID = "Every gold call has been made."
"""The last word of the oracle, whose trajectories are what the model learns from."""
_CONSONANTS, _VOWELS = "bcdfghjklmnpqrstvwxyz", "aeiou"


def names() -> tuple[str, ...]:
    """The names that micro environments share, in English and Chinese."""
    return tuple(name for language in _LANGUAGES for name in closed_vocabulary(language))


def name_pieces() -> Iterator[str]:
    """Syllables of Latin names, so that made-up ones come to as few tokens as known ones."""
    for consonant in _CONSONANTS:
        for vowel in _VOWELS:
            yield consonant.upper() + vowel
            yield consonant + vowel


def texts(seed: int, count: int) -> Iterator[str]:
    """Texts of so many environments: questions, tools, calls, results and errors."""
    order = Order(find_families(["micro"]), count, generator(seed, "tiny corpus").getrandbits(32))
    for planned in plan(order):
        yield _SAID
        yield from _texts_of(make_planned(planned))


def _texts_of(bundle: Bundle) -> Iterator[str]:
    for asked in bundle.asked:
        document = asked.document
        yield document.question
        for tool in document.tools:
            yield f"{tool.name}({', '.join(tool.input_schema['properties'])})\n"
        for call in document.gold:
            yield f'\n{{"name": "{call.tool}", "arguments": {json.dumps(call.values, ensure_ascii=False)}}}\n'
        for key in _RESULT.findall(bundle.code):
            yield from (f'{{"{key}": "{task.answer}"}}' for task in document.sub_tasks)
    yield from (text.replace("{name}", "") for text in _ERROR.findall(bundle.code))
