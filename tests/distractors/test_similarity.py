"""Cosines and their normalisation are those of the formulas, however the work is cut up."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from astra_mcp.distractors import similarity
from astra_mcp.distractors.similarity import Floats, cosines, lengths_of, normalised
from astra_mcp.embedding import Vectors

SMALL = st.integers(-4, 4).map(float)
VECTORS = arrays(np.float32, st.tuples(st.integers(1, 12), st.just(5)), elements=SMALL)
ROWS = arrays(np.float64, st.integers(2, 30), elements=st.integers(-64, 64).map(lambda n: n / 64))


def plain_cosine(one: Floats, other: Floats) -> float:
    dot = sum(float(a) * float(b) for a, b in zip(one, other, strict=True))
    lengths = sqrt(sum(float(a) ** 2 for a in one)) * sqrt(sum(float(b) ** 2 for b in other))
    return dot / lengths if lengths else 0.0


@pytest.mark.claim("P24")
@given(VECTORS)
def test_a_cosine_is_the_dot_product_over_the_lengths_and_zero_without_a_direction(
    vectors: Vectors,
) -> None:
    found = cosines(vectors, vectors, lengths_of(vectors))
    expected = [[plain_cosine(one, other) for other in vectors] for one in vectors]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)


def test_vectors_are_converted_a_few_at_a_time_with_the_same_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = np.random.default_rng(7).normal(size=(50, 16)).astype(np.float32)
    whole = cosines(vectors[:3], vectors, lengths_of(vectors))
    monkeypatch.setattr(similarity, "_BLOCK_BYTES", 7 * 16 * 8)
    parts = cosines(vectors[:3], vectors, lengths_of(vectors))
    np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-15)


@pytest.mark.claim("P24")
@given(ROWS, st.data())
def test_the_least_of_the_others_becomes_0_and_the_most_1(row: Floats, data: st.DataObject) -> None:
    own = data.draw(st.integers(0, len(row) - 1))
    before, others = np.delete(row, own), np.delete(normalised(row, own), own)
    if before.min() == before.max():
        assert not others.any()
    else:
        assert others.min() == 0
        assert others.max() == 1
        assert (np.argsort(others, kind="stable") == np.argsort(before, kind="stable")).all()


@given(ROWS, st.sampled_from([0.25, 1, 2, 8]), st.integers(-4, 4))
def test_scaling_and_shifting_all_similarities_changes_nothing(
    row: Floats, factor: float, shift: int
) -> None:
    assert (normalised(row * factor + shift, None) == normalised(row, None)).all()


@given(ROWS, st.data())
def test_how_alike_a_tool_is_to_itself_does_not_matter(row: Floats, data: st.DataObject) -> None:
    own = data.draw(st.integers(0, len(row) - 1))
    changed = row.copy()
    changed[own] = data.draw(st.sampled_from([-50.0, 0.0, 1.0, 50.0]))
    found, expected = normalised(changed, own), normalised(row, own)
    assert (np.delete(found, own) == np.delete(expected, own)).all()


def test_where_all_are_equally_alike_all_are_0() -> None:
    third = 1 / 3
    assert not normalised(np.array([third, third + 1e-16, third - 1e-16]), None).any()
    assert not normalised(np.array([0.5]), None).any()
    assert not normalised(np.array([0.3, 0.9]), 1).any()
    assert normalised(np.array([1.0]), 0).tolist() == [0]
