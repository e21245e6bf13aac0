"""One gateway serves a home, and other commands find it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from astra_mcp.errors import GatewayError
from gateway.edge.discovery import RunningGateway, announce, claim_home, find_gateway

HERE = RunningGateway(url="http://127.0.0.1:1", pid=os.getpid(), version="1")


def test_a_gateway_is_found_while_it_runs(tmp_path: Path) -> None:
    assert find_gateway(tmp_path) is None
    with claim_home(tmp_path), announce(tmp_path, HERE):
        assert find_gateway(tmp_path) == HERE
    assert find_gateway(tmp_path) is None
    assert [path.name for path in tmp_path.iterdir()] == ["gateway.lock"]


def test_what_a_killed_gateway_left_behind_is_not_taken_for_one(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = HERE.model_copy(update={"pid": gone.pid})
    (tmp_path / "gateway.json").write_text(left.model_dump_json())
    assert find_gateway(tmp_path) is None
    (tmp_path / "gateway.json").write_text('{"url": ')
    assert find_gateway(tmp_path) is None


def test_a_stopping_gateway_does_not_remove_the_word_of_a_newer_one(tmp_path: Path) -> None:
    newer = HERE.model_copy(update={"pid": os.getppid()})
    with claim_home(tmp_path):
        with announce(tmp_path, HERE):
            (tmp_path / "gateway.json").write_text(newer.model_dump_json())
        assert find_gateway(tmp_path) == newer


def test_another_process_with_the_number_of_a_killed_gateway_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    with claim_home(tmp_path):
        (tmp_path / "gateway.json").write_text(HERE.model_dump_json())
        assert find_gateway(tmp_path) == HERE
    assert find_gateway(tmp_path) is None


def test_a_home_is_claimed_by_one_at_a_time(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with claim_home(home):
        with announce(home, HERE), pytest.raises(GatewayError, match="process"), claim_home(home):
            pass
        with pytest.raises(GatewayError, match="ASTRA_MCP_HOME"), claim_home(home):
            pass
    with claim_home(home):
        pass


def test_a_home_that_cannot_be_made_is_an_error_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(GatewayError, match="choose another"), claim_home(tmp_path / "file" / "x"):
        pass


def test_a_home_that_takes_no_file_is_named_and_nothing_half_written_is_left(
    tmp_path: Path,
) -> None:
    (tmp_path / "gateway.json").mkdir()  # stands for a disk that does not take the file
    with pytest.raises(GatewayError, match=r"gateway\.json cannot be written .*free disk space"):
        announce(tmp_path, HERE).__enter__()
    assert [path.name for path in tmp_path.iterdir()] == ["gateway.json"]
