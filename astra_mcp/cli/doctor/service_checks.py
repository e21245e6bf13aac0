"""What the doctor says of services: deployed servers, the registry's database, the endpoints of models.

Looks and changes nothing: servers are opened and asked for their tools alone, no table is made, and no
model is called.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import anyio
import httpx
from pydantic import SecretStr

from astra_mcp.compose.settings import Settings
from astra_mcp.errors import AstraError, ConfigError
from astra_mcp.llm.config import EndpointConfig, Role

if TYPE_CHECKING:  # what reaches servers takes a second to load
    from servers.deployed import DeployedStatus
    from servers.deployed.config import Entry

__all__ = ["Check", "State", "check_deployed", "check_models", "check_registry"]

ANSWER_SECONDS = 5.0
"""So long a service has for its answer."""
START_SECONDS = 60.0
"""So long all deployed servers have; one that takes longer is said to be starting."""


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARNING = "warning"
    """Works, with less than there could be."""
    MISSING = "missing"
    """Required, and not there."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    detail: str
    remedy: str = ""


def check_deployed(settings: Settings) -> Iterator[Check]:
    """Open every deployed server, and say of each that is not ready why."""
    file = settings.serve.mcp_config
    if file is None:
        return
    from servers.deployed.config import read_entries  # noqa: PLC0415 - a second to load

    try:
        entries = read_entries(file)
    except ConfigError as error:
        remedy = "correct the file, or take `mcp_config` out of astra.toml: `serve` needs it"
        yield Check("deployed servers", State.MISSING, str(error), remedy)
        return
    lost = [f"{e.name} ({e.server.command})" for e in entries.values() if not _is_startable(e)]
    statuses = anyio.run(_look_at_servers, entries, file)
    unwell = [status for status in statuses if status.condition != "ready"]
    detail = f"{file} names {len(entries)}; {len(statuses) - len(unwell)} ready"
    remedy = ""
    if lost:
        detail += f"; no such command: {', '.join(lost)}"
        remedy = "install the commands, or correct `command` or PATH"
    yield Check("deployed servers", State.WARNING if unwell else State.OK, detail, remedy)
    for status in unwell:
        detail = f"{status.condition}: {status.reason or f'no answer in {START_SECONDS:g} s'}"
        remedy = "correct its entry, or run its command by hand; the other servers work"
        yield Check(f"deployed server: {status.name}", State.WARNING, detail, remedy)


async def _look_at_servers(
    entries: "Mapping[str, Entry]", file: Path
) -> "tuple[DeployedStatus, ...]":
    """Open the servers with a home of their own, so that nothing is remembered of it."""
    from servers.deployed import open_deployed  # noqa: PLC0415 - a second to load

    with tempfile.TemporaryDirectory() as home:
        async with open_deployed(None, home=Path(home)) as servers:
            servers.publish(entries.values(), source=file)
            with anyio.move_on_after(START_SECONDS):
                await servers.check()
            return servers.statuses()


def _is_startable(entry: "Entry") -> bool:
    server = entry.server
    if server.command is None:
        return True
    # A path is taken from the server's folder, a name from its PATH.
    is_path = "/" in server.command
    command = str(Path(server.cwd or "") / server.command) if is_path else server.command
    return shutil.which(command, path=server.env.get("PATH", os.environ.get("PATH"))) is not None


def check_registry(settings: Settings) -> Check:
    """Look for the registry's database."""
    url = settings.registry_url
    path = Path(url.removeprefix("sqlite:///")) if url.startswith("sqlite:///") else None
    if path is not None and not path.exists():
        return Check("registry", State.OK, f"{path} (made at the first import)")
    try:
        found = anyio.run(_look_at_registry, url)
    except AstraError as error:
        remedy = "correct registry.url in astra.toml, or start the database; `serve` needs it"
        return Check("registry", State.MISSING, str(error), remedy)
    return Check("registry", State.OK, f"{path or _place(url)}: {found}")


async def _look_at_registry(url: str) -> str:
    # The database's libraries take a second to load.
    from registry.store.database import Deadlines, look_into  # noqa: PLC0415
    from registry.store.servers import count_servers  # noqa: PLC0415

    deadlines = Deadlines(wait_seconds=ANSWER_SECONDS, transaction_seconds=ANSWER_SECONDS)
    num_kept = await look_into(url, count_servers, deadlines=deadlines)
    if num_kept is None:
        return "its tables are made or migrated at the next use"
    return f"{num_kept} servers are kept"


def _place(url: str) -> str:
    """Name a database without its user and password."""
    parts = urlsplit(url)
    return f"{parts.path.lstrip('/')} at {parts.hostname or 'the local PostgreSQL server'}"


def check_models(settings: Settings) -> Iterator[Check]:
    """Look whether the endpoint of each configured role answers."""
    try:
        roles = _configured(settings)
    except AstraError as error:
        remedy = "correct the variable, or name the endpoint in astra.toml"
        yield Check("model endpoints", State.MISSING, str(error), remedy)
        return
    if not roles:
        detail = "none is configured; the agents that `rollout --help` names work without"
        remedy = "for `rollout --agent MODEL`, set ASTRA_MCP_MODELS__AGENT__BASE_URL"
        yield Check("model endpoints", State.WARNING, detail, remedy)
    faults: dict[tuple[str | None, SecretStr | None], str] = {}
    for role, config in roles.items():
        place = (config.base_url, config.api_key)
        if place not in faults:
            faults[place] = anyio.run(_fault_of_endpoint, config)
        yield _check_of(role, config, faults[place])


def _check_of(role: Role, config: EndpointConfig, fault: str) -> Check:
    name = f"model endpoint: {role.value}"
    shown = f"{config.model or 'any model'} at {config.base_url or 'OpenAI'}"
    if fault:
        remedy = f"start it, or correct models.{role.value} in astra.toml"
        return Check(name, State.WARNING, f"{shown}: {fault}", remedy)
    found = "answers" if config.base_url is not None else "has a key, and was not asked"
    return Check(name, State.OK, f"{shown} {found}")


def _configured(settings: Settings) -> Mapping[Role, EndpointConfig]:
    models = settings.models
    chat = {r: models.of_role(r) for r in Role if r is not Role.EMBEDDING}
    every: dict[Role, EndpointConfig] = {**chat, Role.EMBEDDING: models.of_embedding()}
    return {role: config for role, config in every.items() if config.model or config.base_url}


async def _fault_of_endpoint(config: EndpointConfig) -> str:
    """Ask an endpoint for its models, which costs nothing; says what is wrong, or nothing.

    OpenAI's own is not asked: a doctor talks to no address that nobody named.
    """
    if config.base_url is None:
        return "" if config.api_key else "no key is configured"
    key = config.api_key.get_secret_value() if config.api_key else None
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            async with httpx.AsyncClient(timeout=ANSWER_SECONDS) as http:
                answer = await http.get(f"{config.base_url.rstrip('/')}/models", headers=headers)
    except TimeoutError:
        return f"gave no answer within {ANSWER_SECONDS:g} s"
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return f"cannot be reached ({type(error).__name__})"
    if answer.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
        return f"refuses the key (HTTP {answer.status_code})" if key else "asks for a key"
    # An endpoint that cannot name its models may still answer for them.
    return f"fails (HTTP {answer.status_code})" if answer.is_server_error else ""
