"""``astra-mcp connect``: what it writes works as written, and harms nothing that was there."""

import json
import shutil
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from typer.testing import Result

from astra_mcp.cli.connect.client_files import merge_entry, read_config, write_config
from astra_mcp.serving.clients.client_configs import FORMATS, ClientName, Syntax, stdio_entry

from deployed_workshop import raw_entry
from tiers import AT_THE_GATE

DEADLINE_SECONDS = 60
DEAD = {"command": "/bin/false"}
"""An entry of a server that ends at once; it breaks no other."""
HTTP_CLIENTS = [name for name, form in FORMATS.items() if form.takes_http]
JSON_CLIENTS = [name for name in HTTP_CLIENTS if FORMATS[name].syntax is Syntax.JSON]
ONE_OF_EACH_FORM = [ClientName.VSCODE, ClientName.CODEX, ClientName.GOOSE]
WITH_FILE = [name for name, form in FORMATS.items() if form.file]

Connect = Callable[..., Result]


def written(result: Result) -> Any:
    """Give the object that ``--json`` printed."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def servers_in(client: ClientName, file: str | Path) -> Any:
    """Read the servers of a client's file, each in the words that most clients use."""
    form = FORMATS[client]
    ours = {their: our for our, their in form.other_keys.items()}
    servers: Any = read_config(Path(file), form.syntax)[form.servers_key]
    return {name: {ours.get(k, k): v for k, v in s.items()} for name, s in servers.items()}


async def tools_of(entry: Any) -> Sequence[str]:
    """Start a server exactly as configured, with no PATH, and list its tools."""
    environment = {"PATH": "", **entry.get("env", {})}
    command = StdioServerParameters(
        command=entry["command"], args=entry["args"], env=environment, cwd="/"
    )
    with anyio.fail_after(DEADLINE_SECONDS):
        async with Client(command, cache=None) as client:
            return [t.name for t in (await client.list_tools()).tools]


@pytest.mark.parametrize(
    "client",
    [c if c is ClientName.VSCODE else pytest.param(c, marks=AT_THE_GATE) for c in ONE_OF_EACH_FORM],
)
async def test_a_written_entry_starts_a_real_server_without_a_path(
    connect: Connect, notebook_folder: Path, tmp_path: Path, client: ClientName
) -> None:
    file = tmp_path / "config" / "file.json"
    connected = connect(client, "--server", notebook_folder, "--write", "--path", file)
    assert connected.exit_code == 0, connected.output
    entry = servers_in(client, file)["notebook"]
    assert Path(entry["command"]).is_absolute()
    assert entry["env"] == {"ASTRA_MCP_HOME": str(tmp_path / "astra")}
    assert (await tools_of(entry))[:2] == ["remember", "draw"]


