"""The benchmark of curves: what it reads from the steps of a run."""

import xml.etree.ElementTree as ET
from typing import Any

import pytest

pytestmark = pytest.mark.train


def run_of(rewards: list[float], **alarms: int) -> dict[str, Any]:
    """A run with a reward for each step, and alarms that hold from a step on."""
    steps = [
        {
            "step": step,
            "rollout/reward": reward,
            **{f"alarms/{name}": float(step >= since) for name, since in alarms.items()},
        }
        for step, reward in enumerate(rewards, 1)
    ]
    judged = {
        f"{kind}/{name}": 0.5 for kind in ("greedy", "sampled") for name in ("reward", "calls")
    }
    judged |= {"sampled/turns": 2.0}
    curve = [{"step": 0, **judged}, {"step": len(rewards), **judged}]
    return {"arm": "collapse", "seed": 1, "curve": curve, "steps": steps, "ended": None}


@pytest.mark.parametrize(
    ("rewards", "fell"),
    [
        ([0.2, 0.3, 0.4], None),
        ([0.4, 0.1, 0.3], None),
        ([0.4, 0.3, 0.1, 0.1], 3),
        ([0.0, 0.0], None),
    ],
)
def test_a_reward_fell_where_it_stays_below_half_of_its_best(
    rewards: list[float], fell: int | None
) -> None:
    from curve_figures import fall_of  # noqa: PLC0415 - it loads PyTorch

    assert fall_of(run_of(rewards)) == fell


def test_the_table_and_the_picture_say_when_alarms_came() -> None:
    from curve_figures import alarms_of, picture_of, table_of  # noqa: PLC0415

    run = run_of([0.4, 0.1, 0.1], polluted=2, collapse=3)
    assert alarms_of(run) == {"polluted": 2, "collapse": 3}
    assert "polluted 2, collapse 3" in table_of([run])
    drawn = picture_of("form", [run])
    assert drawn is not None
    assert len(ET.fromstring(drawn).findall(".//{*}polyline")) == 1  # noqa: S314 - our own
    assert picture_of("rewards", [run]) is None
