"""All deployed servers of a gateway: those of a file, which is followed, and those mounted by a program.

Owns their processes and connections. Knows the file and the servers; knows nothing of the gateway.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

import anyio
from anyio.abc import TaskGroup
from mcp.server.lowlevel import Server

from astra_mcp.concurrency import map_concurrently, run_in_background
from astra_mcp.errors import ConfigError
from astra_mcp.mcp.listeners import Listeners
from servers.deployed.card import CardFile
from servers.deployed.config import Entry, Isolation, read_entries
from servers.deployed.connecting import HttpRoute, MountedRoute, ProcessRoute, Route, Slots
from servers.deployed.server import DeployedServer, DeployedStatus, Traits
from servers.deployed.transports.http_client import HttpLink
from servers.deployed.transports.in_process import ServerFactory
from servers.deployed.transports.process import Watchdog
from servers.deployed.transports.stdio import Command

__all__ = ["DeployedServers", "open_deployed"]

POLL_SECONDS: Final = 1.0
CLOSE_SECONDS: Final = 15.0
"""For the ends of all servers; each of them has deadlines of its own."""
MOUNT_SECONDS: Final = 30.0
CHECKS_AT_ONCE: Final = 8

_log = logging.getLogger(__name__)


class DeployedServers:
    """The servers by name. Made by :func:`open_deployed`."""

    def __init__(
        self, home: Path, taken: Collection[str], tasks: TaskGroup, watchdog: Watchdog
    ) -> None:
        self._cards = home / "cards"
        self._taken = taken
        self._tasks = tasks
        self._watchdog = watchdog
        self._servers: dict[str, DeployedServer] = {}
        self._retiring: set[DeployedServer] = set()
        self._mounted: set[str] = set()
        self._listeners = Listeners[[str]]()

    def upstreams(self) -> tuple[DeployedServer, ...]:
        """All servers, by name."""
        return tuple(self._servers[name] for name in sorted(self._servers))

    def find(self, name: str) -> DeployedServer | None:
        """One server; None where there is none of this name."""
        return self._servers.get(name)

    def statuses(self) -> tuple[DeployedStatus, ...]:
        """How each server is, by name: ``unused``, ``starting``, ``ready``, or ``broken`` with the reason.

        Starts and asks nothing; a server is ``unused`` until somebody has opened it, so that whoever wants
        to know calls :meth:`check` before.
        """
        return tuple(server.described for server in self.upstreams())

    async def check(self) -> tuple[DeployedStatus, ...]:
        """Open every server, a few at once, ask it for its tools, and say how each is.

        Never raises for a server. Takes as long as the slowest ones do, each at most the
        ``timeout_seconds`` of its entry and the time to list its tools; :meth:`statuses` answers meanwhile.
        """
        await map_concurrently(DeployedServer.check, self.upstreams(), limit=CHECKS_AT_ONCE)
        return self.statuses()

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Be told the name of every server that is added, removed, or lists other tools than before.

        Args:
            hear: Must not raise and must not block.

        Returns:
            Ends it.
        """
        return self._listeners.add(hear)

    def mount(
        self, name: str, server: Server[Any] | ServerFactory, *, isolation: Isolation = "episode"
    ) -> DeployedServer:
        """Add a low-level server of the MCP SDK that runs in this process.

        Args:
            name: Unique among all servers.
            server: The object, or what makes one for each session. Each session is a run of its own,
                lifespan included; the object itself is shared where it is always the same.
            isolation: As in the file.

        Raises:
            ConfigError: The name is taken.
        """
        if name in self._servers or name in self._taken:
            raise ConfigError(
                f"a server named {name!r} exists already: mount it under another name"
            )
        always = cast("Server[Any]", server)
        factory = (lambda: always) if isinstance(server, Server) else server
        mounted = DeployedServer(
            name,
            MountedRoute(name=name, tasks=self._tasks, factory=factory),
            self._tasks,
            traits=Traits(
                config_hash=f"mounted {name}",
                is_shared=isolation == "shared",
                is_own_process=True,
                seconds=MOUNT_SECONDS,
            ),
            card_file=None,
            on_change=self._listeners.tell,
        )
        self._servers[name] = mounted
        self._mounted.add(name)
        self._listeners.tell(name)
        return mounted

    def publish(self, entries: Iterable[Entry], *, source: Path) -> None:
        """Have exactly the servers of these entries, besides the mounted ones.

        Unchanged ones keep their processes and sessions; removed and changed ones close after their running
        calls.

        Args:
            entries: Of the file.
            source: The file, for messages.

        Raises:
            ConfigError: A name is taken; nothing changes then.
        """
        wanted = {entry.name: entry for entry in entries}
        for name in wanted:
            if name in self._taken or name in self._mounted:
                msg = f"{source}: server {name!r}: an environment has this name already: rename the server"
                raise ConfigError(msg)
        for name in set(self._servers) - self._mounted:
            server = self._servers[name]
            entry = wanted.get(name)
            if entry is not None and entry.config_hash == server.config_hash:
                del wanted[name]
                continue
            what = "was removed from" if entry is None else "was changed in"
            self._retiring.add(server)
            run_in_background(self._tasks, self._retire, server, f"its entry {what} {source.name}")
            if entry is None:
                del self._servers[name]
                self._listeners.tell(name)
        for name, entry in wanted.items():
            self._servers[name] = self._make(entry)
            self._listeners.tell(name)

    async def aclose(self) -> None:
        """Close all of them at once."""
        with anyio.move_on_after(CLOSE_SECONDS, shield=True) as scope:
            async with anyio.create_task_group() as closing:
                for server in (*self._servers.values(), *self._retiring):
                    closing.start_soon(server.aclose)
        if scope.cancelled_caught:
            _log.error("some deployed servers did not end within %.0f s", CLOSE_SECONDS)

    async def _retire(self, server: DeployedServer, reason: str) -> None:
        try:
            await server.retire(reason)
        finally:
            self._retiring.discard(server)

    def _make(self, entry: Entry) -> DeployedServer:
        server = entry.server
        return DeployedServer(
            entry.name,
            self._route(entry),
            self._tasks,
            traits=Traits(
                config_hash=entry.config_hash,
                is_shared=server.isolation == "shared",
                is_own_process=server.command is not None,
                seconds=server.timeout_seconds,
                episode_end_url=server.episode_end_url,
            ),
            card_file=CardFile(self._cards, entry.config_hash),
            on_change=self._listeners.tell,
        )

    def _route(self, entry: Entry) -> Route:
        server = entry.server
        if server.url is not None:
            return HttpRoute(
                name=entry.name,
                tasks=self._tasks,
                link=HttpLink(server.url),
                headers=server.headers,
                is_old=server.type == "sse",
                may_fall_back=server.type is None,
                redact=entry.redact,
            )
        command = Command(
            argv=(server.command or "", *server.args),
            env=server.env,
            cwd=Path(server.cwd) if server.cwd is not None else None,
        )
        return ProcessRoute(
            name=entry.name,
            tasks=self._tasks,
            command=command,
            slots=Slots(server.max_processes, server.queue_seconds, name=entry.name),
            watchdog=self._watchdog,
            redact=entry.redact,
        )


