"""The MCP Inspector lists and calls over HTTP and stdio, in both eras."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from command_line import command

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(400)]  # the first run installs it

ERAS = ("legacy", "modern")
TOOL_ERROR = 5


def call(tool: str, **arguments: Any) -> tuple[str, ...]:
    """Spell a tool call as options of the Inspector."""
    given = json.dumps(arguments)
    return ("--method", "tools/call", "--tool-name", tool, "--tool-args-json", given)


@pytest.mark.parametrize("era", ERAS)
def test_inspector_lists_and_calls_over_http(inspector: Any, notebook_url: str, era: str) -> None:
    target = (notebook_url, "--transport", "http", "--protocol-era", era)
    listed = inspector.ask(*target, "--method", "tools/list")
    called = inspector.ask(*target, *call("remember", word="one"))
    assert [t["name"] for t in listed["tools"]][:2] == ["remember", "draw"]
    assert called["structuredContent"] == {"words": ["one"], "count": 1}
    assert called["isError"] is False


@pytest.mark.parametrize("era", ERAS)
def test_inspector_lists_and_calls_over_stdio(
    inspector: Any, notebook_folder: Path, era: str
) -> None:
    def ask(*method: str) -> Any:
        target = ("--", *command("run", str(notebook_folder)))
        return inspector.ask("--protocol-era", era, *method, *target)

    listed = ask("--method", "tools/list")
    called = ask(*call("remember", word="one"))
    assert [t["name"] for t in listed["tools"]][:2] == ["remember", "draw"]
    assert called["structuredContent"] == {"words": ["one"], "count": 1}


def test_inspector_shows_errors_of_tools(inspector: Any, notebook_url: str) -> None:
    target = (notebook_url, "--transport", "http")
    refused = inspector.run(*target, *call("refuse", word="one"))
    rejected = inspector.run(*target, *call("remember", word=""))
    assert refused.returncode == rejected.returncode == TOOL_ERROR
    assert "LookupError: the notebook has no page for one" in refused.stdout
    assert "Invalid arguments for remember" in rejected.stdout


@pytest.mark.parametrize("era", ERAS)
def test_inspector_reaches_every_environment_through_the_gateway(
    inspector: Any, gateway_url: str, era: str
) -> None:
    target = ("--transport", "http", "--protocol-era", era)
    everything = inspector.ask(f"{gateway_url}/mcp", *target, "--method", "tools/list")["tools"]
    alone = inspector.ask(
        f"{gateway_url}/servers/drone-show-winds/mcp", *target, "--method", "tools/list"
    )["tools"]
    assert alone
    names = {t["name"] for t in everything}
    if len(everything) > 2:
        assert {f"drone-show-winds__{t['name']}" for t in alone} <= names
    else:
        assert names == {"search_tools", "call_tool"}


@pytest.mark.parametrize("era", ERAS)
def test_inspector_starts_the_gateway_over_stdio(inspector: Any, era: str) -> None:
    target = ("--", *command("serve", "--stdio"))
    listed = inspector.ask("--protocol-era", era, "--method", "tools/list", *target)
    assert listed["tools"]


def test_inspector_finds_what_connect_wrote(inspector: Any, notebook_folder: Path) -> None:
    connect = command("connect", "inspector", "--write", "--server", str(notebook_folder))
    subprocess.run(connect, env=inspector.environment, check=True, timeout=60)
    listed = inspector.ask("--server", "notebook", "--method", "tools/list")
    assert [t["name"] for t in listed["tools"]][:2] == ["remember", "draw"]


@pytest.mark.smoke
def test_inspector_reaches_the_url_that_connect_wrote(inspector: Any, gateway_url: str) -> None:
    connect = command("connect", "inspector", "--write", "--url", gateway_url)
    subprocess.run(connect, env=inspector.environment, check=True, timeout=60)
    assert inspector.ask("--server", "astra-mcp", "--method", "tools/list")["tools"]