async def test_without_a_name_all_of_the_settings_is_served_wherever_the_client_starts_the_entry(
    connect: Connect, notebook_folder: Path, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    shutil.copytree(notebook_folder, work / "mine" / "notebook")
    (work / "servers.json").write_text(
        json.dumps({"mcpServers": {"pages": raw_entry(), "dead": DEAD}})
    )
    (work / "astra.toml").write_text(
        'environments = ["mine"]\n[serve]\nmcp_config = "servers.json"\n', encoding="utf-8"
    )
    config = written(connect("claude-desktop", "--json"))["config"]
    (work / "astra.toml").unlink()
    tools = await tools_of(config["mcpServers"]["astra-mcp"])
    assert {"drone-show-winds__get_wind_window", "notebook__draw", "pages__count"} <= {*tools}
    assert not [name for name in tools if name.startswith("dead__")]


@pytest.mark.parametrize("client", WITH_FILE)
def test_each_client_is_written_where_it_looks(
    connect: Connect, tmp_path: Path, client: ClientName
) -> None:
    expected = {
        ClientName.CLAUDE_CODE: tmp_path / "work" / ".mcp.json",
        ClientName.CURSOR: tmp_path / ".cursor" / "mcp.json",
        ClientName.VSCODE: tmp_path / "work" / ".vscode" / "mcp.json",
        ClientName.INSPECTOR: tmp_path / ".mcp-inspector" / "mcp.json",
        ClientName.CODEX: tmp_path / ".codex" / "config.toml",
        ClientName.GEMINI_CLI: tmp_path / ".gemini" / "settings.json",
        ClientName.WINDSURF: tmp_path / ".codeium" / "windsurf" / "mcp_config.json",
        ClientName.ZED: tmp_path / ".config" / "zed" / "settings.json",
        ClientName.GOOSE: tmp_path / ".config" / "goose" / "config.yaml",
    }
    told = written(connect(client, "--server", "drone-show-winds", "--write", "--json"))
    file = Path(told["path"])
    if client in expected:
        assert file == expected[client]
    else:
        assert file.name == "claude_desktop_config.json"
        assert file.is_relative_to(tmp_path)
    assert servers_in(client, file)["drone-show-winds"]["args"][-1] == "drone-show-winds"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_printing_writes_nothing(connect: Connect, tmp_path: Path) -> None:
    result = connect("cursor", "--server", "drone-show-winds")
    assert result.exit_code == 0
    assert "drone-show-winds" in json.loads(result.stdout)["mcpServers"]
    assert str(tmp_path / ".cursor" / "mcp.json") in result.stderr
    assert not (tmp_path / ".cursor").exists()


@pytest.mark.parametrize("client", HTTP_CLIENTS)
@pytest.mark.parametrize("options", [(), ("--url", "http://127.0.0.1:8420")])
def test_writing_twice_changes_nothing(
    connect: Connect, tmp_path: Path, client: ClientName, options: Sequence[str]
) -> None:
    arguments = (client, *options, "--write", "--json", "--path", tmp_path / "file.json")
    first = written(connect(*arguments))
    content = (tmp_path / "file.json").read_bytes()
    second = written(connect(*arguments))
    assert (first["changed"], first["backup"]) == (True, None)
    assert (second["changed"], second["backup"]) == (False, None)
    assert (tmp_path / "file.json").read_bytes() == content
    assert len(list(tmp_path.glob("file.json*"))) == 1


async def test_a_url_gives_each_client_a_state_of_its_own(
    connect: Connect, gateway_url: str
) -> None:
    urls: list[str] = []
    for client in HTTP_CLIENTS:
        options = ("--url", gateway_url, "--server", "drone-show-winds", "--json")
        config = written(connect(client, *options))["config"]
        form = FORMATS[client]
        urls.append(config[form.servers_key]["drone-show-winds"][form.url_key])
    assert len({url.partition("?caller=")[2] for url in urls}) == len(HTTP_CLIENTS)
    async with Client(urls[0], cache=None) as connected:
        assert (await connected.list_tools()).tools


def test_everything_else_in_the_file_stays(connect: Connect, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    before = b'\xef\xbb\xbf{"theme": "\xe6\x9a\x97", "mcpServers": {"other": {"command": "x"}}}'
    file.write_bytes(before)
    file.chmod(0o640)
    told = written(connect("claude-desktop", "--write", "--json", "--path", file))
    document = json.loads(file.read_text(encoding="utf-8"))
    assert document["theme"] == "暗"
    assert document["mcpServers"]["other"] == {"command": "x"}
    assert "astra-mcp" in document["mcpServers"]
    assert Path(told["backup"]).read_bytes() == before
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_a_link_to_the_file_stays_a_link(connect: Connect, tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link.json").symlink_to(tmp_path / "real.json")
    written(connect("cursor", "--write", "--json", "--path", tmp_path / "link.json"))
    assert (tmp_path / "link.json").is_symlink()
    assert "astra-mcp" in servers_in(ClientName.CURSOR, tmp_path / "real.json")


@pytest.mark.parametrize(
    ("client", "content", "message"),
    [
        (ClientName.VSCODE, '{"servers": {} // mine\n}', "not plain JSON"),
        (ClientName.VSCODE, '{"servers": {},}', "not plain JSON"),
        (ClientName.VSCODE, '{"servers": {"a": {}, "a": {}}}', "stands twice"),
        (ClientName.VSCODE, '{"x": NaN}', "NaN"),
        (ClientName.VSCODE, '{"x": 1e999}', "1e999"),
        (ClientName.VSCODE, '{"x": "\\ud800"}', "surrogates"),
        (ClientName.VSCODE, "[]", "no JSON object"),
        (ClientName.VSCODE, '{"servers": []}', "servers is no object"),
        (ClientName.VSCODE, '{"servers": {"astra-mcp": {"command": "x"}}}', "not astra-mcp's"),
        (
            ClientName.VSCODE,
            '{"servers": {"astra-mcp": {"url": "http://[::1"}}}',
            "not astra-mcp's",
        ),
        (ClientName.VSCODE, "{" * 100_000, "not plain JSON"),
        (ClientName.ZED, '{\n  // mine\n  "theme": "x"\n}\n', "not plain JSON"),
        (ClientName.CODEX, "mcp_servers = {}\n", "not changed"),
        (ClientName.CODEX, "model = \n", "not plain TOML"),
        (ClientName.CODEX, '[mcp_servers.astra-mcp]\ncommand = "x"\n', "not astra-mcp's"),
        (ClientName.GOOSE, "extensions: {developer: {enabled: true}}\n", "not changed"),
        (ClientName.GOOSE, "extensions: [\n", "not plain YAML"),
        (ClientName.GOOSE, "[]\n", "no YAML object"),
    ],
)
def test_a_file_that_nothing_can_be_added_to_safely_is_left_as_it_is(
    connect: Connect, tmp_path: Path, client: ClientName, content: str, message: str
) -> None:
    file = tmp_path / "file"
    file.write_text(content, encoding="utf-8")
    result = connect(client, "--write", "--path", file)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "left as it is" in result.stderr
    assert file.read_text(encoding="utf-8") == content
    assert list(tmp_path.glob("file*")) == [file]


@pytest.mark.parametrize(
    ("path", "message"), [("/dev/zero", "no regular file"), ("blocked/mcp.json", "--path")]
)
def test_what_cannot_be_a_file_is_neither_read_nor_written(
    connect: Connect, path: str, message: str
) -> None:
    Path("blocked").touch()
    result = connect("cursor", "--write", "--path", path)
    assert result.exit_code == 2
    assert message in result.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("claude-desktop", "--url", "http://127.0.0.1:8420"), 2, "leave --url out"),
        (("qwen-agent", "--write"), 2, "--path"),
        (("cursor", "--url", "localhost:8420"), 2, "no URL of a gateway"),
        (("cursor", "--url", "http://[::1"), 2, "no URL of a gateway"),
        (("cursor", "--url", "http://host:99999/"), 2, "'99999' is no number up to 65535"),
        (("cursor", "--url", "http://user:pass@host/"), 2, "leave user names"),
        (("cursor", "--url", "http://a host/"), 2, "blanks"),
        (("cursor", "--url", "http://127.0.0.1:{prot}"), 2, "only {worker} and {port}"),
        (("cursor", "--stdio", "--url", "http://127.0.0.1:1"), 2, "give one"),
        (("cursor", "--server", "drone-show-wind"), 1, "drone-show-winds"),
        (("cursor", "--server", "./nothing"), 1, "no such folder"),
        (("emacs",), 2, "claude-desktop"),
    ],
)
def test_wrong_options_say_what_to_do(
    connect: Connect, arguments: Sequence[str], code: int, message: str
) -> None:
    result = connect(*arguments)
    assert result.exit_code == code
    assert message in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("client", JSON_CLIENTS)
