"""The options of ``synth environments``: how each is written, and all of them as they were given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.cli.synth.run_options import AsJson, GivenOfRun, RunOptions, Seed
from astra_mcp.synthesis.environments.families.generation import SplitBy

__all__ = ["FAMILIES", "MODEL", "AsJson", "Given", "Seed"]

_MAX_COUNT = 100_000
_WHAT, MODEL, FAMILIES = "What to make them of", "With a model", "Of families"
_OF_RUN = RunOptions(MODEL)

Families = Annotated[
    str | None,
    typer.Option(
        help="Generators that need no model: names with commas, `all`, or `micro`.",
        rich_help_panel=_WHAT,
    ),
]
Sources = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="A file of sources: .jsonl (.gz) rows with domain and knowledge_corpus, or with "
        "question; .json with a taxonomy.",
        rich_help_panel=_WHAT,
    ),
]
Domain = Annotated[
    str | None, typer.Option(help="One source: what it is about.", rich_help_panel=_WHAT)
]
Corpus = Annotated[
    Path | None,
    typer.Option(help="One source: a file with what is known.", rich_help_panel=_WHAT),
]
Question = Annotated[
    str | None,
    typer.Option(help="One source: the main question itself.", rich_help_panel=_WHAT),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="Every stage, with answers of a model that were written by hand.",
        rich_help_panel=_WHAT,
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(
        "--out",
        help="Where their folders are made; by default, with a model, a folder under the home "
        "that `serve` publishes.",
    ),
]
Language = Annotated[
    str | None, typer.Option(help="en, zh, or both with a comma; by default that of a source.")
]
Types = Annotated[
    str | None, typer.Option("--type", help="Scenario types with commas, such as Multi-Hop.")
]
Hops = Annotated[str, typer.Option(help="How deep the longest chain of sub-tasks is.")]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Only the first so many sources.", rich_help_panel=MODEL),
]
Samples = Annotated[
    int, typer.Option(min=1, max=8, help="Questions of each source.", rich_help_panel=MODEL)
]
StrictCorpus = Annotated[
    bool,
    typer.Option(
        "--strict-corpus",
        help="Refuse answers that the text does not tell.",
        rich_help_panel=MODEL,
    ),
]
TopologyGate = Annotated[
    bool,
    typer.Option(
        help="Without, what it would refuse goes on, for comparison.", rich_help_panel=MODEL
    ),
]
MinQuality = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Least quality score QS.", rich_help_panel=MODEL),
]
Percentile = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=100,
        help="In place of --min-quality: of the scores of this run.",
        rich_help_panel=MODEL,
    ),
]
Votes = Annotated[
    int,
    typer.Option(min=1, max=15, help="On each score of quality.", rich_help_panel=MODEL),
]
JudgeVotes = Annotated[
    int,
    typer.Option(
        min=0,
        max=15,
        help="On what code cannot decide of an environment; 0 asks nothing.",
        rich_help_panel=MODEL,
    ),
]
Attack = Annotated[
    int,
    typer.Option(
        min=0,
        max=32,
        help="Episodes in which a model tries to earn the reward without the question.",
        rich_help_panel=MODEL,
    ),
]
Run = Annotated[str, _OF_RUN.run]
Concurrency = Annotated[int, _OF_RUN.concurrency]
MaxCalls = Annotated[int | None, _OF_RUN.budget]
MaxTokens = Annotated[int | None, _OF_RUN.budget]
MaxCost = Annotated[float | None, _OF_RUN.max_cost]
Report = Annotated[Path | None, _OF_RUN.report]
Count = Annotated[
    int | None, typer.Option(min=1, max=_MAX_COUNT, help="How many.", rich_help_panel=FAMILIES)
]
SubTasks = Annotated[str, typer.Option(help="How many each has.", rich_help_panel=FAMILIES)]
Records = Annotated[str, typer.Option(help="Rows of the largest table.", rich_help_panel=FAMILIES)]
NearMisses = Annotated[
    str,
    typer.Option(
        help="Records that differ from what is asked for in one mark.",
        rich_help_panel=FAMILIES,
    ),
]
Options = Annotated[
    str,
    typer.Option(
        help="Optional parameters beyond those that are needed.", rich_help_panel=FAMILIES
    ),
]
Questions = Annotated[
    int,
    typer.Option(
        min=1,
        max=200,
        help="How many each is asked, where its family bears so many.",
        rich_help_panel=FAMILIES,
    ),
]
Splits = Annotated[
    str | None,
    typer.Option(
        "--split",
        help="Hundredths by name: train=80,validation=10,test=10.",
        rich_help_panel=FAMILIES,
    ),
]
DividedBy = Annotated[
    SplitBy | None,
    typer.Option(help="What no two splits share; by default entity.", rich_help_panel=FAMILIES),
]
Acceptance = Annotated[
    bool,
    typer.Option(
        help="Publish only what passes it; without, all are marked unverified.",
        rich_help_panel=FAMILIES,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(GivenOfRun):
    """What a person wrote, by the names of the options; see their help."""

    families: str | None
    sources: Path | None
    domain: str | None
    corpus: Path | None
    question: str | None
    demo: bool
    folder: Path | None
    language: str | None
    types: str | None
    hops: str
    limit: int | None
    samples: int
    strict_corpus: bool
    topology_gate: bool
    min_quality: float | None
    percentile: float | None
    votes: int
    judge_votes: int
    attack: int
    count: int | None
    sub_tasks: str
    records: str
    near_misses: str
    options: str
    questions: int
    splits: str | None
    split_by: SplitBy | None
    acceptance: bool
