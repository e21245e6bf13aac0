"""What a run of GRPO does where nobody says otherwise: as the paper, where it says something."""

from pathlib import Path

import pytest

from training.rl.native.settings import RlSettings

_NEEDED = {
    "model": "start",
    "out": Path("run"),
    "data": [{"environments": ["one"]}],
    "training": {"learning_rate": 2e-6},
}
USUAL = RlSettings.model_validate(_NEEDED)


@pytest.mark.claim("P95")
def test_there_is_neither_a_divergence_nor_an_entropy_bonus() -> None:
    objective = USUAL.objective
    assert (objective.kl, objective.kl_weight, objective.entropy_weight) == ("none", 0, 0)


@pytest.mark.claim("P97")
def test_a_batch_is_one_mini_batch_of_groups_that_wait_as_long_as_they_have_to() -> None:
    assert USUAL.training.mini_batches == 1
    assert USUAL.filling.max_age is None
    assert "schedule" not in type(USUAL.training).model_fields  # the rate is the one that is named
