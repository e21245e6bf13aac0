"""``astra-mcp rollout`` as a user runs it: a gateway in another process, and the bundled environments."""

import json
import os
import signal
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

from astra_mcp.completions import Reply
from astra_mcp.compose.runs.notes import RunState, list_runs, stored_report
from astra_mcp.environments.loading import load_bundle
from astra_mcp.report.html.writing import html_of
from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.trajectory import StopReason, read_trajectories
from servers.bundled import bundled_folder

from command_line import SECONDS, Cli, Run, command, served_home, variables
from completions_server import Body, CompletionsServer, asks, refuses, says, tool_texts
from small_gateway import open_small_gateway
from workshop import BRANDT, SENDA, Workshop, carrying

BUNDLED = {folder.parent.name for folder in bundled_folder().glob("*/environment.json")}
NAMES = sorted(BUNDLED)[:3]


@pytest.fixture
def own(tmp_path: Path) -> Cli:
    """A home without a gateway."""
    return Cli(tmp_path / "home")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cli]:
    """A home that is served."""
    with served_home(tmp_path_factory.mktemp("served") / "home") as cli:
        yield cli


def by_environment(report: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["environment"]: row for row in report["episodes"]}


# --- the bundled environments -------------------------------------------------------------------


def test_the_oracle_solves_everything_and_probing_or_doing_nothing_solves_nothing(
    served: Cli,
) -> None:
    oracle, noop, probe = (
        by_environment(served.play("--agent", agent)) for agent in ("oracle", "noop", "probe")
    )

    assert oracle.keys() == noop.keys() == probe.keys() == BUNDLED
    assert {row["recall"] for row in oracle.values()} == {1.0}
    assert min(row["reward"] for row in oracle.values()) >= 0.999
    assert {(row["reward"], row["recall"], row["calls"]) for row in noop.values()} == {(0, 0, 0)}
    assert {row["recall"] for row in probe.values()} == {0.0}
    assert min(row["calls"] for row in probe.values()) >= 1


@pytest.mark.volume
@pytest.mark.timeout(600)
def test_random_calls_solve_at_most_a_tenth_over_20_seeds(served: Cli) -> None:
    report = served.play("--agent", "random", "--seeds", "20")

    means = {row["environment"]: row for row in report["environments"]}
    assert means.keys() == BUNDLED
    assert {row["episodes"] for row in means.values()} == {20}
    assert {row["calls"] for row in means.values()} == {32.0}
    too_easy = {name: row["recall"] for name, row in means.items() if row["recall"] > 0.1}
    assert too_easy == {}


# --- the same again -----------------------------------------------------------------------------


TIMES_AND_IDS = ("at", "created_at", "latency_ms", "id", "episode_id")


