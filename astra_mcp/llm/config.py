"""What each role of a model is given: its endpoint, model, sampling, patience and prices."""

import os
from enum import StrEnum
from typing import NamedTuple, Self, TypeVar
from urllib.parse import urlsplit

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)

from astra_mcp.errors import ConfigError
from astra_mcp.types import FrozenModel, JsonObject

__all__ = [
    "EmbeddingConfig",
    "EndpointConfig",
    "ModelConfig",
    "ModelsSettings",
    "Prices",
    "Role",
    "StructuredOutput",
    "at_base_url",
]

_OWN_SETTINGS = {
    "model": "model",
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_tokens",
    "seed": "seed",
    "response_format": "structured_output",
    "input": "",
    "messages": "",
    "n": "",
    "stream": "",
    "tools": "",
}
"""Fields of a request that ``extra_body`` may not set, and the settings that do it."""


class Role(StrEnum):
    """What a model is asked for; each role may use another endpoint."""

    GENERATOR = "generator"
    """Writes what is synthesized: tasks, specifications, code."""
    JUDGE = "judge"
    """Scores and checks."""
    AGENT = "agent"
    """Plays episodes."""
    EMULATOR = "emulator"
    """Answers calls of tools that are known by their documents alone."""
    USER = "user"
    """Speaks to the agent in episodes of several turns."""
    EMBEDDING = "embedding"
    """Turns texts into vectors."""


class StructuredOutput(StrEnum):
    """How an answer is made to be of a form."""

    AUTO = "auto"
    """The endpoint is sent the JSON Schema; where it refuses one, that form is asked for without it."""
    SCHEMA = "schema"
    """The endpoint is sent the JSON Schema always."""
    PARSED = "parsed"
    """No schema is sent; the answer is found in the text."""


