"""What a home keeps of runs: how they stand, also where their command came to no good end."""

import os
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.compose.runs import notes
from astra_mcp.compose.runs.notes import (
    NotedRun,
    RunKind,
    RunState,
    find_run,
    list_runs,
    note_run,
    stored_report,
)
from astra_mcp.errors import UnknownNameError
from astra_mcp.report.html.parts import KeyFigure, Report

KILLED = """
import os, sys
from pathlib import Path
from astra_mcp.compose.runs.notes import RunKind, note_run
with note_run(Path(sys.argv[1]), RunKind.TRAINING, command="train rl", name="n", key="k") as run:
    run.tell("step 3 of 9")
    os._exit(9)
"""


def noting(home: Path, key: str = "k", **more: Any) -> AbstractContextManager[NotedRun]:
    told: dict[str, Any] = {"kind": RunKind.ROLLOUT, "command": "rollout", "name": key, **more}
    return note_run(home, key=key, **told)


def test_a_run_is_running_while_its_command_is_and_done_behind_it(tmp_path: Path) -> None:
    place = tmp_path / "t.jsonl"
    place.touch()
    with noting(tmp_path, place=place) as run:
        run.tell("1 of 2 episodes")
        known = find_run(tmp_path, run.id)
        assert (known.state, known.note.figure) == (RunState.RUNNING, "1 of 2 episodes")
        run.tell("2 of 2 episodes")  # sooner than it is written by itself
    known = find_run(tmp_path, run.id)
    assert (known.state, known.note.figure) == (RunState.DONE, "2 of 2 episodes")
    assert not known.is_gone
    place.unlink()
    assert known.is_gone


def test_a_run_whose_process_was_killed_is_stopped(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", KILLED, str(tmp_path)]
    assert subprocess.run(command, check=False).returncode == 9
    [known] = list_runs(tmp_path).runs
    assert (known.state, known.note.figure) == (RunState.STOPPED, "step 3 of 9")


@pytest.mark.parametrize(
    ("error", "state"),
    [(ValueError(), RunState.FAILED), (KeyboardInterrupt(), RunState.STOPPED)],
)
def test_how_a_command_was_left_is_how_its_run_ended(
    tmp_path: Path, error: BaseException, state: RunState
) -> None:
    noted: list[str] = []

    def command() -> None:
        with noting(tmp_path) as run:
            noted.append(run.id)
            run.tell("something")
            raise error

    with pytest.raises(type(error)):
        command()
    assert find_run(tmp_path, noted[0]).state is state


def test_a_command_that_came_to_nothing_leaves_the_list_as_it_was(tmp_path: Path) -> None:
    def fail() -> None:
        with noting(tmp_path):
            assert list_runs(tmp_path).runs[0].state is RunState.RUNNING
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert list_runs(tmp_path).num_all == 0
    with noting(tmp_path) as run:
        run.tell("all of it")
    before = find_run(tmp_path, run.id)
    with pytest.raises(ValueError, match="no"):
        fail()
    assert find_run(tmp_path, run.id) == before


def test_of_two_processes_with_one_run_the_first_one_notes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notes, "_CLAIM_SECONDS", 0)
    with noting(tmp_path) as first:
        with noting(tmp_path) as second:
            second.tell("not mine")
            assert not second.is_noted
        known = find_run(tmp_path, first.id)
        assert (known.state, known.note.figure) == (RunState.RUNNING, "")


def test_the_same_run_given_again_is_the_same_and_stands_first(tmp_path: Path) -> None:
    for key in "abca":
        with noting(tmp_path, key) as run:
            run.tell(key)
    for at, key in enumerate("bca"):  # moments that no clock has to tell apart
        path = next(
            p for p in (tmp_path / "runs").glob("*.rollout.json") if f'"{key}"' in p.read_text()
        )
        os.utime(path, (at, at))
    assert [each.note.name for each in list_runs(tmp_path).runs] == ["a", "c", "b"]
    page = list_runs(tmp_path, begin=1, limit=1)
    assert ([each.note.name for each in page.runs], page.num_all) == (["c"], 3)
    assert list_runs(tmp_path, kind=RunKind.TRAINING).num_all == 0


