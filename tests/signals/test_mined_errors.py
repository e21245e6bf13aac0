"""The error set of stored trajectories, against one that was worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.errors import ConfigError
from astra_mcp.reward import Reward
from astra_mcp.trajectory import RolloutBoundary, StopReason, Trajectory, TrajectoryFailure
from training.signals.supervision.errors import mine_errors
from training.signals.supervision.settings import SupervisionSettings
from training.signals.supervision.step_files import TrajectoryStore

from trajectories import a_trajectory


def earned(reward: float, recall: float | None = None) -> Reward:
    return Reward(
        reward=reward, recall=reward if recall is None else recall, precision=1, solved=1, calls=1
    )


def played(
    name: str, group: int, reward: Reward | None, *, question: str | None = None, **labels: str
) -> Trajectory:
    changes: dict[str, Any] = {
        "source": {"kind": "environment", "name": name, "question": question},
        "labels": {"group": str(group), **labels},
        "reward": reward,
    }
    if reward is None:
        failure = TrajectoryFailure(boundary=RolloutBoundary.TRANSPORT, message="cut")
        changes |= {
            "failure": failure,
            "status": EpisodeStatus.FAILED,
            "stop": StopReason.FAILURE,
        }
    return a_trajectory(**changes)


NEVER, HALF, LATER, FURTHER = "never", "half", "later", "further"
STORED = [
    played(NEVER, 1, earned(0)),
    played(NEVER, 1, earned(0)),
    played(NEVER, 4, earned(0)),
    played(NEVER, 4, None),  # a boundary failed it: no failure of the policy
    played(NEVER, 4, earned(1), guided="gold"),  # and this one, nobody played alone
    played(HALF, 2, earned(0.8, recall=0.5)),
    played(HALF, 2, earned(0.8, recall=0.5)),
    played(LATER, 3, earned(0)),
    played(LATER, 6, earned(1)),
    played(FURTHER, 5, earned(1)),
    played(FURTHER, 5, earned(0), question="q1"),
    played("lost", 7, None),
    played("hinted", 8, earned(0), guided="hint"),
]


@pytest.mark.parametrize(
    ("failure", "failed", "expected"),
    [
        ("no_reward", "all", [("further/q1", 5, 1, 1), ("never", 4, 3, 3)]),
        (
            "no_reward",
            "any",
            [("further/q1", 5, 1, 1), ("later", 6, 2, 1), ("never", 4, 3, 3)],
        ),
        ("recall", "all", [("further/q1", 5, 1, 1), ("half", 2, 2, 2), ("never", 4, 3, 3)]),
        (
            "recall",
            "any",
            [
                ("further/q1", 5, 1, 1),
                ("half", 2, 2, 2),
                ("later", 6, 2, 1),
                ("never", 4, 3, 3),
            ],
        ),
    ],
)
def test_the_mined_set_is_the_one_worked_out_by_hand(
    failure: Any, failed: Any, expected: list[tuple[str, int, int, int]]
) -> None:
    settings = SupervisionSettings(failure=failure, failed=failed)
    mined = mine_errors(STORED, settings)
    assert [(str(e.key), e.group, e.episodes, e.failed) for e in mined] == expected


@given(st.permutations(STORED))
def test_the_set_does_not_depend_on_the_order_of_what_was_played(order: list[Trajectory]) -> None:
    settings = SupervisionSettings()
    assert mine_errors(order, settings) == mine_errors(STORED, settings)


def test_a_store_gives_back_what_was_played_and_forgets_what_is_made_anew(tmp_path: Path) -> None:
    store = TrajectoryStore(tmp_path / "trajectories")
    for step in (1, 2, 3):
        store.write(step, [STORED[step]])
    store.write(2, STORED[:2])
    assert store.read(1, 3) == [STORED[1], *STORED[:2], STORED[3]]
    left = tmp_path / "trajectories" / f".{'0' * 16}.draft"
    left.write_text("torn")
    (tmp_path / "trajectories" / "notes.txt").write_text("mine")
    store.files.forget_behind(1)
    names = sorted(file.name for file in (tmp_path / "trajectories").iterdir())
    assert names == ["notes.txt", "step-00000001.jsonl"]
    store.write(4, [])
    assert store.read(4, 4) == []
    with pytest.raises(ConfigError, match=r"step-00000002\.jsonl is missing"):
        store.read(1, 2)
