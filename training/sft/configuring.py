"""Reads the settings of a run: a preset, over it a TOML file, over both what the command line says."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar, cast, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.report.choices import closest
from astra_mcp.types import JsonObject
from training.sft.presets import find_preset
from training.sft.settings import SftSettings

__all__ = ["preset_of", "read_assignments", "read_settings", "read_settings_of"]

SettingsT = TypeVar("SettingsT", bound=BaseModel)

_PRESET = "preset"
_PATH_KEYS = ("file",)
_TEXTS = """write [\"NAME\", \"NAME\"], as an option --set '{place}=[\"NAME\"]'"""
_LISTS = {
    "data": "write a table [[data]] for each set in a file, or name files with --data",
    "training.betas": "write [0.9, 0.99], as an option --set '{place}=[0.9,0.99]'",
}
"""How lists are written."""


def read_settings(
    file: Path | None,
    preset: str | None,
    overrides: Mapping[str, Any],
    *,
    fallbacks: Mapping[str, Any] = MappingProxyType({}),
) -> SftSettings:
    """Read the settings of a run; paths of a file are seen from the file's folder.

    Args:
        file: TOML; it may name a ``preset``.
        preset: In the place of the one that the file names.
        overrides: What the command line says, by sections; members of a list by their numbers.
        fallbacks: What holds where neither of them says anything.

    Raises:
        ConfigError: The file cannot be read, a key is unknown, a value is wrong, or values do not go
            together; names the place.
    """
    written = _read_toml(file) if file else {}
    named = _preset_in(written, file)
    chosen = preset or named
    written.pop(_PRESET, None)
    settled = _merged(find_preset(chosen).settings if chosen else {}, written)
    settled = _merged(fallbacks, settled)
    return _validated(SftSettings, _merged(settled, overrides), file, overrides)


def read_settings_of(
    kind: type[SettingsT],
    file: Path,
    overrides: Mapping[str, Any],
    *,
    find: Callable[[str], JsonObject] | None = None,
) -> SettingsT:
    """Read the settings of a run of another kind.

    Args:
        kind: What the settings are.
        file: TOML.
        overrides: See :func:`read_settings`.
        find: Gives the settings of a preset that the file names; without it there are none.

    Raises:
        ConfigError: See :func:`read_settings`.
    """
    written = _read_toml(file)
    if find is not None and (named := _preset_in(written, file)) is not None:
        written.pop(_PRESET)
        written = _merged(find(named), written)
    return _validated(kind, _merged(written, overrides), file, overrides)


def _validated(
    kind: type[SettingsT],
    values: Mapping[str, Any],
    file: Path | None,
    overrides: Mapping[str, Any],
) -> SettingsT:
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        parts = [
            *([str(file)] if file else []),
            *(["the options"] if overrides or not file else []),
        ]
        where = " with ".join(parts)
        faults = [_words_of(fault, kind) for fault in error.errors(include_url=False)]
        raise ConfigError("\n  ".join([f"{where} cannot be used:", *faults])) from None


def preset_of(file: Path | None, preset: str | None) -> str | None:
    """Name the preset that settings begin with: the one asked for, or the file's.

    Raises:
        ConfigError: The file cannot be read, or names it by no text.
    """
    return preset or (_preset_in(_read_toml(file), file) if file else None)


def _preset_in(written: Mapping[str, Any], file: Path | None) -> str | None:
    named = written.get(_PRESET)
    if named is not None and not isinstance(named, str):
        raise ConfigError(f"{file}: {_PRESET}: must be a text in quotation marks")
    return named


def read_assignments(
    texts: Iterable[str], options: Mapping[str, Any] = MappingProxyType({})
) -> JsonObject:
    """Read ``training.learning_rate=1e-5``: a place among the settings, and a value as TOML has it.

    A value that is no TOML is a text: ``model=Qwen/Qwen3-4B`` needs no quotation marks.

    Args:
        texts: In order; the last one of a place holds.
        options: What other options say, by sections; these lie on it.

    Raises:
        ConfigError: One has no value, names a member that its list has not, or says what an option says.
    """
    found: JsonObject = {**options}
    for text in texts:
        place, equals, value = text.partition("=")
        keys = [key.strip() for key in place.split(".")]
        if not equals or not all(keys):
            raise ConfigError(f"--set {text!r}: write SECTION.KEY=VALUE")
        if len(keys) == 1 and keys[0] in options:
            raise ConfigError(
                f"--set {text!r}: another option says {keys[0]} already; name it once"
            )
        inner: JsonObject = {keys[-1]: _value_of(value.strip())}
        for key in reversed(keys[:-1]):
            inner = {key: inner}
        found = _merged(found, inner)
    return found


def _value_of(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            read = tomllib.load(opened)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is no TOML: {error}") from None
    return cast("dict[str, Any]", _seen_from(file.parent, read))


def _seen_from(folder: Path, value: Any, key: str = "") -> Any:
    """Resolve the paths of a file, whoever calls from wherever."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return {name: _seen_from(folder, each, name) for name, each in members.items()}
    if isinstance(value, list):
        return [_seen_from(folder, each, key) for each in cast("list[Any]", value)]
    is_path = key in (*_PATH_KEYS, "out") and isinstance(value, str)
    return str(folder / value) if is_path and not value.startswith("~") else value


def _merged(under: Mapping[str, Any], over: Mapping[str, Any], section: str = "") -> dict[str, Any]:
    """Lay one on the other, section by section; a list stands in the place of the other's.

    Raises:
        ConfigError: A member of a list is named that it has not.
    """
    merged = dict(under)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(value, Mapping):
            named = cast("Mapping[str, Any]", value)
            place = f"{section}{key}."
            if isinstance(below, Mapping):
                merged[key] = _merged(cast("Mapping[str, Any]", below), named, place)
                continue
            if isinstance(below, list):
                members = {str(n): each for n, each in enumerate(cast("list[Any]", below))}
                _require_members(named, members, place)
                merged[key] = [*_merged(members, named, place).values()]
                continue
        merged[key] = value
    return merged


def _require_members(named: Mapping[str, Any], members: Mapping[str, Any], place: str) -> None:
    for number in named:
        if number not in members:
            there = ", ".join(f"{place}{each}" for each in members) or "none"
            raise ConfigError(
                f"{place}{number}: there is no such member of the list; there is {there}"
            )


def _words_of(fault: ErrorDetails, kind: type[BaseModel]) -> str:
    place = ".".join(map(str, fault["loc"])) or "settings"
    match fault["type"]:
        case "extra_forbidden":
            close = closest(str(fault["loc"][-1]), known := _keys_at(kind, fault["loc"][:-1]))
            hint = f"did you mean {close}?" if close else f"there are {', '.join(known)}"
            return f"{place}: there is no such setting; {hint}"
        case "missing":
            return f"{place}: is needed, and neither the file, a preset nor an option says it"
        case "tuple_type" | "list_type":
            return f"{place}: must be a list: {_LISTS.get(place, _TEXTS).format(place=place)}"
        case _:
            return f"{place}: {fault_words(fault['type'], fault['msg'])}"


def _keys_at(kind: type[BaseModel], place: Sequence[int | str]) -> Sequence[str]:
    """Name the settings of a section; those of SFT may also name a preset on top."""
    model: Any = kind
    for key in place:
        if isinstance(key, str):
            model = model.model_fields[key].annotation
            model = next((each for each in get_args(model) if _is_model(each)), model)
    return [*model.model_fields, *(() if place or kind is not SftSettings else (_PRESET,))]


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)
