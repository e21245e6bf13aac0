"""Every other tool is in exactly one band, and a threshold belongs to the band that the paper gives it to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from astra_mcp.distractors.similarity import (
    BITS,
    Band,
    Floats,
    Membership,
    cosines,
    lengths_of,
    membership_of,
    normalised,
)

ROWS = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1))


def bands_of(membership: Membership) -> list[Band | None]:
    names = {bit: band for band, bit in BITS.items()}
    return [names.get(int(bit)) for bit in membership]


@pytest.mark.claim("P26")
@given(ROWS, st.data())
def test_the_bands_share_out_all_tools_but_the_one_itself(row: Floats, data: st.DataObject) -> None:
    own = data.draw(st.none() | st.integers(0, len(row) - 1))
    for place, band in enumerate(bands_of(membership_of(row, own))):
        likeness = row[place]
        expected = Band.HIGH if likeness > 0.85 else Band.LOW if likeness < 0.4 else Band.MEDIUM
        assert band == (None if place == own else expected)


@pytest.mark.claim("P26")
def test_both_thresholds_belong_to_the_medium_band() -> None:
    """The cosines with the first vector are 1, 17/20, 2/5 and 0, exactly."""
    vectors = np.array(
        [(1, 0, 0, 0, 0), (3, 0, 0, 0, 0), (17, 10, 3, 1, 1), (2, 4, 2, 1, 0), (0, 0, 1, 0, 0)],
        dtype=np.float32,
    )
    row = cosines(vectors[:1], vectors, lengths_of(vectors))[0]
    assert row.tolist() == [1, 1, 0.85, 0.4, 0]
    found = bands_of(membership_of(normalised(row, 0), 0))
    assert found == [None, Band.HIGH, Band.MEDIUM, Band.MEDIUM, Band.LOW]


@given(ROWS, ROWS)
def test_the_more_alike_of_two_is_never_in_the_lower_band(one: Floats, other: Floats) -> None:
    row = np.sort(np.concatenate([one, other]))
    order = [Band.LOW, Band.MEDIUM, Band.HIGH]
    places = [order.index(band) for band in bands_of(membership_of(row, None)) if band]
    assert places == sorted(places)
