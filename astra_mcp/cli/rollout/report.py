"""What a rollout earned: hands trajectories on as they finish, and prints a table or one JSON object."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.compose.runs.rollouts import (
    PlayedEpisode,
    figure_of_rollout,
    report_of_rollout,
)
from astra_mcp.llm.usage import COST_DIGITS, Usage
from astra_mcp.report.console import out, print_json, say
from astra_mcp.report.html.parts import Report
from astra_mcp.report.shown import Table, number, whole
from astra_mcp.trajectory import AgentInfo, Trajectory
from training.rollout.model_usage import spent, told

__all__ = ["RolloutReport"]

_MAX_FAILURES_SHOWN = 10
_SHOWN_ID = 7
"""Characters of an episode's id, which tell it apart in any home; commands take the first of an id."""
_NOTHING = Usage()
_Asked = tuple[str | None, str | None]
"""An environment, and its further question; both None for servers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What is remembered of a trajectory."""

    place: int
    """In the plan."""
    line: int
    """In the file, from 0."""
    trajectory: Trajectory
    """Without messages, tools and calls, which are in its file."""
    calls: int
    usage: Usage


class RolloutReport:
    """Takes trajectories as they finish, and reports them in the order of the plan."""

    def __init__(
        self,
        write: Callable[[Trajectory], None],
        *,
        servers: Sequence[str] = (),
        tasks: str | None = None,
        first_line: int = 0,
    ) -> None:
        """Take the way out.

        Args:
            write: Keeps one trajectory; nothing else does.
            servers: Names of those that are played, where they are no environments.
            tasks: Which tasks are played, for people, where it is such.
            first_line: Number of the line that is written first, behind those that are there.
        """
        self._write = write
        self._next_line = first_line
        self._num_kept = 0
        self._servers = tuple(servers)
        self._tasks = tasks
        self._rows: list[_Row] = []
        self._reward_sum = 0.0
        self._num_rewards = 0
        self.usage = _NOTHING
        """What the model cost so far."""
        self.num_failed = 0
        """Trajectories that failed."""

    @property
    def num_finished(self) -> int:
        """Trajectories so far."""
        return len(self._rows)

    @property
    def plan_order(self) -> list[int]:
        """Numbers of the lines, from 0 as they were written, in the order of the plan."""
        return [row.line for row in self._planned]

    @property
    def places(self) -> set[int]:
        """Which of the plan are finished."""
        return {row.place for row in self._rows}

    @property
    def figures(self) -> str:
        """How it goes so far, in a few words."""
        mean = self._reward_sum / self._num_rewards if self._num_rewards else None
        words = [] if mean is None else [f"reward {_show(mean)}"]
        words += [f"{self.num_failed} failed"] if self.num_failed else []
        words += [f"{self.usage.retries} retries"] if self.usage.retries else []
        return ", ".join(words)

    def add(self, index: int, trajectory: Trajectory, usage: Usage = _NOTHING) -> None:
        """Keep a trajectory at once, so that nothing finished is lost.

        Args:
            index: Its place in the plan.
            trajectory: As it was played.
            usage: What the model cost.
        """
        self._write(trajectory)
        self._take(index, self._next_line, trajectory, usage)
        self._next_line += 1

    def keep(self, index: int, trajectory: Trajectory, *, line: int) -> None:
        """Count a trajectory that is in the file already.

        Args:
            index: Its place in the plan.
            trajectory: As it was read.
            line: Its number, from 0.
        """
        self._num_kept += 1
        self._take(index, line, trajectory, spent(trajectory.usage))

    def _take(self, index: int, line: int, trajectory: Trajectory, usage: Usage) -> None:
        reward = trajectory.reward
        kept = trajectory.model_copy(update={"messages": (), "tools": (), "calls": ()})
        calls = reward.calls if reward else len(trajectory.calls)
        self._rows.append(_Row(place=index, line=line, trajectory=kept, calls=calls, usage=usage))
        self.usage += usage
        self.num_failed += trajectory.status is EpisodeStatus.FAILED
        if reward is not None:
            self._reward_sum += reward.reward
            self._num_rewards += 1

    def told(self, planned: int) -> str:
        """Say in a few words how it goes, for lists.

        Args:
            planned: How many trajectories there are to be.
        """
        mean = self._reward_sum / self._num_rewards if self._num_rewards else None
        return figure_of_rollout(len(self._rows), planned, mean)

    def page(self, name: str, planned: int) -> Report:
        """Make the report for people who look at it later.

        Args:
            name: Of the rollout.
            planned: How many trajectories there are to be.
        """
        return report_of_rollout(name, [*map(_played, self._planned)], planned)

    @property
    def _planned(self) -> list[_Row]:
        return sorted(self._rows, key=lambda row: row.place)

    def print_object(self, *, agent: AgentInfo, seed: int, url: str, file: Path) -> None:
        """Print the object that ``--json`` promises."""
        print_json(
            {
                "agent": agent.name,
                "model": agent.model,
                "seed": seed,
                "gateway": url,
                "trajectories": str(file),
                "servers": list(self._servers) or None,
                "kept": self._num_kept,
                "episodes": [_episode_row(row) for row in self._planned],
                "environments": [_mean_row(*asked, rows) for asked, rows in self._by_question()],
                **self.usage.as_json(),
                "usage": told(self.usage).model_dump() if agent.model is not None else None,
            }
        )

    def print_table(self, *, file: Path) -> None:
        """Print a line per question of an environment for people, or one for the servers, and what failed."""
        total = self.usage
        figures = ["reward", "recall", "calls"]
        figures += ["tokens"] if total.calls else []
        figures += ["cost"] if total.cost else []
        what = "servers" if self._servers else "tasks" if self._tasks else "environment"
        all_of_them = ", ".join(self._servers) or self._tasks or ""
        table = Table(whole("id"), what, "status", "stop", *map(number, figures))
        for (name, question), rows in self._by_question():
            shown = _shown_figures(rows)
            named = [name or all_of_them, *([question] if question else [])]
            table.add_row(
                _show_id(rows),
                " ".join(named),
                _counted([row.trajectory.status.value for row in rows]),
                _counted([row.trajectory.stop.value for row in rows]),
                *(shown[figure] for figure in figures),
            )
        out.print(table)
        if total.calls:
            cost = f" that cost {total.cost:.4f}" if total.cost else ""
            say.print(f"the model: {total.calls} calls, {total.tokens} tokens{cost}")
        self._say_failures()
        say.print(f"trajectories: {file}")

    def _say_failures(self) -> None:
        found = Counter(
            f"{failure.boundary.value}: {failure.message}"
            for row in self._planned
            if (failure := row.trajectory.failure) is not None
        )
        for message, count in found.most_common(_MAX_FAILURES_SHOWN):
            times = "once" if count == 1 else f"{count} times"
            say.print(f"failed {times}: {message}", style="red")
        if len(found) > _MAX_FAILURES_SHOWN:
            say.print(f"and {len(found) - _MAX_FAILURES_SHOWN} other failures", style="red")

    def _by_question(self) -> Iterable[tuple[_Asked, list[_Row]]]:
        groups: dict[_Asked, list[_Row]] = {}
        for row in self._planned:
            asked = (row.trajectory.environment, row.trajectory.question)
            groups.setdefault(asked, []).append(row)
        return groups.items()


