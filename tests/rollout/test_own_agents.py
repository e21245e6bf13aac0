"""``--agent module:Class``, ``--user`` and limits as they are typed: what is played, and what is refused."""

import json
import re
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.cli.rollout.own_agents import OwnAgent
from astra_mcp.errors import ConfigError, EpisodeEndedError
from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.trajectory import (
    AgentInfo,
    RolloutBoundary,
    StopReason,
    Trajectory,
    read_trajectories,
)
from training.rollout.agent import AgentError, EpisodeView
from training.rollout.users.user import UserError

from command_line import Cli, Run
from completions_server import Body, CompletionsServer, asks, says
from in_memory_tools import InMemoryTools
from small_gateway import NAME, SmallGateway, open_small_gateway

AGENTS = '''
import anyio

from astra_mcp.trajectory import AgentInfo, StopReason
from training.rollout.agent import CallRequest

NUMBER = 1


class Looks:
    """Looks once, without a model."""

    info = AgentInfo(name="looks")

    async def play(self, episode):
        await episode.take_turn([CallRequest.of("look", {})])
        episode.answer("<think>heavy</think>300 tons.")
        return StopReason.ANSWER


class Asks(Looks):
    """Asks a model once."""

    info = AgentInfo(name="asks", model="some")

    def __init__(self, chat, patience=3):
        self.chat = chat

    async def play(self, episode):
        reply = await self.chat.complete([m.model_dump(mode="json") for m in episode.messages], [])
        episode.answer(reply.content)
        return StopReason.ANSWER


class Breaks(Looks):
    async def play(self, episode):
        await episode.take_turn([CallRequest.of("look", {})])
        return {}["nothing"]


class Strange(Looks):
    async def play(self, episode):
        return "enough"


class Claims(Looks):
    async def play(self, episode):
        return StopReason.USER_TURNS


class Groups(Looks):
    async def play(self, episode):
        async with anyio.create_task_group() as group:
            group.start_soon(Loops.play, self, episode)


class Loops(Looks):
    async def play(self, episode):
        while True:
            await episode.take_turn([CallRequest.of("look", {})])


class Nameless:
    info = "me"

    async def play(self, episode):
        return StopReason.ANSWER


class Slow(Looks):
    def play(self, episode):
        return StopReason.ANSWER


class Wide(Looks):
    def __init__(self, chat, other):
        pass


class Refuses(Looks):
    def __init__(self):
        raise RuntimeError("not today")


class Blind(Looks):
    async def play(self):
        return StopReason.ANSWER
'''
MODULE = "agents_of_a_test"
PAGE = Path(__file__).parents[2] / "docs" / "rollouts.md"


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A home beside which the agents lie."""
    (tmp_path / f"{MODULE}.py").write_text(AGENTS, encoding="utf-8")
    (tmp_path / "broken_agents.py").write_text("1 / 0", encoding="utf-8")
    (tmp_path / "needy_agents.py").write_text("import no_such_module", encoding="utf-8")
    return Cli(tmp_path / "home")


@pytest.fixture
def gateway(tmp_path: Path) -> Generator[SmallGateway]:
    """The small gateway, in a thread of its own."""
    opening = open_small_gateway(tmp_path / "gateway")
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(opening) as opened:
        yield opened


@pytest.fixture
def play(cli: Cli, gateway: SmallGateway, tmp_path: Path) -> Callable[..., tuple[Run, Trajectory]]:
    """Plays one episode of the harbour, and reads what it left."""
    numbers = iter(range(9))

    def run(*options: str, **more: str) -> tuple[Run, Trajectory]:
        file = tmp_path / f"{next(numbers)}.jsonl"
        where = (NAME, "--gateway", gateway.url, "--out", str(file), "--json")
        done = cli.run("rollout", *options, *where, ASTRA_MCP_CONTROL_KEY=CONTROL_KEY, **more)
        assert file.exists(), done
        (trajectory,) = read_trajectories(file)
        return done, trajectory

    return run


def model_at(endpoint: CompletionsServer, role: str) -> dict[str, str]:
    """Variables that set the model of a role."""
    named = {"MODEL": f"the-{role}", "BASE_URL": endpoint.base_url}
    return {f"ASTRA_MCP_MODELS__{role.upper()}__{name}": value for name, value in named.items()}


Play = Callable[..., tuple[Run, Trajectory]]


def test_a_class_plays_with_and_without_the_model(play: Play, endpoint: CompletionsServer) -> None:
    done, looked = play("--agent", f"{MODULE}:Looks")
    assert (done.returncode, done.told["agent"]) == (0, "looks")
    assert (looked.stop, looked.reward and looked.reward.recall) == (StopReason.ANSWER, 1.0)
    assert (looked.agent.name, looked.usage) == ("looks", None)
    assert looked.messages[-1].content == "300 tons."

    endpoint.always = lambda _: says("I do not know.")
    done, asked = play("--agent", f"{MODULE}:Asks", **model_at(endpoint, "agent"))
    assert done.returncode == 0, done.stderr
    assert (asked.agent.name, asked.usage and asked.usage.calls) == ("asks", 1)
    assert endpoint.requests[0]["model"] == "the-agent"


def test_the_agent_of_the_page_plays_and_hears_its_user(
    play: Play, endpoint: CompletionsServer, tmp_path: Path
) -> None:
    (code,) = re.findall(r"```python\n# my_agent\.py\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    (tmp_path / "my_agent.py").write_text(code, encoding="utf-8")
    done_is = json.dumps({"message": "", "is_done": True, "reason": "Known."})
    begins = json.dumps({"message": "How heavy?", "is_done": False, "reason": "It begins."})
    endpoint.script.extend(
        [says(begins), asks(("a", "look", "{}")), says("300 tons."), says(done_is)]
    )

    models = model_at(endpoint, "agent") | model_at(endpoint, "user")
    done, trajectory = play("--agent", "my_agent:Patient", "--user", "simulated", **models)

    assert done.returncode == 0, done.stderr
    assert (trajectory.agent.name, trajectory.stop) == ("patient", StopReason.ANSWER)
    assert trajectory.user is not None
    assert (trajectory.user.end, trajectory.reward and trajectory.reward.recall) == ("done", 1.0)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Breaks", "KeyError: 'nothing' (line "),
        ("Strange", "gave 'enough' for the reason"),
        ("Claims", "it may be StopReason.ANSWER, TURNS, LENGTH"),
    ],
)
def test_a_mistake_of_a_class_fails_its_episode_and_says_where(
    play: Play, name: str, words: str
) -> None:
    done, trajectory = play("--agent", f"{MODULE}:{name}")

    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert trajectory.failure is not None
    assert trajectory.failure.boundary is RolloutBoundary.AGENT
    assert words in trajectory.failure.message


class Raises:
    """An agent of one's own that raises."""

    info = AgentInfo(name="raises")

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def play(self, episode: EpisodeView) -> StopReason:
        """Raise."""
        del episode
        raise self.error


