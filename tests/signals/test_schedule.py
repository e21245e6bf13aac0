"""When supervised phases come: planned, growing, or brought on by an alarm; and which settings make sense."""

from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from training.rl.native.settings import RlSettings
from training.signals.supervision.schedule import Schedule
from training.signals.supervision.settings import ScheduleSettings, SignalSettings


def walked(schedule: Schedule, steps: range, holding: dict[int, Collection[str]]) -> list[int]:
    found: list[int] = []
    for step in steps:
        if schedule.is_due(step, holding.get(step, ())):
            found.append(step)
            schedule.note(step)
    return found


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"stages": [50, 100, 150]}, [50, 150]),
        ({"stages": [50, 50, 100]}, [50, 100]),
        ({"first": 50}, [50, 150, 350]),
        ({"first": 100, "growth": 1}, [100, 200, 300, 400]),
        ({"alarms": ["collapse"]}, []),
        ({}, []),
    ],
)
def test_planned_phases_follow_from_the_settings(
    settings: dict[str, Any], expected: list[int]
) -> None:
    schedule = Schedule(ScheduleSettings(**settings))
    assert [*schedule.planned(400)] == expected
    assert walked(schedule, range(1, 401), {}) == expected


def test_an_alarm_brings_a_phase_on_by_its_name_and_not_too_soon() -> None:
    settings = ScheduleSettings(first=40, alarms=("collapse",), least_gap=10)
    holding: dict[int, Collection[str]] = {
        3: {"collapse"},
        5: {"calls"},
        12: {"collapse"},
        13: {"collapse", "calls"},
    }
    assert walked(Schedule(settings), range(1, 50), holding) == [3, 13, 40]
    # While it holds there is one phase after the other, and the planned one.
    always: dict[int, Collection[str]] = dict.fromkeys(range(1, 50), ("collapse",))
    assert walked(Schedule(settings), range(1, 50), always) == [1, 11, 21, 31, 40]


@given(
    st.dictionaries(st.integers(1, 60), st.sets(st.sampled_from(["collapse", "calls"]))),
    st.integers(0, 60),
)
def test_a_schedule_that_goes_on_is_the_one_that_never_stopped(
    holding: dict[int, Collection[str]], stop: int
) -> None:
    settings = ScheduleSettings(first=7, growth=1.5, alarms=("collapse",), least_gap=3)
    whole, before = Schedule(settings), Schedule(settings)
    found = walked(whole, range(1, 61), holding)
    first = walked(before, range(1, stop + 1), holding)
    resumed = Schedule(settings, before.done)
    assert first + walked(resumed, range(stop + 1, 61), holding) == found
    assert resumed.done == whole.done
    assert walked(resumed, range(1, 61), {}) == []  # what is done is not done again


LEARNING = {"learning_rate": 1e-5}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": {"stages": [50]}}, "two or more"),
        ({"schedule": {"stages": [5, 5], "first": 5}}, "either stages"),
        ({"schedule": {"growth": 2.0}}, "growth goes with first"),
        ({"schedule": {"first": 5, "least_gap": 3}}, "least_gap goes with alarms"),
        ({"schedule": {"alarms": ["collaps"]}}, "there is no alarm 'collaps', only polluted, coll"),
        ({"schedule": {"first": 5}}, "needs supervision.learning_rate"),
        ({"supervision": LEARNING}, "supervision needs a schedule"),
        ({"reflections": {"members": 2}}, "reflections go with a schedule"),
        (
            {"schedule": {"first": 5}, "supervision": LEARNING, "reflections": {"members": 2}},
            "reflections go with a schedule",
        ),
        ({"demonstrations": {"shaping": "luffy"}}, "set members too"),
        ({"demonstrations": {"members": 1, "gamma": 0.2}}, "gamma is for shaping"),
        ({"hints": {"members": 1, "source": "file"}}, "hints.source"),
        ({"hints": {"members": 1, "file": "x.jsonl"}}, "hints.source"),
        ({"hints": {"position": "user"}}, "hints need members"),
    ],
)
def test_settings_that_would_do_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SignalSettings.model_validate(settings)


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ({"stages": [5, 5]}, r"stages come to 10 steps, and training\.steps is 11"),
        ({"alarms": ["kl"]}, "names kl, which is raised with"),
    ],
)
def test_a_schedule_that_its_run_cannot_keep_is_refused(
    schedule: dict[str, Any], message: str
) -> None:
    settings: dict[str, Any] = {
        "model": "start",
        "out": "run",
        "data": [{"environments": ["harbour"]}],
        "training": {"learning_rate": 0.01, "steps": 11},
        "signals": {"schedule": schedule, "supervision": LEARNING},
    }
    with pytest.raises(ValidationError, match=message):
        RlSettings.model_validate(settings)
