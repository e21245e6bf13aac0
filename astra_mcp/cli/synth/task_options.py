"""The options of ``synth tasks``: how each is written, and all of them as they were given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.cli.synth.run_options import AsJson, GivenOfRun, RunOptions, Seed

__all__ = ["BESIDE_DEMO", "AsJson", "Given", "Seed"]

BESIDE_DEMO = frozenset({"demo", "out", "as_json"})
"""The options that do something beside ``--demo``."""

_WHAT, _CHAINS, _TASKS, _RUN = "What to make them of", "Chains", "Tasks", "The run"
_OF_RUN = RunOptions(_RUN)

Servers = Annotated[
    list[str] | None,
    typer.Option(
        "--server",
        metavar="NAME",
        help="A kept server of the registry. Repeatable. \\[default: all]",
        rich_help_panel=_WHAT,
    ),
]
Domain = Annotated[
    str | None, typer.Option(help="Only servers of this domain.", rich_help_panel=_WHAT)
]
Crawled = Annotated[
    bool,
    typer.Option(
        "--crawled",
        help="Also servers whose tools were read off a page.",
        rich_help_panel=_WHAT,
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(min=1, help="Only the first so many servers, by name.", rich_help_panel=_WHAT),
]
Demo = Annotated[
    bool,
    typer.Option(
        "--demo",
        help="All the way from three small servers to a training set, with a model's words that were written "
        "by hand. \\[--out: ./trajectories-demo]",
        rich_help_panel=_WHAT,
    ),
]
Proposals = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=64,
        help="Chains that a model proposes of each server; 0 makes none. \\[default: 4]",
        rich_help_panel=_CHAINS,
    ),
]
Length = Annotated[str, typer.Option(help="How many calls a chain has.", rich_help_panel=_CHAINS)]
Acyclic = Annotated[
    bool,
    typer.Option("--acyclic", help="No chain calls a tool twice.", rich_help_panel=_CHAINS),
]
Chains = Annotated[
    int,
    typer.Option(min=1, max=256, help="Walks of each server, at most.", rich_help_panel=_CHAINS),
]
Offline = Annotated[
    bool,
    typer.Option(
        "--offline",
        help="Chains of the types of arguments and results alone, in the place of proposals.",
        rich_help_panel=_CHAINS,
    ),
]
CrossServer = Annotated[
    int,
    typer.Option(
        min=0, help="So many chains over two or three servers besides.", rich_help_panel=_CHAINS
    ),
]
Votes = Annotated[
    int,
    typer.Option(
        min=1, max=15, help="On whether a task and its chain fit.", rich_help_panel=_CHAINS
    ),
]
BackTranslation = Annotated[
    int,
    typer.Option(
        min=0,
        max=15,
        help="So often a model has to find the chain again from the task; 0 asks nothing.",
        rich_help_panel=_CHAINS,
    ),
]
Execute = Annotated[
    bool,
    typer.Option(
        "--execute",
        help="Run each chain through the gateway, and keep those whose calls all succeed.",
        rich_help_panel=_CHAINS,
    ),
]
Gateway = Annotated[
    str | None,
    typer.Option(
        help="With --execute: URL of a gateway. \\[default: the one that runs, else an own one]",
        rich_help_panel=_CHAINS,
    ),
]
ServerTasks = Annotated[
    int,
    typer.Option(
        min=0, max=64, help="Tasks of each server without a chain.", rich_help_panel=_TASKS
    ),
]
Axes = Annotated[
    str,
    typer.Option(
        help="Variations of each task, with commas; none makes none.", rich_help_panel=_TASKS
    ),
]
Language = Annotated[
    str | None,
    typer.Option(
        help="en or zh. \\[default: that of a server's documents]", rich_help_panel=_TASKS
    ),
]
MinQuestionQuality = Annotated[
    float,
    typer.Option(min=1, max=5, help="Least score of the question.", rich_help_panel=_TASKS),
]
MinScenarioRealism = Annotated[
    float,
    typer.Option(min=1, max=5, help="Least score of the scenario.", rich_help_panel=_TASKS),
]
MinToolNecessity = Annotated[
    float,
    typer.Option(min=1, max=5, help="Least score of the need for tools.", rich_help_panel=_TASKS),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="New JSONL file for the tasks of a run that came to its end; with --demo a new folder.",
        rich_help_panel=_RUN,
    ),
]
Audit = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Write so many tasks that --run keeps, drawn by --seed, to --audit-file for people to "
        "judge, and make nothing.",
        rich_help_panel=_RUN,
    ),
]
AuditFile = Annotated[
    Path | None, typer.Option(help="With --audit: a new JSONL file.", rich_help_panel=_RUN)
]
Audited = Annotated[
    Path | None,
    typer.Option(
        help="Read what people wrote into such a file, tell the rate of flags, and make nothing.",
        rich_help_panel=_RUN,
    ),
]
Run = Annotated[str, _OF_RUN.run]
Concurrency = Annotated[int, _OF_RUN.concurrency]
MaxCalls = Annotated[int | None, _OF_RUN.budget]
MaxTokens = Annotated[int | None, _OF_RUN.budget]
MaxCost = Annotated[float | None, _OF_RUN.max_cost]
Report = Annotated[Path | None, _OF_RUN.report]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given(GivenOfRun):
    """What a person wrote, by the names of the options; see their help."""

    servers: list[str] | None
    domain: str | None
    crawled: bool
    limit: int | None
    demo: bool
    proposals: int | None
    length: str
    acyclic: bool
    chains: int
    offline: bool
    cross_server: int
    votes: int
    back_translation: int
    execute: bool
    gateway: str | None
    server_tasks: int
    axes: str
    language: str | None
    min_question_quality: float
    min_scenario_realism: float
    min_tool_necessity: float
    out: Path | None
    audit: int | None
    audit_file: Path | None
    audited: Path | None
