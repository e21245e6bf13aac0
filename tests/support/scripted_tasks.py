"""A scripted model for task synthesis, rollouts and rewards; half of what it proposes is flawed on purpose.

It answers by rules from what stands in the prompts, and keeps of each flaw which stage has to refuse it for
which reason. Judges read what they are shown, and know nothing of what the writer meant.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from astra_mcp.completions import Answer, AnswerCall, CompletionRequest
from astra_mcp.types import JsonObject

from scripted_calls import (
    Step,
    droppable,
    filled,
    first_text,
    is_late,
    is_told,
    produces,
    proposed_chain,
    required,
    spoilt,
    telling,
    tools_of,
    without_first,
    written_query,
    written_text,
)
from scripted_words import (
    MARKS,
    TELLING,
    Doc,
    chance,
    told_part,
)

__all__ = ["CHAIN_FLAWS", "VARIATION_FLAWS", "Planted", "TaskModel", "chain_key"]

CHAIN_FLAWS = (
    "invalid_chain", "names_a_tool", "other_language", "unsupported_argument", "unsupported_argument",
    "incoherent", "invented_argument", "invalid_arguments", "hidden_character", "low_question_quality",
    "low_scenario_realism", "low_tool_necessity",
)  # fmt: skip
VARIATION_FLAWS = (
    "unchanged", "no_query", "other_language", "names_a_tool", "lost_detail", "other_intent",
    "hidden_character",
)  # fmt: skip
_PROPOSAL_FLAWS = ("unknown_tool", "too_short", "too_long", "no_chain", "no_task")
_SERVER_TASK_FLAWS = (
    "unknown_tool", "no_tool", "no_query", "names_a_tool", "other_language", "near_duplicate",
    "low_question_quality",
)  # fmt: skip
_NAME = re.compile(r'Prompt "(\w+)", version')
_TAG = re.compile(r"<(\w+)>\n(.*?)\n</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Planted:
    """A flaw, and the reasons for which it may be refused: the first is its own."""

    flaw: str
    reasons: tuple[str, ...]


def chain_key(steps: Sequence[Step]) -> str:
    """Name a chain by its steps."""
    return "chain " + json.dumps(steps)


@dataclass
class TaskModel:
    """A policy for the completions server."""

    planted: dict[str, Planted] = field(default_factory=dict[str, Planted])
    """By item (``item NAME``), by chain (:func:`chain_key`), and by variation (``AXIS of QUERY``)."""
    plans: dict[str, list[Step]] = field(default_factory=dict[str, list[Step]])
    """The calls that the writer of a query had in mind."""
    flaws: dict[str, str] = field(default_factory=dict[str, str])
    """Of queries, for whoever fills in the arguments of their calls."""
    seed: int = 0
    """Another one flaws others."""
    num_answers: int = 0

    def __call__(self, request: CompletionRequest) -> Answer:
        """Answer one request: of a stage, of a judge of trajectories, or of an agent with tools."""
        self.num_answers += 1
        system = str(request.messages[0].get("content"))
        named = _NAME.search(system)
        if named is None:
            return self._turn(request.messages, cast("list[Doc]", request.body.get("tools") or []))
        parts: Doc = {tag: _read(text) for tag, text in _TAG.findall(request.text)}
        play: Callable[[Doc, str], JsonObject] = getattr(self, f"_{named[1]}", self._grade)
        return Answer(content=play(parts, f"{system}\n{request.text}"))

    # --- proposals and tasks ----------------------------------------------------------------------

    def _propose(self, parts: Doc, text: str) -> JsonObject:
        server: Doc = parts["server"]
        number = int(_found(r"Write task (\d+) of", text))
        tools: list[Doc] = server["tools"]
        drawn = chance(self.seed, "propose", server["server"], number)
        chain = proposed_chain(tools, drawn)
        flaw = _PROPOSAL_FLAWS[drawn.randrange(len(_PROPOSAL_FLAWS))] if number % 2 == 0 else ""
        if len(chain) < 2:
            flaw = flaw or "too_short"
        answer: Doc = {
            "is_possible": True,
            "reason": "so",
            "task": "Do it.",
            "tools": [*chain],
        }
        match flaw:
            case "unknown_tool":
                answer["tools"] = [chain[0], f"{chain[0]}_of_all_things"]
            case "too_short":
                answer["tools"] = [*chain[:1]]
            case "too_long":
                answer["tools"] = [chain[0]] * 6
            case "no_chain":
                answer |= {"is_possible": False, "task": "", "tools": []}
            case "no_task":
                answer["task"] = " "
            case _:
                pass
        if flaw:
            self._plant(f"item {server['server']}/{number}", flaw)
        return answer

    def _server_tasks(self, parts: Doc, text: str) -> JsonObject:
        server: Doc = parts["documents"][0]
        language = _language(_found(r"tasks in (.*?), whatever", text))
        tasks: list[Any] = []
        for number in range(1, int(_found(r"Write (\d+) tasks", text)) + 1):
            drawn = chance(self.seed, "server task", server["server"], number)
            tool = drawn.choice(server["tools"])
            flaw = drawn.choice(_SERVER_TASK_FLAWS) if number % 2 == 0 else ""
            flaw = "other_language" if language == "other" else flaw
            query = written_query(language, [*telling([tool])], server["server"], number)
            names: list[str] = [tool["name"]]
            match flaw:
                case "unknown_tool":
                    names = ["summon_the_moon"]
                case "no_tool":
                    names = []
                case "no_query":
                    query = ""
                case "near_duplicate":
                    query, names = f"{tasks[0]['query']} Soon.", tasks[0]["tools"]
                case _:
                    query = spoilt(query, flaw, language, tool["name"])
            if flaw:
                self._plant(f"item {server['server']}/server-{number}", flaw)
            self.plans[query] = [(server["server"], name) for name in names]
            tasks.append({"query": query, "tools": [*names]})
        return {"tasks": tasks}

    def _chain_task(self, parts: Doc, text: str) -> JsonObject:
        steps = [(s["server"], s["tool"]) for s in parts["chain"]["steps"]]
        language = _language(_found(r"in the language (.*?), and", text))
        tools = tools_of(parts["servers"], steps)
        drawn = chance(self.seed, "write", steps)
        told = [*telling(tools)]
        joined = {(j["to_step"], j["argument"]) for j in parts["chain"]["joins"]}
        told = [(n, name, value) for n, name, value in told if (n + 1, name) not in joined]
        flaw = drawn.choice(CHAIN_FLAWS) if drawn.random() < 0.5 else ""
        flaw = "wrong_order" if is_late(tools) else self._possible(flaw, told, tools)
        flaw = "other_language" if language == "other" else flaw
        if flaw == "unsupported_argument":
            told = without_first(told, tools)
        query = written_query(language, told, "chain", steps)
        query = spoilt(query, flaw, language, steps[0][1])
        if flaw:
            self._plant(chain_key(steps), flaw)
        if flaw == "invalid_chain":
            return {"reason": "so", "valid": False, "query": ""}
        self.plans[query] = steps
        self.flaws[query] = flaw
        return {"reason": "so", "valid": True, "query": query}

    def _possible(self, flaw: str, told: Sequence[tuple[int, str, Any]], tools: list[Doc]) -> str:
        """The flaw, or another one where the chain has no place for it."""
        match flaw:
            case "unsupported_argument" if not droppable(told, tools):
                return "incoherent"
            case "invented_argument" if first_text(tools[0]) is None:
                return "incoherent"
            case "invalid_arguments" if not required(tools[0]):
                return "incoherent"
            case _:
                return flaw

    def _step_arguments(self, parts: Doc, _: str) -> JsonObject:
        query, tool = str(parts["query"]), parts["tool"]["tools"][0]
        results = [_json(call["result"]) for call in parts["earlier"]]
        arguments, missing = filled(tool, query, results, {*parts["given"]})
        if not parts["earlier"]:
            match self.flaws.get(query):
                case "invented_argument":
                    arguments[str(first_text(tool))] = "quenby marsh 99"
                case "invalid_arguments":
                    arguments.pop(next(iter(required(tool))), None)
                    missing = []
                case _:
                    pass
        return {"arguments": arguments, "sources": {}, "missing": [*missing]}

    # --- judges ------------------------------------------------------------------------------------

    def _dependency(self, parts: Doc, _: str) -> JsonObject:
        steps = [(s["server"], s["tool"]) for s in parts["chain"]["steps"]]
        tools = tools_of(parts["servers"], steps)
        verdicts: list[Any] = []
        for each in cast("list[Doc]", parts["arguments"]):
            place, name = int(each["step"]) - 1, str(each["argument"])
            is_supported = is_told(tools[place], name, str(parts["query"])) or any(
                produces(tool, name) for tool in tools[:place]
            )
            verdicts.append({"id": each["id"], "reason": "read", "is_supported": is_supported})
        return {"verdicts": verdicts}

    def _coherence(self, parts: Doc, _: str) -> JsonObject:
        return {"reason": "read", "is_coherent": not _has("incoherent", str(parts["query"]))}

    def _intent(self, parts: Doc, _: str) -> JsonObject:
        variation = str(parts["variation"])
        keeps = told_part(str(parts["original"])) == told_part(variation)
        return {"reason": "read", "keeps_intent": keeps and not _has("other_intent", variation)}

    def _score(self, parts: Doc, _: str) -> JsonObject:
        names = ("question_quality", "scenario_realism", "tool_necessity")
        scores: JsonObject = {n: 2 if _has(f"low_{n}", str(parts["request"])) else 5 for n in names}
        return {"reason": "read", **scores, "selection_difficulty": 3, "selection_uniqueness": 4}

    def _grade(self, parts: Doc, text: str) -> JsonObject:
        """Of trajectories: those of every fifth user are wrong throughout."""
        shown = next(iter(parts.values()))
        first = json.dumps(shown, ensure_ascii=False)
        asked = _found(r'"content": "(.*?[^\\])"', first) or _found(
            r'"question": "(.*?[^\\])"', first
        )
        is_bad = chance(self.seed, "grade", asked).random() < 0.2
        numbers = _found(r"calls were necessary: ([\d, ]+)\?", text)
        if numbers:
            verdicts = [
                {"call": int(n), "reason": "read", "necessary": not is_bad}
                for n in numbers.split(",")
            ]
            return {"verdicts": cast("Any", verdicts)}
        return {"reason": "read", "verdict": "wrong" if is_bad else "right"}

    # --- variations --------------------------------------------------------------------------------

    def _diversity(self, parts: Doc, _: str) -> JsonObject:
        return self._varied("diversity", str(parts["request"]))

    def _complexity(self, parts: Doc, _: str) -> JsonObject:
        return self._varied("complexity", str(parts["request"]))

    def _persona(self, parts: Doc, _: str) -> JsonObject:
        return self._varied("persona", str(parts["request"]))

    def _varied(self, axis: str, request: str) -> JsonObject:
        language = "zh" if TELLING["zh"][0] in request else "en"
        drawn = chance(self.seed, "vary", axis, request)
        flaw = drawn.choice(VARIATION_FLAWS) if drawn.random() < 0.3 else ""
        told = told_part(request)
        if flaw == "lost_detail" and not told:
            flaw = "other_intent"
        kept = told.partition("; ")[2] if flaw == "lost_detail" else told
        query = written_text(language, kept, axis, request)
        match flaw:
            case "unchanged":
                query = request
            case "no_query":
                query = " "
            case _:
                steps = self.plans.get(request) or [("", "summon_the_moon")]
                query = spoilt(query, flaw, language, steps[0][1])
        if flaw:
            self._plant(f"{axis} of {request}", flaw)
        self.plans.setdefault(query, self.plans.get(request, []))
        return {"query": query}

    # --- agents ------------------------------------------------------------------------------------

    def _turn(self, messages: Sequence[Doc], tools: Sequence[Doc]) -> Answer:
        """Make the next call of those that the writer had in mind, or tell the end."""
        query = next(str(m["content"]) for m in messages if m["role"] == "user")
        results = [_json(str(m["content"])) for m in messages if m["role"] == "tool"]
        steps = self.plans.get(query, [])
        if len(results) >= len(steps):
            last = json.dumps(results[-1], ensure_ascii=False)[:200] if results else "nothing"
            words = f"It is done; the last thing that I found is {last}"
            return Answer(content=f"都办好了,结果在这里:{last}" if _is_chinese(query) else words)
        wanted = steps[len(results)][1]
        shown = [tool["function"] for tool in tools]
        named = [f for f in shown if f["name"] == wanted] or [
            f for f in shown if str(f["name"]).endswith(wanted)
        ]
        if not named:
            return Answer(content="There is no such tool.")
        arguments, _ = filled(named[0], query, results, set())
        return Answer(calls=(AnswerCall(name=named[0]["name"], arguments=arguments),))

    def _plant(self, key: str, flaw: str) -> None:
        more = {
            "unsupported_argument": ("nothing_to_bind",),
            "wrong_order": ("unsupported_argument",),
            "lost_detail": ("other_intent",),
            "names_a_tool": (),
        }
        self.planted[key] = Planted(flaw, (flaw, *more.get(flaw, ())))


def _language(named: str) -> str:
    if named in ("en", "English", "that of the servers' documents"):
        return "en"
    return "zh" if named.startswith(("zh", "Chinese")) else "other"


def _is_chinese(text: str) -> bool:
    return TELLING["zh"][0] in text


def _found(pattern: str, text: str) -> str:
    found = re.search(pattern, text, re.DOTALL)
    return found[1] if found else ""


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read(text: str) -> Any:
    return _json(text) if text[:1] in ("{", "[") else text


def _has(reason: str, text: str) -> bool:
    return any(mark in text for mark in MARKS[reason].values())
