"""Satisfies :class:`servers.emulated.emulator.Emulator` without a model.

What is learned of a version is shared by its sessions and forgotten when it is not used for long; a
session keeps its own entities alone.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

from anyio.lowlevel import checkpoint

from astra_mcp.errors import UpstreamError
from astra_mcp.schemas import SchemaError
from astra_mcp.seeds import derive_seed
from astra_mcp.types import CallOutcome, EmulatorKind, JsonValue, PastCall, ToolSpec
from astra_mcp.values.dice import Dice
from astra_mcp.values.scalars import UnmetError
from astra_mcp.values.schema_values import NoValueError
from servers.emulated.document import EmulatedDocument
from servers.emulated.emulator import EmulatedAnswer
from servers.emulated.offline.answering import Answering
from servers.emulated.offline.facts import written_arguments
from servers.emulated.offline.finding import Call
from servers.emulated.offline.learning import Learned
from servers.emulated.offline.selection import RefusedError
from servers.emulated.offline.store import Store

__all__ = ["OfflineEmulator", "OfflineState"]

_MAX_LEARNED: Final = 1024
"""Of so many versions it is remembered what was learned."""


class OfflineEmulator:
    """Opens the states of any number of servers."""

    def __init__(self) -> None:
        """Begin without having learned anything."""
        self._learned: OrderedDict[str, Learned] = OrderedDict()

    @property
    def kind(self) -> EmulatorKind:
        """It needs no model."""
        return EmulatorKind.OFFLINE

    def open_state(
        self, document: EmulatedDocument, *, seed: int, prompt: str | None = None
    ) -> "OfflineState":
        """Begin a session; nothing is read before its first call.

        Args:
            document: Of the server.
            seed: Decides everything that is made up.
            prompt: Not used: what a user asks for decides nothing.
        """
        del prompt
        learned = self._learned.get(document.version)
        if learned is None:
            learned = self._learned[document.version] = Learned(document)
        self._learned.move_to_end(document.version)
        if len(self._learned) > _MAX_LEARNED:
            self._learned.popitem(last=False)
        return OfflineState(learned, seed=seed)


class OfflineState:
    """One session's entities, and the calls so far."""

    def __init__(self, learned: Learned, *, seed: int) -> None:
        """Begin; nothing is made up yet.

        Args:
            learned: What the documents say.
            seed: Decides everything that is made up.
        """
        self._learned = learned
        self._dice = Dice.of_seed(derive_seed(seed, "offline", learned.document.version))
        self._store = Store(learned, self._dice)
        self._answering = Answering(self._store, self._dice)

    async def answer(self, tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> EmulatedAnswer:
        """Answer a call, and keep what it did.

        Args:
            tool: Of this server.
            arguments: Valid by the tool's schema.

        Raises:
            UpstreamError: No value is found that fits the tool's output schema; the state is as it was.
        """
        try:
            value = self._value(tool, arguments)
        except RefusedError as refusal:
            self._store.rollback()
            self._store.calls += 1
            return EmulatedAnswer(value=str(refusal), is_error=True)
        except (NoValueError, SchemaError, UnmetError) as error:
            self._store.rollback()
            raise UpstreamError(f"{tool.name} cannot be answered: {error}") from error
        except BaseException:
            self._store.rollback()
            raise
        self._store.commit()
        self._store.calls += 1
        return EmulatedAnswer(value=value)

    async def restore(self, past: Sequence[PastCall]) -> None:
        """Make the applied calls of an earlier life again; others have their turn in between."""
        for call in past:
            await checkpoint()
            if call.outcome is CallOutcome.APPLIED:
                await self.answer(self._learned.tools[call.tool], call.arguments)

    def _value(self, tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> JsonValue:
        reading = self._learned.readings[tool.name]
        answer = self._answering.told(Call(tool=tool, reading=reading, arguments=arguments))
        maker = self._learned.output(tool)
        if maker is None:
            return answer.shown
        dice = self._dice.at("output", tool.name, written_arguments(arguments))
        return maker.fill(dice, self._store.wording, told=answer.known, noun=reading.noun or "")
