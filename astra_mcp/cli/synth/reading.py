"""What people write in options that both ways of making environments have."""

from typing import Any

import typer

from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.synthesis.environments.families.generation import Range

__all__ = ["read_languages", "read_range", "read_types"]


def read_range(option: str, text: str, least: int, most: int) -> Range:
    """Read ``3`` or ``1-8``."""
    low, dash, high = text.partition("-")
    try:
        found = (int(low), int(high if dash else low))
    except ValueError:
        words = f"{text!r} is no range: write {most}, or {least}-{most}"
        raise typer.BadParameter(words, param_hint=option) from None
    if found[1] < found[0]:
        words = f"{text!r} goes from {found[0]} to {found[1]}: write the smaller first"
        raise typer.BadParameter(words, param_hint=option)
    if found[0] < least or found[1] > most:
        words = f"{text!r}: from {least} to {most} are possible"
        raise typer.BadParameter(words, param_hint=option)
    return found


def read_languages(text: str) -> list[Any]:
    """Read ``en``, ``zh`` or both."""
    found = [word.strip() for word in text.split(",")]
    if not set(found) <= {"en", "zh"}:
        raise typer.BadParameter(f"{text!r}: there are en and zh", param_hint="--language")
    return found


def read_types(text: str | None) -> list[ScenarioType]:
    """Read the names of scenario types; None is all of them."""
    if text is None:
        return [*ScenarioType]
    known = {t.value.casefold(): t for t in ScenarioType}
    words = [word.strip().casefold() for word in text.split(",")]
    unknown = [word for word in words if word not in known]
    if unknown:
        raise typer.BadParameter(
            f"{unknown[0]!r}: there are {', '.join(ScenarioType)}", param_hint="--type"
        )
    return [known[word] for word in words]
