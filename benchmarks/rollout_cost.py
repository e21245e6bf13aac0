"""What a tool call of a rollout costs, gateway and client together, as ratios to the SDK's bare server.

    python -P benchmarks/rollout_cost.py [--episodes 64] [--calls 16] [--rounds 5] [--json FILE]

Plays rollouts as training does: groups of eight are opened and closed by ``run_rollouts``, and an agent that
needs no model calls one tool, turn after turn. Processor time is that of this process and of the gateway's
process, from the moment when each episode has made one call, for which its session is opened, to that when
the last call is answered; it includes JSON, checks, the conversation, judging and the record. It is held
against the processor time of the bare server's process alone, called by the load generator over as many
connections with the same tool.

``echo`` is a gateway whose server answers in its process; ``environment`` is ``astra-mcp serve`` with an
environment, whose sandbox stands aside as a figure of its own, while its channel is the gateway's. Opening
with the first call, and closing, are counted apart, per episode, and held against one initialize, its
notification and one tools/list of the bare server. All of it takes turns, there and back; a ratio compares
cells of one round, and a figure is the median of the rounds with the least and the most. Exits with 1 where
a call costs more than the bare server's.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any

_HERE = Path(__file__).resolve().parent
# A file here has the name of a package; its parts are found beside it instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right
import httpx2  # noqa: E402

from astra_mcp.llm.usage import Usage  # noqa: E402
from astra_mcp.trajectory import AgentInfo, StopReason, Trajectory  # noqa: E402
from gateway.api.client import GatewayClient  # noqa: E402
from gateway.api.wire import SourceEnvironment, SourceServers  # noqa: E402
from training.rollout.agent import CallRequest, EpisodeView  # noqa: E402
from training.rollout.plan import Source, plan_rollouts  # noqa: E402
from training.rollout.run import run_rollouts  # noqa: E402

from circumstances import conditions  # noqa: E402
from echo_bundle import NAME as BUNDLE  # noqa: E402
from echo_bundle import write_echo_bundle  # noqa: E402
from load_generator import Job  # noqa: E402
from mcp_wire import HANDSHAKE, open_pool  # noqa: E402
from measured_programs import SUPPORT, Program, run_program, run_serve  # noqa: E402
from measured_rounds import open_generator  # noqa: E402
from process_accounts import cpu_seconds  # noqa: E402

SEED = 0
GROUP = 8
LIMIT = 1.0
"""What we aim at: no more than the bare server."""
_BARE_SECONDS = 0.25
"""Of calls to the bare server in one turn."""


@dataclass(slots=True)
class Phases:
    """Processor seconds of the parts of some rollouts, by whose they are."""

    clocks: Mapping[str, Callable[[], float]]
    spent: list[dict[str, float]] = field(default_factory=list[dict[str, float]])
    _last: dict[str, float] = field(default_factory=dict[str, float])

    def begin(self) -> None:
        """Read all clocks."""
        self._last = {name: clock() for name, clock in self.clocks.items()}

    def end(self) -> None:
        """Put down what a part took; the next one begins."""
        before = self._last
        self.begin()
        self.spent.append({name: self._last[name] - before[name] for name in self.clocks})


class EchoAgent:
    """Calls the echo, and holds every answer against what it said; all episodes make each phase together."""

    info = AgentInfo(name="echo")

    def __init__(self, episodes: int, calls: int, phases: Phases) -> None:
        self._episodes = episodes
        self._calls = calls
        self._phases = phases
        self._arrived = 0
        self._gates = [anyio.Event(), anyio.Event()]

    async def play(self, episode: EpisodeView) -> StopReason:
        """Call until all calls are made."""
        await self._call(episode, "first")
        await self._meet(0)
        for number in range(self._calls):
            await self._call(episode, str(number))
        await self._meet(1)
        episode.answer("done")
        return StopReason.ANSWER

    @staticmethod
    async def _call(episode: EpisodeView, nonce: str) -> None:
        said = f"{episode.seed}-{nonce}"
        [answered] = await episode.take_turn([CallRequest.of("echo", {"text": said})])
        if answered.text != said:
            raise SystemExit(f"the echo of {said!r} was {answered.text!r}")

    async def _meet(self, gate: int) -> None:
        """Wait for all; the last one to come ends the phase."""
        self._arrived += 1
        if self._arrived == self._episodes * (gate + 1):
            self._phases.end()
            self._gates[gate].set()
        await self._gates[gate].wait()


@dataclass(frozen=True, kw_only=True)
class Played:
    """Milliseconds of rollouts: of a call, and of an episode but for its calls."""

    call: dict[str, float]
    episode: dict[str, float]


class Rollouts:
    """Rollouts through one gateway."""

    def __init__(self, program: Program, client: GatewayClient, source: Source) -> None:
        self._client = client
        self._source = source
        pid = program.pid

        def sandbox() -> float:
            return cpu_seconds(pid, with_children=True) - cpu_seconds(pid, with_children=False)

        self._clocks = {
            "client": process_time,
            "gateway": lambda: cpu_seconds(pid, with_children=False),
            "sandbox": sandbox,
        }

    async def play(self, episodes: int, calls: int, seed: int) -> Played:
        """Play so many episodes at once."""
        phases = Phases(self._clocks)
        rollouts = plan_rollouts(
            [(self._source, None)],
            num_episodes=episodes // GROUP,
            num_samples=GROUP,
            root_seed=seed,
        )

        def keep(_place: int, trajectory: Trajectory, _usage: Usage) -> None:
            if trajectory.failure or len(trajectory.calls) != calls + 1:
                raise SystemExit(f"an episode failed: {trajectory.failure}")

        phases.begin()
        agent = EchoAgent(episodes, calls, phases)
        await run_rollouts(self._client, agent, rollouts, concurrency=episodes, on_finished=keep)
        phases.end()
        opening, calling, closing = phases.spent
        return Played(
            call={name: s * 1e3 / (episodes * calls) for name, s in calling.items()},
            # A sandbox that ended takes its account with it.
            episode={
                name: (opening[name] + closing[name]) * 1e3 / episodes
                for name in ("client", "gateway")
            },
        )


class Bare:
    """The SDK's server, alone."""

    def __init__(self, program: Program) -> None:
        self._program = program

    def _cpu(self) -> float:
        return cpu_seconds(self._program.pid, with_children=False)

    def call(self, connections: int, seed: int) -> float:
        """Milliseconds of a call, over so many connections at once."""
        job = Job(
            host="127.0.0.1",
            port=self._program.port,
            paths=["/mcp"] * connections,
            era="modern",
            seed=seed,
        )
        with open_generator() as generator:
            generator.prepare(job)
            before = self._cpu()
            calls = generator.call(_BARE_SECONDS)
            spent = self._cpu() - before
            outcome = generator.finish()
        if outcome.errors:
            raise SystemExit(f"the bare server: {outcome.errors}")
        return spent * 1e3 / calls

    async def open(self, sessions: int) -> float:
        """Milliseconds of a handshake and a list of tools, so many at once."""
        before = self._cpu()
        async with open_pool() as pool, anyio.create_task_group() as group:
            for _ in range(sessions):
                group.start_soon(_shake_hands, pool, f"{self._program.url}/mcp")
        return (self._cpu() - before) * 1e3 / sessions


