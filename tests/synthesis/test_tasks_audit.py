"""The audit: a sample for people, read back with what they said of it."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError
from astra_mcp.synthesis.trajectories.task import Axis, Task, TaskOrigin
from astra_mcp.synthesis.trajectories.tasks.audit import (
    flag_rates,
    read_labels,
    sample_tasks,
    wilson_interval,
    write_sample,
)

from drafted_tasks import kept_task

TASKS = [
    kept_task(
        f"Find me boat number {n}.",
        origin=list(TaskOrigin)[n % 2],
        axis=list(Axis)[n % 4],
        chain=None,
    )
    for n in range(20)
]


@given(st.permutations(TASKS), st.integers(0, 25), st.integers(0, 9))
def test_a_sample_is_the_same_whatever_the_order_of_the_tasks(
    tasks: list[Task], num: int, seed: int
) -> None:
    drawn = sample_tasks(tasks, num, seed=seed)
    assert drawn == sample_tasks([*TASKS, *TASKS], num, seed=seed)
    assert len({task.id for task in drawn}) == len(drawn) == min(num, 20)


def test_another_seed_draws_others() -> None:
    drawn = {tuple(t.id for t in sample_tasks(TASKS, 5, seed=s)) for s in range(20)}
    assert len(drawn) > 15


def labelled(path: Path, *flags: Any) -> Path:
    """A sample whose first tasks have flags."""
    write_sample(TASKS, path)
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    for row, flag in zip(rows, flags, strict=False):
        row |= {"flag": flag, "reason": "unclear" if flag else ""}
    path.write_text("\n\n".join(json.dumps(row) for row in rows), "utf-8-sig")
    return path


def test_a_sample_has_what_people_need_and_room_for_what_they_say(tmp_path: Path) -> None:
    write_sample(TASKS[:1], tmp_path / "a.jsonl")
    row = json.loads((tmp_path / "a.jsonl").read_text("utf-8"))
    assert {"id", "servers", "query", "chain", "scores", "origin", "axis"} <= row.keys()
    assert (row["flag"], row["reason"]) == (None, "")
    assert [one.id for one in read_labels(tmp_path / "a.jsonl")] == [TASKS[0].id]


def test_a_file_that_is_there_stays_as_it_is(tmp_path: Path) -> None:
    path = labelled(tmp_path / "a.jsonl", True)
    before = path.read_bytes()
    with pytest.raises(ConfigError, match=r"a\.jsonl is there already, and may hold labels"):
        write_sample(TASKS, path)
    assert path.read_bytes() == before
    with pytest.raises(ConfigError, match="cannot write"):
        write_sample(TASKS, tmp_path / "none" / "a.jsonl")


def test_flags_are_counted_by_origin_and_axis_and_the_unlabelled_apart(tmp_path: Path) -> None:
    rows = read_labels(labelled(tmp_path / "a.jsonl", True, False, True, False, True, ""))
    rates = {rate.group: rate for rate in flag_rates(rows)}
    assert {*rates} == {"all", *TaskOrigin, *Axis}
    every = rates["all"]
    assert (every.num_flagged, every.num_labelled, every.num_unlabelled) == (3, 5, 15)
    assert every.rate == pytest.approx(0.6)
    assert (every.low, every.high) == pytest.approx((0.2307, 0.8824), abs=1e-4)
    assert (rates["chain"].num_flagged, rates["chain"].num_labelled) == (3, 3)
    assert (rates["server"].num_flagged, rates["server"].num_labelled) == (0, 2)
    assert (rates["original"].num_flagged, rates["original"].num_labelled) == (2, 2)


def test_a_rate_of_nothing_is_none(tmp_path: Path) -> None:
    [every, *_] = flag_rates(read_labels(labelled(tmp_path / "a.jsonl")))
    assert (every.rate, every.low, every.high) == (None, 0.0, 1.0)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"flag": "yes"}, "line 2: flag: write true where"),
        ({"flag": 1}, "line 2: flag: write true where"),
        ({"flag": "true"}, "line 2: flag: write true where"),
        ({"axis": "persna"}, "line 2: axis: Input should be"),
        ({"origin": None}, "line 2: origin: Input should be"),
        ({"reason": 3}, "line 2: reason: Input should be"),
        ({"flagged": True}, "line 2: flagged: Extra inputs"),
        ({"id": TASKS[0].id}, "line 2: id: .* stands twice"),
    ],
)
def test_a_malformed_label_is_told_with_its_line_and_field(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    path = tmp_path / "a.jsonl"
    write_sample(TASKS[:2], path)
    first, second = path.read_text("utf-8").splitlines()
    path.write_text(f"{first}\n{json.dumps({**json.loads(second), **change})}\n", "utf-8")
    with pytest.raises(ConfigError, match=rf"a\.jsonl, {told}"):
        read_labels(path)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"", "holds no task"),
        (b"\n[1]\n", "line 2 is no object"),
        (b'{"id": 1', "line 1 is no JSON"),
        (b'{"id": "a", "id": "b"}', "line 1 is no JSON: the key 'id' stands twice"),
        (b"[" * 100_000, "line 1 is no JSON"),
        (b'\n{"id": "\xff"}', "line 2 is no UTF-8"),
        (b'{"id": "a", "origin": "chain", "axis": "persona"}', "line 1: flag: Field required"),
    ],
)
def test_a_file_that_is_no_sample_is_told(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(ConfigError, match=told):
        read_labels(tmp_path / "a.jsonl")
    with pytest.raises(ConfigError, match="cannot read"):
        read_labels(tmp_path / "b.jsonl")


@given(st.integers(1, 500), st.data())
def test_the_interval_is_where_the_score_test_does_not_reject(
    total: int, data: st.DataObject
) -> None:
    num = data.draw(st.integers(0, total))
    low, high = wilson_interval(num, total)
    share, z = num / total, 1.959963984540054
    assert 0 <= low <= share <= high <= 1
    for bound in {low, high} - {0.0, 1.0}:
        assert abs(share - bound) == pytest.approx(
            z * (bound * (1 - bound) / total) ** 0.5, rel=1e-6, abs=1e-9
        )
