"""The options of ``astra-mcp rollout``, as its help shows them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from astra_mcp.cli.completing import BUILT_IN_AGENTS
from training.rollout.settings import MAX_TURNS

DistractorMode = Literal["none", "random", "banded"]
AskedQuestions = Literal["main", "all"]
FailureScope = Literal["all", "emulated_calls"]

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
        help=f"{', '.join(BUILT_IN_AGENTS)}, the name of a chat model, qwen-agent:MODEL, or module:Class. "
        "\\[default: models.agent.model]"
    ),
]
Servers = Annotated[
    list[str] | None,
    typer.Option(
        "--server", metavar="NAME", help="Play this server and no environment. Repeatable."
    ),
]
Tasks = Annotated[
    str | None,
    typer.Option(
        metavar="RUN|all",
        help="Play the tasks that this run of `synth tasks` kept, and no environment.",
    ),
]
Task = Annotated[
    list[str] | None,
    typer.Option("--task", metavar="ID", help="Play this synthesized task. Repeatable."),
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
FailureScopeOption = Annotated[
    FailureScope | None,
    typer.Option(
        "--failure-scope",
        help="With --failure-rate: the calls of all tools, or those of emulated servers alone. "
        "\\[default: all]",
    ),
]
MaxTurns = Annotated[
    int | None,
    typer.Option(
        min=1, max=MAX_TURNS, help="Messages of a model. \\[default: rollout.max_turns, 32]"
    ),
]
MaxSeconds = Annotated[
    float | None,
    typer.Option(
        min=0.001,
        help="Wall time of an episode of a model. \\[default: rollout.max_seconds, 240]",
    ),
]
MaxCompletionTokens = Annotated[
    int | None,
    typer.Option(min=1, help="What a model may write in an episode. \\[default: no limit]"),
]
MaxPromptTokens = Annotated[
    int | None,
    typer.Option(min=1, help="What a model may read for one turn. \\[default: no limit]"),
]
MaxInvalidCalls = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Calls in a row of unknown tools, or whose arguments are no object. "
        "\\[default: rollout.max_invalid_calls, 5]",
    ),
]
UserName = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="MODEL|simulated",
        help="A model that speaks as the user: this one, or that of models.user. \\[default: none]",
    ),
]
MaxUserTurns = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=MAX_TURNS,
        help="With --user: messages of the user. \\[default: rollout.max_user_turns, 8]",
    ),
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
Html = Annotated[
    Path | None, typer.Option("--html", help="Write a page about the rollout to this file.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """What a person wrote, by the names of the options; see their help."""

    names: list[str] | None
    agent: str | None
    question: list[str] | None
    questions: AskedQuestions
    server: list[str] | None
    tasks: str | None
    task: list[str] | None
    prompt: str | None
    prompt_file: Path | None
    system_prompt: str | None
    episodes: int
    samples: int
    seed: int
    distractors: DistractorMode | None
    k: int | None
    failure_rate: float | None
    failure_kinds: str | None
    failure_delay: bool
    failure_scope: FailureScope | None
    max_turns: int | None
    max_seconds: float | None
    max_completion_tokens: int | None
    max_prompt_tokens: int | None
    max_invalid_calls: int | None
    user: str | None
    max_user_turns: int | None
    concurrency: int | None
    out: Path | None
    resume: bool
    gateway: str | None
    base_url: str | None
    html: Path | None
    as_json: bool
