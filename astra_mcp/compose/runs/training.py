"""The curves of runs as a page: one plot for each figure, one line for each run."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from astra_mcp import __version__
from astra_mcp.compose.runs.curves import Curves, curves_in
from astra_mcp.errors import ConfigError
from astra_mcp.report.html.parts import (
    DataColumn,
    DataTable,
    KeyFigure,
    LinePlot,
    Report,
    Section,
    Series,
    is_empty,
)
from training.signals.health.alarms import ALARMS
from training.signals.health.structure import State

__all__ = ["MAX_POINTS", "figure_of", "report_of", "report_of_curves", "sections_of"]

MAX_POINTS = 400
"""Of a line."""
_ALARMS = "Alarms"
_ALARMS_LEAD = (
    "When the condition of an alarm came to hold, whether it holds, and what that is a sign of."
)
_NONE = "-"
_GREEDY, _SAMPLED, _PLAYED = "greedy/reward", "sampled/reward", "rollout/reward"
_FORM = "Form of turns"
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
    _FORM: (
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
    "alarms/": _ALARMS,
    "signals/": "Signals",
    "structure/": "Further figures of the form of turns",
    "rollout/": "Further figures of rollouts",
    "greedy/": "Held-out environments",
    "sampled/": "Held-out environments",
    "": "Further figures",
}
_SHARES = re.compile(
    r"(.*/)?(reward|recall|precision|clip_fraction|(\w+_)?(call|tool)_rate)"
    r"|(alarms|probe)/.+|structure/(?!reasons/|per_1k/).+"
)
"""Figures whose plots go from 0 to 1 at least: they are compared with what could be."""
_SHARE_SPAN = (0.0, 1.0)
_CAPTIONS: Mapping[str, str] = {"loss": "Training loss"}
"""Of figures that have the name of their section."""
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
_ALARM = "alarms/"
_MAX_STEPS_TOLD = 8


def report_of(folders: Sequence[Path]) -> Report:
    """Read the figures of runs, which may still be going on, and make a report of them.

    Args:
        folders: Of runs of SFT or reinforcement learning, none twice.

    Raises:
        ConfigError: A folder has no figures, or is named twice.
    """
    runs: dict[str, Curves] = {}
    places: set[Path] = set()
    for folder in folders:
        if folder.resolve() in places:
            raise ConfigError(f"{folder} is named twice; name each run once")
        places.add(folder.resolve())
        runs[str(folder)] = curves_in(folder)
    return report_of_curves(runs)


def report_of_curves(
    runs: Mapping[str, Curves],
    *,
    max_points: int = MAX_POINTS,
    of: Sequence[str] | None = None,
    begin: int = 0,
    max_plots: int | None = None,
) -> Report:
    """Make a report of the figures of runs.

    Args:
        runs: By their names; some may have none yet.
        max_points: Of a line; beyond, neighbours are taken together.
        of: Titles of the sections of plots; None for all.
        begin: So many figures are left out before the first that is drawn.
        max_plots: Figures that are drawn at most; None for all.
    """
    found = sections_of(runs.values(), of=of)
    drawn = _some(found, begin, None if max_plots is None else begin + max_plots)
    num_left_out = sum(map(len, found.values())) - sum(map(len, drawn.values()))
    left_out = f" {num_left_out:,} further figures are not drawn here." if num_left_out else ""
    plots = {title: [*_plots(title, keys, runs, max_points)] for title, keys in drawn.items()}
    begun = {name: curves for name, curves in runs.items() if curves.last}
    alarms = [_alarm_table(begun), *plots.pop(_ALARMS, ())]
    sections = [
        *(Section(title=title, parts=parts) for title, parts in plots.items()),
        Section(title=_ALARMS, lead=_ALARMS_LEAD, parts=alarms),
        Section(title="Runs" if len(begun) > 1 else "In sum", parts=[_summary(begun)]),
    ]
    return Report(
        title="Runs of training",
        lead=f"Figures by step; a line for each run.{left_out}",
        key_figures=_key_figures(*begun.values()) if len(begun) == 1 else (),
        sections=[section for section in sections if not all(map(is_empty, section.parts))],
        footer=f"Written by astra-mcp {__version__}.",
    )


def sections_of(
    runs: Iterable[Curves], *, of: Sequence[str] | None = None
) -> Mapping[str, Sequence[str]]:
    """Name the figures of runs that are drawn, by the titles of their sections.

    Args:
        runs: Some may have no figures yet.
        of: Titles of the sections; None for all.
    """
    found = _sections(dict.fromkeys(key for curves in runs for key in curves.names))
    return {title: keys for title, keys in found.items() if of is None or title in of}


def _some(
    sections: Mapping[str, Sequence[str]], begin: int, end: int | None
) -> Mapping[str, Sequence[str]]:
    """Choose figures by their places in all sections together."""
    placed = [(title, key) for title, keys in sections.items() for key in keys][begin:end]
    chosen: dict[str, list[str]] = {}
    for title, key in placed:
        chosen.setdefault(title, []).append(key)
    return chosen


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


def _summary(runs: Mapping[str, Curves]) -> DataTable:
    numbers = (
        *("steps", "epochs", "trained tokens", "seconds", "last loss", "last validation loss"),
        *("reward of rollouts", "greedy reward", "reward at T = 1"),
    )
    return DataTable(
        caption="What each came to; rewards: first and last"
        if len(runs) > 1
        else "Rewards: first and last",
        columns=[DataColumn(name="run"), *(DataColumn(name=n, is_number=True) for n in numbers)],
        rows=[(name, *_row(curves)) for name, curves in runs.items()],
    )


def _row(curves: Curves) -> Iterator[str]:
    last = curves.last
    yield f"{last['step']:,}"
    yield f"{last['epoch']:.2f}" if "epoch" in last else _NONE
    yield f"{sum(curves.values('trained_tokens')):,.0f}"
    yield f"{sum(curves.values('seconds')):,.0f}"
    for key in ("loss", "validation_loss"):
        values = curves.values(key)
        yield f"{values[-1]:.4f}" if values else _NONE
    for key in (_PLAYED, _GREEDY, _SAMPLED):
        values = curves.values(key)
        yield f"{values[0]:.3f}, {values[-1]:.3f}" if values else _NONE


def _key_figures(curves: Curves) -> Sequence[KeyFigure]:
    """Name what a single run came to."""
    last, seconds = curves.last, sum(curves.values("seconds"))
    figures = [KeyFigure(label="steps", value=f"{last['step']:,}")]
    for key, digits in ((_PLAYED, 3), (_GREEDY, 3), ("validation_loss", 4), ("loss", 4)):
        values = curves.values(key)
        if values:
            note = f"{values[0]:.{digits}f} at first"
            figures.append(
                KeyFigure(label=_title(key), value=f"{values[-1]:.{digits}f}", note=note)
            )
    waiting = curves.values("filling/buffered")
    if waiting:
        figures.append(KeyFigure(label="groups in the buffer", value=f"{waiting[-1]:,.0f}"))
    figures.append(KeyFigure(label="time of its steps", value=f"{seconds:,.0f} s"))
    return figures


def figure_of(step: int, num_steps: int, values: Mapping[str, float]) -> str:
    """Say in a few words how a run goes.

    Args:
        step: How many are done.
        num_steps: How many there will be.
        values: Its newest figures.
    """
    shown = next((key for key in (_PLAYED, "loss", _GREEDY) if key in values), None)
    told = "" if shown is None else f", {_title(shown)} {values[shown]:.4g}"
    return f"step {step:,} of {num_steps:,}{told}"


def _alarm_table(runs: Mapping[str, Curves]) -> DataTable:
    """Show which alarms were raised, when, and what is probably behind them."""
    known = {alarm.name: alarm for alarm in ALARMS}
    rows: list[Sequence[str]] = []
    for name, curves in runs.items():
        for key in curves.names:
            raised = [*_raised(curves, key)] if key.startswith(_ALARM) else []
            if not raised:
                continue
            alarm = known.get(key.removeprefix(_ALARM))
            holds = "yes" if curves.values(key)[-1] else "no"
            told = (str(alarm.level), alarm.condition, alarm.cause) if alarm else (_NONE,) * 3
            first, condition, cause = told
            rows.append(
                (key.removeprefix(_ALARM), first, name, _steps(raised), holds, condition, cause)
            )
    names = ("alarm", "level", "run", "raised at step", "holds", "condition", "probably")
    return DataTable(
        caption="Alarms that were raised", columns=[DataColumn(name=n) for n in names], rows=rows
    )


def _raised(curves: Curves, key: str) -> Iterator[float]:
    """Find the steps at which an alarm came to hold, and did not before."""
    held = False
    for step, value in curves.points(key):
        if value and not held:
            yield step
        held = bool(value)


def _steps(steps: Sequence[float]) -> str:
    told = ", ".join(f"{step:,.0f}" for step in steps[:_MAX_STEPS_TOLD])
    more = len(steps) - _MAX_STEPS_TOLD
    return f"{told} and {more} more" if more > 0 else told


def _plots(
    title: str, keys: Sequence[str], runs: Mapping[str, Curves], max_points: int
) -> Iterator[LinePlot]:
    if title == _FORM and len(runs) == 1:
        (curves,) = runs.values()
        yield _states(curves, max_points)
    for key in keys:
        yield _plot(key, runs, max_points)


def _states(curves: Curves, max_points: int) -> LinePlot:
    """Show the states of the turns of one run beside each other."""
    found = {state: dict(_thinned(f"structure/{state}", curves, max_points)) for state in State}
    steps = sorted({step for each in found.values() for step in each})
    return LinePlot(
        caption="States of turns",
        x_label="step",
        y_label="share of turns",
        x=steps,
        series=[
            Series(name=str(state).replace("_", " "), values=[each.get(step) for step in steps])
            for state, each in found.items()
            if each
        ],
        y_span=_SHARE_SPAN,
    )


def _plot(key: str, runs: Mapping[str, Curves], max_points: int) -> LinePlot:
    points = {name: dict(_thinned(key, curves, max_points)) for name, curves in runs.items()}
    steps = sorted({step for each in points.values() for step in each})
    title = _title(key)
    return LinePlot(
        caption=_CAPTIONS.get(key, title[0].upper() + title[1:]),
        x_label="step",
        y_label=title,
        x=steps,
        series=[
            Series(name=name, values=[found.get(step) for step in steps], look=look)
            for look, (name, found) in enumerate(points.items())
            if found
        ],
        y_span=_SHARE_SPAN if _SHARES.fullmatch(key) else None,
    )


def _title(key: str) -> str:
    """Name a figure for people: ``greedy/reward`` is the reward of what is held out, greedy."""
    _, is_tag, tag = key.partition(_PER_1K)
    if is_tag:
        return f"{tag} of 1,000 tokens"
    first, _, rest = key.partition("/")
    words = (rest or first).replace("_", " ").replace("/", ": ")
    return f"{words} ({_WHERE.get(first, first.replace('_', ' '))})" if rest else words


def _thinned(key: str, curves: Curves, max_points: int) -> Iterator[tuple[float, float]]:
    """Give so many points as a plot shows: means of neighbours, at the last of their steps."""
    found = [*curves.points(key)]
    size = -(-len(found) // max_points) or 1
    for at in range(0, len(found), size):
        some = found[at : at + size]
        yield some[-1][0], sum(value for _, value in some) / len(some)
