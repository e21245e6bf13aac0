"""Run rollouts: create an episode, let the agent play it, close it, keep the trajectory.

A failure of the model, the gateway or the way to it is data in the trajectory; a mistake in this code is
not, and propagates. Every episode that was opened is closed, also when the run is cancelled; one that
was played to its end is kept even then.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import anyio

from astra_mcp import __version__
from astra_mcp.call_record import EndStatus, EpisodeStatus
from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import EpisodeEndedError, ModelError, TransportError
from astra_mcp.llm.usage import Usage, metered
from astra_mcp.trajectory import (
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
from gateway.api.wire import EpisodeCreated, EpisodeRecord, EpisodeState
from training.rollout.agent import Agent, AgentError
from training.rollout.episode import LiveEpisode
from training.rollout.plan import Rollout

__all__ = ["run_rollout", "run_rollouts"]

CLOSE_SECONDS = 10.0
"""How long a cancelled run waits for an episode to close. Otherwise the deadline of the client holds,
which is above the time that the gateway itself gives to calls that still run.
"""
_UNPROCESSABLE = 422


async def run_rollouts(
    gateway: GatewayClient,
    agent: Agent,
    rollouts: Iterable[Rollout],
    *,
    concurrency: int,
    on_finished: Callable[[int, Trajectory, Usage], None],
    close_seconds: float = CLOSE_SECONDS,
) -> None:
    """Play every episode, at most ``concurrency`` at once.

    Args:
        gateway: An open client of the control plane.
        agent: Plays all of them.
        rollouts: The episodes.
        concurrency: Open episodes at once.
        on_finished: Takes each trajectory with its place in ``rollouts`` and what its model cost, as soon
            as it is there.
        close_seconds: How long a cancelled run waits for its episodes to close.

    Raises:
        RefusedError: The gateway does not take what the rollouts ask for (422), whichever is played.
    """

    async def play(item: tuple[int, Rollout]) -> None:
        index, rollout = item
        keep = partial(on_finished, index)
        await _play_and_close(gateway, agent, rollout, keep, close_seconds=close_seconds)

    await map_concurrently(play, enumerate(rollouts), limit=concurrency)


async def run_rollout(gateway: GatewayClient, agent: Agent, rollout: Rollout) -> Trajectory:
    """Play one episode from its creation to its end."""
    finished: list[Trajectory] = []

    def keep(_index: int, trajectory: Trajectory, _usage: Usage) -> None:
        finished.append(trajectory)

    await run_rollouts(gateway, agent, [rollout], concurrency=1, on_finished=keep)
    return finished[0]


async def _play_and_close(
    gateway: GatewayClient,
    agent: Agent,
    rollout: Rollout,
    keep: Callable[[Trajectory, Usage], None],
    *,
    close_seconds: float,
) -> None:
    """Play one episode and hand its trajectory on, also where the run is cancelled as it closes."""
    began = datetime.now(UTC)
    try:
        created = await gateway.create_episode(rollout.request)
    except TransportError as error:
        if isinstance(error, RefusedError) and error.status == _UNPROCESSABLE:
            raise  # no episode's failure: the request is wrong
        failure = _transport_failure(error)
        keep(_build(agent, rollout, began, _Played(StopReason.FAILURE, failure)), Usage())
        return
    episode = LiveEpisode(
        environment=rollout.environment,
        question=rollout.question,
        seed=rollout.seed,
        prompt=created.prompt,
        system_prompt=rollout.system_prompt,
        tools=created.tools,
        caller=EpisodeClient(created.mcp_url, gateway.http),
    )
    try:
        with metered() as meter:
            stop, failure = await _play(agent, episode)
    except BaseException:
        await _close_soon(gateway, created, close_seconds)
        raise

    def finish(record: EpisodeRecord | TrajectoryFailure) -> None:
        if isinstance(record, EpisodeRecord):
            episode.annotate(record.calls)
        played = _Played(stop, failure, created=created, episode=episode, record=record)
        keep(_build(agent, rollout, began, played), meter.usage)

    try:
        record = await _close(gateway, created)
    except anyio.get_cancelled_exc_class():
        finish(await _close_soon(gateway, created, close_seconds))
        raise
    finish(record)


@dataclass(frozen=True, slots=True)
class _Played:
    stop: StopReason
    failure: TrajectoryFailure | None
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


async def _play(agent: Agent, episode: LiveEpisode) -> tuple[StopReason, TrajectoryFailure | None]:
    """Let the agent play; the one place where what stops it becomes data."""
    try:
        return await agent.play(episode), None
    except EpisodeEndedError:
        return StopReason.ENDED, None
    except (ModelError, AgentError) as error:
        boundary = RolloutBoundary.MODEL if isinstance(error, ModelError) else RolloutBoundary.AGENT
        return StopReason.FAILURE, TrajectoryFailure(boundary=boundary, message=str(error))
    except TransportError as error:
        return StopReason.FAILURE, _transport_failure(error)


async def _close(
    gateway: GatewayClient, created: EpisodeCreated
) -> EpisodeRecord | TrajectoryFailure:
    """Close the episode and read its record; as patient as the gateway's client is."""
    try:
        await gateway.close_episode(created.id)
        return await gateway.record(created.id)
    except TransportError as error:
        return _transport_failure(error)


async def _close_soon(
    gateway: GatewayClient, created: EpisodeCreated, seconds: float
) -> EpisodeRecord | TrajectoryFailure:
    """Close the episode although the run is cancelled, and give up in time."""
    with anyio.move_on_after(seconds, shield=True):
        return await _close(gateway, created)
    message = f"the run was stopped, and the gateway did not close the episode within {seconds:g} s"
    return TrajectoryFailure(boundary=RolloutBoundary.TRANSPORT, message=message)


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
