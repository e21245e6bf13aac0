"""Rollouts against a real gateway over HTTP: the reward comes from there, and failures are data."""

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest

from astra_mcp.call_record import EpisodeId, EpisodeStatus
from astra_mcp.errors import ModelError, ModelFault, UpstreamError
from astra_mcp.llm.config import Role
from astra_mcp.llm.model import open_model
from astra_mcp.llm.usage import Usage
from astra_mcp.testing import InMemoryServer
from astra_mcp.testing.gateway import CONTROL_KEY
from astra_mcp.trajectory import (
    AgentInfo,
    RolloutBoundary,
    StopReason,
    SystemMessage,
    ToolMessage,
    Trajectory,
    UserMessage,
)
from astra_mcp.types import Origin
from gateway.api.client import CallRefusedError, EpisodeClient, GatewayClient, RefusedError
from gateway.api.wire import DistractorRequest, FailureRequest, SourceEnvironment, SourceServers
from training.rollout.agent import AgentError, CallRequest, EpisodeView
from training.rollout.agents.model_agent import ModelAgent
from training.rollout.agents.scripted import NoopAgent, OracleAgent
from training.rollout.episode import LiveEpisode
from training.rollout.plan import Rollout, plan_rollouts
from training.rollout.run import run_rollout, run_rollouts

from completions_server import CompletionsServer, asks, says, sends, tool_texts
from small_gateway import NAME, SmallGateway, open_small_gateway


def environment(name: str) -> SourceEnvironment:
    return SourceEnvironment(kind="environment", name=name)


def servers(*names: str, prompt: str | None = None) -> SourceServers:
    return SourceServers(kind="servers", names=names, prompt=prompt)


HARBOUR = environment(NAME)
ROLLOUT = Rollout(source=HARBOUR, version="v1", root_seed=7, index=0, labels={"run": "a"})


@pytest.fixture
async def gateway(anyio_backend: str, tmp_path: Path) -> AsyncGenerator[SmallGateway]:
    """The small gateway, on a socket."""
    async with open_small_gateway(tmp_path / "home") as opened:
        yield opened


class ScriptedAgent:
    """Plays turns of calls by tool name, then fails where it is told to."""

    info = AgentInfo(name="scripted")

    def __init__(self, *turns: list[str], failure: Exception | None = None) -> None:
        self._turns = turns
        self._failure = failure

    async def play(self, episode: EpisodeView) -> StopReason:
        """Play the turns."""
        for turn in self._turns:
            await episode.take_turn([CallRequest.of(name, {}) for name in turn])
        if self._failure is not None:
            raise self._failure
        episode.answer("Done.")
        return StopReason.ANSWER


def ended(trajectory: Trajectory) -> tuple[EpisodeStatus, object, tuple[float, int] | None]:
    """The status, the boundary of the failure, and which share was solved in how many calls."""
    failure, reward = trajectory.failure, trajectory.reward
    return (
        trajectory.status,
        failure and failure.boundary,
        reward and (reward.recall, reward.calls),
    )


async def test_the_oracle_earns_the_full_reward(gateway: SmallGateway) -> None:
    trajectory = await run_rollout(gateway.client, OracleAgent(gateway.client.gold), ROLLOUT)

    assert ended(trajectory) == (EpisodeStatus.CLOSED, None, (1.0, 1))
    assert trajectory.reward is not None
    assert trajectory.reward.reward >= 0.999
    assert (trajectory.environment, trajectory.versions.source) == (NAME, "v1")
    assert trajectory.labels == {"run": "a"}
    assert [tool["type"] for tool in trajectory.tools] == ["function"] * 2
    assert [(n.origin, n.solved, n.is_distractor) for n in trajectory.calls] == [
        (Origin.TOOL, (1,), False)
    ]
    assert gateway.episodes.count_open() == 0


