"""What standard error holds, and what it never does."""

import json
import logging
import warnings
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider

from astra_mcp.serving.process.logs import LIBRARIES, Redaction, log_to_stderr
from astra_mcp.tracing import client_span, current_trace_id, tracing_to
from gateway.api.settings import LogFormat

EPISODE = "0af7651916cd43dd8448eb211c80319c"
KEY = "a-control-key-of-these-tests"
log = logging.getLogger("astra_mcp.gateway")


@pytest.fixture(autouse=True)
def _warnings_as_before() -> Generator[None]:
    show = warnings.showwarning
    yield
    logging.captureWarnings(capture=False)
    warnings.showwarning = show


def rows(captured: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in captured.readouterr().err.splitlines()]


def test_an_event_is_one_json_object_with_what_is_known_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_stderr("json", worker=2)
    log.warning("episode %s: a session did not close", EPISODE[:6])
    log.error("it failed", extra={"server": "files", "episode": EPISODE})
    first, second = rows(capsys)
    assert first["time"].endswith("+00:00")
    assert {k: v for k, v in first.items() if k != "time"} == {
        "level": "warning",
        "logger": "astra_mcp.gateway",
        "message": "episode 0af765: a session did not close",
        "episode": "0af765",
        "worker": 2,
    }
    assert (second["level"], second["server"], second["episode"]) == ("error", "files", "0af765")


def test_an_event_within_a_call_names_its_trace(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("json")
    provider = TracerProvider(shutdown_on_exit=False)
    with tracing_to(provider), client_span("tools/call", "add", {}):
        log.warning("within")
        trace_id = current_trace_id()
    log.warning("without")
    within, without = rows(capsys)
    assert within["trace_id"] == trace_id
    assert "trace_id" not in without


@pytest.mark.parametrize("log_format", ["text", "json"])
def test_an_exception_is_told_without_its_secrets(
    capsys: pytest.CaptureFixture[str], log_format: LogFormat
) -> None:
    log_to_stderr(log_format, secrets=[KEY])
    try:
        int(f"{KEY} of {EPISODE}")
    except ValueError:
        log.exception("a call broke")
    written = capsys.readouterr().err
    assert "Traceback" in written
    assert "ValueError" in written
    assert KEY not in written
    assert EPISODE not in written
    if log_format == "json":
        assert "Traceback" in json.loads(written)["exception"]


@pytest.mark.parametrize("log_format", ["text", "json"])
@pytest.mark.parametrize(
    "secret",
    [
        "http://127.0.0.1:1/mcp?caller=hidden-token",
        "http://127.0.0.1:1/mcp#hidden-token",
        "https://me:hidden-token@example.org/x",
        "Authorization: Bearer hidden-token",
        "{'authorization': 'Basic hidden-token'}",
    ],
)
def test_urls_and_headers_lose_what_opens_something(
    *, capsys: pytest.CaptureFixture[str], log_format: LogFormat, secret: str
) -> None:
    log_to_stderr(log_format)
    log.warning("sent %s", secret)
    assert "hidden-token" not in capsys.readouterr().err


@given(st.text("0123456789abcdef", min_size=16, max_size=64), st.text(max_size=20))
def test_no_long_id_passes(episode: str, around: str) -> None:
    shown = Redaction()(f"{around}/{episode}/mcp {episode[:8]}-1234-1234-1234-{episode[:12]}")
    assert episode not in shown
    assert f"{episode[:8]}-1234-1234-1234-{episode[:12]}" not in shown


@given(st.lists(st.text(st.characters(categories=["L", "N", "P"]), min_size=16), min_size=1))
def test_no_known_secret_passes(secrets: list[str]) -> None:
    shown = Redaction(secrets)(f"<{'> <'.join(secrets)}>")
    assert [secret for secret in secrets if secret in shown] == []


def test_a_long_message_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("json")
    log.warning("x" * 100_000)
    assert len(rows(capsys)[0]["message"]) < 10_000


def test_a_line_end_in_a_message_makes_no_second_event(capsys: pytest.CaptureFixture[str]) -> None:
    log_to_stderr("text")
    log.warning("no tool is named %s", "x\n2026-01-01 WARNING forged \x1b[31m")
    (line,) = capsys.readouterr().err.splitlines()
    assert "x?2026-01-01 WARNING forged ?[31m" in line


def test_libraries_are_heard_from_a_warning_on_whatever_the_root_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log_to_stderr("json")
    logging.getLogger().setLevel(logging.DEBUG)
    for name in LIBRARIES:
        library = logging.getLogger(f"{name}.part")
        library.debug("quiet")
        library.info("quiet")
        library.warning("heard")
    assert [row["message"] for row in rows(capsys)] == ["heard"] * len(LIBRARIES)


def test_a_python_warning_is_an_object_too(capsys: pytest.CaptureFixture[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        log_to_stderr("json")
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        assert rows(capsys)[0]["logger"] == "py.warnings"


def test_requests_are_logged_on_demand_alone(capsys: pytest.CaptureFixture[str]) -> None:
    access = logging.getLogger("astra_mcp.access")
    log_to_stderr("json", verbose=False)
    access.info("POST /episodes/0af765…/mcp 200 1.0 ms")
    log_to_stderr("json", verbose=True)
    access.info("POST /episodes/0af765…/mcp 200 1.0 ms")
    (row,) = rows(capsys)
    assert (row["logger"], row["episode"]) == ("astra_mcp.access", "0af765")
