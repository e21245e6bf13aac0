"""``synth tasks --demo``: where the demo of trajectories is played, and what is told of it.

It has a home of its own, which is gone at its end, and settings of its own: nothing of it gets into the
user's registry, and nothing of the user's changes what it makes.
"""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import typer

from astra_mcp.cli.progress import print_yield, show_pipeline
from astra_mcp.cli.score.page import report_of
from astra_mcp.cli.synth.demo_play import FILES, RECIPE, RUN, Played, play_demo
from astra_mcp.cli.synth.task_options import Given
from astra_mcp.cli.synth.task_report import report_of_tasks
from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.pipeline import Progress, YieldTable
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.html.writing import write_report
from astra_mcp.synthesis.trajectories.demo.script import load_task_script
from astra_mcp.synthesis.trajectories.demo.words import MODEL
from astra_mcp.synthesis.trajectories.pipeline import tally_of
from astra_mcp.synthesis.trajectories.run_statistics import TaskStatistics
from astra_mcp.trajectory import read_trajectories
from training.rewards.score import State, digest_of
from training.rewards.score_files import read_scores
from training.rewards.statistics import ScoreSummary

__all__ = ["make_demo"]

_FOLDER = Path("trajectories-demo")
_BY_HAND = "the demo: no model is asked, all words of one were written by hand"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What came of it."""

    table: YieldTable
    statistics: TaskStatistics
    played: Played
    scores: ScoreSummary

    @property
    def has_failed(self) -> bool:
        """Whether something was left undone, which no mistake in the words leads to."""
        return bool(self.table.stopped or self.table.num_failed or self.scores.reasons)


def make_demo(given: Given) -> None:
    """Make all of it in a new folder, whole or not at all, and tell where it lies.

    Ends the command with 1 where something failed.
    """
    with report_errors():
        folder = user_path(given.out or _FOLDER).absolute()
        say.print(_BY_HAND)
        with _made_whole(folder) as (home, draft):
            made = _make(Settings.model_construct(home=home), draft)
            _report(made, draft)
    _tell(made, folder, as_json=given.as_json)
    if made.has_failed:
        raise typer.Exit(ExitCode.FAILED)


@contextmanager
def _made_whole(folder: Path) -> Generator[tuple[Path, Path]]:
    """Give a home, and a folder beside the wanted one, which it becomes where the block ends well."""
    if folder.exists() or folder.is_symlink():
        raise ConfigError(f"--out {folder} exists already and is kept: name a new folder")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        made = TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.parent)
    except OSError as error:
        raise ConfigError(f"--out {folder} cannot be made: {error.strerror}") from None
    with made as place:
        home, draft = Path(place) / "home", Path(place) / "made"
        home.mkdir(mode=0o700)
        draft.mkdir()
        yield home, draft
        try:
            draft.rename(folder)
        except OSError as error:
            raise ConfigError(f"--out {folder} cannot be made: {error.strerror}") from None


def _make(settings: Settings, folder: Path) -> _Made:
    script, statistics = load_task_script(), TaskStatistics()
    with show_pipeline(tally_of(RECIPE), total=len(script.servers)) as shown:

        def hear(event: Progress) -> None:
            shown.hear(event)
            statistics.hear(event)

        played = run_async(play_demo, settings, script, folder, statistics, hear)
        table = shown.table
    scores = ScoreSummary.of([*read_scores(folder / FILES["scores"]).values()])
    return _Made(table=table, statistics=statistics, played=played, scores=scores)


def _report(made: _Made, folder: Path) -> None:
    page = report_of_tasks(RUN, made.table, made.statistics, is_demo=True)
    write_report(page, folder / FILES["report"])
    scores = read_scores(folder / FILES["scores"])
    played = read_trajectories(folder / FILES["trajectories"])
    rows = ((each, scores.get(digest_of(each))) for each in played)
    write_report(report_of(rows, made.played.method), folder / FILES["scores_report"])


def _tell(made: _Made, folder: Path, *, as_json: bool) -> None:
    selected = made.played.export.selected
    if as_json:
        print_json(
            {
                "completions": "written by hand",
                "model": MODEL,
                **made.table.as_json(),
                **made.statistics.as_json(),
                "scores": made.scores.as_json(),
                "sft": {
                    "read": selected.num_read,
                    "rows": selected.num_taken,
                    "left_out": {**selected.left_out},
                },
                "files": {name: str(folder / file) for name, file in FILES.items()},
            }
        )
        return
    print_yield(made.table)
    num_scored = made.scores.states[State.SCORED]
    out.print(f"{num_scored} trajectories scored, {selected.num_taken} for training")
    out.print(selected.account())
    for name, file in FILES.items():
        out.print(f"{name.replace('_', ' ')}: {folder / file}")
    out.print(_BY_HAND)
