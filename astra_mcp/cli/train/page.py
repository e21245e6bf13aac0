"""The curves of runs as a page: one plot for each figure, one line for each run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
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
from training.signals.health.structure import State

__all__ = ["report_of"]

_MOST_POINTS = 400
_NONE = "-"
_GREEDY, _SAMPLED, _PLAYED = "greedy/reward", "sampled/reward", "rollout/reward"
_SECTIONS: Mapping[str, Sequence[str]] = {
    "Rewards": (_PLAYED, _GREEDY, _SAMPLED, "rollout/reward_variance"),
    "Loss": ("loss", "validation_loss"),
    "Optimisation": (
        *("learning_rate", "gradient_norm", "entropy", "clip_fraction", "drift", "kl"),
    ),
    "Episodes": ("rollout/turns", "rollout/calls", "rollout/tokens", "rollout/failed"),
    "Batches": (
        *("filling/groups", "filling/degenerate", "filling/refills", "filling/buffered"),
        *("filling/oldest", "filling/expired", "filling/failed"),
    ),
    "Form of turns": (
        *(f"structure/{state}" for state in State),
        *("structure/trajectories/polluted", "structure/trajectories/collapsed"),
        *("probe/json", "probe/end", "probe/start"),
    ),
    "Time": ("seconds",),
}
"""Which figures stand together, first of all. Further ones follow by their first word."""
_FURTHER: Mapping[str, str] = {
    "cpu_seconds/": "Time",
    "filling/": "Batches",
    "alarms/": "Alarms",
    "signals/": "Signals",
    "structure/": "Further figures of the form of turns",
    "rollout/": "Further figures of rollouts",
    "greedy/": "Held-out environments",
    "sampled/": "Held-out environments",
    "": "Further figures",
}
_COUNTS = ("step", "epoch", "examples", "trained_tokens", "tokens")
"""Of the run so far: straight lines."""
_WHERE: Mapping[str, str] = {
    "rollout": "rollouts",
    "greedy": "held out, greedy",
    "sampled": "held out, T = 1",
    "filling": "of a batch",
    "structure": "form of turns",
    "probe": "behind the start of a call",
    "alarms": "1 while it holds",
    "signals": "signals of a supervisor",
    "cpu_seconds": "processor seconds",
}

_PER_1K = "structure/per_1k/"
"""Before a control token, which is shown as it is spelled."""
_Lines = Sequence[Mapping[str, float]]


def report_of(folders: Sequence[Path]) -> Report:
    """Read the figures of runs, which may still be going on.

    Args:
        folders: Of runs of SFT or reinforcement learning, none twice.

    Raises:
        ConfigError: A folder has no figures, or is named twice.
    """
    runs: dict[str, _Lines] = {}
    places: set[Path] = set()
    for folder in folders:
        if folder.resolve() in places:
            raise ConfigError(f"{folder} is named twice; name each run once")
        places.add(folder.resolve())
        runs[str(folder)] = _figures_of(folder)
    measured = dict.fromkeys(key for lines in runs.values() for line in lines for key in line)
    return Report(
        title="Runs of training",
        lead="Figures by step; a line for each run.",
        sections=[
            Section(title="Runs", parts=[_summary(runs)]),
            *(
                Section(title=title, parts=[_plot(key, runs) for key in keys])
                for title, keys in _sections(measured).items()
            ),
        ],
        footer=f"Written by astra-mcp {__version__}.",
    )


def _figures_of(folder: Path) -> _Lines:
    file = folder / METRICS
    is_begun = folder.is_dir() and not file.exists()
    lines: _Lines = () if is_begun else read_metrics(file)
    if not lines:
        raise ConfigError(f"{folder} has no figures yet: its first step writes {METRICS}")
    return lines


def _sections(measured: Iterable[str]) -> Mapping[str, Sequence[str]]:
    """Put the figures that there are under their headings."""
    left = [key for key in measured if key not in _COUNTS]
    found: dict[str, list[str]] = {title: [] for title in (*_SECTIONS, *_FURTHER.values())}
    for title, keys in _SECTIONS.items():
        found[title] += [key for key in keys if key in left]
    named = {key for keys in _SECTIONS.values() for key in keys}
    for key in left:
        if key not in named:
            found[next(t for prefix, t in _FURTHER.items() if key.startswith(prefix))].append(key)
    return {title: keys for title, keys in found.items() if keys}


def _summary(runs: Mapping[str, _Lines]) -> DataTable:
    numbers = (
        *("steps", "epochs", "trained tokens", "seconds", "last loss", "last validation loss"),
        *("reward of rollouts", "greedy reward", "reward at T = 1"),
    )
    return DataTable(
        caption="What each run came to; rewards: first and last",
        columns=[DataColumn(name="run"), *(DataColumn(name=n, is_number=True) for n in numbers)],
        rows=[(name, *_row(lines)) for name, lines in runs.items()],
    )


def _row(lines: _Lines) -> Iterator[str]:
    last = lines[-1]
    yield f"{last['step']:,}"
    yield f"{last['epoch']:.2f}" if "epoch" in last else _NONE
    yield f"{sum(_all('trained_tokens', lines)):,.0f}"
    yield f"{sum(_all('seconds', lines)):,.0f}"
    for key in ("loss", "validation_loss"):
        values = _all(key, lines)
        yield f"{values[-1]:.4f}" if values else _NONE
    for key in (_PLAYED, _GREEDY, _SAMPLED):
        values = _all(key, lines)
        yield f"{values[0]:.3f}, {values[-1]:.3f}" if values else _NONE


def _all(key: str, lines: _Lines) -> Sequence[float]:
    return [line[key] for line in lines if key in line]


def _plot(key: str, runs: Mapping[str, _Lines]) -> LinePlot:
    points = {name: dict(_thinned(key, lines)) for name, lines in runs.items()}
    steps = sorted({step for each in points.values() for step in each})
    title = _title(key)
    return LinePlot(
        caption=title[0].upper() + title[1:],
        x_label="step",
        y_label=title,
        x=steps,
        series=[
            Series(name=name, values=[found.get(step) for step in steps], look=look)
            for look, (name, found) in enumerate(points.items())
            if found
        ],
    )


def _title(key: str) -> str:
    """Name a figure for people: ``greedy/reward`` is the reward of what is held out, greedy."""
    _, is_tag, tag = key.partition(_PER_1K)
    if is_tag:
        return f"{tag} of 1,000 tokens"
    first, _, rest = key.partition("/")
    words = (rest or first).replace("_", " ").replace("/", ": ")
    return f"{words} ({_WHERE.get(first, first.replace('_', ' '))})" if rest else words


def _thinned(key: str, lines: _Lines) -> Iterator[tuple[float, float]]:
    """Give so many points as a plot shows: means of neighbours, at the last of their steps."""
    found = [(line["step"], line[key]) for line in lines if key in line]
    size = -(-len(found) // _MOST_POINTS) or 1
    for at in range(0, len(found), size):
        some = found[at : at + size]
        yield some[-1][0], sum(value for _, value in some) / len(some)
