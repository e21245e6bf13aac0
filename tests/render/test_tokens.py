"""Masks follow the pieces, and the first token that sampling and training do not share is named."""

import subprocess
import sys
from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.render import Rendered, Segment, Tokens, compare, encode


class PairTokenizer:
    """Joins two equal letters to one token, across whatever edges its text has."""

    end_ids = frozenset({ord("!")})

    def encode(self, text: str) -> list[int]:
        runs = [(letter, len(list(run))) for letter, run in groupby(text)]
        return [
            ord(letter) + kind
            for letter, length in runs
            for kind in [256] * (length // 2) + [0] * (length % 2)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(chr(id % 256) * (2 if id >= 256 else 1) for id in ids)


TOKENIZER = PairTokenizer()
SEGMENTS = st.lists(st.builds(Segment, st.text("ab!", max_size=5), st.booleans()), max_size=6)


@given(SEGMENTS)
def test_the_marked_tokens_are_the_models_pieces_and_nothing_more(segments: list[Segment]) -> None:
    rendered = Rendered(tuple(segments))
    tokens = encode(rendered, TOKENIZER)
    marked = [id for id, is_model in zip(tokens.ids, tokens.mask, strict=True) if is_model]
    assert TOKENIZER.decode(tokens.ids) == rendered.text
    assert TOKENIZER.decode(marked) == "".join(s.text for s in segments if s.is_model)


def test_tokens_never_reach_across_the_edge_of_a_piece() -> None:
    rendered = Rendered((Segment("xa", is_model=False), Segment("a!", is_model=True)))
    tokens = encode(rendered, TOKENIZER)
    assert len(TOKENIZER.encode(rendered.text)) == 3
    assert tokens == Tokens((120, 97, 97, 33), (False, False, True, True))


def test_the_first_token_that_differs_is_named_with_both_texts() -> None:
    sampled, trained = TOKENIZER.encode("abcd!"), TOKENIZER.encode("abxd!")
    mismatch = compare(sampled, trained, TOKENIZER)
    assert mismatch is not None
    assert (mismatch.index, mismatch.sampled_id, mismatch.trained_id) == (2, ord("c"), ord("x"))
    assert (mismatch.sampled_text, mismatch.trained_text, mismatch.before) == ("c", "x", "ab")
    assert str(mismatch) == (
        "token 2, behind 'ab': sampling has 99 ('c') and then 'd!', training has 120 ('x') and then 'd!'"
    )


@pytest.mark.parametrize(("sampled", "trained"), [("ab", "abc"), ("abc", "ab")])
def test_an_end_that_comes_early_is_a_mismatch(sampled: str, trained: str) -> None:
    mismatch = compare(TOKENIZER.encode(sampled), TOKENIZER.encode(trained), TOKENIZER)
    assert mismatch is not None
    assert mismatch.index == 2
    assert {mismatch.sampled_id, mismatch.trained_id} == {None, ord("c")}
    assert " ends" in str(mismatch)


def test_a_mask_that_differs_is_a_mismatch_where_both_have_one() -> None:
    left, right = Tokens((97, 98), (False, True)), Tokens((97, 98), (True, True))
    mismatch = compare(left, right, TOKENIZER)
    assert mismatch is not None
    assert (mismatch.index, mismatch.is_mask) == (0, True)
    assert "the model's in one of sampling and training only" in str(mismatch)
    assert compare(left, right.ids, TOKENIZER) is None
    assert compare(left, left, TOKENIZER) is None


def test_ids_and_marks_are_as_many() -> None:
    with pytest.raises(ValueError, match="2 ids and 1 marks"):
        Tokens((1, 2), (True,))


def test_the_renderer_needs_no_library_of_training() -> None:
    libraries = ("torch", "transformers", "tokenizers", "huggingface_hub")
    code = f"import sys, training.render; print([m for m in {libraries!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
