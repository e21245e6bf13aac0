"""The topology gate: what code knows of a decomposition, before any further call of a model is paid.

Dependencies alone decide hop levels, which sub-questions are parallel, and the type (ASTRA sec. 2.2.1); what
the model says of them itself is kept as a signal.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from astra_mcp.answers import answer_fault, contains_answer, tokenize
from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.synthesis.environments.questions.formulas import derivation_fault
from astra_mcp.synthesis.environments.questions.instance import (
    Draft,
    SubQuestion,
    levels_of,
    shape_of,
)
from astra_mcp.synthesis.numerals import says, spelled
from astra_mcp.synthesis.texts import Fault, text_faults

__all__ = ["Wanted", "signals_of", "topology_faults"]

_MAX_SUB_QUESTIONS = 20
"""Source: ASTRA appendix A.1.2."""
_MAX_TITLE = 200
"""Twice what a bundle keeps of it."""
_MAX_ANSWER = 1000
"""An answer is a name, a code, a date or an amount, and is looked for in every result."""
_MAX_TEXT = 4000
"""A page or two. Every further prompt repeats the questions, and every episode begins with the main one."""
_VALUE = re.compile(r"\d.")
"""In a token that names a record. One digit at its end counts, ranks and numbers steps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What was asked for."""

    hops: tuple[int, int] = (1, 20)
    """Least and most of the deepest hop level: H of ASTRA sec. 2.2.1."""
    types: tuple[ScenarioType, ...] = tuple(ScenarioType)
    is_strict: bool = False
    """Every answer has to stand in the corpus."""


def topology_faults(draft: Draft, wanted: Wanted, corpus: str) -> Iterator[Fault]:
    """Find all faults; the first is what the draft is refused for.

    Args:
        draft: As the model wrote it.
        wanted: What it was asked for.
        corpus: What it was made from; empty where there was none.
    """
    found = [*_field_faults(draft), *_graph_faults(draft)]
    yield from found
    if not found:
        yield from _shape_faults(draft, wanted)
        yield from _answer_faults(draft, corpus if wanted.is_strict else None)
        yield from _grounding_faults(draft, corpus)
        fault = derivation_fault(draft)
        if fault is not None:
            yield Fault("underivable", fault)


def signals_of(draft: Draft) -> Iterator[str]:
    """Where the model's own words on levels and flags are others than the dependencies'."""
    levels = levels_of(draft)
    width = Counter(levels.values())
    for sub in draft.sub_questions:
        level = levels.get(sub.id)
        if level is None:
            continue
        if sub.hop_level not in (None, level):
            yield f"hop_level of {sub.id} is said to be {sub.hop_level}, and is {level}"
        if sub.is_parallel not in (None, width[level] > 1):
            yield f"is_parallel of {sub.id} is said to be {sub.is_parallel}".lower()


def _field_faults(draft: Draft) -> Iterator[Fault]:
    for name in ("title", "main_question", "final_answer"):
        if not str(getattr(draft, name)).strip():
            yield Fault("missing_field", f"{name} is empty")
    if not 1 <= len(draft.sub_questions) <= _MAX_SUB_QUESTIONS:
        detail = (
            f"there are {len(draft.sub_questions)} sub-questions, not 1 to {_MAX_SUB_QUESTIONS}"
        )
        yield Fault("missing_field", detail)
    for sub in draft.sub_questions:
        if not sub.question.strip():
            yield Fault("missing_field", f"the question of sub-question {sub.id} is empty")
        if not sub.answer.strip():
            yield Fault("empty_answer", f"sub-question {sub.id} has no answer")
    yield from text_faults("title", draft.title, _MAX_TITLE, white=" ")
    yield from text_faults("main_question", draft.main_question, _MAX_TEXT)
    yield from text_faults("final_answer", draft.final_answer, _MAX_TEXT)
    for sub in draft.sub_questions:
        yield from text_faults(f"the question of {sub.id}", sub.question, _MAX_TEXT)
        yield from text_faults(f"the answer of {sub.id}", sub.answer, _MAX_ANSWER)


def _graph_faults(draft: Draft) -> Iterator[Fault]:
    ids = [sub.id for sub in draft.sub_questions]
    if min(ids, default=1) < 1 or len(set(ids)) < len(ids):
        yield Fault("bad_ids", f"the ids are {ids}; each is a number from 1 of its own")
    for sub in draft.sub_questions:
        unknown = sorted(set(sub.dependencies) - set(ids))
        if unknown:
            yield Fault("unknown_dependency", f"sub-question {sub.id} depends on {unknown}")
        if len(set(sub.dependencies)) < len(sub.dependencies):
            yield Fault("bad_ids", f"sub-question {sub.id} names a dependency twice")
    are_known = all(set(ids).issuperset(sub.dependencies) for sub in draft.sub_questions)
    stuck = sorted(set(ids) - levels_of(draft).keys())
    if stuck and are_known:
        yield Fault("cycle", f"sub-questions {stuck} depend on one another in a circle")


def _shape_faults(draft: Draft, wanted: Wanted) -> Iterator[Fault]:
    hops, shape = max(levels_of(draft).values()), shape_of(draft)
    least, most = wanted.hops
    if not least <= hops <= most:
        yield Fault("hops_out_of_range", f"it takes {hops} hops; {least} to {most} were asked for")
    if draft.scenario_type.strip().casefold() != shape.value.casefold():
        said = f"it is said to be {draft.scenario_type!r}"
        yield Fault("type_mismatch", f"{said}, and its dependencies make it {shape.value}")
    elif shape not in wanted.types:
        yield Fault("other_type", f"it is {shape.value}, which was not asked for")


def _answer_faults(draft: Draft, strict_corpus: str | None) -> Iterator[Fault]:
    needed = {id for sub in draft.sub_questions for id in sub.dependencies}
    for sub in draft.sub_questions:
        fault = answer_fault(sub.answer)
        if fault:
            yield Fault("unspecific_answer", f"sub-question {sub.id}: {fault}")
        if says(sub.question, sub.answer):
            yield Fault("answer_in_question", f"{sub.answer!r} stands in its own question {sub.id}")
        # Whoever compares what the question names answers with one of them, and needs no tool for it.
        is_conclusion = sub.dependencies and sub.id not in needed
        if not is_conclusion and says(draft.main_question, sub.answer):
            detail = f"answer {sub.id}, {sub.answer!r}, stands in the main question"
            yield Fault("answer_in_question", detail)
        if strict_corpus and not contains_answer(strict_corpus, sub.answer):
            yield Fault("not_in_corpus", f"answer {sub.id}, {sub.answer!r}, is not in the corpus")


def _grounding_faults(draft: Draft, corpus: str) -> Iterator[Fault]:
    """What names a record in a sub-question is told by the main question, or by what it depends on."""
    subs = {sub.id: sub for sub in draft.sub_questions}
    for sub in draft.sub_questions:
        told = {*tokenize(draft.main_question), *_answers_below(sub, subs)}
        for value in dict.fromkeys(tokenize(sub.question)):
            if _VALUE.search(value) and not any(map(told.issuperset, spelled(value))):
                detail = (
                    f"sub-question {sub.id} speaks of {value!r}, which neither the main question nor an"
                    " answer that it depends on tells"
                )
                is_in_corpus = value in tokenize(corpus)
                yield Fault("ungrounded_value", detail + (_IN_CORPUS if is_in_corpus else ""))


_IN_CORPUS = "; it stands in the corpus, which the agent does not see"


def _answers_below(sub: SubQuestion, subs: Mapping[int, SubQuestion]) -> Iterator[str]:
    seen: set[int] = set()
    waiting = [*sub.dependencies]
    while waiting:
        id = waiting.pop()
        if id not in seen:
            seen.add(id)
            yield from tokenize(subs[id].answer)
            waiting.extend(subs[id].dependencies)
