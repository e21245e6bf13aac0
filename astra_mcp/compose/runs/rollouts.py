"""What a rollout earned, as a report: of counts and means, and of single episodes no more than one reads."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import floor
from pathlib import Path
from statistics import fmean
from urllib.parse import quote

from astra_mcp import __version__
from astra_mcp.call_record import EpisodeStatus
from astra_mcp.report.html.parts import (
    Bar,
    BarChart,
    DataColumn,
    DataTable,
    Histogram,
    KeyFigure,
    Mark,
    Report,
    Section,
    is_empty,
)
from astra_mcp.trajectory import Trajectory, read_trajectories
from training.rollout.model_usage import spent

__all__ = ["PlayedEpisode", "figure_of_rollout", "report_of_file", "report_of_rollout"]

_NONE = "\u2013"
_BINS = 20
"""Of the histogram of rewards, from 0 to 1."""
_WHOLE = 0.999
_MAX_ROWS = 200
_MAX_FAILURES = 20
_SHOWN_ID = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayedEpisode:
    """What is told of one episode."""

    id: str | None
    """None where it was never opened."""
    environment: str | None
    """None where servers or tasks were played."""
    question: str | None
    task: str | None
    status: str
    stop: str
    reward: float | None
    recall: float | None
    precision: float | None
    calls: int
    tokens: int | None
    failure: str | None

    @classmethod
    def of(cls, played: Trajectory, *, calls: int, tokens: int | None) -> "PlayedEpisode":
        """Take what a trajectory says.

        Args:
            played: May lack its messages and calls.
            calls: That count.
            tokens: Of its model; None where nobody told.
        """
        reward, failure = played.reward, played.failure
        return cls(
            id=played.episode_id,
            environment=played.environment,
            question=played.question,
            task=played.task,
            status=played.status.value,
            stop=played.stop.value,
            reward=reward.reward if reward else None,
            recall=reward.recall if reward else None,
            precision=reward.precision if reward else None,
            calls=calls,
            tokens=tokens,
            failure=f"{failure.boundary.value}: {failure.message}" if failure else None,
        )


def report_of_file(file: Path) -> Report:
    """Make the report of a file of trajectories.

    Raises:
        ConfigError: It cannot be read, or holds something else.
    """
    episodes = [_of_line(trajectory) for trajectory in read_trajectories(file)]
    return report_of_rollout(str(file), episodes)


def _of_line(played: Trajectory) -> PlayedEpisode:
    usage, reward = spent(played.usage), played.reward
    tokens = usage.tokens if usage.calls and not usage.untold else None
    calls = reward.calls if reward else len(played.calls)
    return PlayedEpisode.of(played, calls=calls, tokens=tokens)


def figure_of_rollout(episodes: int, planned: int, reward: float | None) -> str:
    """Say in a few words how a rollout goes."""
    told = "" if reward is None else f", mean reward {reward:.3f}"
    return f"{episodes:,} of {planned:,} episodes{told}"


def report_of_rollout(
    name: str, episodes: Sequence[PlayedEpisode], planned: int | None = None
) -> Report:
    """Make the report.

    Args:
        name: Of the rollout, for people.
        episodes: In the order of the plan.
        planned: How many there are to be; None where nobody knows.
    """
    sections = [
        Section(title="Rewards", parts=[_rewards(episodes)]),
        Section(title="What was played", parts=[_table_of_played(episodes)]),
        Section(title="How episodes ended", parts=[*_endings(episodes)]),
        Section(
            title="Episodes",
            lead="The lowest rewards first; an episode's page shows it call by call.",
            parts=[_table_of_episodes(episodes)],
        ),
    ]
    left = (planned or 0) - len(episodes)
    told = f"{len(episodes):,} episodes" + (f", {left:,} are left to play." if left > 0 else ".")
    return Report(
        title=f"Rollout {name}",
        lead=told,
        key_figures=_key_figures(episodes),
        sections=[section for section in sections if not all(map(is_empty, section.parts))],
        footer=f"Written by astra-mcp {__version__}.",
    )


def _key_figures(episodes: Sequence[PlayedEpisode]) -> Sequence[KeyFigure]:
    rewards = [each.reward for each in episodes if each.reward is not None]
    failed = sum(each.status == EpisodeStatus.FAILED for each in episodes)
    solved = sum(reward >= _WHOLE for reward in rewards)
    tokens = [each.tokens for each in episodes if each.tokens is not None]
    figures = [
        KeyFigure(label="mean reward", value=_mean(rewards), note=_of(len(rewards), "with one")),
        KeyFigure(
            label="solved in full",
            value=f"{solved / len(rewards):.1%}" if rewards else _NONE,
            note=f"{solved:,} of {len(rewards):,}",
        ),
        KeyFigure(label="episodes", value=f"{len(episodes):,}"),
        KeyFigure(label="failed", value=f"{failed:,}"),
        KeyFigure(label="calls per episode", value=_mean([each.calls for each in episodes], 1)),
    ]
    if any(tokens):
        note = _of(len(tokens), "that told")
        figures.append(KeyFigure(label="tokens of the model", value=f"{sum(tokens):,}", note=note))
    return figures


def _of(count: int, what: str) -> str:
    return f"of {count:,} episode{'s' * (count != 1)} {what}"


def _mean(values: Sequence[float], digits: int = 3) -> str:
    return f"{fmean(values):.{digits}f}" if values else _NONE


def _rewards(episodes: Iterable[PlayedEpisode]) -> Histogram:
    rewards = [each.reward for each in episodes if each.reward is not None]
    bins = Counter(min(floor(reward * _BINS + 1e-9), _BINS - 1) for reward in rewards)
    if rewards:
        bins.update({0: 0, _BINS - 1: 0})  # the axis goes from 0 to 1, whatever was earned
    return Histogram(
        caption="Distribution of rewards",
        x_label="reward",
        y_label="episodes",
        bins=[((place + 0.5) / _BINS, count) for place, count in sorted(bins.items())],
        bin_width=1 / _BINS,
        marks=[Mark(label="mean", at=fmean(rewards))] if rewards else (),
    )


_Asked = tuple[str | None, str | None, str | None]


def _table_of_played(episodes: Iterable[PlayedEpisode]) -> DataTable:
    groups: dict[_Asked, list[PlayedEpisode]] = {}
    for each in episodes:
        groups.setdefault((each.environment, each.question, each.task), []).append(each)
    ordered = sorted(groups.items(), key=lambda group: _least_first(group[1]))
    shown = ordered[:_MAX_ROWS]
    of_all = "" if len(shown) == len(ordered) else f", the lowest {len(shown)} of {len(ordered):,}"
    names = ("episodes", "failed", "reward", "recall", "precision", "calls")
    return DataTable(
        caption=f"Means of what was played{of_all}",
        columns=[DataColumn(name="played"), *(DataColumn(name=n, is_number=True) for n in names)],
        rows=[(_name(asked), *_means(group)) for asked, group in shown],
        paths=[_path_of(*asked) for asked, _ in shown],
    )


def _least_first(group: Sequence[PlayedEpisode]) -> float:
    rewards = [each.reward for each in group if each.reward is not None]
    return fmean(rewards) if rewards else -1.0


def _name(asked: _Asked) -> str:
    environment, question, task = asked
    return " ".join(part for part in (environment or task or "servers", question) if part)


def _path_of(environment: str | None, question: str | None, _: str | None) -> str:
    if environment is None:
        return ""
    asked = f"?question={quote(question, safe='')}" if question else ""
    return f"/environments/{quote(environment, safe='')}{asked}"


def _means(group: Sequence[PlayedEpisode]) -> Iterator[str]:
    """Average over the episodes that did not fail, and rewards over those that have one."""
    played = [each for each in group if each.status != EpisodeStatus.FAILED]
    yield f"{len(group):,}"
    yield f"{len(group) - len(played):,}"
    for values in (
        [each.reward for each in played],
        [each.recall for each in played],
        [each.precision for each in played],
    ):
        yield _mean([value for value in values if value is not None])
    yield _mean([each.calls for each in played], 1)


def _endings(episodes: Sequence[PlayedEpisode]) -> Iterator[BarChart | DataTable]:
    for caption, counts in (
        ("Status", Counter(each.status for each in episodes)),
        ("Why the agent stopped", Counter(each.stop for each in episodes)),
    ):
        bars = [Bar(label=name, count=count) for name, count in counts.most_common()]
        yield BarChart(caption=caption, what="episodes", bars=bars)
    failures = Counter(each.failure for each in episodes if each.failure is not None)
    yield DataTable(
        caption="Failures",
        columns=[DataColumn(name="what was said"), DataColumn(name="episodes", is_number=True)],
        rows=[(said, f"{count:,}") for said, count in failures.most_common(_MAX_FAILURES)],
    )


def _table_of_episodes(episodes: Sequence[PlayedEpisode]) -> DataTable:
    ordered = sorted(episodes, key=lambda each: -1.0 if each.reward is None else each.reward)
    shown = ordered[:_MAX_ROWS]
    is_whole = len(shown) == len(ordered)
    return DataTable(
        caption="All of them" if is_whole else f"The lowest {len(shown)} of {len(ordered):,}",
        columns=[
            *(DataColumn(name=name) for name in ("episode", "played", "status", "stop")),
            *(DataColumn(name=name, is_number=True) for name in ("calls", "reward")),
        ],
        rows=[_row(each) for each in shown],
        paths=["" if each.id is None else f"/episodes/{each.id}" for each in shown],
    )


def _row(each: PlayedEpisode) -> Sequence[str]:
    return (
        (each.id or _NONE)[:_SHOWN_ID],
        _name((each.environment, each.question, each.task)),
        each.status,
        each.stop,
        f"{each.calls:,}",
        _NONE if each.reward is None else f"{each.reward:.3f}",
    )
