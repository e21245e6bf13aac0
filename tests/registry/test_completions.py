"""The cache of completions: what is put is found, at once and in order."""

from hashlib import sha256

import anyio
import pytest

from astra_mcp.llm.cache import CompletionCache
from astra_mcp.types import JsonObject
from registry.store.completions import DatabaseCompletionCache
from registry.store.database import Database, open_database

INCOMPRESSIBLE = "".join(sha256(str(n).encode()).hexdigest() for n in range(150))
VALUE: JsonObject = {"text": "天气", "numbers": [1, 2.5, None], "is_final": True}


@pytest.mark.both_databases
async def test_a_value_is_found_by_its_key_after_opening_again(database_url: str) -> None:
    async with open_database(database_url) as database:
        cache: CompletionCache = DatabaseCompletionCache(database)
        assert await cache.get("key") is None
        await cache.put("key", VALUE)
    async with open_database(database_url) as database:
        cache = DatabaseCompletionCache(database)
        assert await cache.get("key") == VALUE
        assert await cache.get("other") is None


@pytest.mark.both_databases
async def test_a_later_value_replaces_an_earlier_one(database: Database) -> None:
    cache = DatabaseCompletionCache(database)
    await cache.put("key", {"number": 1})
    await cache.put("key", {"number": 2})
    assert await cache.get("key") == {"number": 2}


async def test_of_values_put_at_once_the_first_is_kept(database: Database) -> None:
    cache = DatabaseCompletionCache(database)

    async def put(number: int) -> None:
        await cache.put("key", {"number": number})

    async with anyio.create_task_group() as group:
        for number in range(32):
            group.start_soon(put, number)
    assert await cache.get("key") == {"number": 0}


async def test_a_value_is_committed_when_put_returns(database_url: str) -> None:
    async with open_database(database_url) as database, open_database(database_url) as other:
        await DatabaseCompletionCache(database).put("key", VALUE)
        assert await DatabaseCompletionCache(other).get("key") == VALUE


async def test_a_put_that_is_cancelled_leaves_the_next_one_its_turn(database: Database) -> None:
    cache = DatabaseCompletionCache(database)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await cache.put("key", {"number": 1})
    with anyio.fail_after(20):
        await cache.put("key", {"number": 2})
    assert await cache.get("key") == {"number": 2}


@pytest.mark.parametrize("key", ["", "a" * 5000, INCOMPRESSIBLE, "nul \0", "half \ud800"])
@pytest.mark.both_databases
async def test_keys_of_any_length_and_characters_are_found(database: Database, key: str) -> None:
    cache = DatabaseCompletionCache(database)
    await cache.put(key, VALUE)
    assert await cache.get(key) == VALUE
