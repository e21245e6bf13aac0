"""A checkpoint is saved in the background, as it was when it was given, and loads again bit by bit."""

import logging
import os
import signal
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError
from training.checkpoints import CheckpointError, CheckpointStore, CheckpointWriter
from training.checkpoints.tensors import HostMemory, load_state, save_state

from saved_runs import (
    FILES,
    QuickDisk,
    WaitingDisk,
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


def save_steps(store: CheckpointStore, *steps: int) -> None:
    with CheckpointWriter(store, disk=QuickDisk()) as writer:
        for step in steps:
            writer.save(step, weights_of(step), state_of(step), FILES)


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("shard_bytes", [4_000, 10**9])
def test_weights_load_with_from_pretrained_whole_or_in_shards(
    tmp_path: Path, is_tied: bool, shard_bytes: int
) -> None:
    model = tiny_model(3, is_tied=is_tied)
    store = CheckpointStore(tmp_path)
    with CheckpointWriter(store, shard_bytes=shard_bytes) as writer:
        writer.save(100, model.state_dict(), None, files_of(model))
    (checkpoint,) = store.all()
    names = {path.name for path in checkpoint.weights.iterdir()}
    assert ("model.safetensors" in names) is (shard_bytes == 10**9)
    assert ("model.safetensors.index.json" in names) is (shard_bytes == 4_000)
    assert same_tensors(loaded_model(checkpoint.weights).state_dict(), model.state_dict())
    assert same_tensors(store.load_weights(checkpoint), model.state_dict())
    size = sum(p.stat().st_size for p in checkpoint.weights.glob("*.safetensors"))
    numbers = sum(p.numel() for p in model.parameters())
    assert numbers * 4 < size < numbers * 4 + 10_000  # a shared tensor is stored once


def test_training_goes_on_from_a_pair_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    model, optimizer = started(0)
    train(model, optimizer, range(3))
    with CheckpointWriter(store) as writer:
        writer.save(3, model.state_dict(), {"optimizer": optimizer.state_dict()}, files_of(model))
    train(model, optimizer, range(3, 6))

    newest = store.newest()
    assert newest is not None
    resumed, its_optimizer = started(1)
    resumed.load_state_dict(store.load_weights(newest))
    its_optimizer.load_state_dict(store.load_state(newest)["optimizer"])
    train(resumed, its_optimizer, range(3, 6))
    assert same_tensors(resumed.state_dict(), model.state_dict())


def started(seed: int) -> tuple[Any, torch.optim.Optimizer]:
    model = tiny_model(seed)
    return model, torch.optim.AdamW(model.parameters(), 1e-2)


def train(model: Any, optimizer: torch.optim.Optimizer, steps: range) -> None:
    for step in steps:
        ids = (torch.arange(12) * (step + 3) % 64).unsqueeze(0)
        loss: torch.Tensor = model(input_ids=ids, labels=ids).loss
        loss.backward()  # pyright: ignore[reportUnknownMemberType]
        optimizer.step()
        optimizer.zero_grad()


def test_equal_contents_are_equal_files(tmp_path: Path) -> None:
    for name in ("a", "b"):
        save_steps(CheckpointStore(tmp_path / name), 1, 2)
    first, second = contents(tmp_path / "a"), contents(tmp_path / "b")
    del first["checkpoints.lock"], second["checkpoints.lock"]  # the number of the process
    assert first == second
    assert len(first) == 12


def test_a_state_that_was_loaded_is_saved_to_the_same_bytes(tmp_path: Path) -> None:
    words = ["exp", "exp_avg"]
    state = {"a": ["".join(["exp", "_avg"]), words[1]], "b": {words[1]: torch.arange(3.0)[1:]}}
    for name in ("first", "second"):
        _, copied = HostMemory().copy({}, state)
        assert copied is not None
        save_state(copied)(tmp_path / name)
        state = load_state(tmp_path / name)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()


_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**2000) + 1, 2**2000 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters())
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers() | st.text(), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(), _values, max_size=4))
def test_a_state_loads_as_it_was_saved(
    tmp_path_factory: pytest.TempPathFactory, state: dict[str, Any]
) -> None:
    path = tmp_path_factory.mktemp("state") / "state.pt"
    _, copied = HostMemory().copy({}, state)
    assert copied is not None
    save_state(copied)(path)
    assert load_state(path) == state


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), r"state\['a'\]\[1\] is a builtins.object"),
        (b"", r"state\['a'\]\[1\] is a builtins.bytes"),
        ({1, 2}, r"state\['a'\]\[1\] is a builtins.set"),
        (torch.zeros(2).numpy(), r"numpy.ndarray"),
        (torch.zeros(2).numpy()[0], r"numpy.float32"),
        (1 << 3000, r"state\['a'\]\[1\] is a builtins.int"),
        (torch.zeros(2, device="meta"), "meta"),
        (torch.eye(2).to_sparse(), "make it dense"),
        ({object(): 1}, r"a key of state\['a'\]\[1\]"),
    ],
)
def test_a_state_that_no_resume_could_load_is_refused_by_its_place(
    tmp_path: Path, value: object, words: str
) -> None:
    with CheckpointWriter(CheckpointStore(tmp_path)) as writer:
        with pytest.raises(TypeError, match=words):
            writer.save(1, {}, {"a": [0, value]}, {})
        writer.save(1, weights_of(1), {"a": OrderedDict(b=1)}, FILES)
    newest = CheckpointStore(tmp_path).newest()
    assert newest is not None
    assert newest.step == 1


