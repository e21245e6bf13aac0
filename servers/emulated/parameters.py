"""What the parameters of a tool are for: pages, orders, search words, references and the rest.

Reads names and schemas; knows neither what a tool does nor what exists.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, cast

from astra_mcp.types import ToolSpec
from astra_mcp.values.guesses import resolve
from astra_mcp.values.nouns import key_of, singular

__all__ = ["Parameter", "Role", "key_suffix", "parameters_of", "role_of"]


class Role(StrEnum):
    """What a parameter is for."""

    LIMIT = "limit"
    """How many of a list to give."""
    OFFSET = "offset"
    """How many of a list to leave out before them."""
    PAGE = "page"
    """Which page of a list to give, from 1."""
    CURSOR = "cursor"
    """Where in a list to go on, as the answer before said."""
    SORT = "sort"
    """By which field to sort."""
    DIRECTION = "direction"
    """Whether to sort upwards or downwards."""
    QUERY = "query"
    """Words to search for."""
    OPTION = "option"
    """How to answer, or who asks: no property of what is asked for."""
    NOISE = "noise"
    """No parameter at all: what a crawler took for one."""
    FIELD = "field"
    """A property of what the tool is about."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One argument that a tool takes."""

    name: str
    """As documented."""
    key: str
    """Its name in normal form, such as ``due_date``."""
    role: Role
    schema: Mapping[str, Any]
    """With local references resolved."""
    is_required: bool
    types: frozenset[str]
    """JSON types that it may have, ``null`` left out; empty where it may have any."""

    @property
    def holds_objects(self) -> bool:
        """It is a list of objects."""
        items: Any = self.schema.get("items")
        inner = cast("dict[str, Any]", items) if isinstance(items, dict) else {}
        return "properties" in inner or inner.get("type") == "object"

    @property
    def is_scalar(self) -> bool:
        """It cannot be known to hold other values."""
        return self.types.isdisjoint(("array", "object"))


_ROLES: Final[Mapping[Role, str]] = {
    Role.LIMIT: "limit max_results page_size per_page count size top first num num_results n rows"
    " max_items top_k top_n items_per_page result_limit results_limit max_count max_records"
    " number_of_results limit_results batch_size lookback_count newest max_items_to_return",
    Role.OFFSET: "offset skip start_at start_index start_record start_offset",
    Role.PAGE: "page page_number page_num page_no page_index current_page pn",
    Role.CURSOR: "cursor page_token next_token next_cursor starting_after continuation_token"
    " next_page_token start_cursor pagination_token after_cursor",
    Role.SORT: "sort sort_by order_by sorting sort_field sorts",
    Role.DIRECTION: "order sort_order direction sort_direction order_direction",
    Role.QUERY: "query q keyword keywords search search_term search_query term terms phrase"
    " search_text search_string search_keyword search_terms query_text query_string search_phrase"
    " jql cql wiql soql",
    Role.OPTION: "api_key access_token api_token auth_token bearer_token authorization token"
    " refresh_token password secret private_key client_secret credentials app_key verbose debug"
    " format output_format response_format expand dry_run recursive timeout timeout_ms timeout_seconds"
    " force confirm opt_fields ctx context kwargs user_agent headers raw pretty detailed strict"
    " async use_cache no_cache explanation opt_pretty notify",
    Role.NOISE: "random_string dummy noop",
}
_ROLE_OF: Final = {key: role for role, keys in _ROLES.items() for key in keys.split()}
_OPTION_STARTS: Final = ("include_", "with_", "exclude_", "return_", "show_", "skip_", "send_")
_SECRET: Final = re.compile(r"(^|_)(password|secret|api_key|apikey|token|credentials?)$")
_SUFFIXES: Final = (
    "id", "ids", "uuid", "uuids", "guid", "uid", "gid", "pid", "key", "keys", "slug", "slugs", "identifier",
    "identifiers", "ref",
)  # fmt: skip
_STOP_WORDS: Final = frozenset(
    ("a", "an", "the", "of", "in", "by", "for", "and", "or", "is", "with", "on", "all")
)


