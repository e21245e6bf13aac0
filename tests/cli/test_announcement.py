"""What ``serve`` prints once it serves."""

import json
from pathlib import Path

import pytest

from astra_mcp.compose.catalog import open_catalog
from astra_mcp.compose.settings import Settings, load_serving
from astra_mcp.serving.process import announcement
from astra_mcp.serving.process.deployed_look import look_at_deployed
from astra_mcp.serving.process.lifecycle import WorkerReady, ready_of
from gateway.edge.workers import OwnWorkerInfo

from deployed_workshop import raw_entry, write_config


@pytest.fixture(autouse=True)
def _home(home: Path) -> None:
    home.mkdir()


def serving(**given: object) -> Settings:
    """The settings of ``serve`` with these options."""
    return load_serving(given)


def announced(
    settings: Settings,
    *deployed: str,
    emulated: int = 0,
    login_path: str | None = None,
    as_json: bool = False,
) -> None:
    ready = WorkerReady(
        environments=2,
        tools=8,
        servers=2 + len(deployed) + emulated,
        deployed=deployed,
        emulated=emulated,
        login_path=login_path,
    )
    worker_info = OwnWorkerInfo(
        inner_urls=("http://127.0.0.1:8420",), public_url=settings.serve.public_url
    )
    with announcement.announced(settings, ready, worker_info, as_json=as_json):
        pass


def test_the_deployed_servers_that_were_taken_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    settings = serving(mcp_config="servers.json")
    announced(settings, "files", "time")
    shown = capsys.readouterr().out
    assert "2 of servers.json, starting: files, time\n" in shown
    assert "http://127.0.0.1:8420/servers/NAME/mcp" in shown
    announced(settings, *(f"s{n}" for n in range(9)))
    assert "9 of servers.json, starting: s0, s1, s2, s3, s4, …\n" in capsys.readouterr().out
    announced(settings)
    assert "0 of servers.json\n" in capsys.readouterr().out


def test_without_a_file_no_deployed_servers_are_spoken_of(
    capsys: pytest.CaptureFixture[str],
) -> None:
    announced(serving())
    assert "deployed" not in capsys.readouterr().out


def test_the_json_object_has_the_address_of_each_deployed_server(
    capsys: pytest.CaptureFixture[str],
) -> None:
    announced(serving(public_url="https://a.example/x"), "time", as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["deployed"] == [{"name": "time", "mcp_url": "https://a.example/x/servers/time/mcp"}]
    assert told["servers"] == 3


def test_the_link_into_the_pages_is_told_where_there_are_some(
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = "http://127.0.0.1:8420/login/abc"
    announced(serving(), login_path="/login/abc")
    assert f"{told} (works once" in capsys.readouterr().out
    announced(serving(), login_path="/login/abc", as_json=True)
    assert json.loads(capsys.readouterr().out)["login_url"] == told
    announced(serving(pages=False), as_json=True)
    assert json.loads(capsys.readouterr().out)["login_url"] is None


@pytest.mark.parametrize(("log_format", "notice"), [("text", "Ctrl-C stops it.\n"), ("json", "")])
def test_a_json_log_has_no_line_that_is_no_json(
    capsys: pytest.CaptureFixture[str], log_format: str, notice: str
) -> None:
    announced(serving(log_format=log_format))
    assert capsys.readouterr().err == notice


def test_emulated_servers_are_counted_apart_and_who_answers_is_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = serving()
    announced(settings, emulated=814)
    assert "814 of the registry, each alone (offline)\n" in capsys.readouterr().out
    announced(settings)
    assert "emulated servers" not in capsys.readouterr().out
    announced(settings, emulated=814, as_json=True)
    assert json.loads(capsys.readouterr().out)["emulated"] == 814


async def test_the_servers_of_the_file_are_counted_apart(tmp_path: Path) -> None:
    settings = serving(mcp_config=str(write_config(tmp_path, raw=raw_entry())))
    async with open_catalog(settings) as catalog:
        ready = ready_of(catalog)
    assert ready.deployed == ("raw",)
    assert ready.servers == ready.environments + 1
    assert ready.emulated == 0


async def test_broken_servers_are_named_with_the_reason_soon_after_the_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    broken = {"command": "/bin/sh", "args": ["-c", "echo no licence >&2; exit 3"]}
    file = write_config(tmp_path, raw=raw_entry(), poor=broken)
    told: list[str] = []
    async with open_catalog(serving(mcp_config=str(file))) as catalog:
        await look_at_deployed(catalog, told.append)
    assert told == ["deployed servers: 1 of 2 ready, broken: poor"]
    [warning] = [r.getMessage() for r in caplog.records if "is broken" in r.getMessage()]
    assert warning.startswith("deployed server poor is broken: ")
    assert "no licence" in warning


async def test_where_there_are_no_deployed_servers_nothing_is_said() -> None:
    told: list[str] = []
    async with open_catalog(serving()) as catalog:
        await look_at_deployed(catalog, told.append)
    assert told == []
