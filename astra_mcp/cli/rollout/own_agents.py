"""Agents of one's own: a class that ``--agent module:Class`` names, found, looked over and made."""

import importlib
import inspect
import re
import sys
import traceback
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, cast

from astra_mcp.errors import ConfigError, EpisodeEndedError, ModelError, TransportError
from astra_mcp.llm.chat import Chat
from astra_mcp.trajectory import AgentInfo, StopReason
from astra_mcp.types import json_fault
from training.rollout.agent import Agent, AgentError, EpisodeView
from training.rollout.limits import LimitReachedError, UntoldTokensError
from training.rollout.users.user import UserError

__all__ = ["OwnAgent", "find_own_agent", "names_own_agent"]

_FORM = re.compile(r"(?P<module>[^\W\d]\w*(?:\.[^\W\d]\w*)*):(?P<class>[A-Z]\w*)")
"""A module, and a class by its capital: names of models have a colon too, such as ``llama3:latest``."""
_OWN_REASONS = (StopReason.ANSWER, StopReason.TURNS, StopReason.LENGTH)
"""Others are not an agent's to say."""
_OWN_FAULTS = (Exception, SystemExit)
"""Whatever its code raises is its fault, and none of the run's; an interrupt is the user's."""
_TOLD = (
    AgentError,
    EpisodeEndedError,
    LimitReachedError,
    ModelError,
    TransportError,
    UntoldTokensError,
    UserError,
)
"""What the product raises in ``play``; the run knows each."""
_RULE = "see Agents of your own in docs/rollouts.md"


class OwnAgent(NamedTuple):
    """A class that is an agent, as far as can be seen before one is made."""

    name: str
    make: Callable[..., Any]
    wants_chat: bool
    """Its constructor takes the model."""

    def open(self, chat: Chat | None) -> Agent:
        """Make one.

        Raises:
            ConfigError: It cannot be made, or says nothing of itself.
        """
        try:
            agent = self.make(chat) if self.wants_chat else self.make()
        except _OWN_FAULTS as error:
            raise _fault(self.name, f"cannot be made: {_words(error)}") from error
        info = getattr(agent, "info", None)
        if not isinstance(info, AgentInfo):
            raise _fault(
                self.name, "has no `info`, an astra_mcp.trajectory.AgentInfo with its name"
            )
        if json_fault(f"{info.name}{info.model}") is not None:
            raise _fault(self.name, "has half a surrogate pair in its `info`")
        return _Attributed(cast("Agent", agent))


class _Attributed:
    """An agent of one's own, whose mistakes fail the episode in which they happen, and no other."""

    def __init__(self, agent: Agent) -> None:
        self.info = agent.info
        self._agent = agent

    async def play(self, episode: EpisodeView) -> StopReason:
        """Play one episode.

        Raises:
            AgentError: The agent made a mistake; says where. Other errors are those of any agent.
        """
        try:
            stop = await self._agent.play(episode)
        except _TOLD:
            raise
        except _OWN_FAULTS as error:
            at = traceback.extract_tb(error.__traceback__)[-1]
            words = f"{_words(error)} (line {at.lineno} of {Path(at.filename).name})"
            raise AgentError(f"the agent {self.info.name!r} broke: {words}") from error
        if stop not in _OWN_REASONS:
            msg = f"the agent {self.info.name!r} gave {stop!r} for the reason why it stopped"
            raise AgentError(
                f"{msg}: it may be StopReason.{', '.join(r.name for r in _OWN_REASONS)}"
            )
        return StopReason(stop)


def names_own_agent(name: str) -> bool:
    """Tell a class from a built-in agent and from the name of a model."""
    return _FORM.fullmatch(name) is not None


def find_own_agent(name: str) -> OwnAgent:
    """Import the class; the folder that the command runs in is looked into last.

    Raises:
        ConfigError: There is no such module or class, or it is no agent; says why.
    """
    named = _FORM.fullmatch(name)
    if named is None:
        raise _fault(name, "is not of the form module:Class")
    module = _import(name, named["module"])
    made = getattr(module, named["class"], None)
    if made is None:
        close = get_close_matches(named["class"], vars(module), n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise _fault(name, f"names no class of {module.__name__}{hint}")
    if not inspect.isclass(made):
        raise _fault(name, f"is no class but {type(made).__name__}")
    play = getattr(made, "play", None)
    if not inspect.iscoroutinefunction(play) or not _takes(play, 2):
        raise _fault(name, "has no method `async def play(self, episode)`")
    return OwnAgent(name, made, _wants_chat(name, made))


def _import(name: str, module: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise _fault(
                name,
                f"names a module that is not there ({error.name}): not installed, nor in {here}",
            ) from None
        raise _fault(name, f"cannot be imported: it needs the module {error.name}") from error
    except _OWN_FAULTS as error:
        raise _fault(name, f"cannot be imported: {_words(error)}") from error


def _wants_chat(name: str, made: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(made).parameters.values()
    except ValueError:
        parameters = ()
    needed = [p for p in parameters if p.default is p.empty and p.kind not in _ANY_NUMBER]
    if len(needed) > 1 or any(p.kind is p.KEYWORD_ONLY for p in needed):
        listed = ", ".join(p.name for p in needed)
        raise _fault(
            name, f"wants ({listed}) to be made: it may want one thing, the model, or nothing"
        )
    return bool(needed)


_ANY_NUMBER = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def _takes(function: Callable[..., Any], number: int) -> bool:
    try:
        inspect.signature(function).bind(*range(number))
    except TypeError:
        return False
    return True


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _fault(name: str, words: str) -> ConfigError:
    return ConfigError(f"--agent {name} {words} ({_RULE})")
