"""Scripted models for synthesis: a good one that plays families' generators, lazy ones, and a random one.

A source's domain says which: ``good 17`` is the 17th environment that the families make, ``lazy 17`` is the
same question with tools that cheat, ``random 17`` a decomposition of the right form that means nothing. Later
requests are told apart by the main question that they hold.
"""

import json
import os
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import anyio

from astra_mcp.completions import Answer, CompletionRequest
from astra_mcp.environments.bundle import Bundle, GoldCall, ScenarioType
from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan
from astra_mcp.types import JsonObject, JsonValue, canonical_json

__all__ = ["LAZY_KINDS", "SynthesisModel", "answer_in_time", "source_rows"]

GOOD_FAMILIES = (
    "archives",
    "catalogue",
    "directory",
    "dosages",
    "journeys",
    "measurements",
    "paths",
)
"""Look-ups: their tools share no state, so that each may be a module of its own."""
LAZY_KINDS = ("constant", "gold_only", "echo", "table")
_NAME = re.compile(r'Prompt "(\w+)", version')
_TAG = re.compile(r"<(\w+)>\n(.*?)\n</\1>", re.DOTALL)


async def answer_in_time(request: CompletionRequest) -> Answer:
    """Answer like a model that thinks; how long, and of how many environments, variables say."""
    await anyio.sleep(float(os.environ["SYNTHESIS_LATENCY"]))
    return _known(int(os.environ["SYNTHESIS_COUNT"]))(request)


@cache
def _known(count: int) -> "SynthesisModel":
    return SynthesisModel(count)


def source_rows(kind: str, count: int, first: int = 0) -> list[JsonObject]:
    """Rows of a file of sources for a kind of model, or for ``mixed``."""
    kinds = ("good", "lazy", "random") if kind == "mixed" else (kind,)
    numbers = range(first, first + count)
    return [{"domain": f"{kinds[n % len(kinds)]} {n}", "knowledge_corpus": ""} for n in numbers]


