"""The emulator that asks a model."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from astra_mcp.errors import ModelError, ModelFault, UpstreamError
from astra_mcp.llm.model import Model
from astra_mcp.seeds import derive_seed, generator
from astra_mcp.types import CallOutcome, EmulatorKind, JsonValue, PastCall, ToolResult, ToolSpec
from servers.emulated.emulator import EmulatedAnswer, EmulatedDocument
from servers.emulated.modelled.asking import EmulatedReply, Question, Writer
from servers.emulated.modelled.consistency import contradictions, form_faults
from servers.emulated.modelled.document_entities import ReadCall, Vocabulary, read_vocabulary
from servers.emulated.modelled.excerpts import answer_text
from servers.emulated.modelled.given_words import words_in
from servers.emulated.modelled.history import History, told_call
from servers.emulated.modelled.ledger import Ledger
from servers.emulated.modelled.list_rules import note_list
from servers.emulated.modelled.mentions import read_mentions
from servers.emulated.modelled.rules import Fault, Said
from servers.emulated.verbs import Verb

__all__ = ["ModelEmulator", "ModelState"]

_ANSWERS = 2
"""One, and one that mends its faults."""


@dataclass(frozen=True, slots=True)
class _Judged:
    """An answer, read, with what is wrong with it."""

    text: str
    """As the caller reads it."""
    said: Said
    faults: Sequence[Fault]


class ModelState:
    """Satisfies :class:`~servers.emulated.emulator.EmulatedState`.

    What a call changes, it changes at its end and at once: one that fails can be made again.
    """

    def __init__(
        self,
        document: EmulatedDocument,
        vocabulary: Vocabulary,
        writer: Writer,
        *,
        seed: int,
        prompt: str = "",
    ) -> None:
        """Begin a session in which nothing was said.

        Args:
            document: Of the server.
            vocabulary: Of its tools.
            writer: Asks the model.
            seed: With the version of the documents, decides which of its answers are taken.
            prompt: What the user wants: identifiers in it may exist, whether the model is shown it or not.
        """
        self._version = document.version
        self._vocabulary = vocabulary
        self._writer = writer
        self._seed = seed
        self._history = History()
        self._ledger = Ledger(words_in(document.description, prompt))
        self._num_refused = 0
        """Calls since the last answer for which the model wrote nothing of use: each is a new draw, since
        the cache keeps that like all else."""

    async def answer(self, tool: ToolSpec, arguments: Mapping[str, JsonValue]) -> EmulatedAnswer:
        """Answer a call, and remember it; answers with faults are a failure of the model."""
        await self._fold()
        call = self._vocabulary.read(tool.name, arguments)
        reply, judged = await self._ask(tool, call)
        self._take(tool.name, call, judged.text, judged.said)
        self._num_refused = 0
        value = judged.text if reply.is_error else reply.result
        return EmulatedAnswer(value=value, is_error=reply.is_error)

    async def restore(self, past: Sequence[PastCall]) -> None:
        """Take over the applied calls of an earlier life; what has to be folded is folded at the next call.

        Raises:
            UpstreamError: The record lacks a result.
        """
        told: list[tuple[PastCall, ToolResult]] = []
        for call in past:
            if call.outcome is CallOutcome.APPLIED:
                if call.result is None:
                    msg = f"the record lacks what {call.tool} answered, on which later answers rest"
                    raise UpstreamError(msg)
                told.append((call, call.result))
        for known, result in told:
            call = self._vocabulary.read(known.tool, known.arguments)
            said = self._read(call, result.text, is_error=result.is_error)
            self._take(known.tool, call, result.text, said)

    async def _fold(self) -> None:
        """Work what is too much into the state; it says the same then, so no failure has to undo it."""
        while calls := self._history.to_fold():
            sample = self._sample("fold", self._num_refused)
            try:
                state = await self._writer.fold(self._history.state, calls, sample=sample)
            except ModelError as error:
                self._num_refused += error.fault is ModelFault.INVALID
                raise
            self._history = self._history.with_state(state, len(calls))

    async def _ask(self, tool: ToolSpec, call: ReadCall) -> tuple[EmulatedReply, _Judged]:
        """Ask for an answer, and once more where it has faults.

        Raises:
            ModelError: The second one has faults too, or the model failed.
        """
        question = Question(
            tool=tool,
            arguments=call.arguments,
            history=self._history,
            entities=self._ledger.summary(),
            values=self._ledger.values(),
        )
        faults: Sequence[Fault] = ()
        for _ in range(_ANSWERS):
            sample = self._sample("answer", self._num_refused)
            reply = await self._writer.answer(question, sample=sample)
            judged = self._judge(tool, call, reply)
            faults = judged.faults
            if not faults:
                return reply, judged
            messages = [fault.message for fault in faults]
            question = replace(question, rejected=reply, faults=messages)
        self._num_refused += 1
        told = "; ".join(f"{fault.rule.value}: {fault.message}" for fault in faults)
        msg = f"the emulator model gave no answer to {tool.name} that can be used, twice: {told}"
        raise ModelError(msg, ModelFault.INVALID)

    def _judge(self, tool: ToolSpec, call: ReadCall, reply: EmulatedReply) -> _Judged:
        faults = [*form_faults(tool, reply.result, is_error=reply.is_error)]
        text = answer_text(reply.result)
        said = self._read(call, text, is_error=reply.is_error)
        faults += contradictions(call, said, self._ledger, self._vocabulary)
        return _Judged(text, said, faults)

    def _read(self, call: ReadCall, text: str, *, is_error: bool) -> Said:
        """Read an answer as its caller does, so that one that is restored reads like the first time."""
        value = _parse(text)
        return Said(value, is_error, read_mentions(value, call, self._vocabulary))

    def _take(self, tool: str, call: ReadCall, text: str, said: Said) -> None:
        told = told_call(tool, call.arguments, text, is_error=said.is_error)
        self._history = self._history.with_call(told)
        if said.is_error:
            self._ledger.hear(call, said.value)
            return
        self._ledger.take(call, said.value, said.mentions, self._vocabulary.settable)
        if call.verb is Verb.LIST:
            note_list(call, said.value, self._ledger)

    def _sample(self, *names: str | int) -> int:
        return derive_seed(self._seed, "emulator", self._version, *names)


def _parse(text: str) -> JsonValue:
    """Read an answer as JSON; as the text that it is where it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


