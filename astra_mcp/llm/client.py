"""The HTTP side of an endpoint: one client, kept connections, and attempts that end in time.

The only module that sets the ``openai`` client up. Knows addresses and connections, not what is sent.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import openai

from astra_mcp.errors import ConfigError
from astra_mcp.http.keep_alive import transport_to
from astra_mcp.llm.config import EndpointConfig

__all__ = ["open_client"]

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 10.0
"""An address that takes longer than this to connect to is taken for unreachable."""
_NO_KEY = "none"
"""What endpoints that need no key are sent, since the client sends one always."""


@asynccontextmanager
async def open_client(config: EndpointConfig) -> AsyncGenerator[openai.AsyncOpenAI]:
    """Open a client of an endpoint; its connections close with the context.

    Raises:
        ConfigError: The address is none.
    """
    address = config.base_url or OPENAI_URL
    try:
        url = httpx2.URL(address)
    except httpx2.InvalidURL as error:
        msg = f"the base_url of the model {config.model!r} is no URL: {error}"
        raise ConfigError(msg) from None
    key = config.api_key.get_secret_value() if config.api_key is not None else _NO_KEY
    async with openai.AsyncOpenAI(
        api_key=key,
        base_url=address,
        max_retries=config.max_retries,
        http_client=_BoundedClient(config.timeout_seconds, url),
    ) as client:
        yield client


class _BoundedClient(httpx2.AsyncClient):
    """Bounds an attempt as a whole: the library's own deadlines are of single reads and writes."""

    def __init__(self, seconds: float, url: httpx2.URL) -> None:
        trust = httpx2.create_ssl_context() if url.scheme == "https" else None
        super().__init__(
            transport=transport_to(url, trust),
            timeout=httpx2.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
        )
        self._seconds = seconds

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        """Send a request and receive the whole answer."""
        try:
            with anyio.fail_after(self._seconds):
                return await super().send(request, **options)
        except TimeoutError:
            raise httpx2.ReadTimeout("the attempt took too long", request=request) from None
