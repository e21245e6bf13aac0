"""A chat model of a role: structured answers that are of their form or fail, and conversation."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from hashlib import sha256
from typing import Any, TypeVar, cast

import anyio
from pydantic import BaseModel, JsonValue, ValidationError

from astra_mcp.concurrency import completed
from astra_mcp.errors import ModelError, ModelFault, PipelineError
from astra_mcp.llm.cache import CompletionCache, SingleFlight
from astra_mcp.llm.chat import ChatReply, MalformedCompletionError, read_completion
from astra_mcp.llm.config import ModelConfig, Role, StructuredOutput
from astra_mcp.llm.endpoint import Endpoint, open_endpoint
from astra_mcp.llm.prompt import Prompt
from astra_mcp.llm.reading import AnswerForm, UnreadableAnswerError, answer_form, read_answer
from astra_mcp.llm.usage import Budget, Usage, note_usage
from astra_mcp.seeds import derive_seed
from astra_mcp.types import JsonObject, canonical_json

__all__ = ["Model", "open_model"]

AnswerT = TypeVar("AnswerT", bound=BaseModel)
KeptT = TypeVar("KeptT", bound=BaseModel)

CACHE_SECONDS = 120.0
"""Deadline of one look into the cache, and of one save."""
MAX_CHARS_AT_ONCE = 2000
"""Longer answers are read in a thread: a repair takes about 10 us for each character."""
_PATH = "/chat/completions"
_SAMPLING = {"temperature", "top_p", "max_tokens"}
_SEED_BITS = 31
"""What every endpoint takes as a seed."""
_ASKED_AGAIN = frozenset(
    {
        ModelFault.MALFORMED,
        ModelFault.EMPTY,
        ModelFault.TRUNCATED,
        ModelFault.NOT_JSON,
        ModelFault.INVALID,
    }
)
"""What a new sample may be spared; a model that declines is taken at its word."""


class Model:
    """A model behind an endpoint; made by :func:`open_model`. One object serves many callers at once."""

    def __init__(
        self, config: ModelConfig, endpoint: Endpoint, cache: CompletionCache | None
    ) -> None:
        self._config = config
        self._endpoint = endpoint
        self._cache = cache
        self._flights = SingleFlight[Any]()
        self._refused_forms: set[type[BaseModel]] = set()

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        """Ask for a structured answer.

        Equal questions have equal answers: the cache's where it has one, else that of an equal question
        under way. An answer that is of no use is asked for again, as a new sample, up to
        ``max_answers`` times in all; only one that is of its form is cached.

        Args:
            prompt: The question; it has to describe the answer, since not every endpoint takes a schema.
            answer: The form of the answer, a JSON object. It is frozen: callers may be given the same one.
            sample: Another number asks the same question anew.

        Raises:
            BudgetSpentError: The budget does not allow the call.
            ModelError: No answer of the form came; ``fault`` says why.
            PipelineError: The cache does not answer.
        """
        key = self._key(prompt, answer_form(answer), sample)
        settle = partial(self._settle, key, prompt, answer, sample)
        value, is_shared = await self._flights.share((key, answer), settle)
        if is_shared:
            note_usage(Usage(cached=1))
        return value

    async def complete(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject],
        *,
        sample: int | None = None,
    ) -> ChatReply:
        """Continue a conversation; see :class:`~astra_mcp.llm.chat.Chat`.

        Neither cached nor seeded, for two conversations that begin alike may go on in different ways, unless
        ``sample`` says which of them this is: equal ones of one number go on alike, as with :meth:`ask`.
        An opening that calls no tool is of no use to whoever offers some, and is asked for anew.

        Args:
            messages: OpenAI chat messages.
            tools: OpenAI function documents; may be empty.
            sample: Number of the conversation; another one holds the same conversation anew.

        Raises:
            BudgetSpentError: The budget does not allow the call.
            ModelError: No usable answer came, after retries.
            PipelineError: The cache does not answer.
        """
        body = self._body(messages)
        if tools:
            body["tools"] = list(tools)
        if sample is None:
            return await self._reply(body)
        key = self._hash(body, conversation=sample)
        reply, is_shared = await self._flights.share(key, partial(self._go_on, key, body, sample))
        if is_shared:
            note_usage(Usage(cached=1))
        return reply

    async def _go_on(self, key: str, body: JsonObject, sample: int) -> ChatReply:
        """Find the next message of a conversation in the cache, or ask for it and keep it there."""
        found = await self._recall(key, _as_it_is)
        if found is not None:
            note_usage(Usage(cached=1))
            return found
        reply = await self._reply({**body, **self._seed("conversation", sample)})
        messages = cast("list[JsonObject]", body["messages"])
        if reply.calls or "tools" not in body or messages[-1].get("role") == "tool":
            await self._keep(key, reply)
        return reply

    async def _settle(
        self, key: str, prompt: Prompt, answer: type[AnswerT], sample: int
    ) -> AnswerT:
        """Find an answer in the cache, or ask for it and keep it there."""
        found = await self._recall(key, partial(_read, answer=answer))
        if found is not None:
            note_usage(Usage(cached=1))
            return found
        reply, value = await self._answer(prompt, answer, sample)
        await self._keep(key, reply)
        return value

    async def _keep(self, key: str, reply: ChatReply) -> None:
        if self._cache is not None:
            # Cancelled or not: the answer is paid for.
            with _answering_cache(shield=True):
                await self._cache.put(key, reply.model_dump(mode="json"))

    async def _recall(
        self, key: str, read: Callable[[ChatReply], Awaitable[KeptT]]
    ) -> KeptT | None:
        if self._cache is None:
            return None
        with _answering_cache(shield=False):
            kept = await self._cache.get(key)
        if kept is None:
            return None
        # What an earlier version took for an answer and this one does not is asked for again.
        with suppress(ValidationError, UnreadableAnswerError):
            return await read(ChatReply.model_validate(kept))
        return None

    async def _answer(
        self, prompt: Prompt, answer: type[AnswerT], sample: int
    ) -> tuple[ChatReply, AnswerT]:
        number = 0
        while True:
            number += 1
            seed = self._seed("sample", sample, "answer", number)
            body = {**self._body(prompt.messages), **seed}
            try:
                reply = await self._reply_of_form(body, answer)
                with self._attributing():
                    return reply, await _read(reply, answer)
            except ModelError as error:
                if error.fault not in _ASKED_AGAIN or number >= self._config.max_answers:
                    raise

    async def _reply_of_form(self, body: JsonObject, answer: type[BaseModel]) -> ChatReply:
        """Send the form along where the endpoint takes it.

        A refusal can have other reasons: it is the form's where the endpoint takes the rest without it.
        """
        mode = self._config.structured_output
        if mode is StructuredOutput.PARSED or answer in self._refused_forms:
            return await self._reply(body)
        try:
            form = answer_form(answer).response_format
            return await self._reply({**body, "response_format": form})
        except ModelError as error:
            if mode is not StructuredOutput.AUTO or error.fault is not ModelFault.REFUSED:
                raise
        reply = await self._reply(body)
        self._refused_forms.add(answer)
        return reply

    async def _reply(self, body: JsonObject) -> ChatReply:
        document = await self._endpoint.post(_PATH, body)
        with self._attributing():
            return read_completion(document)

    @contextmanager
    def _attributing(self) -> Generator[None]:
        """Make a failure to read what the model sent one of this model."""
        try:
            yield
        except MalformedCompletionError as error:
            text = f"its answer is no chat message ({error})"
            raise self._endpoint.error(ModelFault.MALFORMED, text) from None
        except UnreadableAnswerError as error:
            raise self._endpoint.error(error.fault, error.message) from None

    def _body(self, messages: Sequence[JsonObject]) -> JsonObject:
        sampling = self._config.model_dump(include=_SAMPLING, exclude_none=True)
        return {"model": self._config.model, "messages": list(messages), **sampling}

    def _seed(self, *names: str | int) -> JsonObject:
        """The seed of a request, where one is configured."""
        if self._config.seed is None:
            return {}
        return {"seed": derive_seed(self._config.seed, *names) >> (64 - _SEED_BITS)}

    def _key(self, prompt: Prompt, form: AnswerForm, sample: int) -> str:
        return self._hash(
            self._body(prompt.messages),
            template=prompt.template_hash,
            answer=form.schema,
            sample=sample,
        )

    def _hash(self, request: JsonObject, **others: JsonValue) -> str:
        """Hash what an answer depends on; not the address, so that a server that moves keeps its answers."""
        content: JsonObject = {
            "request": request,
            "extra_body": self._config.extra_body,
            "seed": self._config.seed,
            "revision": self._config.revision,
            **others,
        }
        return sha256(canonical_json(content)).hexdigest()


async def _as_it_is(reply: ChatReply) -> ChatReply:
    return reply


async def _read(reply: ChatReply, answer: type[AnswerT]) -> AnswerT:
    """Read an answer, and keep the others going meanwhile."""
    if len(reply.content or "") <= MAX_CHARS_AT_ONCE:
        return read_answer(reply, answer)
    # To the end also where it is cancelled: the answer is paid for.
    return await completed(anyio.to_thread.run_sync(read_answer, reply, answer))


@contextmanager
def _answering_cache(*, shield: bool) -> Generator[None]:
    """Bound the time of the cache, and say so where it is over."""
    try:
        with anyio.fail_after(CACHE_SECONDS, shield=shield):
            yield
    except TimeoutError:
        raise PipelineError(
            f"the cache of completions did not answer within {CACHE_SECONDS:g} s:"
            " see whether its database is locked or out of reach"
        ) from None


@asynccontextmanager
async def open_model(
    role: Role,
    config: ModelConfig,
    *,
    cache: CompletionCache | None = None,
    budget: Budget | None = None,
) -> AsyncGenerator[Model]:
    """Open the model of a role; its connections close with the context.

    Args:
        role: Names the model in messages.
        config: Which, where and how.
        cache: Keeps structured answers, and numbered conversations, from run to run.
        budget: Shared with the other roles.

    Raises:
        ConfigError: No model or no key is configured, the address is none, or the cost of a limited
            budget cannot be known.
    """
    async with open_endpoint(role, config, budget) as endpoint:
        yield Model(config, endpoint, cache)
