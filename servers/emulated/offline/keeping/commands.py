"""What key-value stores are told to do, under the names of Redis and under plainer ones.

Each takes the session's keys first. Ranges, returns and wrong kinds are as in the Redis documentation of each
command; where nothing stands under a key, a read gives null.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.computing.computation import (
    Computation,
    Operand,
    computation,
    flag,
    integer,
    number,
    text,
)
from servers.emulated.offline.computing.operands import UnfitError, anything
from servers.emulated.offline.computing.operands import text as read_text
from servers.emulated.offline.keeping.keyspace import Keyspace

__all__ = ["READING", "WRITING"]

Json = JsonValue
_MAX_GLOB: Final = 100


def _set(space: Keyspace, key: str, value: Json, seconds: int | None) -> Json:
    space.put(key, "string", [value])
    _expire_after(space, key, seconds)
    return "OK"


def _expire_after(space: Keyspace, key: str, seconds: int | None) -> None:
    if seconds is not None:
        if seconds <= 0:
            raise UnfitError("invalid expire time")
        space.set_end(key, space.now + seconds)


def _get(space: Keyspace, key: str) -> JsonObject:
    kept = space.value(key, "string")
    if kept is None and not space.gives_null:
        raise UnfitError(f"Key not found: {key}")
    return {"value": None if kept is None else kept[0]}


def _get_many(space: Keyspace, keys: list[str]) -> JsonObject:
    kept = {key: space.value(key, "string") for key in keys}
    return {"values": {key: None if box is None else box[0] for key, box in kept.items()}}


def _count_up(space: Keyspace, key: str, amount: float) -> Json:
    kept = space.value(key, "string")
    old = 0 if kept is None else kept[0]
    try:
        base = int(old) if isinstance(old, int | str) and not isinstance(old, bool) else float(old)
    except (TypeError, ValueError):
        raise UnfitError("value is not an integer or out of range") from None
    result = base + amount
    if not -(2**63) <= result < 2**63 or not math.isfinite(result):
        raise UnfitError("increment or decrement would overflow")
    end = space.end(key)
    space.put(key, "string", [result])
    space.set_end(key, end)
    return {"value": result}


def _count_down(space: Keyspace, key: str, amount: float) -> Json:
    return _count_up(space, key, -amount)


def _append(space: Keyspace, key: str, value: str) -> Json:
    kept = space.value(key, "string")
    end = space.end(key)
    whole = f"{'' if kept is None else kept[0]}{value}"
    space.put(key, "string", [whole])
    space.set_end(key, end)
    return {"length": len(whole)}


def _length(space: Keyspace, key: str) -> Json:
    kept = space.value(key, "string")
    return {"length": 0 if kept is None else len(str(kept[0]))}


def _delete(space: Keyspace, keys: list[str]) -> Json:
    return {"deleted": sum([space.drop(key) for key in keys])}


def _exists(space: Keyspace, keys: list[str]) -> Json:
    found = sum(space.kind(key) is not None for key in keys)
    return {"exists": found > 0, "count": found}


def _keys(space: Keyspace, pattern: str) -> Json:
    if len(pattern) > _MAX_GLOB:
        raise UnfitError(f"A pattern of more than {_MAX_GLOB} characters is not supported")
    found: list[JsonValue] = [key for key in space.all_keys() if _fits(key, pattern)]
    return {"keys": found, "count": len(found)}


def _fits(key: str, pattern: str) -> bool:
    """Whether a key fits a pattern of letters, ``?`` and ``*``; takes their product in steps."""
    row = [True] + [False] * len(key)
    for sign in pattern:
        if sign == "*":
            for at in range(1, len(row)):
                row[at] = row[at] or row[at - 1]
        else:
            row = [False, *(row[at] and sign in ("?", letter) for at, letter in enumerate(key))]
    return row[-1]


def _expire(space: Keyspace, key: str, seconds: int) -> Json:
    if space.kind(key) is None:
        return {"success": False}
    if seconds <= 0:
        space.drop(key)
    else:
        space.set_end(key, space.now + seconds)
    return {"success": True}


def _time_to_live(space: Keyspace, key: str) -> Json:
    if space.kind(key) is None:
        return {"ttl": -2}
    end = space.end(key)
    return {"ttl": -1 if end is None else end - space.now}


def _persist(space: Keyspace, key: str) -> Json:
    was_ending = space.kind(key) is not None and space.end(key) is not None
    if was_ending:
        space.set_end(key, None)
    return {"success": was_ending}


def _type(space: Keyspace, key: str) -> Json:
    return {"type": space.kind(key) or "none"}


def _rename(space: Keyspace, key: str, new: str) -> Json:
    kind = space.kind(key)
    if kind is None:
        raise UnfitError(f"Key not found: {key}")
    value, end = space.value(key, kind), space.end(key)
    space.drop(key)
    space.drop(new)
    space.put(new, kind, value)
    space.set_end(new, end)
    return "OK"


def _flush(space: Keyspace) -> Json:
    keys = space.all_keys()
    for key in keys:
        space.drop(key)
    return {"deleted": len(keys)}


def _hash_set(space: Keyspace, key: str, field: str, value: Json, seconds: int | None) -> Json:
    return _hash_set_many(space, key, {field: value}, seconds)


def _hash_set_many(space: Keyspace, key: str, fields: Json, seconds: int | None = None) -> Json:
    if not isinstance(fields, dict) or not fields:
        raise UnfitError("the fields are not an object with members")
    kept = space.for_change(key, "hash", dict[str, JsonValue], fields)
    added = len(fields.keys() - kept.keys())
    kept.update(fields)
    _expire_after(space, key, seconds)
    return {"added": added}


def _hash(space: Keyspace, key: str) -> dict[str, JsonValue]:
    return space.value(key, "hash") or {}


def _hash_get(space: Keyspace, key: str, field: str) -> Json:
    return {"value": _hash(space, key).get(field)}


def _hash_all(space: Keyspace, key: str) -> Json:
    return {"fields": dict(_hash(space, key))}


def _hash_delete(space: Keyspace, key: str, fields: list[str]) -> Json:
    kept = space.for_change(key, "hash", dict[str, JsonValue])
    removed = sum(kept.pop(field, None) is not None for field in fields)
    space.drop_empty(key)
    return {"deleted": removed}


def _hash_count_up(space: Keyspace, key: str, field: str, amount: float) -> Json:
    old = _hash(space, key).get(field, 0)
    try:
        result = (int(old) if isinstance(old, int | str) else float(str(old))) + amount
    except ValueError:
        raise UnfitError("hash value is not an integer") from None
    space.for_change(key, "hash", dict[str, JsonValue], field)[field] = result
    return {"value": result}


def _list(space: Keyspace, key: str) -> list[JsonValue]:
    return space.value(key, "list") or []


def _push(
    space: Keyspace, key: str, values: list[Json], seconds: int | None, *, is_left: bool
) -> Json:
    kept = space.for_change(key, "list", list[JsonValue], values)
    if is_left:
        kept[:0] = values[::-1]
    else:
        kept.extend(values)
    _expire_after(space, key, seconds)
    return {"length": len(kept)}


def _pop(space: Keyspace, key: str, count: int | None, *, is_left: bool) -> Json:
    if not _list(space, key):
        return {"value": None} if count is None else {"values": []}
    kept = space.for_change(key, "list", list[JsonValue])
    number = min(1 if count is None else max(count, 0), len(kept))
    taken = [kept.pop(0 if is_left else -1) for _ in range(number)]
    space.drop_empty(key)
    return {"value": taken[0]} if count is None else {"values": taken}


def _range(space: Keyspace, key: str, start: int, stop: int) -> Json:
    return {"values": _part(_list(space, key), start, stop)}


def _part(row: list[Any], start: int, stop: int) -> list[Any]:
    """From a place to a place, both included; negative ones count from the end."""
    size = len(row)
    low = max(start + size if start < 0 else start, 0)
    high = stop + size if stop < 0 else stop
    return row[low : high + 1] if high >= low else []


def _at(space: Keyspace, key: str, index: int) -> Json:
    row = _list(space, key)
    return {"value": row[index] if -len(row) <= index < len(row) else None}


def _add(space: Keyspace, key: str, members: list[str], seconds: int | None) -> Json:
    kept = space.for_change(key, "set", dict[str, JsonValue], members)
    before = len(kept)
    kept.update(dict.fromkeys(members, True))
    _expire_after(space, key, seconds)
    return {"added": len(kept) - before}


def _members(space: Keyspace, key: str) -> Json:
    found: list[JsonValue] = [*(space.value(key, "set") or {})]
    return {"members": found, "count": len(found)}


def _is_member(space: Keyspace, key: str, member: str) -> Json:
    return {"is_member": member in (space.value(key, "set") or {})}


def _remove(space: Keyspace, key: str, members: list[str], *, kind: str) -> Json:
    if not space.value(key, kind):
        return {"removed": 0}
    kept = space.for_change(key, kind, dict[str, JsonValue])
    removed = sum(kept.pop(member, None) is not None for member in members)
    space.drop_empty(key)
    return {"removed": removed}


def _size(space: Keyspace, key: str, *, kind: str) -> Json:
    return {"count": len(space.value(key, kind) or ())}


def _rank(space: Keyspace, key: str, member: str, score: float, seconds: int | None) -> Json:
    kept = space.for_change(key, "zset", dict[str, JsonValue], member)
    is_new = member not in kept
    kept[member] = score
    _expire_after(space, key, seconds)
    return {"added": int(is_new)}


def _ranked(space: Keyspace, key: str) -> list[tuple[str, float]]:
    kept: dict[str, float] = space.value(key, "zset") or {}
    return sorted(kept.items(), key=lambda item: (item[1], item[0]))


def _ranked_range(
    space: Keyspace, key: str, start: int, stop: int, has_scores: object, *, is_down: bool
) -> Json:
    rows = _ranked(space, key)
    part = _part(rows[::-1] if is_down else rows, start, stop)
    if has_scores:
        return {"members": [{"member": member, "score": score} for member, score in part]}
    return {"members": [member for member, _ in part]}


def _score(space: Keyspace, key: str, member: str) -> Json:
    return {"score": dict(_ranked(space, key)).get(member)}


def _place(space: Keyspace, key: str, member: str) -> Json:
    names = [name for name, _ in _ranked(space, key)]
    return {"rank": names.index(member) if member in names else None}


def _enqueue(space: Keyspace, key: str, item: Json) -> Json:
    kept = space.for_change(key, "list", list[JsonValue], item)
    kept.append(item)
    return {"size": len(kept)}


def _take(space: Keyspace, key: str, *, at: int, stays: bool = False) -> Json:
    row = _list(space, key)
    if not row:
        raise UnfitError(
            "Item not found: the queue is empty"
            if at == 0
            else "Item not found: the stack is empty"
        )
    if stays:
        return {"item": row[at]}
    kept = space.for_change(key, "list", list[JsonValue])
    taken = kept.pop(at)
    left = len(kept)
    space.drop_empty(key)
    return {"item": taken, "size": left}


_KEYS: Final = "name k redis_key cache_key key_name"


def _key(more: str = "", **options: Any) -> Operand:
    return text("key", f"{more} {_KEYS}", **options)


def _any(name: str, keys: str) -> Operand:
    types = frozenset(("string", "number", "integer", "boolean", "object", "array"))
    return Operand(name=name, keys=(name, *keys.split()), read=anything, types=types)


_HASH: Final = Operand(
    name="key",
    keys=(
        "name",
        "hash",
        "hash_key",
        "hash_name",
        "key",
        "k",
    ),  # beside ``name``, ``key`` is the field
    read=read_text,
    types=frozenset(("string",)),
)
_FIELD: Final = text("field", "hash_field field_name key")
_VALUE: Final = _any("value", "val data content")
_SECONDS: Final = integer(
    "seconds",
    "ttl expiration expire expire_seconds ex expiry ttl_seconds expire_time expires_in expiration_seconds timeout",
    default=None,
)
_AFTER: Final = integer("seconds", "ttl expire_seconds expiration expire ex ttl_seconds time")
_MEMBER: Final = text("member", "value element item")
_RANKED: Final = text("key", "name set zset set_key k")
_LIST: Final = text("key", "name list list_key list_name k")
_START, _STOP = (
    integer("start", "start_index from begin", default=0),
    integer("stop", "end end_index to stop_index", default=-1),
)
_QUEUE: Final = text("key", "queue stack queue_name stack_name queue_id name", default="")
_ITEM: Final = _any("item", "value element message data task job payload content")


def _list_of(name: str, keys: str, *, of_texts: bool = False) -> Operand:
    """One or several values."""

    def read(value: JsonValue) -> list[Any]:
        row = value if isinstance(value, list) else [value]
        return [
            str(each) if of_texts and not isinstance(each, dict | list) else anything(each)
            for each in row
        ]

    types = frozenset(("string", "number", "integer", "boolean", "object", "array"))
    return Operand(name=name, keys=(name, *keys.split()), read=read, types=types)


_VALUES: Final = _list_of("values", "value elements element items item val data")
_MEMBERS: Final = _list_of(
    "members", "member values value elements element item items", of_texts=True
)
_FIELDS: Final = _list_of("fields", "field key keys hash_field field_name", of_texts=True)
_SOME_KEYS: Final = _list_of("keys", "key name k redis_key cache_key", of_texts=True)


def _fixed(run: Callable[..., Json], **fixed: Any) -> Callable[..., Json]:
    def command(space: Keyspace, **operands: Any) -> Json:
        return run(space, **operands, **fixed)

    return command


# fmt: off
def _writing() -> Iterator[Computation]:
    both = "value key item entry pair"
    yield computation("set, put, store, setex", _set, _key(), _VALUE, _SECONDS, beside=both)
    yield computation("mset, set many, set all", _fixed(_set_all), _any("pairs", "mapping values items data key_values"), beside=both)
    yield computation("incr, increment, incrby", _count_up, _key(), number("amount", "by increment value delta", default=1), beside=f"{both} counter by")
    yield computation("decr, decrement, decrby", _count_down, _key(), number("amount", "by decrement value delta", default=1), beside=f"{both} counter by")
    yield computation("append", _append, _key(), text("value", "val text string"), beside=both)
    yield computation("del, delete, remove, unlink, clear, invalidate", _delete, _SOME_KEYS, beside=f"{both} keys")
    yield computation("expire, set expiry, set ttl, set expiration", _expire, _key(), _AFTER, beside=both)
    yield computation("persist", _persist, _key(), beside=both)
    yield computation("rename", _rename, text("key", "old_key source old_name old from name"), text("new", "new_key destination new_name newkey to"), beside=both)
    yield computation("flush, flushdb, flushall, clear, clear all", _flush, beside="db all")
    yield computation("hset, hash set, set hash, set hash field", _hash_set, _HASH, _FIELD, _VALUE, _SECONDS, beside=f"field {both}")
    yield computation("hset, hmset, hash set, set hash", _hash_set_many, _HASH, _any("fields", "mapping values field_values data items"), _SECONDS, beside="field many all")
    yield computation("hdel, hash delete, delete hash field", _hash_delete, _HASH, _FIELDS, beside="field")
    yield computation("hincrby, hash increment", _hash_count_up, _HASH, _FIELD, number("amount", "increment by value", default=1), beside="by field")
    for words, side in (("lpush, list push left, push left", True), ("rpush, list push, list push right, push right, list append", False)):
        yield computation(words, _fixed(_push, is_left=side), _LIST, _VALUES, _SECONDS, beside="list")
    for words, side in (("lpop, list pop left, pop left", True), ("rpop, list pop, list pop right, pop right", False)):
        yield computation(words, _fixed(_pop, is_left=side), _LIST, integer("count", "n", default=None), beside="list")
    yield computation("sadd, set add", _add, _RANKED, _MEMBERS, _SECONDS, beside="member")
    yield computation("srem, set remove", _fixed(_remove, kind="set"), _RANKED, _MEMBERS, beside="member")
    yield computation("zadd, sorted set add", _rank, _RANKED, _MEMBER, number("score", "rank weight"), _SECONDS, beside="member")
    yield computation("zrem, sorted set remove", _fixed(_remove, kind="zset"), _RANKED, _MEMBERS, beside="member")
    inner = "queue stack item element message task job value"
    yield computation("push, enqueue, queue push, stack push, queue add, add queue", _enqueue, _QUEUE, _ITEM, beside=inner)
    yield computation("pop, stack pop", _fixed(_take, at=-1), _QUEUE, beside=inner)
    yield computation("dequeue, queue pop, queue next", _fixed(_take, at=0), _QUEUE, beside=inner)
# fmt: on


def _set_all(space: Keyspace, pairs: Json) -> Json:
    if not isinstance(pairs, dict):
        raise UnfitError("the pairs are not an object")
    for key, value in pairs.items():
        space.put(key, "string", [value])
    return {"count": len(pairs)}


# fmt: off
def _reading() -> Iterator[Computation]:
    both = "value key item entry"
    yield computation("get, fetch, retrieve, lookup", _get, _key(), beside=both)
    yield computation("mget, get many", _get_many, _SOME_KEYS, beside="value key")
    yield computation("strlen", _length, _key())
    yield computation("exist, has, contain", _exists, _SOME_KEYS, beside="key")
    yield computation("key, list key, scan, scan key, get key, scan all key", _keys, text("pattern", "match prefix filter", default="*"), beside="all list")
    yield computation("ttl, get ttl, time live", _time_to_live, _key(), beside="key to")
    yield computation("type, key type", _type, _key(), beside="get key")
    yield computation("hget, hash get, get hash field", _hash_get, _HASH, _FIELD, beside="field value")
    yield computation("hgetall, hash get all, get all hash, get hash", _hash_all, _HASH, beside="field all")
    yield computation("hexist, hash exist", _fixed(_hash_has), _HASH, _FIELD, beside="field")
    yield computation("hkey, hash key", _fixed(_hash_part, part="keys"), _HASH)
    yield computation("hval, hash value", _fixed(_hash_part, part="values"), _HASH)
    yield computation("lrange, list range, get list", _range, _LIST, _START, _STOP)
    yield computation("lindex, list index", _at, _LIST, integer("index", "i position"))
    yield computation("smember, set member, get set", _members, _RANKED, beside="get")
    yield computation("sismember, set contain", _is_member, _RANKED, _MEMBER, beside="member")
    for words, kind in (("llen, list length", "list"), ("scard, set size", "set"), ("zcard, sorted set size", "zset"), ("hlen, hash length", "hash")):
        yield computation(words, _fixed(_size, kind=kind), _RANKED)
    scores = flag("has_scores", "with_scores withscores include_scores", default=False)
    yield computation("zrange, sorted set range", _fixed(_ranked_range, is_down=False), _RANKED, _START, _STOP, scores)
    yield computation("zrevrange", _fixed(_ranked_range, is_down=True), _RANKED, _START, _STOP, scores)
    yield computation("zscore", _score, _RANKED, _MEMBER)
    yield computation("zrank", _place, _RANKED, _MEMBER)
    inner = "queue stack item element message next top"
    yield computation("peek, stack peek, stack top", _fixed(_take, at=-1, stays=True), _QUEUE, beside=inner)
    yield computation("queue peek, queue front", _fixed(_take, at=0, stays=True), _QUEUE, beside=inner)
    yield computation("queue size, stack size, queue length, size, queue status", _fixed(_waiting), _QUEUE, beside=inner)
# fmt: on


def _hash_has(space: Keyspace, key: str, field: str) -> Json:
    return {"exists": field in _hash(space, key)}


def _hash_part(space: Keyspace, key: str, *, part: str) -> Json:
    kept = _hash(space, key)
    return {part: [*(kept if part == "keys" else kept.values())]}


def _waiting(space: Keyspace, key: str) -> Json:
    size = len(_list(space, key))
    return {"size": size, "is_empty": size == 0}


WRITING: Final[tuple[Computation, ...]] = tuple(_writing())
READING: Final[tuple[Computation, ...]] = tuple(_reading())
