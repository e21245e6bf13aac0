"""The tools of a server that keep values under keys, and what a session's calls of them are told."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final

from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.nouns import words_of
from servers.emulated.offline.computing.answering import computed
from servers.emulated.offline.computing.binding import Bound
from servers.emulated.offline.computing.recognition import Naming, Recognition
from servers.emulated.offline.finding import Call
from servers.emulated.offline.keeping.commands import READING, WRITING
from servers.emulated.offline.keeping.keyspace import Keyspace
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import ToolReading

__all__ = ["KeepingTools", "KeptKeys"]

_FILLERS: Final = frozenset(
    (
        "redis",
        "valkey",
        "kv",
        "keyvalue",
        "cache",
        "cached",
        "store",
        "storage",
        "database",
        "memcached",
        "data",
        "mcp",
        "tool",
        "the",
        "a",
        "of",
        "in",
        "to",
        "from",
    )
)
_NAMING: Final = Naming((*WRITING, *READING), _FILLERS)
_OF_REDIS: Final = frozenset(
    (
        "redis",
        "valkey",
        "hget",
        "hset",
        "hgetall",
        "lpush",
        "rpush",
        "lrange",
        "sadd",
        "smembers",
        "zadd",
    )
)


class KeepingTools:
    """Which tools of one version of a server keep and read values under keys."""

    def __init__(self, tools: Mapping[str, ToolSpec], readings: Mapping[str, ToolReading]) -> None:
        """Read nothing yet."""
        self._tools = tools
        self._readings = readings
        self.recognition = Recognition(tuple(tools.values()), _NAMING)

    @cached_property
    def is_a_store(self) -> bool:
        """Some tool stores what another one reads."""
        named = [
            bound[0].computation
            for name, tool in self._tools.items()
            if (bound := self.recognition.readings(tool, self._readings[name].parameters, {}))
        ]
        return any(each in WRITING for each in named) and any(
            each in READING or each in _TAKING for each in named
        )

    @cached_property
    def is_redis(self) -> bool:
        """They are the commands of Redis: what is not there is null."""
        return any(not _OF_REDIS.isdisjoint(words_of(name)) for name in self._tools)


_TAKING: Final = tuple(
    each for each in WRITING if any({"pop", "dequeue"} & phrase for phrase in each.phrases)
)


class KeptKeys:
    """The keys of one session."""

    def __init__(
        self, tools: KeepingTools, on_undo: Callable[[Callable[[], object]], None]
    ) -> None:
        """Begin empty.

        Args:
            tools: Of the server.
            on_undo: Takes what undoes a change.
        """
        self._tools = tools
        self._space = Keyspace(on_undo, gives_null=tools.is_redis)

    def told(self, call: Call, now: int) -> Answer | None:
        """What a call is told that stores or reads a value under a key; None for others.

        Args:
            call: Any.
            now: Seconds since 1970.

        Raises:
            EntityRefusedError: A real store would refuse it.
        """
        if not self._tools.is_a_store:
            return None
        self._space.now = now

        def run(bound: Bound, values: dict[str, object]) -> JsonValue:
            return bound.computation.run(self._space, **values)

        return computed(self._tools.recognition, call, run)