async def test_all_calls_count_with_what_they_reached_and_an_unknown_tool_is_told_to_the_agent(
    gateway: SmallGateway,
) -> None:
    agent = ScriptedAgent(["look", "fly"], ["look"])
    told = replace(ROLLOUT, system_prompt="Be brief.")

    trajectory = await run_rollout(gateway.client, agent, told)

    assert ended(trajectory) == (EpisodeStatus.CLOSED, None, (1.0, 3))
    texts = [m.content for m in trajectory.messages if isinstance(m, ToolMessage)]
    assert "fly" in texts[1]
    assert trajectory.messages[0] == SystemMessage(content="Be brief.")
    assert isinstance(trajectory.messages[1], UserMessage)
    notes = [(n.server, n.tool, n.is_error) for n in trajectory.calls]
    assert notes == [(NAME, "look", False), (None, None, True), (NAME, "look", False)]
    rest = {(n.origin, n.is_distractor, n.emulator) for n in trajectory.calls}
    assert rest == {(Origin.TOOL, False, None)}


async def test_malformed_arguments_count_and_cost_precision(
    gateway: SmallGateway, completions: CompletionsServer
) -> None:
    well, badly = asks(("b", "look", {})), asks(("a", "look", "{"))
    completions.script.extend([well, says("300 tons."), badly, well, says("300 tons.")])
    async with open_model(Role.AGENT, completions.config()) as chat:
        agent = ModelAgent("scripted", chat)
        plain = await run_rollout(gateway.client, agent, ROLLOUT)
        trajectory = await run_rollout(gateway.client, agent, ROLLOUT)

    assert ended(plain) == (EpisodeStatus.CLOSED, None, (1.0, 1))
    assert ended(trajectory) == (EpisodeStatus.CLOSED, None, (1.0, 2))
    assert plain.reward is not None
    assert trajectory.reward is not None
    assert trajectory.reward.precision < plain.reward.precision
    assert [(n.seq, n.origin, n.solved, n.is_error) for n in trajectory.calls] == [
        (0, Origin.TOOL, (), True),
        (1, Origin.TOOL, (1,), False),
    ]
    assert "not valid JSON" in tool_texts(completions.requests[-1])[0]


@pytest.mark.parametrize(
    ("counted", "usage"),
    [
        ({"prompt_tokens": 90, "completion_tokens": 10}, (90, 10, None, 0.00011)),
        (
            {
                "prompt_tokens": 90,
                "completion_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 64},
            },
            (90, 10, 64, 0.00011),
        ),
        (
            {"prompt_tokens": 90, "completion_tokens": 10, "prompt_tokens_details": "many"},
            (90, 10, None, 0.00011),
        ),
        ({"prompt_tokens": 90}, (None, None, None, None)),
        (None, (None, None, None, None)),
    ],
)
async def test_a_trajectory_says_what_the_endpoint_told_of_its_model_and_null_for_the_rest(
    gateway: SmallGateway,
    completions: CompletionsServer,
    counted: object,
    usage: tuple[int | None, int | None, int | None, float | None],
) -> None:
    choice = {"message": {"content": "300 tons."}, "finish_reason": "stop"}
    completions.script.append(sends({"choices": [choice], "usage": counted}))
    config = completions.config(prompt_price=1.0, completion_price=2.0)
    async with open_model(Role.AGENT, config) as chat:
        trajectory = await run_rollout(gateway.client, ModelAgent("scripted", chat), ROLLOUT)

    told = trajectory.usage
    assert told is not None
    assert told.calls == 1
    assert (told.prompt_tokens, told.completion_tokens, told.cached_tokens, told.cost) == usage
    unpriced = await run_rollout(gateway.client, NoopAgent(), ROLLOUT)
    assert unpriced.usage is None


