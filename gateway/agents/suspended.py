"""Calls that wait for their client's input, in the era in which a server cannot ask its client.

A client of 2026-07-28 that calls a server of the handshake era: when the server asks, the call is held here
and the client is answered what it must provide (``InputRequiredResult``); its retry, which carries the
answers and the call's ``requestState``, resumes the call. So the call runs once, however often it asks.
Knows requests as JSON; knows neither the SDK's streams nor episodes.
"""

import hmac
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeVar, cast

import anyio
import mcp_types
from anyio.abc import TaskGroup

from astra_mcp.errors import RelayedError
from astra_mcp.mcp.request_context import Channel
from astra_mcp.types import JsonObject, JsonValue, canonical_json
from gateway.agents.client_channel import refuse_unable
from gateway.agents.targets import Place

MAX_SUSPENDED = 1000
SUSPEND_SECONDS = 300.0
"""So long a call waits for its client to come back."""
_PREFIX = "astra-mcp."
_STATE_ENDED = "the state of this call has ended"

Result = TypeVar("Result")


class InputRequiredError(Exception):
    """The call goes on once its client has provided what it needs; not a failure."""

    def __init__(self, result: JsonObject) -> None:
        super().__init__("the client must provide input")
        self.result = result
        """The ``InputRequiredResult`` to answer."""


@dataclass(slots=True)
class _Question:
    method: str
    params: JsonObject
    answered: anyio.Event = field(default_factory=anyio.Event)
    answer: JsonObject | None = None
    refusal: RelayedError | None = None


@dataclass(slots=True, eq=False)
class _Held:
    """One call under way: its questions, and the request that waits for it just now."""

    owner: Place
    binding: bytes
    front: Channel | None
    capabilities: Mapping[str, JsonValue]
    questions: dict[str, _Question] = field(default_factory=dict[str, _Question])
    count: int = 0
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    changed: anyio.Event = field(default_factory=anyio.Event)
    is_over: bool = False
    result: object = None
    error: Exception | None = None
    name: str | None = None
    """Under which it can be resumed; None while a request waits for it."""
    taken: anyio.Event = field(default_factory=anyio.Event)
    """Set once it was resumed under its present name."""
    refusal: str | None = None
    """Why nobody is there to be asked any more."""


