"""Settings of the command line: one TOML file, overridden by ``ASTRA_MCP_*`` environment variables.

``astra.toml`` is read from the working folder, else from ``$ASTRA_MCP_HOME``. Secrets come from here
or from the environment, never from a command line.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from astra_mcp.distractors.settings import DistractorSettings
from astra_mcp.errors import ConfigError
from astra_mcp.home import home_folder, user_path
from astra_mcp.llm.config import ModelsSettings
from astra_mcp.report.choices import closest
from astra_mcp.sandbox.protocol import SandboxLimits
from astra_mcp.types import EmulatorKind
from gateway.api.settings import ServeSettings
from registry.settings import RegistrySettings
from servers.emulated.settings import EmulatorSettings
from training.rollout.settings import RolloutSettings

__all__ = ["Settings", "load_serving", "load_settings"]


_PREFIX, _DELIMITER = "ASTRA_MCP_", "__"
_NO_SETTINGS = frozenset({"API_KEY", "CONTROL_KEY", "REQUIRE_ALL", "TEST_CACHE"})
"""Variables of clients' entries, of commands and of the tests."""
_OF_OTHERS = re.compile(r"SERVICE_(HOST|PORT)|PORT_\d+_|PORT=\w+://")
"""Kubernetes tells every process so where a service named ``astra-mcp`` is."""


class Settings(BaseSettings):
    """Everything that a file or the environment may set; unknown keys are errors."""

    model_config = SettingsConfigDict(
        env_prefix=_PREFIX,
        env_nested_delimiter=_DELIMITER,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
    )

    home: Annotated[Path, AfterValidator(user_path)] = Field(default_factory=home_folder)
    environments: tuple[Annotated[Path, AfterValidator(user_path)], ...] = ()
    """Folders of bundles to publish besides the bundled ones."""
    serve: ServeSettings = ServeSettings()
    sandbox: SandboxLimits = SandboxLimits()
    models: ModelsSettings = ModelsSettings()
    rollout: RolloutSettings = RolloutSettings()
    registry: RegistrySettings = RegistrySettings()
    emulators: EmulatorSettings = EmulatorSettings()
    distractors: DistractorSettings = DistractorSettings()

    @property
    def made_environments(self) -> Path:
        """Where synthesis puts environments when nobody names a folder; what is there is published."""
        return self.home / "environments"

    @property
    def registry_url(self) -> str:
        """Where the registry is; holds the password of its database, if there is one."""
        if self.registry.url is not None:
            return self.registry.url.get_secret_value()
        return f"sqlite:///{self.home.absolute() / 'registry.db'}"

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
    _refuse_unknown_variables()
    try:
        return Settings(**overrides)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, e['loc']))}: {_words(e)}" for e in error.errors(include_url=False)
        )
        raise ConfigError(f"astra.toml or ASTRA_MCP_* is wrong: {faults}") from None
    except TOMLDecodeError as error:
        raise ConfigError(f"astra.toml is no TOML: {error}") from None
    except OSError as error:
        raise ConfigError(f"{error.filename} cannot be read: {error.strerror}") from None
    except ValueError as error:
        msg = f"a setting cannot be read (lists in ASTRA_MCP_* variables are JSON): {error}"
        raise ConfigError(msg) from None


def _refuse_unknown_variables() -> None:
    """Refuse what is probably misspelt: no variable of ours, and of none of the settings."""
    for variable, value in os.environ.items():
        name = variable.removeprefix(_PREFIX)
        section = name.partition(_DELIMITER)[0].lower()
        if name in (variable, *_NO_SETTINGS) or section in Settings.model_fields:
            continue
        if value and not _OF_OTHERS.match(f"{name}={value}"):
            close = closest(name, (*_variables(Settings), *_NO_SETTINGS))
            hint = f": did you mean {_PREFIX}{close}?" if close else " (docs/configuration.md)"
            raise ConfigError(f"{variable}: there is no such variable{hint}")


def _variables(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix + name.upper()
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _variables(field.annotation, prefix + name.upper() + _DELIMITER)


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
    folders = (*settings.environments, *map(user_path, environments))
    return settings.model_copy(update={"serve": serving, "environments": folders})