def test_what_changes_after_a_save_is_not_in_it(tmp_path: Path) -> None:
    store, disk = CheckpointStore(tmp_path), WaitingDisk()
    weights, state = weights_of(1), state_of(1)
    with CheckpointWriter(store, disk=disk) as writer:
        writer.save(1, weights, state, FILES)
        for tensor in (*weights.values(), state["optimizer"]["state"][0]["exp_avg"]):
            tensor.add_(1)
        state["position"][1].append(7)
        disk.may_go_on.set()
    newest = store.newest()
    assert newest is not None
    assert is_saved(store, newest)


def test_a_save_waits_for_the_one_before_it_and_is_copied_after_its_end(tmp_path: Path) -> None:
    store, disk = CheckpointStore(tmp_path), WaitingDisk()
    with CheckpointWriter(store, disk=disk) as writer:
        writer.save(1, weights_of(1), state_of(1), FILES)
        assert disk.has_begun.wait(30)
        second = threading.Thread(target=writer.save, args=(2, weights_of(2), state_of(2), FILES))
        second.start()
        assert store.all() == ()
        assert second.is_alive()
        disk.may_go_on.set()
        second.join(30)
        assert [checkpoint.step for checkpoint in store.all()][:1] == [1]
    usage = writer.usage
    assert (usage.saves, usage.failed_saves, usage.alarms) == (2, 0, 0)
    on_disk = sum(len(text) for name, text in contents(tmp_path).items() if "lock" not in name)
    assert usage.bytes_written == on_disk
    assert all(is_saved(store, checkpoint) for checkpoint in store.all())


def test_a_disk_that_hangs_is_an_error_and_its_folder_stays_locked(tmp_path: Path) -> None:
    disk = WaitingDisk()
    with (
        pytest.raises(CheckpointError, match=r"did not end within 0.01 s"),
        CheckpointWriter(CheckpointStore(tmp_path), disk=disk, patience_seconds=0.01) as writer,
    ):
        writer.save(1, weights_of(1), None, FILES)
    with pytest.raises(ConfigError, match="is written by process"):
        CheckpointWriter(CheckpointStore(tmp_path)).__enter__()
    disk.may_go_on.set()