@dataclass(frozen=True, slots=True)
class _HeldChannel:
    """The way back of a held call; satisfies :class:`astra_mcp.mcp.request_context.Channel`."""

    _held: _Held
    _calls: "SuspendedCalls"

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """What the client can do."""
        return self._held.capabilities

    async def notify(self, method: str, params: JsonObject) -> None:
        """Tell the client, where a request of it waits for the call."""
        if self._held.front is not None:
            await self._held.front.notify(method, params)

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Ask the client, by way of its answers."""
        return await self._calls.ask(self._held, method, params)


class SuspendedCalls:
    """The calls of one gateway that may ask their clients; made by :meth:`open`."""

    def __init__(self, group: TaskGroup, *, limit: int, seconds: float) -> None:
        self._group = group
        self._limit = limit
        self._seconds = seconds
        self._secret = secrets.token_bytes(32)
        self._held: set[_Held] = set()
        self._resumable: dict[str, _Held] = {}

    @classmethod
    @asynccontextmanager
    async def open(
        cls, *, limit: int = MAX_SUSPENDED, seconds: float = SUSPEND_SECONDS
    ) -> AsyncGenerator["SuspendedCalls"]:
        """Hold calls while the context is open; those left end with it.

        Args:
            limit: How many calls may wait for input at once.
            seconds: A call that waits longer for its client is told that nobody answers.
        """
        async with anyio.create_task_group() as group:
            try:
                yield cls(group, limit=limit, seconds=seconds)
            finally:
                group.cancel_scope.cancel()

    def __len__(self) -> int:
        """How many calls wait for their clients' input."""
        return len(self._resumable)

    def owns(self, state: object) -> bool:
        """True where a ``requestState`` names a call that is held here, or was."""
        return isinstance(state, str) and state.startswith(_PREFIX)

    async def begin(
        self,
        work: Callable[[Channel], Awaitable[Result]],
        *,
        owner: Place,
        binding: object,
        front: Channel,
    ) -> Result:
        """Run a call that may ask its client.

        Args:
            work: The call; gets the channel to ask by.
            owner: Whose state it runs in; see :meth:`end`.
            binding: What a retry must repeat (endpoint, caller, method, arguments), as JSON.
            front: The way back of the request that begins it.

        Raises:
            InputRequiredError: The client must provide input; the call waits for it.
        """
        held = _Held(owner, canonical_json(binding), front, front.capabilities)

        async def run() -> None:
            try:
                with held.scope:
                    held.result = await work(_HeldChannel(held, self))
            except Exception as error:  # noqa: BLE001 - raised again where the answer is awaited
                held.error = error
            finally:
                held.is_over = True
                self._held.discard(held)
                held.changed.set()
            if held.name in self._resumable:  # the server did without what it asked for
                with anyio.move_on_after(self._seconds):
                    await held.taken.wait()
                self._resumable.pop(held.name or "", None)

        self._held.add(held)
        self._group.start_soon(run)
        return cast("Result", await self._next(held))

    async def resume(
        self, state: str, answers: Mapping[str, Any], *, binding: object, front: Channel
    ) -> Any:
        """Go on with a call that waits for its client.

        Args:
            state: As it was answered to the client.
            answers: Results by the names of what was asked; what is missing is asked again.
            binding: As the call was begun with.
            front: The way back of the request that resumes it.

        Raises:
            RelayedError: No such call waits, or it is another one that the state belongs to.
            InputRequiredError: The client must provide more.
        """
        held = self._resumable.get(self._verified(state))
        if held is None or not hmac.compare_digest(held.binding, canonical_json(binding)):
            msg = "requestState names no call that waits for input: begin the call anew"
            raise RelayedError(mcp_types.INVALID_PARAMS, msg)
        self._resumable.pop(held.name or "", None)
        held.taken.set()
        held.name, held.front, held.capabilities = None, front, front.capabilities
        for key, answer in answers.items():
            question = held.questions.pop(key, None)
            if question is not None:
                question.answer = answer
                question.answered.set()
        return await self._next(held)

    def end(self, owner: Place) -> None:
        """End the calls of a state that ends: what they ask, now or later, is refused."""
        for held in [h for h in self._held if h.owner == owner]:
            self._refuse(held, _STATE_ENDED)

    def refuse_asked(self, owner: Place) -> None:
        """Refuse what calls of a state ask just now, where another state takes its place.

        The call for which that happens runs already, and may ask.
        """
        for held in [h for h in self._held if h.owner == owner and h.questions]:
            self._refuse(held, _STATE_ENDED)

    def end_all(self, endpoint: str) -> None:
        """End the calls of all states of an endpoint."""
        for held in [h for h in self._held if h.owner.endpoint == endpoint]:
            self._refuse(held, _STATE_ENDED)

    async def ask(self, held: _Held, method: str, params: JsonObject) -> JsonObject:
        """Put a question of a call to its client, and wait for the answer.

        Raises:
            RelayedError: The client cannot be asked, does not come back in time, or too many calls wait.
        """
        refuse_unable(held.capabilities, method)
        if held.refusal is not None:
            raise RelayedError(mcp_types.REQUEST_TIMEOUT, held.refusal)
        if held.name is None and len(self._resumable) >= self._limit:
            msg = "too many calls wait for the input of their clients"
            raise RelayedError(mcp_types.INTERNAL_ERROR, msg)
        held.count += 1
        key = f"input-{held.count}"
        question = held.questions[key] = _Question(method, params)
        held.changed.set()
        try:
            with anyio.fail_after(self._seconds):
                await question.answered.wait()
        except TimeoutError:
            question.refusal = RelayedError(
                mcp_types.REQUEST_TIMEOUT,
                f"the client did not come back with its input within {self._seconds:g} s",
            )
        finally:
            held.questions.pop(key, None)
        if question.refusal is not None:
            if held.name is not None and not held.questions:
                self._resumable.pop(held.name, None)
            raise question.refusal
        return question.answer or {}

    async def _next(self, held: _Held) -> object:
        """Wait for the end of a call, or for what it asks."""
        try:
            while not held.is_over and not held.questions:
                held.changed = anyio.Event()
                await held.changed.wait()
        except BaseException:
            held.front = None
            held.scope.cancel()
            self._refuse(held, "the client of this call has gone")
            raise
        held.front = None
        if held.is_over:
            if held.error is not None:
                raise held.error
            return held.result
        held.name, held.taken = secrets.token_urlsafe(24), anyio.Event()
        self._resumable[held.name] = held
        raise InputRequiredError(
            {
                "resultType": "input_required",
                "inputRequests": {
                    key: {"method": q.method, "params": q.params}
                    for key, q in held.questions.items()
                },
                "requestState": f"{_PREFIX}{held.name}.{self._tag(held.name)}",
            }
        )

    def _refuse(self, held: _Held, why: str) -> None:
        """Refuse what a call asks, now and later: it may go on to its end, and nobody can resume it."""
        held.refusal = why
        for question in list(held.questions.values()):
            question.refusal = RelayedError(mcp_types.REQUEST_TIMEOUT, why)
            question.answered.set()

    def _tag(self, name: str) -> str:
        return hmac.new(self._secret, name.encode(), sha256).hexdigest()[:32]

    def _verified(self, state: str) -> str:
        name, _, tag = state.removeprefix(_PREFIX).rpartition(".")
        return name if hmac.compare_digest(tag.encode(), self._tag(name).encode()) else ""
