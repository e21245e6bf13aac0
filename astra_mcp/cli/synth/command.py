"""The commands ``astra-mcp synth``: which way of making environments or tasks the options ask for."""

import typer

from astra_mcp.cli.synth import options as written
from astra_mcp.cli.synth import task_options

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Make environments, and tasks for trajectories.")


@app.callback()
def synth() -> None:
    """Make environments, and tasks for trajectories."""


@app.command("environments")
def environments(  # noqa: PLR0913 - one parameter for each option
    context: typer.Context,
    *,
    families: written.Families = None,
    sources: written.Sources = None,
    domain: written.Domain = None,
    corpus: written.Corpus = None,
    question: written.Question = None,
    demo: written.Demo = False,
    folder: written.Folder = None,
    seed: written.Seed = 0,
    language: written.Language = None,
    types: written.Types = None,
    hops: written.Hops = "1-8",
    as_json: written.AsJson = False,
    limit: written.Limit = None,
    samples: written.Samples = 1,
    strict_corpus: written.StrictCorpus = False,
    topology_gate: written.TopologyGate = True,
    min_quality: written.MinQuality = None,
    percentile: written.Percentile = None,
    votes: written.Votes = 1,
    judge_votes: written.JudgeVotes = 3,
    attack: written.Attack = 0,
    run: written.Run = "environments",
    concurrency: written.Concurrency = 64,
    max_calls: written.MaxCalls = None,
    max_tokens: written.MaxTokens = None,
    max_cost: written.MaxCost = None,
    report: written.Report = None,
    count: written.Count = None,
    sub_tasks: written.SubTasks = "1-8",
    records: written.Records = "20-200",
    near_misses: written.NearMisses = "0-4",
    options: written.Options = "0-2",
    questions: written.Questions = 1,
    splits: written.Splits = None,
    split_by: written.DividedBy = None,
    acceptance: written.Acceptance = True,
) -> None:
    """Make verified environments: of a text, a domain or a question with a model, or of families.

    A run that was stopped goes on where it was when it is started again, and
    pays for no call of a model twice. Of families, the same options make the
    same bytes.
    """
    # Nothing else is bound yet: these are all options, by their names.
    options_by_name = {name: value for name, value in locals().items() if name != "context"}
    _make(written.Given(**options_by_name), context)


@app.command("tasks")
def tasks(  # noqa: PLR0913 - one parameter for each option
    context: typer.Context,
    *,
    servers: task_options.Servers = None,
    domain: task_options.Domain = None,
    crawled: task_options.Crawled = False,
    limit: task_options.Limit = None,
    demo: task_options.Demo = False,
    proposals: task_options.Proposals = None,
    length: task_options.Length = "2-5",
    acyclic: task_options.Acyclic = False,
    chains: task_options.Chains = 8,
    offline: task_options.Offline = False,
    cross_server: task_options.CrossServer = 0,
    votes: task_options.Votes = 3,
    back_translation: task_options.BackTranslation = 0,
    execute: task_options.Execute = False,
    gateway: task_options.Gateway = None,
    server_tasks: task_options.ServerTasks = 2,
    axes: task_options.Axes = "diversity,complexity,persona",
    language: task_options.Language = None,
    min_question_quality: task_options.MinQuestionQuality = 4.0,
    min_scenario_realism: task_options.MinScenarioRealism = 4.0,
    min_tool_necessity: task_options.MinToolNecessity = 4.0,
    run: task_options.Run = "tasks",
    out: task_options.Out = None,
    audit: task_options.Audit = None,
    audit_file: task_options.AuditFile = None,
    audited: task_options.Audited = None,
    seed: task_options.Seed = 0,
    concurrency: task_options.Concurrency = 64,
    max_calls: task_options.MaxCalls = None,
    max_tokens: task_options.MaxTokens = None,
    max_cost: task_options.MaxCost = None,
    report: task_options.Report = None,
    as_json: task_options.AsJson = False,
) -> None:
    """Make tasks of the registry's tool documents: what a user would ask of servers.

    A run that was stopped goes on where it was when it is started again, and
    pays for no call of a model twice.
    """
    # Nothing else is bound yet: these are all options, by their names.
    options_by_name = {name: value for name, value in locals().items() if name != "context"}
    given = task_options.Given(**options_by_name)
    if given.demo:
        from astra_mcp.cli.synth.task_demo import make_demo  # noqa: PLC0415 - loads what makes it

        _refuse_beside_demo(context)
        make_demo(given)
    else:
        from astra_mcp.cli.synth.tasks import make_tasks  # noqa: PLC0415 - loads what makes them

        make_tasks(given)


def _make(given: written.Given, context: typer.Context) -> None:
    """Make them of families where those are named, else with a model; each loads what it needs."""
    if given.families is None:
        from astra_mcp.cli.synth.with_model import make_with_model  # noqa: PLC0415

        _refuse(context, written.FAMILIES, "only --families knows it")
        if given.demo:
            _refuse_run(context)
        make_with_model(given)
    else:
        from astra_mcp.cli.synth.families import make_of_families  # noqa: PLC0415

        _check_families(given, context)
        make_of_families(given)


def _check_families(given: written.Given, context: typer.Context) -> None:
    named = (given.sources, given.demo, given.question, given.corpus, given.domain)
    if any(named):
        words = (
            "families need no source: leave --from, --domain, --corpus, --question and --demo out"
        )
        raise typer.BadParameter(words, param_hint="--families")
    _refuse(context, written.MODEL, "families need no model, and do not know it")
    if given.count is None or given.folder is None:
        missing = "--count" if given.count is None else "--out"
        raise typer.BadParameter("--families needs it", param_hint=missing)


def _is_written(context: typer.Context, option: str) -> bool:
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def _refuse_run(context: typer.Context) -> None:
    if _is_written(context, "run"):
        raise typer.BadParameter("the run of --demo has a name of its own", param_hint="--run")


def _refuse_beside_demo(context: typer.Context) -> None:
    """Refuse every option that the demo of tasks decides itself."""
    for parameter in context.command.params:
        name = parameter.name
        if name and name not in task_options.BESIDE_DEMO and _is_written(context, name):
            words = "--demo decides it itself: leave it out; only --out and --json go with it"
            raise typer.BadParameter(words, param_hint=" / ".join(parameter.opts))


def _refuse(context: typer.Context, panel: str, why: str) -> None:
    """Refuse options of a panel of the help: none is taken that does nothing."""
    for parameter in context.command.params:
        is_of_panel = getattr(parameter, "rich_help_panel", None) == panel
        if is_of_panel and parameter.name and _is_written(context, parameter.name):
            names = [*parameter.opts, *parameter.secondary_opts]
            raise typer.BadParameter(why, param_hint=" / ".join(names))
