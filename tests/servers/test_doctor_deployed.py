"""What the doctor says of deployed servers: how each is, and why."""

from pathlib import Path
from typing import Any

import pytest

from astra_mcp.cli.doctor import service_checks
from astra_mcp.cli.doctor.service_checks import Check, State, check_deployed
from astra_mcp.compose.settings import load_settings

from deployed_workshop import raw_entry, write_config


@pytest.fixture
def checks_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Looks at the servers of a file."""
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("ASTRA_MCP_SERVE__MCP_CONFIG", str(tmp_path / "mcp.json"))

    def look(**servers: dict[str, Any]) -> dict[str, Check]:
        write_config(tmp_path, **servers)
        return {check.name: check for check in check_deployed(load_settings())}

    return look


def test_servers_that_work_are_counted_and_nothing_is_left(checks_of: Any, tmp_path: Path) -> None:
    [check] = checks_of(raw=raw_entry()).values()
    assert (check.state, check.remedy) == (State.OK, "")
    assert check.detail.endswith("mcp.json names 1; 1 ready")
    assert not (tmp_path / "home").exists()


def test_one_that_is_broken_is_named_with_the_reason(checks_of: Any) -> None:
    checks = checks_of(
        raw=raw_entry(),
        poor={"command": "/bin/sh", "args": ["-c", "echo no licence >&2; exit 3"]},
        lost={"command": "no-such-tool"},
    )
    whole = checks["deployed servers"]
    assert whole.state is State.WARNING
    assert "names 3; 1 ready; no such command: lost (no-such-tool)" in whole.detail
    assert checks["deployed server: poor"].detail.startswith("broken: ")
    assert "no licence" in checks["deployed server: poor"].detail
    assert "no-such-tool" in checks["deployed server: lost"].detail
    assert "deployed server: raw" not in checks


def test_commands_are_looked_for_as_they_would_be_started(
    checks_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    tool = tmp_path / "bin" / "tool"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\nexit 3\n")
    tool.chmod(0o755)
    found = checks_of(
        named={"command": "tool", "env": {"PATH": str(tool.parent)}},
        placed={"command": "bin/tool", "cwd": str(tmp_path)},
        lost={"command": "tool"},  # not on the gateway's own PATH
    )["deployed servers"]
    assert found.detail.endswith("names 3; 0 ready; no such command: lost (tool)")


def test_a_slow_one_is_said_to_be_starting(checks_of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service_checks, "START_SECONDS", 0.2)
    checks = checks_of(slow={"command": "/bin/sh", "args": ["-c", "sleep 60"]})
    assert "no answer in 0.2 s" in checks["deployed server: slow"].detail


def test_a_wrong_file_is_named(checks_of: Any) -> None:
    checks = checks_of(wrong={"command": "tool", "isolation": "none"})
    assert checks["deployed servers"].state is State.MISSING
    assert "server 'wrong': isolation" in checks["deployed servers"].detail
