"""The tools of a server that keep values under keys or paths, and what a session is told of them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Final

from astra_mcp.types import JsonValue, ToolSpec
from astra_mcp.values.nouns import words_of
from astra_mcp.values.random_stream import RandomStream
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.offline.computing.answering import computed
from servers.emulated.offline.computing.binding import Bound
from servers.emulated.offline.computing.computation import Computation
from servers.emulated.offline.computing.recognition import Naming, Recognition
from servers.emulated.offline.finding import Call
from servers.emulated.offline.keeping.commands import READING, WRITING
from servers.emulated.offline.keeping.file_commands import FILE_READING, FILE_WRITING
from servers.emulated.offline.keeping.file_tree import FileTree
from servers.emulated.offline.keeping.keyspace import Keyspace
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import ToolReading

__all__ = ["Keeping", "KeepingTools"]

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
_OF_FILES: Final = frozenset(
    (
        "filesystem",
        "fs",
        "tool",
        "mcp",
        "local",
        "workspace",
        "the",
        "a",
        "to",
        "text",
        "secure",
        "in",
        "at",
    )
)
_KEYS: Final = Naming((*WRITING, *READING), _FILLERS)
_FILES: Final = Naming((*FILE_WRITING, *FILE_READING), _OF_FILES)
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


_TAKING: Final = tuple(
    each for each in WRITING if any({"pop", "dequeue"} & phrase for phrase in each.phrases)
)


class KeepingTools:
    """Which tools of one version of a server keep and read values under keys, or files under paths."""

    def __init__(self, document: EmulatedDocument, readings: Mapping[str, ToolReading]) -> None:
        """Read nothing yet.

        Args:
            document: Of the server.
            readings: What its tools are taken for.
        """
        self.document = document
        self._readings = readings
        self.keys = Recognition(document.tools, _KEYS)
        """Commands of key-value stores."""
        self.files = Recognition(document.tools, _FILES)
        """Commands of file servers."""

    @cached_property
    def has_keys(self) -> bool:
        """Some tool stores under a key what another one reads."""
        return self._is_store(self.keys, WRITING, (*READING, *_TAKING))

    @cached_property
    def has_files(self) -> bool:
        """Some tool writes files, and another one reads them."""
        return self._is_store(self.files, FILE_WRITING, FILE_READING)

    @cached_property
    def is_redis(self) -> bool:
        """They are the commands of Redis: what is not there is null."""
        return any(not _OF_REDIS.isdisjoint(words_of(tool.name)) for tool in self.document.tools)

    def _is_store(
        self,
        recognition: Recognition,
        writing: Sequence[Computation],
        reading: Sequence[Computation],
    ) -> bool:
        named = [
            bound.computation
            for tool in self.document.tools
            for bound in self._first(recognition, tool)
        ]
        return any(each in writing for each in named) and any(each in reading for each in named)

    def _first(self, recognition: Recognition, tool: ToolSpec) -> Sequence[Bound]:
        return recognition.readings(tool, self._readings[tool.name].parameters, {})[:1]


class Keeping:
    """The keys and the files of one session."""

    def __init__(
        self,
        tools: KeepingTools,
        rng: RandomStream,
        on_undo: Callable[[Callable[[], object]], None],
    ) -> None:
        """Begin with nothing stored.

        Args:
            tools: Of the server.
            rng: Decide which files there are before any is written.
            on_undo: Takes what undoes a change.
        """
        self._tools = tools
        self._keys = Keyspace(on_undo, gives_null=tools.is_redis)
        about = tools.document.description or tools.document.title
        self._files = FileTree(about, rng.at("files"), on_undo)

    def told(self, call: Call, now: int) -> Answer | None:
        """What a call is told that stores or reads under a key or a path; None for others.

        Args:
            call: Any.
            now: Seconds since 1970.

        Raises:
            EntityRefusedError: A real store would refuse it.
        """
        answer: Answer | None = None
        if self._tools.has_keys:
            self._keys.now = now
            answer = computed(self._tools.keys, call, _on(self._keys))
        if answer is None and self._tools.has_files:
            self._files.begin(now)
            answer = computed(self._tools.files, call, _on(self._files))
        return answer


def _on(kept: Keyspace | FileTree) -> Callable[[Bound, dict[str, object]], JsonValue]:
    def run(bound: Bound, values: dict[str, object]) -> JsonValue:
        return bound.computation.run(kept, **values)

    return run
