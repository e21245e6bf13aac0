"""How a run looks to people before and while it goes on."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

from astra_mcp.report.console import out, print_json, say
from astra_mcp.report.shown import Table, TimeRemainingColumn, Words, whole
from astra_mcp.types import JsonObject
from training.sft.estimate import Memory
from training.sft.preparing import Prepared, PreparedSet
from training.sft.settings import SftSettings
from training.sft.training import Outcome, Progress

__all__ = ["Plan", "print_outcome", "print_plan", "show_progress"]

_GIB = 2**30
_PAUSE_SECONDS = 30.0
_RARE = ("validation_loss", "greedy/reward", "signals/lessons")
"""Figures of validations and supervised phases alone."""
_FIGURES = (
    *("loss", "rollout/reward", "signals/lessons"),
    *("validation_loss", "greedy/reward", "sampled/reward"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run will use."""

    settings: SftSettings
    preset: str | None
    parameters: int
    dialect: str | None
    """How calls are spelt; None where the model is not here, and its sizes come from the preset."""
    absent: str | None
    """Why the model is not here; None where it is."""
    rows: Mapping[str, str]
    """What was read of each set, by its name."""
    prepared: Prepared | None
    """None where the model is not here, or no set is named."""
    memory: Memory
    memory_of_whole: Memory
    """Where each process holds the whole model, as on CPUs."""
    tokens: int
    """Of the longest example, or the most that one may have."""
    devices: int
    """Of this machine; 0 where it has no GPU."""
    versions: Mapping[str, str]

    @property
    def not_run_here(self) -> str | None:
        """Why this machine cannot run it as it is; None where it can."""
        wanted, reasons = self.settings.parallel.processes, [self.absent] if self.absent else []
        if wanted > max(self.devices, 1):
            reasons.append(
                f"it is for {wanted} devices, and this machine has {self.devices or 'no'} GPU"
            )
        return "; ".join(reasons) or None


def print_plan(plan: Plan, *, as_json: bool) -> JsonObject:
    """Say what a run will use; gives the same for programs."""
    rows = dict(_rows(plan))
    if not as_json:
        table = Table(whole("what"), "value", header=False)
        for name, value in rows.items():
            table.add_row(name, value)
        out.print(table)
    return {**rows, "memory_bytes": plan.memory.total, "parameters": plan.parameters}


def _rows(plan: Plan) -> Iterator[tuple[str, str]]:
    settings = plan.settings
    training, parallel = settings.training, settings.parallel
    yield "preset", plan.preset or "none"
    dialect = f", calls in the dialect {plan.dialect}" if plan.dialect else ""
    yield "model", f"{settings.model}: {plan.parameters:,} parameters{dialect}"
    if plan.absent is not None and plan.rows:
        yield from plan.rows.items()
        yield "lengths", "not looked at: the model is not here"
    yield "libraries", ", ".join(f"{name} {version}" for name, version in plan.versions.items())
    if plan.prepared is not None:
        for number, each in enumerate(plan.prepared.sets):
            yield f"data.{number}", _set(each)
        if plan.prepared.validation is not None:
            yield "validation", _set(plan.prepared.validation)
        examples = len(plan.prepared.examples)
        yield (
            "steps",
            (
                f"{len(plan.prepared.batches):,} of {training.batch_size} examples;"
                f" {training.epochs:g} epochs of {examples:,} examples, one for each {settings.examples.per}"
            ),
        )
    yield (
        "learning rate",
        (f"{training.learning_rate:g}, {training.schedule}, warm-up {training.warmup_ratio:.0%}"),
    )
    yield (
        "devices",
        (
            f"{parallel.processes}, each sequence on {parallel.context}; {plan.devices or 'no'} GPU here"
        ),
    )
    yield "memory", _memory(plan)
    yield (
        "checkpoints",
        (
            f"every {settings.checkpoints.every} steps into {settings.out},"
            f" states of the newest {settings.checkpoints.keep_states}"
        ),
    )
    if settings.validation.environments:
        yield "environments", ", ".join(settings.validation.environments)
    loggers = ["metrics.jsonl", *(["TensorBoard"] if settings.log.tensorboard else [])]
    project = settings.log.wandb_project
    yield "figures", ", ".join([*loggers, *([f"Weights & Biases ({project})"] if project else [])])
    if plan.not_run_here is not None:
        yield "not run here", plan.not_run_here


