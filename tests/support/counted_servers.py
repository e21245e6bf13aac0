"""In-memory servers that count what reaches them, their catalog, and a fake index of distractors."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from astra_mcp.errors import UpstreamError
from astra_mcp.mcp.request_context import SILENT, Exchange
from astra_mcp.testing import InMemoryCatalog, Question
from astra_mcp.types import (
    CallOutcome,
    EmulatorKind,
    JsonObject,
    JsonValue,
    Origin,
    PastCall,
    ServerKind,
    ToolResult,
    ToolSpec,
    UpstreamReply,
)
from gateway.api.seams import Distractor, DistractorSample, ScopedTool
from servers.tools_only import ToolsOnly

ANSWER = "300 tons"
"""What every tool answers, and the answer of the job."""
QUESTION = "How heavy is the ship?"


def tool(name: str) -> ToolSpec:
    """A tool of any arguments."""
    return ToolSpec(name=name, description=f"The tool {name}.", input_schema={"type": "object"})


@dataclass(frozen=True)
class Opened:
    """How a session was opened."""

    seed: int
    past: tuple[PastCall, ...]
    emulator: EmulatorKind | None = None
    prompt: str | None = None


@dataclass
class CountedServer(ToolsOnly):
    """Answers every call alike; emulated ones are told by their kind."""

    name: str
    tools: tuple[ToolSpec, ...] = (tool("look"),)
    version: str = "v1"
    kind: ServerKind = ServerKind.ENVIRONMENT
    emulator: EmulatorKind = EmulatorKind.OFFLINE
    fault: str = ""
    """Why it cannot be prepared."""
    opened: list[Opened] = field(default_factory=list[Opened])
    reached: Counter[str] = field(default_factory=Counter[str])
    """How often each tool was called."""

    @property
    def num_tools(self) -> int:
        """How many tools it has."""
        return len(self.tools)

    async def prepare(self) -> None:
        """Fail where the test wants it."""
        if self.fault:
            raise UpstreamError(self.fault)

    def open_session(
        self, *, key: str, seed: int, past: Sequence[PastCall] = ()
    ) -> "CountedServer":
        """There is no state."""
        del key
        self.opened.append(Opened(seed, tuple(past)))
        return self

    def open_emulation(
        self,
        *,
        emulator: EmulatorKind,
        key: str,
        seed: int,
        past: Sequence[PastCall] = (),
        prompt: str | None = None,
    ) -> "CountedServer":
        """There is no state."""
        del key
        self.opened.append(Opened(seed, tuple(past), emulator, prompt))
        return self

    async def call(
        self, tool: str, arguments: Mapping[str, JsonValue], exchange: Exchange = SILENT
    ) -> UpstreamReply:
        """Count a call."""
        del arguments, exchange
        self.reached[tool] += 1
        result = ToolResult.from_text(ANSWER)
        return UpstreamReply(result=result, origin=Origin.TOOL, outcome=CallOutcome.APPLIED)

    async def aclose(self) -> None:
        """There is nothing to release."""


class CountedCatalog(InMemoryCatalog):
    """Servers, each of which is an environment too, solved by the tools of ``gold``."""

    def __init__(self, *servers: CountedServer, gold: tuple[str, ...] = ("look",)) -> None:
        self.servers = {server.name: server for server in servers}
        asked: dict[str, Question] = {}
        for server in servers:
            own: list[tuple[str, JsonObject]] = [
                (t.name, {}) for t in server.tools if t.name in gold
            ]
            asked[server.name] = Question(QUESTION, ANSWER, gold=own)
        super().__init__(*servers, questions=asked)


@dataclass
class FakeDistractorIndex:
    """Answers the same distractors every time, and remembers what it was asked."""

    distractors: tuple[Distractor, ...]
    shortfall: Mapping[str, int] = field(default_factory=dict[str, int])
    error: Exception | None = None
    asked: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    async def sample(
        self,
        scope: Sequence[ScopedTool],
        *,
        mode: Literal["random", "banded"],
        k: int,
        seed: int,
        taken: Collection[str],
    ) -> DistractorSample:
        """Choose nothing: the test has chosen."""
        self.asked.append(
            {"scope": tuple(scope), "mode": mode, "k": k, "seed": seed, "taken": tuple(taken)}
        )
        if self.error is not None:
            raise self.error
        return DistractorSample(self.distractors, self.shortfall)
