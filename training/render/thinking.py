"""Thoughts: whether a model may have them before it speaks, and how its template spells them.

Source: the mismatch of Qwen3's thinking mode between sampling and training, in the study of collapse of
tool-use RL (appendix C).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject
from training.render.template import ChatTemplate

__all__ = ["Thinking", "ThinkingPolicy", "Thoughts", "Variables"]

Variables = Mapping[str, object]
_ON: Variables = {"enable_thinking": True}
_OFF: Variables = {"enable_thinking": False}
_WORDS, _THOUGHT = "astraword", "astrathought"
_USER: JsonObject = {"role": "user", "content": "astrauser"}


class ThinkingPolicy(StrEnum):
    """What becomes of thoughts. One policy holds for SFT, RL and evaluation of a model."""

    NATIVE_OFF = "native_off"
    """No thoughts, in the template's own way: what it writes to turn them off stands in training as well."""
    OFF_SAMPLING_ONLY = "off_sampling_only"
    """No thoughts, and what turns them off stands in the sampling prompt alone, never in training text."""
    ON = "on"
    """The model thinks before it speaks, and its thoughts are trained."""


@dataclass(frozen=True, slots=True)
class Thoughts:
    """How a template spells a thought of the model; what the prompt begins of it is not the model's."""

    opening: str
    closing: str

    def tags(self) -> tuple[str, ...]:
        """What begins and ends a thought, as far as the model writes it."""
        return tuple(filter(None, (self.opening.strip(), self.closing.strip())))

    @classmethod
    def of(cls, template: ChatTemplate) -> Self | None:
        """Find it by rendering a thought; None where the template shows none."""
        prompt = template.render([_USER], is_prompt=True, variables=_ON)
        text = _said(template, _ON, {"reasoning_content": _THOUGHT, "thinking": _THOUGHT})
        if not text.startswith(prompt):
            return None
        opening, found, rest = text.removeprefix(prompt).partition(_THOUGHT)
        closing, is_said, _ = rest.partition(_WORDS)
        return cls(opening, closing) if found and is_said and closing.strip() else None

    def write(self, reasoning: str | None) -> str:
        """Spell a thought; an empty one where there is none."""
        return f"{self.opening}{reasoning or ''}{self.closing}"

    def split(self, text: str, *, is_begun: bool) -> tuple[str | None, str, tuple[str, ...]]:
        """Take the thought off a turn: the thought or None, the rest, and faults.

        Args:
            text: The turn, without its end.
            is_begun: Whether the prompt began the thought.
        """
        begin, end = self.opening.strip(), self.closing.strip()
        if not text.lstrip().startswith(begin) or not (begin or is_begun):
            return None, text, ()
        thought, is_closed, rest = text.lstrip().removeprefix(begin).partition(end)
        before, _, behind = self.closing.partition(end)
        is_exact = text.startswith(self.opening) and rest.startswith(behind)
        if is_exact and thought.endswith(before):
            thought = text.removeprefix(self.opening).partition(end)[0].removesuffix(before)
            return thought or None, rest.removeprefix(behind), ()
        faults = () if is_closed else (f"the thought is not closed: write {end} behind it",)
        return thought.strip() or None, rest.lstrip("\n"), faults


@dataclass(frozen=True, slots=True)
class Thinking:
    """A policy as a template carries it out."""

    policy: ThinkingPolicy
    thoughts: Thoughts | None
    """How they are read, whatever the policy is."""
    variables: Variables
    """What the template is given for all text that is kept."""
    sampling_only: str
    """What stands behind the kept prompt while the model samples, and nowhere else."""

    @classmethod
    def of(cls, template: ChatTemplate, policy: ThinkingPolicy) -> Self:
        """Find out how a template carries a policy out.

        Raises:
            ConfigError: It cannot.
        """
        thoughts = Thoughts.of(template)
        on = template.render([_USER], is_prompt=True, variables=_ON)
        off = template.render([_USER], is_prompt=True, variables=_OFF)
        match policy:
            case ThinkingPolicy.ON:
                if thoughts is None:
                    raise ConfigError(
                        "thinking on: the chat template shows no thoughts (reasoning_content) of "
                        "the model's last turn; use native_off"
                    )
                return cls(policy, thoughts, _ON, "")
            case ThinkingPolicy.NATIVE_OFF:
                if not _said(template, _OFF, {}).startswith(off + _WORDS):
                    raise ConfigError(
                        "thinking native_off: the chat template cannot turn thoughts off "
                        "(enable_thinking is false); use on"
                    )
                return cls(policy, thoughts, _OFF, "")
            case ThinkingPolicy.OFF_SAMPLING_ONLY:
                extra = off.removeprefix(on)
                if thoughts is None or not thoughts.opening or extra in ("", off):
                    raise ConfigError(
                        "thinking off_sampling_only: the chat template adds nothing to a prompt to "
                        "turn thoughts off, or begins them in it; use native_off"
                    )
                return cls(policy, thoughts, _ON, extra)


def _said(template: ChatTemplate, variables: Variables, members: JsonObject) -> str:
    turn: JsonObject = {"role": "assistant", "content": _WORDS, **members}
    return template.render([_USER, turn], is_prompt=False, variables=variables)
