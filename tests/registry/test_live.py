"""A running MCP server as a document: real programs and a real address, and nothing secret of either."""

import os
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.compose.live_servers import list_live_tools
from astra_mcp.errors import ConfigError, SourceError
from registry.documents.sources import Provenance
from registry.importers.running_server import LiveServer, LiveTarget, fetch_live

from deployed_workshop import RAW_SERVER, over_http
from relayed_servers import Desk

SECRET = "k-1234567890"


def raw(*eras: str, **env: str) -> LiveTarget:
    command = (sys.executable, "-S", str(RAW_SERVER), *eras, f"--key={SECRET}")
    return LiveTarget(command=command, env={"RAW_KEY": SECRET, **env})


@pytest.mark.parametrize(
    ("era", "name", "version"),
    [("handshake", "raw", "1"), ("modern", Path(sys.executable).name, None)],
)
async def test_a_program_is_asked_for_all_pages_of_its_tools(
    era: str, name: str, version: str | None
) -> None:
    document = await fetch_live(raw(era), list_live_tools)
    assert (document.name, document.version) == (name, version)
    assert (document.source, document.provenance) == ("live", Provenance.LIVE)
    assert [tool.name for tool in document.tools][:3] == ["count", "die", "hang"]
    assert len(document.tools) == 12
    assert document.tools[0].extra == {"title": "T"}
    assert document.origin == {"program": Path(sys.executable).name}
    assert SECRET not in repr(document)


async def test_a_server_at_an_address_is_named_as_it_names_itself() -> None:
    app = Desk("talkative").make().streamable_http_app()
    with anyio.fail_after(30):
        async with over_http(app) as url:
            headers = {"authorization": SECRET}
            target = LiveTarget(url=f"{url}?key={SECRET}", headers=headers)
            document = await fetch_live(target, list_live_tools)
    assert (document.name, document.version, document.key) == ("talkative", "7", url)
    assert document.origin == {"url": url}
    assert "ask" in [tool.name for tool in document.tools]
    assert SECRET not in repr(document)


async def test_a_given_name_names_the_document_for_ever() -> None:
    async def lister(target: LiveTarget) -> LiveServer:
        del target
        info: Any = {"name": "notes", "title": "Notes", "websiteUrl": "https://n.example/?k=1"}
        return LiveServer(tools=({"name": "a"}, "odd"), info=info, instructions="Write down.")

    own = LiveTarget(command=("notes-server", "--token", SECRET))
    named = LiveTarget(command=("notes-server",), name="my-notes")
    document = await fetch_live(own, lister)
    assert (document.key, document.name) == ("notes-server#notes", "Notes")
    assert document.description == "Write down."
    assert document.origin == {"program": "notes-server", "website": "https://n.example/"}
    assert [tool.name for tool in document.tools] == ["a", ""]
    document = await fetch_live(named, lister)
    assert (document.key, document.name) == ("my-notes", "my-notes")


async def test_a_program_that_cannot_be_started_is_named_without_its_arguments() -> None:
    target = LiveTarget(command=("/nowhere/notes-server", SECRET))
    with pytest.raises(SourceError, match=r"^upstream notes-server cannot be started") as caught:
        await fetch_live(target, list_live_tools)
    assert SECRET not in str(caught.value)


async def test_an_address_that_nobody_answers_at_is_named_without_its_query() -> None:
    target = LiveTarget(url=f"http://127.0.0.1:9/mcp?key={SECRET}")
    with pytest.raises(SourceError, match=r"^upstream http://127\.0\.0\.1:9/mcp cannot") as caught:
        await fetch_live(target, list_live_tools)
    assert SECRET not in str(caught.value)


async def test_a_program_that_ends_at_once_is_reported_with_its_last_words() -> None:
    with pytest.raises(SourceError, match="no licence"):
        await fetch_live(raw("handshake", DIE_AT_START="1"), list_live_tools)


async def test_a_server_that_does_not_answer_is_given_up() -> None:
    async def lister(target: LiveTarget) -> LiveServer:
        del target
        await anyio.sleep_forever()
        raise AssertionError

    target = LiveTarget(url=f"https://user:{SECRET}@slow.example/mcp?key={SECRET}")
    with pytest.raises(SourceError) as caught:
        await fetch_live(target, lister, seconds=0.01)
    assert str(caught.value) == "https://slow.example/mcp did not list its tools within 0.01 s"


async def test_nothing_of_the_program_is_left(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = f"""
import os, pathlib, runpy, sys
pathlib.Path({str(pid)!r}).write_text(str(os.getpid()))
sys.argv = ["raw", "handshake"]
runpy.run_path({str(RAW_SERVER)!r}, run_name="__main__")
"""
    await fetch_live(LiveTarget(command=(sys.executable, "-S", "-c", script)), list_live_tools)
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


@pytest.mark.parametrize("command", [(), ("",)])
def test_an_empty_command_is_refused(command: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="name a program"):
        LiveTarget(command=command)


@pytest.mark.parametrize("url", ["", "notes", "file:///etc/passwd"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="must begin with http"):
        LiveTarget(url=url)
