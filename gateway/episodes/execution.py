"""Who answers a call: its server in its turn, a failure in its place, or words where it reaches none.

Knows turns, limits and the plan of failures; knows neither records nor the order of calls.
"""

from collections.abc import Callable, Mapping

from astra_mcp.concurrency import shielded
from astra_mcp.mcp.request_context import Exchange
from astra_mcp.types import Failure, Origin, UpstreamReply
from gateway.api.protocol import EpisodeLimits
from gateway.episodes.calls import Call, Turn, ask_server
from gateway.episodes.failures import FailurePlan, InjectedFailure
from gateway.episodes.outcomes import (
    Settled,
    limit_text,
    rejected,
    settle,
    settle_failure,
    unknown_text,
)
from gateway.episodes.shown import Shown

__all__ = ["Execution"]


class Execution:
    """Answers the calls of one episode."""

    def __init__(
        self,
        turns: Mapping[str, Turn],
        shown: Shown,
        plan: FailurePlan | None,
        limits: EpisodeLimits,
        *,
        goes_on: bool,
    ) -> None:
        """Answer nothing yet.

        Args:
            turns: By the names of the servers.
            shown: What the episode lists.
            plan: Lets calls fail; None where none do.
            limits: Of the episode.
            goes_on: True where another state follows a failed one.
        """
        self._turns = turns
        self._shown = shown
        self._plan = plan
        self._limits = limits
        self._goes_on = goes_on

    async def answer(
        self, call: Call, exchange: Exchange, failure: Callable[[], Failure | None]
    ) -> Settled:
        """Run a call; whoever cancels it waits for its end, which has a deadline.

        Args:
            call: Recorded as begun.
            exchange: What its server may know of the request.
            failure: Tells how the episode has failed, once it is the call's turn.
        """
        if call.is_over_limit:
            return self.settle(rejected(limit_text(self._limits.calls), Origin.LIMIT))
        if call.server is None or call.tool is None:
            return self.settle(rejected(unknown_text(call.shown, self._shown.routes)))
        if call.fault is not None:
            return self.settle(rejected(call.fault))
        turn = self._turns[call.server]
        if turn.lock.locked():
            with shielded():
                await turn.lock.acquire()
        else:
            turn.lock.acquire_nowait()
        try:
            failed = failure()
            if failed is not None:
                return self.settle(failed)
            if call.injected is not None and self._plan is not None:
                return await self._inject(call.injected, self._plan, exchange)
            return self.settle(await ask_server(turn, call, exchange, self._limits.call_seconds))
        finally:
            turn.lock.release()

    async def _inject(
        self, injected: InjectedFailure, plan: FailurePlan, exchange: Exchange
    ) -> Settled:
        """Fail in the place of the server, which may take as long as a call may, and no longer."""
        if injected.delay_seconds:
            seconds = min(injected.delay_seconds, self._limits.call_seconds)
            await plan.wait(seconds, exchange.cancellation)
        return self.settle(rejected(injected.text, Origin.INJECTED))

    def settle(self, reply: UpstreamReply | Failure) -> Settled:
        """Bound a reply, and put a failure into words."""
        if isinstance(reply, Failure):
            return settle_failure(reply, goes_on=self._goes_on)
        return settle(reply, limit_bytes=self._limits.result_bytes, goes_on=self._goes_on)
