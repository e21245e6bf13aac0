"""Episodes of a written policy through a small gateway, and users who speak to it from a script."""

from collections.abc import Callable, Sequence
from typing import Any

from astra_mcp.trajectory import UserMessage
from gateway.api.client import GatewayClient
from gateway.api.wire import SourceEnvironment
from training.rl.core.playing import PolicyTrajectory, play_policy
from training.rollout.plan import Rollout
from training.rollout.users.user import Goal, Spoken, UserError, UserStop

from scripted_policy import CharacterTokenizer, ScriptedPolicy, tiny_renderer

__all__ = ["ScriptedUsers", "play", "rollouts", "turns"]

_RENDERER, _TOKENIZER = tiny_renderer(), CharacterTokenizer()


def turns(*script: str) -> Callable[[str], str]:
    """Play one turn after the other, by how many the context has."""
    return lambda context: script[context.count("<|im_start|>assistant") - 1]


def rollouts(count: int, name: str) -> list[Rollout]:
    """Plan so many different episodes of an environment."""
    source = SourceEnvironment(kind="environment", name=name)
    return [Rollout(source=source, root_seed=1, index=index) for index in range(count)]


async def play(
    gateway: GatewayClient, policy: ScriptedPolicy, planned: Sequence[Rollout], **options: Any
) -> list[PolicyTrajectory]:
    """Play them; see :func:`training.rl.core.playing.play_policy`."""
    usual: dict[str, Any] = {"temperature": 1.0, "concurrency": 8}
    return await play_policy(gateway, policy, _RENDERER, _TOKENIZER, planned, **usual | options)


class ScriptedUsers:
    """Users who say one line after the other; they stand for a model that speaks."""

    def __init__(self, *lines: str, fails: bool = False) -> None:
        """Take what each of them says after the request.

        Args:
            lines: One for each answer.
            fails: After the last of them a user fails, and is not done.
        """
        self._lines = lines
        self._fails = fails
        self.met: list[tuple[str, int]] = []
        """Of each user, the request and the seed."""

    def meet(self, goal: Goal, *, seed: int) -> "_ScriptedUser":
        """Make a user; all say the same."""
        self.met.append((goal.request, seed))
        return _ScriptedUser((goal.request, *self._lines), self._fails)


class _ScriptedUser:
    name, model, persona = "scripted", None, None

    def __init__(self, lines: Sequence[str], fails: bool) -> None:
        self._lines = lines
        self._fails = fails

    async def next(self, messages: Sequence[Spoken]) -> str | UserStop:
        num_said = sum(isinstance(message, UserMessage) for message in messages)
        if num_said < len(self._lines):
            return self._lines[num_said]
        if self._fails:
            raise UserError("the user has left")
        return UserStop(reason="all is said")