@dataclass
class SynthesisModel:
    """A policy for the completions server."""

    count: int
    """How many environments of families it knows."""
    seed: int = 0
    families: Sequence[str] = GOOD_FAMILIES
    bundles: list[Bundle] = field(init=False)

    def __post_init__(self) -> None:
        order = Order(
            families=find_families([*self.families]),
            count=self.count,
            seed=self.seed,
            sub_tasks=(1, 4),
            records=(20, 40),
        )
        self.bundles = [*map(_drawn, plan(order))]
        self._lazy = {b.document.question: n for n, b in enumerate(self.bundles)}
        self._kinds: dict[str, str] = {}

    def __call__(self, request: CompletionRequest) -> Answer:
        """Answer one request of the pipeline, or of the judge of bundles."""
        system = str(request.messages[0]["content"])
        named = _NAME.search(system)
        if named is None:
            return Answer(content={"reason": "as it should be", "verdict": "yes"})
        parts = {tag: _read(text) for tag, text in _TAG.findall(request.text)}
        play: Callable[[dict[str, Any]], JsonObject] = getattr(self, f"_{named[1]}")
        return Answer(content=play(parts))

    def _decompose(self, parts: dict[str, Any]) -> JsonObject:
        kind, number = str(parts["domain"]).split()
        if kind == "random":
            return {"instances": [_random_instance(int(number))]}
        bundle = self.bundles[int(number) % len(self.bundles)]
        question = bundle.document.question
        if kind == "lazy":
            question = f"{question} ({number})"
            self._kinds[question] = LAZY_KINDS[int(number) % len(LAZY_KINDS)]
            self._lazy[question] = self._lazy[bundle.document.question]
        return {"instances": [_instance(bundle, question)]}

    def _necessity(self, parts: dict[str, Any]) -> JsonObject:
        document = parts["document"]
        bundle = self._bundle(document["main_question"])
        tools = {s.id: s.tool for s in bundle.document.sub_tasks} if bundle else {}
        steps: list[JsonValue] = [
            {"id": s["id"], "reason": "so", "needs_tool": tools.get(s["id"], "x") is not None}
            for s in document["steps"]
        ]
        return {"steps": steps}

    def _verdicts(self, parts: dict[str, Any]) -> JsonObject:
        subs = parts["document"]["sub_questions"]
        verdicts: list[JsonValue] = [{"id": s["id"], "reason": "so", "holds": True} for s in subs]
        return {"verdicts": verdicts}

    _dependencies = _atomicity = _sequence = _verdicts

    def _completeness(self, parts: dict[str, Any]) -> JsonObject:
        return {"reason": "so", "holds": True}

    _derivation = _completeness

    def _tool_document(self, parts: dict[str, Any]) -> JsonObject:
        step = parts["step"]
        bundle = self._bundle(step["main_question"])
        if bundle is None:
            return _random_document(step)
        call = _call_of(bundle, step["id"])
        tool = next(t for t in bundle.document.tools if t.name == call.tool)
        roles = {
            name: argument.role.value
            for gold in bundle.document.gold
            if gold.tool == call.tool
            for name, argument in gold.arguments.items()
        }
        told: JsonObject = {
            **dict.fromkeys(tool.input_schema.get("properties", {}), "modifying"),
            **roles,
        }
        return {
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.input_schema,
            "roles": told,
        }

    def _scaling(self, parts: dict[str, Any]) -> JsonObject:
        return dict(parts["tool"])

    def _call(self, parts: dict[str, Any]) -> JsonObject:
        step = parts["step"]
        bundle = self._bundle(step["main_question"])
        if bundle is None:
            return {"arguments": {"record": "alpha"}, "sources": {}}
        return _call_document(_call_of(bundle, step["id"]))

    def _implementation(self, parts: dict[str, Any]) -> JsonObject:
        step = parts["step"]
        bundle, kind = self._bundle(step["main_question"]), self._kind(step["main_question"])
        document = parts["tool"]
        if bundle is None:
            kind = LAZY_KINDS[len(str(step["question"])) % len(LAZY_KINDS)]
        if kind is not None or bundle is None:
            code = _lazy_code(kind or "constant", document, step, parts["call"]["arguments"])
            return {"code": code, "neighbours": {}}
        call = _call_of(bundle, step["id"])
        return {"code": bundle.code, "neighbours": _neighbours(call)}

    def _repair(self, parts: dict[str, Any]) -> JsonObject:
        tool = parts["tool"]
        kept = ("document", "code", "calls")
        return {name: tool[name] for name in kept}

    def _groups(self, parts: dict[str, Any]) -> JsonObject:
        groups: dict[str, list[int]] = {}
        for step in parts["steps"]:
            groups.setdefault(step["tool"], []).append(step["id"])
        found: list[JsonValue] = [[*ids] for ids in groups.values() if len(ids) > 1]
        return {"groups": found}

    def _insertion(self, parts: dict[str, Any]) -> JsonObject:
        step, tool = parts["new_step"], parts["tool"]
        bundle, kind = self._bundle(step["main_question"]), self._kind(step["main_question"])
        if bundle is None or kind is not None:
            known = tool["calls"][0]
            return {
                "input_schema": tool["document"]["input_schema"],
                "code": tool["code"],
                "arguments": known["arguments"],
            }
        call = _call_of(bundle, step["id"])
        return {
            "input_schema": tool["document"]["input_schema"],
            "code": bundle.code,
            "neighbours": _neighbours(call),
            **_call_document(call),
        }

    def _bundle(self, question: str) -> Bundle | None:
        number = self._lazy.get(question)
        return None if number is None else self.bundles[number]

    def _kind(self, question: str) -> str | None:
        return self._kinds.get(question)


