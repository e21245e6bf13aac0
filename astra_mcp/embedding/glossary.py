"""What common Chinese words of tool documents are in English.

Most tools are described in English: without a model, a Chinese query reaches them by these words alone.
The list beside this module is short on purpose: words of what tools do and what they are about.
"""

from collections.abc import Iterator
from functools import cache
from importlib.resources import files

__all__ = ["english_of"]


def english_of(run: str) -> Iterator[str]:
    """Give the English of the known words in a run of Chinese characters, the longest that fit first."""
    glossary, max_length = _glossary()
    at = 0
    while at < len(run):
        for length in range(max_length, 0, -1):
            english = glossary.get(run[at : at + length])
            if english is not None:
                yield english
                at += length
                break
        else:
            at += 1


@cache
def _glossary() -> tuple[dict[str, str], int]:
    """Read the list once: the English by the Chinese, and the length of the longest Chinese word."""
    lines = files("astra_mcp.embedding").joinpath("glossary.tsv").read_text("utf-8").splitlines()
    english = {chinese: words for chinese, _, words in (line.partition("\t") for line in lines)}
    return english, max(map(len, english))
