"""Which service a loose function comes from.

The first of these that says something decides:

1. A member of the function or of its row that names its service: ``server``, ``service``, ``api`` and the
   like; a category at last.
2. The name of the function, where it has a namespace: ``spotify.play``, ``spotify/play``, ``spotify__play``.
3. The first word of its name, where at least three functions of the file begin with it and it is no verb:
   ``spotify_play``, but not ``get_weather``.
4. The file.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from astra_mcp.types import JsonValue

__all__ = ["group_names", "service_of"]

_SERVICE_MEMBERS: Final = (
    "server",
    "server_name",
    "mcp_server",
    "service",
    "service_name",
    "tool_name",
    "api",
    "app",
    "app_name",
    "api_name",
    "class_name",
    "category_name",
)
"""From the most telling to the least: RapidAPI's ``tool_name`` is the service of its ``api_name``."""

_MIN_FUNCTIONS: Final = 3
"""A first word that fewer functions share is taken for chance."""
_NAMESPACE: Final = re.compile(r"([^./:]+?)(?:\.|::|:|/|__)(?=.)")
_FIRST_WORD: Final = re.compile(r"([A-Za-z][A-Za-z0-9]*)[_-](?=.)")
_VERB_LIST: Final = """
add analyze apply approve assign book browse buy calc calculate cancel change check classify clear
close compare compute confirm connect convert copy count create deactivate decode delete describe
detect disable display do download edit enable encode estimate evaluate execute export extract fetch
filter find format generate get identify import initiate insert inspect is join launch list load log
lookup make manage match modify move open order parse perform place plan play post predict prepare
process provide publish purchase put query read recommend record register remove rename render reply
request reserve reset resolve restore retrieve return review run save scan schedule search select
send set share show simulate solve sort start stop store submit subscribe suggest summarize sync
test track transfer translate unsubscribe update upload use validate verify view visualize write
"""
_VERBS: Final = frozenset(_VERB_LIST.split())


def service_of(*sources: Mapping[str, JsonValue]) -> str | None:
    """Find the member that names the service; the first source that has one counts.

    Returns:
        The name, or None where no source has such a member.
    """
    said = (source.get(member) for source in sources for member in _SERVICE_MEMBERS)
    return next((v.strip() for v in said if isinstance(v, str) and v.strip()), None)


def group_names(names: Sequence[str], file: str) -> tuple[str, ...]:
    """Name the group of each function by its name alone.

    Args:
        names: Of all functions of the file that say no service.
        file: The group of those whose names tell nothing.
    """
    words = {name: _first_word(name) for name in names}
    functions = Counter(words.values())
    shared = {n: w for n, w in words.items() if w and functions[w] >= _MIN_FUNCTIONS}
    return tuple(_namespace(name) or shared.get(name) or file for name in names)


def _namespace(name: str) -> str | None:
    match = _NAMESPACE.match(name)
    return match[1] if match else None


def _first_word(name: str) -> str | None:
    match = _FIRST_WORD.match(name) if _namespace(name) is None else None
    word = match[1] if match else None
    return None if word is None or word.lower() in _VERBS else word
