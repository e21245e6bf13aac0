"""What the gateway asks of the pages for people that stand beside its planes; it knows none of them.

Whoever runs a gateway may hand it such an application. The gate leaves its addresses to it, since a browser
sends no key: who may see something there is its own matter.
"""

from typing import NamedTuple, Protocol

from starlette.types import Receive, Scope, Send

__all__ = ["MintedLink", "Pages"]


class MintedLink(NamedTuple):
    """A way into the pages that can be gone once."""

    path: str
    """Below the base URL of the first worker; whoever knows it gets in, so that it stands in no log."""
    seconds: float
    """So long it can be used."""


class Pages(Protocol):
    """An ASGI application of pages, and what the gateway must know of it."""

    def owns(self, scope: Scope) -> bool:
        """Tell whether a request is for it; asked of every request, so that it takes no time."""
        ...

    def mint_link(self, path: str) -> MintedLink:
        """Make a link that lets its first user in.

        Args:
            path: Where it leads, such as ``/environments``.
        """
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request that it owns, which comes with its body in memory; lets nobody in unasked."""
        ...
