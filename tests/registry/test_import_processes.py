"""Imports by real processes: two at once, and such that are killed in the middle."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

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


async def test_two_importers_of_one_file_store_what_one_would(
    new_url: Callable[[], str], tmp_path: Path
) -> None:
    documents = _documents(0, 160)
    file = write_documents(tmp_path / "documents.jsonl", documents)
    url = new_url()
    with _importer(url, file) as one, _importer(url, file) as other:
        assert _run_at_once([one, other]) == [0, 0]
    assert await _dump(url) == await _import(new_url(), documents)


async def test_two_importers_of_different_files_keep_the_same_tools_as_one(
    new_url: Callable[[], str], tmp_path: Path
) -> None:
    first = write_documents(tmp_path / "first.jsonl", _documents(0, 100))
    second = write_documents(tmp_path / "second.jsonl", _documents(60, 160))
    url = new_url()
    with _importer(url, first) as one, _importer(url, second) as other:
        assert _run_at_once([one, other]) == [0, 0]
    stored, expected = await _dump(url), await _import(new_url(), _documents(0, 160))
    assert _kept(stored) == _kept(expected)
    assert {s["key"] for s in stored["server"]} == {s["key"] for s in expected["server"]}
    assert stored["tool"] == expected["tool"]
    assert len({s["name"] for s in stored["server"]}) == 160


def _kept(stored: dict[str, Any]) -> list[str]:
    return sorted(s["tools_hash"] for s in stored["server"] if s["status"] == "kept")


@pytest.mark.parametrize("seed", range(2))
async def test_an_import_that_is_killed_leaves_whole_servers_and_is_finished_by_the_next(
    new_url: Callable[[], str], tmp_path: Path, seed: int
) -> None:
    documents = _documents(0, 160)
    steps: list[int] = []
    with watched_steps(steps.append):
        expected = await _import(new_url(), documents)
    file = write_documents(tmp_path / "documents.jsonl", documents)
    url = new_url()
    with _importer(url, file, str(generator(seed, "kill").randint(1, len(steps)))) as process:
        assert _run_at_once([process]) == [-signal.SIGKILL]
    await _expect_whole_servers(url, [documents])
    assert await _import(url, documents) == expected


@pytest.mark.parametrize("seed", range(2))
async def test_an_import_of_changed_documents_that_is_killed_is_finished_by_the_next(
    new_url: Callable[[], str], tmp_path: Path, seed: int
) -> None:
    old, new = _documents(0, 120), _documents(0, 120, edition=2)
    steps: list[int] = []
    await _import(expected_url := new_url(), old)
    with watched_steps(steps.append):
        expected = await _import(expected_url, new)
    file = write_documents(tmp_path / "new.jsonl", new)
    url = new_url()
    await _import(url, old)
    with _importer(url, file, str(generator(seed, "kill").randint(1, len(steps)))) as process:
        assert _run_at_once([process]) == [-signal.SIGKILL]
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
