"""Responses that do not come as they should: in pieces, cut off, without end, or never."""

import math
from dataclasses import dataclass

import anyio
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

__all__ = ["HANG_UP", "CutOff", "InPieces", "Silence", "Trickle", "wait_until_gone"]

HANG_UP = "astra_mcp.completions.hang_up"
"""An extension of the ASGI scope: closes the connection once everything that was sent is out."""
_NUM_PIECES = 8


@dataclass(frozen=True, slots=True)
class CutOff:
    """Closes the connection after half of the body."""

    response: Response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        await _send_head(self.response, send)
        body = bytes(self.response.body)
        await _send_piece(body[: len(body) // 2], send)
        scope["extensions"][HANG_UP]()
        await wait_until_gone(receive)


@dataclass(frozen=True, slots=True)
class InPieces:
    """Sends everything, with a pause after each piece."""

    response: Response
    pause_seconds: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, as long as anyone listens."""
        await _send_head(self.response, send)
        body = bytes(self.response.body)
        size = max(1, -(-len(body) // _NUM_PIECES))
        for at in range(0, len(body), size):
            await _send_piece(body[at : at + size], send)
            if await wait_until_gone(receive, self.pause_seconds):
                return
        await _send_piece(b"", send, is_last=True)


@dataclass(frozen=True, slots=True)
class Trickle:
    """Sends a good head, and then blanks until the client leaves."""

    media_type: str
    pause_seconds: float

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = [(b"content-type", self.media_type.encode())]  # and no length
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        while not await wait_until_gone(receive, self.pause_seconds):
            await _send_piece(b"\n", send)


@dataclass(frozen=True, slots=True)
class Silence:
    """Sends nothing."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Wait until the client leaves."""
        await wait_until_gone(receive)


async def wait_until_gone(receive: Receive, seconds: float = math.inf) -> bool:
    """Wait for the client to leave; True where it did in that time."""
    with anyio.move_on_after(seconds):
        while (await receive())["type"] != "http.disconnect":
            pass
        return True
    return False


async def _send_head(response: Response, send: Send) -> None:
    head = {"status": response.status_code, "headers": response.raw_headers}
    await send({"type": "http.response.start", **head})


async def _send_piece(piece: bytes, send: Send, *, is_last: bool = False) -> None:
    await send({"type": "http.response.body", "body": piece, "more_body": not is_last})
