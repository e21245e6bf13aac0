"""``astra-mcp open`` where there is no gateway, and how it hands a link to a browser."""

import stat
import webbrowser
from pathlib import Path

import pytest

from astra_mcp.cli import open as opening

from command_line import Cli


def test_without_a_gateway_it_says_how_to_start_one(tmp_path: Path) -> None:
    done = Cli(tmp_path / "home").run("open")
    assert done.returncode == 2
    assert "astra-mcp serve" in done.stderr


def test_a_link_stands_in_a_file_of_the_user_alone_and_on_no_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def hear(url: str) -> bool:
        opened.append(url)
        return True

    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path))
    monkeypatch.setattr(webbrowser, "open", hear)
    file = tmp_path / "open.html"
    file.write_text("an older link")
    file.chmod(0o644)
    for _ in range(2):
        assert opening.show("http://127.0.0.1:8420/login/abc?x=1&y=2")
    assert opened == [file.as_uri()] * 2
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "url=http://127.0.0.1:8420/login/abc?x=1&amp;y=2" in file.read_text()
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "none" / "home"))
    assert not opening.show("http://127.0.0.1:8420/login/abc")
