"""Pages of runs: the list, rollouts and syntheses by their reports, trainings by their growing figures."""

import json
import re
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.compose.runs.notes import NotedRun, RunKind, note_run
from astra_mcp.report.html.parts import DataColumn, DataTable, KeyFigure, Report, Section
from astra_mcp.trajectory import AgentInfo, Seeds, TrajectoryWriter
from training.sft.run_folder import METRICS, RunFolder

from shown_gateway import SCRIPT, STEERING, ShownGateway
from trajectories import a_trajectory

_KINDS = {"rollout": "rollout", "synthesis": "synth tasks", "training": "train rl"}


@contextmanager
def a_run(shown: ShownGateway, kind: str, name: str, **more: Any) -> Generator[NotedRun]:
    told: dict[str, Any] = {"name": name, "key": name, "command": _KINDS[kind], **more}
    with note_run(shown.home, RunKind(kind), **told) as run:
        run.tell("it begins")
        yield run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of a training that made 3 steps."""
    (tmp_path / "grpo").mkdir()
    for step in (1, 2, 3):
        log(tmp_path / "grpo", step)
    return tmp_path / "grpo"


def log(folder: Path, step: int, **more: float) -> None:
    RunFolder(folder).log(step, {"rollout/reward": step / 10, "loss": 1 / step, "clip": 0, **more})


async def test_the_list_shows_how_each_run_stands_a_page_at_a_time(shown: ShownGateway) -> None:
    for number in range(51):
        with a_run(shown, "rollout", f"many {number}") as run:
            run.tell(f"{number} episodes")
    with a_run(shown, "synthesis", "tasks of today") as run:
        page = await shown.page("/runs?kind=synthesis")
        assert f'href="/runs/{run.id}">tasks of today' in page
        assert "running</span>" in page
        assert "many" not in page
        assert f'href="/runs/{run.id}">tasks of today' in await shown.page("/")
    assert "done</span>" in await shown.page("/runs?kind=synthesis")
    first = await shown.page("/runs?kind=rollout")
    assert first.count("done</span>") == 50
    assert len(first.encode()) < 100_000
    assert 'href="/runs?kind=rollout&amp;page=2"' in first
    assert "many" in await shown.page("/runs?kind=rollout&page=2")
    last = await shown.page("/runs?kind=rollout&page=99")
    assert "page 2 of 2" in last
    assert "many" in last
    assert "no kind" in await shown.page("/runs?kind=dance")


async def test_a_report_is_shown_with_links_to_what_it_names(shown: ShownGateway) -> None:
    table = DataTable(
        caption="Played",
        columns=[DataColumn(name="played"), DataColumn(name="said")],
        rows=[("harbour", SCRIPT + STEERING), ("none", "w" * 9000)],
        paths=["/environments/harbour", ""],
    )
    sections = [Section(title="What was played", parts=[table])]
    figures = [KeyFigure(label="mean reward", value="0.750")]
    with a_run(shown, "rollout", SCRIPT + STEERING, place=shown.home / "gone.jsonl") as run:
        empty = await shown.page(f"/runs/{run.id}")
        assert "come to nothing yet" in empty
        assert "data-again" in empty
        report = Report(title=SCRIPT, key_figures=figures, sections=sections)
        run.show(lambda: report, is_last=True)
    page = await shown.page(f"/runs/{run.id}")
    assert '<a href="/environments/harbour">harbour</a>' in page
    assert "0.750" in page
    assert "which is no longer there" in page
    assert "data-again" not in page
    assert "\u2026 5,000 characters more" in page
    assert SCRIPT not in page
    assert "\u202e" not in page
    scripts = r"<script(?! defer src=\"| type=\"application/json\")"
    assert not re.search(rf"{scripts}|<[a-z][^>]*\s(?:on\w+|style)=|<style", page)
    answer = await shown.browser.get(f"/runs/{run.id}/file")
    assert "attachment" in answer.headers["Content-Disposition"]
    assert "w" * 9000 in answer.text
    assert "/environments/harbour" not in answer.text
    assert SCRIPT not in answer.text


async def test_a_training_is_read_on_while_it_runs(shown: ShownGateway, folder: Path) -> None:
    with a_run(shown, "training", "grpo", place=folder) as run:
        address = f"/runs/{run.id}"
        first = await shown.browser.get(address)
        assert f'data-again="{address}"' in first.text
        known = {"If-None-Match": first.headers["ETag"]}
        assert (await shown.browser.get(address, headers=known)).status_code == 304
        log(folder, 4)
        with (folder / METRICS).open("a") as file:
            file.write('{"step": 5, "lo')
        second = await shown.browser.get(address, headers=known)
        assert second.status_code == 200
        assert "<dd>4</dd>" in second.text
        assert "<dd>0.400</dd>" in second.text
    assert "data-again" not in await shown.page(address)
    every = await shown.page(f"{address}?figures=all")
    assert ("Clip</h3>" in every, "Clip</h3>" in second.text) == (True, False)


async def test_thousands_of_figures_come_a_page_at_a_time_and_a_file_says_what_it_leaves_out(
    shown: ShownGateway, folder: Path
) -> None:
    log(folder, 4, **{f"signals/number_{n}": n for n in range(1000)})
    with a_run(shown, "training", "wide", place=folder) as run:
        address = f"/runs/{run.id}?figures=all"
        first = await shown.browser.get(address)
        last = await shown.page(f"{address}&page=99")
        known = {"If-None-Match": first.headers["ETag"]}
        second = await shown.browser.get(f"{address}&page=2", headers=known)
    assert first.text.count("data-plot ") == 200
    assert "Figures 1 to 200 of 1,003" in first.text
    assert f'href="/runs/{run.id}?figures=all&amp;page=2"' in first.text
    assert second.status_code == 200
    assert f'data-again="/runs/{run.id}?figures=all&amp;page=2"' in second.text
    assert last.count("data-plot ") == 3
    assert "Number 999 (" in last
    whole = await shown.browser.get(f"/runs/{run.id}/file")
    assert whole.text.count("data-plot ") == 500
    assert "503 further figures are not drawn here" in whole.text


async def test_trainings_stand_in_one_plot_whatever_their_names(
    shown: ShownGateway, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    log(tmp_path / "other", 2, entropy=0.5)
    with a_run(shown, "training", "same", key="one", place=folder) as one:
        pass
    with a_run(shown, "training", "same", key="two", place=tmp_path / "other") as two:
        pass
    with a_run(shown, "rollout", "no training") as rollout:
        pass
    page = await shown.page(f"/runs/{one.id}?with={two.id}&with={two.id}&with={rollout.id}")
    legend = re.search(r'<ul class="legend">(.*?)</ul>', page, re.S)
    assert legend is not None
    assert re.findall(r"</svg> ([^<]+)<", legend[1]) == [f"same {one.id}", f"same {two.id}"]
    assert f'value="{two.id}" checked' in page
    assert (await shown.browser.get(f"/runs/{one.id}?with=r000000000000")).status_code == 404


async def test_a_page_of_several_trainings_is_new_when_any_of_them_ends(
    shown: ShownGateway, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    log(tmp_path / "other", 2)
    with a_run(shown, "training", "one", place=folder) as one:
        pass
    with a_run(shown, "training", "two", place=tmp_path / "other") as two:
        address = f"/runs/{one.id}?with={two.id}"
        first = await shown.browser.get(address)
        known = {"If-None-Match": first.headers["ETag"]}
        assert (await shown.browser.get(address, headers=known)).status_code == 304
    ended = await shown.browser.get(address, headers=known)
    assert (ended.status_code, "data-again" in ended.text) == (200, False)


async def test_figures_that_cannot_be_read_are_named_and_the_rest_is_shown(
    shown: ShownGateway, folder: Path
) -> None:
    with a_run(shown, "training", "torn", place=folder) as run:
        pass
    with (folder / METRICS).open("a") as file:
        file.write(f'{{"step": "{SCRIPT}"}}\n')
    page = await shown.page(f"/runs/{run.id}")
    assert "line 4 has no step" in page
    assert "<dd>3</dd>" in page
    shutil.rmtree(folder)
    page = await shown.page(f"/runs/{run.id}")
    assert "which is no longer there" in page
    assert "come to nothing yet" in page
    assert (await shown.browser.get(f"/runs/{run.id}/file")).status_code == 404


async def test_a_run_is_shown_with_what_it_was_made(
    shown: ShownGateway, folder: Path, tmp_path: Path
) -> None:
    options = '{"temperature": 0.7, "failures": {"rate": 0.25}, "distractors": null}'
    told = {"agent": AgentInfo(name="model", model=SCRIPT), "options": options}
    played = a_trajectory(seeds=Seeds(root=41, index=0, episode=7), **told)
    with TrajectoryWriter(tmp_path / "played.jsonl") as writer:
        writer.write(played)
    begun = {"settings": {"model.name": "tiny", "rl.group": 8}, "data": {}, "versions": {}}
    (folder / "run.json").write_text(json.dumps(begun))
    for kind, place, wanted in (
        ("rollout", tmp_path / "played.jsonl", {"seed": "41", "temperature": "0.7"}),
        ("rollout", tmp_path / "played.jsonl", {"failures.rate": "0.25", "distractors": "\u2013"}),
        ("training", folder, {"model.name": "tiny", "rl.group": "8"}),
    ):
        with a_run(shown, kind, "with settings", place=place) as run:
            pass
        page = await shown.page(f"/runs/{run.id}")
        folded = re.search(r"<details><summary>Made with.*?</details>", page, re.S)
        assert folded is not None
        found = dict(re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", folded[0], re.S))
        assert found.items() >= wanted.items()
        assert SCRIPT not in page


async def test_settings_that_cannot_be_read_are_named_and_the_rest_is_shown(
    shown: ShownGateway, folder: Path, tmp_path: Path
) -> None:
    (folder / "run.json").write_text("[]")
    (tmp_path / "torn.jsonl").write_text("{}\n")
    (tmp_path / "growing.jsonl").write_text('{"schema')
    for kind, place, fault in (
        ("training", folder, "run.json is not of a run of training"),
        ("rollout", tmp_path / "torn.jsonl", "line 1 is no trajectory"),
        ("rollout", tmp_path / "growing.jsonl", ""),
        ("synthesis", tmp_path, ""),
    ):
        with a_run(shown, kind, f"unread {place.name}", place=place) as run:
            pass
        page = await shown.page(f"/runs/{run.id}")
        assert "Made with" not in page
        assert (fault in page) if fault else 'class="fault" role="alert"' not in page


async def test_what_is_no_id_of_a_run_leads_nowhere(shown: ShownGateway) -> None:
    (shown.home / "secret.rollout.json").write_text("{}")
    for wrong in ("r000000000000", "secret", "..%2Fsecret", "r", "x" * 3000):
        for path in (f"/runs/{wrong}", f"/runs/{wrong}/file"):
            assert (await shown.browser.get(path)).status_code == 404, path
