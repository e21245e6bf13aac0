"""Getting to know servers before their tools are shown; one that fails or is slow keeps nobody waiting.

Knows servers and deadlines; knows neither episodes nor callers.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_

import anyio
from anyio.abc import TaskGroup

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import UpstreamError
from astra_mcp.types import ServerStatus
from gateway.api.seams import Upstream

PATIENCE_SECONDS = 3.0
"""So long a list of all servers waits for those that nobody knows yet."""
RETRY_SECONDS = 30.0
"""A server that failed is left alone for so long, unless it is asked for by its name."""
_log = logging.getLogger("astra_mcp.gateway")


async def prepare_all(upstreams: Sequence[Upstream]) -> None:
    """Prepare servers, several at once.

    Raises:
        UpstreamError: One could not be started or reached; the message names it.
    """
    if len(upstreams) == 1:
        await upstreams[0].prepare()
    elif upstreams:
        await map_concurrently(lambda u: u.prepare(), upstreams, limit=len(upstreams))


def is_held(
    held: Sequence[Upstream], versions: Mapping[str, str], shown: Sequence[Upstream]
) -> bool:
    """Tell whether a state is held by the very servers that its endpoint shows, and lists what they list.

    A server that was removed and put back is another one of the same name and version; the versions are those
    that the state shows, by name.
    """
    return (
        len(held) == len(shown)
        and all(map(is_, held, shown))
        and all(versions.get(u.name) == u.version for u in shown)
    )


@dataclass(slots=True)
class Preparation:
    """Prepares servers in the background, each once at a time."""

    group: TaskGroup
    """Runs what takes longer than anybody waits."""
    _under_way: dict[str, anyio.Event] = field(default_factory=dict[str, anyio.Event], init=False)
    _failed_at: dict[str, float] = field(default_factory=dict[str, float], init=False)

    async def all_known(self, upstreams: Sequence[Upstream]) -> tuple[Upstream, ...]:
        """Leave out the servers that are not known and do not become so within a moment; the order stays."""
        unknown = [u for u in upstreams if not _is_known(u)]
        if not unknown:
            return tuple(upstreams)
        with anyio.move_on_after(PATIENCE_SECONDS):
            for done in [self._begin(u) for u in unknown]:
                await done.wait()
        return tuple(u for u in upstreams if _is_known(u))

    async def before_state(self, upstreams: Sequence[Upstream], *, of_all: bool) -> None:
        """Prepare the servers that an episode or a state holds.

        In the state of the endpoint of all servers, one that fails or is slow shows no tool yet, and is held
        nevertheless, so that it can join later.

        Raises:
            UpstreamError: One could not be started or reached, and it is not that endpoint.
        """
        if of_all:
            await self.all_known(upstreams)
        else:
            await prepare_all(upstreams)

    def _begin(self, upstream: Upstream) -> anyio.Event:
        name = upstream.name
        if name in self._under_way:
            return self._under_way[name]
        done = anyio.Event()
        if anyio.current_time() - self._failed_at.get(name, float("-inf")) < RETRY_SECONDS:
            done.set()
            return done
        self._under_way[name] = done
        self.group.start_soon(self._prepare, upstream, done)
        return done

    async def _prepare(self, upstream: Upstream, done: anyio.Event) -> None:
        try:
            await upstream.prepare()
            self._failed_at.pop(upstream.name, None)
        except UpstreamError as error:
            self._failed_at[upstream.name] = anyio.current_time()
            _log.warning("%s is left out for now: %s", upstream.name, error)
        except Exception:  # noqa: BLE001 - a bug in one server must not end the others
            self._failed_at[upstream.name] = anyio.current_time()
            _log.exception("%s is left out for now", upstream.name)
        finally:
            del self._under_way[upstream.name]
            done.set()


def _is_known(upstream: Upstream) -> bool:
    return bool(upstream.tools) or upstream.status[0] is ServerStatus.READY
