"""The words that full-text search compares, the same for both databases.

The databases split texts in different ways and know neither camelCase nor Chinese, so they get texts
that are split already: words of letters and digits with a space between them.
"""

from itertools import islice

from astra_mcp.embedding.tool_text import parameter_texts
from astra_mcp.embedding.words import split_words
from astra_mcp.types import ToolSpec

__all__ = ["search_words"]

_MAX_WORDS = 1000
"""Of one line; the largest schemas would drown their tools otherwise."""


def search_words(spec: ToolSpec) -> str:
    """Write down what full-text search reads of a tool.

    Returns:
        Three lines, each of words with a space between them: of its name and title, of its description,
        of its parameters. What stands in an earlier line weighs more.
    """
    title = spec.extra.get("title")
    names = f"{spec.name} {title}" if isinstance(title, str) else spec.name
    parameters = " ".join(parameter_texts(spec.input_schema))
    return "\n".join(_line(text) for text in (names, spec.description, parameters))


def _line(text: str) -> str:
    return " ".join(islice(split_words(text), _MAX_WORDS))
