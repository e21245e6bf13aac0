"""A gateway that is killed at any moment, again and again, under agents that go on over all its lives.

Each life has the same home and port. Agents send a call until it is answered, over one pool of connections
that outlives all gateways; some leave in the middle of a request, and another client asks for the answer.
"""

import json
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from random import Random

import anyio
import anyio.to_thread

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.concurrency import BackOff
from astra_mcp.errors import TransportError
from astra_mcp.mcp.request_context import Era
from astra_mcp.seeds import generator
from gateway.api.client import GatewayClient, RefusedError

from fault_bench import ENVIRONMENT, SERVERS, Asked, FaultBench
from kill_account import KillFigures, Played
from mcp_wire import Answer, Kind, send_and_leave
from process_accounts import is_alive, tree_of

__all__ = ["kill_gateway"]

KINDS = (ENVIRONMENT, *SERVERS)
LIVES_SECONDS = (0.05, 0.5)
"""From the first answer, or from when all was well, to the kill."""
EARLY = 0.25
"""Share of kills that do not wait until all is well."""
NUM_CALLS = (2, 20, 200, 1000)
"""Of an episode; the longest outlive many gateways."""
THINK_SECONDS = (0.005, 0.1)
STAY_SECONDS = (0.0, 0.02)
"""How long a client stays that leaves in the middle of a request."""
PAUSES_SECONDS = (0.05, 0.3)
"""Between attempts of a call: the first, and the longest."""
SLOW, VANISH, REPEAT = 0.2, 0.1, 0.1
"""Shares of calls: long ones, those of clients that leave, answered ones that are asked for again."""
WELL_SECONDS = 60.0
GONE_SECONDS = 20.0
NUM_STARTS = 5
"""Attempts to start a gateway before the run is given up."""
TOLD_EVERY = 25
_POLL_SECONDS = 0.005


async def kill_gateway(bench: FaultBench, figures: KillFigures, *, kills: int, seed: int) -> None:
    """Kill the gateway at moments that the seed says, and start it again over its records.

    Args:
        bench: Its gateway is replaced by each new process, at the same port.
        figures: What is seen, kill by kill; complete also where this is cancelled.
        kills: How many.
        seed: Of the moments, and of what agents do.
    """
    async with bench.control() as control:
        run = _Run(bench, control, figures, seed)
        try:
            await run.play(kills)
        finally:
            run.close()


