"""The commands of ``astra-mcp synth`` and their options."""

from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.cli.synth.families import FamilyOptions, make_of_families
from astra_mcp.synthesis.environments.families.generation import SplitBy

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Make environments.")

_MAX_COUNT = 100_000
_WHAT, _MODEL, _FAMILIES = "What to make them of", "With a model", "Of families"


@app.callback()
def synth() -> None:
    """Make environments."""


@app.command("environments")
def environments(  # noqa: PLR0913 - one parameter for each option
    *,
    families: Annotated[
        str | None,
        typer.Option(
            help="Generators that need no model: names with commas, `all`, or `micro`.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    sources: Annotated[
        Path | None,
        typer.Option(
            "--from",
            help="A file of sources: .jsonl (.gz) rows with domain and knowledge_corpus, or with "
            "question; .json with a taxonomy.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="One source: what it is about.", rich_help_panel=_WHAT)
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(help="One source: a file with what is known.", rich_help_panel=_WHAT),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(help="One source: the main question itself.", rich_help_panel=_WHAT),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Every stage, with answers of a model that were written by hand.",
            rich_help_panel=_WHAT,
        ),
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Where their folders are made; by default, with a model, a folder under the home "
            "that `serve` publishes.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="The same gives the same bytes.")] = 0,
    language: Annotated[
        str | None, typer.Option(help="en, zh, or both with a comma; by default that of a source.")
    ] = None,
    types: Annotated[
        str | None, typer.Option("--type", help="Scenario types with commas, such as Multi-Hop.")
    ] = None,
    hops: Annotated[str, typer.Option(help="How deep the longest chain of sub-tasks is.")] = "1-8",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Only the first so many sources.", rich_help_panel=_MODEL),
    ] = None,
    samples: Annotated[
        int, typer.Option(min=1, max=8, help="Questions of each source.", rich_help_panel=_MODEL)
    ] = 1,
    strict_corpus: Annotated[
        bool,
        typer.Option(
            "--strict-corpus",
            help="Refuse answers that the text does not tell.",
            rich_help_panel=_MODEL,
        ),
    ] = False,
    topology_gate: Annotated[
        bool,
        typer.Option(
            help="Without, what it would refuse goes on, for comparison.", rich_help_panel=_MODEL
        ),
    ] = True,
    min_quality: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Least quality score QS.", rich_help_panel=_MODEL),
    ] = None,
    percentile: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=100,
            help="In place of --min-quality: of the scores of this run.",
            rich_help_panel=_MODEL,
        ),
    ] = None,
    votes: Annotated[
        int,
        typer.Option(min=1, max=15, help="On each score of quality.", rich_help_panel=_MODEL),
    ] = 1,
    judge_votes: Annotated[
        int,
        typer.Option(
            min=0,
            max=15,
            help="On what code cannot decide of an environment; 0 asks nothing.",
            rich_help_panel=_MODEL,
        ),
    ] = 3,
    attack: Annotated[
        int,
        typer.Option(
            min=0,
            max=32,
            help="Episodes in which a model tries to earn the reward without the question.",
            rich_help_panel=_MODEL,
        ),
    ] = 0,
    run: Annotated[
        str,
        typer.Option(help="Name of the run, which goes on by it.", rich_help_panel=_MODEL),
    ] = "environments",
    concurrency: Annotated[
        int, typer.Option(min=1, max=1024, help="Items in work at once.", rich_help_panel=_MODEL)
    ] = 64,
    max_calls: Annotated[
        int | None, typer.Option(min=0, help="Of models, at most.", rich_help_panel=_MODEL)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="Of models, at most.", rich_help_panel=_MODEL)
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(min=0, help="In the currency of the prices.", rich_help_panel=_MODEL),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page about the run to this file.", rich_help_panel=_MODEL),
    ] = None,
    count: Annotated[
        int | None, typer.Option(min=1, max=_MAX_COUNT, help="How many.", rich_help_panel=_FAMILIES)
    ] = None,
    sub_tasks: Annotated[
        str, typer.Option(help="How many each has.", rich_help_panel=_FAMILIES)
    ] = "1-8",
    records: Annotated[
        str, typer.Option(help="Rows of the largest table.", rich_help_panel=_FAMILIES)
    ] = "20-200",
    near_misses: Annotated[
        str,
        typer.Option(
            help="Records that differ from what is asked for in one mark.",
            rich_help_panel=_FAMILIES,
        ),
    ] = "0-4",
    options: Annotated[
        str,
        typer.Option(
            help="Optional parameters beyond those that are needed.", rich_help_panel=_FAMILIES
        ),
    ] = "0-2",
    questions: Annotated[
        int,
        typer.Option(
            min=1,
            max=200,
            help="How many each is asked, where its family bears so many.",
            rich_help_panel=_FAMILIES,
        ),
    ] = 1,
    splits: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="Hundredths by name: train=80,validation=10,test=10.",
            rich_help_panel=_FAMILIES,
        ),
    ] = None,
    split_by: Annotated[
        SplitBy | None,
        typer.Option(
            help="What no two splits share; by default entity.", rich_help_panel=_FAMILIES
        ),
    ] = None,
    acceptance: Annotated[
        bool,
        typer.Option(
            help="Publish only what passes it; without, all are marked unverified.",
            rich_help_panel=_FAMILIES,
        ),
    ] = True,
) -> None:
    """Make verified environments: of a text, a domain or a question with a model, or of families.

    A run that was stopped goes on where it was when it is started again, and
    pays for no call of a model twice. Of families, the same options make the
    same bytes.
    """
    if families is not None:
        if count is None or folder is None:
            missing = "--count" if count is None else "--out"
            raise typer.BadParameter("--families needs it", param_hint=missing)
        if sources or demo or question or corpus or domain:
            words = "families need no source: leave --from, --domain, --corpus, --question and --demo out"
            raise typer.BadParameter(words, param_hint="--families")
        given = FamilyOptions(
            families=families,
            count=count,
            folder=folder,
            seed=seed,
            language=language or "en,zh",
            types=types,
            sub_tasks=sub_tasks,
            hops=hops,
            records=records,
            near_misses=near_misses,
            options=options,
            questions=questions,
            splits=splits,
            split_by=split_by,
            acceptance=acceptance,
            as_json=as_json,
        )
        make_of_families(given)
        return
    if not acceptance or splits or split_by or count:
        words = "only --families knows --count, --split, --split-by and --no-acceptance"
        raise typer.BadParameter(words, param_hint="--count, --split, --no-acceptance")
    from astra_mcp.cli.synth.with_model import ModelOptions, make_with_model  # noqa: PLC0415

    make_with_model(
        ModelOptions(
            sources=sources,
            domain=domain,
            corpus=corpus,
            question=question,
            is_demo=demo,
            folder=folder,
            seed=seed,
            language=language,
            types=types,
            hops=hops,
            limit=limit,
            samples=samples,
            is_strict=strict_corpus,
            has_gate=topology_gate,
            min_quality=min_quality,
            percentile=percentile,
            votes=votes,
            judge_votes=judge_votes,
            attack=attack,
            run=run,
            concurrency=concurrency,
            max_calls=max_calls,
            max_tokens=max_tokens,
            max_cost=max_cost,
            report=report,
            as_json=as_json,
        )
    )