async def _shake_hands(pool: httpx2.AsyncClient, url: str) -> None:
    headers = {"Accept": "application/json, text/event-stream"}

    async def post(method: str, params: Mapping[str, Any], **named: int) -> httpx2.Response:
        body = {"jsonrpc": "2.0", "method": method, "params": params, **named}
        answer = await pool.post(url, json=body, headers=headers)
        answer.raise_for_status()
        return answer

    client = {"name": "bare", "version": "1"}
    hello = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": client}
    answer = await post("initialize", hello, id=0)
    headers["Mcp-Session-Id"] = answer.headers["mcp-session-id"]
    headers["MCP-Protocol-Version"] = HANDSHAKE
    await post("notifications/initialized", {})
    listed = await post("tools/list", {}, id=1)
    if [tool["name"] for tool in listed.json()["result"]["tools"]] != ["echo"]:
        raise SystemExit(f"the bare server lists {listed.text}")


Series = dict[str, list[float]]
"""Figures of each round, by their names."""


@contextmanager
def programs(folder: Path) -> Generator[tuple[Program, dict[str, tuple[Program, Source]]]]:
    """Run the bare server, and each gateway with what is played through it."""
    bundle = write_echo_bundle(folder / "bundles")
    script = [sys.executable, "-P"]
    with (
        run_program([*script, str(SUPPORT / "baseline_server.py")]) as bare,
        run_program([*script, str(SUPPORT / "echo_gateway.py"), str(folder / "echo")]) as echo,
        run_serve(folder / "serve", "--environments", str(bundle)) as serve,
    ):
        yield (
            bare,
            {
                "echo": (echo, SourceServers(kind="servers", names=("echo",))),
                "environment": (serve, SourceEnvironment(kind="environment", name=BUNDLE)),
            },
        )


