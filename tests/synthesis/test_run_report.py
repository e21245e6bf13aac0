"""What a synthesis run tells beside its yield, in ``--json`` and as a page, of events that were made up."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from astra_mcp.cli.synth.report import ReportedRun, report_of
from astra_mcp.compose.runs.notes import list_runs, stored_report
from astra_mcp.domains import Domain
from astra_mcp.environments.bundle import ScenarioType
from astra_mcp.environments.statistics import counts_of, summarise
from astra_mcp.llm.usage import Usage
from astra_mcp.pipeline import Given, ItemStatus, Outcome, Settled, StoredItem, Tally
from astra_mcp.report.html.writing import html_of
from astra_mcp.synthesis.environments.building.assembly import assemble
from astra_mcp.synthesis.environments.building.publishing import Published
from astra_mcp.synthesis.environments.building.tool import Attempt, Built, SolvingCall, Tool
from astra_mcp.synthesis.environments.building.tool import ToolDocument as Document
from astra_mcp.synthesis.environments.questions.instance import Instance, Origin, SubQuestion
from astra_mcp.synthesis.environments.run_statistics import RunStatistics
from astra_mcp.types import FrozenModel, JsonObject

from command_line import Cli

STAGES = ["decompose", "topology", "quality", "build", "publish"]
CALL = Usage(calls=2, cached=1, prompt_tokens=30, completion_tokens=10, seconds=1.5, cost=0.25)
HOSTILE = "</td><script>alert(1)</script>"
INSTANCE = Instance(
    title="Night ferry",
    main_question="How long does the night ferry to the island of Brenn take?",
    final_answer="It takes 7 hours 40 minutes.",
    sub_questions=(
        SubQuestion(id=1, question="Which ferry goes to Brenn?", answer="MV Halden", hop_level=2),
        SubQuestion(
            id=2,
            question="How long does that ferry take?",
            answer="7 hours 40 minutes",
            dependencies=(1,),
            hop_level=2,
            is_parallel=False,
        ),
    ),
    source="s1",
    writer="invented",
    language="en",
    label=Domain.TRAVEL,
    shape=ScenarioType.MULTI_HOP,
    origins={1: Origin.FROM_CORPUS, 2: Origin.SYNTHESIZED},
    signals=("hop_level of 1 is said to be 2, and is 1",),
    scores={"DC": 1.0, "SA": 1.0, "SR": 0.5, "TC": 1.0, "QS": 0.875},
)


class Narrator:
    """Tells a run whose events are made up, to all that hear one."""

    def __init__(self, *, is_control: bool = False) -> None:
        self.tally = Tally(STAGES)
        self.statistics = RunStatistics(is_control=is_control)

    def give(self, *ids: str) -> None:
        for id in ids:
            self.tally.hear(Given(id))

    def finish(self, stage: str, item: str, *outputs: tuple[str, FrozenModel]) -> None:
        stored = [StoredItem(id=id, value=v.model_dump(mode="json")) for id, v in outputs]
        self._settle(stage, item, ItemStatus.FINISHED, outputs=stored)

    def reject(self, stage: str, item: str, reason: str, detail: str = "") -> None:
        self._settle(stage, item, ItemStatus.REJECTED, reason, detail)

    def fail(self, stage: str, item: str, kind: str) -> None:
        self._settle(stage, item, ItemStatus.FAILED, kind, "no answer in 60 s")

    def page(self, *, is_demo: bool = False) -> str:
        table = self.tally.table()
        run = ReportedRun(name="ferries", table=table, statistics=self.statistics, is_demo=is_demo)
        return html_of(report_of(run))

    def _settle(
        self,
        stage: str,
        item: str,
        status: ItemStatus,
        *why: str,
        outputs: Sequence[StoredItem] = (),
    ) -> None:
        outcome = Outcome(
            item=item,
            input_hash="0",
            status=status,
            **dict(zip(("reason", "detail"), why, strict=False)),
            outputs=tuple(outputs),
            usage=CALL,
        )
        event = Settled(stage, outcome, Usage(), is_recalled=True)
        self.tally.hear(event)
        self.statistics.hear(event)


def tool(sub: int, name: str, parameter: str, value: str) -> Tool:
    schema: JsonObject = {
        "type": "object",
        "properties": {parameter: {"type": "string"}},
        "required": [parameter],
    }
    call = SolvingCall(solves=sub, arguments={parameter: value})
    code = f"def {name}({parameter}: str) -> dict:\n    return {{}}\n"
    document = Document(name=name, description="Finds it.", input_schema=schema)
    return Tool(document=document, code=code, calls=(call,))


def built(*steps: str, instance: Instance = INSTANCE) -> Built:
    """An environment with a failed attempt in each of the steps."""
    tools = (tool(1, "find_ferry", "island", "Brenn"), tool(2, "trip", "ferry", "MV Halden"))
    failed = tuple(Attempt(step=s, sub_questions=(1,), complaint="it loops") for s in steps)
    return Built(instance=instance, tools=tools, attempts=failed)


def published(what: Built) -> Published:
    return Published(name="night-ferry", content_hash="0", built=what)


def faulty(*reasons: str) -> Instance:
    return INSTANCE.model_copy(update={"gate_faults": reasons})


def control_run() -> Narrator:
    """Of four instances the gate would have refused two; of each kind one is accepted."""
    run = Narrator(is_control=True)
    run.give("s1")
    values = [INSTANCE, INSTANCE, faulty("cycle", "bad_ids"), faulty("type_mismatch")]
    instances = [(f"s1/{n}", value) for n, value in enumerate(values, 1)]
    run.finish("decompose", "s1", *instances)
    for id, value in instances:
        run.finish("topology", id, (id, value))
        run.finish("quality", id, (id, value))
    run.fail("build", "s1/2", "model_timeout")
    run.reject("build", "s1/3", "no_implementation", HOSTILE)
    for id, value in (instances[0], instances[3]):
        run.finish("build", id, (id, built(instance=value)))
        run.finish("publish", id, (id, published(built("implement", "accept", instance=value))))
    return run


def test_every_loss_counts_and_three_of_each_reason_are_shown_whatever_the_order() -> None:
    run = Narrator()
    for number in (5, 2, 9, 1, 7):
        run.reject("quality", f"s{number}/1", "low_quality", "x" * 100_000)
    run.fail("quality", "s3/1", "model_timeout")
    loss = run.statistics.rejected["quality", "low_quality"]
    assert loss.count == 5
    assert [example.item for example in loss.examples] == ["s1/1", "s2/1", "s5/1"]
    assert all(len(example.detail) < 1000 for example in loss.examples)
    assert [*run.statistics.failed] == [("quality", "model_timeout")]


def test_what_is_counted_of_an_accepted_one_is_what_its_document_says() -> None:
    run = Narrator()
    run.finish("publish", "s1/1", ("s1/1", published(built())))
    assert run.statistics.accepted == summarise([counts_of(assemble(built()).document)])


def test_programs_get_origins_signals_and_attempts() -> None:
    run = control_run()
    told = run.statistics.as_json()
    assert told["origins"] == {
        "gated": {"from_corpus": 4, "synthesized": 4},
        "accepted": {"from_corpus": 2, "synthesized": 2},
    }
    assert told["signals"] == {
        "instances": 4,
        "differing_instances": 4,
        "hop_level": {"said": 8, "differing": 4},
        "is_parallel": {"said": 4, "differing": 0},
    }
    attempts = told["attempts_per_accepted"]
    assert isinstance(attempts, dict)
    assert attempts["histogram"] == {"2": 2}
    assert attempts["by_step"] == {"implement": 2, "accept": 2}
    assert not told.keys() & run.tally.table().as_json().keys()


def test_a_control_run_compares_what_the_gate_would_have_refused_with_the_rest() -> None:
    gate = control_run().statistics.gate
    assert gate is not None
    refused, others = gate.refused, gate.sound
    assert (refused.instances, refused.accepted, refused.rejected) == (2, 1, {"build": 1})
    assert (others.instances, others.accepted, others.failed) == (2, 1, {"build": 1})
    # Quality and build of both, publish of one; what came before is shared, or costs nothing.
    assert refused.usage.calls == others.usage.calls == 5 * CALL.calls
    assert {name: group.accepted for name, group in gate.by_reason.items()} == {
        "cycle": 0,
        "type_mismatch": 1,
    }
    assert Narrator().statistics.as_json()["gate"] is None


def test_the_page_shows_all_of_it_and_escapes_what_models_wrote() -> None:
    page = control_run().page()
    for words in (
        "Instances that come out of each stage",
        "no_implementation",
        "model_timeout",
        "Accepted environments",
        "night-ferry",
        "Failed attempts of an accepted environment",
        "Answers of accepted environments",
        "4 of 4 instances differ somewhere",
        "Quality score",
        "of them: type_mismatch",
        "Hop depth of a question",
    ):
        assert words in page, words
    assert HOSTILE not in page
    assert "&lt;/td&gt;&lt;script&gt;alert(1)" in page
    assert "written by hand" not in page


def test_a_run_that_came_to_nothing_has_a_page_without_empty_sections() -> None:
    run = Narrator()
    run.give("s1", "s2")
    run.fail("decompose", "s1", "model_unreachable")
    page = run.page(is_demo=True)
    assert "The run was stopped; 1 item is left to the next one." in page
    assert "Every answer of a model in this run was written by hand" in page
    assert all(title not in page for title in ("Rejections", "Quality", "Kinds of questions"))


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Commands in a home of their own, with no model."""
    return Cli(tmp_path / "home")


