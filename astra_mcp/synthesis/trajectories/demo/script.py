"""Finds the answer to a request among those that were written by hand, by its content alone."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from astra_mcp.synthesis.trajectories.demo.places import filled, filled_text
from astra_mcp.synthesis.trajectories.demo.words import (
    Said,
    ServerWords,
    Turn,
    WrittenTask,
    load_words,
)
from astra_mcp.synthesis.trajectories.task import Axis
from astra_mcp.types import JsonObject

__all__ = ["TaskScript", "load_task_script"]

_NAME: Final = re.compile(r'^Prompt "(\w+)", version')
_NUMBER: Final = re.compile(r"^Write task (\d+) of")
_ASKED_CALLS: Final = re.compile(
    r"^Which of these calls were necessary: ([\d, ]+)\?$", re.MULTILINE
)
_VARYING: Final = {axis.value: axis for axis in Axis if axis is not Axis.ORIGINAL}
_BY_HAND: Final = "Written by hand: this holds."
_NOBODY: Final = "Written by hand: nobody wants these calls, in this order, and nothing else."


class TaskScript:
    """All servers of the demo with the words about them; remembers no request."""

    def __init__(self, servers: Sequence[ServerWords], version: str) -> None:
        self.servers = tuple(servers)
        self.version = version
        """Of all that was written."""
        self._answering: Mapping[str, Callable[[str], JsonObject]] = {
            "propose": self._propose,
            "server_tasks": self._server_tasks,
            "chain_task": self._chain_task,
            "dependency": self._dependency,
            "coherence": self._coherence,
            "step_arguments": self._step_arguments,
            "intent": self._intent,
            "score": self._score,
            "conciseness": self._conciseness,
        }

    def answer(self, system: str, user: str) -> str:
        """Answer a prompt of synthesis, or of the judge of trajectories.

        Args:
            system: Its system message, which names the prompt.
            user: Its last message.

        Raises:
            LookupError: Nothing was written for it.
        """
        named = _NAME.match(system)
        prompt = named[1] if named else ""
        if prompt in self._answering:
            answer = self._answering[prompt](user)
        elif prompt in _VARYING:
            answer = self._vary(_VARYING[prompt], user)
        else:
            answer = self._grade(prompt, user)
        return json.dumps(answer, ensure_ascii=False)

    def turn(self, messages: Sequence[JsonObject]) -> Turn:
        """Give the agent's next message, with the values of the results so far.

        Raises:
            LookupError: Nobody asked what was written here, or there is no further message.
        """
        asked = next(str(m.get("content")) for m in messages if m["role"] == "user")
        task, said = self._said(asked)
        turns = said.turns or task.agent_turns
        place = sum(m["role"] == "assistant" for m in messages)
        if place >= len(turns):
            raise LookupError(f"no message {place + 1} of the agent was written for {asked!r}")
        results = [str(m.get("content")) for m in messages if m["role"] == "tool"]
        turn = turns[place]
        calls = [
            c.model_copy(update={"arguments": filled(c.arguments, results)}) for c in turn.calls
        ]
        answer = None if turn.answer is None else filled_text(turn.answer, results)
        return Turn(calls=tuple(calls), answer=answer)

    # --- chains ------------------------------------------------------------------------------------

    def _propose(self, user: str) -> JsonObject:
        words = self._words(_shown(user, "server")["server"])
        number = _NUMBER.match(user)
        if number is None or int(number[1]) > len(words.proposals):
            raise LookupError(f"no such proposal was written of {words.server!r}")
        proposal = words.proposals[int(number[1]) - 1]
        return proposal.model_dump(mode="json", exclude={"expected"})

    def _server_tasks(self, user: str) -> JsonObject:
        words = self._words(_shown(user, "documents")[0]["server"])
        return {"tasks": [{"query": t.query, "tools": [*t.tools]} for t in words.server_tasks]}

    def _chain_task(self, user: str) -> JsonObject:
        words = self._words(_shown(user, "servers")[0]["server"])
        tools = tuple(step["tool"] for step in _shown(user, "chain")["steps"])
        for task in words.chain_tasks:
            if task.tools == tools:
                return {"reason": task.reason, "valid": task.is_valid, "query": task.query}
        return {"reason": _NOBODY, "valid": False, "query": ""}

    def _dependency(self, user: str) -> JsonObject:
        task, _ = self._said(_text(user, "query"))
        ids = [argument["id"] for argument in _shown(user, "arguments")]
        return {
            "verdicts": [
                {
                    "id": id,
                    "reason": task.unsupported.get(id, _BY_HAND),
                    "is_supported": id not in task.unsupported,
                }
                for id in ids
            ]
        }

    def _coherence(self, user: str) -> JsonObject:
        task, _ = self._said(_text(user, "query"))
        return {"reason": task.incoherent or _BY_HAND, "is_coherent": task.incoherent is None}

    def _step_arguments(self, user: str) -> JsonObject:
        task, _ = self._said(_text(user, "query"))
        earlier = _shown(user, "earlier")
        number, is_first = len(earlier) + 1, "<complaint>\n" not in user
        written = task.arguments[number - 1]
        arguments = task.first_arguments.get(number, written) if is_first else written
        return {"arguments": filled(arguments, [call["result"] for call in earlier])}

    # --- tasks -------------------------------------------------------------------------------------

    def _vary(self, axis: Axis, user: str) -> JsonObject:
        task, _ = self._said(_text(user, "request"))
        if axis not in task.variations:
            raise LookupError(f"no {axis} was written of {task.query!r}")
        return {"query": task.variations[axis].query}

    def _intent(self, user: str) -> JsonObject:
        _, said = self._said(_text(user, "variation"))
        return {"reason": said.lost_intent or _BY_HAND, "keeps_intent": said.lost_intent is None}

    def _score(self, user: str) -> JsonObject:
        _, said = self._said(_text(user, "request"))
        return said.scores.model_dump(mode="json")

    # --- trajectories ------------------------------------------------------------------------------

    def _grade(self, prompt: str, user: str) -> JsonObject:
        for tag in ("trajectory", "history"):
            if f"<{tag}>\n" in user:
                _, said = self._said(_question(_shown(user, tag)))
                break
        else:
            _, said = self._said(_shown(user, "exchange")["question"])
        verdict = said.grades.get(prompt, "right")
        return {"reason": f"Written by hand: {verdict}.", "verdict": verdict}

    def _conciseness(self, user: str) -> JsonObject:
        _, said = self._said(_question(_shown(user, "session")["trajectory"]))
        asked = _ASKED_CALLS.search(user)
        numbers = [int(number) for number in asked[1].split(",")] if asked else []
        return {
            "verdicts": [
                {"call": n, "reason": "Written by hand.", "necessary": n not in said.needless}
                for n in numbers
            ]
        }

    # --- what was written --------------------------------------------------------------------------

    def _words(self, server: str) -> ServerWords:
        for words in self.servers:
            if words.server == server:
                return words
        raise LookupError(f"nothing was written of the server {server!r}")

    def _said(self, query: str) -> tuple[WrittenTask, Said]:
        for words in self.servers:
            if query in words.by_query:
                return words.by_query[query]
        raise LookupError(f"nothing was written of the request {query!r}")


def load_task_script() -> TaskScript:
    """Read the words of the package."""
    return TaskScript(*load_words())


def _question(messages: list[JsonObject]) -> str:
    return next(str(message["content"]) for message in messages if message["role"] == "user")


def _text(user: str, tag: str) -> str:
    found = re.search(rf"^<{tag}>\n(.*?)\n</{tag}>$", user, re.DOTALL | re.MULTILINE)
    if found is None:
        raise LookupError(f"the request shows no {tag}")
    return found[1]


def _shown(user: str, tag: str) -> Any:
    return json.loads(_text(user, tag))
