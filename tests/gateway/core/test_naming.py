"""The names that agents see."""

import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.types import ToolSpec
from gateway.episodes.shown_tools import qualified_name, routes_of


def test_a_plain_name_is_joined_as_it_is() -> None:
    assert qualified_name("coins", "add") == "coins__add"


@given(st.text(min_size=1), st.text(min_size=1))
def test_every_name_fits_what_providers_accept(server: str, tool: str) -> None:
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", qualified_name(server, tool))


@given(st.text(min_size=30, max_size=90), st.text(min_size=30, max_size=90))
def test_cut_names_of_different_tools_differ(server: str, tool: str) -> None:
    assert qualified_name(server, tool + "a") != qualified_name(server, tool + "b")


def test_a_tool_named_as_another_one_is_shown_does_not_take_its_place(
    server: Any, second_server: Any
) -> None:
    def tools(*names: str) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(name=n, input_schema={"type": "object"}) for n in names)

    server.name, server.tools = "a", tools("t")
    second_server.name, second_server.tools = "b", tools("t", "a__t")
    routes = routes_of([server, second_server])
    assert {(r.server, r.tool) for r in routes.values()} == {("a", "t"), ("b", "t"), ("b", "a__t")}
    assert set(routes_of([second_server, server])) != {"a__t", "b__t"}
    assert all(name == route.shown.name for name, route in routes.items())


def test_names_that_differ_in_foreign_characters_alone_differ() -> None:
    assert qualified_name("wetter", "höhe") != qualified_name("wetter", "hohe")
    assert qualified_name("wetter", "h.he") != qualified_name("wetter", "h_he")
