"""Whether SFT teaches a tiny model to use tools: rewards through the gateway over steps, greedy and at T = 1.

    python -P benchmarks/sft_learning.py [--seeds N] [--first-seed S] [--folder FOLDER] [--json FILE]
        [--picture FILE]

Makes micro environments, lets the oracle play them through a gateway in this process (real sockets, real
sandbox), and trains the tiny model from random weights on what it left, by the trainer of the product, once
for each seed. Every so many steps the model plays environments that it never saw: new worlds whose names are
those of the training, and worlds whose names stand in no trained set. Requests that stand in a held-out set
word for word are not trained on. What is in the folder is not made again, and a run that was stopped goes on.

Processor seconds of a seed are those of this process and all below it from loading the model to the last
evaluation: training, playing, gateway and sandbox; without making environments and the oracle's episodes,
which all seeds share and which are told apart. ``--first-seed`` decides the environments, too.
"""

import argparse
import functools
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_HERE = Path(__file__).resolve().parent
# This folder holds files called like packages; their parts are found beside them instead.
sys.path[:] = [
    str(_HERE / "support"),
    *(entry for entry in sys.path if Path(entry or ".").resolve() != _HERE),
]

import anyio  # noqa: E402 - after the search path is right
import anyio.from_thread  # noqa: E402
import anyio.to_thread  # noqa: E402
import torch  # noqa: E402

from gateway.api.client import GatewayClient  # noqa: E402
from training.evaluation.evaluating import evaluate  # noqa: E402
from training.evaluation.sampler import ModelSampler  # noqa: E402
from training.render import load_tokenizer  # noqa: E402
from training.rl.core.policy import PolicyLimits  # noqa: E402
from training.rollout.agents.scripted import OracleAgent  # noqa: E402
from training.rollout.plan import Source  # noqa: E402
from training.sft.preparing import check_versions, prepare  # noqa: E402
from training.sft.settings import (  # noqa: E402
    CheckpointSettings,
    DataSet,
    LogSettings,
    SftSettings,
    TrainingSettings,
    ValidationSettings,
)
from training.sft.training import Progress, train  # noqa: E402
from training.tiny.start import save_start  # noqa: E402

from circumstances import conditions  # noqa: E402
from learning_data import (  # noqa: E402
    HELD_OUT,
    TRAINED,
    find_sources,
    is_solved,
    make_environments,
    open_playground,
    play,
    request_of,
    write,
)
from learning_picture import draw_panels, reward_panel  # noqa: E402
from process_accounts import cpu_seconds  # noqa: E402

