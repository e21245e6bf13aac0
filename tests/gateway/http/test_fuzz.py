"""Malformed and random requests to both planes of a gateway process.

Small versions of ``benchmarks/fuzz.py``.
"""

import json
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from by_hand import ACCEPT, HANDSHAKE, hello
from frame_runner import fuzz
from measured_programs import SUPPORT, run_program

CASES_PER_OPERATION = 10


def gateway_of(folder: Path) -> list[str]:
    """The command of a gateway over an echo."""
    return [sys.executable, "-P", str(SUPPORT / "echo_gateway.py"), str(folder / "home")]


@pytest.mark.parametrize("frames", [400, pytest.param(3000, marks=pytest.mark.volume)])
async def test_malformed_frames_break_nothing_and_right_ones_among_them_are_answered(
    tmp_path: Path, frames: int
) -> None:
    log = tmp_path / "log"
    with run_program(gateway_of(tmp_path), log=log) as program:
        key = str(program.hello["key"])
        outcome = await fuzz(program.url, key, frames=frames, lanes=8, seed=11)
        assert program.process.poll() is None
    assert outcome.violations == []
    assert outcome.frames == frames
    assert outcome.checked > frames // 20
    assert "Traceback" not in log.read_text(encoding="utf-8", errors="replace")


def test_a_client_that_resumes_a_stream_gets_a_new_one(tmp_path: Path) -> None:
    with (
        run_program(gateway_of(tmp_path)) as program,
        httpx2.Client(base_url=program.url, trust_env=False) as http,
    ):
        session = http.post("/mcp", json=hello(), headers=ACCEPT).headers["mcp-session-id"]
        headers = {**ACCEPT, "Mcp-Session-Id": session, "MCP-Protocol-Version": HANDSHAKE}
        with http.stream("GET", "/mcp", headers={**headers, "Last-Event-ID": "7"}) as stream:
            assert stream.status_code == 200
            assert stream.headers["content-type"].startswith("text/event-stream")


@pytest.mark.volume
def test_the_control_plane_does_what_its_openapi_document_says(tmp_path: Path) -> None:
    log, report = tmp_path / "log", tmp_path / "report.json"
    with run_program(gateway_of(tmp_path), log=log) as program:
        options = {
            "--header": f"Authorization: Bearer {program.hello['key']}",
            "--max-examples": str(CASES_PER_OPERATION),
            "--phases": "coverage,fuzzing",
            "--exclude-checks": "positive_data_acceptance",
            "--seed": "3",
            "--generation-database": "none",
            "--suppress-health-check": "all",
            "--report-json-path": str(report),
        }
        schemathesis = str(Path(sys.executable).with_name("st"))
        command = [schemathesis, "run", f"{program.url}/openapi.json", "--continue-on-failure"]
        command += [word for option in options.items() for word in option]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert report.exists(), done.stdout + done.stderr
    told = json.loads(report.read_text())
    assert told["complete"]
    assert told["failures"] == [], json.dumps(told["failures"])
    assert told["test_cases"]["generated"] > told["operations"]["tested"]
    assert "Traceback" not in log.read_text(encoding="utf-8", errors="replace")
