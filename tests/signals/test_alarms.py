"""Each alarm on a made-up stream: at its step, not before, and never where all goes well."""

import json
from collections.abc import Mapping, Sequence
from itertools import repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.signals.health.alarms import ALARMS, AlarmBoard, AlarmSettings, Level, Raised

POLLUTED, COLLAPSED = "structure/text_polluted", "structure/collapsed"
CALLS, END = "structure/healthy_tool_call", "probe/end"
Stream = Sequence[Mapping[str, float]]


def watched(stream: Stream, settings: AlarmSettings | None = None) -> list[Raised]:
    board = AlarmBoard(settings or AlarmSettings())
    return [each for step, values in enumerate(stream, 1) for each in board.see(step, values)]


def steps(name: str, stream: Stream) -> list[int]:
    return [each.step for each in watched(stream) if each.alarm.name == name]


def of(figure: str, *values: float, **others: float) -> Stream:
    return [{figure: value, **others} for value in values]


def turns(*pairs: tuple[float, float]) -> Stream:
    return [{POLLUTED: polluted, COLLAPSED: collapsed} for polluted, collapsed in pairs]


@pytest.mark.parametrize(
    ("name", "stream", "raised"),
    [
        ("polluted", of(POLLUTED, 0.01, 0.01, 0.05, 0.06), [4]),
        ("polluted", of(POLLUTED, 0.1, 0.1, 0.29, 0.1), []),
        ("polluted", of(POLLUTED, 0.1, 0.1, 0.31), [3]),
        ("polluted", of(POLLUTED, 0.9, 0.9), []),
        ("polluted", of(POLLUTED, 0.0, 0.06, 0.0, 0.06), [2, 4]),
        ("collapse", turns((0, 0.06), (0, 0.06), (0, 0.06), (0, 0.06)), [3]),
        ("collapse", turns((0.21, 0), (0.21, 0), (0.2, 0.05), (0.21, 0), (0.21, 0)), []),
        ("collapse", turns((0.21, 0), (0, 0.06), (0.21, 0)), [3]),
        ("kl", of("kl", *repeat(0.01, 19), 0.2), []),
        ("kl", of("kl", *repeat(0.01, 20), 0.1), []),
        ("kl", of("kl", *repeat(0.01, 20), 0.11), [21]),
        ("kl", of("kl", *repeat(0.0, 30), 0.5), []),
        ("reward", of("rollout/reward", *repeat(0.8, 5), *repeat(0.39, 9)), []),
        ("reward", of("rollout/reward", *repeat(0.8, 5), *repeat(0.39, 10)), [15]),
        ("reward", of("rollout/reward", *repeat(0.8, 5), *repeat(0.39, 9), 0.41, 0.39), []),
        ("reward", of("rollout/reward", *repeat(0.0, 30)), []),
        ("calls", of(CALLS, 0.5, 0.11, 0.1, 0.09), [4]),
        ("calls", of(CALLS, 0.0, 0.0, 0.5, 0.0), []),
        ("start", of(END, 0.05, 0.051, 0.2, 0.01, 0.3), [2, 5]),
    ],
)
def test_an_alarm_is_raised_at_its_step_and_not_before(
    name: str, stream: Stream, raised: list[int]
) -> None:
    assert steps(name, stream) == raised


def test_a_healthy_run_raises_none() -> None:
    """Rewards rise, the divergence grows from nothing, and a few turns are polluted here and there."""
    stream = [
        {
            POLLUTED: 0.02 + 0.02 * (step % 3 == 0),
            COLLAPSED: 0.01 * (step % 7 == 0),
            CALLS: 0.6 - 0.002 * step,
            "kl": 1e-6 * step**2,
            "rollout/reward": min(0.9, 0.2 + 0.01 * step) - 0.05 * (step % 2),
            END: 0.01,
        }
        for step in range(150)
    ]
    assert watched(stream) == []


def test_an_alarm_says_what_holds_what_is_probably_wrong_and_in_what_form() -> None:
    sick = {POLLUTED: 0.5, COLLAPSED: 0.0, "structure/reasons/stray_tag": 9.0}
    sick["structure/reasons/no_end"] = 2.0
    (raised,) = [each for each in watched([sick] * 3) if each.alarm.name == "collapse"]
    assert (raised.alarm.level, raised.action) == (Level.CRITICAL, "log")
    said = str(raised)
    assert said.startswith("step 3: critical alarm collapse: for 3 steps, more than 5 %")
    assert "structure/text_polluted 0.5" in said
    assert "do SFT, sampling and training render alike?" in said
    assert "Probably: control tokens are amplified" in said


def test_figures_that_are_missing_change_nothing() -> None:
    high = {POLLUTED: 0.9, COLLAPSED: 0.0}
    stream: Stream = [high, high, {"rollout/reward": 1.0}, {POLLUTED: 0.9}, high]
    assert steps("collapse", stream) == [5]
    nothing: dict[str, float] = {}
    assert watched([nothing] * 40) == []
    assert steps("start", of(END, float("nan"), float("inf"))) == []


def test_the_settings_say_what_is_done_and_a_preflight_stops_at_what_is_critical() -> None:
    settings = AlarmSettings(start="checkpoint", kl="stop")
    (raised,) = watched(of(END, 0.5), settings)
    assert raised.action == "checkpoint"
    preflight = settings.of_preflight()
    critical = {alarm.name for alarm in ALARMS if alarm.level is Level.CRITICAL}
    assert critical == {"collapse"}
    assert preflight.model_dump() == {**settings.model_dump(), "collapse": "stop"}
    assert {alarm.name for alarm in ALARMS} == {*settings.model_dump()}


VALUES = st.floats(0, 1)
STEPS = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys([POLLUTED, COLLAPSED, CALLS, END, "kl", "rollout/reward"], VALUES),
)


@given(stream=st.lists(STEPS, max_size=60), data=st.data())
def test_a_board_that_goes_on_from_its_state_is_one_that_never_stopped(
    stream: list[Mapping[str, float]], data: st.DataObject
) -> None:
    whole, before, after = (AlarmBoard(AlarmSettings()) for _ in range(3))
    cut = data.draw(st.integers(0, len(stream)))
    seen = [whole.see(step, values) for step, values in enumerate(stream)]
    first = [before.see(step, values) for step, values in enumerate(stream[:cut])]
    after.restore(json.loads(json.dumps(before.state())))
    then = [after.see(step, values) for step, values in enumerate(stream[cut:], cut)]
    assert first + then == seen
    assert after.state() == whole.state()
    assert after.figures == whole.figures
