"""The one way to an endpoint: turns, deadline, retries, budget, cost, and failures that hold no key.

Retries are the ``openai`` client's own: connections that fail or break, attempts that take too long, 408,
409, 429 and 5xx, after 0.5 s, doubled up to 8 s, less up to a quarter by chance. ``Retry-After``
(seconds or a date) takes the place of that pause up to 120 s; an endpoint that asks for a longer one is
not asked again. Knows requests and answers as JSON documents, not what they say.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import cast
from urllib.parse import quote, urlsplit

import anyio
import httpx2
import openai
import orjson
from pydantic import BaseModel, Field, ValidationError

from astra_mcp.errors import ConfigError, ModelError, ModelFault
from astra_mcp.llm.client import open_client
from astra_mcp.llm.config import EndpointConfig, Prices, Role
from astra_mcp.llm.turns import Turns
from astra_mcp.llm.usage import Budget, Usage, note_usage
from astra_mcp.types import JsonObject

__all__ = ["Endpoint", "check_endpoint", "open_endpoint"]

_FAULTS = {
    401: ModelFault.DENIED,
    403: ModelFault.DENIED,
    408: ModelFault.TIMEOUT,
    429: ModelFault.RATE_LIMITED,
}
"""By status; any other is refused, or from 500 on an error of the server."""
MAX_ERROR_TEXT = 300
"""Characters of what an endpoint or a model said that are kept in a message."""


class Endpoint:
    """A model's endpoint; made by :func:`open_endpoint`."""

    def __init__(
        self, role: Role, config: EndpointConfig, client: openai.AsyncOpenAI, budget: Budget | None
    ) -> None:
        self._name = f"the {role.value} model {config.model!r}"
        self._role = role
        self._config = config
        self._client = client
        self._budget = budget
        self._turns = Turns(config.max_concurrency)

    async def post(self, path: str, body: JsonObject) -> JsonObject:
        """Make one call, and count what it took whether it succeeds, fails or is cancelled.

        Args:
            path: Such as ``/chat/completions``.
            body: The request, without what every request to this endpoint has in common.

        Raises:
            BudgetSpentError: The call was not made.
            ModelError: No JSON object came, after retries.
        """
        async with self._turns.turn():
            if self._budget is not None:
                self._budget.begin()
            begun = perf_counter()
            try:
                document = await self._send(path, {**body, **self._config.extra_body})
            except BaseException:  # a cancelled call was begun too, and the budget has counted it
                note_usage(Usage(calls=1, seconds=perf_counter() - begun))
                raise
            self._account(document, perf_counter() - begun)
            return document

    def error(self, fault: ModelFault, text: str) -> ModelError:
        """Say what failed, by the name of the model and without its key."""
        key = self._config.api_key.get_secret_value() if self._config.api_key is not None else ""
        if key:
            for form in (key, repr(key)[1:-1], json.dumps(key)[1:-1], quote(key, safe="")):
                text = text.replace(form, "***")
        return ModelError(f"{self._name} failed: {text[:MAX_ERROR_TEXT]}", fault)

    async def _send(self, path: str, body: JsonObject) -> JsonObject:
        seconds = self._config.deadline_seconds
        try:
            with anyio.fail_after(seconds):
                content = _encode(body)
                response = await self._client.post(path, cast_to=httpx2.Response, content=content)
            _note_retries(response.request)
        except openai.OpenAIError as error:
            if isinstance(error, openai.APIError):
                _note_retries(error.request)
            raise self.error(*self._describe(error)) from None
        except TimeoutError:
            text = f"no answer in {seconds:g} s, with all attempts"
            raise self.error(ModelFault.TIMEOUT, text) from None
        except UnicodeEncodeError:
            text = "the request holds half a surrogate pair, which cannot be sent"
            raise self.error(ModelFault.REFUSED, text) from None
        return self._parse(response.content)

    def _describe(self, error: openai.OpenAIError) -> tuple[ModelFault, str]:
        match error:
            case openai.APITimeoutError():
                return ModelFault.TIMEOUT, f"no answer in {self._config.timeout_seconds:g} s"
            case openai.APIStatusError(status_code=status):
                text = f"HTTP {status}: {error.message}"
                if status == 401 and self._config.api_key is None:
                    text = (
                        f"HTTP {status}, and there is no key: set {_key_variable(self._role)} for the"
                        f" address of models.{self._role.value}.base_url, OPENAI_API_KEY for another"
                    )
                if 300 <= status < 400:
                    text = f"HTTP {status}: it lives at another address; name that in base_url"
                if status == 404 and not urlsplit(self._config.base_url or "/v1").path.strip("/"):
                    text = f"HTTP {status}: most endpoints live under /v1, and base_url has no path"
                other = ModelFault.SERVER_ERROR if status >= 500 else ModelFault.REFUSED
                return _FAULTS.get(status, other), text
            case openai.APIConnectionError():
                cause = f" ({error.__cause__})" if error.__cause__ is not None else ""
                return ModelFault.UNREACHABLE, f"no connection to {_place(error)}{cause}"
            case _:
                return ModelFault.REFUSED, str(error)

    def _parse(self, content: bytes) -> JsonObject:
        try:
            document = orjson.loads(content)
        except orjson.JSONDecodeError:
            try:  # some endpoints send lone surrogates, which only this parser takes
                document = json.loads(content)
            except (ValueError, RecursionError):
                text = f"its answer is not JSON: {content.decode('utf-8', 'replace')}"
                raise self.error(ModelFault.MALFORMED, text) from None
        if not isinstance(document, dict):
            raise self.error(ModelFault.MALFORMED, "its answer is no JSON object")
        return cast("JsonObject", document)

    def _account(self, document: JsonObject, seconds: float) -> None:
        tokens, prices = _read_tokens(document), self._config.prices
        cost = tokens.cost(prices) if prices and tokens else None
        # An answer without anything in it says nothing of tokens either; one of use has to.
        is_of_use = bool(document.get("choices") or document.get("data"))
        if self._budget is not None and (tokens is not None or is_of_use):
            self._budget.charge(cost, tokens.total if tokens else None)
        note_usage(
            Usage(
                calls=1,
                seconds=seconds,
                cost=cost or 0.0,
                prompt_tokens=tokens.prompt_tokens if tokens else 0,
                completion_tokens=tokens.completion_tokens or 0 if tokens else 0,
                cached_tokens=tokens.cached or 0 if tokens else 0,
                untold=tokens is None or tokens.completion_tokens is None,
                untold_cached=tokens is None or tokens.cached is None,
                unpriced=cost is None,
            )
        )