async def test_samples_are_opened_and_closed_together_and_one_that_fails_leaves_the_others(
    gateway: SmallGateway,
) -> None:
    class Uneven(ScriptedAgent):
        def __init__(self) -> None:
            super().__init__(["look"])
            self.seeds: list[int] = []
            self.all_play = anyio.Event()

        async def play(self, episode: EpisodeView) -> StopReason:
            self.seeds.append(episode.seed)
            if len(self.seeds) == 3:
                self.all_play.set()
            await self.all_play.wait()
            assert gateway.episodes.count_open() == 3
            stop = await super().play(episode)
            if episode.seed == self.seeds[1]:
                raise ModelError("HTTP 500", ModelFault.SERVER_ERROR)
            return stop

    agent = Uneven()
    rollouts = plan_rollouts([(HARBOUR, "v1")], num_episodes=2, num_samples=3, root_seed=0)
    finished: dict[int, Trajectory] = {}

    def keep(place: int, trajectory: Trajectory, _: Usage) -> None:
        assert gateway.episodes.count_open() == 0
        finished[place] = trajectory

    with anyio.fail_after(20):
        await run_rollouts(gateway.client, agent, rollouts[:3], concurrency=3, on_finished=keep)

    assert agent.seeds == [rollout.agent_seed for rollout in rollouts[:3]]
    assert len({r.agent_seed for r in rollouts}) == 6
    assert [ended(finished[n])[:2] for n in range(3)] == [
        (EpisodeStatus.CLOSED, None),
        (EpisodeStatus.FAILED, RolloutBoundary.MODEL),
        (EpisodeStatus.CLOSED, None),
    ]
    assert {t.group for t in finished.values()} == {rollouts[0].group} != {rollouts[3].group}
    assert [finished[n].sample for n in range(3)] == [0, 1, 2]


async def test_records_say_who_played_and_in_which_run_and_trajectories_stay_as_they_are(
    gateway: SmallGateway,
) -> None:
    finished: list[Trajectory] = []
    own = replace(ROLLOUT, labels={"domain": "travel"}, run="r0123456789ab")
    await run_rollouts(
        gateway.client,
        ScriptedAgent(["look"]),
        [own],
        concurrency=1,
        on_finished=lambda _place, trajectory, _usage: finished.append(trajectory),
    )
    (trajectory,) = finished
    assert trajectory.episode_id is not None
    state = await gateway.client.episode(EpisodeId(trajectory.episode_id))
    assert state.labels == {"agent": "scripted", "run": "r0123456789ab", "domain": "travel"}
    assert trajectory.labels == {"domain": "travel"}


async def test_a_cancelled_group_keeps_the_samples_that_were_played_to_their_end(
    gateway: SmallGateway,
) -> None:
    finished: list[int | None] = []
    answered = anyio.Event()

    class FirstAlone(ScriptedAgent):
        async def play(self, episode: EpisodeView) -> StopReason:
            if episode.seed != rollouts[0].agent_seed:
                await anyio.sleep_forever()
            stop = await super().play(episode)
            answered.set()
            return stop

    rollouts = plan_rollouts([(HARBOUR, "v1")], num_episodes=1, num_samples=3, root_seed=0)
    keep: Callable[[int, Trajectory, Usage], None] = lambda _, t, __: finished.append(t.sample)  # noqa: E731
    run = partial(run_rollouts, concurrency=3, on_finished=keep)
    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run, gateway.client, FirstAlone(["look"]), rollouts)
            await answered.wait()
            group.cancel_scope.cancel()

    assert finished == [0]
    assert gateway.episodes.count_open() == 0


async def test_a_place_that_was_taken_is_a_failure_of_the_run_and_no_answer(
    gateway: SmallGateway,
) -> None:
    created = await gateway.client.create_episode(ROLLOUT.request)
    caller = EpisodeClient(created.mcp_url, gateway.client.http)
    await caller.call("look", {}, seq=0)
    episode = LiveEpisode(
        environment=NAME, seed=0, prompt=created.prompt, tools=created.tools, caller=caller
    )

    with pytest.raises(CallRefusedError, match="seq 0 was already used"):
        await episode.take_turn([CallRequest.of("look", {})])
    assert not any(isinstance(m, ToolMessage) for m in episode.messages)


