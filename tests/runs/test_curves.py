"""Figures of a training that is going on: read once, in whatever pieces they come."""

import json
import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from astra_mcp.compose.runs.curves import GrowingCurves
from astra_mcp.compose.runs.training import report_of_curves
from astra_mcp.report.html.parts import DataTable, LinePlot
from training.sft.run_folder import METRICS, RunFolder
from training.signals.health.structure import State


def lines_of(*steps: int) -> bytes:
    return b"".join(json.dumps({"step": n, "loss": 1 / (n + 1)}).encode() + b"\n" for n in steps)


def steps_of(growing: GrowingCurves) -> list[float]:
    return [step for step, _ in growing.curves.points("loss")]


@settings(max_examples=40)
@given(cuts=st.lists(st.integers(0, 300), max_size=8))
def test_every_line_is_read_once_however_the_file_grows(cuts: list[int]) -> None:
    whole = lines_of(*range(9))
    with TemporaryDirectory() as place:
        growing, at = GrowingCurves(Path(place)), 0
        for cut in [*sorted(cuts), len(whole)]:
            with (Path(place) / METRICS).open("ab") as file:
                file.write(whole[at:cut])
            at = max(at, min(cut, len(whole)))
            growing.read_on()
            assert steps_of(growing) == [*range(whole[:at].count(b"\n"))]
        assert (growing.fault, growing.left) == ("", 0)


def test_a_run_that_goes_on_behind_an_earlier_step_is_read_anew(tmp_path: Path) -> None:
    growing, file = GrowingCurves(tmp_path), tmp_path / METRICS
    growing.read_on()
    assert (steps_of(growing), growing.fault) == ([], "")
    file.write_bytes(lines_of(1, 2, 3))
    growing.read_on()
    mark = growing.mark
    growing.read_on()
    assert growing.mark == mark
    RunFolder(tmp_path).log_from(2)
    growing.read_on()
    assert steps_of(growing) == [1, 2]
    file.write_bytes(lines_of(5, 6, 7))  # in place, and longer than before
    growing.read_on()
    assert steps_of(growing) == [5, 6, 7]
    file.unlink()
    growing.read_on()
    assert (steps_of(growing), growing.fault) == ([], "")


def test_what_is_no_line_of_figures_is_named_and_what_was_read_stays(tmp_path: Path) -> None:
    for wrong in ("{", "[1]", '{"step": 4, "loss": "x"}', f'{{"step": 4, "loss": 1{"0" * 400}}}'):
        growing = GrowingCurves(tmp_path)
        (tmp_path / METRICS).write_bytes(lines_of(1, 2) + wrong.encode() + b"\n" + lines_of(4))
        growing.read_on()
        assert "metrics.jsonl: line 3" in growing.fault
        growing.read_on()
        assert steps_of(growing) == [1, 2]


def test_a_pipe_in_the_place_of_the_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / METRICS)
    growing = GrowingCurves(tmp_path)
    growing.read_on()
    assert "is no file" in growing.fault


def test_alarms_are_told_with_the_steps_at_which_they_were_raised(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    for step, holds in enumerate((0, 1, 1, 0, 1, 0), start=1):
        states = {f"structure/{State.TOOL_CALL}": 0.9, "structure/collapsed": 0.1}
        run.log(step, {"alarms/collapse": holds, "alarms/kl": 0, "filling/buffered": 3, **states})
    growing = GrowingCurves(tmp_path)
    growing.read_on()
    report = report_of_curves({"one": growing.curves})
    tables = {section.title: section.parts[0] for section in report.sections}
    alarms = tables["Alarms"]
    assert isinstance(alarms, DataTable)
    [row] = alarms.rows
    assert row[:5] == ("collapse", "critical", "one", "2, 5", "no")
    states = tables["Form of turns"]
    assert isinstance(states, LinePlot)
    assert len(states.series) == 2
    assert ("groups in the buffer", "3") in [(f.label, f.value) for f in report.key_figures]


def test_rewards_and_shares_go_from_0_to_1_and_other_figures_by_their_values(
    tmp_path: Path,
) -> None:
    shares = ("rollout/reward", "greedy/recall", "sampled/precision", "clip_fraction", "probe/end")
    others = ("learning_rate", "loss", "rollout/reward_variance", "structure/per_1k/<a>", "kl")
    further = {"rollout/distractor_call_rate": 0.1, "structure/turn/0/polluted": 0.1}
    RunFolder(tmp_path).log(1, dict.fromkeys((*shares, *others), 0.1) | further)
    growing = GrowingCurves(tmp_path)
    growing.read_on()
    sections = report_of_curves({"one": growing.curves}).sections
    plots = [part for each in sections for part in each.parts if isinstance(part, LinePlot)]
    spans = {plot.caption: plot.y_span for plot in plots}
    bounded = [caption for caption, span in spans.items() if span == (0.0, 1.0)]
    assert len(bounded) == len(shares) + len(further) + 1  # the states of turns
    assert {caption for caption in spans if caption not in bounded} == {
        "Learning rate",
        "Training loss",
        "Reward variance (rollouts)",
        "<a> of 1,000 tokens",
        "Kl",
    }


@pytest.mark.parametrize("names", [["one"], ["one", "two"]])
def test_no_heading_says_again_what_stands_above_it(tmp_path: Path, names: list[str]) -> None:
    figures = ("loss", "validation_loss", "seconds", "rollout/reward", "rollout/episodes", "kl")
    RunFolder(tmp_path).log(1, dict.fromkeys((*figures, "alarms/collapse"), 1.0))
    growing = GrowingCurves(tmp_path)
    growing.read_on()
    sections = report_of_curves(dict.fromkeys(names, growing.curves)).sections
    told = [(each.title, part.caption) for each in sections for part in each.parts]
    assert ("Loss", "Training loss") in told
    assert [pair for pair in told if pair[0].casefold() == pair[1].casefold()] == []
    assert ("In sum" in dict(told)) is (len(names) == 1)
