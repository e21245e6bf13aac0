"""Ids, keys and secrets in logs and answers (session ids listed in errors)."""

import json
import logging
import sys
from collections.abc import Generator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.serving.process.logs import LIBRARIES, JsonLines, Redaction
from astra_mcp.testing.gateway import CONTROL_KEY

API_KEY = "an-api-key-that-nobody-guesses"
HEADER = "the-header-of-the-file"
VARIABLE = "the-variable-of-the-file"
NOISY = "import os, sys; sys.stderr.write('my key is ' + os.environ['TOKEN'] + '\\n'); sys.exit(3)"


@contextmanager
def logging_to(handler: logging.StreamHandler[StringIO]) -> Generator[StringIO]:
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield handler.stream
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
def logged() -> Generator[StringIO]:
    """What our own loggers write at the lowest level, before anything is taken out of it."""
    handler = logging.StreamHandler(StringIO())
    handler.setFormatter(logging.Formatter("%(name)s %(message)s"))
    handler.addFilter(lambda record: not record.name.startswith((*LIBRARIES, "opentelemetry")))
    with logging_to(handler) as written:
        yield written


@pytest.fixture
def shown() -> Generator[StringIO]:
    """What a served gateway would write of everything that anybody logs, at the lowest level."""
    handler = logging.StreamHandler(StringIO())
    handler.setFormatter(JsonLines(Redaction([CONTROL_KEY, API_KEY])))
    with logging_to(handler) as written:
        yield written


async def whole_session(
    open_watched: Any, home: Path, era: str, style: str
) -> tuple[set[str], list[str]]:
    """Use everything once, and much of it wrongly; answers the secrets, and all that was answered."""
    answers: list[str] = []
    noisy = {"command": sys.executable, "args": ["-c", NOISY], "env": {"TOKEN": VARIABLE}}
    async with open_watched(
        headers={"X-Own": HEADER}, others={"noisy": noisy}, api_keys=[API_KEY]
    ) as (guarded, upstream):
        key = {"Authorization": f"Bearer {API_KEY}"}
        for place in ("episode", "server", "all"):
            await guarded.session(place, API_KEY)
            name = guarded.tool(place, "look")
            for method in ("tools/list", "tools/call"):
                sent = await guarded.send(place, era, method, style=style, name=name, headers=key)
                assert sent.status_code == 200, sent.text
            for wrong in ({"name": "none"}, {"meta": {"dev.astra-mcp/seq": -1}}):
                sent = await guarded.send(place, era, style=style, headers=key, **wrong)
                answers.append(sent.text)
            for headers in ({"Host": "evil.example"}, {"Authorization": "x"}):
                sent = await guarded.send(place, era, style=style, headers=headers)
                answers.append(sent.text)
        whole = guarded.episode["id"]
        for path in (f"/Episodes/{whole}/mcp", f"/episodes/{whole}0/mcp", f"/nothing/{whole}"):
            sent = await guarded.http.post(path, json={}, headers=key)
            answers.append(sent.text)
        failed = await guarded.control(
            "POST", "/v1/episodes", json={"source": {"kind": "servers", "names": ["noisy"]}}
        )
        answers.append(failed.text)
        answers.append((await guarded.http.get("/metrics", headers=key)).text)
        read = ("/v1/servers", "/v1/episodes/none")
        answers += [(await guarded.control("GET", path)).text for path in read]
        await guarded.control("DELETE", f"/v1/episodes/{whole}")
        for session in guarded.sessions.values():
            fields = {**key, "Mcp-Session-Id": session, "MCP-Protocol-Version": "2025-11-25"}
            await guarded.http.delete("/mcp", headers=fields)
        inner = {v for h in upstream.heard for k, v in h.headers if k.endswith(("-id", "-key"))}
    records = [path.stem for path in (home / "records").glob("*.jsonl")]
    ours = {CONTROL_KEY, API_KEY, HEADER, VARIABLE, whole}
    assert VARIABLE not in failed.text
    assert "exit status 3" in failed.text
    return {*ours, *guarded.sessions.values(), *inner, *records}, answers


async def test_our_own_loggers_name_no_secret_at_any_level(
    *, open_watched: Any, tmp_path: Path, logged: StringIO, era: str, style: str
) -> None:
    secrets, answers = await whole_session(open_watched, tmp_path / "home", era, style)
    text = logged.getvalue()
    assert "astra_mcp.access" in text
    assert [secret for secret in secrets if secret in text] == []
    assert [secret for secret in secrets if secret in "".join(answers)] == []


async def test_the_log_of_a_served_gateway_names_no_secret_at_any_level(
    *, open_watched: Any, tmp_path: Path, shown: StringIO, era: str
) -> None:
    for name in LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        secrets, _ = await whole_session(open_watched, tmp_path / "home", era, "asking")
    finally:
        for name in LIBRARIES:
            logging.getLogger(name).setLevel(logging.NOTSET)
    text = shown.getvalue()
    rows = [json.loads(line) for line in text.splitlines()]
    assert {row["logger"] for row in rows} >= {"astra_mcp.access"}
    assert [secret for secret in secrets if secret in text] == []


async def test_no_secret_of_the_file_lies_in_a_record(
    *, open_watched: Any, tmp_path: Path, era: str, style: str
) -> None:
    secrets, _ = await whole_session(open_watched, tmp_path / "home", era, style)
    records = [path.read_text() for path in (tmp_path / "home" / "records").iterdir()]
    assert records
    for secret in secrets & {CONTROL_KEY, API_KEY, HEADER, VARIABLE}:
        assert [record for record in records if secret in record] == []
    cards = [p.read_text() for p in (tmp_path / "home" / "cards").rglob("*") if p.is_file()]
    assert [card for card in cards if HEADER in card or VARIABLE in card] == []
