"""The options of ``score``: how each is written."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from astra_mcp.llm.config import Role
from training.rewards.shown import MIN_PROMPT_BYTES

__all__ = ["MAX_PROMPT_BYTES", "JudgeRole"]

MAX_PROMPT_BYTES: Final = 120_000
"""About 30,000 tokens of English; most models that judge take as many."""


class JudgeRole(StrEnum):
    """The roles whose models can judge."""

    JUDGE = Role.JUDGE
    GENERATOR = Role.GENERATOR
    AGENT = Role.AGENT
    EMULATOR = Role.EMULATOR


Files = Annotated[
    list[Path] | None, typer.Argument(metavar="FILE", help="Trajectory files, in order.")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", help="The file of scores, lines of JSON; one that is there is gone on with."
    ),
]
Judge = Annotated[JudgeRole, typer.Option(help="The role in models whose model judges.")]
Repeat = Annotated[
    int, typer.Option(min=1, max=32, help="How often each question is asked, as another sample.")
]
Concurrency = Annotated[int, typer.Option(min=1, max=1024, help="Trajectories at once.")]
MaxCalls = Annotated[int | None, typer.Option(min=0, help="Of the model, at most.")]
MaxTokens = Annotated[int | None, typer.Option(min=0, help="Of the model, at most.")]
MaxCost = Annotated[float | None, typer.Option(min=0, help="In the currency of the prices.")]
MaxPromptBytes = Annotated[
    int,
    typer.Option(
        min=MIN_PROMPT_BYTES, help="Of a trajectory in one prompt; longer texts are cut, and told."
    ),
]
RuleTotal = Annotated[
    bool,
    typer.Option(
        "--rule-total",
        help="Also give the total in which another language or an unseen URL costs half of FA.",
    ),
]
Calibrate = Annotated[
    bool,
    typer.Option("--calibrate", help="Ask the judge about labelled trajectories; needs no FILE."),
]
Report = Annotated[
    Path | None,
    typer.Option("--html", "--report", help="Write a page about the scores to this file."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
