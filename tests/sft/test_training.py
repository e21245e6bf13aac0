"""The loop on a small model: what a step does, and that a run goes on as if it had never stopped."""

import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from astra_mcp.errors import ConfigError, TrainingError

from command_line import SECONDS, variables
from sft_runs import chat_rows, in_fork, kill_myself, prepared_run, write_rows

pytestmark = pytest.mark.train


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Twenty chats."""
    return write_rows(tmp_path / "rows.jsonl", chat_rows(20))


def weights_in(out: Path, step: int) -> bytes:
    return (out / "weights" / f"step-{step:08d}" / "model.safetensors").read_bytes()


def figures_in(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def play(prepared: Any, hear: Callable[[int], object] = lambda step: None, **more: Any) -> Any:
    from training.sft.training import train  # noqa: PLC0415 - it loads PyTorch

    def hear_step(progress: Any) -> None:
        hear(progress.step)

    return train(prepared, hear=hear_step, **more)


@pytest.mark.claim("P87")
def test_three_kills_change_no_bit_of_the_weights(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    checkpoints = {"every": 2, "keep_states": 1}

    def run(out: Path, killed_at: int | None) -> int:
        def hear(step: int) -> None:
            if step == killed_at:
                kill_myself()

        return in_fork(
            lambda: play(prepared_run(small_model, data, out, checkpoints=checkpoints), hear)
        )

    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert run(whole, None) == 0
    kills = [run(broken, step) for step in (1, 3, 4)]
    assert kills == [-9, -9, -9]
    assert run(broken, None) == 0
    assert weights_in(broken, 5) == weights_in(whole, 5)
    timeless = [
        [{k: v for k, v in line.items() if k != "seconds"} for line in figures_in(out)]
        for out in (whole, broken)
    ]
    assert timeless[0] == timeless[1]
    states = sorted(each.name for each in (broken / "state").iterdir())
    assert states == ["step-00000005"]


def test_a_run_that_is_asked_to_stop_saves_its_step_and_goes_on(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    stopped = play(prepared_run(small_model, data, out), should_stop=lambda: True)
    assert (stopped.ending, stopped.step) == ("stopped", 1)
    done = play(prepared_run(small_model, data, out))
    assert (done.ending, done.step, done.began_at) == ("done", 5, 1)
    whole = play(prepared_run(small_model, data, tmp_path / "whole"))
    assert weights_in(out, 5) == weights_in(whole.weights.parents[1], 5)


def test_the_loss_is_the_mean_over_the_tokens_however_a_batch_is_cut(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    found: list[tuple[float, float]] = []
    for size in (1, 3, 8):
        out = tmp_path / str(size)
        play(prepared_run(small_model, data, out, training={"micro_batch_size": size}))
        found += [(line["loss"], line["gradient_norm"]) for line in figures_in(out)[:1]]
    assert found[0] == pytest.approx(found[1], rel=1e-5)
    assert found[0] == pytest.approx(found[2], rel=1e-5)


def test_a_run_computes_as_its_settings_say_after_another_in_the_same_process(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    import accelerate  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs] - it loads PyTorch

    play(prepared_run(small_model, data, tmp_path / "before"))
    accelerate.state.AcceleratorState._reset_state()  # pyright: ignore[reportPrivateUsage]
    accelerate.Accelerator(cpu=True, mixed_precision="bf16")
    play(prepared_run(small_model, data, tmp_path / "after"))
    assert weights_in(tmp_path / "after", 5) == weights_in(tmp_path / "before", 5)


def test_the_loss_of_a_step_is_what_transformers_says_of_the_same_tokens(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    prepared = prepared_run(small_model, data, tmp_path / "run", training={"batch_size": 1})
    play(prepared)
    (example,) = prepared.batch(0)
    model: Any = cast("Any", AutoModelForCausalLM).from_pretrained(small_model)
    ids = torch.tensor(example.ids[None].astype("int64"))
    labels = torch.where(torch.tensor(example.mask[None]), ids, -100)
    expected = model(input_ids=ids, labels=labels).loss.item()
    assert figures_in(tmp_path / "run")[0]["loss"] == pytest.approx(expected, rel=1e-5)


def test_validation_names_the_loss_of_held_out_rows_and_what_a_validator_says(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    held_out = write_rows(tmp_path / "held.jsonl", chat_rows(5, begin=30))
    prepared = prepared_run(
        small_model, data, tmp_path / "run", validation={"file": str(held_out), "every": 2}
    )
    modes: list[tuple[int, bool]] = []

    def validate(model: Any, step: int) -> dict[str, float]:
        modes.append((step, model.training))
        return {"greedy/reward": step / 10}

    play(prepared, validate=validate)
    lines = figures_in(tmp_path / "run")
    assert modes == [(2, False), (4, False), (5, False)]
    assert [line["step"] for line in lines if "validation_loss" in line] == [2, 4, 5]
    assert [line["greedy/reward"] for line in lines if "greedy/reward" in line] == [0.2, 0.4, 0.5]
    assert lines[4]["validation_loss"] < lines[1]["validation_loss"]


def test_every_checkpoint_loads_by_itself_with_its_tokenizer(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM  # noqa: PLC0415

    from sft_runs import text_of  # noqa: PLC0415

    out = tmp_path / "run"
    play(prepared_run(small_model, data, out, checkpoints={"every": 2}))
    for folder in sorted((out / "weights").iterdir()):
        model: Any = cast("Any", AutoModelForCausalLM).from_pretrained(folder)
        assert all(math.isfinite(each.sum().item()) for each in model.parameters())
        assert text_of(folder)[0].encode("a key") == text_of(small_model)[0].encode("a key")
    assert len([*(out / "weights").iterdir()]) == 3


def test_a_loss_that_is_no_number_ends_the_run_and_keeps_what_was_saved(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    prepared = prepared_run(
        small_model, data, out, checkpoints={"every": 1}, training={"learning_rate": 1.0}
    )
    import torch  # noqa: PLC0415

    def break_it(model: Any, step: int) -> dict[str, float]:
        del step
        with torch.no_grad():
            next(model.parameters()).fill_(math.nan)
        return {}

    object.__setattr__(
        prepared, "settings", prepared.settings.model_copy(update={"validation": _every_step()})
    )
    with pytest.raises(TrainingError, match="no number any more in step 2"):
        play(prepared, validate=break_it)


def _every_step() -> Any:
    from training.sft.settings import ValidationSettings  # noqa: PLC0415

    return ValidationSettings(every=1)


def test_other_settings_or_rows_in_the_same_folder_are_refused_by_name(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    play(prepared_run(small_model, data, out))
    with pytest.raises(ConfigError, match=r"begun with training\.learning_rate 0\.01.* 0\.02"):
        play(prepared_run(small_model, data, out, training={"learning_rate": 0.02}))
    write_rows(data, chat_rows(20, begin=1))
    with pytest.raises(ConfigError, match=r"begun with the examples of data\.0"):
        play(prepared_run(small_model, data, out))
    write_rows(data, chat_rows(20))
    again = play(prepared_run(small_model, data, out, checkpoints={"every": 3}))
    assert (again.ending, again.began_at) == ("done", 5)


def test_weights_without_any_state_are_not_silently_trained_over(
    small_model: Path, data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    play(prepared_run(small_model, data, out, checkpoints={"every": 2}))
    shutil.rmtree(out / "state")
    lines = figures_in(out)
    with pytest.raises(ConfigError, match="weights up to step 5, and no whole state"):
        play(prepared_run(small_model, data, out))
    assert figures_in(out) == lines
    for step in (4, 5):
        shutil.rmtree(out / f"weights/step-{step:08d}")
    done = play(prepared_run(small_model, data, out))  # as a kill in the first save leaves it
    assert (done.began_at, done.step) == (0, 5)
    assert "weights of step 2 without their state" in caplog.text


def test_other_threads_than_before_are_warned_of(
    small_model: Path, data: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    play(prepared_run(small_model, data, out))
    begun = json.loads((out / "run.json").read_text())
    assert begun["versions"]["torch-threads"] == "1"
    play(prepared_run(small_model, data, out))
    assert "torch-threads" not in caplog.text
    begun["versions"]["torch-threads"] = "7"
    (out / "run.json").write_text(json.dumps(begun))
    play(prepared_run(small_model, data, out))
    assert "begun with torch-threads 7, and goes on with 1" in caplog.text


@pytest.mark.parametrize("has_gpu", [False, True])
def test_activations_are_computed_again_by_the_model_where_nothing_shards_it(
    small_model: Path, data: Path, tmp_path: Path, has_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch  # noqa: PLC0415

    from training.sft import devices, training  # noqa: PLC0415

    asked: list[bool] = []

    def load(name: str, *, gradient_checkpointing: bool) -> Any:
        asked.append(gradient_checkpointing)
        raise ConfigError(name)

    def alone(**options: Any) -> Any:
        del options
        return SimpleNamespace(is_main_process=True, wait_for_everyone=lambda: None)

    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setattr(training, "load_model", load)
    monkeypatch.setattr(devices, "Accelerator", alone)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    more: dict[str, Any] = {
        "parallel": {"processes": 2},
        "training": {"gradient_checkpointing": True},
    }
    with pytest.raises(ConfigError):
        play(prepared_run(small_model, data, tmp_path / "run", **more))
    assert asked == [not has_gpu]


def test_a_folder_is_begun_by_one_process_and_what_a_kill_left_is_removed(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    from training.checkpoints.lock import RunLock  # noqa: PLC0415

    out = tmp_path / "run"
    out.mkdir()
    (out / ".0123456789abcdef.draft").write_text("half")
    lock = RunLock(out)
    with pytest.raises(ConfigError, match=f"is written by process {os.getpid()}"):
        play(prepared_run(small_model, data, out))
    assert not (out / "run.json").exists()
    lock.release()
    assert play(prepared_run(small_model, data, out)).step == 5
    assert not [each.name for each in out.iterdir() if each.name.startswith(".")]


def test_a_run_that_was_started_as_other_processes_is_refused(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    prepared = prepared_run(
        small_model, data, tmp_path / "run", parallel={"processes": 2, "context": 2}
    )
    with pytest.raises(ConfigError, match=r"parallel\.processes is 2, .* torchrun --nproc"):
        play(prepared)
    assert not (tmp_path / "run").exists()


@pytest.mark.volume
def test_two_processes_come_to_the_losses_of_one(
    small_model: Path, data: Path, tmp_path: Path
) -> None:
    arguments = (
        "train", "sft", "--preset", "tiny", "--model", str(small_model), "--data", str(data),
        "--set", "log.tensorboard=false", "--set", "training.epochs=1", "--set", "training.batch_size=7",
        "--set", "training.micro_batch_size=2",
    )  # fmt: skip
    losses: list[list[float]] = []
    torchrun = [sys.executable, "-P", "-m", "torch.distributed.run", "--nproc-per-node"]
    for number in (1, 2):
        out = tmp_path / str(number)
        sizes = ("--set", f"parallel.processes={number}", "--out", str(out))
        done = subprocess.run(
            [*torchrun, str(number), "-m", "astra_mcp", *arguments, *sizes],
            env=variables(tmp_path / "home", OMP_NUM_THREADS="1"),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        losses.append([line["loss"] for line in figures_in(out)])
    assert len(losses[0]) == 3
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