def parameters_of(tool: ToolSpec, tool_keys: frozenset[str]) -> tuple[Parameter, ...]:
    """Read all parameters of a tool, in their order.

    Args:
        tool: Its schema may be anything that is JSON Schema.
        tool_keys: Names of all tools of the server in normal form: pages list them where crawlers look
            for parameters.
    """
    schema = tool.input_schema
    declared: Any = schema.get("properties")
    if not isinstance(declared, dict):
        return ()
    wanted: Any = schema.get("required")
    required = frozenset(cast("list[str]", wanted) if isinstance(wanted, list) else ())
    found: list[Parameter] = []
    for name, member in cast("dict[str, Any]", declared).items():
        named = cast("dict[str, Any]", member) if isinstance(member, dict) else {}
        resolved, key, is_required = resolve(named, schema), key_of(name), name in required
        types = frozenset(_type_names(resolved))
        is_noise = not is_required and _is_noise(name, key, resolved, tool.description, tool_keys)
        role = Role.NOISE if is_noise else _role_of(key, types)
        if role is Role.FIELD and types <= {"integer", "number"} and _counts(resolved):
            role = Role.LIMIT
        found.append(
            Parameter(
                name=name, key=key, role=role, schema=resolved, is_required=is_required, types=types
            )
        )
    return tuple(found)


_COUNTING: Final = re.compile(
    r"\b(?:max(?:imum)?|number|amount|count)\s+(?:number\s+)?(?:of\s+)?(?:\w+\s+){1,3}?to\s+"
    r"(?:return|fetch|get|retrieve|show|list)\b|\b(?:results|items|records|entries) per page\b|por página",
    re.IGNORECASE,
)


def _counts(schema: Mapping[str, Any]) -> bool:
    """Say whether the description of a number says that so many are given."""
    return _COUNTING.search(str(schema.get("description", ""))[:200]) is not None


def _is_noise(
    name: str, key: str, schema: Mapping[str, Any], told: str, tool_keys: frozenset[str]
) -> bool:
    """Crawlers take names of tools and words of headlines for parameters; nothing is said of them."""
    if "description" in schema or set(schema) - {"type", "title"}:
        return False
    is_headline = name[:1].isupper() and (name.isupper() or name[1:].islower())
    return key in tool_keys or (is_headline and name in told) or name in _STOP_WORDS


def role_of(name: str) -> Role:
    """What an argument is for that no schema declares, by its name alone."""
    return _role_of(key_of(name), frozenset[str]())


@lru_cache(maxsize=4096)
def _role_of(key: str, types: frozenset[str]) -> Role:
    role = _ROLE_OF.get(key)
    if role in (Role.LIMIT, Role.OFFSET, Role.PAGE) and not _may_be(
        types, "integer", "number", "string"
    ):
        return Role.FIELD
    if role in (Role.QUERY, Role.CURSOR) and not _may_be(types, "string"):
        return Role.FIELD
    if role is None and (_SECRET.search(key) or key.startswith(_OPTION_STARTS)):
        is_flag = types <= {"boolean"} or _SECRET.search(key) is not None
        return Role.OPTION if is_flag else Role.FIELD
    return role or Role.FIELD


def _may_be(types: frozenset[str], *wanted: str) -> bool:
    return not types or not types.isdisjoint(wanted)


def _type_names(schema: Mapping[str, Any]) -> Iterator[str]:
    """The JSON types that a schema names, those of its alternatives included; never ``null``."""
    named: Any = schema.get("type")
    for kind in cast("list[Any]", named) if isinstance(named, list) else [named]:
        if isinstance(kind, str) and kind != "null":
            yield kind
    for keyword in ("anyOf", "oneOf"):
        branches: Any = schema.get(keyword)
        for branch in cast("list[Any]", branches) if isinstance(branches, list) else ():
            if isinstance(branch, dict):
                yield from _type_names(cast("dict[str, Any]", branch))


@lru_cache(maxsize=4096)
def key_suffix(key: str) -> tuple[str, str]:
    """Split what a key refers to from how: ``issue_ids`` is ``issue`` and ``id``; the first may be empty.

    The second is empty where a key is no reference.
    """
    head, _, last = key.rpartition("_")
    if last not in _SUFFIXES:
        return "", ""
    return singular(head), singular(last)
