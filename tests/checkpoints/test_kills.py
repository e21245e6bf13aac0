"""Whatever kills a save, and whenever: the newest complete pair is found, and the run goes on from it."""

import os
import random
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from training.checkpoints import CheckpointError, CheckpointStore, CheckpointWriter
from training.checkpoints.disk import Disk

from saved_runs import (
    FILES,
    Died,
    DyingDisk,
    FullDisk,
    KillingDisk,
    QuickDisk,
    files_of,
    in_fork,
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

KILLED = -signal.SIGKILL


def save_with(folder: Path, disk: Disk, step: int) -> None:
    with CheckpointWriter(CheckpointStore(folder, 1, 2), disk=disk) as writer:
        writer.save(step, weights_of(step), state_of(step), FILES)


def test_a_kill_at_any_step_of_a_save_leaves_a_pair_that_training_goes_on_from(
    tmp_path: Path,
) -> None:
    kills, newest_steps = 0, set[int]()
    for step in (10, 20):
        save_with(tmp_path / "before", QuickDisk(), step)
    for at in range(1, 1000):
        folder = tmp_path / str(at)
        shutil.copytree(tmp_path / "before", folder)
        ended = in_fork(lambda folder=folder, at=at: save_with(folder, KillingDisk(at), 30))
        if ended == 0:
            break
        assert ended == KILLED
        kills += 1
        store = CheckpointStore(folder, 1, 2)
        newest = store.newest()
        assert newest is not None
        assert is_saved(store, newest)
        newest_steps.add(newest.step)
        kept = [checkpoint.step for checkpoint in store.all()]
        assert {newest.step, 20} <= {*kept, newest.step}
        save_with(folder, QuickDisk(), 40)
        assert [checkpoint.step for checkpoint in store.all()][-1:] == [40]
        assert is_saved(store, store.all()[-1])
        assert not [name for name in names_in(store) if "/." in name]
    assert kills > 40
    assert newest_steps == {20, 30}


@pytest.mark.parametrize("is_replacing", [False, True])
def test_a_refusal_at_any_step_keeps_what_was_there_and_training_may_go_on(
    tmp_path: Path, is_replacing: bool
) -> None:
    refusals = 0
    for at in range(1, 1000):
        store = CheckpointStore(tmp_path / str(at), 1)
        with CheckpointWriter(store, disk=QuickDisk()) as writer:
            writer.save(10, weights_of(10), state_of(10), FILES)
            if is_replacing:
                writer.save(20, weights_of(20), None, FILES)
        disk = FullDisk(at)
        with CheckpointWriter(store, disk=disk) as writer:
            writer.save(20, weights_of(20), state_of(20), FILES)
            words = failure_of(writer)
            if words:
                refusals += 1
                assert "No space left on device" in words
                assert str(store.folder) in words
                newest = store.newest()
                assert newest is not None
                assert newest.step == (20 if "a complete pair of it is there" in words else 10)
                assert is_saved(store, newest)
                assert not is_replacing or [c.step for c in store.all()] == [10, 20]
                assert ("nothing of it" in words) is (20 not in [c.step for c in store.all()])
            is_over = disk.steps < at
            disk.at = 0
            writer.save(30, weights_of(30), state_of(30), FILES)
        newest = store.newest()
        assert newest is not None
        assert (newest.step, is_saved(store, newest)) == (30, True)
        if is_over:
            break
    assert refusals > 15


def failure_of(writer: CheckpointWriter) -> str:
    try:
        writer.wait()
    except CheckpointError as error:
        return str(error)
    return ""


@dataclass(frozen=True)
class Save:
    """One save of a random history, and what befalls it."""

    has_state: bool
    dies_at: int | None
    is_refused: bool


_saves = st.builds(Save, st.booleans(), st.none() | st.integers(1, 60), st.booleans())


@given(
    saves=st.lists(_saves, min_size=1, max_size=8),
    keep_states=st.integers(1, 3),
    keep_weights=st.none() | st.integers(1, 3),
)
def test_no_history_of_saves_kills_and_full_disks_loses_the_newest_pair(
    tmp_path_factory: pytest.TempPathFactory,
    saves: list[Save],
    keep_states: int,
    keep_weights: int | None,
) -> None:
    folder = tmp_path_factory.mktemp("run")
    pair: int | None = None  # the newest that was acknowledged
    weights: set[int] = set()  # all that were
    step = 0
    for save in saves:
        store = CheckpointStore(folder, keep_states, keep_weights)
        newest = store.newest()
        step = (newest.step if newest else 0) + 1
        kind = FullDisk if save.is_refused else DyingDisk
        disk = kind(save.dies_at) if save.dies_at else QuickDisk()
        try:
            with CheckpointWriter(store, disk=disk) as writer:
                state = state_of(step) if save.has_state else None
                writer.save(step, weights_of(step), state, FILES)
        except (CheckpointError, Died):
            weights.discard(step)  # it may have come, or been about to be replaced
            assert newest is None or store.newest() in (newest, _at(store, step))
        else:
            weights.add(step)
            pair = step if save.has_state else pair
        again = CheckpointStore(folder, keep_states, keep_weights)
        found = again.newest()
        assert (found.step if found else 0) >= (pair or 0)
        assert found is None or is_saved(again, found)
        whole = {checkpoint.step for checkpoint in again.all()}
        if keep_weights is None:
            assert weights <= whole
        assert all(same_tensors(again.load_weights(c), weights_of(c.step)) for c in again.all())
    store = CheckpointStore(folder, keep_states, keep_weights)
    with CheckpointWriter(store, disk=QuickDisk()) as writer:
        writer.save(step + 1, weights_of(step + 1), state_of(step + 1), FILES)
    assert not [name for name in names_in(store) if "/." in name]
    assert len(store.states.steps()) <= keep_states
    assert len(store.weights.steps()) <= (keep_weights or 99) + keep_states


def _at(store: CheckpointStore, step: int) -> Any:
    return next((c for c in store.all() if c.step == step), None)


LAST = 40


def train_on(folder: Path) -> None:
    """Train a model to its last step, from the newest pair on, and save each step."""
    store = CheckpointStore(folder)
    model: Any = tiny_model(1)
    optimizer: Any = torch.optim.AdamW(model.parameters(), 1e-2)
    newest = store.newest()
    if newest is not None:
        model.load_state_dict(store.load_weights(newest))
        state = store.load_state(newest)
        optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
    with CheckpointWriter(store) as writer:
        for step in range(newest.step + 1 if newest else 1, LAST + 1):
            ids = torch.randint(64, (2, 12))
            model(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            state = {"optimizer": optimizer.state_dict(), "random": torch.get_rng_state()}
            writer.save(step, model.state_dict(), state, files_of(model))


@pytest.mark.volume
@pytest.mark.timeout(900)
def test_twenty_kills_at_random_moments_of_a_training_end_in_the_weights_of_an_unkilled_one(
    tmp_path: Path,
) -> None:
    moments = random.Random(0)  # noqa: S311
    assert in_fork(lambda: train_on(tmp_path / "whole")) == 0
    kills, runs, folder = 0, 0, tmp_path
    while kills < 20:
        folder = tmp_path / str(runs)
        runs += 1
        while kills < 20 and not killed_or_done(folder, moments.uniform(0.01, 1.5)):
            kills += 1
            for checkpoint in CheckpointStore(folder).all():
                loaded_model(checkpoint.weights)
    assert in_fork(lambda: train_on(folder)) == 0
    for whole in CheckpointStore(tmp_path / "whole").all():
        file = f"weights/step-{whole.step:08d}/model.safetensors"
        assert (folder / file).read_bytes() == (tmp_path / "whole" / file).read_bytes()


def killed_or_done(folder: Path, seconds: float) -> bool:
    """Train in a fork and kill it after some time; returns whether it was done before."""
    pid = os.fork()
    if pid == 0:
        try:
            train_on(folder)
        finally:
            os._exit(0)
    time.sleep(seconds)
    os.kill(pid, signal.SIGKILL)
    return os.waitpid(pid, 0)[1] == 0
