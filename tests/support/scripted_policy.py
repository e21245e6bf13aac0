"""A policy that plays turns which were written down, in characters for tokens; it stands for a model."""

import re
from collections.abc import Callable, Sequence
from importlib.resources import files

from training.render import Renderer
from training.rl.core.policy import PolicyLimits, Sampled

__all__ = ["END", "CharacterTokenizer", "ScriptedPolicy", "call", "tiny_renderer"]

END = "<|im_end|>"
_SPECIAL = ("<|im_start|>", END)
_PARTS = re.compile("|".join(map(re.escape, _SPECIAL)) + "|.", re.DOTALL)
_SHIFT = len(_SPECIAL)
OTHER_SPELLING = 1 << 24
"""Added to an id, it gives another token of the same text, which encoding never gives."""


class CharacterTokenizer:
    """A token for each character, and one for each special word."""

    end_ids = frozenset({_SPECIAL.index(END)})

    def encode(self, text: str) -> list[int]:
        """Give the ids."""
        return [
            _SPECIAL.index(part) if part in _SPECIAL else ord(part) + _SHIFT
            for part in _PARTS.findall(text)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """Give the text."""
        known = [each % OTHER_SPELLING for each in ids]
        return "".join(_SPECIAL[i] if i < _SHIFT else chr(i - _SHIFT) for i in known)


def tiny_renderer() -> Renderer:
    """Render as the tiny model is shown its episodes."""
    template = (files("training.tiny") / "chat_template.jinja").read_text("utf-8")
    return Renderer.of(template, {"eos_token": END}, controls=_SPECIAL)


def call(name: str, arguments: str = "{}") -> str:
    """Write a turn that calls a tool."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>{END}'


class ScriptedPolicy:
    """Writes the turns of a script, chosen by what the context says; tells no other temperature apart."""

    def __init__(
        self, script: Callable[[str], str], limits: PolicyLimits | None = None, *, shift: int = 0
    ) -> None:
        """Take the script.

        Args:
            script: What is written after a context's text. Without an end token it was cut.
            limits: Of the policy.
            shift: Added to each id of the first character that is written.
        """
        self._script = script
        self._shift = shift
        self._tokenizer = CharacterTokenizer()
        self.limits = limits or PolicyLimits()
        self.batches: list[list[str]] = []
        """The contexts of each round."""

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        """Write a turn for each."""
        del temperature
        assert len(seeds) == len(contexts)
        texts = [self._tokenizer.decode(context) for context in contexts]
        self.batches.append(texts)
        return [self._write(text, max_tokens) for text in texts]

    def _write(self, context: str, max_tokens: int) -> Sampled:
        ids = self._tokenizer.encode(self._script(context))[:max_tokens]
        is_ended = ids[-1] in self._tokenizer.end_ids
        ids[0] += self._shift
        return Sampled(tuple(ids), tuple(-0.5 for _ in ids), is_ended)
