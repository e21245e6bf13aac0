"""Key-value stores: what one command stored, all others know of, as in a plain dictionary."""

from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.types import CallOutcome, PastCall
from servers.emulated.offline.keeping.keyspace import MAX_KEYS

from emulated_worlds import World, document_of, spec, text

integer: dict[str, Any] = {"type": "integer"}
number: dict[str, Any] = {"type": "number"}
REDIS = document_of(
    spec("set", "Set a key.", optional=("expiration",), key=text, value=text, expiration=integer),
    spec("get", key=text),
    spec("delete", key=text),
    spec("exists", key=text),
    spec("keys", pattern=text),
    spec("incr", optional=("amount",), key=text, amount=integer),
    spec("expire", key=text, seconds=integer),
    spec("ttl", key=text),
    spec("rename", old_key=text, new_key=text),
    spec("type", key=text),
    spec("hset", name=text, key=text, value=text),
    spec("hget", name=text, key=text),
    spec("hgetall", name=text),
    spec("hdel", name=text, key=text),
    spec("lpush", name=text, value=text),
    spec("rpush", name=text, value=text),
    spec("lpop", name=text),
    spec("rpop", name=text),
    spec("llen", name=text),
    spec("lrange", name=text, start=integer, stop=integer),
    spec("sadd", key=text, member=text),
    spec("srem", key=text, member=text),
    spec("smembers", key=text),
    spec("sismember", key=text, member=text),
    spec("zadd", key=text, member=text, score=number),
    spec("zrange", key=text, start=integer, stop=integer),
    spec("zscore", key=text, member=text),
    name="redis",
)
KEYS = st.sampled_from(("a", "b", "c"))
VALUES = st.text("xyz", max_size=3)


@given(moves=st.lists(st.tuples(st.integers(0, 3), KEYS, VALUES), max_size=14))
@settings(max_examples=30)
def test_values_are_those_of_a_dictionary(moves: list[tuple[int, str, str]]) -> None:
    world, model = World(REDIS), dict[str, str]()
    for move, key, value in moves:
        if move == 0:
            world.call("set", key=key, value=value)
            model[key] = value
        elif move == 1:
            assert world.call("delete", key=key)["deleted"] == (model.pop(key, None) is not None)
        elif move == 2:
            assert world.call("get", key=key)["value"] == model.get(key)
        else:
            assert world.call("exists", key=key)["exists"] == (key in model)
    assert sorted(world.call("keys", pattern="*")["keys"]) == sorted(model)


@given(
    moves=st.lists(st.tuples(st.integers(0, 3), VALUES), max_size=14),
    bounds=st.tuples(*[st.integers(-5, 5)] * 2),
)
@settings(max_examples=30)
def test_lists_are_those_of_python(moves: list[tuple[int, str]], bounds: tuple[int, int]) -> None:
    world, model = World(REDIS), list[str]()
    for move, value in moves:
        if move < 2:
            world.call(("lpush", "rpush")[move], name="row", value=value)
            model.insert(0 if move == 0 else len(model), value)
        else:
            expected = model.pop(0 if move == 2 else -1) if model else None
            assert world.call(("lpop", "rpop")[move - 2], name="row")["value"] == expected
    start, stop = bounds
    low, high = (at + len(model) if at < 0 else at for at in bounds)
    told = world.call("lrange", name="row", start=start, stop=stop)
    assert told["values"] == [v for at, v in enumerate(model) if low <= at <= high]
    assert world.call("llen", name="row")["count"] == len(model)


def test_hashes_sets_and_ranked_sets_hold_what_was_put_in() -> None:
    world = World(REDIS)
    world.call("hset", name="h", key="f", value="1")
    world.call("hset", name="h", key="g", value="2")
    assert world.call("hget", name="h", key="f")["value"] == "1"
    assert world.call("hgetall", name="h")["fields"] == {"f": "1", "g": "2"}
    world.call("hdel", name="h", key="f")
    assert world.call("hget", name="h", key="f")["value"] is None
    world.call("sadd", key="s", member="m")
    assert world.call("sadd", key="s", member="m")["added"] == 0
    assert world.call("sismember", key="s", member="m")["is_member"] is True
    assert world.call("smembers", key="s")["members"] == ["m"]
    for member, score in (("late", 9.5), ("soon", 1), ("mid", 4)):
        world.call("zadd", key="z", member=member, score=score)
    assert world.call("zrange", key="z", start=0, stop=-1)["members"] == ["soon", "mid", "late"]
    assert world.call("zscore", key="z", member="late")["score"] == 9.5
    assert "WRONGTYPE" in world.refusal("get", key="z")
    assert world.call("type", key="z")["type"] == "zset"


def test_a_counter_counts_and_refuses_what_is_no_number() -> None:
    world = World(REDIS)
    assert world.call("incr", key="n")["value"] == 1
    assert world.call("incr", key="n", amount=41)["value"] == 42
    world.call("set", key="n", value="many")
    assert "not an integer" in world.refusal("incr", key="n")
    assert world.call("get", key="n")["value"] == "many"


def test_a_key_goes_when_its_time_has_come() -> None:
    world = World(REDIS)
    world.call("set", key="k", value="v", expiration=100)
    left = world.call("ttl", key="k")["ttl"]
    assert 0 < left < 100
    assert world.call("ttl", key="other")["ttl"] == -2
    world.call("ttl", key="k")
    assert world.call("get", key="k")["value"] is None
    world.call("set", key="k", value="w")
    assert world.call("ttl", key="k")["ttl"] == -1
    world.call("expire", key="k", seconds=10**6)
    world.call("rename", old_key="k", new_key="l")
    assert world.call("get", key="l")["value"] == "w"
    assert world.call("ttl", key="l")["ttl"] > 0
    assert world.refusal("rename", old_key="k", new_key="m") == "Key not found: k"