class Prices(NamedTuple):
    """What a million tokens cost."""

    prompt: float
    completion: float = 0.0

    def cost(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Add up what a call cost."""
        return (self.prompt * prompt_tokens + self.completion * completion_tokens) / 1e6


class EndpointConfig(BaseModel):
    """Which model, where, how patiently, how many calls at once, and at what price."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    model: str = ""
    """As its endpoint names it; empty where the role is not configured."""
    base_url: str | None = None
    """Such as ``http://127.0.0.1:8000/v1``; None is OpenAI's own."""
    api_key: SecretStr | None = None
    """May be missing where ``base_url`` is given: local servers often need none."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """Deadline of one attempt, with the whole of its answer."""
    max_retries: int = Field(default=4, ge=0, le=20)
    """Further attempts after a failed connection, a timeout, 408, 409, 429 and 5xx."""
    deadline_seconds: float = Field(default=600.0, gt=0)
    """Of a call with all its attempts and the pauses between them."""
    max_concurrency: int = Field(default=64, ge=1, le=4096)
    """Calls at once; further ones wait for their turn, which counts to no deadline of theirs."""
    prompt_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of a million tokens that are sent, in any currency; None where it is not known."""
    extra_body: JsonObject = {}
    """Further fields of each request, such as ``chat_template_kwargs`` or ``reasoning_effort``."""
    revision: str = ""
    """Tells models of one name apart: a cached answer or a vector of another revision is not used."""

    @field_validator("base_url")
    @classmethod
    def _holds_no_secret(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("must be a URL such as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            msg = "must hold no user, password or query: URLs are logged; a key goes into api_key"
            raise ValueError(msg)
        return value

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        key = value.get_secret_value() if value is not None else "-"
        if not key or not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("must be visible ASCII characters without blanks and line ends")
        return value

    @field_validator("extra_body")
    @classmethod
    def _is_further(cls, value: JsonObject) -> JsonObject:
        for name in value:
            if name in _OWN_SETTINGS:
                own = _OWN_SETTINGS[name]
                remedy = f"set {own} instead" if own else "this is not for settings to say"
                raise ValueError(f"must not hold {name!r}: {remedy}")
        return value

    @property
    def prices(self) -> Prices | None:
        """What tokens cost, where that is known."""
        return Prices(self.prompt_price) if self.prompt_price is not None else None


class ModelConfig(EndpointConfig):
    """A chat model."""

    temperature: float | None = Field(default=None, ge=0)
    """None leaves it to the endpoint, as for the other parameters of sampling."""
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_tokens: int | None = Field(default=None, ge=1)
    """Of an answer, thoughts included."""
    seed: int | None = Field(default=None, ge=0)
    """Where set, each structured answer is asked for with a seed derived from it and its sample."""
    completion_price: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of a million tokens that are answered, thoughts included; None where it is not known."""
    structured_output: StructuredOutput = StructuredOutput.AUTO
    max_answers: int = Field(default=2, ge=1, le=10)
    """How often one structured answer is asked for at most, where the model's words are of no use."""

    @property
    def prices(self) -> Prices | None:
        """What tokens cost, where that is known."""
        if self.prompt_price is None or self.completion_price is None:
            return None
        return Prices(self.prompt_price, self.completion_price)


class EmbeddingConfig(EndpointConfig):
    """A model of embeddings."""

    dimensions: int | None = Field(default=None, ge=1, le=65536)
    """Asked for and checked; None takes what the endpoint gives, as long as it is the same each time."""
    batch_size: int = Field(default=64, ge=1, le=2048)
    """Texts of one request."""
    query_instruction: str | None = None
    """What a search wants, for models that are told (Qwen3-Embedding): one sentence in English."""

    @model_validator(mode="after")
    def _sets_no_dimensions_twice(self) -> Self:
        if "dimensions" in self.extra_body:
            raise ValueError("extra_body must not hold 'dimensions': set dimensions instead")
        return self


class ModelsSettings(FrozenModel):
    """The models, by what they are asked for."""

    generator: ModelConfig = ModelConfig()
    judge: ModelConfig = ModelConfig()
    agent: ModelConfig = ModelConfig()
    emulator: ModelConfig = ModelConfig()
    user: ModelConfig = ModelConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()

    def of_role(self, role: Role) -> ModelConfig:
        """Find a chat model; what it does not say of its endpoint is taken from ``OPENAI_*`` variables.

        Raises:
            ValueError: The role is no chat model's.
        """
        if role is Role.EMBEDDING:
            raise ValueError("a model of embeddings is no chat model: ask for of_embedding()")
        config: ModelConfig = getattr(self, role.value)
        return _with_openai_variables(config)

    def of_embedding(self) -> EmbeddingConfig:
        """Find the model of embeddings, like :meth:`of_role`."""
        return _with_openai_variables(self.embedding)


EndpointConfigT = TypeVar("EndpointConfigT", bound=EndpointConfig)


def _with_openai_variables(config: EndpointConfigT) -> EndpointConfigT:
    """Fill in the endpoint and the key that other programs use too.

    ``OPENAI_API_KEY`` is for ``OPENAI_BASE_URL`` (or OpenAI's own endpoint): it is not sent to an address
    that the settings name.
    """
    if config.base_url is not None:
        return config
    url, key = (os.environ.get(name) or None for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
    return _with(config, base_url=url, api_key=config.api_key or key, named="OPENAI_BASE_URL:")


def at_base_url(config: EndpointConfigT, base_url: str) -> EndpointConfigT:
    """Have a model answer at an address of the command line, with the key that is meant for it.

    A key of the settings is for the address that they name: another host never sees it. So it is with
    ``OPENAI_API_KEY`` where ``OPENAI_BASE_URL`` names another host.

    Raises:
        ConfigError: The address is none, or holds a secret; or the key cannot be sent.
    """
    shared, key = (os.environ.get(name) or None for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
    is_meant = shared is None or _is_same_host(shared, base_url)
    return _with(config, base_url=base_url, api_key=key if is_meant else None, named="--base-url")


def _with(
    config: EndpointConfigT, *, base_url: str | None, api_key: SecretStr | str | None, named: str
) -> EndpointConfigT:
    """Replace address and key; ``named`` is what gave the address, the key is ``OPENAI_API_KEY``."""
    given = {"base_url": base_url, "api_key": api_key}
    try:
        return type(config).model_validate({**config.model_dump(), **given})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        what = named if fault["loc"][0] == "base_url" else "OPENAI_API_KEY:"
        raise ConfigError(f"{what} {fault['msg'].removeprefix('Value error, ')}") from None


def _is_same_host(one: str, other: str) -> bool:
    try:
        return urlsplit(one)[:2] == urlsplit(other)[:2]
    except ValueError:
        return False
