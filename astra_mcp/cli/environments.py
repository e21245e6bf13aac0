"""``astra-mcp environments``: verify bundles, look at them, count them, start new ones, import rows."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.cli.datasets.importing import import_rows, print_imported_rows
from astra_mcp.cli.statistics.counting import count_environments
from astra_mcp.cli.statistics.tables import print_not_loaded, print_statistics
from astra_mcp.cli.verifying import print_failed_votes, print_verified, verify_bundles
from astra_mcp.compose.bundles import find_bundle_folders, find_published, unknown_environment
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.environments.rows.bundles import UNKNOWN_LICENSE
from astra_mcp.home import user_path
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.shown import Table, json_text, number, whole
from astra_mcp.types import JsonObject
from gateway.api.environments import EnvironmentFilter
from registry.bundles.digest import BundleDigest
from servers.bundled import bundled_folder

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True, help="Verify, list, show, count, start and import environments."
)

_NUM_VOTES = 3

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


@app.command("verify")
def verify(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH", help="Bundles, folders of bundles, or names of bundled ones."
        ),
    ] = None,
    *,
    trusted: Annotated[
        bool, typer.Option(help="Run foreign tool code even where nothing isolates it.")
    ] = False,
    judge: Annotated[
        bool,
        typer.Option("--judge", help="Also ask models.judge what code cannot decide."),
    ] = False,
    votes: Annotated[
        int | None,
        typer.Option(min=1, max=15, help="How often it is asked each question: odd, by default 3."),
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also verify what was verified before.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run the acceptance on bundles; by default on all that ship with the package.

    The verdict on a bundle that has not changed is remembered, and said to be.
    What a judge says stands beside it: neither `verified` nor the exit code
    depends on it.
    """
    if votes is not None and not judge:
        raise typer.BadParameter("only --judge asks a model", param_hint="--votes")
    if votes is not None and votes % 2 == 0:
        raise typer.BadParameter("must be odd, so that one side has more", param_hint="--votes")
    num_votes = (votes or _NUM_VOTES) if judge else None
    done = run_async(verify_bundles, paths or [bundled_folder()], trusted, num_votes, again)
    if as_json:
        print_json(done.as_json())
    else:
        print_verified(done)
    print_failed_votes(done)
    if not all(row.verdict.verified for row in done.rows):
        raise typer.Exit(ExitCode.FAILED)


@app.command("list")
def list_environments(  # noqa: PLR0913 - one parameter for each option
    *,
    domain: Annotated[str | None, typer.Option(help="Only of this domain.")] = None,
    language: Annotated[str | None, typer.Option(help="Only in this language.")] = None,
    shape: Annotated[
        str | None, typer.Option("--type", help="Only of this shape, such as multi-hop.")
    ] = None,
    hops: Annotated[int | None, typer.Option(min=1, help="Only with so many hops.")] = None,
    family: Annotated[str | None, typer.Option(help="Only of this family.")] = None,
    verified: Annotated[
        bool | None,
        typer.Option("--verified/--unverified", help="Only those that claim to be verified."),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="How many at most.")] = None,
    offset: Annotated[int, typer.Option(min=0, help="How many to leave out first.")] = 0,
    as_json: Json = False,
) -> None:
    """List the environments that `serve` publishes."""
    wanted = EnvironmentFilter(
        domain=domain, language=language, type=shape, hops=hops, family=family, verified=verified
    )
    with report_errors():
        found = find_published(load_settings())
    for warning in found.warnings:
        say.print(warning, style="yellow")
    fitting = [digest for digest in found.digests if wanted.fits(digest)]
    shown = fitting[offset : None if limit is None else offset + limit]
    if as_json:
        rows = [_summary(digest) for digest in shown]
        print_json({"environments": rows, "total": len(fitting)})
        return
    _print_list(shown)
    if len(shown) < len(fitting):
        out.print(f"{len(shown)} of {len(fitting)} shown (--limit, --offset)")


def _print_list(shown: Sequence[BundleDigest]) -> None:
    # One is what an environment has unless it says so, and 80 columns are to hold its name.
    asked = ("questions",) if any(digest.num_questions > 1 for digest in shown) else ()
    counts = (*map(number, asked), number("tasks"), number("tools"))
    table = Table("name", "domain", whole("lang"), *counts, whole("status"))
    keys = ("name", "domain", "language", *asked, "sub_tasks", "tools", "status")
    for digest in shown:
        row = _summary(digest)
        table.add_row(*("-" if row[k] is None else str(row[k]) for k in keys))
    out.print(table)


