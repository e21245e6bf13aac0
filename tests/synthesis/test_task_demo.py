"""The demo of trajectories: each mistake is caught where it should be, and every run makes the same."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.cli.synth import task_demo
from astra_mcp.cli.synth.demo_play import FILES, Played, play_demo
from astra_mcp.compose.settings import Settings
from astra_mcp.pipeline import ItemStatus, Progress, Settled
from astra_mcp.synthesis.trajectories.demo.places import filled, filled_text
from astra_mcp.synthesis.trajectories.demo.script import TaskScript, load_task_script
from astra_mcp.synthesis.trajectories.demo.words import Expected, Said, ServerWords
from astra_mcp.synthesis.trajectories.run_statistics import TaskStatistics
from astra_mcp.trajectory import StopReason, read_trajectories

from command_line import Cli, Run

PAGE = Path(__file__).parents[2] / "docs" / "trajectory-synthesis.md"
SCRIPT = load_task_script()
UNWANTED = ("write", "invalid_chain")
"""What becomes of walks about which nothing was written; no mistake of their own."""
DEMO = ("synth", "tasks", "--demo")


def said() -> Iterator[Said]:
    """All requests that were written."""
    for words in SCRIPT.servers:
        for task in words.tasks:
            yield from (task, *task.variations.values())


def planted() -> Iterator[tuple[ServerWords, Expected]]:
    """All mistakes in what was written, by the server that they are about."""
    for words in SCRIPT.servers:
        tasks = (s for task in words.tasks for s in (task, *task.variations.values()))
        yield from ((words, s.expected) for s in (*words.proposals, *tasks) if s.expected)


PLANTED = [*planted()]
KEPT = sorted(s.query for task in SCRIPT.servers for t in task.tasks if t.expected is None
              for s in (t, *t.variations.values()) if s.expected is None)  # fmt: skip


class Heard:
    """What a run told, and where its files are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.statistics = TaskStatistics()
        self.rejected: list[tuple[str, str, str, str]] = []
        """Server, stage, reason and detail."""
        self.failed: list[str] = []

    def hear(self, event: Progress) -> None:
        self.statistics.hear(event)
        if not isinstance(event, Settled):
            return
        outcome = event.outcome
        if outcome.status is ItemStatus.REJECTED:
            server = outcome.item.partition("/")[0]
            self.rejected.append((server, event.stage, outcome.reason, outcome.detail))
        elif outcome.status is ItemStatus.FAILED:
            self.failed.append(f"{event.stage} {outcome.item}: {outcome.detail}")

    def lines(self, name: str) -> list[dict[str, Any]]:
        text = (self.folder / FILES[name]).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Commands in a home of the module, whose settings no other command would take."""
    home = tmp_path_factory.mktemp("demo") / "home"
    home.mkdir()
    (home / "astra.toml").write_text("[no-such-section]\n")
    return Cli(home)


@pytest.fixture(scope="module")
def played(cli: Cli) -> tuple[Run, Heard]:
    """The command, run once, and every step that it was told."""
    heard = Heard(cli.folder / "made" / "demo")

    async def play_aloud(
        settings: Settings,
        script: TaskScript,
        folder: Path,
        statistics: TaskStatistics,
        hear: Callable[[Progress], None],
    ) -> Played:
        def hear_both(event: Progress) -> None:
            hear(event)
            heard.hear(event)

        return await play_demo(settings, script, folder, statistics, hear_both)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_demo, "play_demo", play_aloud)
        return cli.run(*DEMO, "--out", "made/demo", "--json"), heard


@pytest.fixture(scope="module")
def told(played: tuple[Run, Heard]) -> Run:
    """How the command ended."""
    return played[0]


@pytest.fixture(scope="module")
def heard(played: tuple[Run, Heard]) -> Heard:
    """Every step that the command was told, and its files."""
    return played[1]


def test_each_planted_mistake_is_caught_by_its_stage_with_its_reason(heard: Heard) -> None:
    assert heard.failed == []
    for words, expected in PLANTED:
        caught = [
            detail
            for server, stage, reason, detail in heard.rejected
            if (server, stage, reason) == (words.server, expected.stage, expected.reason)
        ]
        assert any(expected.detail in detail for detail in caught), (words.server, expected)


def test_nothing_else_is_rejected_than_the_mistakes_and_walks_that_nobody_wants(
    heard: Heard,
) -> None:
    found = Counter((stage, reason) for _, stage, reason, _ in heard.rejected)
    unwanted = found.pop(UNWANTED)
    assert found == Counter((expected.stage, expected.reason) for _, expected in PLANTED)
    assert unwanted == 7
    assert sorted(task.query for task in heard.statistics.tasks) == KEPT
    assert len(KEPT) == 24


def test_the_mistakes_are_of_every_kind() -> None:
    kinds = {expected.reason for _, expected in PLANTED}
    assert kinds >= {
        "unknown_tool", "wrong_order", "unsupported_argument", "incoherent", "invented_argument",
        "other_language", "other_intent", "lost_detail", "low_scenario_realism", "near_duplicate",
    }  # fmt: skip


def test_each_task_is_played_by_the_words_of_the_agent_and_scored(heard: Heard) -> None:
    played = [*read_trajectories(heard.folder / FILES["trajectories"])]
    assert sorted(str(each.messages[0].content) for each in played) == KEPT
    assert {each.agent.model for each in played} == {"answers-written-by-hand"}
    assert {(each.status, each.stop) for each in played} == {
        (EpisodeStatus.CLOSED, StopReason.ANSWER)
    }
    assert [each["state"] for each in heard.lines("scores")] == ["scored"] * 24


def test_an_argument_that_is_made_up_is_mended_where_the_second_attempt_is_right(
    heard: Heard,
) -> None:
    guests = {
        str(call.arguments["guests"])
        for task in heard.statistics.tasks
        for call in task.executed
        if call.step.tool == "create_booking"
    }
    first = [t.first_arguments for words in SCRIPT.servers for t in words.tasks]
    assert [each[3]["guests"] for each in first if each] == [12]
    assert guests == {"3"}


def test_a_call_that_failed_costs_its_trajectory_something_and_not_its_place(heard: Heard) -> None:
    failed = [each for each in heard.lines("scores") if each["dimensions"]["TCS"]["value"] == 3 / 4]
    assert len(failed) == 1
    assert failed[0]["dimensions"]["TC"]["value"] == 3 / 4
    assert "hold-0001" in (heard.folder / FILES["sft"]).read_text(encoding="utf-8")


def test_what_is_below_a_floor_is_left_out_and_nothing_else(heard: Heard, told: Run) -> None:
    floors = Counter(each.floor for each in said() if each.floor)
    assert told.told["sft"] == {
        "read": 24,
        "rows": 24 - floors.total(),
        "left_out": {**dict.fromkeys(told.told["sft"]["left_out"], 0), **floors},
    }
    refused = {each.query for each in said() if each.floor}
    asked = [row["messages"][0]["content"] for row in heard.lines("sft")]
    assert sorted(asked) == [query for query in KEPT if query not in refused]
    assert set(floors) == {"min-calls", "min-FA", "min-total"}


@pytest.mark.volume
@pytest.mark.smoke
def test_a_run_elsewhere_writes_the_same_tasks_and_rows(tmp_path: Path, told: Run) -> None:
    assert told.returncode == 0, told.stderr
    home, folder = tmp_path / "home", tmp_path / "made"
    home.mkdir()
    folder.mkdir()
    settings, heard = Settings.model_construct(home=home), Heard(folder)
    anyio.run(play_demo, settings, SCRIPT, folder, heard.statistics, heard.hear)
    for name in ("tasks", "sft", "card"):
        there = Path(told.told["files"][name])
        assert there.read_bytes() == (folder / FILES[name]).read_bytes()


def test_the_command_says_that_all_words_were_written_by_hand_and_where_everything_is(
    cli: Cli, told: Run
) -> None:
    assert told.told["completions"] == "written by hand"
    assert told.told["model"] == "answers-written-by-hand"
    assert told.told["accepted"] == told.told["scores"]["scored"] == 24
    assert "written by hand" in told.stderr
    folder = cli.folder / "made" / "demo"
    assert sorted(map(Path, told.told["files"].values())) == sorted(folder.iterdir())
    assert "written by hand" in (folder / "report.html").read_text(encoding="utf-8")


def test_nothing_of_it_gets_into_the_home_or_stays_beside_its_folder(cli: Cli, told: Run) -> None:
    assert told.returncode == 0
    assert [file.name for file in cli.home.iterdir()] == ["astra.toml"]
    assert [file.name for file in (cli.folder / "made").iterdir()] == ["demo"]


def test_a_folder_that_is_there_is_kept(cli: Cli) -> None:
    there = cli.folder / "there"
    there.mkdir()
    refused = cli.run(*DEMO, "--out", str(there))
    assert refused.returncode == 2
    assert "exists already and is kept" in refused.stderr
    assert [*there.iterdir()] == []


@pytest.mark.parametrize(
    "option",
    [
        ("--seed", "0"),
        ("--execute",),
        ("--server", "x"),
        ("--report", "x.html"),
        ("--run", "tasks"),
    ],
    ids=" ".join,
)
def test_an_option_that_would_do_nothing_is_refused(cli: Cli, option: tuple[str, ...]) -> None:
    refused = cli.run(*DEMO, *option, "--out", "never")
    assert refused.returncode == 2
    assert option[0] in refused.stderr
    assert not (cli.folder / "never").exists()


def test_a_place_is_filled_from_results_by_its_own_type_or_within_a_text() -> None:
    results = ['{"books": [{"id": 7, "title": "Tides"}]}', "no JSON"]
    assert filled({"id": "$1.books.0.id", "n": 2}, results) == {"id": 7, "n": 2}
    assert filled_text("It is $1.books.0.title. 共$1.books.0.id本", results) == "It is Tides. 共7本"
    for place in (
        "$1.books.1.id",
        "$1.none",
        "$2.id",
        "$3.id",
        "$1.books.first.id",
        "$1.books.0.id.x",
    ):
        with pytest.raises(LookupError, match=r"\$"):
            filled_text(place, results)


def test_the_page_names_every_mistake_and_every_floor() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("## The demo")[2]
    for expected in (expected for _, expected in PLANTED):
        assert f"| `{expected.stage}` | `{expected.reason}` |" in page, expected
    for floor in {each.floor for each in said() if each.floor}:
        assert f"`{floor}`" in page


def test_what_nobody_wrote_is_said_to_be_missing() -> None:
    with pytest.raises(LookupError, match="nothing was written of the request 'hello'"):
        SCRIPT.answer('Prompt "coherence", version 1.', "<query>\nhello\n</query>")
    with pytest.raises(LookupError, match="nothing was written of the request 'hello'"):
        SCRIPT.turn([{"role": "user", "content": "hello"}])
