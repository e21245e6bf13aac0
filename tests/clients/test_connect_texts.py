"""Clients whose files are TOML or YAML: one entry comes in, and every other character stays."""

import json
import os
from collections.abc import Callable, Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import Result

from astra_mcp.cli.connect import command as connect_command
from astra_mcp.serving.clients.client_configs import FORMATS, ClientName, Entry, Syntax
from astra_mcp.serving.clients.config_texts import insert_entry, parse_text, render_document
from gateway.edge.discovery import RunningGateway, announce, claim_home
from registry.published.names import NameKind, write_names

Connect = Callable[..., Result]

CODEX = """\
# my own settings
model = "gpt-5"   # the good one

[mcp_servers.other]  # keep
command = "x"
[mcp_servers.other.env]
TOKEN = "[mcp_servers.astra-mcp]"

[profiles.fast]
text = '''
[not.a.table]
'''
"""
GOOSE = """\
# my own settings
GOOSE_MODEL: gpt-5  # the good one

extensions:
    # the developer's
    developer: {enabled: true, type: builtin}
    notes:
        type: stdio
        cmd: notes
# the end
GOOSE_MODE: auto
"""


@pytest.mark.parametrize(
    ("client", "text"),
    [(ClientName.CODEX, CODEX), (ClientName.GOOSE, GOOSE)],
)
def test_everything_else_is_as_it_was_written_also_when_the_entry_changes(
    connect: Connect, tmp_path: Path, client: ClientName, text: str
) -> None:
    form, file = FORMATS[client], tmp_path / "file"
    file.write_text(text, encoding="utf-8")
    before: Any = parse_text(text, form.syntax)
    for options in (("--url", "http://127.0.0.1:8420"), (), ("--url", "http://127.0.0.1:9")):
        done = connect(client, "--write", "--path", file, *options)
        assert done.exit_code == 0, done.output
        changed = file.read_text(encoding="utf-8")
        kept = iter(changed.splitlines())
        assert all(line in kept for line in text.splitlines())  # each, and in their order
        after: Any = parse_text(changed, form.syntax)
        entry = after[form.servers_key].pop("astra-mcp")
        assert after == before
        url = entry.get(form.url_key, "")
        assert url.startswith(f"{options[1]}/mcp?caller=") if options else not url
    backups = [path.read_text(encoding="utf-8") for path in tmp_path.glob("file.*.bak")]
    assert text in backups


def test_a_file_of_windows_keeps_its_ends_and_mark(connect: Connect, tmp_path: Path) -> None:
    file, before = tmp_path / "file", b"\xef\xbb\xbf" + CODEX.replace("\n", "\r\n").encode()
    file.write_bytes(before)
    assert connect("codex", "--write", "--path", file).exit_code == 0
    assert file.read_bytes().startswith(before)
    assert file.read_bytes().count(b"\n") == file.read_bytes().count(b"\r\n")


@pytest.mark.parametrize("text", ["", "\n", "extensions: {}\n", "extensions:\n", "a: 1"])
def test_a_file_without_servers_gets_its_first(text: str) -> None:
    entry = Entry(name="astra-mcp", config={"cmd": "x", "args": ["-P"], "enabled": True})
    before: Any = parse_text(text, Syntax.YAML)
    expected: Any = {**before, "extensions": {"astra-mcp": entry.config}}
    changed = insert_entry(text, Syntax.YAML, "extensions", entry, expected=expected)
    assert yaml.safe_load(changed) == expected


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(name=WORDS, command=WORDS, values=st.dictionaries(WORDS, WORDS, max_size=3))
def test_any_name_and_any_value_can_be_written(
    name: str, command: str, values: dict[str, str]
) -> None:
    config: dict[str, Any] = {"command": command, "args": [command, "-P"], "env": values}
    if not values:
        del config["env"]
    for syntax in (Syntax.TOML, Syntax.YAML):
        document: Any = {"servers": {name: config}}
        assert parse_text(render_document(document, syntax), syntax) == document


@pytest.fixture
def running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A gateway that serves the home, as far as other commands can tell; it publishes one server."""

    async def is_served(settings: object, url: str, server: str) -> bool:
        del settings, url
        return server == "drone-show-winds"

    monkeypatch.setattr(connect_command, "_is_served", is_served)
    gateway = RunningGateway(url="http://127.0.0.1:9999", pid=os.getpid(), version="1")
    with claim_home(tmp_path / "astra"), announce(tmp_path / "astra", gateway):
        yield gateway


def entry_of(done: Result, client: ClientName) -> tuple[Any, str]:
    told = json.loads(done.stdout)
    [entry] = told["config"][FORMATS[client].servers_key].values()
    return entry, " ".join(told["notes"])


@pytest.mark.usefixtures("running")
def test_where_a_gateway_runs_its_url_is_offered_and_said(connect: Connect) -> None:
    entry, notes = entry_of(connect("cursor", "--json"), ClientName.CURSOR)
    assert entry["url"].startswith("http://127.0.0.1:9999/mcp?caller=")
    assert "the gateway that runs at http://127.0.0.1:9999" in notes
    options = ("cursor", "--server", "drone-show-winds", "--json")
    entry, _ = entry_of(connect(*options), ClientName.CURSOR)
    assert "/servers/drone-show-winds/mcp?caller=" in entry["url"]


@pytest.mark.usefixtures("running")
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("cursor", "--stdio"), "starts a process of its own"),
        (("cursor", "--server", "tour-rebooking"), "starts a process of its own"),
        (("claude-desktop",), "takes no URL here"),
    ],
)
def test_who_cannot_or_will_not_use_it_starts_a_process(
    connect: Connect, options: tuple[str, ...], words: str
) -> None:
    entry, notes = entry_of(connect(*options, "--json"), ClientName.CURSOR)
    assert "astra_mcp" in entry["args"]
    assert words in notes


@pytest.fixture
def asking(tmp_path: Path) -> Generator[str]:
    """The URL of something that answers 401, as a gateway with API keys does who has no key."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(401)

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_the_entry_refers_to_a_key_where_the_gateway_asks_for_one(
    connect: Connect, asking: str
) -> None:
    entry, notes = entry_of(connect("cursor", "--url", asking, "--json"), ClientName.CURSOR)
    assert entry["headers"]["Authorization"] == "Bearer ${env:ASTRA_MCP_API_KEY}"
    assert "set ASTRA_MCP_API_KEY" in notes


def test_what_options_of_the_running_gateway_name_is_in_the_entry_of_a_process(
    connect: Connect, tmp_path: Path
) -> None:
    file, home = tmp_path / "servers.json", tmp_path / "astra"
    file.write_text('{"mcpServers": {"quay": {"command": "quay"}}}')
    gateway = RunningGateway(
        url="http://127.0.0.1:9", pid=os.getpid(), version="1", mcp_config=file
    )
    with claim_home(home), announce(home, gateway):
        entry, _ = entry_of(connect("claude-desktop", "--json"), ClientName.CLAUDE_DESKTOP)
        assert entry["args"][-2:] == ["--mcp-config", str(file)]
        done = connect("claude-desktop", "--server", "quay", "--json")
        assert entry_of(done, ClientName.CLAUDE_DESKTOP)[0]["args"][-2] == "--mcp-config"


def test_a_deployed_server_whose_file_is_not_known_is_called_so(
    connect: Connect, tmp_path: Path
) -> None:
    (tmp_path / "astra").mkdir()
    write_names(tmp_path / "astra", NameKind.DEPLOYED, ["quay"])
    done = connect("claude-desktop", "--server", "quay")
    assert "'quay' is a deployed server" in " ".join(done.stderr.split())
