"""``astra-mcp train``: what is said before a run, what a wrong option leads to, and a run that is stopped."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from astra_mcp.compose.runs.notes import RunState, list_runs

from command_line import Cli
from sft_runs import chat_rows, write_rows

pytestmark = pytest.mark.train

SMALL = ("--set", "training.precision=float32", "--set", "log.tensorboard=false")


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A home of its own, beside a file of twenty chats."""
    write_rows(tmp_path / "rows.jsonl", chat_rows(20))
    return Cli(tmp_path / "home", {"HF_HUB_OFFLINE": "1"})


@pytest.mark.parametrize(
    ("preset", "memory"), [("paper-14b", 27.5), ("paper-32b", 61.0), ("qwen3-4b", 59.9)]
)
def test_a_preset_is_computed_without_its_model_and_marked_as_not_run(
    cli: Cli, preset: str, memory: float
) -> None:
    done = cli.run("train", "sft", "--preset", preset, "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    assert "not run here" in done.told
    assert done.told["parameters"] > 10**9
    # Weights, gradients and both moments alone, in GiB for each of the devices.
    assert done.told["memory_bytes"] / 2**30 > memory
    assert not (cli.folder / "run").exists()


def test_a_dry_run_says_what_would_be_used_and_writes_nothing(cli: Cli, small_model: Path) -> None:
    before = sorted(cli.folder.iterdir())
    arguments = ("--preset", "tiny", "--model", str(small_model), "--data", "rows.jsonl")
    done = cli.run("train", "sft", *arguments, "--dry-run")
    assert done.returncode == 0, done.stderr
    for said in ("hermes", "20 examples", "cosine", "metrics.jsonl", "torch", "learning rate"):
        assert said in done.stdout
    assert sorted(cli.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name settings with --config FILE, or a preset with --preset"),
        (("--preset", "tinny"), "no preset is named 'tinny'; did you mean tiny?"),
        (("--preset", "tiny"), "out: is needed"),
        (("--config", "none.toml"), "none.toml cannot be read"),
        (("--preset", "tiny", "--out", "r", "--data", "none.jsonl"), "none.jsonl cannot be read"),
        (("--preset", "tiny", "--out", "r", "--set", "training.lr=1"), "training.lr: there is no such"),
        (("--preset", "paper-14b", "--out", "r", "--data", "rows.jsonl"), "Qwen/Qwen3-14B"),
        (("--preset", "paper-14b", "--dry-run", "--data", "none.jsonl"), "none.jsonl cannot be read"),
        (("--preset", "paper-14b", "--dry-run", "--data", "rows.jsonl", "--set", "data.0.min_reward=1"),
         "row 1 does not say where it comes from"),
        (("--preset", "qwen3-4b", "--dry-run", "--model", "none/"), "no such folder: none/"),
        (("--preset", "qwen3-4b", "--out", "r"), "there is nothing to train on"),
        (("--config", "rows.jsonl"), "rows.jsonl is no TOML"),
        (("--preset", "tiny", "--out", "rows.jsonl", "--data", "rows.jsonl"), "rows.jsonl"),
    ],
)  # fmt: skip
def test_a_wrong_option_is_refused_by_name(
    cli: Cli, small_model: Path, arguments: tuple[str, ...], said: str
) -> None:
    if "tiny" in arguments and "--data" in arguments:
        arguments = (*arguments, "--model", str(small_model))
    done = cli.run("train", "sft", *arguments)
    assert done.returncode == 2, done
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_what_takes_no_model_is_looked_at_without_it(cli: Cli) -> None:
    arguments = ("--preset", "paper-14b", "--data", "rows.jsonl", "--dry-run", "--json")
    done = cli.run("train", "sft", *arguments)
    assert done.returncode == 0, done.stderr
    assert done.told["data.0"] == "rows.jsonl: 20 rows were read, and all were taken"
    assert done.told["lengths"] == "not looked at: the model is not here"
    assert "'Qwen/Qwen3-14B' is no folder, was not loaded before" in done.told["not run here"]
    assert "it is for 8 devices" in done.told["not run here"]


@pytest.mark.parametrize("dry", [("--dry-run",), ()])
def test_environments_that_are_not_there_are_refused_before_anything_is_written(
    cli: Cli, small_model: Path, dry: tuple[str, ...]
) -> None:
    named = """validation.environments=["micro-boxes-none"]"""
    done = cli.run(
        "train", "sft", "--preset", "tiny", "--model", str(small_model), "--data", "rows.jsonl",
        "--out", "run", "--set", named, *dry,
    )  # fmt: skip
    assert done.returncode == 2, done
    said = " ".join(done.stderr.split())
    assert "validation.environments: no environment is named 'micro-boxes-none'" in said
    assert "`environments` in astra.toml or ASTRA_MCP_ENVIRONMENTS" in said
    assert [each.name for each in cli.folder.iterdir()] == ["rows.jsonl"]


def test_a_dry_run_shows_the_folder_of_the_file(cli: Cli, small_model: Path) -> None:
    text = (
        f'preset = "tiny"\nmodel = "{small_model}"\nout = "mine"\n[[data]]\nfile = "rows.jsonl"\n'
    )
    (cli.folder / "run.toml").write_text(text)
    done = cli.run("train", "sft", "--config", "run.toml", "--dry-run", "--json")
    assert "into mine," in done.told["checkpoints"]


