"""The pages as one ASGI application: who is let in, and which page answers an address.

Whatever comes is refused here unless it has a session, and whatever changes something unless it is a form of
that session: no page has to look after that itself.
"""

import logging
import math
from collections.abc import Iterator, Sequence
from functools import partial
from urllib.parse import parse_qsl, quote, urlsplit

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Match, Route
from starlette.types import Receive, Scope, Send

from astra_mcp.errors import (
    AstraError,
    CapacityError,
    EpisodeEndedError,
    NotAvailableError,
    RecordError,
    RegistryError,
    ShortageError,
    UnknownNameError,
    UpstreamError,
    WorkerError,
)
from astra_mcp.serving.pages.access import (
    LINK_SECONDS,
    SESSION_SECONDS,
    LoginLinks,
    Session,
    Sessions,
)
from astra_mcp.serving.pages.assets import serve_asset
from astra_mcp.serving.pages.environments import EnvironmentPages
from astra_mcp.serving.pages.episodes import EpisodePages
from astra_mcp.serving.pages.home import HomePage
from astra_mcp.serving.pages.live_list import LiveList
from astra_mcp.serving.pages.parts import PageParts
from astra_mcp.serving.pages.play import PlayPages
from astra_mcp.serving.pages.registry.pages import RegistryPages
from astra_mcp.serving.pages.rendering import SAFE_HEADERS, Renderer
from astra_mcp.serving.pages.runs.run_pages import RunPages
from astra_mcp.serving.pages.servers.pages import ServerPages
from astra_mcp.serving.pages.trajectories.pages import TrajectoryPages
from astra_mcp.serving.pages.trajectories.short_ids import ShortIds
from gateway.agents.targets import target_at
from gateway.api.settings import FIRST
from gateway.edge.keys import is_known
from gateway.edge.pages import MintedLink

__all__ = ["PagesApp"]

_MAX_FIELDS = 1000
_AT = frozenset(
    {"environments", "episodes", "live", "login", "logout", "registry", "runs", "servers", "static"}
)
"""First parts of addresses; below ``episodes`` and ``servers`` the agents' plane has its own."""
_STATUS: tuple[tuple[type[AstraError], int, str], ...] = (
    (UnknownNameError, 404, "There is nothing of this name"),
    (NotAvailableError, 422, "This is not available"),
    (EpisodeEndedError, 410, "The episode has ended"),
    (CapacityError, 503, "Too much is open"),
    (ShortageError, 503, "The machine lacks something"),
    (WorkerError, 503, "A worker does not answer"),
    (RegistryError, 503, "The registry does not answer"),
    (UpstreamError, 502, "A server failed"),
    (RecordError, 422, "A record cannot be read"),
)
_REFERRER_WITH_FORMS = "same-origin"
"""Where nothing is ever told, browsers send forms with an origin of ``null``, which the gate takes for a
foreign page's. Other origins are told as little by this."""
_log = logging.getLogger("astra_mcp.pages")


