"""What a rollout earned: hands trajectories on as they finish, and prints a table or one JSON object."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from astra_mcp.call_record import EndStatus, EpisodeStatus
from astra_mcp.report.console import out, print_json, say
from astra_mcp.reward import Reward
from astra_mcp.trajectory import AgentInfo, Trajectory, TrajectoryFailure

__all__ = ["RolloutReport"]

_MAX_FAILURES_SHOWN = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    """What is remembered of a trajectory; the rest is in its file."""

    place: int
    environment: str | None
    agent: str
    seed: int
    status: EndStatus
    reward: Reward | None
    calls: int
    failure: TrajectoryFailure | None


class RolloutReport:
    """Takes trajectories as they finish, and reports them in the order of the plan."""

    def __init__(
        self,
        write: Callable[[Trajectory], None],
        advance: Callable[[], None],
        *,
        servers: Sequence[str] = (),
    ) -> None:
        """Take the ways out.

        Args:
            write: Keeps one trajectory; nothing else does.
            advance: Hears of each one that is finished.
            servers: Names of those that are played, where they are no environments.
        """
        self._write = write
        self._advance = advance
        self._servers = tuple(servers)
        self._rows: list[_Row] = []

    @property
    def num_finished(self) -> int:
        """Trajectories so far."""
        return len(self._rows)

    @property
    def num_failed(self) -> int:
        """Trajectories that failed."""
        return sum(row.status is EpisodeStatus.FAILED for row in self._rows)

    @property
    def plan_order(self) -> list[int]:
        """Numbers of the trajectories, from 0 as they finished, in the order of the plan."""
        return sorted(range(len(self._rows)), key=lambda number: self._rows[number].place)

    def add(self, index: int, trajectory: Trajectory) -> None:
        """Keep a trajectory at once, so that nothing finished is lost; ``index`` is its place in the plan."""
        self._write(trajectory)
        self._rows.append(_summary(index, trajectory))
        self._advance()

    @property
    def _planned(self) -> list[_Row]:
        return [self._rows[number] for number in self.plan_order]

    # --- output ----------------------------------------------------------------------------------

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
                "episodes": [_episode_row(row) for row in self._planned],
                "environments": [_mean_row(n, rows) for n, rows in self._by_environment()],
            }
        )

    def print_table(self, *, file: Path) -> None:
        """Print one line per environment for people, or one for the servers, and what failed."""
        table = Table(box=SIMPLE)
        if (
            self._servers
        ):  # there may be many: their names wrap, so that the figures beside them stay
            table.add_column("servers", overflow="fold")
        else:
            table.add_column("environment", no_wrap=True)
        table.add_column("status")
        for name in ("reward", "recall", "precision", "calls"):
            table.add_column(name, justify="right", no_wrap=True, min_width=len(name))
        for name, rows in self._by_environment():
            means = _mean_row(name, rows)
            figures = [_show(means[key]) for key in ("reward", "recall", "precision")]
            table.add_row(
                name or ", ".join(self._servers),
                _show_statuses(rows),
                *figures,
                _show(means["calls"], digits=min(1, len(rows) - 1)),
            )
        out.print(table)
        self._say_failures()
        say.print(f"trajectories: {file}", highlight=False, markup=False)

    def _say_failures(self) -> None:
        found = Counter(
            f"{row.failure.boundary.value}: {row.failure.message}"
            for row in self._planned
            if row.failure is not None
        )
        for message, count in found.most_common(_MAX_FAILURES_SHOWN):
            times = "once" if count == 1 else f"{count} times"
            say.print(f"failed {times}: {message}", style="red", markup=False)
        if len(found) > _MAX_FAILURES_SHOWN:
            say.print(f"and {len(found) - _MAX_FAILURES_SHOWN} other failures", style="red")

    def _by_environment(self) -> Iterable[tuple[str | None, list[_Row]]]:
        groups: dict[str | None, list[_Row]] = {}
        for row in self._planned:
            groups.setdefault(row.environment, []).append(row)
        return groups.items()


def _summary(place: int, trajectory: Trajectory) -> _Row:
    reward = trajectory.reward
    return _Row(
        place=place,
        environment=trajectory.environment,
        agent=trajectory.agent.name,
        seed=trajectory.seeds.episode,
        status=trajectory.status,
        reward=reward,
        calls=reward.calls if reward else len(trajectory.calls),
        failure=trajectory.failure,
    )


def _episode_row(row: _Row) -> dict[str, Any]:
    reward = row.reward
    return {
        "environment": row.environment,
        "agent": row.agent,
        "seed": row.seed,
        "status": row.status.value,
        "reward": reward.reward if reward else None,
        "recall": reward.recall if reward else None,
        "precision": reward.precision if reward else None,
        "calls": row.calls,
        "failure": row.failure.model_dump(mode="json") if row.failure else None,
    }


def _mean_row(name: str | None, rows: list[_Row]) -> dict[str, Any]:
    """Average over the episodes that did not fail, rewards over those that have one."""
    played = [row for row in rows if row.status is not EpisodeStatus.FAILED]
    rewards = [row.reward for row in played if row.reward is not None]
    return {
        "environment": name,
        "episodes": len(rows),
        "failed": len(rows) - len(played),
        "reward": fmean(r.reward for r in rewards) if rewards else None,
        "recall": fmean(r.recall for r in rewards) if rewards else None,
        "precision": fmean(r.precision for r in rewards) if rewards else None,
        "calls": fmean(row.calls for row in played) if played else None,
    }


def _show(value: float | None, *, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _show_statuses(rows: list[_Row]) -> str:
    counts = Counter(row.status.value for row in rows)
    if len(rows) == 1:
        return rows[0].status.value
    return ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
