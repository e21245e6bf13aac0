"""``astra-mcp inspect``: its commands and their options."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.cli.inspect.reading import read_conversations
from astra_mcp.home import user_path
from astra_mcp.report.console import out, print_json, report_errors
from astra_mcp.report.shown import Table, number, whole
from astra_mcp.types import JsonObject
from training.render import DIALECTS
from training.signals.health.monitor import NUM_TURNS
from training.signals.health.stored import structures_of_messages
from training.signals.health.structure import Classifier, Reason, State, Structure

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Look into trajectories: the form of their turns.")


class DialectName(StrEnum):
    """The dialects of :data:`training.render.DIALECTS`, as an option names them."""

    HERMES = "hermes"
    LLAMA = "llama"
    MISTRAL = "mistral"
    MISTRAL_SPACED = "mistral_spaced"
    PLAIN = "plain"


@app.callback()
def inspect() -> None:
    """Look into trajectories: the form of their turns."""


@app.command()
def structure(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Of a rollout, or of `export sft`.")],
    *,
    dialect: Annotated[
        DialectName,
        typer.Option(help="Whose control tokens are looked for in the words of the agent."),
    ] = DialectName.HERMES,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Count the turns of stored trajectories by their form: sound, polluted or collapsed, and why.

    Turns were parsed before they were stored: docs/collapse.md says what is lost.
    """
    with report_errors():
        classifier = Classifier(DIALECTS[dialect.value])
        found = _Counts()
        for messages, stop in read_conversations(user_path(file)):
            found.add(structures_of_messages(messages, classifier, stop))
    if as_json:
        print_json({"file": str(file), "dialect": dialect.value, **found.as_json()})
    else:
        found.print()


@dataclass(slots=True)
class _Counts:
    """What was counted so far."""

    trajectories: int = 0
    polluted: int = 0
    """Trajectories with a polluted turn."""
    collapsed: int = 0
    """Trajectories that have turns, all of them collapsed."""
    states: Counter[State] = field(default_factory=Counter[State])
    reasons: Counter[tuple[State, Reason]] = field(default_factory=Counter[tuple[State, Reason]])
    by_turn: dict[int, Counter[State]] = field(default_factory=dict[int, Counter[State]])

    def add(self, turns: Sequence[Structure]) -> None:
        """Count a trajectory."""
        self.trajectories += 1
        self.polluted += any(turn.state is State.POLLUTED for turn in turns)
        self.collapsed += bool(turns) and all(turn.state is State.COLLAPSED for turn in turns)
        for place, turn in enumerate(turns):
            self.states[turn.state] += 1
            self.reasons.update((turn.state, reason) for reason in turn.reasons)
            self.by_turn.setdefault(min(place, NUM_TURNS), Counter())[turn.state] += 1

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        return {
            "trajectories": self.trajectories,
            "trajectories_polluted": self.polluted,
            "trajectories_collapsed": self.collapsed,
            "generations": self.states.total(),
            "states": _named(self.states),
            "reasons": {
                str(state): {str(why): n for (its, why), n in self._ordered() if its is state}
                for state in (State.POLLUTED, State.COLLAPSED)
            },
            "turns": [{"turn": name, **_named(counts)} for name, counts in self._places()],
        }

    def print(self) -> None:
        """Show it to people."""
        out.print(
            f"{self.trajectories:,} trajectories, {self.states.total():,} turns of the agent; with a"
            f" polluted turn {self.polluted:,}, collapsed in every turn {self.collapsed:,}"
        )
        table = Table(whole("turn"), *(number(str(state)) for state in State))
        for name, counts in self._places():
            table.add_row(name, *(f"{counts[state]:,}" for state in State))
        table.add_row("all", *(f"{self.states[state]:,}" for state in State))
        out.print(table)
        if self.reasons:
            table = Table(whole("state"), whole("reason"), number("turns"))
            for (state, reason), count in self._ordered():
                table.add_row(str(state), str(reason), f"{count:,}")
            out.print(table)

    def _places(self) -> list[tuple[str, Counter[State]]]:
        """Give the counts by turn, from 0, those of all later ones last."""
        return [
            ("later" if place == NUM_TURNS else str(place), counts)
            for place, counts in sorted(self.by_turn.items())
        ]

    def _ordered(self) -> list[tuple[tuple[State, Reason], int]]:
        return sorted(self.reasons.items(), key=lambda each: (-each[1], each[0]))


def _named(counts: Counter[State]) -> JsonObject:
    return {str(state): counts[state] for state in State}