class PagesApp:
    """Satisfies the gateway's ``Pages``."""

    def __init__(self, parts: PageParts, links: LoginLinks) -> None:
        """Put the pages together.

        Args:
            parts: What they show.
            links: Let in at the first worker.
        """
        self._parts = parts
        self._links = links
        self._sessions = Sessions(parts.control_key, parts.home / "ended-sessions")
        fixed = parts.worker_info.fixed_url(parts.worker_info.index)
        self._renderer = Renderer(urlsplit(fixed).path if fixed else "")
        self._short_ids = ShortIds(parts.index, self._renderer)
        self._routes = list(self._lay_out())

    @property
    def routes(self) -> Sequence[Route]:
        """All that answer with a session alone."""
        return self._routes

    def _lay_out(self) -> Iterator[Route]:
        for pages in (
            HomePage,
            EnvironmentPages,
            ServerPages,
            EpisodePages,
            PlayPages,
            LiveList,
            TrajectoryPages,
            RegistryPages,
            RunPages,
        ):
            yield from pages(self._parts, self._renderer).routes()
        yield Route("/login", self._to_start, methods=["GET"])
        yield Route("/logout", self._log_out, methods=["POST"])

    def owns(self, scope: Scope) -> bool:
        """Tell whether an address is a page's, and ``/`` a browser's."""
        path: str = scope["path"]
        if path.startswith("/episodes/"):  # nearly all requests are an agent's
            return not path.endswith("/mcp")
        if path.startswith("/servers/"):  # where a server may be named `mcp`
            return target_at(path) is None
        if path == "/":
            return any(
                name == b"accept" and b"text/html" in value for name, value in scope["headers"]
            )
        return path.split("/", 2)[1] in _AT

    def mint_link(self, path: str) -> MintedLink:
        """Make a link that lets its first user in."""
        return MintedLink(f"/login/{self._links.mint(path)}", LINK_SECONDS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            response = await self._answer(request)
        except AstraError as error:
            response = self._told(request, error)
        except Exception:  # noqa: BLE001 - a bug of one page; its trace is logged
            _log.exception("a page broke")
            words = "The gateway failed; its log says more."
            response = self._renderer.fault(request, 500, "This page broke", words)
        if request.scope.get("session"):
            response.headers["Referrer-Policy"] = _REFERRER_WITH_FORMS
        for name, value in SAFE_HEADERS.items():
            response.headers.setdefault(name, value)
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        path = request.url.path
        if path.startswith("/static/") and request.method in ("GET", "HEAD"):
            request.scope["path_params"] = {"name": path.removeprefix("/static/")}
            return await serve_asset(request)
        if path.startswith("/login/"):
            return self._log_in(request, path.removeprefix("/login/"))
        session = self._session_of(request)
        request.scope["session"] = session
        if session is None:
            return self._ask_for_login(request, 401)
        request.scope["session_lasts"] = partial(self._sessions.lasts, session)
        refusal = await self._refuse_form(request, session)
        return refusal or await self._find(request)

    async def _find(self, request: Request) -> Response:
        if led_on := await self._short_ids.lead_on(request):
            return led_on
        allowed = set[str]()
        for route in self._routes:
            try:
                match, found = route.matches(request.scope)
            except ValueError:  # a number of so many digits that it is none
                continue
            if match is Match.FULL:
                request.scope.update(found)
                return await route.endpoint(request)
            if match is Match.PARTIAL:
                allowed |= route.methods or set()
        if allowed:
            return PlainTextResponse(
                "use another method here", 405, {"Allow": ", ".join(sorted(allowed))}
            )
        return self._renderer.fault(request, 404, "There is no such page")

    def _told(self, request: Request, error: AstraError) -> Response:
        for kind, status, title in _STATUS:
            if isinstance(error, kind):
                return self._renderer.fault(request, status, title, str(error))
        _log.error("a page failed", exc_info=error)
        return self._renderer.fault(request, 500, "The gateway failed", str(error))

    # --- who is let in ---------------------------------------------------------------------------

    def _log_in(self, request: Request, token: str) -> Response:
        if (
            request.method != "GET"
        ):  # such as a look at where a link leads, which must not use it up
            return PlainTextResponse("open this address in a browser", 405, {"Allow": "GET"})
        info = self._parts.worker_info
        if info.index != FIRST:  # which alone knows the links
            where = f"{info.base_url(request.scope, FIRST)}/login/{quote(token)}"
            return Response(status_code=303, headers={"Location": where})
        wait = self._links.wait_seconds
        leads_to = self._links.redeem(
            token
        )  # a right one always: others could keep it out otherwise
        if leads_to is None and wait:
            response = self._ask_for_login(request, 429)
            response.headers["Retry-After"] = str(math.ceil(wait))
            return response
        if leads_to is None:
            return self._ask_for_login(request, 401, has_tried=True)
        # No redirect: a browser that followed the link from another site would send no strict cookie on it.
        response = self._renderer.page(request, "entered", leads_to=leads_to)
        response.set_cookie(
            self._cookie_name(request),
            self._sessions.begin(),
            max_age=SESSION_SECONDS,
            path="/",
            secure=self._is_secure(request),
            httponly=True,
            samesite="strict",
        )
        return response

    def _ask_for_login(self, request: Request, status: int, *, has_tried: bool = False) -> Response:
        page = self._renderer.page(
            request, "login", code=status, has_tried=has_tried, has_to_wait=status == 429
        )
        if status == 401:
            page.headers["WWW-Authenticate"] = 'Cookie realm="astra-mcp"'
        return page

    async def _log_out(self, request: Request) -> Response:
        session: Session = request.scope["session"]
        try:
            self._sessions.end(session)
        except OSError as error:
            _log.warning("a session that was ended is known until its time is over: %s", error)
        response = self._renderer.go_to("/login")
        secure = self._is_secure(request)
        name = self._cookie_name(request)
        response.delete_cookie(name, path="/", secure=secure, httponly=True, samesite="strict")
        return response

    async def _to_start(self, request: Request) -> Response:
        del request
        return self._renderer.go_to("/")

    def _session_of(self, request: Request) -> Session | None:
        value = request.cookies.get(self._cookie_name(request))
        return None if value is None else self._sessions.find(value)

    def _cookie_name(self, request: Request) -> str:
        """Name the cookie by the gateway's port: a host has one box of cookies for all of its ports."""
        urls = self._parts.worker_info.inner_urls
        port = urlsplit(urls[FIRST]).port if urls else (request.scope["server"] or ("", 0))[1]
        prefix = "__Host-" if self._is_secure(request) else ""
        return f"{prefix}astra_mcp_{port}"

    def _is_secure(self, request: Request) -> bool:
        return self._parts.worker_info.base_url(request.scope).startswith("https:")

    async def _refuse_form(self, request: Request, session: Session) -> Response | None:
        """Read the form of a request that changes something; an answer where it is not this session's."""
        if request.method != "POST":  # GET changes nothing, and no page takes another method
            return None
        body = await request.body()
        form = await anyio.to_thread.run_sync(_read_form, body)  # megabytes take long to read
        if not is_known(form.pop("form_token", ""), (session.form_token,)):
            return self._renderer.fault(
                request,
                403,
                "This form is not accepted",
                "It is not one of this session. Go back, load the page again, and send it once more.",
            )
        request.scope["form"] = form
        return None


def _read_form(body: bytes) -> dict[str, str]:
    """Read what a browser sends of a form; nothing where it is none, or has too many fields."""
    try:
        return dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_MAX_FIELDS))
    except ValueError:
        return {}