def test_a_store_says_so_when_nothing_more_fits() -> None:
    world = World(REDIS)
    for at in range(MAX_KEYS):
        world.ask("sadd", key=f"k{at}", member="m")
    assert "Quota exceeded" in world.refusal("sadd", key="one more", member="m")
    assert "Quota exceeded" in world.refusal("set", key="one more", value="v")
    assert world.call("get", key="one more")["value"] is None
    assert world.call("smembers", key="k0")["members"] == ["m"]


def test_a_restored_session_holds_the_same() -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("set", {"key": "a", "value": "1"}),
        ("rpush", {"name": "l", "value": "x"}),
        ("hset", {"name": "h", "key": "f", "value": "2"}),
        ("incr", {"key": "a"}),
        ("get", {"key": "l"}),
    ]
    first, second = World(REDIS), World(REDIS)
    for tool, arguments in calls:
        first.ask(tool, **arguments)
    past = [PastCall(tool=t, arguments=a, outcome=CallOutcome.APPLIED) for t, a in calls]
    anyio.run(second.state.restore, past)
    for tool, arguments in (
        ("get", {"key": "a"}),
        ("hgetall", {"name": "h"}),
        ("lpop", {"name": "l"}),
    ):
        assert first.call(tool, **arguments) == second.call(tool, **arguments)


def test_a_call_that_cannot_be_answered_stores_nothing() -> None:
    unmet = {
        "type": "object",
        "required": ["x"],
        "properties": {"x": {"type": "string", "pattern": "(?!)"}},
    }
    world = World(
        document_of(spec("set", output=unmet, key=text, value=text), spec("get", key=text))
    )
    with pytest.raises(Exception, match="cannot be answered"):
        world.ask("set", key="k", value="v")
    assert world.refusal("get", key="k") == "Key not found: k"


@pytest.mark.parametrize(
    ("put", "take", "expected"),
    [("push", "pop", "b"), ("enqueue", "dequeue", "a"), ("queue_push", "queue_pop", "a")],
)
def test_stacks_and_queues_give_back_in_their_order(put: str, take: str, expected: str) -> None:
    world = World(document_of(spec(put, item=text), spec(take)))
    for item in "ab":
        world.call(put, item=item)
    assert world.call(take)["item"] == expected
    world.call(take)
    assert "empty" in world.refusal(take)


STORING = ("set", "put", "store", "cache_set", "set_value", "kv_put")
FETCHING = ("get", "fetch", "retrieve", "cache_get", "get_value", "lookup")
PAIRS = st.tuples(
    st.sampled_from(("save", "store", "add", "remember", "record", "write", "put")),
    st.sampled_from(("snippet", "memory", "bookmark", "recipe", "secret", "entry")),
    st.sampled_from(("get", "read", "fetch", "load", "retrieve", "show")),
    st.sampled_from(("code", "fact", "link", "dish", "text", "record")),
    st.sampled_from(("key", "name", "title", "topic", "slug")),
    st.sampled_from(("value", "content", "body", "code", "details")),
)


@given(
    storing=st.sampled_from(STORING), fetching=st.sampled_from(FETCHING), key=VALUES, value=VALUES
)
@settings(max_examples=30)
def test_what_is_stored_under_a_key_is_read_whatever_the_verbs(
    storing: str, fetching: str, key: str, value: str
) -> None:
    world = World(document_of(spec(storing, key=text, value=text), spec(fetching, key=text)))
    assert "not found" in world.refusal(fetching, key=key)
    world.call(storing, key=key, value=value)
    assert world.call(fetching, key=key)["value"] == value


@given(
    pair=PAIRS,
    named=st.text("abc", min_size=1, max_size=4),
    value=st.text("xyz ", min_size=1, max_size=8),
)
@settings(max_examples=60)
def test_what_one_tool_stores_the_other_reads_whatever_they_are_called(
    pair: tuple[str, ...], named: str, value: str
) -> None:
    verb, noun, reading, other, key, member = pair
    storing, reader = f"{verb}_{noun}", f"{reading}_{other}"
    taken: Any = {key: text, member: text}
    asked: Any = {key: text}
    world = World(
        document_of(spec(storing, "", optional=(), **taken), spec(reader, "", optional=(), **asked))
    )
    given_members: Any = {key: named, member: value}
    world.call(storing, **given_members)
    told = world.call(reader, **{key: named})
    assert (told[key], told[member]) == (named, value)


def test_what_is_to_be_remembered_is_found_by_its_words() -> None:
    for storing, reading in (
        ("remember", "recall"),
        ("store_memory", "recall"),
        ("save_memory", "search_memories"),
    ):
        world = World(document_of(spec(storing, content=text), spec(reading, query=text)))
        world.call(storing, content="The spare key is under the flowerpot")
        assert "flowerpot" in str(world.call(reading, query="spare key"))


def test_tools_about_other_things_are_not_taken_for_a_pair() -> None:
    world = World(
        document_of(spec("add_price_alert", city=text, limit=text), spec("get_weather", city=text))
    )
    world.call("add_price_alert", city="Lyon", limit="9")
    assert "not found" not in str(world.call("get_weather", city="Graz"))
