"""The agent of a policy: an episode's turns, tokens first, and their text for the gateway.

What the policy wrote is parsed to be played, and never rendered again: the next turn is sampled after the
same tokens, with what came back appended.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from astra_mcp.llm.usage import Usage, note_usage
from astra_mcp.seeds import derive_seed
from astra_mcp.trajectory import AgentInfo, StopReason
from astra_mcp.types import JsonObject
from training.render.renderer import ParsedTurn, Rendered, Renderer
from training.render.tokens import Tokenizer, encode
from training.rl.core.policy import Sampled
from training.rl.core.token_log import TokenLog
from training.rollout.agent import UNREADABLE, AgentError, CallRequest, EpisodeView

__all__ = ["PolicyAgent", "TurnWriter"]


class TurnWriter(Protocol):
    """Writes one turn of the player with that number."""

    async def __call__(self, player: int, context: Sequence[int], seed: int) -> Sampled:
        """Give what the policy wrote after the context."""
        ...


class PolicyAgent:
    """Lets a policy play until it calls no tool; one object plays all episodes of a table."""

    def __init__(
        self,
        renderer: Renderer,
        tokenizer: Tokenizer,
        *,
        logs: dict[int, tuple[int, TokenLog]],
        write: TurnWriter,
        leave: Callable[[int], None],
        max_context: int,
        max_tokens: int,
    ) -> None:
        """Seat the players.

        Args:
            renderer: Text of what is shown, and what a turn's text means.
            tokenizer: Of the policy.
            logs: By the seed of an episode's agent, the player's number and what its tokens are kept in.
            write: Writes a turn.
            leave: Told of each player that ended.
            max_context: Tokens of an episode, those of the turn to come included.
            max_tokens: Of one turn.
        """
        self.info = AgentInfo(name="policy", model="policy")
        self._renderer = renderer
        self._tokenizer = tokenizer
        self._logs = logs
        self._write = write
        self._leave = leave
        self._max_context = max_context
        self._max_tokens = max_tokens
        self._suffix = tokenizer.encode(renderer.sampling_only)

    async def play(self, episode: EpisodeView) -> StopReason:
        """Play one episode; TOKENS where its tokens leave no room for a further turn.

        Raises:
            AgentError: They leave none for the first: the policy never played, so it deserves no reward of 0.
        """
        player, log = self._logs[episode.seed]
        try:
            return await self._play(episode, player, log)
        finally:
            self._leave(player)

    async def _play(self, episode: EpisodeView, player: int, log: TokenLog) -> StopReason:
        tools: list[JsonObject] = [tool.as_openai() for tool in episode.tools]
        self._show(log, self._renderer.shown(episode.messages, tools))
        if not self._has_room(log):
            num_shown = len(log.ids) + len(self._suffix)
            raise AgentError(
                f"the prompt has {num_shown} tokens, which leaves no room for a turn of"
                f" {self._max_tokens} within {self._max_context}"
            )
        while self._has_room(log):
            turn = await self._turn(player, log, derive_seed(episode.seed, "turn", len(log.turns)))
            if not log.turns[-1].is_ended:
                episode.answer(turn.content, reasoning=turn.reasoning)
                return StopReason.LENGTH
            before = len(episode.messages) + 1
            requests = _requests(turn)
            if requests:
                await episode.take_turn(requests, content=turn.content, reasoning=turn.reasoning)
            else:
                episode.answer(turn.content, reasoning=turn.reasoning)
                if await episode.hear() is None:
                    return StopReason.ANSWER
            said = episode.messages
            self._show(log, self._renderer.shown_after(said[:before], said[before:]))
        return StopReason.TOKENS

    def _has_room(self, log: TokenLog) -> bool:
        return len(log.ids) + len(self._suffix) + self._max_tokens <= self._max_context

    async def _turn(self, player: int, log: TokenLog, seed: int) -> ParsedTurn:
        context = (*log.ids, *self._suffix)
        sampled = await self._write(player, context, seed)
        log.write(sampled)
        note_usage(Usage(calls=1, prompt_tokens=len(context), completion_tokens=len(sampled.ids)))
        return self._renderer.parse(self._tokenizer.decode(sampled.ids))

    def _show(self, log: TokenLog, shown: Rendered) -> None:
        """Append what the policy is shown, without what it is shown for sampling alone."""
        log.show(encode(shown, self._tokenizer).ids)


def _requests(turn: ParsedTurn) -> list[CallRequest]:
    """The calls of a turn; one that could not be read is a call too, and is answered by what is wrong."""
    calls = [CallRequest(name=call.name, arguments=call.arguments) for call in turn.calls]
    faults = [CallRequest(name=UNREADABLE, arguments="", fault=fault) for fault in turn.faults]
    return calls + faults
