"""Thin HTTP clients of the gateway: the control plane for orchestrators, MCP for their agents.

``EpisodeClient`` speaks just enough of MCP 2026-07-28 to list and call tools, by hand, because a rollout
runs hundreds of episodes on one connection pool. Knows the wire and nothing behind it. No error text
holds a key or an episode's address.
"""

import base64
import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any, Self, TypeVar, cast
from urllib.parse import quote, urlencode

import anyio
import httpx2
import orjson
from pydantic import TypeAdapter, ValidationError

from astra_mcp import __version__
from astra_mcp.call_record import EpisodeId
from astra_mcp.errors import EpisodeEndedError, TransportError
from astra_mcp.tracing import client_span
from astra_mcp.types import JsonObject, JsonValue, ToolResult, ToolSpec
from gateway.api.connections import (
    MAX_BODY_BYTES,
    STOPPING,
    Answer,
    Connections,
    follow,
    open_http,
    repeat,
)
from gateway.api.environments import MAX_PAGE
from gateway.api.seams import EnvironmentDetails, EnvironmentInfo, GoldCall, TaskInfo
from gateway.api.wire import (
    CALL_ID_KEY,
    FAULT_KEY,
    SEQ_KEY,
    EpisodeCreated,
    EpisodeRecord,
    EpisodeRequest,
    EpisodeState,
    LoginLink,
    LoginLinkRequest,
    ServerInfo,
    WorkerInfo,
)

__all__ = [
    "STOPPING",
    "UPSTREAM_FAILED",
    "CallRefusedError",
    "EpisodeClient",
    "GatewayClient",
    "RefusedError",
    "open_http",
]

PROTOCOL_VERSION = "2026-07-28"
CONTROL_SECONDS = 60.0
"""Deadline of one control request."""
CALL_SECONDS = 120.0
"""Deadline of one tool call; above the gateway's own default of 60 s, so that its answer arrives first."""
RECONNECT_SECONDS = 10.0
"""A gateway that is restarted may refuse and break connections for so long before that is an error. A call
carries an id, so it is sent again without taking effect twice."""

_HEADER_SAFE = re.compile(r"[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?")
_ENVELOPE: JsonObject = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL_VERSION,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "astra-mcp", "version": __version__},
}
_JSON = {"Content-Type": "application/json"}
Asked = TypeVar("Asked")


UPSTREAM_FAILED = "upstream_failed"
"""Code of a refusal for which a server is to blame, not the gateway."""


