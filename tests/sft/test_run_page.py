"""The figures of runs: as files, and as a page."""

import json
from pathlib import Path

import pytest

from astra_mcp.compose.runs.training import report_of
from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import DataTable, LinePlot
from astra_mcp.report.html.writing import html_of
from training.sft.run_folder import METRICS, RunFolder, read_metrics


def a_run(folder: Path, num_steps: int) -> Path:
    folder.mkdir()
    run = RunFolder(folder)
    for step in range(1, num_steps + 1):
        extra = {"validation_loss": 1 / step, "greedy/reward": step / 10} if step % 2 == 0 else {}
        run.log(step, {"loss": 2 / step, "learning_rate": 0.1, **extra})
    return folder


def test_going_on_drops_later_steps_and_a_line_that_was_cut(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", 6)
    with (folder / METRICS).open("a") as lines:
        lines.write('{"step": 7, "lo')
    RunFolder(folder).log_from(4)
    assert [line["step"] for line in read_metrics(folder / METRICS)] == [1, 2, 3, 4]
    assert (folder / METRICS).read_bytes().endswith(b"}\n")


def test_figures_that_are_lost_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = RunFolder(a_run(tmp_path / "run", 3))
    run.log_from(3)
    assert not caplog.text
    run.log_from(5)
    assert "ends at step 3, and the run goes on behind step 5" in caplog.text


@pytest.mark.parametrize(
    ("line", "said"),
    [("{", "line 1 is no JSON"), ("{}", "line 1 has no step"), ('{"step": 1, "loss": "x"}', "loss is no")],
)  # fmt: skip
def test_a_line_that_is_none_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / METRICS).write_text(line + "\n")
    with pytest.raises(ConfigError, match=said):
        read_metrics(tmp_path / METRICS)


def test_a_page_has_a_plot_for_each_figure_and_a_line_for_each_run(tmp_path: Path) -> None:
    runs = [a_run(tmp_path / "one", 4), a_run(tmp_path / "<two>", 6)]
    page = report_of(runs)
    plots = [p for section in page.sections for p in section.parts if isinstance(p, LinePlot)]
    assert [p.y_label for p in plots] == [
        "reward (held out, greedy)",
        "loss",
        "validation loss",
        "learning rate",
    ]
    reward = plots[0]
    assert list(reward.x) == [2, 4, 6]
    assert [list(line.values) for line in reward.series] == [[0.2, 0.4, None], [0.2, 0.4, 0.6]]
    html = html_of(page)
    assert "&lt;two&gt;" in html
    assert "<two>" not in html


def test_a_folder_without_figures_and_one_that_is_named_twice_are_refused(tmp_path: Path) -> None:
    folder = a_run(tmp_path / "run", 1)
    with pytest.raises(ConfigError, match="named twice"):
        report_of([folder, folder])
    with pytest.raises(ConfigError, match="named twice"):
        report_of([folder, folder.parent / "run" / ".." / "run"])
    with pytest.raises(ConfigError, match=r"metrics\.jsonl cannot be read"):
        report_of([tmp_path / "none"])
    (tmp_path / "begun").mkdir()
    with pytest.raises(ConfigError, match="begun has no figures yet"):
        report_of([folder, tmp_path / "begun"])


def test_runs_of_sft_and_of_reinforcement_learning_stand_in_one_plot(tmp_path: Path) -> None:
    first, second = a_run(tmp_path / "sft", 2), tmp_path / "grpo"
    second.mkdir()
    run = RunFolder(second)
    run.log(0, {"greedy/reward": 0.1, "sampled/reward": 0.05})
    played = {"rollout/reward": 0.2, "filling/degenerate": 3, "rollout/stops/answer": 64}
    times = {"seconds": 4.0, "cpu_seconds/update": 1.5}
    run.log(1, {**played, **times, "loss": 0.5, "entropy": 1.0, "trained_tokens": 10, "new": 1})
    with (second / METRICS).open("a") as lines:
        lines.write('{"step": 2, "loss": 0.')  # it is still going on
    page = report_of([first, second])
    titles = [section.title for section in page.sections]
    assert titles == [
        *("Rewards", "Loss", "Optimisation", "Batches", "Time"),
        *("Further figures of rollouts", "Further figures", "Runs"),
    ]
    plots = {p.y_label: p for s in page.sections for p in s.parts if isinstance(p, LinePlot)}
    assert [line.name for line in plots["loss"].series] == [str(first), str(second)]
    assert {"update (processor seconds)", "degenerate (of a batch)", "new"} <= plots.keys()
    assert list(plots["reward (held out, greedy)"].x) == [0, 2]
    assert [line.look for line in plots["loss"].series] == [0, 1]
    assert [line.look for line in plots["entropy"].series] == [1]  # as everywhere else
    table = page.sections[-1].parts[0]
    assert isinstance(table, DataTable)
    of_sft, of_rl = table.rows
    assert of_sft[1:] == ("2", "-", "0", "0", "1.0000", "0.5000", "-", "0.200, 0.200", "-")
    assert of_rl[1:] == (
        *("1", "-", "10", "4", "0.5000", "-", "0.200, 0.200", "0.100, 0.100", "0.050, 0.050"),
    )


def test_a_long_run_is_thinned_to_means(tmp_path: Path) -> None:
    (tmp_path / METRICS).write_text(
        "".join(json.dumps({"step": n, "loss": n % 2}) + "\n" for n in range(1, 1001))
    )
    (plot,) = [
        p for s in report_of([tmp_path]).sections for p in s.parts if isinstance(p, LinePlot)
    ]
    assert len(plot.x) <= 400
    assert plot.x[-1] == 1000