def test_a_refused_run_leaves_no_tiny_model_behind(cli: Cli) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "notes.txt").write_text("mine")
    run = ("train", "sft", "--preset", "tiny", "--data", "rows.jsonl", *SMALL)
    done = cli.run(*run, "--out", "mine")
    assert (done.returncode, "holds" in done.stderr) == (2, True)
    assert "Writing model shards" not in done.stderr
    assert [each.name for each in (cli.folder / "mine").iterdir()] == ["notes.txt"]
    done = cli.run(*run, "--out", "run", "--set", "examples.max_tokens=2")
    assert (done.returncode, "no example to train on" in done.stderr) == (2, True)
    assert not (cli.folder / "run").exists()


def test_processes_on_cpus_each_take_the_memory_of_the_whole_model(
    cli: Cli, small_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from astra_mcp.cli.train import sft  # noqa: PLC0415 - it loads PyTorch

    monkeypatch.setattr(sft, "devices_here", lambda: 0)
    run = ("train", "sft", "--preset", "tiny", "--model", str(small_model), "--dry-run", "--json")
    two = ("--set", "parallel.processes=2")
    alone, sharded = cli.run(*run).told, cli.run(*run, *two).told
    started = cli.run(*run, *two, WORLD_SIZE="2").told
    assert sharded["memory_bytes"] < alone["memory_bytes"] == started["memory_bytes"]
    assert "on each of 2 GPUs, or " in sharded["memory"]
    assert "in each process, which holds the whole model" in started["memory"]


def test_who_does_not_look_is_told_each_tenth_and_each_validation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from astra_mcp.cli.train.plan import show_progress  # noqa: PLC0415 - it loads PyTorch
    from training.sft.training import Progress  # noqa: PLC0415

    with show_progress(45) as hear:
        for step in range(1, 46):
            measured = {"validation_loss": 2.0} if step == 7 else {}
            hear(Progress(step, 45, {"loss": 1.0, **measured}))
    lines = capsys.readouterr().err.splitlines()
    assert [int(line.split()[1]) for line in lines] == [5, 7, 9, 14, 18, 23, 27, 32, 36, 41, 45]
    assert lines[1] == "step 7 of 45: loss 1, validation loss 2"
    with show_progress(45) as hear:
        hear(Progress(1, 45, {"loss": 1.0, "signals/lessons": 0}))
    assert capsys.readouterr().err == "step 1 of 45: loss 1, signals lessons 0\n"


def test_a_folder_with_something_else_is_left_alone(cli: Cli, small_model: Path) -> None:
    (cli.folder / "mine").mkdir()
    (cli.folder / "mine" / "notes.txt").write_text("mine")
    done = cli.run(
        "train", "sft", "--preset", "tiny", "--model", str(small_model), "--data", "rows.jsonl",
        "--out", "mine", *SMALL,
    )  # fmt: skip
    assert done.returncode == 2
    assert "holds" in done.stderr
    assert [each.name for each in (cli.folder / "mine").iterdir()] == ["notes.txt"]


def test_ctrl_c_saves_the_step_and_the_same_command_goes_on(cli: Cli, small_model: Path) -> None:
    arguments = (
        "train", "sft", "--preset", "tiny", "--model", str(small_model), "--data", "rows.jsonl",
        "--out", "run", *SMALL, "--set", "training.epochs=60", "--set", "training.batch_size=8",
    )  # fmt: skip
    metrics, is_over = cli.folder / "run" / "metrics.jsonl", threading.Event()

    def interrupt() -> None:
        while not is_over.wait(0.005):
            if metrics.exists() and metrics.stat().st_size:
                os.kill(os.getpid(), signal.SIGINT)
                return

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        stopped = cli.run(*arguments)
    finally:
        is_over.set()
        thread.join()
    assert stopped.returncode == 130
    assert "the same command goes on" in stopped.stderr
    [run] = list_runs(cli.home).runs
    assert (run.state, run.note.place) == (RunState.STOPPED, (cli.folder / "run").resolve())
    step = len(metrics.read_text().splitlines())
    assert step < 150
    assert (cli.folder / f"run/weights/step-{step:08d}/model.safetensors").exists()
    done = cli.run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert (done.told["began_at"], done.told["step"]) == (step, 150)
    [again] = list_runs(cli.home).runs
    assert (again.id, again.state) == (run.id, RunState.DONE)
    assert again.note.figure.startswith("step 150 of 150, loss ")
    steps = [json.loads(line)["step"] for line in metrics.read_text().splitlines()]
    assert steps == [*range(1, 151)]
    page = cli.run("train", "report", "run", "--out", "page.html")
    assert page.returncode == 0, page.stderr
    assert "Learning rate" in (cli.folder / "page.html").read_text()


def test_environments_whose_prompts_are_all_too_long_are_an_error_before_training(
    cli: Cli, small_model: Path
) -> None:
    done = cli.run(
        "train", "sft", "--preset", "tiny", "--model", str(small_model), "--data", "rows.jsonl",
        "--out", "run", *SMALL, "--set", 'validation.environments=["drone-show-winds"]',
    )  # fmt: skip
    assert done.returncode == 2, done
    assert "leaves no room for a turn of" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (cli.folder / "run").exists()


def test_the_plan_names_the_preset_of_the_file(cli: Cli, small_model: Path) -> None:
    (cli.folder / "run.toml").write_text('preset = "tiny"\n')
    done = cli.run(
        "train", "sft", "--config", "run.toml", "--model", str(small_model), "--data", "rows.jsonl",
        "--dry-run", "--json",
    )  # fmt: skip
    assert done.told["preset"] == "tiny"
