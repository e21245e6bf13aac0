"""``astra-mcp episodes``: look at what was recorded, and run it again."""

from typing import Annotated, Any, NamedTuple

import typer

from astra_mcp.call_record import EpisodeStatus
from astra_mcp.compose.catalog import open_catalog
from astra_mcp.compose.episodes import EpisodeFilter, reward_of, select_records, source_of
from astra_mcp.compose.registry import open_present_registry
from astra_mcp.compose.settings import load_settings
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.report.shown import Table, cut, number, shown_time, styled, whole
from gateway.episodes.archive import Replay, find_record, replay_record, status_of
from gateway.episodes.record import Record, RecordedCall

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
    asked = _Asked(status, source, min_reward, max_reward, interactive, limit)
    records = run_async(_select, asked)
    if as_json:
        print_json({"episodes": [_summary(r) for r in records]})
        return
    short = (whole("status"), number("calls"), number("reward"))
    table = Table(whole("id"), whole("created"), "source", *short)
    for record in records:
        reward = reward_of(record)
        table.add_row(
            record.opened.id[:_SHOWN_ID],
            shown_time(record.opened.at),
            source_of(record),
            str(status_of(record)),
            str(record.agent_calls),
            "-" if reward is None else f"{reward.reward:.3f}",
        )
    out.print(table)


class _Asked(NamedTuple):
    """What the list is asked for."""

    status: EpisodeStatus | None
    source: str | None
    min_reward: float | None
    max_reward: float | None
    interactive: bool
    limit: int


async def _select(asked: _Asked) -> list[Record]:
    """Find the records, and name those that cannot be read."""
    wanted = EpisodeFilter(
        status=asked.status,
        source=asked.source,
        min_reward=asked.min_reward,
        max_reward=asked.max_reward,
        interactive=asked.interactive,
    )
    records, faults = await select_records(load_settings(), wanted, asked.limit)
    for fault in faults:
        say.print(f"left out: {fault.reason}", style="yellow")
    return records


@app.command("show")
def show_episode(episode: EpisodeArgument, *, as_json: Json = False) -> None:
    """Show one episode call by call."""
    with report_errors():
        record = find_record(load_settings().home, episode)
    if as_json:
        calls = [_call(c) for c in record.calls]
        print_json({**_summary(record), "prompt": record.opened.prompt, "record": calls})
        return
    reward = reward_of(record)
    out.print(styled((record.opened.id, "bold"), f"  {source_of(record)}  {status_of(record)}"))
    if record.opened.prompt:
        out.print(record.opened.prompt)
    if record.opened.marks:
        out.print(f"marks: {', '.join(record.opened.marks)}", style="yellow")
    for call in record.calls:
        _print_call(call)
    if reward is not None:
        out.print(
            f"reward {reward.reward:.4f} = F1 of recall {reward.recall:.4f} and precision "
            f"{reward.precision:.4f} ({reward.solved} solved, {reward.calls} calls)"
        )
    if record.ended and record.ended.failure:
        failure = record.ended.failure
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
    """Run an episode's calls again in fresh sessions; exit 1 where a result differs."""
    replay = run_async(_replay, episode, trusted)
    if as_json:
        print_json(
            {
                "compared": replay.compared,
                "skipped": replay.skipped,
                "divergences": [
                    {
                        "n": d.n,
                        "tool": d.tool,
                        "recorded": d.recorded.text,
                        "replayed": d.replayed.text,
                    }
                    for d in replay.divergences
                ],
            }
        )
    else:
        identical = replay.compared - len(replay.divergences)
        out.print(f"{identical} of {replay.compared} results identical, {replay.skipped} skipped")
        for d in replay.divergences:
            out.print(f"call {d.n} {d.tool}", style="red")
            out.print(f"  recorded: {cut(d.recorded.text, _SHOWN_TEXT)}")
            out.print(f"  replayed: {cut(d.replayed.text, _SHOWN_TEXT)}")
    if replay.divergences:
        raise typer.Exit(ExitCode.FAILED)


async def _replay(episode: str, trusted: bool) -> Replay:

    settings = load_settings()
    record = find_record(settings.home, episode)
    async with (
        open_present_registry(settings) as database,
        open_catalog(settings, trusted=trusted, database=database) as catalog,
    ):
        return await replay_record(record, catalog)


def _summary(record: Record) -> dict[str, Any]:
    reward = reward_of(record)
    failure = record.ended.failure if record.ended else None
    return {
        "id": record.opened.id,
        "created_at": record.opened.at.isoformat(),
        "source": record.opened.source,
        "seed": record.opened.seed,
        "status": str(status_of(record)),
        "calls": record.agent_calls,
        "solved": sorted(record.solved),
        "reward": reward.model_dump() if reward else None,
        "failure": failure.model_dump(mode="json") if failure else None,
    }


def _call(call: RecordedCall) -> dict[str, Any]:
    finished = call.finished
    return {
        "n": call.started.n,
        "tool": call.started.shown,
        "server": call.started.server,
        "distractor": call.started.distractor,
        "emulator": finished.emulator if finished else None,
        "arguments": call.started.arguments,
        "origin": str(finished.origin) if finished else None,
        "injected": finished.injected if finished else None,
        "is_error": finished.result.is_error if finished else None,
        "text": finished.result.text if finished else None,
        "solved": list(finished.solved) if finished else [],
        "latency_ms": finished.latency_ms if finished else None,
    }


def _print_call(call: RecordedCall) -> None:
    finished = call.finished
    solved = f"  solves {list(finished.solved)}" if finished and finished.solved else ""
    out.print(f"[{call.started.n}] {call.started.shown} ({_state(call)}){solved}")
    out.print(f"    {call.started.arguments}", style="dim")
    if finished is not None:
        style = "red" if finished.result.is_error else None
        out.print(f"    {cut(finished.result.text, _SHOWN_TEXT)}", style=style)


def _state(call: RecordedCall) -> str:
    """Tell who answered, how it failed on purpose, and what the agent was not told of the tool."""
    finished = call.finished
    origin = "unfinished" if finished is None else str(finished.origin)
    injected = finished.injected if finished else None
    emulator = finished.emulator if finished else None
    return ", ".join(
        [
            f"{origin}: {injected}" if injected else origin,
            *(["distractor"] if call.started.distractor else []),
            *([f"emulated: {emulator}"] if emulator else []),
        ]
    )