def _drawn(planned: Any) -> Bundle:
    for attempt in range(8):
        try:
            return make_planned(planned.again(attempt) if attempt else planned)
        except DrawError:
            continue
    msg = f"no world for {planned.name}"
    raise DrawError(msg)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _instance(bundle: Bundle, question: str) -> JsonObject:
    document = bundle.document
    return {
        "title": document.title,
        "domain": document.domain,
        "scenario_type": document.scenario_type,
        "main_question": question,
        "final_answer": document.answer,
        "derivation": {"formula": "other", "sub_questions": []},
        "sub_questions": [
            {
                "id": sub.id,
                "question": sub.question,
                "answer": sub.answer,
                "dependencies": [*sub.dependencies],
                "hop_level": sub.hop_level,
                "is_parallel": sub.is_parallel,
            }
            for sub in document.sub_tasks
        ],
    }


def _call_of(bundle: Bundle, sub: int) -> GoldCall:
    return next(call for call in bundle.document.gold if sub in call.solves)


def _call_document(call: GoldCall) -> JsonObject:
    sources: JsonObject = {
        n: [*a.derived_from] for n, a in call.arguments.items() if a.derived_from
    }
    return {"arguments": call.values, "sources": sources}


def _neighbours(call: GoldCall) -> JsonObject:
    return {name: [*a.neighbours] for name, a in call.arguments.items() if a.neighbours}


def _random_instance(number: int) -> JsonObject:
    """A decomposition that is sound in form, of words that mean nothing."""
    chance = random.Random(number)  # noqa: S311 - no secret
    count = chance.randint(1, 4)
    words = [
        f"{chance.choice('bdgklmnprst')}{chance.choice('aeiou')}{n}x{number}q" for n in range(9)
    ]
    subs: list[JsonObject] = [
        {
            "id": n,
            "question": f"Which {words[n]} has the {words[n + 1]}?",
            "answer": f"{words[n + 2]}-{chance.randint(100, 999)}",
            "dependencies": [n - 1] if n > 1 else [],
        }
        for n in range(1, count + 1)
    ]
    kind = ScenarioType.SINGLE_HOP if count == 1 else ScenarioType.MULTI_HOP
    asked = " ".join(words)
    return {
        "title": f"{words[0]} {words[1]}",
        "domain": chance.choice(["travel", "weather", "sports"]),
        "scenario_type": kind,
        "main_question": f"What about {asked}?",
        "final_answer": f"It is {subs[-1]['answer']}.",
        "derivation": {"formula": "join", "sub_questions": [count]},
        "sub_questions": [*subs],
    }


def _random_document(step: JsonObject) -> JsonObject:
    number = step["id"]
    return {
        "name": f"find_{number}",
        "description": "Finds a record.",
        "input_schema": {
            "type": "object",
            "properties": {"record": {"type": "string", "description": "Name of the record"}},
            "required": ["record"],
            "additionalProperties": False,
        },
        "roles": {"record": "identifying"},
    }


def _lazy_code(kind: str, document: JsonObject, step: JsonObject, call: JsonObject) -> str:
    """A module that returns the answer and knows nothing."""
    schema: Any = document["input_schema"]
    required = {*schema.get("required", [])}
    names = sorted(schema.get("properties", {}), key=lambda name: name not in required)
    defaults = {n: schema["properties"][n].get("default") for n in names}
    taken = ", ".join(n if n in required else f"{n}={defaults[n]!r}" for n in names)
    answer = step["answer"]
    given = "{" + ", ".join(f"{n!r}: {n}" for n in names) + "}"
    bodies = {
        "constant": f"    return {{'result': {answer!r}}}",
        "gold_only": f"    asked = {given}\n    if all(asked[n] == v for n, v in {call!r}.items()):\n"
        f"        return {{'result': {answer!r}}}\n"
        "    raise ValueError('unknown record: name one that exists')",
        "echo": f"    return {{'asked': str({given}), 'result': {answer!r}}}",
        "table": f"    return {{'rows': [{{'name': 'a', 'value': {answer!r}}}, "
        "{'name': 'b', 'value': 'other'}]}",
    }
    digest = canonical_json(answer).hex()[:6]
    return f"_SALT = {digest!r}\n\n\ndef {document['name']}({taken}):\n{bodies[kind]}\n"