def _played(row: _Row) -> PlayedEpisode:
    tokens = row.usage.tokens if row.usage.calls and not row.usage.untold else None
    return PlayedEpisode.of(row.trajectory, calls=row.calls, tokens=tokens)


def _episode_row(row: _Row) -> dict[str, Any]:
    played, reward = row.trajectory, row.trajectory.reward
    return {
        "episode_id": played.episode_id,
        "environment": played.environment,
        "question": played.question,
        "task": played.task,
        "agent": played.agent.name,
        "seed": played.seeds.episode,
        "group": played.group,
        "sample": played.sample,
        "status": played.status.value,
        "stop": played.stop.value,
        "reward": reward.reward if reward else None,
        "recall": reward.recall if reward else None,
        "precision": reward.precision if reward else None,
        "calls": row.calls,
        "tokens": None if row.usage.untold else row.usage.tokens,
        "cost": round(row.usage.cost, COST_DIGITS),
        "usage": played.usage.model_dump() if played.usage else None,
        "failure": played.failure.model_dump(mode="json") if played.failure else None,
    }


def _mean_row(name: str | None, question: str | None, rows: list[_Row]) -> dict[str, Any]:
    """Average over the episodes that did not fail, rewards over those that have one."""
    played = [row for row in rows if row.trajectory.status is not EpisodeStatus.FAILED]
    rewards = [reward for row in played if (reward := row.trajectory.reward) is not None]
    return {
        "environment": name,
        "question": question,
        "episodes": len(rows),
        "failed": len(rows) - len(played),
        "reward": fmean(r.reward for r in rewards) if rewards else None,
        "recall": fmean(r.recall for r in rewards) if rewards else None,
        "precision": fmean(r.precision for r in rewards) if rewards else None,
        "calls": fmean(row.calls for row in played) if played else None,
    }


def _show(value: float | None, *, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _shown_figures(rows: list[_Row]) -> dict[str, str]:
    """Round the means for people; tokens and cost are sums."""
    means, usage = _mean_row(None, None, rows), sum((row.usage for row in rows), _NOTHING)
    return {
        "reward": _show(means["reward"]),
        "recall": _show(means["recall"]),
        "calls": _show(means["calls"], digits=min(1, len(rows) - 1)),
        "tokens": str(usage.tokens),
        "cost": f"{usage.cost:.4f}",
    }


def _show_id(rows: list[_Row]) -> str:
    """Show the one by which `episodes show` finds it; of several, how many they are."""
    if len(rows) > 1:
        return f"x{len(rows)}"
    return (rows[0].trajectory.episode_id or "-")[:_SHOWN_ID]


def _counted(words: list[str]) -> str:
    if len(words) == 1:
        return words[0]
    return ", ".join(f"{count} {word}" for word, count in sorted(Counter(words).items()))
