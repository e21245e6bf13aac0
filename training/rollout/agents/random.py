"""The agent that calls random tools with random valid arguments: what guessing is worth.

It reuses strings that it has seen, as a diligent guesser would; a bundle over which it solves much can be
solved without thought.
"""

from collections.abc import Generator
from contextlib import contextmanager

from astra_mcp.seeds import generator
from astra_mcp.trajectory import AgentInfo, StopReason
from astra_mcp.types import ToolSpec, canonical_json
from astra_mcp.values.arguments import ArgumentSource
from astra_mcp.values.scalars import NoValueError
from training.rollout.agent import AgentError, CallRequest, EpisodeView
from training.rollout.agents.seen_texts import find_strings, remembered

__all__ = ["NUM_CALLS", "RandomAgent"]

NUM_CALLS = 32


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
            known = remembered(known, answers, find_strings)
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
