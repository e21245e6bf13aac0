"""The options of ``astra-mcp rollout``, as its help shows them."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from astra_mcp.cli.completing import BUILT_IN_AGENTS

DistractorMode = Literal["none", "random", "banded"]
AskedQuestions = Literal["main", "all"]

Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Environments to play. \\[default: all]"),
]
Question = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ID", help="Ask this further question of the one environment named. Repeatable."
    ),
]
Questions = Annotated[
    AskedQuestions,
    typer.Option(help="Ask the main question of each environment, or all that it has."),
]
AgentName = Annotated[
    str | None,
    typer.Option(
        help=f"{', '.join(BUILT_IN_AGENTS)}, or the name of a chat model. \\[default: models.agent.model]"
    ),
]
Servers = Annotated[
    list[str] | None,
    typer.Option(
        "--server", metavar="NAME", help="Play this server and no environment. Repeatable."
    ),
]
Prompt = Annotated[str | None, typer.Option(help="With --server: what the agent is asked to do.")]
PromptFile = Annotated[
    Path | None,
    typer.Option(
        help='With --server: a prompt on each line; of a .jsonl file, {"prompt": ...} on each.'
    ),
]
SystemPrompt = Annotated[
    str | None,
    typer.Option(
        metavar="TEXT|@FILE",
        help="Instructions that a chat model is given before the question. \\[default: none]",
    ),
]
Episodes = Annotated[
    int,
    typer.Option(
        "--episodes", "--seeds", min=1, help="Episodes of each environment, or each prompt."
    ),
]
Samples = Annotated[
    int,
    typer.Option(
        min=1,
        help="Play each of these so often under one seed of the environment, as a group.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="Root seed; every episode derives its own.")]
Distractors = Annotated[
    DistractorMode | None,
    typer.Option(
        help="Mix in tools that do not belong to the task: by bands of similarity, or from other "
        "domains at random. \\[default: none]"
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k", min=1, help="With --distractors banded: from each band at most. \\[default: 3]"
    ),
]
FailureRate = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="Share of calls that fail on purpose. \\[default: the gateway's, for the oracle 0]",
    ),
]
FailureKinds = Annotated[
    str | None,
    typer.Option(
        metavar="KIND=WEIGHT,...",
        help="With --failure-rate: how they fail, such as timeout=0.5,unreachable=0.5.",
    ),
]
FailureDelay = Annotated[
    bool,
    typer.Option("--failure-delay", help="With --failure-rate: they take as long as real ones do."),
]
Concurrency = Annotated[
    int | None,
    typer.Option(min=1, help="Episodes open at once. \\[default: 8, or --samples if more]"),
]
Out = Annotated[
    Path | None,
    typer.Option(help="New JSONL file for the trajectories. \\[default: one in the home]"),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the --out of a run that was stopped: play what is missing or has failed.",
    ),
]
Gateway = Annotated[
    str | None,
    typer.Option(help="URL of a gateway. \\[default: the one that runs, else an own one]"),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        help="Chat endpoint of the model; its key is that of models.agent for its host, else OPENAI_API_KEY."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