def test_a_page_that_cannot_be_written_is_refused_before_and_none_is_of_what_cannot_begin(
    cli: Cli,
) -> None:
    made = ("synth", "environments", "--domain", "ferries", "--report")
    refused = cli.run(*made, "missing/run.html")
    assert refused.returncode == 2
    assert "missing/run.html cannot be written" in refused.stderr
    assert "generator" not in refused.stderr

    not_begun = cli.run(*made, "run.html")
    assert not_begun.returncode == 2
    assert "generator" in not_begun.stderr
    assert list_runs(cli.home).num_all == 0
    assert not (cli.folder / "run.html").exists()

    dead = {
        f"ASTRA_MCP_MODELS__{role}__{name}": value
        for role in ("GENERATOR", "JUDGE")
        for name, value in (
            ("MODEL", "m"),
            ("BASE_URL", "http://127.0.0.1:1/v1"),
            ("MAX_RETRIES", "0"),
        )
    }
    failed = cli.run(*made, "run.html", **dead)
    assert failed.returncode == 1
    assert "Synthesis run environments" in (cli.folder / "run.html").read_text(encoding="utf-8")
    [run] = list_runs(cli.home).runs
    assert f"astra-mcp open {run.id}" in failed.stderr
    assert run.note.figure == "0 accepted, 0 rejected, 1 failed"
    report = stored_report(cli.home, run)
    assert report is not None
    assert "Failures" in [section.title for section in report.sections]
