"""Settings of the command line: one TOML file, overridden by ``ASTRA_MCP_*`` environment variables.

``astra.toml`` is read from the working folder, else from ``$ASTRA_MCP_HOME``. Secrets come from here
or from the environment, never from a command line.
"""

import os
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Any, Literal, Self, TypeVar
from urllib.parse import urlsplit

import platformdirs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import EmbeddingConfig, EndpointConfig, ModelConfig, Role
from astra_mcp.report.choices import closest
from astra_mcp.sandbox import SandboxLimits
from astra_mcp.types import EmulatorKind
from gateway.edge.workers import public_url_fault
from gateway.episodes.failures import DEFAULT_RATE, FailureDefaults, FailureScope

__all__ = [
    "DistractorSettings",
    "EmbedderKind",
    "EmulatorSettings",
    "LogFormat",
    "ModelsSettings",
    "PoolKind",
    "RegistrySettings",
    "RolloutSettings",
    "ServeSettings",
    "Settings",
    "at_base_url",
    "home_folder",
    "load_serving",
    "load_settings",
]

DEFAULT_PORT = 8420
_MAX_PORT = 65535
LogFormat = Literal["text", "json"]
EndpointConfigT = TypeVar("EndpointConfigT", bound=EndpointConfig)


def home_folder() -> Path:
    """Locate ``$ASTRA_MCP_HOME``, by default the platform's data folder."""
    named = os.environ.get("ASTRA_MCP_HOME")
    return Path(named).expanduser() if named else platformdirs.user_data_path("astra-mcp")


class ServeSettings(BaseModel):
    """Where and how the gateway listens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=65535)
    api_keys: tuple[SecretStr, ...] = ()
    """Keys that open the interactive endpoints; required on an address that is not loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Further ``Host`` values to accept, besides the loopback names and the bound address."""
    max_body_bytes: int = Field(default=4 << 20, ge=1024)
    max_episodes: int = Field(default=10_000, ge=1)
    """Of each worker."""
    mcp_config: Path | None = None
    """An ``mcpServers`` file; its servers are published beside the environments."""
    workers: int = Field(default=1, ge=1, le=256)
    """Processes that share the episodes; above 1 a supervisor starts and restarts them."""
    worker_port: int | None = Field(default=None, ge=1, le=65535)
    """Port of the second worker, the others' follow; by default free ones, the same at every start."""
    public_url: str | None = None
    """Base of the URLs that clients are given, where a reverse proxy stands before the gateway."""
    drain_seconds: float = Field(default=30.0, ge=0, le=3600)
    """How long calls under way may take after the gateway was asked to stop."""
    log_format: LogFormat = "text"
    """How standard error is written: lines for people, or one JSON object a line."""
    failure_rate: float = Field(default=DEFAULT_RATE, ge=0, le=1)
    """The share of calls that fail on purpose, in episodes that do not say so themselves."""
    failure_scope: FailureScope = FailureScope.EMULATED
    """Which of those episodes that is for."""

    @property
    def failures(self) -> FailureDefaults:
        """What holds where a request does not say how its episode fails."""
        return FailureDefaults(rate=self.failure_rate, scope=self.failure_scope)

    @field_validator("public_url")
    @classmethod
    def _can_be_filled_in(cls, value: str | None, info: ValidationInfo) -> str | None:
        fault = None if value is None else public_url_fault(value, info.data.get("workers", 1))
        if fault is not None:
            raise ValueError(fault)
        return value

    @model_validator(mode="after")
    def _have_ports(self) -> Self:
        if self.worker_port is None or self.workers == 1:
            return self
        last = self.worker_port + self.workers - 2
        taken = f"worker_port {self.worker_port} gives the further workers the ports up to {last}"
        if last > _MAX_PORT:
            msg = f"{taken}, and ports end at {_MAX_PORT}: set a lower worker_port"
            raise ValueError(msg)
        if self.worker_port <= self.port <= last:
            msg = (
                f"{taken}, and port {self.port} is the first worker's: set worker_port to "
                f"{self.port + 1}, or leave it out for free ones"
            )
            raise ValueError(msg)
        return self