def _encode(body: JsonObject) -> bytes:
    """Write a request down: faster than the client does, which matters at a conversation's every turn.

    Raises:
        UnicodeEncodeError: It holds half a surrogate pair.
    """
    try:
        return orjson.dumps(body)
    except (
        orjson.JSONEncodeError
    ):  # integers beyond 64 bits, which the endpoint may take, or that half
        return json.dumps(body, ensure_ascii=False).encode()


def _note_retries(last: httpx2.Request) -> None:
    """Count the attempts before the last one, which carries their number."""
    retries = int(last.headers.get("x-stainless-retry-count", "0"))
    if retries:
        note_usage(Usage(retries=retries))


def _place(error: openai.APIConnectionError) -> str:
    """The host, with its port where the address says one."""
    url = error.request.url
    return url.host if url.port is None else f"{url.host}:{url.port}"


class _Tokens(BaseModel):
    prompt_tokens: int = Field(ge=0)
    completion_tokens: int | None = Field(default=None, ge=0)
    prompt_tokens_details: object = None
    """What they are made of, in whatever form; the counts above hold without it."""

    @property
    def cached(self) -> int | None:
        """Of the prompt, what the endpoint had cached; None where it does not say."""
        match self.prompt_tokens_details:
            case {"cached_tokens": int(count)} if 0 <= count <= self.prompt_tokens:
                return count
            case _:
                return None

    @property
    def total(self) -> int:
        """Of prompt and answer."""
        return self.prompt_tokens + (self.completion_tokens or 0)

    def cost(self, prices: Prices) -> float | None:
        """Add up what they cost; None where those that have a price were not counted."""
        if self.completion_tokens is None and prices.completion:
            return None
        return prices.cost(self.prompt_tokens, self.completion_tokens or 0)


@asynccontextmanager
async def open_endpoint(
    role: Role, config: EndpointConfig, budget: Budget | None = None
) -> AsyncGenerator[Endpoint]:
    """Open the way to a model; its connections close with the context.

    Raises:
        ConfigError: No model or no key is configured, the address is none, or the cost of a limited
            budget cannot be known.
    """
    check_endpoint(role, config, budget)
    async with open_client(config) as client:
        yield Endpoint(role, config, client, budget)


def check_endpoint(role: Role, config: EndpointConfig, budget: Budget | None) -> None:
    """Refuse what :func:`open_endpoint` could not open, without asking anybody.

    Raises:
        ConfigError: As there.
    """
    setting = f"models.{role.value}"
    if not config.model:
        msg = f"no {role.value} model is configured: set {setting}.model (docs/models.md)"
        raise ConfigError(msg)
    if config.api_key is None and config.base_url is None:
        raise ConfigError(
            f"no key for the {role.value} model {config.model!r}: set {_key_variable(role)} or"
            f" OPENAI_API_KEY, or {setting}.base_url where the endpoint needs none"
        )
    if budget is not None and budget.max_cost is not None and config.prices is None:
        raise ConfigError(
            f"a budget of {budget.max_cost:g} cannot be kept without the prices of the {role.value}"
            f" model: set {setting}.prompt_price and, where it is no model of embeddings,"
            f" {setting}.completion_price (0 where it is free)"
        )


def _key_variable(role: Role) -> str:
    return f"ASTRA_MCP_MODELS__{role.value.upper()}__API_KEY"


def _read_tokens(document: JsonObject) -> _Tokens | None:
    try:
        return _Tokens.model_validate(document.get("usage"))
    except ValidationError:
        return None
