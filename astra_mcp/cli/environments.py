"""``astra-mcp environments``: verify bundles, look at them, start new ones."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from astra_mcp.compose.bundles import find_bundle, find_bundles, load_published, open_bundle_sandbox
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.concurrency import map_concurrently
from astra_mcp.environments.acceptance import Verdict, verdict_of_faults, verify_bundle
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleError
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.shown import Table, json_text, number, styled, whole
from astra_mcp.types import JsonObject
from servers.bundled import bundled_folder

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Verify, list, show and start environments.")

_CONCURRENT_BUNDLES = 4
"""Bundles verified at once: their calls wait for one another more than for the processor."""

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
    as_json: Json = False,
) -> None:
    """Run the acceptance on bundles; by default on all that ship with the package."""
    verdicts = run_async(_verify, paths or [bundled_folder()], trusted)
    if as_json:
        print_json({"environments": [v.as_json() for v in verdicts]})
    else:
        _print_verdicts(verdicts)
    if not all(v.verified for v in verdicts):
        raise typer.Exit(ExitCode.FAILED)


async def _verify(paths: Sequence[Path], trusted: bool) -> list[Verdict]:
    named = [_bundled(path) for path in paths]
    folders = list(dict.fromkeys(f.resolve() for path in named for f in find_bundles(path)))
    loaded = [_load(folder) for folder in folders]
    bundles = [b for b in loaded if isinstance(b, Bundle)]
    settings = load_settings()
    with say.bars(transient=True) as progress:
        task = progress.add_task("verifying", total=len(loaded))
        async with open_bundle_sandbox(settings, bundles, trusted=trusted) as sandbox:

            async def verify_one(item: Bundle | Verdict) -> Verdict:
                is_bundle = isinstance(item, Bundle)
                verdict = await verify_bundle(item, sandbox) if is_bundle else item
                progress.advance(task)
                return verdict

            return await map_concurrently(verify_one, loaded, limit=_CONCURRENT_BUNDLES)


def _bundled(path: Path) -> Path:
    """Take a bare name that is no folder here for that of a bundled environment."""
    named = bundled_folder() / path
    is_name = path.name == str(path) and not path.exists()
    return named if is_name and named.is_dir() else path


def _load(folder: Path) -> Bundle | Verdict:
    try:
        return load_bundle(folder)
    except BundleError as error:
        return verdict_of_faults(folder.name, error.faults)


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        word = ("verified", "green") if verdict.verified else ("refused", "bold red")
        out.print(styled(word, "  ", verdict.name))
        for failed in verdict.failed_checks:
            out.print(f"    {failed.check.value}: {failed.detail}")
    num_verified = sum(v.verified for v in verdicts)
    out.print(f"{num_verified} of {len(verdicts)} verified")


@app.command("list")
def list_environments(*, as_json: Json = False) -> None:
    """List the environments that `serve` publishes."""
    with report_errors():
        bundles = sorted(load_published(load_settings()), key=lambda b: b.name)
    if as_json:
        print_json({"environments": [_summary(b) for b in bundles]})
        return
    counts = (number("tasks"), number("tools"))
    table = Table("name", "domain", whole("lang"), *counts, whole("status"))
    keys = ("name", "domain", "language", "sub_tasks", "tools", "status")
    for bundle in bundles:
        row = _summary(bundle)
        table.add_row(*("-" if row[k] is None else str(row[k]) for k in keys))
    out.print(table)


@app.command("show")
def show_environment(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name, or the path of a bundle.")],
    *,
    gold: Annotated[
        bool, typer.Option("--gold", help="Also print answers and gold calls.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Show an environment's question, sub-tasks and tools."""
    with report_errors():
        bundle = _find(load_settings(), name)
    if as_json:
        print_json(_details(bundle, gold=gold))
    else:
        _print_details(bundle, gold=gold)


def _find(settings: Settings, name: str) -> Bundle:
    if Path(name).is_dir():
        return load_bundle(Path(name))
    return find_bundle({bundle.name: bundle for bundle in load_published(settings)}, name)


def _summary(bundle: Bundle) -> JsonObject:
    document = bundle.document
    return {
        "name": bundle.name,
        "title": document.title,
        "domain": document.domain.value,
        "language": document.language,
        "scenario_type": document.scenario_type and document.scenario_type.value,
        "sub_tasks": len(bundle.job),
        "tools": len(document.tools),
        "status": document.status,
        "version": document.version,
    }


def _details(bundle: Bundle, *, gold: bool) -> JsonObject:
    document = bundle.document
    hidden = None if gold else {"answer"}
    details: JsonObject = {
        **_summary(bundle),
        "description": document.description,
        "question": document.question,
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
    lines += [f"Question: {document.question}"]
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
    out.print("\n".join(lines))


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