class RefusedError(TransportError):
    """The control plane answered with an error."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(status, code, message)
        self.status = status
        """HTTP status."""
        self.code = code
        """Stable word for programs, such as ``unknown_name``."""
        self.message = message

    def __str__(self) -> str:
        return f"the gateway refused ({self.status}): {self.message}"


class CallRefusedError(TransportError):
    """The agent plane answered with a JSON-RPC error, such as for an unknown tool.

    An agent loop shows ``message`` to the model in place of a result.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code, message)
        self.code = code
        """JSON-RPC error code; -32602 for an unknown tool."""
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class GatewayClient:
    """Client of the control plane; an async context manager that owns its connections."""

    def __init__(self, base_url: str, key: str) -> None:
        """Name the gateway.

        Args:
            base_url: Such as ``http://127.0.0.1:8420``.
            key: The control key, the contents of ``$ASTRA_MCP_HOME/control.key``.
        """
        self._base_url = base_url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"}
        self._pool = open_http()
        self._http: Connections | None = None
        self._was_reached = False

    async def __aenter__(self) -> Self:
        self._http = await self._pool.__aenter__()
        return self

    async def __aexit__(self, *exc_info: Any) -> None:
        self._http = None
        await self._pool.__aexit__(*exc_info)

    @property
    def http(self) -> Connections:
        """The connection pool, for the :class:`EpisodeClient` of each episode. Holds no key."""
        if self._http is None:
            raise TransportError("GatewayClient is used outside of `async with`")
        return self._http

    async def create_episode(self, request: EpisodeRequest) -> EpisodeCreated:
        """Open an episode.

        Raises:
            RefusedError: The request names what does not exist or is not available.
            TransportError: The gateway cannot be reached or understood.
        """
        return await self._ask(EpisodeCreated, "POST", "/v1/episodes", _body(request))

    async def create_episodes(
        self, requests: Sequence[EpisodeRequest], *, first: int = 0
    ) -> list[EpisodeCreated]:
        """Open several episodes at once: all or none; answers in the order of the requests.

        Args:
            requests: At most 1,024.
            first: Number of the first one in the words of a refusal.
        """
        path = f"/v1/episodes:batch?first={first}" if first else "/v1/episodes:batch"
        return await self._ask(list[EpisodeCreated], "POST", path, [_body(r) for r in requests])

    async def open_episodes(self) -> list[EpisodeState]:
        """List the episodes that take calls, of all workers."""
        return await self._ask(list[EpisodeState], "GET", "/v1/episodes")

    async def workers(self) -> list[WorkerInfo]:
        """List the processes that share the episodes, the first one first."""
        return await self._ask(list[WorkerInfo], "GET", "/v1/workers")

    async def episode(self, episode: EpisodeId) -> EpisodeState:
        """Read where an episode stands, its reward included."""
        return await self._ask(EpisodeState, "GET", _path("episodes", episode))

    async def record(self, episode: EpisodeId) -> EpisodeRecord:
        """Read an episode's calls with their results, origins and what they solved."""
        return await self._ask(EpisodeRecord, "GET", _path("episodes", episode, "record"))

    async def close_episode(self, episode: EpisodeId) -> EpisodeState:
        """Close an episode and read its final state; closing twice is allowed."""
        return await self._ask(EpisodeState, "DELETE", _path("episodes", episode))

    async def close_episodes(self, episodes: Sequence[EpisodeId]) -> list[EpisodeState]:
        """Close several episodes, at most 1,024, and read their final states; closing twice is allowed.

        Raises:
            RefusedError: One of them cannot be closed; all others are.
        """
        body: JsonValue = [*episodes]
        path = "/v1/episodes:close"
        return await self._ask(list[EpisodeState], "POST", path, body, may_repeat=True)

    async def environments(self) -> list[EnvironmentInfo]:
        """List all environments, by name, a page after the other."""
        found: list[EnvironmentInfo] = []
        while True:
            after = urlencode({"limit": MAX_PAGE, "cursor": found[-1].name if found else ""})
            page = await self._ask(list[EnvironmentInfo], "GET", f"/v1/environments?{after}")
            found += page
            if len(page) < MAX_PAGE:
                return found

    async def environment(self, name: str) -> EnvironmentDetails:
        """Describe one environment with its further questions."""
        return await self._ask(EnvironmentDetails, "GET", _path("environments", name))

    async def gold(self, name: str, question: str | None = None) -> list[GoldCall]:
        """Read the gold calls of an environment's question, in order; empty for unverified ones."""
        path = _path("environments", name, "gold")
        asked = "" if question is None else f"?{urlencode({'question': question})}"
        return await self._ask(list[GoldCall], "GET", f"{path}{asked}")

    async def servers(self) -> list[ServerInfo]:
        """List all servers, by name."""
        return await self._ask(list[ServerInfo], "GET", "/v1/servers")

    async def tasks(self, run: str | None = None) -> list[TaskInfo]:
        """List synthesized tasks, by their ids, a page after the other; of one run where it is named."""
        found: list[TaskInfo] = []
        asked = {} if run is None else {"run": run}
        while True:
            cursor = found[-1].id if found else ""
            query = urlencode({"limit": MAX_PAGE, "cursor": cursor, **asked})
            page = await self._ask(list[TaskInfo], "GET", f"/v1/tasks?{query}")
            found += page
            if len(page) < MAX_PAGE:
                return found

    async def login_link(self, page: str = "/") -> LoginLink:
        """Ask for a link that lets a browser into the gateway's pages, once.

        Args:
            page: The address that it leads to, such as ``/episodes``.

        Raises:
            RefusedError: The gateway has no pages.
        """
        body: JsonValue = LoginLinkRequest(page=page).model_dump()
        return await self._ask(LoginLink, "POST", "/v1/login-links", body)

    async def health(self) -> JsonObject:
        """Ask whether the gateway takes episodes; the answer says what is missing where it does not.

        Raises:
            TransportError: Nothing answers at the address.
        """
        return cast("JsonObject", _decode(await self._request("GET", "/readyz")))

    async def metrics(self, servers: Collection[str] = ()) -> bytes:
        """Read the metrics in Prometheus' text format, of all workers.

        Args:
            servers: What is counted by server is told of these alone; empty for all.
        """
        query = urlencode([("server", name) for name in servers])
        response = await self._request("GET", f"/metrics{'?' if query else ''}{query}")
        if response.is_success:
            return response.body
        raise _refusal(response.status, _decode(response))

    async def _ask(
        self,
        kind: type[Asked],
        method: str,
        path: str,
        body: JsonValue = None,
        *,
        may_repeat: bool | None = None,
    ) -> Asked:
        response = await self._request(method, path, body, may_repeat=may_repeat)
        data = _decode(response)
        if not response.is_success:
            raise _refusal(response.status, data)
        try:
            return _reader(kind).validate_python(data)
        except ValidationError as error:
            raise _not_understood(error) from None

    async def _request(
        self, method: str, path: str, body: JsonValue = None, *, may_repeat: bool | None = None
    ) -> Answer:
        """Ask; by default only what is no POST may have been done before it is sent again."""
        content = None if body is None else orjson.dumps(body)
        headers = self._headers if content is None else self._headers | _JSON
        is_safe = method != "POST" if may_repeat is None else may_repeat

        async def send() -> Answer:
            return await follow(
                lambda url: self.http.send(method, url, headers, content), self._base_url + path
            )

        # A gateway that answered before is being restarted; one that never did is not there.
        refused = (httpx2.ConnectError, httpx2.ConnectTimeout) if self._was_reached else ()
        broken = (httpx2.ReadError, httpx2.RemoteProtocolError) if is_safe else ()
        try:
            with anyio.fail_after(CONTROL_SECONDS):
                answer = await repeat(
                    send, (*refused, *broken), RECONNECT_SECONDS, may_repeat=is_safe
                )
                self._was_reached = True
                return answer
        except (httpx2.TransportError, TimeoutError) as error:
            raise TransportError(
                f"no answer from the gateway at {self._base_url} ({_describe(error)}); "
                "is `astra-mcp serve` running there?"
            ) from None


