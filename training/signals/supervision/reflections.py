"""Reflections: what is said of sampled episodes, checked, and as lessons.

Source: sec. 3.6 of the study of collapses, eq. 9 and 10. Each call that a reflection spells has to be one
that could be made; a reflection with another one is dropped, with the reason.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, cast

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import ConfigError, ModelError
from astra_mcp.llm.prompt import Prompt, load_prompt
from astra_mcp.schemas import compile_validator
from astra_mcp.synthesis.asking import Asks
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.trajectory import (
    AssistantMessage,
    Message,
    SystemMessage,
    Trajectory,
    UserMessage,
)
from astra_mcp.types import JsonObject
from training.render import Renderer, encode
from training.render.dialects.turns import ParsedCall, RenderError
from training.render.renderer import Rendered, Segment
from training.signals.supervision.errors import group_number, played_alone
from training.signals.supervision.gold import Gold
from training.signals.supervision.guidance import Guidance
from training.signals.supervision.lessons import Lesson
from training.signals.supervision.questions import QuestionKey
from training.signals.supervision.reviews import (
    Analysis,
    PlayedTurn,
    Review,
    TextKind,
    error_turn,
    template_analysis,
    template_review,
    turns_of,
)

__all__ = [
    "Reflection",
    "call_fault",
    "lessons_of_reflections",
    "reflect",
    "require_speakable",
]

_PACKAGE: Final = "training.signals.supervision.prompts"
_ASKED_AT_ONCE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflection:
    """A text about an episode, or why there is none."""

    kind: TextKind
    key: QuestionKey
    messages: tuple[Message, ...]
    """What it is an answer to."""
    shown_tools: tuple[JsonObject, ...]
    """That the policy is shown with it."""
    tools: tuple[JsonObject, ...]
    """Of the episode: what calls may be made to."""
    text: str
    dropped: str | None = None
    """Why it teaches nothing."""

    def as_json(self) -> JsonObject:
        """Give what people look at."""
        return {
            "kind": self.kind,
            "environment": self.key.environment,
            "question": self.key.question,
            "text": self.text,
            "dropped": self.dropped,
        }


@dataclass(frozen=True, slots=True)
class _Case:
    """An episode that is spoken of, and one kind of speaking."""

    kind: TextKind
    key: QuestionKey
    trajectory: Trajectory
    turns: Sequence[PlayedTurn]
    at: int | None

    def prompt(self, gold: Gold) -> Prompt:
        """Give what asks for the text."""
        values: dict[str, object] = {
            "question": _question(self.trajectory),
            "solution": [call.model_dump(mode="json") for call in gold[self.key]],
            "conversation": [*_shown(self.turns)],
        }
        if self.kind == "analysis":
            values["turn"] = {"number": (self.at or 0) + 1}
        return load_prompt(_PACKAGE, self.kind).render(**values)


def require_speakable(renderer: Renderer) -> None:
    """Refuse a dialect in which calls cannot stand between words, as they do in a reflection.

    Raises:
        ConfigError: It is such a one.
    """
    dialect = renderer.dialect
    one = dialect.write("", [ParsedCall("probe", "{}", "c00000000")])
    read = dialect.read(f"First:\n{one}\n\nThen:\n{one}\nSo.")
    if read.faults or [call.name for call in read.calls] != ["probe", "probe"]:
        raise ConfigError(
            f"signals.supervision.kind: in the dialect {dialect.name} no calls stand between words, so no"
            ' reflection can hold some: take "errors"'
        )


async def reflect(
    window: Sequence[Trajectory], guidance: Guidance, adviser: Asks | None
) -> list[Reflection]:
    """Have episodes spoken of.

    Args:
        window: What was played in the newest steps.
        guidance: Knows gold and settings.
        adviser: Writes, where a model does.

    Raises:
        ConfigError: No model is given.
        ModelError: The model gave a text about no episode at all.
    """
    cases = [*_cases(window, guidance)]
    match guidance.settings.reflections.source:
        case "template":
            found = [_made(case, guidance, _template(case, guidance)) for case in cases]
        case "file":
            found = _of_texts(cases, guidance)
        case "model":
            if adviser is None:
                raise ConfigError(
                    'signals.reflections.source is "model", and this run was given no model'
                )
            found = await _asked(cases, guidance, adviser)
    return [_checked(each, guidance.speech.renderer) for each in found]


def lessons_of_reflections(
    reflections: Sequence[Reflection], guidance: Guidance
) -> tuple[list[Lesson], Counter[str]]:
    """Make a lesson of each that is fit for it, and count the others by why they are not."""
    lessons: list[Lesson] = []
    dropped = Counter[str]()
    for each in reflections:
        if each.dropped is not None:
            dropped[each.dropped] += 1
            continue
        renderer, tokenizer = guidance.speech.renderer, guidance.speech.tokenizer
        try:
            shown = renderer.shown(each.messages, each.shown_tools)
        except RenderError:
            dropped["unrenderable"] += 1
            continue
        said = Segment(each.text + renderer.end, is_model=True)
        tokens = encode(Rendered((*shown.segments, said)), tokenizer)
        lessons.append(Lesson(tokens.ids, tokens.mask, each.kind))
    return lessons, dropped


def call_fault(text: str, tools: Sequence[JsonObject], renderer: Renderer) -> str | None:
    """Say why a text teaches nothing that is right; None where each call in it could be made.

    Args:
        text: With calls between its words.
        tools: OpenAI function documents of those that may be called.
        renderer: Of the policy.
    """
    read = renderer.dialect.read(text)
    if read.faults:
        return "unreadable_call"
    if not text.strip():
        return "empty"
    if renderer.end in text or renderer.controls.found(read.content):
        return "control_token"
    functions = [cast("JsonObject", each["function"]) for each in tools]
    schemas = {each["name"]: cast("JsonObject", each.get("parameters", {})) for each in functions}
    for call in read.calls:
        if call.name not in schemas:
            return "unknown_tool"
        if not compile_validator(schemas[call.name]).is_valid(parse_strict(call.arguments)):
            return "bad_arguments"
    return None


def _checked(reflection: Reflection, renderer: Renderer) -> Reflection:
    if reflection.dropped is not None:
        return reflection
    return replace(reflection, dropped=call_fault(reflection.text, reflection.tools, renderer))


def _cases(window: Sequence[Trajectory], guidance: Guidance) -> Iterator[_Case]:
    """Choose the episodes that are spoken of: of each group the first members that played alone."""
    groups: dict[int, list[Trajectory]] = {}
    for each in window:
        if played_alone(each) and QuestionKey.of(each) is not None:
            groups.setdefault(group_number(each), []).append(each)
    for _, members in sorted(groups.items()):
        ordered = sorted(members, key=lambda each: each.sample or 0)
        for each in ordered[: guidance.settings.reflections.members]:
            key = cast("QuestionKey", QuestionKey.of(each))
            turns = turns_of(each, guidance.gold[key])
            at = error_turn(each, turns)
            if turns:
                yield _Case("review", key, each, turns, at)
            if at is not None and turns[at].missing:
                yield _Case("analysis", key, each, turns, at)


def _made(case: _Case, guidance: Guidance, text: str, dropped: str | None = None) -> Reflection:
    is_question = guidance.settings.reflections.condition == "question"
    tools = case.trajectory.tools
    return Reflection(
        kind=case.kind,
        key=case.key,
        messages=_opening(case.trajectory) if is_question else _as_messages(case, guidance),
        shown_tools=tools if is_question else (),
        tools=tools,
        text=text,
        dropped=dropped,
    )


def _template(case: _Case, guidance: Guidance) -> str:
    dialect = guidance.speech.renderer.dialect
    if case.kind == "review":
        return template_review(case.turns).text(dialect)
    return template_analysis(case.turns, case.at or 0).text(dialect)


async def _asked(cases: Sequence[_Case], guidance: Guidance, adviser: Asks) -> list[Reflection]:
    dialect = guidance.speech.renderer.dialect
    failures: list[ModelError] = []

    async def ask(case: _Case) -> Reflection:
        form: type[Review | Analysis] = Review if case.kind == "review" else Analysis
        try:
            answer = await adviser.ask(case.prompt(guidance.gold), form)
        except ModelError as error:
            failures.append(error)
            return _made(case, guidance, "", f"model_{error.fault.value}")
        return _made(case, guidance, answer.text(dialect))

    found = await map_concurrently(ask, cases, limit=_ASKED_AT_ONCE)
    if failures and len(failures) == len(cases):
        raise failures[-1]
    return found


def _of_texts(cases: Sequence[_Case], guidance: Guidance) -> list[Reflection]:
    """Take what somebody wrote about the questions that were played; each row is one reflection."""
    newest = {(case.key, case.kind): case for case in cases}
    by_question = {case.key: case for case in cases}
    return [
        _made(
            replace(newest.get((row.key, kind), by_question[row.key]), kind=kind),
            guidance,
            row.text,
        )
        for row in guidance.texts
        if row.key in by_question
        for kind in [cast("TextKind", row.kind)]
    ]


def _opening(trajectory: Trajectory) -> tuple[Message, ...]:
    """Give what stands before the first turn."""
    messages = trajectory.messages
    places = (at for at, each in enumerate(messages) if isinstance(each, AssistantMessage))
    return messages[: next(places, len(messages))]


def _as_messages(case: _Case, guidance: Guidance) -> tuple[Message, ...]:
    made: list[Message] = []
    for each in case.prompt(guidance.gold).messages:
        kind = SystemMessage if each["role"] == "system" else UserMessage
        made.append(kind(content=str(each["content"])))
    return tuple(made)


def _question(trajectory: Trajectory) -> str:
    return next((m.content for m in trajectory.messages if isinstance(m, UserMessage)), "")


def _shown(turns: Sequence[PlayedTurn]) -> Iterator[JsonObject]:
    for number, turn in enumerate(turns, start=1):
        yield {
            "turn": number,
            "said": turn.message.content or "",
            "calls": [
                {"name": c.function.name, "arguments": c.function.arguments}
                for c in turn.message.tool_calls
            ],
            "results": [
                {"text": text[:2000], "is_error": note.is_error, "solved": [*(note.solved or ())]}
                for note, text in turn.results
            ],
        }