class ModelsSettings(BaseModel):
    """The models, by what they are asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    generator: ModelConfig = ModelConfig()
    judge: ModelConfig = ModelConfig()
    agent: ModelConfig = ModelConfig()
    emulator: ModelConfig = ModelConfig()
    embedding: EmbeddingConfig = EmbeddingConfig()

    def of_role(self, role: Role) -> ModelConfig:
        """Find a chat model; what it does not say of its endpoint is taken from ``OPENAI_*`` variables.

        Raises:
            ValueError: The role is no chat model's.
        """
        match role:
            case Role.GENERATOR:
                return _with_openai_variables(self.generator)
            case Role.JUDGE:
                return _with_openai_variables(self.judge)
            case Role.AGENT:
                return _with_openai_variables(self.agent)
            case Role.EMULATOR:
                return _with_openai_variables(self.emulator)
            case Role.EMBEDDING:
                msg = "a model of embeddings is no chat model: ask for of_embedding()"
                raise ValueError(msg)

    def of_embedding(self) -> EmbeddingConfig:
        """Find the model of embeddings, like :meth:`of_role`."""
        return _with_openai_variables(self.embedding)


def _with_openai_variables(config: EndpointConfigT) -> EndpointConfigT:
    """Fill in the endpoint and the key that other programs use too.

    ``OPENAI_API_KEY`` is for ``OPENAI_BASE_URL`` (or OpenAI's own endpoint): it is not sent to an address
    that the settings name.
    """
    if config.base_url is not None:
        return config
    url, key = (os.environ.get(name) or None for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
    named = {"base_url": url, "api_key": config.api_key or key}
    try:
        return type(config).model_validate({**config.model_dump(), **named})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        variable = f"OPENAI_{str(fault['loc'][0]).upper()}"
        raise ConfigError(f"{variable}: {fault['msg'].removeprefix('Value error, ')}") from None


def at_base_url(config: EndpointConfigT, base_url: str) -> EndpointConfigT:
    """Have a model answer at an address of the command line, with the key that is meant for it.

    A key of the settings is for the address that they name: another host never sees it. So it is with
    ``OPENAI_API_KEY`` where ``OPENAI_BASE_URL`` names another host.

    Raises:
        ConfigError: The address is none, or holds a secret; or the key cannot be sent.
    """
    shared, key = (os.environ.get(name) or None for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY"))
    is_meant = shared is None or _is_same_host(shared, base_url)
    named = {"base_url": base_url, "api_key": key if is_meant else None}
    try:
        return type(config).model_validate({**config.model_dump(), **named})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        what = "--base-url" if fault["loc"][0] == "base_url" else "OPENAI_API_KEY:"
        raise ConfigError(f"{what} {fault['msg'].removeprefix('Value error, ')}") from None


def _is_same_host(one: str, other: str) -> bool:
    try:
        return urlsplit(one)[:2] == urlsplit(other)[:2]
    except ValueError:
        return False


class RolloutSettings(BaseModel):
    """How agents play."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_turns: int = Field(default=32, ge=1, le=32)
    """Messages of a model in one episode."""


class EmbedderKind(StrEnum):
    """What makes the vectors that tools are searched by."""

    LEXICAL = "lexical"
    """Words and parts of words, hashed: needs no model and no download."""
    LOCAL = "local"
    """A sentence-transformers model on this machine: ``models.embedding.model`` is its path or name."""
    ENDPOINT = "endpoint"
    """The endpoint of ``models.embedding``."""


class RegistrySettings(BaseModel):
    """Where tool documents, vectors and the index of episodes are kept."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: SecretStr | None = None
    """Of a database, such as ``postgresql://user:password@host/name``; by default a file in the home."""
    embedder: EmbedderKind = EmbedderKind.LEXICAL


class EmulatorSettings(BaseModel):
    """The servers of which the registry has documents only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    publish: bool = True
    """Serve every kept one."""
    crawled: bool = False
    """Also those whose tools were read off a page."""
    kind: EmulatorKind = EmulatorKind.OFFLINE
    """Who answers in their name: ``offline``, or the ``model`` of ``models.emulator``."""
    distractors: EmulatorKind = EmulatorKind.OFFLINE
    """Who answers in the name of their tools where these are distractors."""
    hint_share: float = Field(default=0.0, ge=0, le=1)
    """In this share of the episodes with a prompt, the model is shown it."""


class PoolKind(StrEnum):
    """Where distractors are chosen from."""

    ENVIRONMENTS = "environments"
    """The tools of all environments, as in the paper."""
    REGISTRY = "registry"
    """Those of the registry's live servers."""
    ALL = "all"
    """Both."""


class DistractorSettings(BaseModel):
    """Task-irrelevant tools."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    pool: PoolKind = PoolKind.ENVIRONMENTS


class Settings(BaseSettings):
    """Everything that a file or the environment may set; unknown keys are errors."""

    model_config = SettingsConfigDict(
        env_prefix="ASTRA_MCP_", env_nested_delimiter="__", extra="forbid", frozen=True
    )

    home: Path = Field(default_factory=home_folder)
    environments: tuple[Path, ...] = ()
    """Folders of bundles to publish besides the bundled ones."""
    serve: ServeSettings = ServeSettings()
    sandbox: SandboxLimits = SandboxLimits()
    models: ModelsSettings = ModelsSettings()
    rollout: RolloutSettings = RolloutSettings()
    registry: RegistrySettings = RegistrySettings()
    emulators: EmulatorSettings = EmulatorSettings()
    distractors: DistractorSettings = DistractorSettings()

    @property
    def registry_url(self) -> str:
        """Where the registry is; holds the password of its database, if there is one."""
        if self.registry.url is not None:
            return self.registry.url.get_secret_value()
        return f"sqlite:///{self.home.expanduser().absolute() / 'registry.db'}"

    @property
    def emulator_fault(self) -> str | None:
        """Why the emulators cannot be opened: what they are asked for needs a model. None where they can."""
        for field in ("kind", "distractors"):
            is_asked_for = getattr(self.emulators, field) is EmulatorKind.MODEL
            if is_asked_for and not self.models.emulator.model:
                return (
                    f"emulators.{field} is 'model', and no model is named: set "
                    f"models.emulator.model in astra.toml, or emulators.{field} to 'offline'"
                )
        if self.emulators.hint_share and self.emulators.kind is not EmulatorKind.MODEL:
            return (
                "emulators.hint_share is for a model that answers, and emulators.kind is "
                f"{self.emulators.kind.value!r}: set it to 'model', or leave emulators.hint_share out"
            )
        return None

    @property
    def has_registry(self) -> bool:
        """False where the registry's file is not made yet, which is done by what writes to it."""
        url = self.registry_url
        return not url.startswith("sqlite:///") or Path(url.removeprefix("sqlite:///")).exists()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Put the TOML file below the environment."""
        candidates = (Path("astra.toml"), home_folder() / "astra.toml")
        file = next((path for path in candidates if path.is_file()), None)
        toml = (TomlConfigSettingsSource(settings_cls, file),) if file else ()
        return init_settings, env_settings, *toml


def load_settings(**overrides: Any) -> Settings:
    """Read the settings.

    Raises:
        ConfigError: A file or variable is wrong; names the field and the fault.
    """
    try:
        return Settings(**overrides)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {_words(e)}" for e in error.errors(include_url=False)
        )
        msg = f"astra.toml or ASTRA_MCP_* is wrong: {faults}"
        raise ConfigError(msg) from None
    except TOMLDecodeError as error:
        msg = f"astra.toml is no TOML: {error}"
        raise ConfigError(msg) from None
    except ValueError as error:
        msg = f"a setting cannot be read (lists in ASTRA_MCP_* variables are JSON): {error}"
        raise ConfigError(msg) from None


def _words(fault: ErrorDetails) -> str:
    """Say what is wrong with a setting, and which key or value is close to a wrong one."""
    message = fault["msg"].removeprefix("Value error, ")
    match fault["type"]:
        case "extra_forbidden":
            return _words_of_unknown(tuple(map(str, fault["loc"])))
        case "enum" | "literal_error":
            known = re.findall(r"'([^']*)'", fault.get("ctx", {}).get("expected", ""))
            close = closest(str(fault["input"]), known)
            return f"{message}: did you mean {close}?" if close else message
        case _:
            return message


def _words_of_unknown(place: tuple[str, ...]) -> str:
    model: Any = Settings
    for name in place[:-1]:
        model = model.model_fields[name].annotation
    close = closest(place[-1], model.model_fields)
    if close is not None:
        return f"there is no such setting: did you mean {'.'.join((*place[:-1], close))}?"
    return f"there is no such setting; there are {', '.join(model.model_fields)}"


def load_serving(
    given: Mapping[str, object], environments: Sequence[Path] = (), **overrides: Any
) -> Settings:
    """Read the settings, with what the options of ``serve`` put in the place of theirs.

    Args:
        given: Fields of ``serve``; None leaves the setting as it is.
        environments: Published beside those of the settings.
        overrides: As for :func:`load_settings`.

    Raises:
        ConfigError: A file, a variable or an option is wrong.
    """
    settings = load_settings(**overrides)
    named = {key: value for key, value in given.items() if value is not None}
    try:
        serving = ServeSettings.model_validate({**settings.serve.model_dump(), **named})
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        words = fault["msg"].removeprefix("Value error, ")
        if not fault["loc"]:  # settings that do not go together
            raise ConfigError(f"the settings of serve: {words}") from None
        option = str(fault["loc"][0]).replace("_", "-")
        raise ConfigError(f"--{option} {fault['input']!r}: {words}") from None
    folders = (*settings.environments, *environments)
    return settings.model_copy(update={"serve": serving, "environments": folders})