@asynccontextmanager
async def open_deployed(
    file: Path | None, *, home: Path, taken: Collection[str] = ()
) -> AsyncGenerator[DeployedServers]:
    """Own the deployed servers of a gateway, and follow their file; starts none of them.

    Args:
        file: With ``mcpServers``; None for none.
        home: ``$ASTRA_MCP_HOME``; cards go to its ``cards`` folder.
        taken: Names that servers must not have; there may be others later.

    Raises:
        ConfigError: The file is wrong; names server, field and remedy.
    """
    failure: Exception | None = None
    with Watchdog() as watchdog:
        async with anyio.create_task_group() as tasks:
            servers = DeployedServers(home, taken, tasks, watchdog)
            try:
                if file is not None:
                    seen = _stamp(file)  # before it is read, so that no change is missed
                    servers.publish(read_entries(file).values(), source=file)
                    run_in_background(tasks, _follow, file, seen, servers)
                yield servers
            except Exception as error:  # noqa: BLE001 - raised below, outside of the group
                failure = error
            finally:
                await servers.aclose()
                tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _follow(file: Path, seen: tuple[int, bytes] | None, servers: DeployedServers) -> None:
    """Read the file again whenever it changes; one that is wrong leaves everything as it is."""
    while True:
        await anyio.sleep(POLL_SECONDS)
        stamp = await anyio.to_thread.run_sync(_stamp, file, seen)
        if stamp == seen:
            continue
        seen = stamp
        try:
            servers.publish(read_entries(file).values(), source=file)
        except ConfigError as error:
            _log.error("the servers stay as they were: %s", error)
        else:
            _log.info("%s was read again: %d servers", file, len(servers.upstreams()))


def _stamp(file: Path, before: tuple[int, bytes] | None = None) -> tuple[int, bytes] | None:
    """Time and content of the file; the content is read again only where the time has changed."""
    try:
        changed = file.stat().st_mtime_ns
        if before is not None and before[0] == changed:
            return before
        return changed, file.read_bytes()
    except OSError:
        return None
