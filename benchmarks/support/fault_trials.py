"""Single faults, one after another: what a client is told of each, and whether the next call is well again.

Expectations stand in :data:`EXPECTED`; that nothing is executed twice or lost is the bench's verdict.
"""

import os
import signal
import statistics
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.mcp.request_context import Era
from gateway.api.client import GatewayClient

from fault_bench import SENTINELS, SERVERS, FaultBench, Told
from faulty_server import HTTP_FAULTS, STDIO_FAULTS
from mcp_wire import Kind, McpWire

__all__ = ["IDLE_KILL", "Tally", "faults_of", "guarded", "run_trials"]

IDLE_KILL = "kill-idle"
"""The server's process is killed between two calls."""
MAY_ANSWER = {"slow", "lost-session", IDLE_KILL}
"""Faults after which the right answer may come; after any other it cannot."""
MUST_ANSWER = {"slow"}
HANG_SECONDS = {"stdio": 2.0, "http": 1.0}
"""``call_seconds`` of episodes whose server will not answer; the start of a process is part of it."""
SILENT = {"hang", "garbage", "wrong-id"}
HEAL_SECONDS = 1.0
HEAL_DEADLINE = 5.0
SENTINEL_SECONDS = 0.02


@dataclass(kw_only=True)
class Tally:
    """What came of the trials of one fault."""

    trials: int = 0
    answers: Counter[str] = field(default_factory=Counter[str])
    heal_ms: list[float] = field(default_factory=list[float])
    """From the end of a fault to the first right answer."""
    unexpected: list[str] = field(default_factory=list[str])

    def summary(self) -> dict[str, float | int]:
        """Reduce to figures."""
        healed = sorted(self.heal_ms) or [0.0]
        return {
            "trials": self.trials,
            "unexpected": len(self.unexpected),
            "heal_p50_ms": round(statistics.median(healed), 1),
            "heal_max_ms": round(healed[-1], 1),
            "healed_within_1_s": sum(ms <= HEAL_SECONDS * 1000 for ms in self.heal_ms),
            **{f"answered_{kind}": n for kind, n in sorted(self.answers.items())},
        }


def faults_of(server: str) -> tuple[str, ...]:
    """Name what can go wrong with a server of the bench."""
    wire, _ = SERVERS[server]
    return HTTP_FAULTS if wire == "http" else (*STDIO_FAULTS, IDLE_KILL)


async def run_trials(
    bench: FaultBench,
    client: GatewayClient,
    server: str,
    fault: str,
    *,
    count: int,
    width: int,
) -> Tally:
    """Let one server go wrong in one way, again and again, in both eras and at both kinds of endpoint.

    Args:
        bench: Where it runs.
        client: Of its control plane.
        server: One of ``SERVERS``.
        fault: One of :func:`faults_of`.
        count: How often.
        width: How many at once.
    """
    tally = Tally()
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            trial = _Trial(bench, client, server, fault, number, tally)
            await (trial.in_episode() if number % 3 else trial.at_interactive_endpoint())
            tally.trials += 1

    async with anyio.create_task_group() as group:
        for _ in range(width):
            group.start_soon(work)
    return tally


@dataclass(frozen=True)
class _Trial:
    bench: FaultBench
    client: GatewayClient
    server: str
    fault: str
    number: int
    tally: Tally

    @property
    def era(self) -> Era:
        return Era.MODERN if self.number % 2 else Era.HANDSHAKE

    async def in_episode(self) -> None:
        """Open an episode, let it go wrong, see how it ended, and open the next."""
        seconds = HANG_SECONDS[SERVERS[self.server][0]] if self.fault in SILENT else 30.0
        episode = await self.bench.episode(self.client, self.server, call_seconds=seconds)
        wire = self.bench.wire(episode.mcp_url, self.era)
        before = await self.bench.tell(wire, self.bench.ask())
        if not before.is_right:
            self._blame(before, "the call before the fault")
        told = await self._go_wrong(wire, before)
        state = await self.client.episode(episode.id)
        failed = state.status is EpisodeStatus.FAILED
        if failed == told.is_right:
            self._blame(told, f"the episode is {state.status}")
        if failed and (state.failure is None or not state.failure.message.strip()):
            self._blame(told, "the failure says nothing")
        await self.client.close_episode(episode.id)
        await self._heal_in_episode()

    async def _heal_in_episode(self) -> None:
        began = time.perf_counter()
        episode = await self.bench.episode(self.client, self.server, call_seconds=HEAL_DEADLINE)
        wire = self.bench.wire(episode.mcp_url, self.era)
        self._note_healed(await self.bench.tell(wire, self.bench.ask()), began)
        await self.client.close_episode(episode.id)

    async def at_interactive_endpoint(self) -> None:
        """Let one caller's state go wrong; the same caller's next call is well again."""
        if self.fault in SILENT:
            return await self.in_episode()  # a call there may take a minute
        url = f"{self.bench.url}/servers/{self.server}/mcp?caller=trial-{self.fault}-{self.number}"
        wire = self.bench.wire(url, self.era)
        before = await self.bench.tell(wire, self.bench.ask())
        if not before.is_right:
            self._blame(before, "the call before the fault")
        await self._go_wrong(wire, before)
        began = time.perf_counter()
        self._note_healed(await self.bench.tell(wire, self.bench.ask()), began)
        return None

    async def _go_wrong(self, wire: McpWire, before: Told) -> Told:
        """Make the call that goes wrong, and repeat it as a client does that heard nothing."""
        fault = self.fault
        if fault == IDLE_KILL:
            if before.is_right:
                os.kill(before.answer.structured["pid"], signal.SIGKILL)
            fault = ""
        asked = self.bench.ask(fault)
        told = await self.bench.tell(wire, asked)
        self.tally.answers[told.answer.kind.value] += 1
        expected = told.is_right if self.fault in MUST_ANSWER else not told.is_right
        if told.answer.kind is Kind.NOTHING or not (expected or self.fault in MAY_ANSWER):
            self._blame(told, "the call with the fault")
        again = await self.bench.tell(wire, asked)
        if again.is_right and not told.is_right:
            self._blame(again, "its repetition")
        return told

    def _note_healed(self, told: Told, began: float) -> None:
        if told.is_right:
            self.tally.heal_ms.append((time.perf_counter() - began) * 1000)
        else:
            self._blame(told, "the call after the fault")

    def _blame(self, told: Told, what: str) -> None:
        answer = told.answer
        self.tally.unexpected.append(
            f"{self.server} {self.fault} #{self.number} ({self.era}): {what} was answered "
            f"{answer.kind}: {answer.text[:200]}"
        )


@asynccontextmanager
async def guarded(bench: FaultBench, client: GatewayClient) -> AsyncGenerator[Counter[str]]:
    """Keep episodes of servers that never go wrong busy all the time; counts their answers.

    ``wrong`` must stay 0: what happens to one server is no other's business.
    """
    answers: Counter[str] = Counter()

    async def watch(server: str) -> None:
        episode = await bench.episode(client, server)
        wire = bench.wire(episode.mcp_url, Era.MODERN)
        while True:
            told = await bench.tell(wire, bench.ask())
            answers["right" if told.is_right else "wrong"] += 1
            await anyio.sleep(SENTINEL_SECONDS)

    async with anyio.create_task_group() as group:
        for server in SENTINELS:
            group.start_soon(watch, server)
        yield answers
        group.cancel_scope.cancel()
