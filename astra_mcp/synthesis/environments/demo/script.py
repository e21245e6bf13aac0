"""Finds the answer to a request among those that were written by hand, by its content alone.

Nothing is remembered between requests, so a run that was killed is answered as it would have been.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from hashlib import sha256
from importlib.resources import files
from typing import Final, Literal, cast

from pydantic import Field

from astra_mcp.environments.judging.judgement import Question
from astra_mcp.llm.prompt import load_prompt
from astra_mcp.synthesis.environments.questions.instance import Drafts
from astra_mcp.synthesis.environments.questions.source import Source, make_source
from astra_mcp.types import FrozenModel, JsonObject, JsonValue

__all__ = ["MODEL", "DemoSource", "Expected", "Script", "Scripted", "load_script"]

MODEL: Final = "answers-written-by-hand"
"""Stands in the place of a model's name, also in the provenance of what the demo makes."""
_JUDGING = "astra_mcp.environments.judging.prompts"
_NAME = re.compile(r'^Prompt "(\w+)", version')
_NUM_DIGITS = 8
_GOOD = "Written by hand: this holds."


class Scripted(FrozenModel):
    """One answer, and what it answers."""

    prompt: str
    step: int | None = None
    """Id of the sub-question that the request is about; None fits all."""
    when: str = ""
    """Has to stand in the user's message, such as a part of a complaint."""
    answer: JsonObject | None = None
    """``code`` may be a list of lines."""
    raw: str | None = None
    """In its place: a text that is no JSON, said only the first time that a content is asked."""


class Expected(FrozenModel):
    """What comes of a source."""

    published: str | None = None
    """Name of the environment."""
    stage: str | None = None
    """Where it is rejected, in its place."""
    reason: str | None = None
    complaints: tuple[str, ...] = ()
    """Parts of what the attempts were refused for on the way of a published one, in any order."""


class DemoSource(FrozenModel):
    """One source, the answers about it, and what has to come of them."""

    about: str
    domain: str = ""
    corpus: str = ""
    question: str | None = None
    language: Literal["en", "zh"]
    expected: Expected
    answers: tuple[Scripted, ...] = Field(min_length=1)

    @cached_property
    def source(self) -> Source:
        """What synthesis is given."""
        return make_source(
            domain=self.domain,
            corpus=self.corpus,
            question=self.question,
            language=self.language,
        )

    @cached_property
    def marks(self) -> frozenset[str]:
        """The questions of its drafts, as they stand in the documents of prompts."""
        drafts = [
            draft
            for scripted in self.answers
            if scripted.prompt == "decompose" and scripted.answer is not None
            for draft in Drafts.model_validate(scripted.answer).instances
        ]
        asked = [d.main_question for d in drafts]
        asked += [sub.question for d in drafts for sub in d.sub_questions]
        return frozenset(json.dumps(text, ensure_ascii=False) for text in asked if text)

    def is_meant(self, prompt: str, user: str) -> bool:
        """Whether a request is about this source."""
        if prompt == "decompose":
            told = (self.domain, self.corpus, self.question)
            return all(f">\n{text}\n</" in user for text in told if text)
        return any(mark in user for mark in self.marks)


class Script:
    """All sources of the demo with their answers."""

    def __init__(self, sources: Sequence[DemoSource], version: str) -> None:
        self.sources = tuple(sources)
        """In the order in which they are synthesized from."""
        self.version = version
        """Of all that was written."""

    def answer(self, system: str, user: str, turn: int) -> str:
        """Answer a request.

        Args:
            system: Its system message, which names the prompt.
            user: Its last message.
            turn: How often this content was answered before.

        Raises:
            LookupError: Nothing was written for it.
        """
        prompt = _prompt_of(system)
        step = _step_of(user)
        for source in self.sources:
            if not source.is_meant(prompt, user):
                continue
            fitting = [
                scripted
                for scripted in source.answers
                if scripted.prompt == prompt
                and scripted.step in (None, step)
                and scripted.when in user
                and (scripted.raw is None or turn == 0)
            ]
            if fitting:
                return _text_of(fitting[-1])
            break
        if prompt not in _DEFAULTS:
            raise LookupError(f"no answer was written by hand for {prompt!r}, step {step}")
        return _DEFAULTS[prompt](user)


def load_script() -> Script:
    """Read the files of the package, in the order of their names."""
    folder = files(__package__) / "answers"
    texts = [f.read_text(encoding="utf-8") for f in sorted(folder.iterdir(), key=lambda f: f.name)]
    version = sha256("\0".join(texts).encode()).hexdigest()[:_NUM_DIGITS]
    return Script([DemoSource.model_validate_json(text) for text in texts], version)


def _text_of(scripted: Scripted) -> str:
    if scripted.answer is None:
        return scripted.raw or ""
    code = scripted.answer.get("code")
    lines = cast("list[str]", code) if isinstance(code, list) else None
    changed = {} if lines is None else {"code": "\n".join(lines) + "\n"}
    return json.dumps({**scripted.answer, **changed}, ensure_ascii=False)


def _prompt_of(system: str) -> str:
    named = _NAME.match(system)
    return named[1] if named else _judging_prompts()[system]


@cache
def _judging_prompts() -> Mapping[str, str]:
    """The prompts of the acceptance's second tier, by their system messages, which do not name them."""
    prompts = {q.value: load_prompt(_JUDGING, q.value).render(document={}) for q in Question}
    return {str(prompt.messages[0]["content"]): name for name, prompt in prompts.items()}


def _step_of(user: str) -> int | None:
    """The sub-question that a request is about: of its step, else the first that its tool answers."""
    for tag in ("new_step", "step", "tool"):
        document = _document(user, tag)
        steps = document.get("steps") if document else None
        told = steps[0] if isinstance(steps, list) and steps else document
        if isinstance(told, dict) and isinstance(told.get("id"), int):
            return cast("int", told["id"])
    return None


def _document(user: str, tag: str) -> JsonObject | None:
    found = re.search(rf"^<{tag}>\n(.*?)\n</{tag}>$", user, re.DOTALL | re.MULTILINE)
    value: JsonValue = json.loads(found[1]) if found else None
    return value if isinstance(value, dict) else None


def _ids(user: str) -> Iterator[int]:
    document = _document(user, "document") or {}
    steps = document.get("steps") or document.get("sub_questions") or []
    yield from (cast("int", s["id"]) for s in cast("list[JsonObject]", steps))


def _verdicts(user: str) -> str:
    verdicts = [{"id": id, "reason": _GOOD, "holds": True} for id in _ids(user)]
    return json.dumps({"verdicts": verdicts})


def _needs(user: str) -> str:
    steps = [{"id": id, "reason": _GOOD, "needs_tool": True} for id in _ids(user)]
    return json.dumps({"steps": steps})


def _same_document(user: str) -> str:
    return json.dumps(_document(user, "tool"), ensure_ascii=False)


_DEFAULTS: Final[Mapping[str, Callable[[str], str]]] = {
    "necessity": _needs,
    **dict.fromkeys(("dependencies", "atomicity", "sequence"), _verdicts),
    **dict.fromkeys(
        ("completeness", "derivation"), lambda _: json.dumps({"reason": _GOOD, "holds": True})
    ),
    **dict.fromkeys(
        (question.value for question in Question),
        lambda _: json.dumps({"reason": _GOOD, "verdict": "yes"}),
    ),
    "scaling": _same_document,
    "groups": lambda _: json.dumps({"groups": []}),
    "attack": lambda _: "I have no idea left.",
}
