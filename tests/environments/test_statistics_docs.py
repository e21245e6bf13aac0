"""docs/statistics.md says what is so: what every figure and member is, and an example that runs."""

import re
from pathlib import Path

import pytest

from astra_mcp.cli.statistics.comparison import figures_of
from astra_mcp.cli.statistics.counting import Counted
from astra_mcp.environments.statistics import summarise

PAGE = (Path(__file__).parents[2] / "docs" / "statistics.md").read_text(encoding="utf-8")


def test_the_page_means_each_figure_as_the_report_does() -> None:
    figures = [f for f in figures_of(summarise([])) if not f.name.endswith((", median", ", range"))]
    rows = [f"| {f.name.removesuffix(', mean')} | {f.meaning} |" for f in figures]
    assert len(rows) > 8
    assert [row for row in rows if row not in PAGE] == []


def test_the_page_names_every_member_of_the_json() -> None:
    members = Counted([], summarise([]), []).as_json().keys() | {"families"}
    assert members == set(re.findall(r"`(\w+)`", "".join(re.findall(r"^\| (`.*?) \|", PAGE, re.M))))


def test_the_example_of_the_page_writes_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [example] = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    monkeypatch.chdir(tmp_path)
    exec(example, {})  # noqa: S102 - our own page
    assert "Reward by step" in (tmp_path / "run.html").read_text(encoding="utf-8")
