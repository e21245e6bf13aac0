"""The HTTP side of an endpoint: clients whose pools stay small, and attempts that end in time.

The only module that sets the ``openai`` client up. Knows addresses and connections, not what is sent.
"""

from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from math import ceil
from ssl import SSLContext
from typing import Any

import anyio
import httpx2
import openai

from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import EndpointConfig

__all__ = ["Connections", "open_connections"]

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
"""An address that takes longer than this to connect to is taken for unreachable."""
MAX_POOL = 8
"""Connections of one client: for every request, it looks at each connection that it has."""
_NO_KEY = "none"
"""What endpoints that need no key are sent, since the client sends one always."""


@dataclass(slots=True)
class _Line:
    """A client and the calls that it makes."""

    client: openai.AsyncOpenAI
    num_calls: int = 0


class Connections:
    """All connections to an endpoint; made by :func:`open_connections`."""

    def __init__(self, lines: list[_Line]) -> None:
        self._lines = lines

    @contextmanager
    def borrow(self) -> Generator[openai.AsyncOpenAI]:
        """Make a call by the client that makes the fewest."""
        line = min(self._lines, key=lambda line: line.num_calls)
        line.num_calls += 1
        try:
            yield line.client
        finally:
            line.num_calls -= 1


@asynccontextmanager
async def open_connections(config: EndpointConfig) -> AsyncGenerator[Connections]:
    """Open what as many calls at once need as the endpoint may have; all of it closes with the context.

    Raises:
        ConfigError: The address is none.
    """
    trust = httpx2.create_ssl_context()
    async with AsyncExitStack() as opened:
        lines = [
            _Line(await opened.enter_async_context(_client(config, trust)))
            for _ in range(ceil(config.max_concurrency / MAX_POOL))
        ]
        yield Connections(lines)


def _client(config: EndpointConfig, trust: SSLContext) -> openai.AsyncOpenAI:
    key = config.api_key.get_secret_value() if config.api_key is not None else _NO_KEY
    try:
        return openai.AsyncOpenAI(
            api_key=key,
            base_url=config.base_url or OPENAI_URL,
            max_retries=config.max_retries,
            http_client=_BoundedClient(config.timeout_seconds, trust),
        )
    except httpx2.InvalidURL as error:
        msg = f"the base_url of the model {config.model!r} is no URL: {error}"
        raise ConfigError(msg) from None


class _BoundedClient(httpx2.AsyncClient):
    """Bounds an attempt as a whole: the library's own deadlines are of single reads and writes."""

    def __init__(self, seconds: float, trust: SSLContext) -> None:
        super().__init__(
            verify=trust,
            timeout=httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            # All that may be in use are kept: others would be opened anew for call after call.
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=MAX_POOL),
        )
        self._seconds = seconds

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and receive the whole answer."""
        try:
            with anyio.fail_after(self._seconds):
                return await super().send(request, **options)
        except TimeoutError:
            raise httpx2.ReadTimeout("the attempt took too long", request=request) from None
