"""What a rollout earned, as a report: means over what was played, and links to single episodes."""

from typing import Any

from astra_mcp.compose.runs.rollouts import PlayedEpisode, report_of_rollout
from astra_mcp.report.html.parts import DataTable, Histogram, Report


def played(number: int, **more: Any) -> PlayedEpisode:
    told: dict[str, Any] = {
        "id": f"{number:032x}",
        "environment": "harbour",
        "question": None,
        "task": None,
        "status": "closed",
        "stop": "answer",
        "reward": 1.0,
        "recall": 1.0,
        "precision": 1.0,
        "calls": 4,
        "tokens": None,
        "failure": None,
        **more,
    }
    return PlayedEpisode(**told)


def figures_of(report: Report) -> dict[str, str]:
    return {figure.label: figure.value for figure in report.key_figures}


def tables_of(report: Report) -> dict[str, DataTable]:
    parts = (part for section in report.sections for part in section.parts)
    return {part.caption: part for part in parts if isinstance(part, DataTable)}


def test_means_are_over_what_did_not_fail_and_has_a_reward() -> None:
    failed = {
        "status": "failed",
        "reward": None,
        "failure": "model: gone",
        "id": None,
        "stop": "failure",
    }
    episodes = [
        played(1, reward=0.5),
        played(2),
        played(3, **failed),
        played(4, environment="a/b", question="q 1", reward=0.25, tokens=7),
    ]
    report = report_of_rollout("oracle", episodes, planned=6)
    assert report.lead == "4 episodes, 2 are left to play."
    assert figures_of(report) == {
        "mean reward": "0.583",
        "solved in full": "33.3%",
        "episodes": "4",
        "failed": "1",
        "calls per episode": "4.0",
        "tokens of the model": "7",
    }
    tables = tables_of(report)
    means = tables["Means of what was played"]
    assert [(*row[:4], path) for row, path in zip(means.rows, means.paths, strict=True)] == [
        ("a/b q 1", "1", "0", "0.250", "/environments/a%2Fb?question=q%201"),
        ("harbour", "3", "1", "0.750", "/environments/harbour"),
    ]
    assert tables["Failures"].rows == [("model: gone", "1")]
    assert tables["All of them"].paths[0] == ""  # never opened
    assert tables["All of them"].paths[1] == f"/episodes/{4:032x}"


def test_every_reward_is_in_one_bin_and_the_axis_is_that_of_rewards() -> None:
    rewards = [0.0, 0.049, 0.05, 0.999, 1.0]
    report = report_of_rollout("x", [played(n, reward=r) for n, r in enumerate(rewards)])
    histogram = report.sections[0].parts[0]
    assert isinstance(histogram, Histogram)
    assert [(round(at, 3), count) for at, count in histogram.bins] == [
        (0.025, 2),
        (0.075, 1),
        (0.975, 2),
    ]


def test_of_many_episodes_a_page_shows_the_lowest_ones() -> None:
    episodes = [played(n, environment=f"e{n}", reward=n / 1000) for n in range(1000)]
    tables = tables_of(report_of_rollout("x", episodes))
    shown = tables["The lowest 200 of 1,000"]
    assert [row[1] for row in shown.rows[:2]] == ["e0", "e1"]
    assert len(tables["Means of what was played, the lowest 200 of 1,000"].rows) == 200


def test_a_rollout_of_nothing_has_a_page() -> None:
    report = report_of_rollout("x", [])
    assert figures_of(report)["mean reward"] == "\u2013"
    assert report.sections == []