class EpisodeClient:
    """MCP client of one episode (or of an interactive endpoint); owns no connection."""

    def __init__(
        self,
        mcp_url: str,
        http: Connections,
        *,
        key: str | None = None,
        timeout_seconds: float = CALL_SECONDS,
        reconnect_seconds: float = RECONNECT_SECONDS,
    ) -> None:
        """Name the endpoint.

        Args:
            mcp_url: As the control plane answered it; a secret of the episode.
            http: From :func:`open_http` or :attr:`GatewayClient.http`.
            key: An API key, where the interactive endpoints need one.
            timeout_seconds: Deadline of one request, waiting for a connection included.
            reconnect_seconds: For so long a request is sent again where connections are refused or
                break, as they do while a gateway is restarted.
        """
        self._url = mcp_url
        self._http = http
        self._authorization = {"Authorization": f"Bearer {key}"} if key else {}
        self._timeout_seconds = timeout_seconds
        self._reconnect_seconds = reconnect_seconds
        self._ids = count(1)

    async def list_tools(self) -> tuple[ToolSpec, ...]:
        """List the tools in the order in which the gateway shows them.

        Raises:
            EpisodeEndedError: The episode takes no more calls.
            TransportError: The gateway cannot be reached or understood.
        """
        result = await self._send("tools/list", {}, meta={})
        try:
            return tuple(
                ToolSpec(
                    name=tool["name"],
                    description=tool.get("description", ""),
                    input_schema=tool["inputSchema"],
                    output_schema=tool.get("outputSchema"),
                )
                for tool in result["tools"]
            )
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise _not_understood(error) from None

    async def call(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
    ) -> ToolResult:
        """Call a tool; a broken connection is retried, and the call still takes effect once.

        Args:
            name: As the tool list shows it.
            arguments: Checked by the tool, not here.
            call_id: Names the call, unique in the episode; by default a new one is made up.
            seq: Place of the call in the episode, from 0 without gaps, where the order matters.
            fault: Why the agent's arguments were no JSON object; the call then reaches no tool, is
                recorded with this text, and counts.

        Raises:
            CallRefusedError: The call was not possible (unknown tool, more than the gateway takes); its
                message is for the model.
            EpisodeEndedError: The episode takes no more calls.
            TransportError: The gateway cannot be reached or understood.
        """
        meta: JsonObject = {CALL_ID_KEY: call_id or uuid.uuid4().hex}
        if seq is not None:
            meta[SEQ_KEY] = seq
        if fault is not None:
            meta[FAULT_KEY] = fault
        params: JsonObject = {"name": name, "arguments": dict(arguments)}
        with client_span("tools/call", name, meta):
            result = await self._send("tools/call", params, meta=meta)
        try:
            return ToolResult(
                content=tuple(result["content"]),
                structured=result.get("structuredContent"),
                is_error=result.get("isError", False),
            )
        except (KeyError, TypeError, AttributeError, ValidationError) as error:
            raise _not_understood(error) from None

    async def _send(self, method: str, params: JsonObject, *, meta: JsonObject) -> Any:
        request_id = next(self._ids)
        params = {**params, "_meta": {**_ENVELOPE, **meta}}
        content = orjson.dumps(
            {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        )
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL_VERSION,
            "Mcp-Method": method,
            **self._authorization,
        }
        if "name" in params:
            headers["Mcp-Name"] = _header_value(str(params["name"]))
        return await self._result(await self._post(content, headers), request_id)

    async def _post(self, content: bytes, headers: Mapping[str, str]) -> Answer:
        async def send() -> Answer:
            answer = await follow(
                lambda url: self._http.send("POST", url, headers, content), self._url
            )
            self._url = answer.url
            return answer

        retried = (httpx2.NetworkError, httpx2.RemoteProtocolError, httpx2.ConnectTimeout)
        failure: Exception = TimeoutError()
        try:
            # As `fail_after`, which costs twice as much.
            with anyio.CancelScope(deadline=anyio.current_time() + self._timeout_seconds):
                return await repeat(send, retried, self._reconnect_seconds, may_repeat=True)
        except httpx2.TransportError as error:
            failure = error
        msg = f"no answer from the gateway to an MCP request ({_describe(failure)})"
        raise TransportError(msg) from None

    @staticmethod
    async def _result(answer: Answer, request_id: int) -> Any:
        data = await _message(answer)
        if not isinstance(data, dict):
            raise _not_understood(None)
        reply = cast("dict[str, Any]", data)
        error = reply.get("error")
        if isinstance(error, dict):
            fault = cast("dict[str, Any]", error)
            message = str(fault.get("message", ""))
            if answer.status == 410:
                raise EpisodeEndedError(message)
            code = fault.get("code")
            if answer.status in (200, 400, 413) and isinstance(code, int):
                raise CallRefusedError(code, message)
            raise _refusal(answer.status, data)
        if not answer.is_success or reply.get("id") != request_id or "result" not in reply:
            raise _not_understood(None)
        return reply["result"]