def test_an_api_key_is_asked_for_and_never_written(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, client: ClientName
) -> None:
    monkeypatch.setenv("ASTRA_MCP_SERVE__API_KEYS", '["a-long-enough-secret"]')
    file = tmp_path / "file.json"
    file.write_text('{"inputs": [{"id": "theirs"}]}', encoding="utf-8")
    arguments = (client, "--url", "http://127.0.0.1:8420", "--write", "--json", "--path", file)
    told = written(connect(*arguments))
    assert written(connect(*arguments))["changed"] is False
    content = file.read_text(encoding="utf-8")
    assert "a-long-enough-secret" not in content + json.dumps(told)
    assert servers_in(client, file)["astra-mcp"]["headers"]["Authorization"].startswith("Bearer ")
    assert "API" in told["notes"][0]
    inputs = json.loads(content)["inputs"]
    assert inputs[0] == {"id": "theirs"}
    assert len(inputs) == (2 if client is ClientName.VSCODE else 1)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(
    document=st.dictionaries(st.text(), values, max_size=4),
    others=st.dictionaries(st.text(), values, max_size=4),
)
def test_merging_changes_one_entry_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, document: dict[str, Any], others: dict[str, Any]
) -> None:
    others.pop("mine", None)
    document["mcpServers"] = others
    file = tmp_path_factory.mktemp("merge") / "file.json"
    write_config(file, document)
    assert read_config(file) == document
    entry = stdio_entry(FORMATS[ClientName.CURSOR], "mine", ["serve", "--stdio"], {})
    merged = merge_entry(file, read_config(file), "mcpServers", entry)
    assert merged == {**document, "mcpServers": {**others, "mine": entry.config}}


def test_a_deployed_server_of_the_settings_is_connected_by_its_name(
    connect: Connect, tmp_path: Path
) -> None:
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"quay": {"command": "quay"}}}))
    settings = tmp_path / "work" / "astra.toml"
    settings.write_text(f'[serve]\nmcp_config = "{file}"\n')
    config = written(connect("claude-desktop", "--server", "quay", "--json"))["config"]
    [(name, entry)] = config["mcpServers"].items()
    assert name == "quay"
    words = ["serve", "--stdio", "--server", "quay", "--mcp-config", str(file)]
    assert entry["args"][-len(words) :] == words
    wrong = connect("claude-desktop", "--server", "quaj", "--json")
    assert wrong.exit_code != 0
    assert "quay" in wrong.output
