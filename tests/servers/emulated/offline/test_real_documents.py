"""Documents as authors publish them: every tool of every kept server takes and gives what it says."""

import json
import re
import tracemalloc
from collections import Counter
from collections.abc import Iterator

import anyio
import pytest

from astra_mcp.schemas import compile_schema
from astra_mcp.types import JsonObject, ToolSpec
from astra_mcp.values.schema_values import ValueMaker
from astra_mcp.values.vocabulary import words_in
from registry.documents.preparation import prepare_server
from registry.documents.sources import ServerDocument
from registry.importers import toucan
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.offline.emulator import OfflineEmulator, OfflineState

from emulated_worlds import document_of
from real_documents import TOUCAN, real_data

TELLING = re.compile(
    r"\bmock|\bfake|\bdummy|lorem|ipsum|example\.(com|org)|\bsample|placeholder|emulat", re.I
)
FILLER = re.compile(
    r"The team agreed|completed successfully|Budget Review|Everyone involved|We still need to|lorem",
    re.I,
)
"""Sentences of an office that has nothing to do with what was asked."""
MEBIBYTE = 2**20
EACH = 12
"""Every twelfth server is called in ``make test``, and has its memory counted: both take their time."""


def kept(each: int = 1) -> Iterator[EmulatedDocument]:
    """The kept servers, or one of so many documents, with their kept tools."""
    for at, found in enumerate(toucan.read(real_data(TOUCAN))):
        if at % each or not isinstance(found, ServerDocument):
            continue
        server = prepare_server(found)
        tools = [t.spec for t in server.tools if t.spec is not None and t.rejection is None]
        if server.rejection is None:
            yield document_of(*tools, language=server.language, name=f"{server.name}-{at}")


@pytest.fixture(scope="module", params=[EACH, pytest.param(1, marks=pytest.mark.volume)])
def each(request: pytest.FixtureRequest) -> int:
    return request.param


@pytest.fixture(scope="module")
def documents(each: int) -> list[EmulatedDocument]:
    return list(kept(each))


@pytest.fixture(scope="module")
def calls(documents: list[EmulatedDocument]) -> list[tuple[EmulatedDocument, ToolSpec, JsonObject]]:
    """A call of every tool, with some of its optional arguments."""
    made: list[tuple[EmulatedDocument, ToolSpec, JsonObject]] = []
    for document in documents:
        for tool in document.tools:
            arguments = ValueMaker(tool.input_schema).make(len(made), language=document.language)
            assert isinstance(arguments, dict)
            assert compile_schema(tool.input_schema).faults(arguments) == ()
            made.append((document, tool, arguments))
    return made


def test_every_tool_answers_and_does_so_again(
    each: int, calls: list[tuple[EmulatedDocument, ToolSpec, JsonObject]]
) -> None:
    assert len(calls) >= 10_000 / each / 2
    emulator = OfflineEmulator()
    states: dict[str, OfflineState] = {}

    async def call_all() -> Counter[str]:
        refused: Counter[str] = Counter()
        for document, tool, arguments in calls:
            if document.name not in states:
                states[document.name] = emulator.open_state(document, seed=1)
            answer = await states[document.name].answer(tool, arguments)
            json.dumps(answer.value)
            assert not answer.is_error or re.search(
                r"not found|already exists|Invalid|zero|not available", str(answer.value)
            )
            assert FILLER.search(json.dumps(answer.value, ensure_ascii=False)) is None
            if answer.is_error:
                refused["unknown" if "not available" in str(answer.value) else "other"] += 1
        return refused

    refused = anyio.run(call_all)
    assert refused["other"] < len(calls) * 0.25
    assert refused["unknown"] < len(calls) * 0.1


def test_what_was_learned_and_a_session_of_each_server_take_little_memory(
    each: int,
    documents: list[EmulatedDocument],
    calls: list[tuple[EmulatedDocument, ToolSpec, JsonObject]],
) -> None:
    emulator = OfflineEmulator()
    states: dict[str, OfflineState] = {}
    some = {document.name for document in documents[:: EACH // each]}

    async def call_all() -> None:
        for document, tool, arguments in calls:
            if document.name not in some:
                continue
            if document.name not in states:
                states[document.name] = emulator.open_state(document, seed=2)
            await states[document.name].answer(tool, arguments)

    tracemalloc.start()
    try:
        anyio.run(call_all)
        assert tracemalloc.get_traced_memory()[0] < 150 * MEBIBYTE / EACH
    finally:
        tracemalloc.stop()


@pytest.mark.volume
def test_a_thousand_sessions_of_one_server_take_a_few_kibibytes_each() -> None:
    document = next(d for d in kept() if any(t.name == "list_issues" for t in d.tools))
    emulator, tool = OfflineEmulator(), next(t for t in document.tools if t.name == "list_issues")
    arguments = ValueMaker(tool.input_schema).make(1, share=0.0)
    assert isinstance(arguments, dict)

    async def open_all(number: int) -> list[OfflineState]:
        states = [emulator.open_state(document, seed=seed) for seed in range(number)]
        for state in states:
            await state.answer(tool, arguments)
        return states

    anyio.run(open_all, 1)
    tracemalloc.start()
    try:
        states = anyio.run(open_all, 1000)
        assert tracemalloc.get_traced_memory()[0] / len(states) < 16 * 1024
    finally:
        tracemalloc.stop()


def test_nothing_that_is_made_up_says_so() -> None:
    for language in ("en", "zh"):
        words = json.dumps(dict(words_in(language)), ensure_ascii=False)
        assert TELLING.search(words) is None
    formats = ("email", "uri", "hostname", "uuid", "ipv4", "ipv6", "regex", "duration")
    made = [
        ValueMaker({"type": "string", "format": form}).make(seed)
        for form in formats
        for seed in range(50)
    ]
    assert TELLING.search(json.dumps(made)) is None
