"""People see where a pipeline stands, and in the end what became of everything."""

import io

from astra_mcp.cli.progress import print_yield, show_pipeline
from astra_mcp.errors import BudgetSpentError, ModelError, ModelFault
from astra_mcp.llm.usage import Usage, note_usage
from astra_mcp.pipeline import Made, Rejected, StageLimits, StoredItem, YieldTable, run_pipeline
from astra_mcp.report.console import Printer
from astra_mcp.types import JsonObject

from pipeline_fakes import FakeItemStore, ScriptedStage, items


async def work(item: StoredItem) -> Made[JsonObject] | Rejected:
    note_usage(Usage(calls=1, prompt_tokens=40, cost=0.5))
    match item.id:
        case "i0" | "i1":
            return Rejected("vague")
        case "i2":
            return Rejected("double[s]")
        case "i3":
            raise ModelError("no answer", ModelFault.TIMEOUT)
        case "i8":
            raise BudgetSpentError("the budget of 8 calls is spent")
        case _:
            return Made.of(item)


async def run_on(printer: Printer) -> YieldTable:
    stages = [ScriptedStage("draft", work), ScriptedStage("check")]
    with show_pipeline([s.name for s in stages], total=20, printer=printer) as shown:
        table = await run_pipeline(
            "r",
            stages,
            items(20),
            FakeItemStore(),
            limits=StageLimits(concurrency=1),
            hear=shown.hear,
        )
    assert shown.table.stages == table.stages
    return table


def printer_of(written: io.StringIO, *, is_terminal: bool) -> Printer:
    return Printer(file=written, is_terminal=is_terminal, width=100)


async def test_a_terminal_shows_a_bar_for_each_stage_with_what_was_lost() -> None:
    written = io.StringIO()
    await run_on(printer_of(written, is_terminal=True))
    lines = written.getvalue().splitlines()
    draft = [line for line in lines if "draft" in line][-1]
    check = [line for line in lines if "check" in line][-1]
    assert " 9/20" in draft
    assert "3 rejected, 2 failed" in draft
    assert "/4 " in check
    assert "rejected" not in check


async def test_where_nobody_looks_no_bar_is_drawn_and_the_table_is_kept_all_the_same() -> None:
    written = io.StringIO()
    await run_on(printer_of(written, is_terminal=False))
    assert written.getvalue() == ""


async def test_the_table_names_every_reason_the_cost_and_what_to_do() -> None:
    table = await run_on(printer_of(io.StringIO(), is_terminal=False))
    written = io.StringIO()
    print_yield(table, printer=Printer(file=written, width=80))
    lines = [" ".join(line.split()) for line in written.getvalue().splitlines() if line.strip()]

    assert lines[0] == "stage in finished rejected failed left out calls tokens"
    assert lines[2] == "draft 20 4 3 2 11 4 9 360"
    assert lines[3].startswith("check 4 ")
    assert lines[4:6] == [
        "rejected by draft: vague 2, double[s] 1",
        "failed in draft: budget 1, model_timeout 1; the next run tries again",
    ]
    assert lines[6].startswith("models: 9 calls and 0 from the cache, 360 tokens, cost 4.5000, in ")
    assert lines[7] == "stopped: the budget of 8 calls is spent; run again to go on"
    assert lines[8].startswith("accepted: ")
