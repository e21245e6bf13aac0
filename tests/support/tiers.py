"""Tiers of tests that several modules name."""

import pytest

AT_THE_GATE = (pytest.mark.volume, pytest.mark.smoke)
"""At the gate and in ``make test-all``: a sibling among the quick ones shows the same mechanism."""