_LIMITS = PolicyLimits(turns=10, turn_tokens=48, context_tokens=512)
"""The longest of these episodes takes seven turns; a model that knows little would go on and on."""
Sources = Sequence[tuple[Source, str | None]]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What all seeds share."""

    folder: Path
    files: Sequence[Path]
    """Trajectories to learn from."""
    held_out: Mapping[str, Sources]
    steps: int
    every: int
    is_fresh: bool
    """All of it was made by this run, so that it knows what that cost."""


def _cpu() -> float:
    return cpu_seconds(os.getpid(), with_children=True)


async def _prepare(
    asked: argparse.Namespace, gateway: GatewayClient, folders: Mapping[str, Path]
) -> Lesson:
    """Let the oracle play: what is held out, to see that it can be solved, and what is learnt from."""
    held_out = {
        name: await find_sources(gateway, folders[name], limit=asked.held_out, with_further=False)
        for name in HELD_OUT
    }
    files = [asked.folder / f"{name}.jsonl" for name in TRAINED]
    missing = [(name, file) for name, file in zip(TRAINED, files, strict=True) if not file.exists()]
    if missing:
        oracle = OracleAgent(gateway.gold)
        solved = [t for name in HELD_OUT for t in await play(gateway, oracle, held_out[name])]
        if sum(map(is_solved, solved)) < sum(map(len, held_out.values())):
            raise RuntimeError("the oracle does not solve all that is held out: take other seeds")
        requests = {request_of(trajectory) for trajectory in solved}
        for name, file in missing:
            sources = await find_sources(gateway, folders[name], with_further=True)
            played = await play(gateway, oracle, sources)
            kept = [t for t in played if is_solved(t) and request_of(t) not in requests]
            print(f"{name}: {len(kept)} of {len(sources)} trajectories", flush=True)
            write(file, kept)
    return Lesson(
        asked.folder, files, held_out, asked.steps, asked.every, len(missing) == len(files)
    )


def _settings(lesson: Lesson, seed: int, start: Path, out: Path) -> SftSettings:
    return SftSettings(
        model=str(start),
        out=out,
        seed=seed,
        data=tuple(DataSet(file=file) for file in lesson.files),
        training=TrainingSettings(
            epochs=1000,
            max_steps=lesson.steps,
            batch_size=64,
            micro_batch_size=16,
            learning_rate=6e-3,
            betas=(0.9, 0.98),
            weight_decay=0.01,
        ),
        checkpoints=CheckpointSettings(every=lesson.every, keep_weights=2),
        validation=ValidationSettings(every=lesson.every),
        log=LogSettings(tensorboard=False),
    )


async def _learn(gateway: GatewayClient, lesson: Lesson, seed: int) -> dict[str, Any]:
    """Train one seed, or go on with it; gives its figures."""
    place = lesson.folder / f"seed-{seed}"
    result = place / "result.json"
    if result.exists():
        return json.loads(result.read_text(encoding="utf-8"))
    start = place / "start"
    if not start.exists():
        save_start(start, seed=seed)
    tokenizer, renderer = load_tokenizer(str(start))
    settings = _settings(lesson, seed, start, place / "run")
    accounts = place / "processor.jsonl"
    began = _cpu()

    def note(step: int, seconds: float, playing: float) -> None:
        with accounts.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, "seconds": seconds, "playing": playing}) + "\n")

    async def examine(model: Any) -> dict[str, float]:
        policy = ModelSampler(model, tokenizer.end_ids)
        found: dict[str, float] = {}
        for name, sources in lesson.held_out.items():
            judged = await evaluate(
                gateway,
                policy,
                renderer,
                tokenizer,
                sources,
                samples=1,
                root_seed=seed,
                limits=_LIMITS,
            )
            found |= {f"{name}/{figure}": value for figure, value in judged.metrics().items()}
        return found

    def validate(model: Any, step: int) -> Mapping[str, float]:
        nonlocal began
        before = _cpu()
        found = anyio.from_thread.run(examine, model)
        now = _cpu()
        note(step, now - began, now - before)
        began = now
        return found

    def hear(progress: Progress) -> None:
        if progress.step % lesson.every == 0:
            shown = {
                k: round(v, 3) for k, v in progress.values.items() if k.endswith(("loss", "reward"))
            }
            print(f"seed {seed}, step {progress.step}: {shown}", flush=True)

    prepared = prepare(settings, renderer, tokenizer, model=str(start), versions=check_versions())
    training = functools.partial(train, prepared, hear=hear, validate=validate)
    await anyio.to_thread.run_sync(training)
    return _finished(result, settings.out, accounts, seed)


def _finished(result: Path, out: Path, accounts: Path, seed: int) -> dict[str, Any]:
    """Put the figures of a seed together, and write them down."""
    spent = {row["step"]: row for row in _rows(accounts)}
    curve = [row for row in _rows(out / "metrics.jsonl") if any("/" in name for name in row)]
    figures = {
        "seed": seed,
        "cpu_seconds": round(sum(row["seconds"] for row in spent.values()), 1),
        "cpu_seconds_playing": round(sum(row["playing"] for row in spent.values()), 1),
        "curve": curve,
        **{
            f"{name}_{kind}": curve[-1][f"{name}/{kind}/reward"]
            for name in HELD_OUT
            for kind in ("greedy", "sampled")
        },
    }
    result.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return figures


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


async def _run(asked: argparse.Namespace) -> dict[str, Any]:
    asked.folder.mkdir(parents=True, exist_ok=True)
    began = _cpu()
    folders = make_environments(
        asked.folder,
        seed=asked.first_seed,
        languages=asked.language,
        worlds=asked.worlds,
        held_out=asked.held_out,
    )
    async with open_playground(
        asked.folder / f"home-{asked.first_seed}", folders.values()
    ) as gateway:
        lesson = await _prepare(asked, gateway.control, folders)
        making = asked.folder / "making.json"
        if lesson.is_fresh:
            making.write_text(json.dumps(round(_cpu() - began, 1)), encoding="utf-8")
        seeds = range(asked.first_seed, asked.first_seed + asked.seeds)
        runs = [await _learn(gateway.control, lesson, seed) for seed in seeds]
    least = {
        f"{name}_{kind}_reward_min": min(run[f"{name}_{kind}"] for run in runs)
        for name in HELD_OUT
        for kind in ("greedy", "sampled")
    }
    return {
        **least,
        "cpu_seconds_max": max(run["cpu_seconds"] for run in runs),
        "cpu_seconds_making": json.loads(making.read_text("utf-8")) if making.exists() else None,
        "runs": runs,
    }


def _picture(runs: Sequence[Mapping[str, Any]]) -> str:
    titles = {
        "worlds": "New worlds, names of the training",
        "names": "New worlds, names never seen",
    }
    panels = [reward_panel(title, runs, f"{name}/") for name, title in titles.items()]
    return draw_panels(panels, "Reward over steps of SFT; full: greedy, dashed: T = 1.")


def main() -> int:
    """Run, and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument(
        "--every", type=int, default=75, help="steps from one evaluation to the next"
    )
    parser.add_argument("--worlds", type=int, default=200, help="of each of the two trained sets")
    parser.add_argument(
        "--held-out", type=int, default=48, help="environments of each held-out set"
    )
    parser.add_argument("--language", default="en")
    parser.add_argument(
        "--folder", type=Path, default=Path(".out/sft-learning"), help="kept, to go on"
    )
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--picture", type=Path, help="also draw the rewards over steps, as SVG")
    asked = parser.parse_args()
    asked.folder /= f"from-{asked.first_seed}"
    torch.set_num_threads(1)
    circumstances = conditions(
        torch=torch.__version__,
        **{
            name: getattr(asked, name)
            for name in ("seeds", "first_seed", "steps", "worlds", "held_out", "language")
        },
    )
    figures = anyio.run(_run, asked)
    for name, value in figures.items():
        if name != "runs":
            print(f"{name}: {value}")
    if asked.picture is not None:
        asked.picture.write_text(_picture(figures["runs"]), encoding="utf-8")
    if asked.json is not None:
        figures["conditions"] = circumstances.finished()
        asked.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