@pytest.mark.parametrize(
    "error", [SystemExit(3), ConfigError("no"), ExceptionGroup("g", [OSError()])]
)
async def test_whatever_a_class_raises_is_its_own_fault(error: BaseException) -> None:
    agent = OwnAgent("m:Raises", lambda: Raises(error), wants_chat=False).open(None)

    with pytest.raises(AgentError, match=rf"'raises' broke: {type(error).__name__}: .* \(line \d"):
        await agent.play(InMemoryTools().open_episode())


async def test_what_the_product_raises_is_no_fault_of_a_class_and_an_interrupt_is_the_user_s() -> (
    None
):
    for error in (UserError("no"), EpisodeEndedError("over"), KeyboardInterrupt()):
        agent = OwnAgent("m:Raises", lambda error=error: Raises(error), wants_chat=False).open(None)
        with pytest.raises(type(error)):
            await agent.play(InMemoryTools().open_episode())


def test_a_class_whose_making_ends_the_process_is_refused() -> None:
    with pytest.raises(ConfigError, match="cannot be made: SystemExit: 4"):
        OwnAgent("m:Exits", lambda: sys.exit(4), wants_chat=False).open(None)


@pytest.mark.parametrize("name", ["Loops", "Groups"])
def test_a_class_is_bounded_as_a_model_is(play: Play, name: str) -> None:
    done, trajectory = play("--agent", f"{MODULE}:{name}", "--max-turns", "4")

    assert done.returncode == 0
    assert (trajectory.status, trajectory.stop) == (EpisodeStatus.CLOSED, StopReason.TURNS)
    assert len(trajectory.calls) == 4
    assert json.loads(trajectory.options or "")["max_turns"] == 4


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        ("no_agents:Looks", "names a module that is not there (no_agents)"),
        ("no.agents:Looks", "names a module that is not there (no)"),
        ("broken_agents:Looks", "cannot be imported: ZeroDivisionError"),
        ("needy_agents:Looks", "cannot be imported: it needs the module no_such_module"),
        (f"{MODULE}:Look", "names no class of agents_of_a_test; did you mean Looks?"),
        (f"{MODULE}:NUMBER", "is no class but int"),
        (f"{MODULE}:Slow", "has no method `async def play(self, episode)`"),
        (f"{MODULE}:Blind", "has no method `async def play(self, episode)`"),
        (f"{MODULE}:Wide", "wants (chat, other) to be made"),
        (f"{MODULE}:Asks", "names none: set models.agent.model"),
    ],
)
def test_what_is_no_agent_is_refused_before_anything_starts(
    cli: Cli, agent: str, words: str
) -> None:
    done = cli.run("rollout", "--agent", agent, NAME)

    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())
    assert done.stdout == ""
    assert not (cli.home / "trajectories").exists()


@pytest.mark.parametrize(
    ("name", "words"),
    [("Nameless", "has no `info`"), ("Refuses", "cannot be made: RuntimeError: not today")],
)
def test_what_cannot_be_made_is_refused(
    cli: Cli, gateway: SmallGateway, name: str, words: str
) -> None:
    where = ("--gateway", gateway.url)
    done = cli.run(
        "rollout", "--agent", f"{MODULE}:{name}", NAME, *where, ASTRA_MCP_CONTROL_KEY=CONTROL_KEY
    )

    assert done.returncode == 2
    assert words in " ".join(done.stderr.split())


