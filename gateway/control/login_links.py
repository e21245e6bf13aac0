"""``POST /v1/login-links``: who has the control key gets a link that lets a browser into the pages.

The one place in which the control plane and the pages meet; knows what a link is and no page.
"""

import time
from datetime import UTC, datetime

from fastapi import APIRouter, Request

from astra_mcp.errors import NotAvailableError
from gateway.api.settings import FIRST
from gateway.api.wire import LoginLink, LoginLinkRequest
from gateway.edge.pages import Pages
from gateway.edge.workers import OwnWorkerInfo

__all__ = ["login_links"]


def login_links(pages: Pages | None, worker_info: OwnWorkerInfo) -> APIRouter:
    """Lay out the path; the first worker answers there, since it alone knows its links again."""

    async def make(body: LoginLinkRequest, request: Request) -> LoginLink:
        """Make a link that lets a browser into the pages; it works once, and for some minutes."""
        if pages is None:
            raise NotAvailableError("this gateway has no pages: set serve.pages to true")
        minted = pages.mint_link(body.page)
        return LoginLink(
            url=worker_info.base_url(request.scope, FIRST) + minted.path,
            expires_at=datetime.fromtimestamp(time.time() + minted.seconds, UTC),
        )

    router = APIRouter(prefix="/v1")
    router.add_api_route("/login-links", make, methods=["POST"], status_code=201)
    return router
