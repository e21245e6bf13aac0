"""What a run of kills takes for doubled, lost and wrong, and what it lets pass."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.call_record import EpisodeId
from astra_mcp.mcp.request_context import Era

from fault_bench import ENVIRONMENT, Asked
from kill_account import KillFigures, Played
from mcp_wire import Answer, Kind

EPISODE = EpisodeId("0123456789abcdef0123456789abcdef")
OPENED: Mapping[str, Any] = {
    "event": "episode_opened",
    "schema_version": 2,
    "id": EPISODE,
    "source": {},
    "seed": 0,
    "limits": {},
    "labels": {},
    "prompt": None,
    "job": [],
    "tools": [],
    "tools_hash": "",
    "servers": {},
    "marks": [],
    "failures": {"rate": 0.0, "kinds": {}, "delay": False},
    "distractors": None,
    "emulators": {},
    "version": "0",
}
FIRST, SECOND = Asked("call-1", "nonce-1"), Asked("call-2", "nonce-2")
DELIVERY = Answer(Kind.ERROR, "delivery unknown: the gateway ended while it ran this call")
RESTART = Answer(Kind.ERROR, "upstream a ended with the gateway before its restart")


def played(server: str = "stdio-shared", era: Era = Era.MODERN) -> Played:
    return Played(id=EPISODE, url="http://localhost", server=server, era=era, born=3)


def result(text: str) -> Answer:
    return Answer(Kind.RESULT, text)


def recorded(folder: Path, *calls: tuple[Asked, str | None]) -> None:
    """Write a record of calls; those without a result were begun alone."""
    lines: list[dict[str, Any]] = [dict(OPENED)]
    for n, (asked, text) in enumerate(calls):
        facts = {"server": "a", "tool": "count", "shown": "count", "seq": None}
        started = {"event": "call_started", "n": n, "call_id": asked.call_id, **facts}
        lines.append(started | {"arguments": asked.arguments, "is_over_limit": False})
        if text is not None:
            told = {"content": [{"type": "text", "text": text}], "is_error": False}
            ended = {"event": "call_finished", "n": n, "origin": "tool", "outcome": "applied"}
            lines.append(ended | {"solved": [], "latency_ms": 1.0, "result": told})
    at = {"at": "2026-11-27T00:00:00Z"}
    text = "".join(json.dumps(line | at) + "\n" for line in lines)
    (folder / f"{EPISODE}.jsonl").write_text(text)


def judged(folder: Path, executed: Counter[str]) -> KillFigures:
    figures, episode = KillFigures(), played()
    figures.take(episode, FIRST, result("nonce-1"), "")
    figures.judge(episode, folder, executed)
    figures.count_executions(executed)
    return figures


def test_what_was_told_recorded_and_executed_once_is_well(tmp_path: Path) -> None:
    recorded(tmp_path, (FIRST, "nonce-1"), (SECOND, None))
    assert judged(tmp_path, Counter(["nonce-1"])).unexpected == []


@pytest.mark.parametrize("text", [None, "another result"])
def test_an_answer_that_the_record_does_not_have_so_is_lost(
    tmp_path: Path, text: str | None
) -> None:
    recorded(tmp_path, (FIRST, text))
    assert len(judged(tmp_path, Counter(["nonce-1"])).lost) == 1


def test_an_answer_to_what_no_server_executed_is_lost(tmp_path: Path) -> None:
    recorded(tmp_path, (FIRST, "nonce-1"))
    assert judged(tmp_path, Counter()).lost == ["call-1: answered, and not executed"]


def test_two_executions_and_two_beginnings_of_a_call_are_doubled(tmp_path: Path) -> None:
    recorded(tmp_path, (FIRST, "nonce-1"), (FIRST, "nonce-1"))
    assert judged(tmp_path, Counter(["nonce-1"])).doubled == {"call-1"}
    recorded(tmp_path, (FIRST, "nonce-1"))
    assert judged(tmp_path, Counter({"nonce-1": 2})).doubled == {"nonce-1"}


@pytest.mark.parametrize(
    ("again", "doubled", "lost"),
    [
        (result("nonce-1"), 0, 0),
        (result("nonce-1 "), 1, 0),
        (Answer(Kind.ERROR, "This run has ended"), 0, 1),
    ],
)
def test_an_answer_stays_what_it_was(again: Answer, doubled: int, lost: int) -> None:
    figures, episode = KillFigures(), played()
    figures.take(episode, FIRST, result("nonce-1"), "")
    figures.take_again(episode, FIRST, again)
    assert (len(figures.doubled), len(figures.lost)) == (doubled, lost)


@pytest.mark.parametrize(
    ("text", "doubled", "lost", "wrong"),
    [
        ("nonce-2 is number 2", 0, 0, 0),
        ("nonce-2 is number 3", 1, 0, 0),
        ("nonce-2 is number 1", 0, 1, 0),
        ("nonce-1 is number 2", 0, 0, 1),
    ],
)
def test_results_of_the_environment_are_numbered_without_gaps(
    text: str, doubled: int, lost: int, wrong: int
) -> None:
    figures, episode = KillFigures(), played(ENVIRONMENT)
    figures.take(episode, FIRST, result("nonce-1 is number 1"), "")
    assert figures.unexpected == []
    figures.take(episode, SECOND, result(text), "")
    assert (len(figures.doubled), len(figures.lost), len(figures.wrong)) == (doubled, lost, wrong)
    assert episode.is_over is bool(figures.unexpected)


@pytest.mark.parametrize(
    ("episode", "answer", "asked_in", "is_allowed"),
    [
        (played("stdio-shared"), DELIVERY, 3, True),
        (played("stdio-shared"), DELIVERY, 4, False),  # no kill came while it was under way
        (played("stdio-shared"), RESTART, 3, False),
        (played("stdio-episode"), RESTART, 4, True),
        (played("http-episode", Era.HANDSHAKE), RESTART, 4, True),
        (played("http-episode"), RESTART, 4, False),
        (played(ENVIRONMENT), DELIVERY, 3, False),
        (played("stdio-episode"), result("another nonce"), 3, False),
    ],
)
def test_only_what_a_kill_may_take_ends_an_episode(
    episode: Played, answer: Answer, asked_in: int, *, is_allowed: bool
) -> None:
    assert bool(episode.allowed_failure(answer, asked_in=asked_in, life=4)) is is_allowed
