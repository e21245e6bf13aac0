"""The agent of a policy: an episode's turns, tokens first, and their text for the gateway.

What the policy wrote is parsed to be played, and never rendered again: the next turn is sampled after the
same tokens, with what came back appended.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from astra_mcp.llm.usage import Usage, note_usage
from astra_mcp.seeds import derive_seed
from astra_mcp.trajectory import AgentInfo, Message, StopReason
from astra_mcp.types import JsonObject
from training.render.dialects.turns import RenderError
from training.render.renderer import ParsedTurn, Rendered, Renderer
from training.render.tokens import Tokenizer, encode
from training.rl.core.policy import PolicyLimits, Sampled
from training.rl.core.token_log import TokenLog
from training.rollout.agent import UNREADABLE, AgentError, CallRequest, EpisodeView

__all__ = ["Guide", "PolicyAgent", "TurnWriter"]


class TurnWriter(Protocol):
    """Writes one turn of the player with that number."""

    async def __call__(self, player: int, context: Sequence[int], seed: int) -> Sampled:
        """Give what the policy wrote after the context."""
        ...


class Guide(Protocol):
    """Helps the player of one episode, beside what the episode shows; its tokens keep no trace of it."""

    def prompt(
        self, messages: Sequence[Message], tools: Sequence[JsonObject]
    ) -> Sequence[int] | None:
        """Give what turns are sampled behind in the place of the first prompt; None: that prompt itself.

        Raises:
            RenderError: It cannot be rendered.
        """
        ...

    def turn(self, number: int) -> Sampled | None:
        """Give the turn of that number, from 0, in the place of the policy's; None: the policy writes it.

        Raises:
            AgentError: There is no such turn.
        """
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
        limits: PolicyLimits,
        guides: Mapping[int, Guide] | None = None,
    ) -> None:
        """Seat the players.

        Args:
            renderer: Text of what is shown, and what a turn's text means.
            tokenizer: Of the policy.
            logs: By the seed of an episode's agent, the player's number and what its tokens are kept in.
            write: Writes a turn.
            leave: Told of each player that ended.
            limits: Of tokens; those of turns and time are not its business.
            guides: Of the players, by their numbers, who are helped.
        """
        self.info = AgentInfo(name="policy", model="policy")
        self._renderer = renderer
        self._tokenizer = tokenizer
        self._logs = logs
        self._write = write
        self._leave = leave
        self._limits = limits
        self._guides = guides or {}
        self._suffix = tokenizer.encode(renderer.sampling_only)

    async def play(self, episode: EpisodeView) -> StopReason:
        """Play one episode; TOKENS where its tokens leave no room for a further turn.

        What came back for a turn that no other follows is in the trajectory, and not in the tokens.

        Raises:
            AgentError: The prompt is too long, so that the policy never played and deserves no reward of 0;
                or something cannot be shown, by no fault of the policy.
        """
        player, log = self._logs[episode.seed]
        try:
            return await self._play(episode, player, log)
        except RenderError as error:
            raise AgentError(f"an episode cannot be shown to the policy: {error}") from error
        finally:
            self._leave(player)

    async def _play(self, episode: EpisodeView, player: int, log: TokenLog) -> StopReason:
        tools: list[JsonObject] = [tool.as_openai() for tool in episode.tools]
        log.show(self._tokens(self._renderer.shown(episode.messages, tools)))
        guide = self._guides.get(player)
        prompt = guide.prompt(episode.messages, tools) if guide else None
        seat = _Seat(player, log, guide, len(log.ids), tuple(log.ids if prompt is None else prompt))
        self._check_prompt(seat)
        while True:
            turn = await self._turn(seat, derive_seed(episode.seed, "turn", len(log.turns)))
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
            shown = self._tokens(self._renderer.shown_after(said[:before], said[before:]))
            if not self._has_room(seat, len(shown)):
                return StopReason.TOKENS
            log.show(shown)

    def _check_prompt(self, seat: "_Seat") -> None:
        num_shown, limits = len(seat.prompt) + len(self._suffix), self._limits
        if num_shown > limits.prompt_tokens:
            raise AgentError(
                f"the prompt has {num_shown} tokens, and may have {limits.prompt_tokens}"
            )
        if not self._has_room(seat):
            raise AgentError(
                f"the prompt has {num_shown} tokens, which leaves no room for a turn of"
                f" {limits.turn_tokens} within {limits.context_tokens}"
            )

    def _has_room(self, seat: "_Seat", num_further: int = 0) -> bool:
        """Whether a whole turn fits behind what is there, and so many further tokens."""
        limits = self._limits
        response = len(seat.log.ids) - seat.num_shown + num_further + len(self._suffix)
        response += limits.turn_tokens
        most = min(limits.context_tokens - len(seat.prompt), limits.response_tokens)
        return response <= most

    async def _turn(self, seat: "_Seat", seed: int) -> ParsedTurn:
        context = (*seat.prompt, *seat.log.ids[seat.num_shown :], *self._suffix)
        given = seat.guide.turn(len(seat.log.turns)) if seat.guide else None
        if given is None:
            sampled = await self._write(seat.player, context, seed)
            note_usage(
                Usage(calls=1, prompt_tokens=len(context), completion_tokens=len(sampled.ids))
            )
        else:
            sampled = given
            self._check_length(given)
        seat.log.write(sampled)
        return self._renderer.parse(self._tokenizer.decode(sampled.ids))

    def _check_length(self, given: Sampled) -> None:
        if len(given.ids) > self._limits.turn_tokens:
            raise AgentError(
                f"a turn that is given has {len(given.ids)} tokens, and may have"
                f" {self._limits.turn_tokens}"
            )

    def _tokens(self, shown: Rendered) -> tuple[int, ...]:
        """Give what the policy is shown, without what it is shown for sampling alone."""
        return encode(shown, self._tokenizer).ids


@dataclass(frozen=True, slots=True)
class _Seat:
    """A player at work."""

    player: int
    log: TokenLog
    guide: Guide | None
    num_shown: int
    """Tokens of the first prompt, as the log keeps it."""
    prompt: tuple[int, ...]
    """What turns are sampled behind in its place: the same, but for a guide."""


def _requests(turn: ParsedTurn) -> list[CallRequest]:
    """The calls of a turn; one that could not be read is a call too, and is answered by what is wrong."""
    calls = [CallRequest(name=call.name, arguments=call.arguments) for call in turn.calls]
    faults = [CallRequest(name=UNREADABLE, arguments="", fault=fault) for fault in turn.faults]
    return calls + faults
