"""What is torn, flipped or gone is named and passed over; what does not belong among weights is an alarm."""

import logging
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from astra_mcp.errors import ConfigError
from training.checkpoints import CheckpointError, CheckpointStore, CheckpointWriter, OnFailure

from saved_runs import (
    FILES,
    FullDisk,
    QuickDisk,
    files_of,
    is_saved,
    loaded_model,
    names_in,
    same_tensors,
    state_of,
    tiny_model,
    weights_of,
)

pytestmark = [
    pytest.mark.train,
    # Of Python 3.12, for forks beside threads: what is forked here takes no lock of theirs.
    pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning"),
]


@pytest.fixture(autouse=True)
def _warnings_heard(caplog: pytest.LogCaptureFixture) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    with caplog.at_level(logging.WARNING):
        yield


def saved(folder: Path, *steps: int) -> CheckpointStore:
    store = CheckpointStore(folder)
    with CheckpointWriter(store, disk=QuickDisk()) as writer:
        for step in steps:
            writer.save(step, weights_of(step), state_of(step), FILES)
    return CheckpointStore(folder)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


PARTS = [
    "weights/step-00000002/model.safetensors",
    "weights/step-00000002/config.json",
    "weights/step-00000002/manifest.json",
    "state/step-00000002/state.pt",
    "state/step-00000002/manifest.json",
]


