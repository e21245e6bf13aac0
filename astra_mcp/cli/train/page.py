"""The curves of runs as a page: one plot for each figure, one line for each run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from astra_mcp import __version__
from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import (
    DataColumn,
    DataTable,
    LinePlot,
    Report,
    Section,
    Series,
)
from training.sft.run_folder import METRICS, read_metrics

__all__ = ["report_of"]

_MOST_POINTS = 400
_NONE = "-"
_SECTIONS: Mapping[str, Sequence[str]] = {
    "Loss": ("loss", "validation_loss"),
    "Optimisation": ("learning_rate", "gradient_norm"),
}
"""Which figures stand together; all others but these and the next are of rollouts."""
_COUNTS = ("step", "epoch", "examples", "tokens", "trained_tokens", "seconds")

_Lines = Sequence[Mapping[str, float]]


def report_of(folders: Sequence[Path]) -> Report:
    """Read the figures of runs.

    Args:
        folders: Of runs, none twice.

    Raises:
        ConfigError: A folder has no figures, or is named twice.
    """
    runs: dict[str, _Lines] = {}
    for folder in folders:
        name = str(folder)
        if name in runs:
            raise ConfigError(f"{folder} is named twice; name each run once")
        lines = read_metrics(folder / METRICS)
        if not lines:
            raise ConfigError(f"{folder / METRICS} has no figures yet")
        runs[name] = lines
    measured = dict.fromkeys(key for lines in runs.values() for line in lines for key in line)
    shown = {key for keys in _SECTIONS.values() for key in keys}
    of_rollouts = [key for key in measured if key not in shown and key not in _COUNTS]
    sections = {**_SECTIONS, "Held-out environments": of_rollouts}
    return Report(
        title="Runs of supervised fine-tuning",
        lead="Figures by step; a line for each run.",
        sections=[
            Section(title="Runs", parts=[_summary(runs)]),
            *(
                Section(title=title, parts=[_plot(key, runs) for key in keys if key in measured])
                for title, keys in sections.items()
                if any(key in measured for key in keys)
            ),
        ],
        footer=f"Written by astra-mcp {__version__}.",
    )


def _summary(runs: Mapping[str, _Lines]) -> DataTable:
    numbers = ("steps", "epochs", "trained tokens", "seconds", "last loss", "last validation loss")
    return DataTable(
        caption="What each run came to",
        columns=[DataColumn(name="run"), *(DataColumn(name=n, is_number=True) for n in numbers)],
        rows=[_row(name, lines) for name, lines in runs.items()],
    )


def _row(name: str, lines: _Lines) -> Sequence[str]:
    validated = [line["validation_loss"] for line in lines if "validation_loss" in line]
    return (
        name,
        f"{lines[-1]['step']:,}",
        f"{lines[-1].get('epoch', 0):.2f}",
        f"{sum(line.get('trained_tokens', 0) for line in lines):,}",
        f"{sum(line.get('seconds', 0) for line in lines):,.0f}",
        f"{lines[-1]['loss']:.4f}" if "loss" in lines[-1] else _NONE,
        f"{validated[-1]:.4f}" if validated else _NONE,
    )


def _plot(key: str, runs: Mapping[str, _Lines]) -> LinePlot:
    points = {name: dict(_thinned(key, lines)) for name, lines in runs.items()}
    steps = sorted({step for each in points.values() for step in each})
    title = key.replace("_", " ")
    return LinePlot(
        caption=title.capitalize(),
        x_label="step",
        y_label=title,
        x=steps,
        series=[
            Series(name=name, values=[found.get(step) for step in steps])
            for name, found in points.items()
            if found
        ],
    )


def _thinned(key: str, lines: _Lines) -> Iterator[tuple[float, float]]:
    """Give so many points as a plot shows: means of neighbours, at the last of their steps."""
    found = [(line["step"], line[key]) for line in lines if key in line]
    size = -(-len(found) // _MOST_POINTS) or 1
    for at in range(0, len(found), size):
        some = found[at : at + size]
        yield some[-1][0], sum(value for _, value in some) / len(some)
