"""What a user would not write: too much, what nobody sees, the name of a tool, another language."""

import re
import unicodedata
from collections.abc import Iterable, Iterator

from astra_mcp.synthesis.texts import Fault, text_faults
from astra_mcp.text.language import language_of

__all__ = ["MAX_QUERY", "named_tool", "query_faults"]

MAX_QUERY = 4000
"""Characters of a query: a page or two."""
_INVISIBLE = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]")
_VERB_WORDS = """
    add call check clear close compute convert count create delete describe download edit execute export fetch
    find generate get import insert list load make move open post put query read remove rename run save search
    send set show start stop sync update upload validate write
"""
_VERBS = frozenset(_VERB_WORDS.split())
"""Of a name with one hyphen whose first word is one of these, nobody but a programmer is the author."""
_QUOTES = "\"'\u2018\u2019\u201c\u201d\u300a-\u300f"


def query_faults(query: str, *, tools: Iterable[str], language: str | None) -> Iterator[Fault]:
    """Find what is wrong with a query as a text.

    Args:
        query: As the model wrote it.
        tools: The names of all tools that it could quote.
        language: That it has to be in, as ISO 639-1; None for any. Too short a text is in any language.
    """
    yield from text_faults("the query", query, MAX_QUERY)
    named = named_tool(query, tools)
    if named is not None:
        yield Fault("names_a_tool", f"the query quotes the name of the tool {named!r}")
    found = language_of([query])
    if language is not None and found is not None and found != language:
        yield Fault("other_language", f"the query is in {found!r}, not in {language!r}")


def named_tool(query: str, tools: Iterable[str]) -> str | None:
    """Find a tool whose name a text quotes as an identifier; None where none is.

    A name that could be no word (``get_weather``, ``getWeather``) must not stand in it at all; one that could
    (``search``) only as code, or in quotes and called a tool or a function.
    """
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", query)).replace("\\_", "_")
    for tool in tools:
        name = re.escape(unicodedata.normalize("NFKC", tool))
        is_foreign = _is_identifier(tool)
        flags = re.NOFLAG if _is_camel(tool) else re.IGNORECASE
        whole = rf"(?<![a-zA-Z0-9]){name}(?![a-zA-Z0-9_])"
        quoted = rf"[{_QUOTES}]{name}[{_QUOTES}]\s*(?:tool|function|工具|函数)"
        as_code = rf"`\s*{name}\s*(?:\([^`]*)?`|(?<![a-zA-Z0-9_]){name}\(|{quoted}"
        if re.search(whole if is_foreign else as_code, text, flags):
            return tool
    return None


def _is_identifier(name: str) -> bool:
    if "_" in name.strip("_") or _is_camel(name) or re.search(r"[a-zA-Z][./:][a-zA-Z]", name):
        return True
    words = name.split("-")
    return len(words) > 2 or (len(words) == 2 and words[0].casefold() in _VERBS)


def _is_camel(name: str) -> bool:
    """True where a word begins within a word that began small, as no brand and no sentence does."""
    return re.match(r"[a-z]{2,}[A-Z]", name) is not None
