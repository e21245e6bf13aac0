"""The pool holds one tool of each name, in an order that does not depend on how the tools were found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.distractors.pool import Pool, PoolTool
from astra_mcp.domains import Domain

from vector_pools import pool_of, pool_tool

LABELS = st.sampled_from([None, Domain.WEATHER, Domain.SPORTS])
TOOLS = st.builds(
    pool_tool, st.text("abC", min_size=1, max_size=2), LABELS, st.sampled_from(["s", "t"])
)


@pytest.mark.claim("P22")
def test_of_the_tools_with_one_exact_name_the_first_is_meant() -> None:
    first, second = pool_tool("find", server="a"), pool_tool("find", server="b")
    other = pool_tool("Find", server="b")
    assert Pool([first, second, other]).tools == (other, first)
    assert Pool([second, first, other]).tools == (other, second)


@given(st.lists(TOOLS, unique_by=lambda tool: tool.name), st.randoms(use_true_random=False))
def test_tools_of_different_names_make_the_same_pool_in_any_order(
    tools: list[PoolTool], random: object
) -> None:
    pool = Pool(tools)
    shuffled = list(tools)
    getattr(random, "shuffle")(shuffled)  # noqa: B009 - hypothesis names no type for it
    assert Pool(shuffled).tools == pool.tools
    assert Pool(shuffled).hash == pool.hash
    assert [pool.places[tool.name] for tool in pool.tools] == list(range(len(pool)))


def test_another_server_domain_or_document_makes_another_pool() -> None:
    tool = pool_tool("find")
    others = [
        pool_tool("find", Domain.SPORTS),
        pool_tool("find", server="t"),
        PoolTool(server="s", name="find", domain=Domain.WEATHER, hash="0" * 64),
        pool_tool("look"),
    ]
    assert len({Pool([t]).hash for t in (tool, *others)}) == 5


def test_unlabelled_tools_taken_names_and_servers_that_are_gone_are_not_eligible() -> None:
    pool = pool_of({"a": Domain.WEATHER, "b": None, "c": Domain.SPORTS, "d": Domain.SPORTS})
    assert pool.eligible([]).tolist() == [True, False, True, True]
    assert pool.eligible(["c", "unknown"]).tolist() == [True, False, False, True]
    assert not pool.eligible([], {"s"}).any()
