"""``astra-mcp episodes``: look at what was recorded, and run it again."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any

import typer

from astra_mcp.call_record import CallRecord, EpisodeStatus
from astra_mcp.compose.bundles import deployed_server
from astra_mcp.compose.episodes import EpisodeFilter, reward_of, select_records, source_of
from astra_mcp.compose.registry import open_present_registry
from astra_mcp.compose.settings import load_settings
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.shown import (
    Table,
    cut,
    json_text,
    number,
    shown_time,
    styled,
    utc_text,
    whole,
)
from astra_mcp.types import ToolResult
from gateway.episodes.archive import (
    Replay,
    find_record,
    not_repeatable,
    repeated_servers,
    replay_record,
    status_of,
    time_at,
)
from gateway.episodes.record import Record

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="List, show and replay recorded episodes.")

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
EpisodeArgument = Annotated[
    str, typer.Argument(metavar="ID", help="An episode id, or its first characters.")
]
_SHOWN_ID = 12
_SHOWN_TEXT = 160


@app.command("list")
def list_episodes(
    *,
    status: Annotated[EpisodeStatus | None, typer.Option(help="Only those that are so.")] = None,
    source: Annotated[
        str | None, typer.Option(help="Only where this is part of what was run.")
    ] = None,
    min_reward: Annotated[float | None, typer.Option(help="Only of this reward or more.")] = None,
    max_reward: Annotated[float | None, typer.Option(help="Only of this reward or less.")] = None,
    interactive: Annotated[
        bool, typer.Option(help="Include the states of interactive endpoints.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Show at most so many.")] = 50,
    as_json: Json = False,
) -> None:
    """List the newest episodes with their status and reward."""
    wanted = EpisodeFilter(
        status=status,
        source=source,
        min_reward=min_reward,
        max_reward=max_reward,
        interactive=interactive,
    )
    records = run_async(_select, wanted, limit)
    at = time_at(load_settings().home)
    if as_json:
        print_json({"episodes": [_summary(r, at) for r in records]})
        return
    if not records:
        say.print("nothing matches" if wanted != EpisodeFilter() else "no episode is recorded yet")
        return
    short = (whole("status"), number("calls"), number("reward"))
    table = Table(whole("id"), whole("created"), "source", *short)
    for record in records:
        reward = reward_of(record)
        table.add_row(
            record.opened.id[:_SHOWN_ID],
            shown_time(record.opened.at),
            source_of(record),
            str(status_of(record, at)),
            str(record.agent_calls),
            "-" if reward is None else f"{reward.reward:.3f}",
        )
    out.print(table)


async def _select(wanted: EpisodeFilter, limit: int) -> list[Record]:
    """Find the records, and name those that cannot be read."""
    records, faults = await select_records(load_settings(), wanted, limit)
    for fault in faults:
        say.print(f"left out: {fault.reason}", style="yellow")
    return records


@app.command("show")
def show_episode(episode: EpisodeArgument, *, as_json: Json = False) -> None:
    """Show one episode call by call."""
    with report_errors():
        home = load_settings().home
        record, at = find_record(home, episode), time_at(home)
    if as_json:
        calls = [_call(c) for c in record.calls]
        print_json({**_summary(record, at), "prompt": record.opened.prompt, "record": calls})
        return
    reward = reward_of(record)
    out.print(styled((record.opened.id, "bold"), f"  {source_of(record)}  {status_of(record, at)}"))
    if record.opened.prompt:
        out.print(record.opened.prompt)
    if record.opened.marks:
        out.print(f"marks: {', '.join(record.opened.marks)}", style="yellow")
    for call in record.calls:
        _print_call(call)
    _say_where_whole(call.result for call in record.calls)
    if reward is not None:
        out.print(
            f"reward {reward.reward:.4f} = F1 of recall {reward.recall:.4f} and precision "
            f"{reward.precision:.4f} ({reward.solved} solved, {reward.calls} calls)"
        )
    failure = record.ended.failure if record.ended else None
    if failure:
        out.print(f"failed at {failure.boundary}: {failure.message}", style="red")


@app.command("replay")
def replay_episode(
    episode: EpisodeArgument,
    *,
    trusted: Annotated[
        bool, typer.Option("--trusted", help="Run tool code unsandboxed if need be.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Run an episode's calls again in fresh sessions; exit 1 where a result differs.

    No deployed server is called: what it did cannot be undone and done again.
    """
    replay = run_async(_replay, episode, trusted)
    if as_json:
        divergences = [
            {"n": d.n, "tool": d.tool, "recorded": d.recorded.text, "replayed": d.replayed.text}
            for d in replay.divergences
        ]
        counts = {"compared": replay.compared, "skipped": replay.skipped}
        print_json({**counts, "divergences": divergences})
    else:
        identical = replay.compared - len(replay.divergences)
        out.print(f"{identical} of {replay.compared} results identical, {replay.skipped} skipped")
        for d in replay.divergences:
            out.print(f"call {d.n} {d.tool}", style="red")
            out.print(f"  recorded: {cut(d.recorded.text, _SHOWN_TEXT)}")
            out.print(f"  replayed: {cut(d.replayed.text, _SHOWN_TEXT)}")
        _say_where_whole(each for d in replay.divergences for each in (d.recorded, d.replayed))
    if replay.divergences:
        raise typer.Exit(ExitCode.FAILED)