def _set(found: PreparedSet) -> str:
    made, lengths = found.examples, found.examples.lengths
    left = "".join(
        f"; {count:,} examples were not made: {why}" for why, count in made.left_out.items()
    )
    cut = f", {made.num_cut:,} cut on the left" if made.num_cut else ""
    weight = f" x {found.data.weight:g}" if found.data.weight != 1 else ""
    return (
        f"{found.data.file}{weight}: {len(made.examples):,} examples of {lengths.mean:,.0f} tokens, the"
        f" longest {lengths.longest:,}, {lengths.trained:,} with loss{left}{cut}; {found.account}"
        + (f"; first: {made.first_fault}" if made.first_fault else "")
    )


def _memory(plan: Plan) -> str:
    memory, processes = plan.memory, plan.settings.parallel.processes
    parts = {
        "weights": memory.weights,
        "gradients": memory.gradients,
        "optimizer": memory.optimizer,
        "activations": memory.activations,
        "logits": memory.logits,
    }
    told = ", ".join(f"{name} {_bytes(size)}" for name, size in parts.items())
    where = "on each device" if processes > 1 else "on the device"
    if processes > 1 and not plan.devices and plan.settings.parallel.context == 1:
        where = "in each process, which holds the whole model"
        if memory != plan.memory_of_whole:
            whole_bytes = _bytes(plan.memory_of_whole.total)
            where = f"on each of {processes} GPUs, or {whole_bytes} in each of {processes} processes on CPUs,"
    return f"about {_bytes(memory.total)} {where} for {plan.tokens:,} tokens, by formula: {told}"


def _bytes(size: int) -> str:
    return f"{size / _GIB:.1f} GiB" if size >= _GIB else f"{size / 2**20:.1f} MiB"


@contextmanager
def show_progress(num_steps: int) -> Generator[Callable[[Progress], None]]:
    """Draw a bar with the time that is left while the block runs; lines in its place where nobody looks."""
    with say.bars(Words("figures"), TimeRemainingColumn(compact=True)) as bars:
        task = bars.add_task("training", total=num_steps, figures="")
        told = monotonic()

        def hear(progress: Progress) -> None:
            nonlocal told
            figures = ", ".join(
                f"{name.replace('_', ' ').replace('/', ' ')} {progress.values[name]:.4g}"
                for name in _FIGURES
                if name in progress.values
            )
            bars.update(task, completed=progress.step, figures=figures)
            is_tenth = progress.step * 10 % progress.num_steps < 10
            is_rare = any(name in progress.values for name in _RARE)
            is_told = is_tenth or is_rare or monotonic() - told >= _PAUSE_SECONDS
            if bars.disable and is_told:
                told = monotonic()
                say.print(f"step {progress.step} of {progress.num_steps}: {figures}")

        yield hear


def print_outcome(
    outcome: Outcome, plan: JsonObject, further: JsonObject | None = None, *, as_json: bool
) -> None:
    """Say what became of a run.

    Args:
        outcome: Of the run.
        plan: As it was told before.
        further: What programs are told beside it.
        as_json: Print one JSON object.
    """
    weights = str(outcome.weights) if outcome.weights else None
    if as_json:
        print_json(
            {
                "ending": str(outcome.ending),
                "step": outcome.step,
                "began_at": outcome.began_at,
                "weights": weights,
                "plan": plan,
                **(further or {}),
            }
        )
        return
    went_on = f", of which {outcome.began_at} were made before" if outcome.began_at else ""
    out.print(f"{outcome.step} steps{went_on}; weights: {weights or 'none'}")