def test_a_name_that_would_be_markup_or_no_text_is_kept_as_a_text(tmp_path: Path) -> None:
    place = tmp_path / "\udcff"
    with noting(tmp_path, "\udcff<b>" + "w" * 9000, place=place) as run:
        run.tell("x" * 9000)
        run.show(lambda: Report(title="\ud800"), is_last=True)
    note = find_run(tmp_path, run.id).note
    assert note.name.startswith("?<b>w")
    assert len(note.name) == len(note.figure) == 400
    assert note.place is None
    report = stored_report(tmp_path, find_run(tmp_path, run.id))
    assert report is not None
    assert report.title == "?"


def test_a_home_that_takes_no_file_ends_no_run(tmp_path: Path) -> None:
    (tmp_path / "runs").touch()
    with noting(tmp_path) as run:
        run.tell("x")
        run.show(lambda: Report(title="t"), is_last=True)
    assert "cannot be written" in run.fault
    assert list_runs(tmp_path) == list_runs(tmp_path / "none") == ([], 0, 0)


def test_notes_are_for_their_user_alone_and_hold_no_option(tmp_path: Path) -> None:
    with noting(tmp_path) as run:
        run.show(lambda: Report(title="t"), is_last=True)
    files = sorted((tmp_path / "runs").iterdir())
    assert [file.suffixes for file in files] == [
        [".lock"],
        [".report", ".json"],
        [".rollout", ".json"],
    ]
    assert all(file.stat().st_mode & 0o077 == 0 for file in [*files, tmp_path / "runs"])


def test_ids_are_found_by_their_beginning_and_nothing_else_is_looked_for(tmp_path: Path) -> None:
    ids: list[str] = []
    for key in map(str, range(40)):
        with noting(tmp_path, key) as run:
            ids.append(run.id)
    shared = next(i[:2] for i in ids if sum(other.startswith(i[:2]) for other in ids) > 1)
    with pytest.raises(UnknownNameError, match="ids of runs start"):
        find_run(tmp_path, shared)
    assert find_run(tmp_path, ids[0][:9]).id == ids[0]
    (tmp_path / "secret.rollout.json").write_text(
        (tmp_path / "runs" / f"{ids[0]}.rollout.json").read_text()
    )
    for wrong in (
        "",
        "r",
        "../secret",
        "r../../x",
        ids[0].upper(),
        ids[0] + "0",
        "r" * 13,
        "rffff*",
    ):
        with pytest.raises(UnknownNameError, match="no run"):
            find_run(tmp_path, wrong)


def test_a_broken_note_is_counted_and_hides_no_other(tmp_path: Path) -> None:
    with noting(tmp_path, "a"):
        pass
    with noting(tmp_path, "b") as run:
        run.tell("x")
    (tmp_path / "runs" / f"{run.id}.rollout.json").write_text("{")
    found = list_runs(tmp_path)
    assert ([each.note.name for each in found.runs], found.num_all, found.num_unread) == (
        ["a"],
        2,
        1,
    )


def test_a_report_is_kept_at_once_and_then_now_and_then(tmp_path: Path) -> None:
    def report(word: str) -> Report:
        return Report(title=word, key_figures=[KeyFigure(label="l", value=word)], sections=[])

    with noting(tmp_path) as run:
        known = find_run(tmp_path, run.id)
        assert stored_report(tmp_path, known) is None
        for word in ("first", "second"):
            run.show(lambda word=word: report(word))
        assert stored_report(tmp_path, known) == report("first")
        run.show(lambda: report("last"), is_last=True)
    assert stored_report(tmp_path, known) == report("last")