@pytest.mark.parametrize(
    ("keep_states", "keep_weights", "states", "weights"),
    [
        (1, None, [5], [1, 2, 3, 4, 5]),
        (2, None, [4, 5], [1, 2, 3, 4, 5]),
        (3, 1, [3, 4, 5], [3, 4, 5]),
        (1, 2, [5], [4, 5]),
        (9, 9, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
    ],
)
def test_states_are_kept_of_the_newest_pairs_alone(
    tmp_path: Path,
    keep_states: int,
    keep_weights: int | None,
    states: list[int],
    weights: list[int],
) -> None:
    store = CheckpointStore(tmp_path, keep_states, keep_weights)
    save_steps(store, 1, 2, 3, 4, 5)
    found = store.all()
    assert [checkpoint.step for checkpoint in found] == weights
    assert [checkpoint.step for checkpoint in found if checkpoint.state] == states
    names = [f"state/step-{step:08d}" for step in states]
    assert names_in(store) == names + [f"weights/step-{step:08d}" for step in weights]


def test_weights_that_a_resume_needs_outlive_newer_ones(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, 1, 2)
    with CheckpointWriter(store) as writer:
        for step in range(1, 7):
            writer.save(step, weights_of(step), state_of(step) if step == 2 else None, FILES)
    assert [checkpoint.step for checkpoint in store.all()] == [2, 5, 6]
    newest = store.newest()
    assert newest is not None
    assert newest.step == 2


@pytest.mark.parametrize("name", ["", "a/b", "../a", ".a", "manifest.json", "model.safetensors"])
def test_a_file_that_would_hide_one_of_ours_is_refused(tmp_path: Path, name: str) -> None:
    with CheckpointWriter(CheckpointStore(tmp_path)) as writer:
        with pytest.raises(ConfigError, match="cannot be called"):
            writer.save(1, weights_of(1), None, {name: b""})
        writer.save(1, weights_of(1), None, FILES)


def test_a_step_below_the_newest_pair_is_refused_but_weights_beyond_it_are_written_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = CheckpointStore(tmp_path)
    with CheckpointWriter(store) as writer:
        writer.save(5, weights_of(5), state_of(5), FILES)
        writer.save(6, weights_of(6, run=9), None, FILES)
        writer.wait()
        with pytest.raises(ConfigError, match=r"step 6 is not above step 6"):
            writer.save(6, weights_of(6), None, FILES)
    with CheckpointWriter(store) as writer:
        with pytest.raises(ConfigError, match=r"step 5 is not above step 5.*resume from it"):
            writer.save(5, weights_of(5), None, FILES)
        with pytest.raises(ConfigError, match="below 0"):
            writer.save(-1, weights_of(5), None, FILES)
        writer.save(6, weights_of(6), state_of(6), FILES)
    newest = store.newest()
    assert newest is not None
    assert (newest.step, is_saved(store, newest)) == (6, True)
    assert "step-00000006 is replaced by others" in caplog.text


@pytest.mark.parametrize("option", ["keep_states", "keep_weights"])
def test_options_out_of_range_are_named(tmp_path: Path, option: str) -> None:
    with pytest.raises(ConfigError, match=f"{option} is 0"):
        CheckpointStore(tmp_path, **{option: 0})
    with pytest.raises(ConfigError, match="shard_bytes is 0"):
        CheckpointWriter(CheckpointStore(tmp_path), shard_bytes=0)


def test_a_folder_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(ConfigError, match="run is no folder"):
        CheckpointStore(tmp_path / "run")
    (tmp_path / "weights").write_text("")
    with pytest.raises(ConfigError, match="weights cannot be made"):
        CheckpointWriter(CheckpointStore(tmp_path)).__enter__()


def test_a_folder_that_nobody_wrote_holds_nothing(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path / "none")
    assert (store.newest(), store.all()) == (None, ())
    assert not store.folder.exists()


def test_two_writers_never_have_one_folder(tmp_path: Path) -> None:
    with CheckpointWriter(CheckpointStore(tmp_path)):
        with pytest.raises(ConfigError, match=r"is written by process \d+: wait"):
            CheckpointWriter(CheckpointStore(tmp_path)).__enter__()
        other = in_fork(lambda: save_steps(CheckpointStore(tmp_path), 1))
        assert other == 1
    save_steps(CheckpointStore(tmp_path), 1)


def test_a_fork_of_a_killed_trainer_neither_writes_nor_keeps_the_next_one_out(
    tmp_path: Path,
) -> None:
    told, tells = os.pipe()
    may_end, end = os.pipe()

    def worker(writer: CheckpointWriter) -> None:
        os.close(end)
        with pytest.raises(RuntimeError, match="not entered"):
            writer.save(1, weights_of(1), None, FILES)
        os.write(tells, b"refused")
        os.read(may_end, 1)  # ends with the test, whatever becomes of it

    def trainer() -> None:
        with CheckpointWriter(CheckpointStore(tmp_path)) as writer:
            if os.fork() == 0:
                try:
                    worker(writer)
                finally:
                    os._exit(0)
            os.close(tells)
            assert os.read(told, 7) == b"refused"
            os.kill(os.getpid(), signal.SIGKILL)

    try:
        assert in_fork(trainer) == -signal.SIGKILL
        save_steps(CheckpointStore(tmp_path), 1)
    finally:
        for descriptor in (told, tells, may_end, end):
            os.close(descriptor)


def test_the_list_needs_no_torch_and_loading_names_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "import sys, training.checkpoints; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    store = CheckpointStore(tmp_path)
    save_steps(store, 1)
    newest = store.newest()
    assert newest is not None
    monkeypatch.setitem(sys.modules, "training.checkpoints.tensors", None)
    monkeypatch.delattr("training.checkpoints.tensors")
    for use in (
        lambda: store.load_state(newest),
        lambda: CheckpointWriter(store).__enter__(),
    ):
        with pytest.raises(ConfigError, match=r"install astra-mcp\[train\]"):
            use()


def test_weights_without_state_say_so(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path)
    with CheckpointWriter(store) as writer:
        writer.save(1, weights_of(1), None, FILES)
    assert store.newest() is None
    with pytest.raises(ConfigError, match="has no state beside it"):
        store.load_state(store.all()[0])


@pytest.fixture(autouse=True)
def _warnings_heard(caplog: pytest.LogCaptureFixture) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    with caplog.at_level(logging.WARNING):
        yield
