"""``synth tasks``: what it refuses before a model is asked, and the audit of what a run keeps."""

import json
import os
from pathlib import Path
from typing import Any

import anyio
import pytest
from typer.testing import CliRunner

from astra_mcp.cli.synth.command import app
from astra_mcp.compose.runs.notes import list_runs
from registry.documents.preparation import prepare_server
from registry.intake.importing import import_documents
from registry.store.database import open_database
from registry.store.tasks import DatabaseTaskStore

from drafted_tasks import kept_task
from written_servers import WRITTEN_SERVERS


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own."""
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str) -> Any:
    return CliRunner().invoke(app, ["tasks", *words])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--axes", "depth"), "diversity,complexity,persona"),
        (("--gateway", "http://127.0.0.1:1"), "--execute"),
        (("--offline", "--proposals", "3"), "asks no model"),
        (("--proposals", "0", "--server-tasks", "0"), "nothing is left to make"),
        (("--domain", "nope"), "domain"),
        (("--audit", "3"), "go together"),
        (("--server", "nope"), "registry import"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_what_to_do(words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.exit_code in (1, 2)
    assert said in " ".join(done.output.split())
    assert "Traceback" not in done.output


def keep(home: Path, num: int) -> None:
    """Let a run keep tasks."""

    async def save() -> None:
        async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
            tasks = [kept_task(f"Which ferry goes to island {number}?") for number in range(num)]
            await DatabaseTaskStore(database).save("kept", tasks)

    anyio.run(save)


def test_a_run_without_models_is_refused_before_it_is_noted_and_named(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.startswith("OPENAI_")]:
        monkeypatch.delenv(name)

    async def save() -> None:
        async with open_database(f"sqlite:///{home / 'registry.db'}") as database:
            await import_documents(database, WRITTEN_SERVERS, prepare=prepare_server)

    anyio.run(save)
    done = run("--offline")
    assert done.exit_code == 2
    assert "no generator model is configured" in " ".join(done.output.split())
    assert "open r" not in done.output
    assert list_runs(home).num_all == 0


def test_an_audit_samples_what_the_run_keeps_and_asks_no_model(home: Path) -> None:
    keep(home, 5)
    done = run("--run", "kept", "--audit", "3", "--audit-file", "audit.jsonl")
    assert done.exit_code == 0, done.output
    rows = [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]
    assert len({row["id"] for row in rows}) == 3
    assert {row["flag"] for row in rows} == {None}
    again = run("--run", "kept", "--audit", "3", "--audit-file", "audit.jsonl")
    assert (again.exit_code, "is kept: name a new file" in again.output) == (2, True)


def test_an_audit_of_a_run_without_tasks_names_those_that_have_some(home: Path) -> None:
    keep(home, 1)
    done = run("--run", "kpet", "--audit", "3", "--audit-file", "audit.jsonl")
    assert (done.exit_code, "there are kept" in done.output) == (2, True)
    assert not (home / "audit.jsonl").exists()
