"""``astra-mcp episodes`` as a person runs it, on records of real rollouts."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from registry.published.names import NameKind, write_names

from command_line import Cli, Run


def astra(home: Path, *arguments: str) -> Run:
    return Cli(home).run(*arguments)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the record of one oracle rollout."""
    home = tmp_path_factory.mktemp("home")
    done = astra(home, "rollout", "tour-rebooking", "--agent", "oracle", "--json")
    assert done.returncode == 0, done.stderr
    return home


@pytest.fixture(scope="module")
def episode(home: Path) -> dict[str, Any]:
    [episode] = astra(home, "episodes", "list", "--json").told["episodes"]
    assert episode["created_at"].endswith("Z")
    return episode


Event = dict[str, Any]


def copy_record(
    home: Path, other: Path, episode: dict[str, Any], **changed: Callable[[Event], None]
) -> None:
    """Copy the record into another home, and change the first event of some kinds there."""
    name = f"{episode['id']}.jsonl"
    events = [json.loads(line) for line in (home / "records" / name).read_text().splitlines()]
    for kind, change in changed.items():
        change(next(event for event in events if event["event"] == kind))
    (other / "records").mkdir()
    (other / "records" / name).write_text("".join(json.dumps(e) + "\n" for e in events))


def test_a_rollout_is_listed_with_its_reward(home: Path, episode: dict[str, Any]) -> None:
    assert episode["status"] == "closed"
    assert episode["reward"]["recall"] == 1.0
    listed = astra(home, "episodes", "list").stdout
    assert episode["id"][:12] in listed
    assert "tour-rebooking" in listed


def test_every_filter_of_the_list_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "gateway.md").read_text(encoding="utf-8")
    shown = CliRunner().invoke(app, ["episodes", "list", "--help"], env={"COLUMNS": "200"}).stdout
    options = set(re.findall(r"--[a-z][a-z-]+", shown)) - {"--json", "--help", "--no-interactive"}
    assert "--min-reward" in options
    assert not [option for option in options if f"`{option}" not in page]


@pytest.mark.parametrize(
    ("options", "is_listed"),
    [
        (["--status", "closed", "--source", "TOUR", "--min-reward", "0.9"], True),
        (["--status", "failed"], False),
        (["--source", "sold-prices"], False),
        (["--max-reward", "0.5"], False),
    ],
)
def test_the_list_is_narrowed_by_what_the_records_say(
    home: Path, options: list[str], is_listed: bool
) -> None:
    done = astra(home, "episodes", "list", "--json", *options)
    assert bool(done.told["episodes"]) is is_listed


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_listed(
    home: Path, episode: dict[str, Any], tmp_path: Path
) -> None:
    copy_record(home, tmp_path, episode)
    (tmp_path / "records" / f"{'a' * 32}.jsonl").write_text("no event\nno event\n")
    done = astra(tmp_path, "episodes", "list", "--json")
    assert done.returncode == 0
    assert [e["id"] for e in done.told["episodes"]] == [episode["id"]]
    assert "left out: the record of episode aaaaaa: line 1" in done.stderr


def test_a_home_without_records_lists_none_and_stays_as_it_is(tmp_path: Path) -> None:
    done = astra(tmp_path, "episodes", "list", "--json")
    assert done.told == {"episodes": []}
    assert list(tmp_path.iterdir()) == []
    assert "no episode is recorded yet" in astra(tmp_path, "episodes", "list").stderr


def test_where_nothing_matches_that_is_said(home: Path) -> None:
    done = astra(home, "episodes", "list", "--status", "failed")
    assert (done.stdout, done.stderr) == ("", "nothing matches\n")


def test_arguments_are_shown_as_json_and_a_long_result_by_its_beginning(
    home: Path, episode: dict[str, Any], tmp_path: Path
) -> None:
    copy_record(
        home,
        tmp_path,
        episode,
        call_started=lambda event: event.update(arguments={"is_cheap": True, "名": None}),
        call_finished=lambda event: event["result"]["content"][0].update(text="x" * 200),
    )
    done = astra(tmp_path, "episodes", "show", episode["id"])
    assert '{"is_cheap": true, "名": null}' in done.stdout
    assert "--json prints them whole" in done.stderr


def test_a_replay_says_of_a_deployed_server_that_it_is_one(
    home: Path, episode: dict[str, Any], tmp_path: Path
) -> None:
    servers = {"quay": "1"}
    copy_record(home, tmp_path, episode, episode_opened=lambda event: event.update(servers=servers))
    write_names(tmp_path, NameKind.DEPLOYED, servers)
    done = astra(tmp_path, "episodes", "replay", episode["id"])
    assert done.returncode == 1
    assert "'quay' is a deployed server" in done.stderr


def test_an_episode_is_shown_by_the_first_characters_of_its_id(
    home: Path, episode: dict[str, Any]
) -> None:
    shown = astra(home, "episodes", "show", episode["id"][:8], "--json").told
    assert len(shown["record"]) == episode["calls"]
    assert all(call["origin"] == "tool" for call in shown["record"])
    assert "reward 1.0000" in astra(home, "episodes", "show", episode["id"]).stdout


def test_what_the_agent_was_not_told_of_a_call_is_shown(
    home: Path, episode: dict[str, Any], tmp_path: Path
) -> None:
    hidden = {"origin": "injected", "injected": "timeout", "emulator": "offline"}
    copy_record(
        home,
        tmp_path,
        episode,
        call_started=lambda event: event.update(distractor=True),
        call_finished=lambda event: event.update(hidden),
    )

    shown = astra(tmp_path, "episodes", "show", episode["id"], "--json").told
    told = astra(tmp_path, "episodes", "show", episode["id"]).stdout

    first, second = shown["record"][:2]
    told_of = ("distractor", "injected", "emulator")
    assert [first[key] for key in told_of] == [True, "timeout", "offline"]
    assert [second[key] for key in told_of] == [False, None, None]
    assert f"[0] {first['tool']} (injected: timeout, distractor, emulated: offline)" in told
    assert f"[1] {second['tool']} (tool)" in told


def test_a_replay_reports_identical_results(home: Path, episode: dict[str, Any]) -> None:
    done = astra(home, "episodes", "replay", episode["id"], "--json")
    assert done.returncode == 0, done.stderr
    assert done.told == {"compared": episode["calls"], "skipped": 0, "divergences": []}


def test_a_replay_that_diverges_exits_1_and_shows_both_results(
    home: Path, episode: dict[str, Any], tmp_path: Path
) -> None:
    other = {"text": "something else"}
    copy_record(
        home,
        tmp_path,
        episode,
        call_finished=lambda event: event["result"]["content"][0].update(other),
    )
    done = astra(tmp_path, "episodes", "replay", episode["id"])
    assert done.returncode == 1
    assert "recorded: something else" in done.stdout


@pytest.mark.parametrize("wrong", ["ffffffff", "../x", "*"])
def test_an_unknown_id_is_a_message_and_exit_code_1(home: Path, wrong: str) -> None:
    done = astra(home, "episodes", "show", wrong)
    assert done.returncode == 1
    assert "episode id" in done.stderr
    assert "Traceback" not in done.stderr
