"""What a run says before it begins: each signal and what is done about alarms, as its settings have them."""

from typing import Any

import pytest

from astra_mcp.cli.train.supervisor import alarms_shown, signals_shown
from training.rl.native.settings import RlSettings


def settings_of(**sections: Any) -> RlSettings:
    given: dict[str, Any] = {
        "model": "start",
        "out": "run",
        "data": [{"environments": ["harbour"]}],
        "training": {"learning_rate": 0.01, "steps": 20, "group_size": 8},
        **sections,
    }
    return RlSettings.model_validate(given)


@pytest.mark.parametrize(
    ("signals", "shown"),
    [
        ({}, "none"),
        (
            {"demonstrations": {"members": 1, "shaping": "luffy", "gamma": 0.2}},
            "1 of 8 members play gold, shaped by luffy (0.2)",
        ),
        (
            {"demonstrations": {"members": 1}, "hints": {"members": 2, "position": "user"}},
            "1 of 8 members play gold; 2 of 8 are given hints by a template, in a message",
        ),
        (
            {
                "schedule": {"stages": [5, 15], "alarms": ["reward"]},
                "supervision": {"learning_rate": 1e-5},
            },
            "supervision (errors) behind 5, alarm reward",
        ),
    ],
)
def test_a_plan_says_how_each_signal_is_given(signals: dict[str, Any], shown: str) -> None:
    assert signals_shown(settings_of(signals=signals)) == shown


def test_a_plan_says_which_alarms_do_more_than_being_written_down() -> None:
    assert alarms_shown(settings_of()) == "all are written down"
    acted = settings_of(alarms={"collapse": "stop", "start": "checkpoint"})
    assert alarms_shown(acted) == "collapse: stop, start: checkpoint, all others are written down"
