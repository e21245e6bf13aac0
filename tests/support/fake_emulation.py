"""Documents and an emulator of the tests' own, in the place of a registry and of who makes up answers."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from astra_mcp.compose.bundles import FoundEnvironments
from astra_mcp.compose.catalog import PublishedCatalog
from astra_mcp.compose.environments import PublishedEnvironments
from astra_mcp.errors import AstraError
from astra_mcp.testing import open_test_gateway
from astra_mcp.types import EmulatorKind, JsonValue, PastCall, ToolSpec, tools_hash
from servers.deployed import open_deployed
from servers.emulated.emulator import EmulatedAnswer, EmulatedDocument, Emulator, Outline
from servers.emulated.fleet import EmulatedServers
from servers.environment import EnvironmentServer

from emulated_worlds import document_of
from in_memory_tools import spec
from relayed_servers import Desk, RelayGateway

REMEMBER = spec("remember", {"word": {"type": "string", "maxLength": 9}}, ["word"])
REFUSE = spec("refuse", {}, [])


def document(name: str, *tools: ToolSpec, domain: str | None = None) -> EmulatedDocument:
    """Documents of a server with these tools; by default ``remember`` and ``refuse``."""
    listed = tools or (REMEMBER, REFUSE)
    version = f"{name}-{tools_hash(listed)}-{domain}"
    return replace(document_of(*listed, name=name), domain=domain, version=version)


class FakeDocuments:
    """A source that a test changes; satisfies ``DocumentSource``."""

    def __init__(self, *documents: EmulatedDocument) -> None:
        self.held = {d.name: d for d in documents}
        self.loads: list[str] = []
        """Names that were asked for, in their order."""
        self.fault: AstraError | None = None
        """Raised where documents are to be read."""
        self._listeners: list[Callable[[str], None]] = []

    def versions(self) -> Mapping[str, str]:
        """From memory."""
        return {name: d.version for name, d in self.held.items()}

    def outline(self, name: str) -> Outline:
        """From memory."""
        held = self.held[name]
        return Outline(version=held.version, num_tools=len(held.tools), domain=held.domain)

    async def load(self, name: str) -> EmulatedDocument | None:
        """Hand one out."""
        self.loads.append(name)
        if self.fault is not None:
            raise self.fault
        return self.held.get(name)

    def watch(self, hear: Callable[[str], None]) -> Callable[[], None]:
        """Tell of :meth:`publish` and :meth:`withdraw`."""
        self._listeners.append(hear)
        return lambda: self._listeners.remove(hear)

    @property
    def num_watching(self) -> int:
        """How many hear of changes."""
        return len(self._listeners)

    def publish(self, held: EmulatedDocument) -> None:
        """Add or replace one."""
        self.held[held.name] = held
        self._tell(held.name)

    def withdraw(self, name: str) -> None:
        """Remove one."""
        del self.held[name]
        self._tell(name)

    def _tell(self, name: str) -> None:
        for hear in tuple(self._listeners):
            hear(name)


@dataclass
class FakeState:
    """Answers with the words that it was told, its seed and the prompt."""

    emulator: "FakeEmulator"
    seed: int
    prompt: str | None
    words: list[str] = field(default_factory=list[str])

    async def answer(self, tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> EmulatedAnswer:
        """Remember, or refuse."""
        await self.emulator.before_answer()
        if self.emulator.fault is not None:
            raise self.emulator.fault
        if tool.name == REFUSE.name:
            return EmulatedAnswer(value="404: there is no such thing", is_error=True)
        self.words.append(str(arguments.get("word", tool.name)))
        words: list[JsonValue] = [*self.words]
        return EmulatedAnswer(value={"words": words, "seed": self.seed, "prompt": self.prompt})

    async def restore(self, past: Sequence[PastCall]) -> None:
        """Take the words over."""
        if self.emulator.fault is not None:
            self.words.append("half of the past")
            raise self.emulator.fault
        self.words += [str(call.arguments["word"]) for call in past]


async def _at_once() -> None:
    """Wait for nothing."""


@dataclass
class FakeEmulator:
    """Satisfies ``Emulator``."""

    kind: EmulatorKind = EmulatorKind.OFFLINE
    fault: AstraError | None = None
    """Raised in the place of an answer."""
    states: list[FakeState] = field(default_factory=list[FakeState])
    """In the order in which they were opened."""
    before_answer: Callable[[], Awaitable[None]] = _at_once

    def open_state(
        self, document: EmulatedDocument, *, seed: int, prompt: str | None = None
    ) -> FakeState:
        """Begin without a word."""
        self.states.append(FakeState(self, seed, prompt))
        return self.states[-1]


@asynccontextmanager
async def open_emulating_gateway(
    home: Path,
    documents: FakeDocuments,
    *desks: Desk,
    emulator: Emulator | None = None,
    further: Sequence[Emulator] = (),
) -> AsyncGenerator[RelayGateway]:
    """Serve these documents and deployed servers behind one gateway while the context is open.

    Args:
        home: Has the records.
        documents: Of the emulated servers.
        desks: The deployed servers.
        emulator: Answers.
        further: Emulators that answer where a record says so.
    """
    answering = emulator or FakeEmulator()
    async with open_deployed(None, home=home) as deployed:
        emulated = EmulatedServers(
            documents,
            {each.kind: each for each in (answering, *further)},
            kind=answering.kind,
            is_taken=lambda name: deployed.find(name) is not None,
        )
        for desk in desks:
            deployed.mount(desk.name, desk.make)
        nothing = FoundEnvironments(found={}, faulty={}, folders=())
        environments = PublishedEnvironments(nothing, _no_environment)
        catalog = PublishedCatalog(environments, deployed, emulated)
        async with open_test_gateway(catalog, home) as opened:
            yield RelayGateway(**vars(opened), deployed=deployed)


def _no_environment(found: object, digest: object) -> EnvironmentServer:
    raise AssertionError(found, digest)
