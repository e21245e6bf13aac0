"""Examples: token ids, and which of them the model is to learn; made of conversations by the one renderer."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from astra_mcp.errors import AstraError, ConfigError
from training.render import Renderer, Tokenizer, Tokens, encode
from training.sft.conversations import Conversation
from training.sft.settings import ExampleSettings, Per, TooLong

__all__ = ["Example", "ExampleSet", "Lengths", "make_examples"]

_UNRENDERED = "cannot be rendered"
_TOO_LONG = "too long"
_NOTHING_LEFT = "no turn of the model within the limit"


@dataclass(frozen=True, slots=True)
class Example:
    """One sequence."""

    ids: NDArray[np.int32]
    mask: NDArray[np.bool_]
    """Where the model wrote a token, which is what it learns."""

    @property
    def num_trained(self) -> int:
        """Tokens with loss."""
        return int(self.mask[1:].sum())


@dataclass(frozen=True, slots=True)
class Lengths:
    """How long examples are, in tokens."""

    mean: float
    longest: int
    trained: int
    """Tokens with loss, of all examples."""


@dataclass(slots=True)
class ExampleSet:
    """The examples of one set, and what became of the others."""

    examples: list[Example] = field(default_factory=list[Example])
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    """How many examples, by why."""
    num_cut: int = 0
    """Examples of which the beginning was cut off."""
    first_fault: str = ""
    """Why the first conversation that cannot be rendered cannot be."""

    @property
    def lengths(self) -> Lengths:
        """How long they are."""
        sizes = [len(each.ids) for each in self.examples]
        trained = sum(each.num_trained for each in self.examples)
        return Lengths(sum(sizes) / len(sizes), max(sizes), trained)

    @property
    def digest(self) -> str:
        """Tells these examples from any others, in hexadecimal digits."""
        hashed = sha256()
        for each in self.examples:
            hashed.update(len(each.ids).to_bytes(8, "big"))
            hashed.update(each.ids.astype("<i4").tobytes())
            hashed.update(np.packbits(each.mask).tobytes())
        return hashed.hexdigest()

    def count(self, why: str) -> None:
        """Note that an example is left out."""
        self.left_out[why] = self.left_out.get(why, 0) + 1


def make_examples(
    conversations: Iterable[Conversation],
    renderer: Renderer,
    tokenizer: Tokenizer,
    settings: ExampleSettings,
    name: str,
) -> ExampleSet:
    """Make the examples of a set.

    Args:
        conversations: In order.
        renderer: Of the model.
        tokenizer: Of the model.
        settings: What one example is, and how long it may be.
        name: Of the set, for messages.

    Raises:
        ConfigError: None is left; says why.
    """
    made = ExampleSet()
    for conversation in conversations:
        try:
            rendered = renderer.instances(
                conversation.messages, conversation.tools, per_turn=settings.per is Per.TURN
            )
        except AstraError as error:
            made.count(_UNRENDERED)
            made.first_fault = made.first_fault or f"{conversation.place}: {error}"
            continue
        for each in rendered:
            _take(made, encode(each, tokenizer), settings)
    if not made.examples:
        reasons = ", ".join(f"{count} {why}" for why, count in made.left_out.items())
        hint = made.first_fault or f"examples.max_tokens is {settings.max_tokens}"
        raise ConfigError(f"{name} has no example to train on: {reasons} ({hint})")
    return made


def _take(made: ExampleSet, tokens: Tokens, settings: ExampleSettings) -> None:
    ids: Sequence[int] = tokens.ids
    mask: Sequence[bool] = tokens.mask
    if len(ids) > settings.max_tokens:
        if settings.too_long is TooLong.LEAVE_OUT:
            made.count(_TOO_LONG)
            return
        ids, mask = ids[-settings.max_tokens :], mask[-settings.max_tokens :]
        made.num_cut += 1
    example = Example(np.asarray(ids, dtype=np.int32), np.asarray(mask, dtype=np.bool_))
    if example.num_trained:
        made.examples.append(example)
    else:
        made.count(_NOTHING_LEFT)