def _body(request: EpisodeRequest) -> JsonObject:
    return request.model_dump(mode="json")


def _path(*parts: str) -> str:
    return "/v1/" + "/".join(quote(part, safe="") for part in parts)


@cache
def _reader(kind: type[Asked]) -> TypeAdapter[Asked]:
    return TypeAdapter(kind)


def _decode(answer: Answer, body: bytes | None = None) -> Any:
    try:
        return orjson.loads(answer.body if body is None else body)
    except orjson.JSONDecodeError:
        msg = f"the gateway answered {answer.status} without JSON; is this its address?"
        raise TransportError(msg) from None


async def _message(answer: Answer) -> Any:
    """Decode an answer, or find it among the events of a stream, where notifications come before it."""
    if not answer.headers.get("content-type", "").startswith("text/event-stream"):
        return _decode(answer)
    stream = httpx2.Response(
        answer.status,
        headers={"content-type": "text/event-stream"},
        content=answer.body,
        request=httpx2.Request("POST", "http://gateway"),  # an error names no episode
    )
    try:
        async for event in httpx2.EventSource(stream, max_event_size=MAX_BODY_BYTES):
            found = _decode(answer, event.data.encode()) if event.data else None
            if isinstance(found, dict) and "id" in found and "method" not in found:
                return cast("object", found)
    except httpx2.TransportError:
        raise _not_understood(None) from None
    raise _not_understood(None)


def _refusal(status: int, data: Any) -> RefusedError:
    error: Any = cast("dict[str, Any]", data).get("error") if isinstance(data, dict) else None
    if not isinstance(error, dict):
        return RefusedError(status, "unknown", "the answer does not say why")
    fault = cast("dict[str, Any]", error)
    return RefusedError(status, str(fault.get("code", "")), str(fault.get("message", "")))


def _not_understood(error: Exception | None) -> TransportError:
    what = f" ({error.error_count()} faults)" if isinstance(error, ValidationError) else ""
    return TransportError(
        f"the gateway's answer is not understood{what}; do client and gateway have one version?"
    )


def _describe(error: Exception | None) -> str:
    if isinstance(error, (TimeoutError, httpx2.TimeoutException)):
        return "deadline passed"
    return type(error).__name__


def _header_value(value: str) -> str:
    """Encode a header value as MCP asks for: anything but plain ASCII travels as base64."""
    if _HEADER_SAFE.fullmatch(value) and not value.startswith("=?base64?"):
        return value
    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="