@pytest.mark.parametrize("harm", [flip, cut, Path.unlink])
@pytest.mark.parametrize("part", PARTS)
def test_the_next_older_pair_is_used_where_a_file_is_not_as_it_was_written(
    tmp_path: Path, part: str, harm: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    store = saved(tmp_path, 1, 2)
    before = store.newest()
    assert before is not None
    harm(tmp_path / part)
    newest = store.newest()  # the very store that found it whole before
    assert newest is not None
    assert (newest.step, is_saved(store, newest)) == (1, True)
    assert str(tmp_path / part) in caplog.text
    with pytest.raises(CheckpointError, match=Path(part).name):
        (store.load_weights if part.startswith("weights") else store.load_state)(before)
    listed = [checkpoint.step for checkpoint in store.all()]
    assert listed == ([1] if part.startswith("weights") else [1, 2])
    assert store.all()[-1].state == newest.state or listed == [1, 2]
    # Training goes on from the older one, through the damaged step.
    saved(tmp_path, 2, 3)
    again = CheckpointStore(tmp_path)
    assert [checkpoint.step for checkpoint in again.all()] == [1, 2, 3]
    assert all(same_tensors(again.load_weights(c), weights_of(c.step)) for c in again.all())


def test_a_state_is_never_paired_with_other_weights_of_its_step(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = saved(tmp_path / "a", 1, 2)
    other = CheckpointStore(tmp_path / "b")
    with CheckpointWriter(other) as writer:
        writer.save(2, weights_of(2, run=7), None, FILES)
    shutil.rmtree(store.weights.final(2))
    shutil.copytree(other.weights.final(2), store.weights.final(2))
    newest = store.newest()
    assert newest is not None
    assert newest.step == 1
    assert "belongs to other weights of step 2" in caplog.text


def test_a_folder_moved_to_another_step_is_not_taken_for_it(tmp_path: Path) -> None:
    store = saved(tmp_path, 1)
    for folders in (store.weights, store.states):
        shutil.copytree(folders.final(1), folders.final(3))
    newest = store.newest()
    assert newest is not None
    assert newest.step == 1
    assert [checkpoint.step for checkpoint in store.all()] == [1]


def test_more_than_weights_beyond_the_newest_states_is_an_alarm_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = CheckpointStore(tmp_path, 1)
    with CheckpointWriter(store) as writer:
        for step in (1, 2):
            writer.save(step, weights_of(step), state_of(step), FILES)
        writer.wait()
        (store.weights.final(1) / "optimizer.pt").write_bytes(b"large")
        (store.weights.final(2) / "notes.txt").write_bytes(b"its state is kept")
        for step in (3, 4):
            writer.save(step, weights_of(step), state_of(step), FILES)
    assert writer.usage.alarms == 2
    assert caplog.text.count("more than weights is kept beyond the newest 1 states") == 2
    assert str(store.weights.final(1) / "optimizer.pt") in caplog.text


def test_a_state_that_cannot_be_removed_is_an_alarm_and_removed_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Stubborn(QuickDisk):
        def remove_folder(self, path: Path) -> None:
            if not caplog.records:
                raise PermissionError(1, "Operation not permitted", str(path))
            super().remove_folder(path)

    store = CheckpointStore(tmp_path, 1)
    with CheckpointWriter(store, disk=Stubborn()) as writer:
        for step in (1, 2, 3):
            writer.save(step, weights_of(step), state_of(step), FILES)
    assert writer.usage.alarms == 1
    assert "cannot be removed: Operation not permitted" in caplog.text
    with CheckpointWriter(store):
        assert [name for name in names_in(store) if name.startswith("state")] == [
            "state/step-00000003"
        ]


@pytest.mark.parametrize("on_failure", OnFailure)
def test_a_refused_save_raises_at_the_next_call_or_is_counted(
    tmp_path: Path, on_failure: OnFailure, caplog: pytest.LogCaptureFixture
) -> None:
    store = CheckpointStore(tmp_path)
    with CheckpointWriter(store, disk=FullDisk(3), on_failure=on_failure) as writer:
        writer.save(1, weights_of(1), state_of(1), FILES)
        if on_failure is OnFailure.RAISE:
            with pytest.raises(CheckpointError, match=r"step 1 failed, nothing .*\d+ bytes"):
                writer.save(2, weights_of(2), state_of(2), FILES)
        else:
            writer.wait()
            assert "No space left on device" in caplog.text
        writer.save(2, weights_of(2), state_of(2), FILES)
    assert (writer.usage.saves, writer.usage.failed_saves) == (1, 1)
    assert [checkpoint.step for checkpoint in store.all()] == [2]


def test_a_refused_last_save_does_not_hide_what_ended_the_training(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def training() -> None:
        with CheckpointWriter(CheckpointStore(tmp_path), disk=FullDisk(3)) as writer:
            writer.save(1, weights_of(1), state_of(1), FILES)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        training()
    assert "the save of step 1 failed" in caplog.text


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one megabyte; the folder itself where this user may not mount one."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(folder)]
    is_mounted = not subprocess.run(mount, check=False, capture_output=True).returncode
    yield folder
    if is_mounted:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_keeps_what_it_holds_and_takes_saves_again_when_there_is_room(
    small_disk: Path,
) -> None:
    if not os.path.ismount(small_disk):
        pytest.skip("this user may not mount a small file system; refused writes are tested above")
    model = tiny_model(1)
    store = CheckpointStore(small_disk, 1)
    failures = 0
    state = {"moments": model.state_dict()}
    with CheckpointWriter(store, on_failure=OnFailure.WARN) as writer:
        for step in range(1, 81):
            writer.save(step, model.state_dict(), state, files_of(model))
            writer.wait()
            if writer.usage.failed_saves > failures:
                failures = writer.usage.failed_saves
                newest = store.newest()
                assert newest is not None
                assert not [name for name in names_in(store) if "/." in name]
                if failures == 3:
                    for old in store.all()[:4]:
                        shutil.rmtree(old.weights)
                if failures == 6:
                    break
    assert failures >= 3
    for checkpoint in store.all():
        loaded = loaded_model(checkpoint.weights)
        assert same_tensors(loaded.state_dict(), model.state_dict())
    steps = [checkpoint.step for checkpoint in store.all()]
    assert steps[-1] - steps[0] > len(steps)  # refused ones lie between those that were taken


def test_a_leftover_that_cannot_be_removed_is_named(tmp_path: Path) -> None:
    store = saved(tmp_path, 1)
    shutil.copytree(store.weights.final(1), tmp_path / "weights" / ".step-00000002.draft")
    with pytest.raises(ConfigError, match=r"is left of a killed save and cannot be removed"):
        CheckpointWriter(store, disk=FullDisk(1)).__enter__()
    with CheckpointWriter(store):
        assert not [name for name in names_in(store) if "/." in name]
