"""A record that an earlier version wrote opens, goes on as it would have there, and is replayed."""

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.call_record import EpisodeStatus, FailureKind
from astra_mcp.errors import RecordError
from gateway.api.wire import EpisodeRequest, FailureLaw
from gateway.episodes.archive import find_record, replay_record
from gateway.episodes.failures import FailurePlan
from gateway.episodes.live import open_episodes
from gateway.episodes.record import RECORD_VERSION, read_record

OLD = Path(__file__).parent / "records" / "version_1.jsonl"
"""Half of the calls fail on purpose; the last call was begun when the gateway ended."""
ID = json.loads(OLD.read_text(encoding="utf-8").splitlines()[0])["id"]
DRAWN_NEXT = (
    "HTTPConnectionPool(host='127.0.0.1', port=8080): Read timed out. (read timeout=5)",
    "504 Server Error: Gateway Time-out",
    "total 3 coins",
    '{"message": "API rate limit exceeded", "status": 429}',
    "HTTP 429 Too Many Requests (Retry-After: 2)",
    "total 3 coins",
    "APITimeoutError: Request timed out.",
)
"""What the version that wrote the record answered to its next calls."""


@pytest.fixture
def old_home(home: Path) -> Path:
    """A home with the record."""
    (home / "records").mkdir(parents=True)
    (home / "records" / f"{ID}.jsonl").write_bytes(OLD.read_bytes())
    return home


async def test_an_open_episode_goes_on_with_what_its_version_would_have_drawn(
    old_home: Path, catalog: Any, server: Any
) -> None:
    server.release.set()
    soon = (read_record(OLD).last_at + timedelta(seconds=60)).timestamp()

    async with open_episodes(catalog, old_home, secret=b"s" * 32, now=lambda: soon) as episodes:
        episode = await episodes.get(ID)
        waiting = {"do": "wait", "amount": 1, "round": 8}
        assert (await episode.call("add", waiting, call_id="call_8", seq=8)).text == "total 3 coins"
        again = await episode.call("add", {"amount": 1, "round": 1}, call_id="call_1", seq=1)
        assert again.text.startswith("Timed out while waiting")
        answers = [(await episode.call("read", {"further": n})).text for n in range(7)]
        state = await episodes.close(ID)

    assert tuple(answers) == DRAWN_NEXT
    assert (state.status, state.calls, state.solved) == (EpisodeStatus.CLOSED, 16, (1,))
    calls = read_record(old_home / "records" / f"{ID}.jsonl").calls
    assert [c.injected for c in calls[:6]] == [
        *(None, FailureKind.TIMEOUT, None, FailureKind.SERVER_ERROR),
        *(FailureKind.RATE_LIMITED, FailureKind.SERVER_ERROR),
    ]
    assert (calls[6].tool, calls[7].fault) == (None, "it is no object")


async def test_its_calls_are_replayed(old_home: Path, catalog: Any) -> None:
    replay = await replay_record(find_record(old_home, ID[:8]), catalog)

    assert (replay.compared, replay.skipped, replay.divergences) == (2, 7, ())


def test_what_the_first_version_left_out_is_filled_in(old_home: Path) -> None:
    path = old_home / "records" / f"{ID}.jsonl"
    first, rest = path.read_text(encoding="utf-8").split("\n", 1)
    said = json.loads(first)
    for later in ("failures", "distractors", "emulators"):
        del said[later]
    path.write_text(f"{json.dumps(said)}\n{rest}", encoding="utf-8")

    opened = read_record(path).opened

    assert (opened.schema_version, opened.failures.rate) == (RECORD_VERSION, 0.0)
    assert (opened.distractors, opened.emulators) == (None, {})


def test_a_record_of_a_later_version_is_refused_in_words(old_home: Path) -> None:
    path = old_home / "records" / f"{ID}.jsonl"
    later = f'"schema_version":{RECORD_VERSION + 1}'
    text = path.read_text(encoding="utf-8").replace('"schema_version":1', later)
    path.write_text(text, encoding="utf-8")

    with pytest.raises(RecordError, match=r"line 1 .*newer than 2: update astra-mcp"):
        read_record(path)


async def test_all_times_of_a_record_are_written_alike(home: Path, catalog: Any) -> None:
    async with open_episodes(catalog, home, secret=b"s" * 32) as episodes:
        source = {"kind": "environment", "name": "coins"}
        episode = await episodes.create(EpisodeRequest.model_validate({"source": source}))
        await episode.call("add", {})
        await episodes.close(episode.id)

    lines = (home / "records" / f"{episode.id}.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 4
    for line in lines:
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", json.loads(line)["at"])


@pytest.mark.parametrize("further", [{}, {"of_another_version": 0.0}])
def test_a_law_without_some_kinds_draws_the_others(further: dict[str, float]) -> None:
    whole = {"timeout": 0.5, "unreachable": 0.0, "rate_limited": 0.5, "server_error": 0.0}
    some = {kind: share for kind, share in whole.items() if share} | further
    plans = [FailurePlan(FailureLaw(rate=1.0, kinds=k, delay=True), 3) for k in (whole, some)]

    for chance in (0.0, 0.3, 0.5, 0.999):
        drawn, expected = (plan.failure_at(chance) for plan in plans)
        assert drawn == expected is not None


def test_a_law_of_unknown_kinds_alone_lets_no_call_fail() -> None:
    law = FailureLaw(rate=1.0, kinds={"of_another_version": 1.0}, delay=False)

    assert FailurePlan(law, 3).failure_at(0.5) is None
