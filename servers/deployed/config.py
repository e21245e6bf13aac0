"""The ``mcpServers`` file: which deployed servers there are, and how they are reached.

The format that desktop clients use, with a few keys of our own. Secrets come as ``${VARIABLE}`` from the
environment and never appear in a message. Reads a file; starts nothing.
"""

import codecs
import difflib
import json
import logging
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.home import user_path
from astra_mcp.types import canonical_json
from servers.deployed.transports.messages import as_object
from servers.deployed.transports.stdio import SESSION_DIR

__all__ = ["Entry", "Isolation", "ServerEntry", "read_entries"]

Isolation = Literal["episode", "shared"]
Transport = Literal["stdio", "streamable-http", "http", "sse"]

_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,62}[A-Za-z0-9])?")
_VARIABLE: Final = re.compile(r"\$\{([^}]*)\}")
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE: Final = re.compile(r"[\x20-\x7e\x80-\xff\t]*")
_RESERVED_HEADERS: Final = frozenset(
    {"accept", "content-type", "content-length", "host", "mcp-session-id", "mcp-protocol-version"}
)
_OF_COMMAND: Final = frozenset({"args", "env", "cwd", "max_processes", "queue_seconds"})
_OF_URL: Final = frozenset({"headers"})
_URL_ELSEWHERE: Final = ("serverUrl", "httpUrl")
"""What other clients call ``url``."""
_SECRET_LENGTH = 6
"""Shorter values are no secrets, and replacing them would garble messages."""

_log = logging.getLogger(__name__)


class ServerEntry(BaseModel):
    """One server of the file, as it is written there."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    command: str | None = Field(default=None, min_length=1)
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict[str, str])
    cwd: str | None = None
    url: str | None = None
    headers: dict[str, str] = Field(default_factory=dict[str, str])
    type: Transport | None = None
    isolation: Isolation = "episode"
    """``episode``: each episode has a process or session of its own; ``shared``: one serves all."""
    max_processes: int = Field(default=32, ge=1, le=4096)
    """Processes of this server at once; further episodes wait for one to end."""
    queue_seconds: float = Field(default=30.0, gt=0, le=3600)
    """How long they wait."""
    timeout_seconds: float = Field(default=30.0, gt=0, le=600)
    """For its start and its handshake."""
    episode_end_url: str | None = Field(default=None, exclude_if=lambda url: url is None)
    """Gets one POST with the key of each episode that has ended, and how."""
    disabled: bool = False

    @model_validator(mode="before")
    @classmethod
    def _with_url(cls, raw: object) -> object:
        """Take the address under the names that other clients give it."""
        given = as_object(raw) or {}
        names = [name for name in ("url", *_URL_ELSEWHERE) if name in given]
        if len(names) > 1:
            raise ValueError(f"`{names[0]}` and `{names[1]}` both name the address: leave one out")
        return {**given, "url": given[names[0]]} if names else raw

    @model_validator(mode="after")
    def _is_one_kind(self) -> Self:
        if (self.command is None) == (self.url is None):
            msg = "give either `command` (a process) or `url` (a server that runs elsewhere)"
            raise ValueError(msg)
        if self.command is not None and self.type not in (None, "stdio"):
            msg = f"`type` {self.type!r} belongs to a `url`: leave it out beside `command`"
            raise ValueError(msg)
        if self.url is not None and self.type == "stdio":
            raise ValueError("`type` 'stdio' belongs to a `command`: leave it out beside `url`")
        own, foreign = ("command", _OF_URL) if self.url is None else ("url", _OF_COMMAND)
        for name in sorted(foreign & self.model_fields_set):
            if getattr(self, name):  # an empty one does no harm, and some clients write it
                raise ValueError(f"`{name}` has no meaning beside `{own}`: leave it out")
        return self


@dataclass(frozen=True)
class Entry:
    """One server of the file, ready to use: variables expanded."""

    name: str
    server: ServerEntry
    secrets: tuple[str, ...]
    """What must not appear in a message or log."""

    @cached_property
    def config_hash(self) -> str:
        """Of everything that is configured; secrets go in as part of the digest only."""
        document = {"name": self.name, **self.server.model_dump(mode="json")}
        return sha256(canonical_json(document)).hexdigest()

    def redact(self, text: str) -> str:
        """Take the entry's secrets out of a text."""
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text


