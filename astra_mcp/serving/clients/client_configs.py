"""The configuration formats of MCP clients: where each keeps its servers, and how an entry looks.

Knows clients' files; knows nothing of environments or of what a command line says.
"""

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import platformdirs

from astra_mcp.types import JsonObject

__all__ = ["FORMATS", "ClientFormat", "ClientName", "Entry", "Syntax", "http_entry", "stdio_entry"]

_KEY_VARIABLE = "ASTRA_MCP_API_KEY"
_KEY_INPUT = "astra-mcp-api-key"


class ClientName(StrEnum):
    """The clients that can be configured."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"
    QWEN_AGENT = "qwen-agent"
    INSPECTOR = "inspector"
    CODEX = "codex"
    GEMINI_CLI = "gemini-cli"
    WINDSURF = "windsurf"
    ZED = "zed"
    GOOSE = "goose"
    JSON = "json"
    """Any other client that takes an ``mcpServers`` object."""


class Syntax(StrEnum):
    """How a client's file is written."""

    JSON = "json"
    TOML = "toml"
    YAML = "yaml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One server in a client's configuration."""

    name: str
    config: JsonObject
    inputs: tuple[JsonObject, ...] = ()
    """Questions that the client asks its user (VS Code); ``config`` refers to them."""
    notes: tuple[str, ...] = ()
    """What the user must still do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFormat:
    """Where a client keeps its servers, and how."""

    title: str
    file: Callable[[], Path] | None
    """The file that ``--write`` merges into; None where the client has none."""
    servers_key: str = "mcpServers"
    syntax: Syntax = Syntax.JSON
    stdio_type: str | None = None
    """``type`` of an entry that starts a command; None where there is no such field."""
    http_type: str | None = None
    """``type`` of an entry with a URL."""
    url_key: str = "url"
    other_keys: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the client calls ``command`` and ``env``, where it has names of its own."""
    extra: JsonObject = field(default_factory=dict[str, Any])
    """Further fields of every entry."""
    is_named: bool = False
    """Whether an entry repeats its name."""
    takes_http: bool = True
    key_reference: str | None = None
    """How an entry refers to an API key that it does not hold itself."""
    key_field: str | None = None
    """The field that names the variable with the API key, where no header may refer to it."""
    key_note: str = "replace YOUR-API-KEY by the API key"
    """What the user must do about an API key."""
    next_step: str = ""

    def document(self, entry: Entry) -> JsonObject:
        """Render a whole file that holds one entry."""
        document: JsonObject = {self.servers_key: {entry.name: entry.config}}
        if entry.inputs:
            document["inputs"] = list(entry.inputs)
        return document

    def config(self, name: str, kind: str | None, fields: JsonObject) -> JsonObject:
        """Put an entry together in the client's own words."""
        config: JsonObject = {"type": kind} if kind else {}
        config |= {"name": name} if self.is_named else {}
        return config | {self.other_keys.get(key, key): fields[key] for key in fields} | self.extra


def stdio_entry(
    client: ClientFormat, name: str, arguments: list[str], environment: Mapping[str, str]
) -> Entry:
    """Describe a server that the client starts itself.

    The interpreter is named by its absolute path, since desktop clients have a PATH of their own.

    Args:
        client: Whose format.
        name: What the client calls the server.
        arguments: The ``astra-mcp`` command and its options.
        environment: Variables that the server needs.
    """
    interpreter = str(Path(sys.executable).absolute())
    # -P: a folder that the client happens to start in must not shadow our modules.
    fields: JsonObject = {"command": interpreter, "args": ["-P", "-m", "astra_mcp", *arguments]}
    if environment:
        fields["env"] = dict(environment)
    return Entry(name=name, config=client.config(name, client.stdio_type, fields))


def http_entry(client: ClientFormat, name: str, url: str, *, needs_key: bool) -> Entry:
    """Describe a server that is reached by its URL.

    Args:
        client: Whose format.
        name: What the client calls the server.
        url: Streamable HTTP endpoint.
        needs_key: The endpoint asks for an API key; the entry refers to it but never holds it.
    """
    fields: JsonObject = {client.url_key: url}
    if not needs_key:
        return Entry(name=name, config=client.config(name, client.http_type, fields))
    reference = client.key_reference or "YOUR-API-KEY"
    if client.key_field:
        fields[client.key_field] = _KEY_VARIABLE
    else:
        fields["headers"] = {"Authorization": f"Bearer {reference}"}
    config = client.config(name, client.http_type, fields)
    inputs: tuple[JsonObject, ...] = ()
    if _KEY_INPUT in reference:
        question = "API key of the astra-mcp gateway"
        inputs = (
            {"type": "promptString", "id": _KEY_INPUT, "description": question, "password": True},
        )
    return Entry(name=name, config=config, inputs=inputs, notes=(client.key_note,))