class _Run:
    """All lives of one gateway, and the agents that outlive them."""

    def __init__(
        self, bench: FaultBench, control: GatewayClient, figures: KillFigures, seed: int
    ) -> None:
        self.bench = bench
        self.control = control
        self.figures = figures
        self.life = 0
        self.is_over = False
        self.open: dict[str, Played] = {}
        """Episodes that are not over, by their ids."""
        self._seed = seed
        self._draw = generator(seed, "moments")
        self._processes = ExitStack()
        self._agents = [
            Agent(self, server, era, generator(seed, server, era))
            for server in KINDS
            for era in Era
        ]
        self._met: set[Agent] = set()
        """Agents that this life of the gateway has answered."""

    def close(self) -> None:
        """End the gateway, and judge what is still open."""
        self._processes.close()
        for played in self.open.values():
            self.judge(played)
        self.figures.count_executions(self.bench.executed())
        if traceback := self.bench.traceback():
            self.figures.wrong.append(traceback)

    def judge(self, played: Played) -> None:
        """Take an episode into account that is over."""
        figures = self.figures
        figures.most_kills = max(figures.most_kills, self.life - played.born)
        figures.judge(played, self.bench.home / "records", self.bench.executed())

    def note_answer(self, agent: "Agent", life: int) -> None:
        """Note that a call that was sent in a life was answered."""
        if life == self.life:
            self._met.add(agent)

    async def play(self, kills: int) -> None:
        """Let all agents work, and kill the gateway under them."""
        async with anyio.create_task_group() as group:
            for agent in self._agents:
                group.start_soon(agent.work)
            for number in range(kills):
                if self._draw.random() < EARLY:
                    await self._see_any_answer()
                else:
                    await self._see_well()
                await anyio.sleep(self._draw.uniform(*LIVES_SECONDS))
                await self._kill()
                if (number + 1) % TOLD_EVERY == 0:
                    self._tell()
            await self._see_well()
            self.is_over = True
            group.cancel_scope.deadline = anyio.current_time() + WELL_SECONDS
        self._tell()

    def _tell(self) -> None:
        self.figures.count_executions(self.bench.executed())
        unexpected = self.figures.unexpected
        print(json.dumps(self.figures.summary()), *unexpected[-1:], sep="\n", file=sys.stderr)

    async def _answered(self, enough: Callable[[], bool]) -> None:
        while not enough():  # noqa: ASYNC110 - any of many tasks
            await anyio.sleep(_POLL_SECONDS)

    async def _see_any_answer(self) -> None:
        self.figures.kills_before_well += 1
        with anyio.move_on_after(WELL_SECONDS) as scope:
            await self._answered(lambda: bool(self._met))
        if scope.cancelled_caught:
            said = f"life {self.life}: nobody was answered within {WELL_SECONDS:g} s"
            self.figures.wrong.append(said)

    async def _see_well(self) -> None:
        """Wait until all agents are answered, and new episodes of all kinds too."""
        began = time.perf_counter()
        era = (Era.MODERN, Era.HANDSHAKE)[self.life % 2]
        newcomers = [
            Agent(self, server, era, generator(self._seed, server, self.life)) for server in KINDS
        ]
        with anyio.move_on_after(WELL_SECONDS):
            async with anyio.create_task_group() as group:
                for newcomer in newcomers:
                    group.start_soon(newcomer.play, 1)
                group.start_soon(self._answered, lambda: self._met.issuperset(self._agents))
        if self._met.issuperset((*self._agents, *newcomers)):
            self.figures.healed += 1
            self.figures.heal_ms.append((time.perf_counter() - began) * 1000)
        else:
            silent = [a.name for a in (*self._agents, *newcomers) if a not in self._met]
            said = f"life {self.life}: not well within {WELL_SECONDS:g} s: {', '.join(silent)}"
            self.figures.wrong.append(said)

    async def _kill(self) -> None:
        """Kill the gateway and start it again at once; what it leaves must end by itself."""
        assert self.bench.gateway is not None  # noqa: S101 - it runs
        old = self.bench.gateway
        children = tree_of(old.pid)[1:]
        self.figures.under_way += sum(agent.is_waiting for agent in self._agents)
        self.life += 1
        self._met.clear()
        old.process.send_signal(signal.SIGKILL)
        old.process.wait()
        self.figures.kills += 1
        self._processes.close()
        await self._start(old.port)
        with anyio.move_on_after(GONE_SECONDS) as scope:
            while any(is_alive(child) for child in children):  # noqa: ASYNC110 - not our children
                await anyio.sleep(_POLL_SECONDS)
        if scope.cancelled_caught:
            self.figures.wrong.append(f"life {self.life}: processes of the one before live on")

    async def _start(self, port: int) -> None:
        for attempt in range(1, NUM_STARTS + 1):
            starting = self.bench.run_gateway(port)
            try:
                await anyio.to_thread.run_sync(self._processes.enter_context, starting)
            except RuntimeError as error:
                self.figures.wrong.append(f"life {self.life}: {error}")
                if attempt == NUM_STARTS:
                    raise
                await anyio.sleep(1)
            else:
                return


