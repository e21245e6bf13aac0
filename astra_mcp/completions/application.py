"""The API's paths as an ASGI application: draws the fault, asks the policy, accounts for both."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import anyio
import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from astra_mcp.completions.embeddings import embedding_document, parse_embedding_request
from astra_mcp.completions.planned_faults import OF_MESSAGES, WITHOUT_ANSWER, FaultKind, FaultPlan
from astra_mcp.completions.policy import (
    Answer,
    CompletionRequest,
    Policy,
    Refusal,
    Reply,
    RequestFaultError,
    Verbatim,
    excerpt,
    last_text,
    parse_request,
)
from astra_mcp.completions.request_log import RequestCounts, RequestLog
from astra_mcp.completions.responses import (
    answer_response,
    document_response,
    failure,
    impair,
    refusal_response,
)
from astra_mcp.completions.sending import Silence, wait_until_gone

__all__ = ["Endpoint"]

_UNSUPPORTED = Refusal(400, "response_format of type json_schema is not supported by this model")


class Endpoint:
    """The application; made by :func:`~astra_mcp.completions.server.open_completions`."""

    def __init__(
        self, policy: Policy, faults: FaultPlan, *, models: Sequence[str], takes_schemas: bool
    ) -> None:
        """Begin with no account.

        Args:
            policy: Says what to reply.
            faults: Says which requests fail.
            models: What ``/v1/models`` lists; requests may name others.
            takes_schemas: Else requests for structured output are refused with 400.
        """
        self.ledger = RequestLog()
        self._policy = policy
        self._faults = faults
        self._takes_schemas = takes_schemas
        self._turns: Counter[str] = Counter()
        self._spoiled: dict[str, list[Reply]] = {}
        """Answers that a fault kept from the client, by content; the next request gets them."""
        self._answering: dict[str, Callable[[Request], Awaitable[ASGIApp]]] = {
            "/v1/chat/completions": self._complete,
            "/v1/embeddings": self._embed,
        }
        listed = [
            {"id": model, "object": "model", "created": 0, "owned_by": "astra-mcp"}
            for model in models
        ]
        self._shown: dict[str, Callable[[], object]] = {
            "/v1/models": lambda: {"object": "list", "data": listed},
            "/stats": self.ledger.as_json,
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        method, path = scope["method"], scope["path"]
        if method == "POST" and path in self._answering:
            with self.ledger.under_way():
                response = await self._answering[path](Request(scope, receive))
                await response(scope, receive, send)
        elif method == "GET" and path in self._shown:
            await document_response(self._shown[path]())(scope, receive, send)
        else:
            response = refusal_response(Refusal(404, f"there is no {method} {path} here"))
            await response(scope, receive, send)

    async def _complete(self, http: Request) -> ASGIApp:
        try:
            content_id, body = parse_request(orjson.loads(await http.body()))
        except ValueError as error:
            return self._refuse_malformed(error)
        account = self.ledger.open(content_id, excerpt(last_text(body)))
        request = CompletionRequest(
            id=content_id,
            occurrence=account.requests,
            turn=self._turns[content_id],
            body=body,
            key=_key_of(http),
        )
        account.requests += 1
        if request.schema is not None and not self._takes_schemas:
            account.refusals += 1
            return refusal_response(_UNSUPPORTED)
        fault = self._faults.draw(content_id, request.occurrence)
        if fault is not None and fault in WITHOUT_ANSWER:
            account.faults[fault] += 1
            return failure(fault, self._faults, request.key)
        reply = await self._ask(request, http.receive)
        return self._deliver(request, reply, fault, account)

    async def _ask(self, request: CompletionRequest, receive: Receive) -> Reply | None:
        """Take the answer that the last request with this content missed, or ask the policy for one."""
        if missed := self._spoiled.get(request.id):
            return missed.pop(0)
        self._turns[request.id] += 1
        reply = self._policy(request)
        if not isinstance(reply, Awaitable):
            return reply
        answered: Reply | None = None
        async with anyio.create_task_group() as group:

            async def give_up() -> None:
                await wait_until_gone(receive)
                group.cancel_scope.cancel()

            group.start_soon(give_up)
            answered = await reply
            group.cancel_scope.cancel()
        return answered

    def _deliver(
        self,
        request: CompletionRequest,
        reply: Reply | None,
        fault: FaultKind | None,
        account: RequestCounts,
    ) -> ASGIApp:
        match reply:
            case None:
                account.given_up += 1
                return Silence()
            case Refusal():
                account.refusals += 1
                return refusal_response(reply)
            case Verbatim():
                fault = None if fault in OF_MESSAGES or fault is FaultKind.NO_CHOICES else fault
                response = Response(reply.body, media_type=reply.media_type)
            case Answer():
                response = answer_response(request, reply, fault)
        if fault is not None and fault is not FaultKind.SLOW:
            self._spoiled.setdefault(request.id, []).append(reply)
        self._account_for(account, fault)
        return impair(response, fault, self._faults)

    async def _embed(self, http: Request) -> ASGIApp:
        try:
            request = parse_embedding_request(orjson.loads(await http.body()))
        except ValueError as error:
            return self._refuse_malformed(error)
        account = self.ledger.open(request.id, excerpt(request.texts[0]))
        fault = self._faults.draw(request.id, account.requests, never=OF_MESSAGES)
        account.requests += 1
        if fault is not None and fault in WITHOUT_ANSWER:
            account.faults[fault] += 1
            return failure(fault, self._faults, _key_of(http))
        self._account_for(account, fault)
        document = embedding_document(request)
        if fault is FaultKind.NO_CHOICES:
            document["data"] = []
        return impair(document_response(document), fault, self._faults)

    def _refuse_malformed(self, error: ValueError) -> Response:
        self.ledger.malformed += 1
        known = isinstance(error, RequestFaultError)
        return refusal_response(Refusal(400, str(error) if known else "the body is not JSON"))

    @staticmethod
    def _account_for(account: RequestCounts, fault: FaultKind | None) -> None:
        if fault is not None:
            account.faults[fault] += 1
        if fault is None or fault is FaultKind.SLOW:
            account.answers += 1


def _key_of(http: Request) -> str:
    return http.headers.get("authorization", "").removeprefix("Bearer ")