def _claude_desktop_file() -> Path:
    if sys.platform == "darwin":
        folder = Path.home() / "Library" / "Application Support"
    elif sys.platform == "win32":
        folder = Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    else:
        folder = platformdirs.user_config_path()
    return folder / "Claude" / "claude_desktop_config.json"


def _xdg_file(*parts: str) -> Path:
    """Locate a file of a program that keeps its settings in ``~/.config`` on macOS too."""
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming", *parts)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config", *parts)


def _codex_file() -> Path:
    return Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "config.toml"


def _inspector_file() -> Path:
    named = os.environ.get("MCP_CATALOG_PATH")
    return Path(named) if named else Path.home() / ".mcp-inspector" / "mcp.json"


_SET_VARIABLE = f"set {_KEY_VARIABLE} to the API key in the environment that the client starts in"
_GOOSE_FOLDER = ("Block", "goose", "config") if sys.platform == "win32" else ("goose",)

FORMATS: Mapping[ClientName, ClientFormat] = {
    ClientName.CLAUDE_DESKTOP: ClientFormat(
        title="Claude Desktop",
        file=_claude_desktop_file,
        takes_http=False,
        next_step="Quit Claude Desktop and start it again.",
    ),
    ClientName.CLAUDE_CODE: ClientFormat(
        title="Claude Code",
        file=lambda: Path.cwd() / ".mcp.json",
        stdio_type="stdio",
        http_type="http",
        key_reference=f"${{{_KEY_VARIABLE}}}",
        key_note=_SET_VARIABLE,
        next_step="Start `claude` in this folder and approve the server; /mcp shows its state.",
    ),
    ClientName.CURSOR: ClientFormat(
        title="Cursor",
        file=lambda: Path.home() / ".cursor" / "mcp.json",
        key_reference=f"${{env:{_KEY_VARIABLE}}}",
        key_note=_SET_VARIABLE,
        next_step="Restart Cursor; its settings list the server under MCP.",
    ),
    ClientName.VSCODE: ClientFormat(
        title="VS Code",
        file=lambda: Path.cwd() / ".vscode" / "mcp.json",
        servers_key="servers",
        stdio_type="stdio",
        http_type="http",
        key_reference=f"${{input:{_KEY_INPUT}}}",
        key_note="VS Code asks for the API key when it first connects",
        next_step="Open this folder in VS Code and run `MCP: List Servers`.",
    ),
    ClientName.QWEN_AGENT: ClientFormat(
        title="Qwen-Agent",
        file=None,
        http_type="streamable-http",
        next_step="Pass it to your agent: Assistant(function_list=[CONFIG], ...).",
    ),
    ClientName.INSPECTOR: ClientFormat(
        title="MCP Inspector",
        file=_inspector_file,
        stdio_type="stdio",
        http_type="streamable-http",
        next_step="Run `npx @modelcontextprotocol/inspector` and choose the server.",
    ),
    ClientName.CODEX: ClientFormat(
        title="Codex",
        file=_codex_file,
        servers_key="mcp_servers",
        syntax=Syntax.TOML,
        key_field="bearer_token_env_var",
        key_note=_SET_VARIABLE,
        next_step="Start `codex` anew; `codex mcp list` names the server.",
    ),
    ClientName.GEMINI_CLI: ClientFormat(
        title="Gemini CLI",
        file=lambda: Path.home() / ".gemini" / "settings.json",
        url_key="httpUrl",
        key_reference=f"${{{_KEY_VARIABLE}}}",
        key_note=_SET_VARIABLE,
        next_step="Start `gemini` anew; /mcp shows the server.",
    ),
    ClientName.WINDSURF: ClientFormat(
        title="Windsurf",
        file=lambda: Path.home() / ".codeium" / "windsurf" / "mcp_config.json",
        url_key="serverUrl",
        key_reference=f"${{env:{_KEY_VARIABLE}}}",
        key_note=_SET_VARIABLE,
        next_step="Refresh the MCP servers in Windsurf's settings of Cascade.",
    ),
    ClientName.ZED: ClientFormat(
        title="Zed",
        file=lambda: _xdg_file("Zed" if sys.platform == "win32" else "zed", "settings.json"),
        servers_key="context_servers",
        extra={"source": "custom"},
        next_step="Zed takes it at once; the settings of its agent panel show the server.",
    ),
    ClientName.GOOSE: ClientFormat(
        title="goose",
        file=lambda: _xdg_file(*_GOOSE_FOLDER, "config.yaml"),
        servers_key="extensions",
        syntax=Syntax.YAML,
        stdio_type="stdio",
        http_type="streamable_http",
        url_key="uri",
        other_keys={"command": "cmd", "env": "envs"},
        extra={"enabled": True, "timeout": 300},
        is_named=True,
        key_reference=f"${{{_KEY_VARIABLE}}}",
        key_note=_SET_VARIABLE,
        next_step="Start a new session: `goose session`.",
    ),
    ClientName.JSON: ClientFormat(
        title="any client that takes an mcpServers object",
        file=None,
        next_step="Put it where your client keeps its MCP servers.",
    ),
}
