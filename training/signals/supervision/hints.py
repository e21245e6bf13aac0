"""Hints: a text that helps with a question, and the guide that shows it while turns are sampled.

A model, a file or a template writes them. What a model wrote is kept with the run, so that a run that goes on
has the very hints with which it began.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import anyio
from pydantic import Field

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import ConfigError
from astra_mcp.synthesis.asking import Asks, PromptBook
from astra_mcp.trajectory import Message, SystemMessage, UserMessage
from astra_mcp.types import FrozenModel, JsonObject
from gateway.api.seams import GoldCall
from training.export.row_files import new_file
from training.signals.supervision.gold import Gold, Speech
from training.signals.supervision.questions import QuestionKey, read_question_rows
from training.signals.supervision.settings import HintSettings

__all__ = ["HintGuide", "Hints", "ask_hints", "read_hints", "template_hint"]

Hints = Mapping[QuestionKey, str]
_BOOK: Final = PromptBook("training.signals.supervision.prompts")
_PROMPT: Final = "hint"
_KEPT: Final = "hints.jsonl"
_ASKED_AT_ONCE: Final = 8
_WRAP: Final = "A hint, which need not be followed to the letter:\n"


class HintText(FrozenModel):
    """What a model answers."""

    hint: str = Field(pattern=r"\S", max_length=4000)


class HintGuide:
    """Shows a hint while turns are sampled; a :class:`~training.rl.core.policy_agent.Guide`."""

    def __init__(self, hint: str, settings: HintSettings, speech: Speech) -> None:
        """Take the hint's text."""
        self._text = _WRAP + hint
        self._position = settings.position
        self._speech = speech

    def prompt(self, messages: Sequence[Message], tools: Sequence[JsonObject]) -> Sequence[int]:
        """Give the prompt with the hint in it.

        Raises:
            RenderError: It cannot be rendered.
        """
        return self._speech.prompt(self._hinted(messages), tools)

    def turn(self, number: int) -> None:
        """Leave each turn to the policy."""
        del number

    def _hinted(self, messages: Sequence[Message]) -> list[Message]:
        if self._position == "user":
            return [*messages, UserMessage(content=self._text)]
        first = messages[0] if messages else None
        if isinstance(first, SystemMessage):
            text = f"{first.content}\n\n{self._text}"
            return [SystemMessage(content=text), *messages[1:]]
        return [SystemMessage(content=self._text), *messages]


def template_hint(calls: Sequence[GoldCall]) -> str:
    """Name the gold calls in their order; no model's words."""
    lines = [
        f"{number}. {call.tool} with {json.dumps(call.arguments, ensure_ascii=False)}"
        for number, call in enumerate(calls, start=1)
    ]
    return "\n".join(["These calls lead to the answer:", *lines])


def read_hints(settings: HintSettings, questions: Sequence[QuestionKey]) -> Hints:
    """Read the hints of questions from the file that the settings name.

    Raises:
        ConfigError: It cannot be read, or lacks a question.
    """
    assert settings.file is not None  # noqa: S101 - checked by the settings
    return _read(settings.file, questions)


async def ask_hints(
    questions: Mapping[QuestionKey, str], gold: Gold, adviser: Asks | None, folder: Path
) -> Hints:
    """Have a model write a hint for each question, once for a run.

    Args:
        questions: Their texts.
        gold: Of each.
        adviser: Writes.
        folder: Where the hints stay, and are taken from where they are there.

    Raises:
        ConfigError: No model is given, or the file cannot be read or written.
        ModelError: The model gave no hint.
    """
    kept = folder / _KEPT
    if await anyio.Path(kept).exists():
        return _read(kept, questions)
    if adviser is None:
        raise ConfigError('signals.hints.source is "model", and this run was given no model')

    async def ask(key: QuestionKey) -> str:
        return await _ask(adviser, questions[key], gold[key])

    texts = await map_concurrently(ask, questions, limit=_ASKED_AT_ONCE)
    written = dict(zip(questions, texts, strict=True))
    _keep(kept, written)
    return written


async def _ask(adviser: Asks, question: str, calls: Sequence[GoldCall]) -> str:
    solution: list[JsonObject] = [call.model_dump(mode="json") for call in calls]
    answer = await _BOOK.ask(adviser, _PROMPT, HintText, question=question, solution=solution)
    return answer.hint


def _read(file: Path, questions: Iterable[QuestionKey]) -> Hints:
    found: dict[QuestionKey, str] = {}
    for row in read_question_rows(file, lambda row: _fault(row.key in found)):
        found[row.key] = row.text
    missing = [key for key in questions if key not in found]
    if missing:
        raise ConfigError(
            f"{file} has no hint for {missing[0]}: each question of [[data]] needs one"
        )
    return found


def _fault(is_known: bool) -> str | None:
    return "the question has a hint already" if is_known else None


def _keep(file: Path, hints: Hints) -> None:
    with new_file(file) as made, made.open("w", encoding="utf-8") as lines:
        for key, text in hints.items():
            row = {"environment": key.environment, "question": key.question, "text": text}
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")