def read_entries(path: Path, environ: Mapping[str, str] | None = None) -> dict[str, Entry]:
    """Read the servers of a file, by name; disabled ones are left out.

    Args:
        path: Of the JSON file.
        environ: Where ``${VARIABLE}`` comes from; None takes this process's environment.

    Raises:
        ConfigError: The file cannot be read, or an entry is wrong; names server, field and remedy.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    text = text.removeprefix(codecs.BOM_UTF8)
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"{path} is no JSON: {error}") from None
    _refuse_repeated_keys(path, text)
    members = as_object(document)
    servers = as_object(members.get("mcpServers")) if members is not None else None
    if servers is None:
        remedy = (
            'rename "servers" to "mcpServers"'
            if members is not None and "servers" in members
            else 'write {"mcpServers": {"NAME": {"command": ...}}}'
        )
        raise ConfigError(f'{path}: "mcpServers" is missing: {remedy}')
    variables = os.environ if environ is None else environ
    entries = {name: _entry(path, name, raw, variables) for name, raw in servers.items()}
    known = {*ServerEntry.model_fields, *_URL_ELSEWHERE}
    foreign = {name: sorted((as_object(raw) or {}).keys() - known) for name, raw in servers.items()}
    named = "; ".join(
        f"{name}: {', '.join(map(_with_closest, keys))}" for name, keys in foreign.items() if keys
    )
    if named:
        _log.warning("%s: keys that are not known here are passed over (%s)", path, named)
    return {name: entry for name, entry in entries.items() if not entry.server.disabled}


def _refuse_repeated_keys(path: Path, text: bytes) -> None:
    """Of two members with one name JSON keeps the last, so that a server would vanish without a word."""

    def check(members: list[tuple[str, object]]) -> None:
        seen: set[str] = set()
        for key, _ in members:
            if key in seen:
                raise ConfigError(f"{path}: the key {key!r} stands twice in one object: rename one")
            seen.add(key)

    json.loads(text, object_pairs_hook=check)


def _with_closest(key: str) -> str:
    """Name a key that is not known, and the one of ours that may have been meant."""
    close = difflib.get_close_matches(key, list(ServerEntry.model_fields), n=1, cutoff=0.8)
    return f"{key} (did you mean {close[0]}?)" if close else key


def _entry(path: Path, name: str, raw: object, environ: Mapping[str, str]) -> Entry:
    where = f"{path}: server {name!r}"
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{where}: a name is part of a URL: use up to 64 of A-Z a-z 0-9 . _ -, "
            "a letter or digit first and last"
        )
    if "__" in name:
        msg = f"{where}: `__` separates server and tool in the names of tools: rename the server"
        raise ConfigError(msg)
    try:
        server = ServerEntry.model_validate(raw, strict=False)
    except ValidationError as error:
        faults = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'entry'}: {fault_words(e['type'], e['msg'])}"
            for e in error.errors(include_url=False, include_input=False)
        )
        raise ConfigError(f"{where}: {faults}") from None
    if server.disabled:
        return Entry(name, server, ())
    return _expanded(where, name, server, environ)


def _expanded(where: str, name: str, server: ServerEntry, environ: Mapping[str, str]) -> Entry:
    """Put in what ``${VARIABLE}`` stands for, and check what only then can be checked."""
    secrets: set[str] = set()

    def expand(field: str, text: str) -> str:
        def one(match: re.Match[str]) -> str:
            variable = match.group(1)
            if variable == SESSION_DIR and server.command is not None:
                return match.group(0)  # known once the process starts
            value = _value_of(f"{where}: {field}", variable, environ)
            secrets.add(value)
            return value

        return _VARIABLE.sub(one, text)

    changes: dict[str, Any] = {
        "args": tuple(expand("args", arg) for arg in server.args),
        "env": {k: expand(f"env.{k}", v) for k, v in server.env.items()},
        "headers": {k.lower(): expand(f"headers.{k}", v) for k, v in server.headers.items()},
    }
    if server.url is not None:
        changes["url"] = expand("url", server.url)
        _check_url(where, changes["url"])
    if server.episode_end_url is not None:
        changes["episode_end_url"] = expand("episode_end_url", server.episode_end_url)
        _check_url(f"{where}: episode_end_url", changes["episode_end_url"])
    if server.cwd is not None:
        changes["cwd"] = str(user_path(Path(server.cwd)))
        if not Path(changes["cwd"]).is_dir():
            raise ConfigError(f"{where}: cwd: {server.cwd} is no folder")
    _check_headers(where, changes["headers"])
    # Written out or not, whatever stands in a header or in the environment of a server may be a secret.
    secrets |= {*changes["env"].values(), *changes["headers"].values()}
    hidden = sorted((s for s in secrets if len(s) >= _SECRET_LENGTH), key=len, reverse=True)
    return Entry(name, server.model_copy(update=changes), tuple(hidden))


def _value_of(where: str, text: str, environ: Mapping[str, str]) -> str:
    """Look up ``NAME``, or ``env:NAME`` as some clients write it."""
    variable = text.removeprefix("env:")
    if not _VARIABLE_NAME.fullmatch(variable):
        raise ConfigError(
            f"{where}: ${{{text}}} belongs to another client: "
            "write ${NAME}, the name of an environment variable, or the value itself"
        )
    if variable not in environ:
        msg = f"{where}: the environment variable {variable} is not set: set it before the gateway starts"
        raise ConfigError(msg)
    return environ[variable]


def _check_url(where: str, url: str) -> None:
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a wrong port, a bracket left open
        is_whole = False
    if not is_whole or not url.isprintable() or " " in url:
        raise ConfigError(f"{where}: url: write a full address, such as https://example.com/mcp")


def _check_headers(where: str, headers: Mapping[str, str]) -> None:
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name):
            raise ConfigError(f"{where}: headers: {name!r} is no name of an HTTP header")
        if name in _RESERVED_HEADERS:
            raise ConfigError(f"{where}: headers.{name} is set by the protocol: leave it out")
        if not _HEADER_VALUE.fullmatch(value):
            raise ConfigError(f"{where}: headers.{name} holds a character that no header may hold")
