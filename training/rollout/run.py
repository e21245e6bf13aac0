"""Run rollouts: create the episodes of a group, let the agent play, close them, keep the trajectories.

A failure of the model, the gateway or the way to it is data in the trajectory; a mistake in this code is
not, and propagates. Every episode that was opened is closed, also when the run is cancelled; one that
was played to its end is kept even then.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

import anyio

from astra_mcp import __version__
from astra_mcp.call_record import EndStatus, EpisodeId, EpisodeStatus
from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import EpisodeEndedError, ModelError, TransportError
from astra_mcp.llm.usage import Meter, Usage, metered
from astra_mcp.trajectory import (
    AssistantMessage,
    RolloutBoundary,
    Seeds,
    StopReason,
    Trajectory,
    TrajectoryFailure,
    Versions,
)
from astra_mcp.types import Origin
from gateway.api.client import (
    UPSTREAM_FAILED,
    CallRefusedError,
    EpisodeClient,
    GatewayClient,
    RefusedError,
)
from gateway.api.wire import (
    EpisodeCreated,
    EpisodeRecord,
    EpisodeRequest,
    EpisodeState,
    SourceEnvironment,
)
from training.rollout.agent import Agent, AgentError
from training.rollout.episode import LiveEpisode
from training.rollout.limits import NO_LIMITS, LimitReachedError, PlayLimits, UntoldTokensError
from training.rollout.model_usage import told
from training.rollout.plan import Rollout
from training.rollout.users.user import Goal, UserError, Users

__all__ = ["run_rollout", "run_rollouts"]

CLOSE_SECONDS = 10.0
"""How long a cancelled run waits for an episode to close. Otherwise the deadline of the client holds,
which is above the time that the gateway itself gives to calls that still run.
"""
_RECORDS_AT_ONCE = 16
_UNPROCESSABLE = 422


async def run_rollouts(
    gateway: GatewayClient,
    agent: Agent,
    rollouts: Iterable[Rollout],
    *,
    concurrency: int,
    on_finished: Callable[[int, Trajectory, Usage], None],
    limits: PlayLimits = NO_LIMITS,
    users: Users | None = None,
    close_seconds: float = CLOSE_SECONDS,
) -> None:
    """Play every episode, at most ``concurrency`` at once; a group is opened and closed together.

    Args:
        gateway: An open client of the control plane.
        agent: Plays all of them.
        rollouts: The episodes; no group has more than ``concurrency``.
        concurrency: Open episodes at once.
        on_finished: Takes each trajectory with its place in ``rollouts`` and what its model cost, as soon
            as its group is finished.
        limits: Of each episode.
        users: Speak to the agent, in the place of the prompts of the sources, which are their goals.
        close_seconds: How long a cancelled run waits for its episodes to close.

    Raises:
        RefusedError: The gateway does not take what the rollouts ask for (422), whichever is played.
    """
    table = _Table(gateway, agent, limits, users)
    groups: dict[str, list[tuple[int, Rollout]]] = {}
    for place, rollout in enumerate(rollouts):
        groups.setdefault(rollout.group, []).append((place, rollout))

    async def play(group: list[tuple[int, Rollout]]) -> None:
        members = [rollout for _, rollout in group]

        def keep(member: int, trajectory: Trajectory, usage: Usage) -> None:
            on_finished(group[member][0], trajectory, usage)

        await _play_group(table, members, keep, close_seconds=close_seconds)

    largest = max(map(len, groups.values()), default=1)
    await map_concurrently(play, groups.values(), limit=max(1, concurrency // largest))


async def run_rollout(
    gateway: GatewayClient,
    agent: Agent,
    rollout: Rollout,
    *,
    limits: PlayLimits = NO_LIMITS,
    users: Users | None = None,
) -> Trajectory:
    """Play one episode from its creation to its end; see :func:`run_rollouts`."""
    finished: list[Trajectory] = []

    def keep(_index: int, trajectory: Trajectory, _usage: Usage) -> None:
        finished.append(trajectory)

    await run_rollouts(
        gateway, agent, [rollout], concurrency=1, on_finished=keep, limits=limits, users=users
    )
    return finished[0]


@dataclass(frozen=True, slots=True)
class _Table:
    """Who plays, where, and by which rules."""

    gateway: GatewayClient
    agent: Agent
    limits: PlayLimits
    users: Users | None

    async def open(self, members: Sequence[Rollout]) -> list[EpisodeCreated]:
        """Open the episodes of a group; their records say who plays."""
        requests = [self._request(rollout) for rollout in members]
        if len(requests) == 1:
            return [await self.gateway.create_episode(requests[0])]
        return await self.gateway.create_episodes(requests)

    def _request(self, rollout: Rollout) -> EpisodeRequest:
        info = self.agent.info
        request = rollout.request
        labels = {"agent": info.model or info.name, **request.labels}
        return request.model_copy(update={"labels": labels})

    def seat(self, rollout: Rollout, created: EpisodeCreated) -> LiveEpisode:
        """Make what the agent sees of an episode that was opened."""
        user = None
        if self.users is not None:
            goal = rollout.goal or Goal(request=created.prompt or "")
            if isinstance(rollout.source, SourceEnvironment):
                goal = goal.model_copy(update={"may_change": False})
            user = self.users.meet(goal, seed=rollout.agent_seed)
        return LiveEpisode(
            environment=rollout.environment,
            question=rollout.question,
            seed=rollout.agent_seed,
            prompt=created.prompt,
            system_prompt=rollout.system_prompt,
            tools=created.tools,
            caller=EpisodeClient(created.mcp_url, self.gateway.http),
            user=user,
            is_solved=partial(self._is_solved, created.id) if self.limits.when_solved else None,
        )

    async def _is_solved(self, episode: EpisodeId) -> bool:
        """Ask the record, by the control plane: what an agent sees does not tell."""
        reward = (await self.gateway.episode(episode)).reward
        return reward is not None and reward.recall == 1


async def _play_group(
    table: _Table,
    members: Sequence[Rollout],
    keep: Callable[[int, Trajectory, Usage], None],
    *,
    close_seconds: float,
) -> None:
    """Play the episodes of a group at once; what was played to its end is kept also where it is cancelled."""
    gateway, agent = table.gateway, table.agent
    began = datetime.now(UTC)
    try:
        created = await table.open(members)
    except TransportError as error:
        if isinstance(error, RefusedError) and error.status == _UNPROCESSABLE:
            raise  # no episode's failure: the request is wrong
        played = _Played(StopReason.FAILURE, _transport_failure(error), Usage())
        for place, rollout in enumerate(members):
            keep(place, _build(agent, rollout, began, played), Usage())
        return
    episodes = [table.seat(*each) for each in zip(members, created, strict=True)]
    ends: dict[int, _Played] = {}

    async def play(place: int) -> None:
        with metered() as meter:
            stop, failure = await _play(agent, episodes[place], table.limits, meter)
        ends[place] = _Played(stop, failure, meter.usage, created[place], episodes[place])

    def finish(records: Sequence[EpisodeRecord | TrajectoryFailure]) -> None:
        for place, end in sorted(ends.items()):
            record = records[place]
            if isinstance(record, EpisodeRecord):
                episodes[place].annotate(record.calls)
            played = replace(end, record=record)
            keep(place, _build(agent, members[place], began, played), end.usage)

    try:
        await map_concurrently(play, range(len(created)), limit=len(created))
        records = await _close(gateway, created)
    except BaseException:
        finish(await _close_soon(gateway, created, close_seconds))
        raise
    finish(records)


@dataclass(frozen=True, slots=True)
class _Played:
    stop: StopReason
    failure: TrajectoryFailure | None
    usage: Usage
    created: EpisodeCreated | None = None
    episode: LiveEpisode | None = None
    record: EpisodeRecord | TrajectoryFailure | None = None

    @property
    def known(self) -> EpisodeRecord | None:
        """What the gateway recorded; None where it did not answer."""
        return self.record if isinstance(self.record, EpisodeRecord) else None

    @property
    def state(self) -> EpisodeState | None:
        """Where the gateway says that the episode stands; None where it did not answer."""
        return self.known.state if self.known else None


async def _play(
    agent: Agent, episode: LiveEpisode, limits: PlayLimits, meter: Meter
) -> tuple[StopReason, TrajectoryFailure | None]:
    """Let the agent play; the one place where what stops it becomes data."""
    stop = StopReason.TIME
    try:
        with episode.bounded(limits, meter):
            await episode.begin()
            stop = await agent.play(episode)
            _check_answered(agent, episode, stop)
    except EpisodeEndedError:
        return StopReason.ENDED, None
    except LimitReachedError as error:
        return error.stop, None
    except (ModelError, UntoldTokensError, AgentError, UserError) as error:
        # An agent that breaks by being told to stop has stopped.
        if episode.reached is None or not isinstance(error, AgentError):
            # An agent may raise with any text, and what no file can hold would end the whole run.
            message = str(error).encode("utf-8", "backslashreplace").decode("utf-8")
            return StopReason.FAILURE, TrajectoryFailure(boundary=_side(error), message=message)
    except TransportError as error:
        return StopReason.FAILURE, _transport_failure(error)
    return episode.reached or stop, None


def _check_answered(agent: Agent, episode: LiveEpisode, stop: StopReason) -> None:
    """Refuse an end with no answer, and one before a user could say more.

    Raises:
        AgentError: The agent said nothing, or did not ask.
    """
    if stop is not StopReason.ANSWER:
        return
    said = (m for m in episode.messages if isinstance(m, AssistantMessage))
    if not any(message.content or not message.tool_calls for message in said):
        msg = f"the agent {agent.info.name!r} said nothing: it ended with an answer that it did not give"
        raise AgentError(f"{msg} by episode.answer(...)")
    if episode.user is not None and episode.user.end is None:
        raise AgentError(
            f"the agent {agent.info.name!r} does not hear the user: it ended with an answer"
        )


def _side(error: Exception) -> RolloutBoundary:
    """Say at whom of those around the gateway something failed."""
    match error:
        case UserError():
            return RolloutBoundary.USER
        case AgentError():
            return RolloutBoundary.AGENT
        case _:
            return RolloutBoundary.MODEL


async def _close(
    gateway: GatewayClient, created: Sequence[EpisodeCreated]
) -> list[EpisodeRecord | TrajectoryFailure]:
    """Close episodes and read their records; as patient as the gateway's client is."""
    ids = [episode.id for episode in created]
    refused: RefusedError | None = None
    try:
        if len(ids) == 1:
            await gateway.close_episode(ids[0])
        else:
            await gateway.close_episodes(ids)
    except RefusedError as error:  # of one of them: the others are closed
        refused = error
    except TransportError as error:
        return [_transport_failure(error) for _ in ids]

    async def read(episode: EpisodeId) -> EpisodeRecord | TrajectoryFailure:
        try:
            record = await gateway.record(episode)
        except TransportError as error:
            return _transport_failure(refused or error)
        is_open = record.state.status is EpisodeStatus.OPEN
        return _transport_failure(refused) if refused and is_open else record

    return await map_concurrently(read, ids, limit=_RECORDS_AT_ONCE)