MODEL = ("--agent", "m", "--base-url", "http://127.0.0.1:9/v1")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--agent", "noop", "--max-turns", "3"), "--max-turns is for a model's agent"),
        (("--agent", "oracle", "--user", "simulated"), "--user is for a model's agent"),
        ((*MODEL, "--max-turns", "33"), "--max-turns"),
        ((*MODEL, "--max-seconds", "0"), "--max-seconds"),
        ((*MODEL, "--max-seconds", "inf"), "--max-seconds"),
        ((*MODEL, "--max-seconds", "nan"), "--max-seconds"),
        ((*MODEL, "--max-user-turns", "3"), "--max-user-turns goes with --user"),
        ((*MODEL, "--user", "simulated"), "models.user.model, which is not set"),
        ((*MODEL, "--user", "small"), "set models.user.base_url"),
        ((*MODEL, "--failure-scope", "all"), "--failure-scope goes with"),
        ((*MODEL, "--failure-rate", "1", "--failure-scope", "some"), "--failure-scope"),
        (("--agent", "qwen-agent:"), "write qwen-agent:MODEL"),
    ],
)
def test_bounds_that_mean_nothing_are_refused_by_name(
    cli: Cli, options: tuple[str, ...], words: str
) -> None:
    done = cli.run("rollout", *options, NAME)

    assert done.returncode == 2, done
    assert words in " ".join(done.stderr.split())
    assert done.stdout == ""


def test_a_name_with_a_colon_may_be_a_model_s(play: Play, endpoint: CompletionsServer) -> None:
    endpoint.always = lambda _: says("I do not know.")

    done, trajectory = play("--agent", "llama3:latest", "--base-url", endpoint.base_url)

    assert done.returncode == 0, done.stderr
    assert trajectory.agent.model == "llama3:latest"


def test_a_user_of_a_model_speaks_and_is_told_of(play: Play, endpoint: CompletionsServer) -> None:
    def reply(body: Body) -> Any:
        if body["model"] == "the-agent":
            is_first = body["messages"][-1]["role"] == "user"
            return asks(("a", "look", "{}")) if is_first else says("300 tons.")
        is_done = "300 tons." in str(body["messages"][1]["content"])
        said = {"message": "" if is_done else "The ship?", "is_done": is_done, "reason": "Known."}
        return says(json.dumps(said))

    endpoint.always = reply
    models = model_at(endpoint, "agent") | model_at(endpoint, "user")
    done, trajectory = play("--user", "simulated", "--max-user-turns", "4", **models)

    assert done.returncode == 0, done.stderr
    user = trajectory.user
    assert user is not None
    assert (user.name, user.model, user.turns, user.reason) == (
        "simulated",
        "the-user",
        1,
        "Known.",
    )
    assert trajectory.usage is not None
    assert user.usage is not None
    assert (trajectory.usage.calls, user.usage.calls) == (2, 2)
    assert [m.content for m in trajectory.messages if m.role == "user"] == ["The ship?"]
    recorded = json.loads(trajectory.options or "")
    assert (recorded["user"], recorded["max_user_turns"]) == ("the-user", 4)
    assert recorded["max_seconds"] == 240.0
    assert done.told["model_calls"] == 2


def word(message: str, *, is_done: bool = False) -> str:
    """What the model of a user answers."""
    return json.dumps({"message": message, "is_done": is_done, "reason": "Known."})


@pytest.mark.claim("P72")
@pytest.mark.parametrize(
    ("later", "end"),
    [
        (word("", is_done=True), (0, "closed", "answer", "done", "Known.", 1, None)),
        (word("And how long?"), (0, "closed", "user_turns", "limit", None, 3, None)),
        ("no JSON", (1, "failed", "failure", None, None, 1, "user")),
    ],
    ids=["own rule", "limit", "failure"],
)
def test_a_user_ends_by_its_own_rule_by_the_limit_or_by_failing_each_told_apart(
    play: Play, endpoint: CompletionsServer, later: str, end: tuple[Any, ...]
) -> None:
    def reply(body: Body) -> Any:
        if body["model"] == "the-agent":
            return says("300 tons.")
        return says(later if "300 tons." in str(body["messages"][1]["content"]) else word("Heavy?"))

    endpoint.always = reply
    models = model_at(endpoint, "agent") | model_at(endpoint, "user")
    done, trajectory = play("--user", "simulated", "--max-user-turns", "3", **models)

    user, failure = trajectory.user, trajectory.failure
    assert user is not None
    ended = (trajectory.status, trajectory.stop, user.end, user.reason, user.turns)
    assert (done.returncode, *ended, failure and failure.boundary) == end
    (episode,) = done.told["episodes"]
    assert (episode["status"], episode["stop"]) == end[1:3]
    assert [m.role for m in trajectory.messages] == ["user", "assistant"] * end[5]
