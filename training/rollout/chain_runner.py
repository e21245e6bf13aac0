"""Executes the chains of synthesis through the gateway, each in an episode of its own.

The episode has the chain's servers and nothing else: no call fails on purpose, and no tool is mixed in. What
a tool says is its result; where a server, a sandbox or the gateway failed, the call raises.
"""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Final

import anyio

from astra_mcp.call_record import EpisodeId
from astra_mcp.concurrency import completed
from astra_mcp.errors import (
    AstraError,
    EpisodeEndedError,
    GatewayError,
    SandboxError,
    TransportError,
    UnknownNameError,
    UpstreamError,
)
from astra_mcp.synthesis.trajectories.chain import ChainRun, ExecutedCall, PlannedCall, ToolRef
from astra_mcp.types import Origin, json_fault
from gateway.api.client import UPSTREAM_FAILED, EpisodeClient, GatewayClient, RefusedError
from gateway.api.wire import (
    DistractorRequest,
    EpisodeCreated,
    EpisodeRequest,
    FailureRequest,
    SourceServers,
)
from training.rollout.episode import result_text

__all__ = ["GatewayChainRunner"]

PURPOSE: Final = "chain"
"""Label of such episodes, beside that of the run."""
_CLOSE_SECONDS: Final = 10.0
_UNKNOWN_NAME: Final = "unknown_name"
_ERRORS: Mapping[Origin, type[AstraError]] = {
    Origin.UPSTREAM: UpstreamError,
    Origin.SANDBOX: SandboxError,
    Origin.GATEWAY: GatewayError,
}


class GatewayChainRunner:
    """A :class:`~astra_mcp.synthesis.trajectories.chain.ChainRunner` behind a gateway."""

    def __init__(self, gateway: GatewayClient, run: str) -> None:
        """Execute there.

        Args:
            gateway: An open client of the control plane.
            run: Name of the run of synthesis; labels its episodes.
        """
        self._gateway = gateway
        self._run = run

    async def open(self, servers: Sequence[str], *, seed: int) -> ChainRun:
        """Open an episode of the servers; one that was opened is closed also where the caller is cancelled.

        Raises:
            TransportError: The gateway cannot be reached, or refuses.
            UnknownNameError: It serves no such server.
            UpstreamError: A server could not be started.
        """
        request = EpisodeRequest(
            source=SourceServers(kind="servers", names=tuple(servers)),
            seed=seed,
            distractors=DistractorRequest(mode="none"),
            failures=FailureRequest(rate=0.0),
            labels={"run": self._run, "purpose": PURPOSE},
        )
        try:
            # Cut off, the request would leave an episode behind whose id nobody knows.
            created = await completed(self._gateway.create_episode(request))
        except RefusedError as error:
            raise _refusal(error) from None
        run = _GatewayChainRun(self._gateway, created)
        try:
            await run.prepare()
        except BaseException:
            await run.close_soon()
            raise
        return run


class _GatewayChainRun:
    """One episode in which a chain is executed."""

    def __init__(self, gateway: GatewayClient, created: EpisodeCreated) -> None:
        self._gateway = gateway
        self._id: EpisodeId = created.id
        self._calls = EpisodeClient(created.mcp_url, gateway.http)
        self._seqs = count()
        self._shown: dict[ToolRef, str] = {}
        self._is_closed = False

    async def prepare(self) -> None:
        """Read under which names the episode shows the tools of its servers."""
        record = await self._gateway.record(self._id)
        self._shown = {ToolRef(server=t.server, tool=t.tool): t.shown for t in record.tools}

    async def call(self, planned: PlannedCall) -> ExecutedCall:
        """Make the next call.

        Raises:
            TransportError: The gateway cannot be reached, or refuses.
            UnknownNameError: The server has no such tool, although documents have it.
            UpstreamError: The episode failed: a server could not answer.
            SandboxError: It failed in the sandbox.
            GatewayError: It failed in the gateway.
        """
        name = self._name_of(planned.step)
        try:
            result = await self._calls.call(name, planned.arguments, seq=next(self._seqs))
        except EpisodeEndedError as error:
            await self._raise_failure()
            msg = f"the episode of a chain ended before its last call: {error}"
            raise TransportError(msg) from None
        if result.is_error:
            await self._raise_failure()
        structured = result.structured if isinstance(result.structured, dict) else None
        if json_fault(structured) is not None:
            structured = None  # could not be kept; the text says what an agent sees
        return ExecutedCall(
            step=planned.step,
            arguments=planned.arguments,
            result=result_text(result),
            is_error=result.is_error,
            structured=structured,
        )

    async def aclose(self) -> None:
        """Close the episode; closing twice is allowed."""
        if not self._is_closed:
            await self._gateway.close_episode(self._id)
            self._is_closed = True

    async def close_soon(self) -> None:
        """Close it although something else went wrong, which is what the caller is told."""
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            try:
                await self.aclose()
            except TransportError:
                return  # the gateway lets the episode expire

    def _name_of(self, step: ToolRef) -> str:
        shown = self._shown.get(step)
        if shown is None:
            known = [ref.tool for ref in self._shown if ref.server == step.server]
            raise UnknownNameError.among(
                f"tool of {step.server}", step.tool, known, "is it served from other documents?"
            )
        return shown

    async def _raise_failure(self) -> None:
        """Raise what failed the episode; returns where nothing did."""
        failure = (await self._gateway.episode(self._id)).failure
        if failure is not None:
            raise _ERRORS[failure.boundary](failure.message)


def _refusal(error: RefusedError) -> AstraError:
    """The refusal to open an episode, by what it is about."""
    match error.code:
        case code if code == UPSTREAM_FAILED:
            return UpstreamError(error.message)
        case code if code == _UNKNOWN_NAME:
            return UnknownNameError(error.message)
        case _:
            return error