async def _replay(episode: str, trusted: bool) -> Replay:
    from astra_mcp.compose.catalog import open_catalog  # noqa: PLC0415 - all that serves tools

    settings = load_settings()
    record = find_record(settings.home, episode)
    async with (
        open_present_registry(settings) as database,
        open_catalog(settings, trusted=trusted, database=database) as catalog,
    ):
        there = {server.name for server in catalog.upstreams()}
        for name in repeated_servers(record):
            if name not in there and deployed_server(name, settings) is not None:
                raise not_repeatable(name)
        return await replay_record(record, catalog)


def _summary(record: Record, at: datetime) -> dict[str, Any]:
    reward = reward_of(record)
    failure = record.ended.failure if record.ended else None
    return {
        "id": record.opened.id,
        "created_at": utc_text(record.opened.at),
        "source": record.opened.source,
        "seed": record.opened.seed,
        "status": str(status_of(record, at)),
        "calls": record.agent_calls,
        "solved": sorted(record.solved),
        "reward": reward.model_dump() if reward else None,
        "failure": failure.model_dump(mode="json") if failure else None,
    }


def _call(call: CallRecord) -> dict[str, Any]:
    result = call.result
    return {
        "n": call.n,
        "tool": call.shown,
        "server": call.server,
        "distractor": call.is_distractor,
        "emulator": call.emulator,
        "arguments": call.arguments,
        "origin": str(call.origin) if call.origin else None,
        "injected": call.injected,
        "is_error": result.is_error if result else None,
        "text": result.text if result else None,
        "solved": list(call.solved),
        "latency_ms": call.latency_ms,
        "told": list(call.told),
        "unmatched": call.unmatched,
    }


def _print_call(call: CallRecord) -> None:
    solved = f"  solves {list(call.solved)}" if call.solved else ""
    told = f"  tells {list(call.told)} itself" if call.told else ""
    out.print(f"[{call.n}] {call.shown} ({_state(call)}){solved}{told}")
    out.print(f"    {json_text(call.arguments)}", style="dim")
    if call.result is not None:
        style = "red" if call.result.is_error else None
        out.print(f"    {cut(call.result.text, _SHOWN_TEXT)}", style=style)
    if call.unmatched is not None:
        out.print(f"    not all answers were looked for: {call.unmatched}", style="red")


def _say_where_whole(results: Iterable[ToolResult | None]) -> None:
    if any(result is not None and len(result.text) > _SHOWN_TEXT for result in results):
        say.print("long results are cut: --json prints them whole")


def _state(call: CallRecord) -> str:
    """Tell who answered, how it failed on purpose, and what the agent was not told of the tool."""
    origin = str(call.origin) if call.origin else "unfinished"
    words = [f"{origin}: {call.injected}" if call.injected else origin]
    words += ["distractor"] if call.is_distractor else []
    words += [f"emulated: {call.emulator}"] if call.emulator else []
    return ", ".join(words)
