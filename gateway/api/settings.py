"""Where and how a gateway listens, under which URLs others reach it, and how its episodes fail by default.

The section ``serve`` of the settings, and the rules of its public URL; knows neither files nor variables.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal, Self, cast
from urllib.parse import SplitResult, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SecretStr,
    ValidationInfo,
    field_validator,
    model_validator,
)

from astra_mcp.home import user_path
from astra_mcp.text.json_bounds import MAX_VALUES
from astra_mcp.types import FrozenModel

__all__ = [
    "DEFAULT_PORT",
    "DEFAULT_RATE",
    "FIRST",
    "FailureScope",
    "Interactive",
    "LogFormat",
    "ServeSettings",
    "public_base",
    "public_url_fault",
]

DEFAULT_RATE = 0.2
"""Source: ASTRA sec. 2.1.4, of emulated calls."""
FIRST = 0
"""The worker that answers at the gateway's own address and has the interactive endpoints."""
DEFAULT_PORT = 8420
_MAX_WORKERS = 256
_MAX_PORT = 65535
LogFormat = Literal["text", "json"]

_ALL, _NONE = "all", "none"
_FORM = "write all, none, or the names of servers with commas between them"


def _read(given: object) -> Literal["all"] | tuple[str, ...]:
    """Take a list, or the text that options and variables hold."""
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, list | tuple):
        raise ValueError(_FORM)  # noqa: TRY004 - only such a one is a fault of the settings
    named = [str(part).strip() for part in cast("Sequence[object]", parts)]
    if named == [_ALL]:
        return _ALL
    if named in ([], [_NONE]):
        return ()
    if not all(named) or not {_ALL, _NONE}.isdisjoint(named):
        raise ValueError(_FORM)
    return tuple(dict.fromkeys(named))


Interactive = Annotated[Literal["all"] | tuple[str, ...], BeforeValidator(_read)]
"""The servers that interactive endpoints show, now or once they are published; an empty list is none."""


class FailureScope(StrEnum):
    """Which episodes fail where their requests do not say."""

    EMULATED = "emulated"
    """Those of which a server of their own is emulated."""
    ALL = "all"
    """All; interactive endpoints are no episodes."""


def public_base(public_url: str, worker: int, port: int) -> str:
    """Name the base URL of a worker behind a reverse proxy.

    Args:
        public_url: With ``{worker}`` or ``{port}`` in its port or path, filled in for every worker;
            without, the first worker's, and the others are at ``/workers/INDEX`` below it.
        worker: From 0.
        port: Where the worker listens.
    """
    base = public_url.rstrip("/")
    filled = base.replace("{worker}", str(worker)).replace("{port}", str(port))
    return filled if filled != base or worker == FIRST else f"{base}/workers/{worker}"


def public_url_fault(public_url: str, workers: int = _MAX_WORKERS) -> str | None:
    """Say what is wrong with a public URL, or None.

    Args:
        public_url: See :func:`public_base`.
        workers: How many need an address.
    """
    last = max(workers - 1, FIRST)
    try:
        given = urlsplit(public_url)
        parts = urlsplit(public_base(public_url, last, _MAX_PORT))
    except ValueError as error:
        return f"it is no URL ({error})"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "write http://HOST or https://HOST, with a port and a path where the proxy has them"
    if "{" in (given.hostname or ""):
        return (
            "put {worker} or {port} into the port or the path: all workers need one host name, so "
            "that a key is never sent to another host"
        )
    if parts.query or parts.fragment or "@" in parts.netloc or re.search(r"\s", parts.netloc):
        return "leave user names, blanks, '?' and '#' out"
    if "{" in parts.netloc + parts.path:
        return "only {worker} and {port} can be filled in"
    return _port_fault(given, parts, last)


def _port_fault(given: SplitResult, filled: SplitResult, last: int) -> str | None:
    try:
        filled.port  # noqa: B018 - reading it checks it
    except ValueError:
        port = filled.netloc.rpartition(":")[2]
    else:
        return None
    if "{" not in given.netloc:
        return f"the port {port!r} is no number up to {_MAX_PORT}"
    return (
        f"the port of worker {last} would be {port!r}, which is no number up to {_MAX_PORT}: write "
        "{port} alone as the port, or put {worker} into the path"
    )


class ServeSettings(FrozenModel):
    """Where and how the gateway listens."""

    host: str = "127.0.0.1"
    port: int = Field(default=DEFAULT_PORT, ge=0, le=_MAX_PORT)
    api_keys: tuple[SecretStr, ...] = ()
    """Keys that open the interactive endpoints; required on an address that is not loopback."""
    allowed_hosts: tuple[str, ...] = ()
    """Further ``Host`` values to accept, besides the loopback names and the bound address."""
    max_body_bytes: int = Field(default=4 << 20, ge=1024)
    max_body_values: int = Field(default=MAX_VALUES, ge=1024)
    """Names and values that one body may hold."""
    max_episodes: int = Field(default=10_000, ge=1)
    """Of each worker."""
    mcp_config: Annotated[Path, AfterValidator(user_path)] | None = None
    """An ``mcpServers`` file; its servers are published beside the environments."""
    interactive: Interactive = "all"
    """What interactive endpoints show; episodes can be opened of every server."""
    workers: int = Field(default=1, ge=1, le=_MAX_WORKERS)
    """Processes that share the episodes; above 1 a supervisor starts and restarts them."""
    worker_port: int | None = Field(default=None, ge=1, le=_MAX_PORT)
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
    pages: bool = True
    """Whether people can look at what runs here in a browser, with a link that works once."""

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
            raise ValueError(f"{taken}, and ports end at {_MAX_PORT}: set a lower worker_port")
        if self.worker_port <= self.port <= last:
            raise ValueError(
                f"{taken}, and port {self.port} is the first worker's: set worker_port to "
                f"{self.port + 1}, or leave it out for free ones"
            )
        return self