_MAX_VOCABULARIES = 256
"""Of documents, kept; reading those of a server with hundreds of tools takes some 50 ms."""


class ModelEmulator:
    """Satisfies :class:`~servers.emulated.emulator.Emulator`.

    Source: ASTRA (arXiv:2601.21558) sec. 2.1.4: a stateful tool-response emulation that retains the
    session's invocations and outputs.
    Deviation: answers are held against a ledger of what was given out; the paper names no check.
    """

    kind = EmulatorKind.MODEL

    def __init__(self, model: Model, *, hint_share: float = 0.0) -> None:
        """Open no session yet.

        Args:
            model: Of the role ``emulator``.
            hint_share: In this share of the sessions that have a prompt, the model is shown it.

        Raises:
            ValueError: The share is none.
        """
        if not 0 <= hint_share <= 1:
            raise ValueError(f"hint_share must be from 0 to 1, not {hint_share:g}")
        self._model = model
        self._hint_share = hint_share
        self._vocabularies: dict[str, Vocabulary] = {}

    def open_state(
        self, document: EmulatedDocument, *, seed: int, prompt: str | None = None
    ) -> ModelState:
        """Begin a session; whether the model is shown the prompt is drawn from the seed."""
        is_told = generator(seed, "hint").random() < self._hint_share
        writer = Writer(self._model, document, (prompt or "") if is_told else "")
        vocabulary = self._vocabulary(document)
        return ModelState(document, vocabulary, writer, seed=seed, prompt=prompt or "")

    def _vocabulary(self, document: EmulatedDocument) -> Vocabulary:
        known = self._vocabularies.get(document.version)
        if known is None:
            known = read_vocabulary(document.tools)
            if len(self._vocabularies) >= _MAX_VOCABULARIES:
                del self._vocabularies[next(iter(self._vocabularies))]
            self._vocabularies[document.version] = known
        return known
