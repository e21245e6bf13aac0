"""Imports that meet, and imports that end in the middle: in this process, and as processes of their own."""

import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator, Iterable, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from astra_mcp.seeds import generator
from registry.documents.sources import Provenance, ServerDocument
from registry.intake.importing import import_documents
from registry.store.database import open_database
from registry.store.servers import ServerFilter, list_servers

import plain_documents
from plain_documents import prepare, server, tool, watched_steps, write_documents
from registry_dumps import dump

_SECONDS = 60
SUPPORT = Path(plain_documents.__file__)
REPOSITORY = SUPPORT.parents[2]


def _documents(first: int, last: int, edition: int = 1) -> list[ServerDocument]:
    """Kept, rejected and repeated servers; of another edition, every third one is changed."""
    return [_document(number, edition) for number in range(first, last)]


def _document(number: int, edition: int) -> ServerDocument:
    key = f"server{number:03}"
    title = f"Title {number % 70}"
    match number % 6:
        case 1:  # repeated by another one some batches later
            tools = tuple(
                f"shared{number % 36}_{i}" for i in range(3 + edition * (number % 3 == 1))
            )
            return server(key, *tools, name=title)
        case 2:
            return server(key, "alone", tool("silent", None), name=title)
        case 3:
            tools = tuple(f"shared{(number - 2) % 36}_{i}" for i in range(4))
            return server(key, *tools, name=title, provenance=Provenance.CRAWLED)
        case _:
            described = f"Edition {edition if number % 3 == 0 else 1}."
            return server(key, name=title, description=described)


@contextmanager
def _importer(url: str, file: Path, *options: str) -> Generator[subprocess.Popen[str]]:
    """Start an import that waits for the end of its standard input."""
    command = [sys.executable, "-P", str(SUPPORT), url, str(file), *options]
    environment = {**os.environ, "PYTHONPATH": f"{SUPPORT.parent}:{REPOSITORY}"}
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _run_at_once(processes: Sequence[subprocess.Popen[str]]) -> list[int]:
    """Let importers begin when all of them are ready; returns their exit codes."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    errors = [process.communicate(timeout=_SECONDS)[1] for process in processes]
    assert [e for e in errors if e] == []
    return [process.returncode for process in processes]


async def _import(url: str, *parts: Iterable[ServerDocument]) -> dict[str, Any]:
    """Import in this process, one part after the other; returns all that is stored then."""
    async with open_database(url) as database:
        for documents in parts:
            await import_documents(database, documents, prepare=prepare)
        return await database.read(dump)


async def _dump(url: str) -> dict[str, Any]:
    async with open_database(url) as database:
        return await database.read(dump)


ImportAtOnce = Callable[[str, Sequence[Sequence[ServerDocument]]], Awaitable[None]]
CutOff = Callable[[str, Sequence[ServerDocument], int], Awaitable[None]]


async def _import_in_tasks(url: str, parts: Sequence[Sequence[ServerDocument]]) -> None:
    async with anyio.create_task_group() as group:
        for documents in parts:
            group.start_soon(_import, url, documents)


@pytest.fixture(params=["tasks", pytest.param("processes", marks=pytest.mark.system)])
def import_at_once(request: pytest.FixtureRequest, tmp_path: Path) -> ImportAtOnce:
    """Runs two importers at once, each with a database that it opened itself."""

    async def import_in_processes(url: str, parts: Sequence[Sequence[ServerDocument]]) -> None:
        files = [write_documents(tmp_path / f"{n}.jsonl", part) for n, part in enumerate(parts)]
        with ExitStack() as stack:
            importers = [stack.enter_context(_importer(url, file)) for file in files]
            assert _run_at_once(importers) == [0, 0]

    return _import_in_tasks if request.param == "tasks" else import_in_processes


@pytest.mark.both_databases
async def test_two_importers_of_one_file_store_what_one_would(
    empty_url: Callable[[], str], import_at_once: ImportAtOnce
) -> None:
    documents = _documents(0, 160)
    url = empty_url()
    await import_at_once(url, [documents, documents])
    assert await _dump(url) == await _import(empty_url(), documents)


@pytest.mark.both_databases
async def test_two_importers_of_different_files_keep_the_same_tools_as_one(
    empty_url: Callable[[], str], import_at_once: ImportAtOnce
) -> None:
    url = empty_url()
    await import_at_once(url, [_documents(0, 100), _documents(60, 160)])
    stored, expected = await _dump(url), await _import(empty_url(), _documents(0, 160))
    assert _kept(stored) == _kept(expected)
    assert {s["key"] for s in stored["server"]} == {s["key"] for s in expected["server"]}
    assert stored["tool"] == expected["tool"]
    assert len({s["name"] for s in stored["server"]}) == 160


def _kept(stored: dict[str, Any]) -> list[str]:
    return sorted(s["tools_hash"] for s in stored["server"] if s["status"] == "kept")


class _CutError(BaseException):
    """Ends an import in the middle of whatever it does."""


async def _raise_in(url: str, documents: Sequence[ServerDocument], step: int) -> None:
    def look(number: int) -> None:
        if number == step:
            raise _CutError

    with watched_steps(look), pytest.raises(_CutError):
        await _import(url, documents)


@pytest.fixture(params=["raised", pytest.param("killed", marks=pytest.mark.system)])
def cut_off(request: pytest.FixtureRequest, tmp_path: Path) -> CutOff:
    """Imports documents, and ends that before a step."""

    async def kill_in(url: str, documents: Sequence[ServerDocument], step: int) -> None:
        file = write_documents(tmp_path / "documents.jsonl", documents)
        with _importer(url, file, str(step)) as process:
            assert _run_at_once([process]) == [-signal.SIGKILL]

    return _raise_in if request.param == "raised" else kill_in


@pytest.mark.parametrize("old", [[], _documents(0, 120)], ids=["new", "changed"])
@pytest.mark.parametrize("seed", range(2))
async def test_an_import_that_is_cut_off_leaves_whole_servers_and_is_finished_by_the_next(
    empty_url: Callable[[], str], cut_off: CutOff, seed: int, old: list[ServerDocument]
) -> None:
    new = _documents(0, 120, edition=2)
    steps: list[int] = []
    await _import(expected_url := empty_url(), old)
    with watched_steps(steps.append):
        expected = await _import(expected_url, new)
    url = empty_url()
    await _import(url, old)
    await cut_off(url, new, generator(seed, "kill").randint(1, len(steps)))
    await _expect_whole_servers(url, [old, new])
    assert await _import(url, new) == expected


async def _expect_whole_servers(url: str, editions: Sequence[Sequence[ServerDocument]]) -> None:
    """Every stored server has all tools of one edition of its document, and no other."""
    possible = {(d.key, d.description, tuple(t.name for t in d.tools)) for e in editions for d in e}
    async with open_database(url) as database:
        servers = await database.read(partial(list_servers, where=ServerFilter(status=None)))
    stored = {(s.key, s.description, tuple(t.original_name for t in s.tools)) for s in servers}
    assert stored <= possible
    assert len(stored) == len(servers)
