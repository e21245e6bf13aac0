"""Tokens: which of them the model wrote, and where sampling and training differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from training.render.loading import load_tokenizer
from training.render.renderer import Rendered

__all__ = ["Mismatch", "Tokenizer", "Tokens", "compare", "encode", "load_tokenizer"]

_AROUND = 8
"""Tokens that a mismatch shows before and behind the place."""


class Tokenizer(Protocol):
    """Turns text into ids and back."""

    @property
    def end_ids(self) -> frozenset[int]:
        """Whatever ends a turn."""
        ...

    def encode(self, text: str) -> list[int]:
        """Give the ids; special tokens that stand in the text become theirs, and none is added."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """Give the text, special tokens included."""
        ...


@dataclass(frozen=True, slots=True)
class Tokens:
    """Ids, and for each whether the model wrote it."""

    ids: tuple[int, ...]
    mask: tuple[bool, ...]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.mask):
            raise ValueError(f"{len(self.ids)} ids and {len(self.mask)} marks: one for each")


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first place at which two sequences of tokens differ."""

    index: int
    sampled_id: int | None
    """None where the sequence ends before."""
    trained_id: int | None
    sampled_text: str
    trained_text: str
    before: str
    """The text of the tokens before, which is the same in both."""
    sampled_after: str
    trained_after: str
    is_mask: bool = False
    """The ids are the same, and only one says that the model wrote it."""

    def __str__(self) -> str:
        return self.told("sampling", "training")

    def told(self, sampled: str, trained: str) -> str:
        """Say it, with these names for the two."""
        place = f"token {self.index}, behind {self.before!r}"
        if self.is_mask:
            one = f"{self.sampled_id} ({self.sampled_text!r})"
            return f"{place}: {one} is the model's in one of {sampled} and {trained} only"
        one = _named(self.sampled_id, self.sampled_text, self.sampled_after)
        other = _named(self.trained_id, self.trained_text, self.trained_after)
        return f"{place}: {sampled} {one}, {trained} {other}"


def encode(rendered: Rendered, tokenizer: Tokenizer) -> Tokens:
    """Give the tokens of a conversation, piece by piece: a sampler never joins text across a turn's edge.

    What data spells is never a control token: no token reaches across a break.
    """
    ids: list[int] = []
    mask: list[bool] = []
    for segment in rendered.segments:
        found = [id for piece in segment.pieces for id in tokenizer.encode(piece)]
        ids += found
        mask += [segment.is_model] * len(found)
    return Tokens(tuple(ids), tuple(mask))


def compare(
    sampled: Tokens | Sequence[int], trained: Tokens | Sequence[int], tokenizer: Tokenizer
) -> Mismatch | None:
    """Find the first token that sampling and training do not share; None where they are the same.

    Args:
        sampled: What sampling saw and wrote.
        trained: What training makes of it. Masks are compared where both have one.
        tokenizer: For the texts.
    """
    left, right = _ids(sampled), _ids(trained)
    shared = min(len(left), len(right))
    place = next((i for i in range(shared) if left[i] != right[i]), shared)
    is_same = place == len(left) == len(right)
    if isinstance(sampled, Tokens) and isinstance(trained, Tokens):
        marked = (i for i in range(place) if sampled.mask[i] != trained.mask[i])
        other = next(marked, None)
        if other is not None:
            return _mismatch(left, right, other, tokenizer, is_mask=True)
    return None if is_same else _mismatch(left, right, place, tokenizer, is_mask=False)


def _ids(tokens: Tokens | Sequence[int]) -> Sequence[int]:
    return tokens.ids if isinstance(tokens, Tokens) else tokens


def _mismatch(
    left: Sequence[int], right: Sequence[int], place: int, tokenizer: Tokenizer, *, is_mask: bool
) -> Mismatch:
    def text(ids: Sequence[int], begin: int, length: int) -> str:
        return tokenizer.decode(ids[begin : begin + length])

    begin = max(0, place - _AROUND)
    return Mismatch(
        index=place,
        sampled_id=left[place] if place < len(left) else None,
        trained_id=right[place] if place < len(right) else None,
        sampled_text=text(left, place, 1),
        trained_text=text(right, place, 1),
        before=text(left, begin, place - begin),
        sampled_after=text(left, place + 1, _AROUND),
        trained_after=text(right, place + 1, _AROUND),
        is_mask=is_mask,
    )


def _named(id: int | None, text: str, after: str) -> str:
    if id is None:
        return "ends"
    return f"has {id} ({text!r})" + (f" and then {after!r}" if after else "")
