"""The agent that calls random tools with random valid arguments: what guessing is worth.

It reuses strings that it has seen, as a diligent guesser would; a bundle over which it solves much can be
solved without thought.
"""

from collections.abc import Generator, Iterable
from contextlib import contextmanager

import orjson

from astra_mcp.seeds import generator
from astra_mcp.trajectory import AgentInfo, StopReason
from astra_mcp.types import JsonValue, ToolSpec, canonical_json
from astra_mcp.values.arguments import ArgumentSource
from astra_mcp.values.scalars import NoValueError
from training.rollout.agent import AgentError, Answered, CallRequest, EpisodeView

__all__ = ["NUM_CALLS", "RandomAgent", "find_strings"]

NUM_CALLS = 32
MAX_KNOWN = 2000
"""Strings that the agent remembers, the latest ones."""


class RandomAgent:
    """Makes a fixed number of calls, one a turn; the episode's seed decides all of them."""

    info = AgentInfo(name="random")

    def __init__(self, num_calls: int = NUM_CALLS) -> None:
        self._num_calls = num_calls
        self._sources: dict[bytes, ArgumentSource] = {}

    async def play(self, episode: EpisodeView) -> StopReason:
        """Call random tools; each tool is equally likely.

        Raises:
            AgentError: A tool's schema allows no arguments that the library can make.
        """
        rng = generator(episode.seed, "random agent")
        with _as_failure_of_the_agent():
            sources = [(tool.name, self._source(tool)) for tool in episode.tools]
        known: dict[str, None] = {}
        for _ in range(self._num_calls if sources else 0):
            name, source = rng.choice(sources)
            with _as_failure_of_the_agent():
                arguments = source.draw(rng, list(known))
            answers = await episode.take_turn([CallRequest.of(name, arguments)])
            known = _remember(known, answers)
        episode.answer("I have called tools at random.")
        return StopReason.ANSWER

    def _source(self, tool: ToolSpec) -> ArgumentSource:
        """Find or build a tool's source; building costs more than many draws."""
        key = canonical_json(tool.input_schema)
        if key not in self._sources:
            self._sources[key] = ArgumentSource(tool.input_schema)
        return self._sources[key]


@contextmanager
def _as_failure_of_the_agent() -> Generator[None]:
    try:
        yield
    except NoValueError as error:
        raise AgentError(str(error)) from None


def _remember(known: dict[str, None], answers: tuple[Answered, ...]) -> dict[str, None]:
    """Add the strings of results; what tools say of errors is no knowledge."""
    for answer in answers:
        if answer.result is not None and not answer.result.is_error:
            known |= dict.fromkeys(find_strings(answer.text))
    return dict.fromkeys(list(known)[-MAX_KNOWN:])


def find_strings(text: str) -> list[str]:
    """Find the first 500 strings of a result: those of its JSON, names of fields included, else its words."""
    try:
        found = list(_strings_in(orjson.loads(text)))
    except orjson.JSONDecodeError:
        found = text.split()
    return list(dict.fromkeys(found))[:500]


def _strings_in(value: JsonValue) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _strings_in(item)
    elif isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _strings_in(item)