class Agent:
    """Plays one episode after another of one kind, and knows of no gateway but an address."""

    def __init__(self, run: _Run, server: str, era: Era, draw: Random) -> None:
        self._run = run
        self._server = server
        self._era = era
        self._draw = draw
        self._life = 0
        self.is_waiting = False
        """True while a call has no answer."""

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self._server} ({self._era})"

    async def work(self) -> None:
        """Play episodes until the run is over."""
        while not self._run.is_over:
            await self.play(self._draw.choice(NUM_CALLS))

    async def play(self, num_calls: int) -> None:
        """Play one episode, to its end by a kill or of calls."""
        played = await self._open()
        for _ in range(num_calls):
            await self._step(played)
            if played.is_over or self._run.is_over:
                break
            await anyio.sleep(self._draw.uniform(*THINK_SECONDS))
        await self._close(played)

    async def _open(self) -> Played:
        run = self._run
        pauses = BackOff(*PAUSES_SECONDS)
        while True:
            born = run.life
            try:
                created = await run.bench.episode(run.control, self._server)
            except TransportError as error:  # also where it broke off: that one is nobody's
                self._blame_refusal(error)
                await anyio.sleep(pauses.next())
                continue
            played = Played(
                id=created.id, url=created.mcp_url, server=self._server, era=self._era, born=born
            )
            run.open[played.id] = played
            run.figures.episodes += 1
            return played

    async def _close(self, played: Played) -> None:
        run = self._run
        pauses = BackOff(*PAUSES_SECONDS)
        while True:
            try:
                state = await run.control.close_episode(played.id)
            except TransportError as error:
                self._blame_refusal(error)
                await anyio.sleep(pauses.next())
                continue
            break
        expected = EpisodeStatus.FAILED if played.failure else EpisodeStatus.CLOSED
        if state.status is not expected and not played.is_wrong:
            run.figures.wrong.append(f"{self.name}: {state.status} at its end, not {expected}")
        del run.open[played.id]
        run.judge(played)

    def _blame_refusal(self, error: TransportError) -> None:
        if isinstance(error, RefusedError) and error.status != 503:
            self._run.figures.wrong.append(f"{self.name}: {error}")

    async def _step(self, played: Played) -> None:
        """Make a call; some time and after each kill, ask for the answer to an earlier one again."""
        figures = self._run.figures
        if (self._life != self._run.life or self._draw.random() < REPEAT) and played.results:
            self._life = self._run.life
            again = self._draw.choice(played.results)
            figures.take_again(played, again, await self._ask(played, again, Era.MODERN))
        fault = "slow" if played.is_deployed and self._draw.random() < SLOW else ""
        asked = self._run.bench.ask(fault)
        figures.asked += 1
        asked_in = self._run.life
        if self._draw.random() < VANISH:
            await self._leave(played, asked)
        answer = await self._ask(played, asked, self._era)
        failure = played.allowed_failure(answer, asked_in=asked_in, life=self._run.life)
        figures.take(played, asked, answer, failure)

    async def _leave(self, played: Played, asked: Asked) -> None:
        """Send a call as a client that goes away."""
        stay = self._draw.uniform(*STAY_SECONDS)
        try:
            await send_and_leave(
                played.url,
                "count",
                asked.arguments,
                asked.call_id,
                stay=lambda: anyio.sleep(stay),
                reset=self._draw.random() < 0.5,
            )
        except OSError:
            return  # between two lives: nobody was there to leave
        self._run.figures.vanished += 1

    async def _ask(self, played: Played, asked: Asked, era: Era) -> Answer:
        """Send a call until it is answered."""
        run = self._run
        pauses = BackOff(*PAUSES_SECONDS)
        wire = run.bench.wire(played.url, era)
        self.is_waiting = True
        try:
            while True:
                life = run.life
                run.figures.sent += 1
                answer = await wire.call("count", asked.arguments, asked.call_id)
                if answer.kind not in (Kind.NOTHING, Kind.LATER):
                    run.note_answer(self, life)
                    return answer
                if answer.kind is Kind.NOTHING and answer.text.startswith(("HTTP", "ReadTimeout")):
                    run.figures.wrong.append(f"{self.name}: {answer.text[:200]}")
                await anyio.sleep(pauses.next())
                wire = run.bench.wire(played.url, era)
        finally:
            self.is_waiting = False
