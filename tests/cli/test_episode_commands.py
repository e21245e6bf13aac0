"""``astra-mcp episodes`` as a person runs it, on records of real rollouts."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from registry.published.names import NameKind, write_names

from command_line import Cli


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """A home with the record of one oracle rollout."""
    cli = Cli(tmp_path_factory.mktemp("home"))
    cli.play("tour-rebooking", "--agent", "oracle")
    return cli


@pytest.fixture(scope="module")
def episode(cli: Cli) -> dict[str, Any]:
    [episode] = cli.run("episodes", "list", "--json").told["episodes"]
    assert episode["created_at"].endswith("Z")
    return episode


Event = dict[str, Any]


class CopyRecord(Protocol):
    """Copies the record into another home, and changes the first event of some kinds there."""

    def __call__(self, **changed: Callable[[Event], None]) -> Cli: ...


@pytest.fixture
def copied(cli: Cli, episode: dict[str, Any], tmp_path: Path) -> CopyRecord:
    def copy(**changed: Callable[[Event], None]) -> Cli:
        path = Path("records", f"{episode['id']}.jsonl")
        events = [json.loads(line) for line in (cli.home / path).read_text().splitlines()]
        for kind, change in changed.items():
            change(next(event for event in events if event["event"] == kind))
        (tmp_path / "records").mkdir()
        (tmp_path / path).write_text("".join(json.dumps(e) + "\n" for e in events))
        return Cli(tmp_path)

    return copy


def test_a_rollout_is_listed_with_its_reward(cli: Cli, episode: dict[str, Any]) -> None:
    assert episode["status"] == "closed"
    assert episode["reward"]["recall"] == 1.0
    listed = cli.run("episodes", "list").stdout
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
    cli: Cli, options: list[str], is_listed: bool
) -> None:
    done = cli.run("episodes", "list", "--json", *options)
    assert bool(done.told["episodes"]) is is_listed


def test_a_record_that_cannot_be_read_is_named_and_the_others_are_listed(
    episode: dict[str, Any], copied: CopyRecord
) -> None:
    other = copied()
    (other.home / "records" / f"{'a' * 32}.jsonl").write_text("no event\nno event\n")
    done = other.run("episodes", "list", "--json")
    assert done.returncode == 0
    assert [e["id"] for e in done.told["episodes"]] == [episode["id"]]
    assert "left out: the record of episode aaaaaa: line 1" in done.stderr


def test_a_home_without_records_lists_none_and_stays_as_it_is(tmp_path: Path) -> None:
    other = Cli(tmp_path)
    done = other.run("episodes", "list", "--json")
    assert done.told == {"episodes": []}
    assert list(tmp_path.iterdir()) == []
    assert "no episode is recorded yet" in other.run("episodes", "list").stderr


def test_where_nothing_matches_that_is_said(cli: Cli) -> None:
    done = cli.run("episodes", "list", "--status", "failed")
    assert (done.stdout, done.stderr) == ("", "nothing matches\n")


def test_arguments_are_shown_as_json_and_a_long_result_by_its_beginning(
    episode: dict[str, Any], copied: CopyRecord
) -> None:
    other = copied(
        call_started=lambda event: event.update(arguments={"is_cheap": True, "名": None}),
        call_finished=lambda event: event["result"]["content"][0].update(text="x" * 200),
    )
    done = other.run("episodes", "show", episode["id"])
    assert '{"is_cheap": true, "名": null}' in done.stdout
    assert "--json prints them whole" in done.stderr


def test_a_replay_says_of_a_deployed_server_that_it_is_one(
    episode: dict[str, Any], copied: CopyRecord
) -> None:
    servers = {"quay": "1"}
    other = copied(
        episode_opened=lambda event: event.update(servers=servers),
        call_started=lambda event: event.update(server="quay"),
    )
    write_names(other.home, NameKind.DEPLOYED, servers)
    done = other.run("episodes", "replay", episode["id"])
    assert done.returncode == 1
    assert "'quay' is a deployed server" in done.stderr
    assert "episodes show" in done.stderr


def test_a_replay_starts_no_deployed_server_whatever_a_record_says(
    episode: dict[str, Any], copied: CopyRecord, tmp_path: Path
) -> None:
    """The file of deployed servers is known, and the record names the server that stands there."""
    started = tmp_path / "started"
    file = tmp_path / "servers.json"
    entry = {"command": "touch", "args": [str(started)]}
    file.write_text(json.dumps({"mcpServers": {"quay": entry}}))
    other = copied(
        episode_opened=lambda event: event.update(servers={"quay": "1"}),
        call_started=lambda event: event.update(server="quay"),
    )
    done = other.run("episodes", "replay", episode["id"], ASTRA_MCP_SERVE__MCP_CONFIG=str(file))
    assert done.returncode == 1
    assert "'quay' is a deployed server: a replay would make the recorded calls" in done.stderr
    assert not started.exists()


def test_an_episode_is_shown_by_the_first_characters_of_its_id(
    cli: Cli, episode: dict[str, Any]
) -> None:
    shown = cli.run("episodes", "show", episode["id"][:8], "--json").told
    assert len(shown["record"]) == episode["calls"]
    assert all(call["origin"] == "tool" for call in shown["record"])
    assert "reward 1.0000" in cli.run("episodes", "show", episode["id"]).stdout


def test_what_the_agent_was_not_told_of_a_call_is_shown(
    episode: dict[str, Any], copied: CopyRecord
) -> None:
    hidden = {"origin": "injected", "injected": "timeout", "emulator": "offline", "told": [7]}
    other = copied(
        call_started=lambda event: event.update(distractor=True),
        call_finished=lambda event: event.update(hidden),
    )

    shown = other.run("episodes", "show", episode["id"], "--json").told
    told = other.run("episodes", "show", episode["id"]).stdout

    first, second = shown["record"][:2]
    told_of = ("distractor", "injected", "emulator", "told")
    assert [first[key] for key in told_of] == [True, "timeout", "offline", [7]]
    assert [second[key] for key in told_of] == [False, None, None, []]
    assert "tells [7] itself" in told
    assert f"[0] {first['tool']} (injected: timeout, distractor, emulated: offline)" in told
    assert f"[1] {second['tool']} (tool)" in told


def test_a_replay_reports_identical_results(cli: Cli, episode: dict[str, Any]) -> None:
    done = cli.run("episodes", "replay", episode["id"], "--json")
    assert done.returncode == 0, done.stderr
    assert done.told == {"compared": episode["calls"], "skipped": 0, "divergences": []}


def test_a_replay_that_diverges_exits_1_and_shows_both_results(
    episode: dict[str, Any], copied: CopyRecord
) -> None:
    other = {"text": "something else"}
    other = copied(
        call_finished=lambda event: event["result"]["content"][0].update(other),
    )
    done = other.run("episodes", "replay", episode["id"])
    assert done.returncode == 1
    assert "recorded: something else" in done.stdout


@pytest.mark.parametrize("wrong", ["ffffffff", "../x", "*"])
def test_an_unknown_id_is_a_message_and_exit_code_1(cli: Cli, wrong: str) -> None:
    done = cli.run("episodes", "show", wrong)
    assert done.returncode == 1
    assert "episode id" in done.stderr
    assert "Traceback" not in done.stderr
