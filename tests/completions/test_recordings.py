"""Recorded completions: found by what was asked, played in turn, and named where there is none."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

from astra_mcp.completions import FaultKind, FaultPlan, Recordings, content_id, load_recordings
from astra_mcp.errors import ConfigError

from completions_client import SCHEMA, Endpoint, open_endpoint, wanting


def recorded(folder: Path, *rows: Any) -> Recordings:
    """Write recordings down and read them again."""
    file = folder / "answers.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return load_recordings(file)


def asking(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


async def texts(endpoint: Endpoint, *questions: str) -> list[str]:
    return [(await endpoint.ask(text)).choices[0].message.content for text in questions]


async def test_a_recording_is_found_by_its_messages_whatever_was_asked_before(
    tmp_path: Path,
) -> None:
    recordings = recorded(
        tmp_path,
        {"match": {"messages": asking("A?")}, "response": {"content": "a"}},
        {"match": {"hash": content_id(asking("B?"))}, "response": {"content": "b"}},
    )
    async with open_endpoint(recordings) as endpoint:
        assert await texts(endpoint, "B?", "A?", "B?") == ["b", "a", "b"]


async def test_the_same_messages_with_a_schema_are_another_content(tmp_path: Path) -> None:
    messages = asking("How many?")
    recordings = recorded(
        tmp_path,
        {"match": {"messages": messages, "schema": SCHEMA}, "response": {"content": {"n": 3}}},
        {"match": {"messages": messages}, "response": {"content": "three"}},
    )
    async with open_endpoint(recordings) as endpoint:
        completion = await endpoint.ask("How many?", **wanting(SCHEMA))
        assert completion.choices[0].message.content == '{"n": 3}'
        assert await texts(endpoint, "How many?") == ["three"]


async def test_several_recordings_of_one_content_play_in_turn_though_requests_fail(
    tmp_path: Path,
) -> None:
    rows = [{"match": {"messages": asking("A?")}, "response": {"content": text}} for text in "abc"]
    plan = FaultPlan(seed=1, shares={FaultKind.SERVER_ERROR: 0.3, FaultKind.CUT_BODY: 0.3})
    heard: list[str] = []
    async with open_endpoint(recorded(tmp_path, *rows), faults=plan) as endpoint:
        while len(heard) < 4:
            with suppress(openai.APIError, httpx.HTTPError):
                heard += await texts(endpoint, "A?")
    assert heard == ["a", "b", "c", "a"]
    assert endpoint.server.ledger.total.faults.keys() == plan.shares.keys()


async def test_recordings_without_a_match_play_in_their_order(tmp_path: Path) -> None:
    recordings = recorded(
        tmp_path,
        {"match": None, "response": {"content": "first"}},
        {"match": {"messages": asking("A?")}, "response": {"content": "a"}},
        {"match": None, "response": {"calls": [{"name": "f", "arguments": {"x": 1}}]}},
    )
    async with open_endpoint(recordings) as endpoint:
        assert await texts(endpoint, "Hm?", "A?") == ["first", "a"]
        (call,) = (await endpoint.ask("Hm?")).choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("f", '{"x": 1}')


async def test_a_request_without_a_recording_is_told_its_hash(tmp_path: Path) -> None:
    async with open_endpoint(recorded(tmp_path)) as endpoint:
        with pytest.raises(openai.NotFoundError) as caught:
            await endpoint.ask("Who knows?")

    assert content_id(asking("Who knows?")) in caught.value.message
    assert "Who knows?" in caught.value.message
    assert endpoint.server.ledger.total.refusals == 1


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"match": {}, "response": {}}, "match: give either hash or messages"),
        ({"match": {"hash": "x"}, "response": {}}, "match.hash"),
        ({"match": {"hash": "0" * 16, "schema": {}}, "response": {}}, "schema is part of the hash"),
        ({"match": None, "response": {"context": ""}}, "response.context"),
        ({"response": {}}, "match: Field required"),
        (["no"], "an object"),
    ],
)
def test_a_line_that_is_no_recording_is_named(tmp_path: Path, row: object, said: str) -> None:
    with pytest.raises(ConfigError, match=r"answers\.jsonl, line 2: ") as caught:
        recorded(tmp_path, {"match": None, "response": {}}, row)
    assert said in str(caught.value)


async def test_texts_may_hold_what_unicode_takes_for_the_end_of_a_line(tmp_path: Path) -> None:
    row = {"match": {"messages": asking("A?")}, "response": {"content": "a\u2028b\x85c"}}
    file = tmp_path / "answers.jsonl"
    file.write_text(json.dumps(row, ensure_ascii=False) + "\r\n", encoding="utf-8", newline="")
    async with open_endpoint(load_recordings(file)) as endpoint:
        assert await texts(endpoint, "A?") == ["a\u2028b\x85c"]


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the recordings .*none\.jsonl"):
        load_recordings(tmp_path / "none.jsonl")
