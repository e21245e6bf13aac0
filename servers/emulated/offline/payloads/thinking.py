"""Tools that only take note of a thought: they say where in the line of thoughts it stands."""

from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.result_lists import Answer
from servers.emulated.verbs import Verb

__all__ = ["Thoughts", "thought_told"]

_THINKING: Final = frozenset(
    ("think", "thinking", "sequentialthinking", "thought", "reasoning", "sequential", "sequentialreasoning", "reflect",
     "scientificmethod", "metacognitivemonitoring", "mentalmodel", "debuggingapproach", "collaborativereasoning",
     "decisionframework", "structuredargumentation", "visualreasoning", "programmingparadigm", "designpattern")
)  # fmt: skip
_NUMBERED: Final = ("thought_number", "total_thoughts", "next_thought_needed")
_MAX_SHOWN: Final = 4000


class Thoughts:
    """The thoughts of one session."""

    def __init__(self) -> None:
        self.all: list[JsonObject] = []
        """In the order in which they came."""
        self.branches: list[str] = []
        """What the branches are called, in the order in which they began."""

    def forget(self, length: int, branches: int) -> None:
        """Keep so many thoughts and branches, and no later ones."""
        del self.all[length:], self.branches[branches:]


def thought_told(asked: Asked, thoughts: Thoughts) -> Answer | None:
    """What a call is told that has a thought taken note of; it is kept in ``thoughts``."""
    if asked.call.reading.verb in (Verb.LIST, Verb.SEARCH, Verb.DELETE) or not asked.has(_THINKING):
        return None
    if (
        asked.has(("get", "clear", "list", "stats", "ai"))
        or "prompt" in asked.given
        or not asked.call.arguments
    ):
        return None
    given = asked.given
    if all(key in given for key in _NUMBERED):
        return _numbered(asked, thoughts)
    if "thought" in given and len(given) < 4:
        thoughts.all.append({"thought": given["thought"]})
        return Answer(
            {
                "thought": given["thought"],
                "thoughtHistoryLength": len(thoughts.all),
                "status": "recorded",
            }
        )
    return _framed(asked)


def _numbered(asked: Asked, thoughts: Thoughts) -> Answer:
    number, total = asked.given["thought_number"], asked.given["total_thoughts"]
    if isinstance(number, int) and isinstance(total, int):
        total = max(number, total)
    branch = asked.text("branch_id")
    if branch is not None and asked.text("branch_from_thought") and branch not in thoughts.branches:
        thoughts.branches.append(branch)
    thoughts.all.append(dict(asked.call.arguments))
    branches: list[JsonValue] = [*thoughts.branches]
    return Answer(
        {
            "thoughtNumber": number,
            "totalThoughts": total,
            "nextThoughtNeeded": asked.given["next_thought_needed"],
            "branches": branches,
            "thoughtHistoryLength": len(thoughts.all),
        }
    )


def _framed(asked: Asked) -> Answer:
    """The members of a way of thinking given back, long lists with how many they hold."""
    told: JsonObject = {}
    for name, value in asked.call.arguments.items():
        if len(str(value)) <= _MAX_SHOWN:
            told[name] = value
    for name, value in asked.call.arguments.items():
        inner = asked.given.get(name.lower(), value)
        if isinstance(inner, list) and inner:
            told[f"{name.removesuffix('s')}Count"] = len(inner)
            told[f"has{name[:1].upper()}{name[1:]}"] = True
    return Answer({**told, "status": "success"})