async def test_a_server_that_fails_ends_the_episode_without_a_reward(
    gateway: SmallGateway,
) -> None:
    trajectory = await run_rollout(gateway.client, ScriptedAgent(["look"], ["sink"]), ROLLOUT)

    assert ended(trajectory) == (EpisodeStatus.FAILED, Origin.UPSTREAM, None)
    assert trajectory.stop is StopReason.FAILURE
    assert "flooded" in str(trajectory.failure)
    assert [(n.origin, n.solved, n.is_distractor) for n in trajectory.calls] == [
        (Origin.TOOL, (1,), False),
        (Origin.UPSTREAM, (), False),
    ]


async def test_a_model_that_fails_never_earns_a_score_and_its_episode_is_closed(
    gateway: SmallGateway,
) -> None:
    agent = ScriptedAgent(["look"], failure=ModelError("HTTP 500", ModelFault.SERVER_ERROR))

    trajectory = await run_rollout(gateway.client, agent, ROLLOUT)

    assert ended(trajectory) == (EpisodeStatus.FAILED, RolloutBoundary.MODEL, None)
    assert [(n.origin, n.solved) for n in trajectory.calls] == [(Origin.TOOL, (1,))]
    assert gateway.episodes.count_open() == 0


async def test_an_episode_at_its_call_limit_keeps_its_reward(gateway: SmallGateway) -> None:
    trajectory = await run_rollout(gateway.client, ScriptedAgent(["look"] * 258), ROLLOUT)

    assert ended(trajectory) == (EpisodeStatus.LIMIT, None, (1.0, 256))
    origins = [note.origin for note in trajectory.calls]
    assert origins == [Origin.TOOL] * 256 + [Origin.LIMIT, None]
    assert [note.is_error for note in trajectory.calls[-2:]] == [True, True]


async def test_an_episode_that_cannot_be_opened_is_a_failed_trajectory(
    gateway: SmallGateway,
) -> None:
    nowhere = Rollout(source=environment("nowhere"), root_seed=0, index=0)
    refused = await run_rollout(gateway.client, NoopAgent(), nowhere)
    async with GatewayClient("http://127.0.0.1:9", CONTROL_KEY) as client:
        unheard = await run_rollout(client, NoopAgent(), ROLLOUT)

    assert ended(refused) == (EpisodeStatus.FAILED, Origin.GATEWAY, None)
    assert (refused.episode_id, refused.messages) == (None, ())
    assert ended(unheard) == (EpisodeStatus.FAILED, RolloutBoundary.TRANSPORT, None)