@app.command("show")
def show_environment(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or the path of a bundle.")],
    *,
    question: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Show this further question in the place of the main one."),
    ] = None,
    gold: Annotated[
        bool, typer.Option("--gold", help="Also print answers and gold calls.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show an environment's question, sub-tasks and tools."""
    with report_errors():
        bundle = _find(load_settings(), name).asking(question)
    if as_json:
        print_json(_details(bundle, gold=gold))
    else:
        _print_details(bundle, gold=gold)


def _find(settings: Settings, name: str) -> Bundle:
    if Path(name).is_dir():
        return load_bundle(Path(name))
    folders = find_bundle_folders(settings)
    if name not in folders:
        raise unknown_environment(name, folders)
    return load_bundle(folders[name])


def _summary(digest: BundleDigest) -> JsonObject:
    return {
        "name": digest.name,
        "title": digest.title,
        "domain": digest.domain,
        "language": digest.language,
        "scenario_type": digest.scenario_type,
        "hops": digest.hops,
        "family": digest.family,
        "questions": digest.num_questions,
        "sub_tasks": digest.sub_tasks,
        "tools": digest.num_tools,
        "status": digest.status,
        "version": digest.version,
    }


def _details(bundle: Bundle, *, gold: bool) -> JsonObject:
    document = bundle.document
    hidden = None if gold else {"answer"}
    details: JsonObject = {
        **_summary(BundleDigest.of(bundle)),
        "description": document.description,
        "question_id": bundle.question_id,
        "question": document.question,
        **({} if document.background is None else {"background": document.background}),
        "questions": [
            {
                "id": further.id,
                "question": further.question,
                "scenario_type": further.scenario_type and further.scenario_type.value,
                "sub_tasks": len(further.scored),
            }
            for further in document.questions
        ],
        "sub_tasks": [s.model_dump(mode="json", exclude=hidden) for s in document.sub_tasks],
        "tools": [t.model_dump(mode="json") for t in document.tools],
        "provenance": document.provenance.model_dump(mode="json"),
    }
    if gold:
        details["answer"] = document.answer
        details["gold"] = [
            {"tool": g.tool, "arguments": g.values, "solves": list(g.solves)} for g in document.gold
        ]
    return details


def _print_details(bundle: Bundle, *, gold: bool) -> None:
    document = bundle.document
    lines = [f"{bundle.name} {document.version}: {document.title}", document.description, ""]
    lines += [f"Background: {document.background}"] if document.background else []
    asked = "" if bundle.question_id is None else f" {bundle.question_id}"
    lines += [f"Question{asked}: {document.question}"]
    lines += [f"Answer: {document.answer or '-'}"] if gold else []
    lines += ["", "Sub-tasks:"]
    for sub in document.sub_tasks:
        needs = f", needs {', '.join(map(str, sub.dependencies))}" if sub.dependencies else ""
        lines.append(f"  {sub.id}. {sub.question or '-'} [{sub.tool or 'no tool'}{needs}]")
        lines += [f"     = {sub.answer}"] if gold else []
    lines += ["", "Tools:"]
    for tool in document.tools:
        lines.append(f"  {tool.name}({', '.join(tool.input_schema['properties'])})")
        lines.append(f"     {tool.description}")
    if gold:
        lines += ["", "Gold calls:"]
        lines += [
            f"  {g.tool}({json_text(g.values)}) solves {list(g.solves)}" for g in document.gold
        ]
    if document.questions:
        lines += ["", "Further questions (--question ID):"]
        lines += [f"  {further.id}: {further.question}" for further in document.questions]
    out.print("\n".join(lines))


@app.command("stats")
def stats(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Environments, bundles or folders of bundles."),
    ] = None,
    *,
    html: Annotated[
        Path | None, typer.Option("--html", help="Also write a report to this file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Count what environments hold, beside the paper's figures; by default what `serve` publishes."""
    with report_errors():
        counted = count_environments(names or (), load_settings())
        if html is not None:
            from astra_mcp.cli.statistics.page import report_of  # noqa: PLC0415 - for this alone
            from astra_mcp.report.html.writing import write_report  # noqa: PLC0415

            write_report(report_of(counted), html)
    if as_json:
        print_json(counted.as_json())
    else:
        print_statistics(counted.statistics)
    if html is not None:
        say.print(f"wrote {html}")
    print_not_loaded(counted)
    if counted.not_loaded:
        raise typer.Exit(ExitCode.FAILED)


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Such as hotel-booking.")],
    *,
    folder: Annotated[Path, typer.Option(help="Where the bundle's folder is made.")] = Path(),
    as_json: Json = False,
) -> None:
    """Start a bundle from a small example that verifies."""
    with report_errors():
        path = create_bundle(name, folder)
    if as_json:
        print_json({"name": name, "path": str(path)})
        return
    out.print(f"wrote {path}: environment.json, tools.py and server.json")
    out.print(f"next: change it step by step, and run `astra-mcp environments verify {path}`")


@app.command("import")
def import_file(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows: .jsonl or .parquet.")],
    *,
    folder: Annotated[Path, typer.Option("--out", help="Where the bundles are written.")],
    license: Annotated[
        str, typer.Option(help="Licence of the data, as Apache-2.0.")
    ] = UNKNOWN_LICENSE,
    trusted: Annotated[
        bool, typer.Option(help="Run foreign tool code even where nothing isolates it.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Make unverified bundles of the rows of an RL data set (the form of ASTRA-RL-1k).

    Each module is executed once in the sandbox. A rejected row is named with
    its line and reason; the exit code is 1 then.
    """
    done = run_async(import_rows, user_path(file), user_path(folder), license, trusted)
    if as_json:
        print_json(done.as_json())
    else:
        print_imported_rows(done, folder)
    if done.errors:
        raise typer.Exit(ExitCode.FAILED)
