"""What makes a rollout's episodes hard: distractors and injected failures, from options to requests."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite

from pydantic import ValidationError

from astra_mcp.cli.rollout.options import DistractorMode, FailureScope
from astra_mcp.errors import ConfigError
from gateway.api.client import RefusedError
from gateway.api.wire import DistractorRequest, FailingCalls, FailureRequest

__all__ = ["Difficulty", "ask_difficulty", "naming_options"]

_UNPROCESSABLE = 422
_OPTIONS = {
    "distractors.k": "--k",
    "distractors": "--distractors",
    "failures.kinds": "--failure-kinds",
    "failures.delay": "--failure-delay",
    "failures.scope": "--failure-scope",
    "failures": "--failure-rate",
    "source": "--server",
}
"""Fields of ``POST /v1/episodes`` and the options that fill them, the deeper ones first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difficulty:
    """What every episode of a rollout is asked for; None leaves it to the gateway."""

    distractors: DistractorRequest | None
    failures: FailureRequest | None


def ask_difficulty(
    *,
    mode: DistractorMode | None,
    k: int | None,
    rate: float | None,
    kinds: str | None,
    delay: bool,
    is_gold: bool,
    scope: FailureScope | None = None,
) -> Difficulty:
    """Read the options.

    Args:
        mode: ``--distractors``.
        k: ``--k``.
        rate: ``--failure-rate``.
        kinds: ``--failure-kinds``.
        delay: ``--failure-delay``.
        is_gold: The gold calls are played, which never fail on purpose.
        scope: ``--failure-scope``.

    Raises:
        ConfigError: They do not go together, or say nothing that the gateway takes.
    """
    if k is not None and mode != "banded":
        msg = "--k goes with --distractors banded: it is the number of tools from each band"
        raise ConfigError(msg)
    further = {"kinds": kinds is not None, "delay": delay, "scope": scope is not None}
    if not rate and any(further.values()):
        option = next(f"--failure-{name}" for name, is_given in further.items() if is_given)
        raise ConfigError(f"{option} goes with a --failure-rate above 0")
    if is_gold and rate:
        msg = "--failure-rate is for agents that can fail: the oracle's gold calls never do on purpose"
        raise ConfigError(msg)
    given = {} if k is None else {"k": k}
    return Difficulty(
        distractors=DistractorRequest(mode=mode, **given) if mode else None,
        failures=_failures(0.0 if is_gold else rate, kinds, delay=delay, scope=scope),
    )


def _failures(
    rate: float | None, kinds: str | None, *, delay: bool, scope: FailureScope | None
) -> FailureRequest | None:
    if rate is None:
        return None
    weights = None if kinds is None else _weights(kinds)
    try:
        named = FailingCalls(scope or "all")
        return FailureRequest(rate=rate, kinds=weights, delay=delay, scope=named)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        path = ".".join(("failures", *map(str, fault["loc"])))
        raise ConfigError(_named(path, fault["msg"].removeprefix("Value error, "))) from None


def _weights(kinds: str) -> dict[str, float]:
    """Read ``timeout=0.5,unreachable=0.5``."""
    weights: dict[str, float] = {}
    for part in kinds.split(","):
        kind, _, written = (word.strip() for word in part.partition("="))
        weight = _number(written)
        if not kind or weight is None or kind in weights:
            raise ConfigError(
                f"--failure-kinds {kinds!r}: write each kind once with its weight, such as "
                "timeout=0.5,unreachable=0.5"
            )
        weights[kind] = weight
    return weights


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


@contextmanager
def naming_options() -> Generator[None]:
    """Turn the gateway's refusal of a request into a message that names the option.

    Raises:
        ConfigError: The gateway does not take what was asked for.
    """
    try:
        yield
    except RefusedError as error:
        if error.status != _UNPROCESSABLE:
            raise
        raise ConfigError(_named(error.message, f"the gateway refused: {error.message}")) from None


def _named(path: str, words: str) -> str:
    option = next((option for field, option in _OPTIONS.items() if field in path), None)
    return words if option is None else f"{option}: {words}"