async def measure(options: argparse.Namespace, folder: Path) -> Series:
    """Measure all rounds; a short one before them is thrown away."""
    found: Series = {}
    with programs(folder) as (bare_program, gateways):
        async with AsyncExitStack() as stack:
            bare = Bare(bare_program)
            rollouts = {
                name: Rollouts(
                    program,
                    await stack.enter_async_context(
                        GatewayClient(program.url, str(program.hello["key"]))
                    ),
                    source,
                )
                for name, (program, source) in gateways.items()
            }
            await _round(bare, rollouts, options, seed=SEED, turns=1)
            for number in range(options.rounds):
                one = await _round(bare, rollouts, options, seed=number + 1, turns=options.turns)
                for name, value in one.items():
                    found.setdefault(name, []).append(value)
                ratios = {n: round(v, 3) for n, v in one.items() if n.endswith("ratio")}
                print(f"round {number + 1}", json.dumps(ratios), file=sys.stderr)
    return found


async def _round(
    bare: Bare,
    rollouts: Mapping[str, Rollouts],
    options: argparse.Namespace,
    *,
    seed: int,
    turns: int,
) -> dict[str, float]:
    """Let all have their turns, there and back; means over the turns, and their ratios."""
    series: Series = {}

    def note(name: str, value: float) -> None:
        series.setdefault(name, []).append(value)

    async def measure_bare(number: int) -> None:
        note("bare_call_ms", bare.call(options.episodes, number))
        note("bare_session_ms", await bare.open(options.episodes))

    async def measure_rollouts(name: str, number: int) -> None:
        played = await rollouts[name].play(options.episodes, options.calls, number)
        for part, spent in (("call", played.call), ("episode", played.episode)):
            for whose, value in spent.items():
                note(f"{name}_{whose}_{part}_ms", value)

    for turn in range(turns):
        number = seed * turns + turn
        order = ["bare", *rollouts]
        for name in order if turn % 2 == 0 else reversed(order):
            await (measure_bare(number) if name == "bare" else measure_rollouts(name, number))
    means = {name: statistics.fmean(values) for name, values in series.items()}
    for name in rollouts:
        for part, base in (("call", "bare_call_ms"), ("episode", "bare_session_ms")):
            whole = means[f"{name}_client_{part}_ms"] + means[f"{name}_gateway_{part}_ms"]
            means[f"{name}_{part}_ratio"] = whole / means[base]
    return means


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    told = conditions(
        seed=SEED,
        episodes=options.episodes,
        calls=options.calls,
        rounds=options.rounds,
        turns=options.turns,
    )
    with tempfile.TemporaryDirectory(prefix="astra-mcp-bench-") as folder:
        found = anyio.run(measure, options, Path(folder), backend_options={"use_uvloop": True})
    figures = {
        f"{name}{end}": round(reduce(values), 4)
        for name, values in found.items()
        for end, reduce in (("", statistics.median), ("_min", min), ("_max", max))
    }
    for name in found:
        least, most = figures[f"{name}_min"], figures[f"{name}_max"]
        print(f"{name:32} {figures[name]:8.4g} ({least:.4g}-{most:.4g})")
    if options.json:
        text = json.dumps({**figures, "conditions": told.finished()}, indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")
    above = [name for name in found if name.endswith("_call_ratio") and figures[name] > LIMIT]
    if above:
        sys.exit(f"above {LIMIT:g}: {', '.join(above)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--episodes", type=int, default=64, help="at once, a multiple of 8")
    parser.add_argument("--calls", type=int, default=16, help="of each episode")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--turns", type=int, default=4, help="of each in a round")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    options = parser.parse_args()
    if options.episodes < GROUP or options.episodes % GROUP:
        parser.error(f"--episodes must be a multiple of {GROUP}")
    if min(options.calls, options.rounds, options.turns) < 1:
        parser.error("--calls, --rounds and --turns must be at least 1")
    return options


if __name__ == "__main__":
    main()
