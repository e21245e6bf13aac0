"""The two questions to the model: what does this call answer, and what is to be kept of older calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.model import Model
from astra_mcp.llm.prompt import Prompt, load_prompt
from astra_mcp.types import FrozenModel, JsonValue, ToolSpec
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.modelled.excerpts import (
    MAX_NAME,
    MAX_PROMPT_CHARS,
    answer_text,
    arguments_text,
    cut,
    schema_text,
    server_text,
    tool_text,
)
from servers.emulated.modelled.history import MAX_STATE, History

__all__ = ["EmulatedReply", "Question", "Writer"]

_PROMPTS: Final = "servers.emulated.modelled.prompts"
_MAX_ARGUMENTS: Final = 4000
"""Characters of the call that is answered."""
_MAX_HINT: Final = 2000
_MAX_REJECTED: Final = 2000
_MAX_FAULTS: Final = 2000


class EmulatedReply(FrozenModel):
    """What a tool returns."""

    result: JsonValue
    is_error: bool


class _Folded(FrozenModel):
    """What is kept of older calls."""

    state: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A call, what its answer rests on, and an earlier answer to it that cannot be given."""

    tool: ToolSpec
    arguments: Mapping[str, JsonValue]
    history: History
    entities: str
    values: str
    """What was told of them, which folding may have dropped."""
    rejected: EmulatedReply | None = None
    faults: Sequence[str] = ()
    """Why it cannot be given."""


class Writer:
    """Asks the model on behalf of one session."""

    def __init__(self, model: Model, document: EmulatedDocument, hint: str) -> None:
        """Ask nothing yet.

        Args:
            model: Answers.
            document: Of the server.
            hint: What the user wants; empty where the model is not told.
        """
        self._model = model
        self._server = server_text(document)
        self._hint = cut(hint, _MAX_HINT)

    async def answer(self, question: Question, *, sample: int) -> EmulatedReply:
        """Have a call answered; another sample asks anew.

        Where escaping makes a prompt too long, the oldest of the recent calls are not shown.

        Raises:
            ModelError: The model failed.
            BudgetSpentError: It may not be asked any more.
            PipelineError: The cache of completions does not answer.
        """
        recent = question.history.recent
        while _length(prompt := self._prompt(question, recent)) > MAX_PROMPT_CHARS and recent:
            recent = recent[1:]
        return await self._model.ask(prompt, EmulatedReply, sample=sample)

    def _prompt(self, question: Question, recent: Sequence[str]) -> Prompt:
        tool = question.tool
        arguments = arguments_text(dict(question.arguments), _MAX_ARGUMENTS)
        return load_prompt(_PROMPTS, "answer").render(
            server=self._server,
            tool=tool_text(tool),
            input_schema=schema_text(tool.input_schema),
            output_schema=schema_text(tool.output_schema),
            hint=self._hint,
            state=question.history.state,
            entities=question.entities,
            values=question.values,
            recent_calls="\n".join(recent),
            call=f"{cut(tool.name, MAX_NAME)} {arguments}",
            rejected="" if question.rejected is None else _rejected_text(question.rejected),
            faults=cut("\n".join(f"- {fault}" for fault in question.faults), _MAX_FAULTS),
        )

    async def fold(self, state: str, calls: Sequence[str], *, sample: int) -> str:
        """Have older calls worked into the state; one that is too long is asked for once more.

        Raises:
            ModelError: The model failed, or wrote too much twice.
            BudgetSpentError: It may not be asked any more.
            PipelineError: The cache of completions does not answer.
        """
        overlong = 0
        for _ in range(2):
            prompt = load_prompt(_PROMPTS, "fold").render(
                server=self._server,
                state=state,
                calls="\n".join(calls),
                max_chars=MAX_STATE,
                overlong=overlong,
            )
            written = (await self._model.ask(prompt, _Folded, sample=sample)).state.strip()
            if len(written) <= MAX_STATE:
                return written
            overlong = len(written)
        msg = (
            f"the emulator model wrote {overlong} characters where it has to keep a session's past "
            f"in {MAX_STATE}, twice"
        )
        raise ModelError(msg, ModelFault.INVALID)


def _length(prompt: Prompt) -> int:
    return sum(len(str(message["content"])) for message in prompt.messages)


def _rejected_text(reply: EmulatedReply) -> str:
    outcome = "failed" if reply.is_error else "answered"
    return f"{outcome}: {cut(answer_text(reply.result), _MAX_REJECTED)}"