async def _close_soon(
    gateway: GatewayClient, created: Sequence[EpisodeCreated], seconds: float
) -> list[EpisodeRecord | TrajectoryFailure]:
    """Close episodes although the run is cancelled, and give up in time."""
    with anyio.move_on_after(seconds, shield=True):
        return await _close(gateway, created)
    message = f"the run was stopped, and the gateway did not close the episode within {seconds:g} s"
    failure = TrajectoryFailure(boundary=RolloutBoundary.TRANSPORT, message=message)
    return [failure for _ in created]


def _transport_failure(error: TransportError) -> TrajectoryFailure:
    """Tell a gateway that refused from one that was not reached, and from one whose server failed."""
    if isinstance(error, RefusedError) and error.code == UPSTREAM_FAILED:
        return TrajectoryFailure(boundary=Origin.UPSTREAM, message=error.message)
    has_answered = isinstance(error, (RefusedError, CallRefusedError))
    boundary = Origin.GATEWAY if has_answered else RolloutBoundary.TRANSPORT
    return TrajectoryFailure(boundary=boundary, message=str(error))


def _build(agent: Agent, rollout: Rollout, began: datetime, played: _Played) -> Trajectory:
    failure = _first_failure(played)
    state = played.state
    created, episode = played.created, played.episode
    mix = played.known.distractors if played.known else None
    law = state.failures if state and state.failures.rate else None
    return Trajectory(
        episode_id=created.id if created else None,
        created_at=began,
        source=rollout.source.model_dump(mode="json"),
        distractors=mix.model_dump(mode="json") if mix else None,
        failures=law.model_dump(mode="json") if law else None,
        agent=agent.info,
        seeds=Seeds(root=rollout.root_seed, index=rollout.index, episode=rollout.seed),
        versions=Versions(astra_mcp=__version__, source=rollout.version),
        labels=rollout.labels,
        group=rollout.group,
        sample=rollout.sample,
        options=rollout.options,
        usage=told(played.usage) if agent.info.model is not None else None,
        user=episode.user if episode else None,
        tools=tuple(tool.as_openai() for tool in created.tools) if created else (),
        tools_hash=created.tools_hash if created else None,
        messages=episode.messages if episode else (),
        calls=episode.notes if episode else (),
        status=EpisodeStatus.FAILED if failure else _status(state),
        stop=StopReason.FAILURE if failure else played.stop,
        reward=state.reward if state and not failure else None,
        failure=failure,
    )


def _first_failure(played: _Played) -> TrajectoryFailure | None:
    """Find the cause: what the gateway saw explains what its client saw."""
    state = played.state
    if state is not None and state.failure is not None:
        return TrajectoryFailure(**dict(state.failure))
    if played.failure is not None:
        return played.failure
    return played.record if isinstance(played.record, TrajectoryFailure) else None


def _status(state: EpisodeState | None) -> EndStatus:
    if state is None or state.status is EpisodeStatus.OPEN:
        return EpisodeStatus.FAILED
    return state.status
