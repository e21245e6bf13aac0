"""The demo: what comes of each source is what its author meant, and nothing is paid for twice."""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio
import pytest

from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.pipeline import ItemStatus
from astra_mcp.pipeline.item import Outcome
from astra_mcp.synthesis.environments.building.publishing import Published
from astra_mcp.synthesis.environments.demo.script import DemoSource, Script, load_script
from astra_mcp.synthesis.environments.questions.instance import Drafts
from registry.store.database import open_database
from registry.store.items import DatabaseItemStore

from command_line import Cli, Run, command, variables
from tiers import AT_THE_GATE

DEMO = ("synth", "environments", "--demo")
SCRIPT = load_script()
PUBLISHED = sorted(s.expected.published for s in SCRIPT.sources if s.expected.published)
IDS = [source.domain or source.question for source in SCRIPT.sources]
KILLS = 10


def at_the_gate(test: Callable[..., None]) -> Callable[..., None]:
    """Leave a test that needs a whole run to the gate; the quick ones run the same stages one by one."""
    for mark in AT_THE_GATE:
        test = mark(test)
    return test


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """Commands in a home of the module."""
    return Cli(tmp_path_factory.mktemp("demo") / "home")


@pytest.fixture(scope="module")
def first(cli: Cli) -> Run:
    """The demo, run once."""
    return cli.run(*DEMO)


@pytest.fixture(scope="module")
def again(cli: Cli, first: Run) -> Run:
    """The demo, run a second time."""
    assert first.returncode == 0
    return cli.run(*DEMO, "--json")


@at_the_gate
def test_the_demo_publishes_what_is_meant_to_pass_and_nothing_else(cli: Cli, first: Run) -> None:
    assert first.returncode == 0, first.stderr
    assert sorted(bundles(cli.home)) == PUBLISHED
    assert "written by hand" in first.stdout
    notes = [json.loads(b["environment.json"])["provenance"] for b in bundles(cli.home).values()]
    assert all("answers-written-by-hand" in note["notes"] for note in notes)


@at_the_gate
def test_a_second_run_asks_no_model_and_counts_the_same_rejections(again: Run) -> None:
    assert (again.told["model_calls"], again.told["cached_calls"]) == (0, 0)
    assert again.told["completions"] == "written by hand"
    meant = Counter((s.expected.stage, s.expected.reason) for s in SCRIPT.sources)
    del meant[None, None]
    told = {
        (stage, reason): count
        for stage, reasons in again.told["rejected"].items()
        for reason, count in reasons.items()
    }
    assert told == dict(meant)
    assert again.told["failed"] == {}


@at_the_gate
@pytest.mark.usefixtures("first")
@pytest.mark.parametrize("source", SCRIPT.sources, ids=IDS)
def test_each_source_ends_where_its_mistake_is_caught(cli: Cli, source: DemoSource) -> None:
    expected = source.expected
    stage = expected.stage or "publish"
    outcome = anyio.run(_outcome, cli.home, stage, f"{source.source.id}/1")
    assert outcome is not None
    if expected.published is None:
        assert (outcome.status, outcome.reason) == (ItemStatus.REJECTED, expected.reason)
        return
    attempts = Published.model_validate(outcome.outputs[0].value).built.attempts
    told = "\n".join(attempt.complaint for attempt in attempts)
    assert bool(attempts) is bool(expected.complaints)
    assert [part for part in expected.complaints if part not in told] == []


def test_the_sources_are_of_all_types_and_both_languages_with_and_without_a_text() -> None:
    drafts = [
        draft
        for source in SCRIPT.sources
        for scripted in source.answers
        if scripted.prompt == "decompose" and scripted.answer is not None
        for draft in Drafts.model_validate(scripted.answer).instances
    ]
    assert len(SCRIPT.sources) >= 12
    assert {draft.scenario_type for draft in drafts} == {*ScenarioType}
    assert {source.language for source in SCRIPT.sources} == {"en", "zh"}
    assert {bool(source.corpus) for source in SCRIPT.sources} == {True, False}
    assert any(source.question for source in SCRIPT.sources)


def test_an_answer_follows_from_the_content_and_a_broken_one_is_said_once() -> None:
    system, user = 'Prompt "decompose", version 1.', "<domain>\nd\n</domain>"
    source = DemoSource.model_validate(
        {
            "about": "",
            "domain": "d",
            "language": "en",
            "expected": {},
            "answers": [
                {"prompt": "decompose", "answer": {"instances": []}},
                {"prompt": "decompose", "when": "other words", "raw": "["},
                {"prompt": "decompose", "raw": "{"},
            ],
        }
    )
    script = Script([source], "1")
    assert script.answer(system, user, 0) == "{"
    assert json.loads(script.answer(system, user, 1)) == {"instances": []}
    with pytest.raises(LookupError, match="implementation"):
        script.answer('Prompt "implementation", version 1.', user, 0)


@pytest.mark.volume
@pytest.mark.usefixtures("first")
def test_the_oracle_earns_all_of_what_is_published_and_doing_nothing_earns_nothing(
    cli: Cli,
) -> None:
    for agent, least, most in (("oracle", 0.999, 1.0), ("noop", 0.0, 0.0)):
        rewards = [each["reward"] for each in cli.play(*PUBLISHED, "--agent", agent)["episodes"]]
        assert len(rewards) == len(PUBLISHED)
        assert all(least <= reward <= most for reward in rewards)


@pytest.mark.volume
@pytest.mark.usefixtures("first")
def test_a_demo_that_is_killed_again_and_again_makes_the_same_bytes(
    cli: Cli, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    for number in range(KILLS):
        process = subprocess.Popen(
            command(*DEMO), env=variables(home), cwd=tmp_path, stdout=subprocess.DEVNULL
        )
        time.sleep(1.5 + 1.1 * number)  # the point is where it is killed
        process.send_signal(signal.SIGKILL)
        process.wait()
    done = Cli(home).run(*DEMO)
    assert done.returncode == 0, done.stderr
    assert bundles(home) == bundles(cli.home)


def bundles(home: Path) -> Mapping[str, Mapping[str, str]]:
    """The texts of all published environments, by name and file."""
    return {
        folder.name: {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir()}
        for folder in (home / "environments").iterdir()
    }


async def _outcome(home: Path, stage: str, item: str) -> Outcome | None:
    async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
        return await DatabaseItemStore(database).find("demo", stage, item)
