"""Agents that know how tools are called and not what they are for: what that alone is worth.

One repeats what it saw, one looks around with short texts, one goes through what the schemas list. Each
makes at most 64 calls an episode, one a turn, and its seed decides all of them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice, zip_longest
from math import prod
from random import Random
from typing import Any, Final

import jsonschema_rs
import orjson

from astra_mcp.schemas import compile_validator
from astra_mcp.seeds import generator
from astra_mcp.trajectory import AgentInfo, StopReason, UserMessage
from astra_mcp.types import JsonObject, JsonValue, ToolSpec, canonical_json
from astra_mcp.values.guesses import ChooseText, guess_arguments, resolve
from astra_mcp.values.neighbours import known_values
from training.rollout.agent import CallRequest, EpisodeView
from training.rollout.agents.seen_texts import find_texts, remembered

__all__ = ["NUM_CALLS", "EchoAgent", "EnumerateAgent", "ExploreAgent"]

NUM_CALLS: Final = 64
_SHORT = ("", "a", "e", "1", "0", "s", "的", "市")
_LOOKING = frozenset({"list", "search", "find", "get", "browse", "query", "lookup", "show", "read"})
_ATTEMPTS = 20
"""Draws for each call that must not have been made yet."""
_LEFT_OUT: Final[JsonValue] = {}
"""Stands, as itself, for an argument that is not sent."""
_Schema = Mapping[str, Any]


class EchoAgent:
    """Puts into every free text what it saw: the question, results, and the words of both.

    A tool that answers with its arguments, or takes any of them, gives itself away.
    """

    info = AgentInfo(name="echo")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Call the tools in turn, in an order that the seed decides."""
        rng = generator(episode.seed, "echo agent")
        asked = [m.content for m in episode.messages if isinstance(m, UserMessage)]
        known = dict.fromkeys(text for question in asked for text in find_texts(question))
        tools = rng.sample(episode.tools, len(episode.tools))
        for number in range(NUM_CALLS if tools else 0):
            tool = tools[number % len(tools)]
            arguments = guess_arguments(tool.input_schema, text=_choosing(rng, list(known)))
            answers = await episode.take_turn([CallRequest.of(tool.name, arguments)])
            known = remembered(known, answers, find_texts)
        episode.answer("I have repeated what I saw.")
        return StopReason.ANSWER


class ExploreAgent:
    """Lists and searches with short texts, and looks nothing up that it found.

    It makes no call twice, and leaves out what is optional.
    """

    info = AgentInfo(name="explore")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Call the tools that look for something, by their names; where there is none, all."""
        rng = generator(episode.seed, "explore agent")
        looking = [tool for tool in episode.tools if _LOOKING & set(_words(tool.name))]
        for tool, arguments in _alternating(
            [_searches(tool, rng) for tool in looking or episode.tools]
        ):
            await episode.take_turn([CallRequest.of(tool.name, arguments)])
        episode.answer("I have looked around.")
        return StopReason.ANSWER


class EnumerateAgent:
    """Goes through what schemas list: every tool with members of its enumerations and with its defaults.

    Everything else is what the schema suggests. Where a tool has too many combinations, the seed chooses.
    """

    info = AgentInfo(name="enumerate")

    async def play(self, episode: EpisodeView) -> StopReason:
        """Call the tools in turn, each with another combination every time."""
        rng = generator(episode.seed, "enumerate agent")
        tools = rng.sample(episode.tools, len(episode.tools))
        for tool, arguments in _alternating([_combinations(tool, rng) for tool in tools]):
            await episode.take_turn([CallRequest.of(tool.name, arguments)])
        episode.answer("I have gone through the lists.")
        return StopReason.ANSWER


_Calls = Iterator[tuple[ToolSpec, JsonObject]]


def _alternating(tools: Sequence[_Calls]) -> _Calls:
    """Take a call of each tool in turn, up to the limit."""
    rounds = zip_longest(*tools)
    return islice((call for each in rounds for call in each if call is not None), NUM_CALLS)


def _searches(tool: ToolSpec, rng: Random) -> _Calls:
    made: set[bytes] = set()
    for _ in range(NUM_CALLS * _ATTEMPTS):
        chosen = _choosing(rng, _SHORT)
        arguments = guess_arguments(tool.input_schema, text=chosen, only_required=True)
        for name, members in _listed(tool.input_schema).items():
            if name in arguments:
                arguments[name] = rng.choice(members)
        key = canonical_json(arguments)
        if key not in made:
            made.add(key)
            yield tool, arguments


def _combinations(tool: ToolSpec, rng: Random) -> _Calls:
    """Vary the listed arguments; an optional one whose default is not listed is also left out."""
    usual = guess_arguments(tool.input_schema)
    choices: dict[str, Sequence[JsonValue]] = {}
    for name, members in _listed(tool.input_schema).items():
        is_sent = name in tool.input_schema.get("required", ()) or usual.get(name) in members
        choices[name] = members if is_sent else (_LEFT_OUT, *members)
    total = prod(len(members) for members in choices.values())
    numbers: dict[int, None] = {}
    while len(numbers) < min(total, NUM_CALLS):
        numbers[rng.randrange(total)] = None
    for number in numbers:
        rest, arguments = number, dict(usual)
        for name, members in choices.items():
            rest, place = divmod(rest, len(members))
            arguments[name] = members[place]
        yield tool, {n: v for n, v in arguments.items() if v is not _LEFT_OUT}


def _listed(schema: _Schema) -> dict[str, tuple[JsonValue, ...]]:
    """The arguments of which a schema lists the values, with these; examples are no list."""
    found: dict[str, tuple[JsonValue, ...]] = {}
    for name, part in schema.get("properties", {}).items():
        spec = resolve(part, schema)
        found[name] = known_values({k: v for k, v in spec.items() if k != "examples"})
    return {name: members for name, members in found.items() if members}


def _choosing(rng: Random, texts: Sequence[str]) -> ChooseText:
    """Draw one of the texts that a schema allows."""

    def choose(schema: _Schema) -> str | None:
        is_valid = _validator(canonical_json(schema)).is_valid
        fitting = [text for text in texts if is_valid(text)]
        return rng.choice(fitting) if fitting else None

    return choose


@lru_cache(maxsize=4096)
def _validator(schema: bytes) -> jsonschema_rs.Validator:
    return compile_validator(orjson.loads(schema))


def _words(name: str) -> list[str]:
    return re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower())