async def test_an_episode_whose_server_does_not_start_is_a_failure_of_the_server(
    gateway: SmallGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def prepare(server: object) -> None:
        raise UpstreamError("upstream harbour closed: no key")

    monkeypatch.setattr(InMemoryServer, "prepare", prepare)
    trajectory = await run_rollout(gateway.client, NoopAgent(), ROLLOUT)

    assert trajectory.failure is not None
    assert trajectory.failure.boundary is Origin.UPSTREAM
    assert trajectory.failure.message == "upstream harbour closed: no key"


class SilentAgent:
    """Looks, and ends with an answer that it does not give."""

    info = AgentInfo(name="silent")

    def __init__(self, *, words: str | None) -> None:
        self._words = words

    async def play(self, episode: EpisodeView) -> StopReason:
        """Look."""
        await episode.take_turn([CallRequest.of("look", {})], content=self._words)
        return StopReason.ANSWER


async def test_an_answer_that_is_never_given_is_a_failure_of_the_agent(
    gateway: SmallGateway,
) -> None:
    silent = await run_rollout(gateway.client, SilentAgent(words=None), ROLLOUT)
    spoke = await run_rollout(gateway.client, SilentAgent(words="300 tons, I think."), ROLLOUT)

    assert ended(silent) == (EpisodeStatus.FAILED, RolloutBoundary.AGENT, None)
    assert "'silent' said nothing" in (silent.failure.message if silent.failure else "")
    assert spoke.failure is None


async def test_a_message_of_a_failure_that_no_file_can_hold_is_kept_escaped(
    gateway: SmallGateway,
) -> None:
    agent = ScriptedAgent(failure=AgentError("half: \ud800"))
    trajectory = await run_rollout(gateway.client, agent, ROLLOUT)

    assert trajectory.failure is not None
    assert trajectory.failure.message == "half: \\ud800"
    json.dumps(trajectory.as_line(), ensure_ascii=False).encode("utf-8")


async def test_a_mistake_of_the_agent_propagates_and_its_episode_is_closed(
    gateway: SmallGateway,
) -> None:
    with pytest.raises(ZeroDivisionError):
        await run_rollout(gateway.client, ScriptedAgent(failure=ZeroDivisionError()), ROLLOUT)
    assert gateway.episodes.count_open() == 0


async def test_a_cancelled_run_closes_its_episodes_and_keeps_what_is_finished(
    gateway: SmallGateway,
) -> None:
    finished: list[int] = []
    thinking = anyio.Event()

    class ThinkForEver(ScriptedAgent):
        async def play(self, episode: EpisodeView) -> StopReason:
            if finished:
                thinking.set()
                await anyio.sleep_forever()
            return await super().play(episode)

    rollouts = plan_rollouts([(HARBOUR, "v1")], num_episodes=3, root_seed=0)

    run = partial(
        run_rollouts,
        concurrency=1,
        on_finished=lambda index, _, __: finished.append(index),
    )

    with anyio.fail_after(20):
        async with anyio.create_task_group() as group:
            group.start_soon(run, gateway.client, ThinkForEver(["look"]), rollouts)
            await thinking.wait()
            assert gateway.episodes.count_open() == 1
            group.cancel_scope.cancel()

    assert finished == [0]
    assert gateway.episodes.count_open() == 0


@asynccontextmanager
async def run_until_it_closes(
    gateway: SmallGateway, finished: list[Trajectory], *, close_seconds: float
) -> AsyncGenerator[anyio.CancelScope]:
    """Play one episode up to its close, which waits for ``may_close``; yields what cancels the run."""
    gateway.server.may_close = anyio.Event()

    run = partial(
        run_rollouts,
        concurrency=1,
        on_finished=lambda _, trajectory, __: finished.append(trajectory),
        close_seconds=close_seconds,
    )

    try:
        with anyio.fail_after(20):
            async with anyio.create_task_group() as group:
                group.start_soon(run, gateway.client, ScriptedAgent(["look"]), [ROLLOUT])
                await gateway.server.closing.wait()
                yield group.cancel_scope
    finally:
        gateway.server.may_close.set()


@pytest.mark.parametrize("is_cancelled", [False, True])
async def test_a_slow_close_is_waited_for_and_the_reward_is_kept(
    gateway: SmallGateway, *, is_cancelled: bool
) -> None:
    finished: list[Trajectory] = []
    seconds = 20 if is_cancelled else 0
    async with run_until_it_closes(gateway, finished, close_seconds=seconds) as scope:
        if is_cancelled:
            scope.cancel()
        assert finished == []
        assert gateway.server.may_close is not None
        gateway.server.may_close.set()

    assert [ended(t) for t in finished] == [(EpisodeStatus.CLOSED, None, (1.0, 1))]
    assert finished[0].calls[0].origin is Origin.TOOL


async def test_a_cancelled_run_gives_up_on_a_close_in_time_and_keeps_what_was_played(
    gateway: SmallGateway,
) -> None:
    finished: list[Trajectory] = []
    async with run_until_it_closes(gateway, finished, close_seconds=0) as scope:
        scope.cancel()

    assert [ended(t)[:2] for t in finished] == [(EpisodeStatus.FAILED, RolloutBoundary.TRANSPORT)]
    assert "did not close" in str(finished[0].failure)
    assert len(finished[0].calls) == 1


async def test_no_more_episodes_are_open_than_allowed(gateway: SmallGateway) -> None:
    open_counts: list[int] = []

    class Count(ScriptedAgent):
        async def play(self, episode: EpisodeView) -> StopReason:
            open_counts.append(gateway.episodes.count_open())
            return await super().play(episode)

    rollouts = plan_rollouts([(HARBOUR, "v1")], num_episodes=12, root_seed=0)
    trajectories: list[Trajectory] = []
    keep: Callable[[int, Trajectory, Usage], None] = lambda _, t, __: trajectories.append(t)  # noqa: E731
    await run_rollouts(gateway.client, Count(["look"]), rollouts, concurrency=3, on_finished=keep)

    assert max(open_counts) == 3
    assert len({t.seeds.episode for t in trajectories}) == 12


def test_the_seed_of_an_episode_depends_on_root_environment_and_number_alone() -> None:
    a, b = (environment(name) for name in "ab")
    alone = plan_rollouts([(b, "1")], num_episodes=1, root_seed=5)
    among = plan_rollouts([(a, "1"), (b, "2")], num_episodes=3, root_seed=5)
    other = plan_rollouts([(b, "1")], num_episodes=1, root_seed=6)

    assert alone[0].seed == next(r.seed for r in among if (r.source, r.index) == (b, 0))
    assert len({r.seed for r in [*among, *other]}) == 7
    assert all(0 <= r.seed < 2**63 for r in among)
    further = plan_rollouts(
        [(b.model_copy(update={"question": "q-2"}), "1")], num_episodes=1, root_seed=5
    )
    assert further[0].seed != alone[0].seed


def test_the_seed_of_an_episode_of_servers_depends_on_their_names_and_the_prompt() -> None:
    named = [servers(*names) for names in (["servers"], "a", "ab", "ba")]
    prompted = [servers("a", prompt=prompt) for prompt in "bc"]
    sources = [environment("servers"), *named, *prompted]
    planned = plan_rollouts([(s, None) for s in sources], num_episodes=2, root_seed=5)

    assert len({r.seed for r in planned}) == len(planned)


def test_difficulty_does_not_change_the_seed_of_an_episode() -> None:
    plain = Rollout(source=HARBOUR, root_seed=5, index=0)
    hard = replace(plain, failures=FailureRequest(rate=0.5))

    assert hard.seed == plain.seed
    assert hard.request == plain.request.model_copy(update={"failures": hard.failures})


# --- servers, and what makes episodes hard --------------------------------------------------------


async def test_an_episode_of_servers_has_no_reward_and_no_failure(gateway: SmallGateway) -> None:
    source = servers(NAME, prompt="Look around.")
    rollout = Rollout(source=source, root_seed=0, index=0)
    trajectory = await run_rollout(gateway.client, ScriptedAgent(["look"]), rollout)

    assert ended(trajectory) == (EpisodeStatus.CLOSED, None, None)
    assert trajectory.environment is None
    assert trajectory.source == {"kind": "servers", "names": [NAME], "prompt": "Look around."}
    assert trajectory.messages[0] == UserMessage(content="Look around.")


async def test_a_trajectory_says_which_calls_failed_on_purpose_and_by_which_law(
    gateway: SmallGateway,
) -> None:
    failures = FailureRequest(rate=1, kinds={"timeout": 1})
    rollout = Rollout(source=HARBOUR, root_seed=0, index=0, failures=failures)

    trajectory = await run_rollout(gateway.client, ScriptedAgent(["look"]), rollout)

    assert trajectory.distractors is None
    assert (trajectory.failures or {})["rate"] == 1
    (note,) = trajectory.calls
    assert (note.server, note.tool, note.origin) == (NAME, "look", Origin.INJECTED)
    assert (note.injected, note.is_error, note.solved) == ("timeout", True, ())


async def test_a_request_that_the_gateway_does_not_take_stops_the_whole_run(
    gateway: SmallGateway,
) -> None:
    def keep(*_: object) -> None:
        pytest.fail("an episode was played")

    distractors = DistractorRequest(mode="banded")  # of which this gateway knows none
    rollouts = [replace(ROLLOUT, distractors=distractors), ROLLOUT]

    with pytest.raises(RefusedError) as refused:
        await run_rollouts(gateway.client, NoopAgent(), rollouts, concurrency=1, on_finished=keep)
    assert refused.value.status == 422
