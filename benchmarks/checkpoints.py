"""What saving checkpoints costs, beside the trainer of transformers at the same frequency.

    python -P benchmarks/checkpoints.py [--json FILE] [--saves N] [--every N] [--folder FOLDER]

``transformers.Trainer`` trains the same Qwen3 model from the same start on eight tokens a step, four times
for each of two sizes: without saving, saving in its own way, saving by :mod:`training.checkpoints` (states of
the newest two kept), and so with a state beside every third save alone. Processor seconds are those of the
process, all threads, less those of the run without saving. Bytes kept are those of the files at the end. Ours
waits until the disk has it all (fsync), which the stock trainer does not.
"""

import argparse
import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import torch  # noqa: E402
from transformers import (  # noqa: E402
    Qwen3Config,
    Qwen3ForCausalLM,
    Trainer,
    TrainerCallback,
    TrainingArguments,
)
from transformers.utils import logging as transformers_logging  # noqa: E402

from training.checkpoints import CheckpointStore, CheckpointWriter  # noqa: E402

from circumstances import conditions  # noqa: E402

SEED = 0
STATE_EVERY = 3
SIZES = {"small": (32, 2, 1_000), "large": (512, 12, 32_000)}
"""Width, layers and vocabulary: 0.1 and 61 million parameters."""
WAYS = ("none", "stock", "ours", "ours_sparse")


def main() -> None:
    """Measure, print, and write the figures where asked to."""
    options = _options()
    torch.set_num_threads(1)
    transformers_logging.disable_progress_bar()
    packages = {name: version(name) for name in ("torch", "transformers", "safetensors")}
    circumstances = conditions(
        seed=SEED, saves=options.saves, every=options.every, threads=1, **packages
    )
    figures: dict[str, Any] = {
        f"{size}_{name}": value for size in SIZES for name, value in _measure(size, options).items()
    }
    figures["conditions"] = circumstances.finished()
    print(json.dumps(figures, indent=2))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def _measure(size: str, options: argparse.Namespace) -> dict[str, float]:
    runs: dict[str, dict[str, float]] = {}
    for way in WAYS:
        with tempfile.TemporaryDirectory(dir=options.folder, prefix="astra-mcp-bench-") as folder:
            runs[way] = _run(size, way, options, Path(folder))
    without = runs.pop("none")["processor_seconds"]
    for run in runs.values():
        run["processor_seconds"] = round(run["processor_seconds"] - without, 3)
    figures = {f"{way}_{name}": value for way, run in runs.items() for name, value in run.items()}
    for way in ("ours", "ours_sparse"):
        for name, value in runs["stock"].items():
            figures[f"{way}_{name}_ratio"] = round(runs[way][name] / value, 3)
    return figures


def _run(size: str, way: str, options: argparse.Namespace, folder: Path) -> dict[str, float]:
    trainer: Any = _Timed(_model(size), options, folder, saves=way == "stock")
    if way not in ("ours", "ours_sparse"):
        started = time.process_time()
        trainer.train()
        figures = {"blocked_seconds": trainer.blocked, "bytes_written": _bytes(folder)}
    else:
        started = time.process_time()
        with CheckpointWriter(CheckpointStore(folder)) as writer:
            trainer.add_callback(
                _Saving(writer, options.every, 1 if way == "ours" else STATE_EVERY)
            )
            trainer.train()
        usage = writer.usage
        figures = {
            "blocked_seconds": usage.blocked_seconds,
            "bytes_written": usage.bytes_written,
            "background_seconds": usage.background_seconds,
        }
    figures["processor_seconds"] = time.process_time() - started
    figures["bytes_kept"] = _bytes(folder)
    return {name: round(value, 3) for name, value in figures.items()}


def _model(size: str) -> Any:
    width, layers, vocabulary = SIZES[size]
    torch.manual_seed(SEED)  # pyright: ignore[reportUnknownMemberType]
    return Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=vocabulary,
            hidden_size=width,
            intermediate_size=width * 3,
            num_hidden_layers=layers,
            num_attention_heads=8,
            num_key_value_heads=8,
            head_dim=max(width // 8, 8),
            tie_word_embeddings=True,
        )
    )


class _Timed(Trainer):
    """The stock trainer, which also tells how long its saves keep it."""

    def __init__(
        self, model: Any, options: argparse.Namespace, folder: Path, *, saves: bool
    ) -> None:
        steps = options.saves * options.every
        arguments: Any = TrainingArguments
        trainer: Any = super()
        trainer.__init__(
            model,
            arguments(
                output_dir=str(folder),
                max_steps=steps,
                per_device_train_batch_size=1,
                save_strategy="steps" if saves else "no",
                save_steps=options.every,
                use_cpu=True,
                report_to=[],
                disable_tqdm=True,
                logging_strategy="no",
                seed=SEED,
            ),
            train_dataset=[{"input_ids": list(range(8)), "labels": list(range(8))}] * steps,
        )
        self.blocked = 0.0

    def _save_checkpoint(self, *args: Any, **kwargs: Any) -> None:
        started = time.perf_counter()
        trainer: Any = super()
        trainer._save_checkpoint(*args, **kwargs)
        self.blocked += time.perf_counter() - started


class _Saving(TrainerCallback):
    """Saves what the stock trainer saves, by ours."""

    def __init__(self, writer: CheckpointWriter, every: int, state_every: int) -> None:
        self._writer = writer
        self._every = every
        self._state_every = state_every

    def on_step_end(self, args: Any, state: Any, control: Any, **parts: Any) -> None:
        """Save where it is time."""
        if state.global_step % self._every:
            return
        content = {
            "optimizer": parts["optimizer"].state_dict(),
            "scheduler": parts["lr_scheduler"].state_dict(),
            "random": torch.get_rng_state(),
        }
        model = parts["model"]
        self._writer.save(
            state.global_step,
            model.state_dict(),
            content if state.global_step // self._every % self._state_every == 0 else None,
            {"config.json": model.config.to_json_string().encode()},
        )


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--saves", type=int, default=6, help="of each run")
    parser.add_argument("--every", type=int, default=8, help="steps between two saves")
    parser.add_argument("--folder", type=Path, help="where the runs are written; the system's")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


if __name__ == "__main__":
    main()