def comparable(path: Path) -> list[str]:
    """The lines of a JSONL file without times and ids, that of the run among them."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if isinstance(row.get("labels"), dict):  # of a record; those of a trajectory are a text
            row["labels"].pop("run", None)
    return [json.dumps({k: v for k, v in r.items() if k not in TIMES_AND_IDS}) for r in rows]


@pytest.mark.parametrize("names", [NAMES, pytest.param([], id="all", marks=pytest.mark.volume)])
def test_two_oracle_runs_with_one_seed_leave_the_same_records(
    tmp_path: Path, names: list[str]
) -> None:
    trajectories: list[list[str]] = []
    records: list[list[list[str]]] = []
    for name, concurrency in (("one", "1"), ("two", "8")):
        cli, file = Cli(tmp_path / name), tmp_path / f"{name}.jsonl"
        cli.play("--agent", "oracle", *names, "--concurrency", concurrency, "--out", str(file))
        trajectories.append(comparable(file))
        records.append(sorted(map(comparable, (cli.home / "records").glob("*.jsonl"))))

    assert len(trajectories[0]) == len(records[0]) == len(names or BUNDLED)
    assert trajectories[0] == trajectories[1]
    assert records[0] == records[1]


@pytest.mark.parametrize("agent", ["random", "probe"])
def test_an_agent_repeats_itself_for_one_seed(served: Cli, tmp_path: Path, agent: str) -> None:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        served.play("--agent", agent, NAMES[0], "--seed", "5", "--out", str(file))

    assert comparable(files[0]) == comparable(files[1])


# --- a gateway of its own, records, output ------------------------------------------------------


def test_without_a_gateway_it_serves_one_and_says_so(own: Cli) -> None:
    done = own.run("rollout", "--agent", "oracle", *NAMES[:2], "--json")

    report = done.told
    assert done.returncode == 0
    assert "an own one serves at http://127.0.0.1:" in done.stderr
    assert "to see it in a browser: astra-mcp open r" in done.stderr
    assert "counted" not in done.stderr  # its interactive endpoints are closed
    assert list(by_environment(report)) == NAMES[:2]
    assert {"agent": "oracle", "model": None, "seed": 0}.items() <= report.items()
    assert report["episodes"][0].keys() == {
        *("environment", "agent", "seed", "status", "reward", "recall", "precision", "calls"),
        *(
            "failure",
            "episode_id",
            "stop",
            "tokens",
            "cost",
            "question",
            "task",
            "group",
            "sample",
            "usage",
        ),
    }
    rows = list(read_trajectories(Path(report["trajectories"])))
    assert [row.environment for row in rows] == NAMES[:2]


def test_each_question_of_an_environment_is_an_episode_with_its_own_job(own: Cli) -> None:
    workshop = Workshop(own.folder / "mine")
    workshop.change_document(carrying(BRANDT, SENDA))
    own.home.mkdir()
    (own.home / "astra.toml").write_text(f'environments = ["{workshop.path.parent}"]\n')

    report = own.play("--agent", "oracle", "small-library", "--questions", "all")
    (shown,) = own.run("episodes", "list", "--source", "brandt", "--json").told["episodes"]
    replay = own.run("episodes", "replay", shown["id"], "--json").told

    ids = [None, "brandt-audio", "senda-audio"]
    assert [(row["question"], row["recall"]) for row in report["episodes"]] == [
        (id, 1.0) for id in ids
    ]
    assert [row["question"] for row in report["environments"]] == ids
    played = list(read_trajectories(Path(report["trajectories"])))
    assert [trajectory.question for trajectory in played] == ids
    assert shown["source"]["question"] == "brandt-audio"
    assert (replay["compared"], replay["divergences"]) == (2, [])


def test_a_gateway_where_the_environments_can_be_tried_uncounted_is_told_of_in_one_line(
    own: Cli, tmp_path: Path
) -> None:
    opening = open_small_gateway(tmp_path / "gateway")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as gateway:
        where = ("--gateway", gateway.url, "--json")
        done = own.run("rollout", "--agent", "noop", *where, ASTRA_MCP_CONTROL_KEY=CONTROL_KEY)

    assert done.told["agent"] == "noop"
    (line,) = [line for line in done.stderr.splitlines() if "counted" in line]
    assert "harbour" in line
    assert "serve --interactive none" in line


def test_people_get_a_table_and_where_the_trajectories_are(served: Cli, tmp_path: Path) -> None:
    file, page = tmp_path / "t.jsonl", tmp_path / "t.html"
    told = ("--out", str(file), "--html", str(page))
    done = served.run("rollout", "--agent", "noop", NAMES[0], *told)

    assert done.returncode == 0
    assert NAMES[0] in done.stdout
    assert "0.000" in done.stdout
    assert "t.jsonl" in done.stderr
    run = next(each for each in list_runs(served.home).runs if each.note.place == file)
    assert f"/runs/{run.id}, or by: astra-mcp open {run.id}" in done.stderr
    assert (run.state, run.note.name) == (RunState.DONE, f"noop: {NAMES[0]}")
    assert run.note.figure == "1 of 1 episodes, mean reward 0.000"
    report = stored_report(served.home, run)
    assert report is not None
    assert html_of(report) == page.read_text(encoding="utf-8")
    again = served.run("runs", "show", str(file), "--json").told["figures"]
    assert again == {figure.label: figure.value for figure in report.key_figures}


@pytest.mark.volume
@pytest.mark.smoke
def test_a_random_run_writes_nothing_beside_the_users_files(own: Cli) -> None:
    done = own.run_program("rollout", "--agent", "random", NAMES[0])

    assert done.returncode == 0, done.stderr

    assert [path.name for path in own.home.parent.iterdir()] == ["home"]


# --- a model ------------------------------------------------------------------------------------


@pytest.fixture
def gold_model(endpoint: CompletionsServer) -> CompletionsServer:
    """A scripted model that makes the gold calls of the first environment, all in one turn."""
    steps = load_bundle(bundled_folder() / NAMES[0]).document.gold

    def policy(body: Body) -> Reply:
        if tool_texts(body):
            return says("That is all.")
        return asks(*((f"c{i}", s.tool, s.values) for i, s in enumerate(steps)))

    endpoint.always = policy
    return endpoint


def test_a_model_with_parallel_calls_earns_its_reward(
    served: Cli, gold_model: CompletionsServer
) -> None:
    done = served.play_model(gold_model, NAMES[0])

    report = done.told
    assert done.returncode == 0, done.stderr
    assert (report["agent"], report["model"]) == ("model", "scripted")
    assert report["episodes"][0]["reward"] >= 0.999
    (trajectory,) = read_trajectories(Path(report["trajectories"]))
    assert trajectory.stop is StopReason.ANSWER
    assert [m.role for m in trajectory.messages[:2]] == ["user", "assistant"]


def configured(base_url: str) -> dict[str, Any]:
    """Variables that set a model of the agent, with a key of its own."""
    named = {"MODEL": "configured", "BASE_URL": base_url, "API_KEY": "sk-configured"}
    return {f"ASTRA_MCP_MODELS__AGENT__{name}": value for name, value in named.items()}


def test_a_configured_model_plays_where_no_agent_is_named(
    served: Cli, gold_model: CompletionsServer
) -> None:
    done = served.run("rollout", NAMES[0], "--json", **configured(gold_model.base_url))

    assert done.returncode == 0, done.stderr
    assert done.told["model"] == "configured"


def test_the_key_of_a_configured_model_is_not_sent_to_another_address(
    served: Cli, gold_model: CompletionsServer
) -> None:
    elsewhere = configured("http://127.0.0.1:9/v1")
    done = served.play_model(gold_model, NAMES[0], **elsewhere)
    assert done.returncode == 0, done.stderr
    assert f"no key is sent to --base-url {gold_model.base_url}: the key of" in done.stderr
    assert gold_model.keys
    assert "sk-configured" not in "".join((*gold_model.keys, done.stderr, done.stdout))
    gold_model.keys.clear()
    done = served.play_model(gold_model, NAMES[0], **elsewhere, OPENAI_API_KEY="sk-meant")
    assert done.returncode == 0, done.stderr
    assert set(gold_model.keys) == {"sk-meant"}


def test_a_model_that_is_down_fails_the_run_without_a_score(
    served: Cli, endpoint: CompletionsServer
) -> None:
    endpoint.always = lambda _: refuses(500, "overloaded")

    done = served.play_model(endpoint, NAMES[0])

    (episode,) = done.told["episodes"]
    assert done.returncode == 1
    assert (episode["status"], episode["reward"]) == ("failed", None)
    assert episode["failure"]["boundary"] == "model"
    assert "overloaded" in episode["failure"]["message"]


@pytest.fixture(scope="module")
def first_question() -> str:
    """The question of the first environment, by which a scripted model tells it from the others."""
    return load_bundle(bundled_folder() / NAMES[0]).document.question


def test_a_whole_run_is_in_the_order_of_the_plan_whatever_finished_first(
    served: Cli, endpoint: CompletionsServer, first_question: str, tmp_path: Path
) -> None:
    second_is_done = anyio.Event()

    async def hold_the_first(body: Body) -> Reply:
        if len(endpoint.requests) == 3:
            second_is_done.set()
        if body["messages"][0]["content"] == first_question:
            await second_is_done.wait()
        return says("I do not know.")

    endpoint.later = hold_the_first
    file = tmp_path / "t.jsonl"
    done = served.play_model(endpoint, *NAMES, "--concurrency", "2", "--out", str(file))

    assert done.returncode == 0, done.stderr
    assert [row.environment for row in read_trajectories(file)] == NAMES
    assert list(by_environment(done.told)) == NAMES
    assert os.listdir(tmp_path) == ["t.jsonl"]


@asynccontextmanager
async def running(
    served: Cli, model: CompletionsServer, file: Path, concurrency: int
) -> AsyncGenerator[anyio.abc.Process]:
    """The program at play in three environments, with a model that answers in its own time."""
    options = ["--agent", "scripted", "--base-url", model.base_url, "--out", str(file), "--json"]
    program = command("rollout", *options, "--concurrency", str(concurrency), *NAMES)
    async with await anyio.open_process(
        program, env=variables(served.home), cwd=file.parent
    ) as process:
        with anyio.fail_after(SECONDS):
            yield process


@pytest.mark.system
async def test_a_killed_run_keeps_what_finished_behind_a_slow_one(
    served: Cli, completions: CompletionsServer, first_question: str, tmp_path: Path
) -> None:
    second_is_done = anyio.Event()

    async def answer_the_second_alone(body: Body) -> Reply:
        is_third = len(completions.requests) == 3
        if is_third:
            second_is_done.set()
        if is_third or body["messages"][0]["content"] == first_question:
            return await completions.hang(body)
        return says("I do not know.")

    completions.later = answer_the_second_alone
    file = tmp_path / "kept.jsonl"
    async with running(served, completions, file, concurrency=2) as process:
        await second_is_done.wait()
        process.kill()
        await process.wait()

    assert [row.environment for row in read_trajectories(file)] == NAMES[1:2]


@pytest.mark.system
async def test_two_rollouts_at_once_in_one_home_serve_themselves(
    own: Cli, completions: CompletionsServer, tmp_path: Path
) -> None:
    both_play = anyio.Event()

    async def meet(_: Body) -> Reply:
        if len(completions.requests) == 2:
            both_play.set()
        await both_play.wait()
        return says("I do not know.")

    completions.later = meet
    done: list[Run] = []

    async def play(name: str) -> None:
        options = ("--agent", "scripted", "--base-url", completions.base_url, NAMES[0], "--json")
        out = ("--out", str(tmp_path / name))
        done.append(
            await anyio.to_thread.run_sync(lambda: own.run_program("rollout", *options, *out))
        )

    async with anyio.create_task_group() as group:
        group.start_soon(play, "a.jsonl")
        group.start_soon(play, "b.jsonl")

    assert [run.returncode for run in done] == [0, 0], [run.stderr for run in done]
    reports = [run.told for run in done]
    assert len({report["gateway"] for report in reports}) == 2
    assert [report["episodes"][0]["status"] for report in reports] == ["closed", "closed"]
    assert len(list((own.home / "records").glob("*.jsonl"))) == 2


async def test_ctrl_c_keeps_what_is_finished_and_exits_130(
    served: Cli, completions: CompletionsServer, tmp_path: Path
) -> None:
    asked_again = anyio.Event()

    async def hang_later(body: Body) -> Reply:
        if len(completions.requests) == 1:
            return says("I do not know.")
        asked_again.set()
        return await completions.hang(body)

    completions.later = hang_later
    file = tmp_path / "kept.jsonl"
    async with running(served, completions, file, concurrency=1) as process:
        await asked_again.wait()
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 130

    assert [row.environment for row in read_trajectories(file)] == NAMES[:1]


# --- mistakes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--agent", "orcale"], 2, "did you mean oracle?"),
        (["--agent", "some-model"], 2, "set OPENAI_API_KEY"),
        (["--agent", "noop", "--base-url", "http://127.0.0.1:9/v1"], 2, "--base-url"),
        (["--agent", "noop", "no-such-place"], 1, "no environment is named 'no-such-place'"),
        (["--agent", "noop", NAMES[0][:-1]], 1, f"did you mean {NAMES[0]}"),
        (["--agent", "noop", "--gateway", "http://127.0.0.1:9"], 1, "no answer from the gateway"),
        (["--agent", "noop", "--episodes", "0"], 2, "--episodes"),
        (["--agent", "noop", "--gateway", "nonsense"], 2, "--gateway is no URL"),
        (["--agent", "noop", "--gateway", "http://[::1"], 2, "--gateway is no URL"),
        (["--agent", "some-model", "--base-url", "foo"], 2, "--base-url must be a URL"),
        (["--agent", "m", "--base-url", "http://[::1"], 2, "--base-url"),
        (["--agent", "m", "--base-url", "http://u:p@h/v1"], 2, "--base-url must hold no user"),
        (["--agent", "noop", "--out", "/dev/null"], 2, "name a new file"),
        (["--agent", "noop", "--system-prompt", "x"], 2, "is for a chat model"),
        (["--agent", "noop", "--out", "n" * 300], 2, "File name too long"),
        ([], 2, "--agent is missing"),
    ],
)
def test_a_mistake_is_named_with_a_remedy(
    served: Cli, arguments: list[str], code: int, words: str
) -> None:
    done = served.run("rollout", *arguments)

    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_an_option_that_the_gateway_does_not_take_is_one_line_that_names_it(
    own: Cli, tmp_path: Path
) -> None:
    file = tmp_path / "t.jsonl"
    opening = open_small_gateway(tmp_path / "gateway")  # it has no pool
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as gateway:
        options = ("--agent", "noop", "--distractors", "banded", "--seeds", "3", "--out", str(file))
        where = ("--gateway", gateway.url)
        done = own.run("rollout", *options, *where, ASTRA_MCP_CONTROL_KEY=CONTROL_KEY)

    assert (done.returncode, done.stdout) == (2, "")
    (line,) = [line for line in done.stderr.splitlines() if "error" in line]
    assert line.startswith("error: --distractors: the gateway refused: ")
    assert "Traceback" not in done.stderr
    assert not file.exists()


def test_a_wrong_control_key_is_refused(served: Cli) -> None:
    done = served.run("rollout", "--agent", "noop", ASTRA_MCP_CONTROL_KEY="not the key of it")

    assert done.returncode == 1
    assert "401" in done.stderr
    assert "not the key" not in done.stderr


def test_an_existing_file_is_kept(served: Cli, tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("precious", encoding="utf-8")

    done = served.run("rollout", "--agent", "noop", NAMES[0], "--out", str(file))

    assert done.returncode == 2
    assert "exists" in done.stderr
    assert file.read_text(encoding="utf-8") == "precious"
