"""A documented server: documents read when they are needed, arguments checked, failures told as failures."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import (
    BudgetSpentError,
    ModelError,
    ModelFault,
    NotAvailableError,
    PipelineError,
    RegistryError,
    UpstreamError,
)
from astra_mcp.types import (
    CallOutcome,
    EmulatorKind,
    Origin,
    PastCall,
    ServerKind,
    ServerStatus,
    ToolSpec,
)
from gateway.api.seams import EmulatedUpstream, UpstreamSession
from servers.emulated.document_cache import DocumentCache, PackedDocument
from servers.emulated.emulator import EmulatedDocument
from servers.emulated.server import EmulatedServer

from fake_emulation import REMEMBER, FakeDocuments, FakeEmulator, document
from in_memory_tools import spec
from random_json import random_json

APPLIED = (Origin.TOOL, CallOutcome.APPLIED)
REJECTED = (Origin.TOOL, CallOutcome.REJECTED)
FAILURES = [
    ModelError("the model is away", ModelFault.UNREACHABLE),
    BudgetSpentError("the budget is spent"),
    PipelineError("the cache does not answer"),
    RegistryError("the database is away"),
]


def serve(held: EmulatedDocument, *emulators: FakeEmulator) -> tuple[EmulatedServer, FakeDocuments]:
    """A server of documents; the first emulator answers unless another one is asked for."""
    documents = FakeDocuments(held)
    known = {emulator.kind: emulator for emulator in emulators or (FakeEmulator(),)}
    server = EmulatedServer(
        held.name,
        source=documents,
        emulators=known,
        emulator=next(iter(known)),
        cache=DocumentCache(),
    )
    return server, documents


def session_of(*emulators: FakeEmulator, past: Sequence[PastCall] = ()) -> UpstreamSession:
    """A session of a server of the default documents."""
    server, _ = serve(document("desk"), *emulators)
    return server.open_session(key="k", seed=0, past=past)


async def words(session: Any, word: str) -> Any:
    reply = await session.call("remember", {"word": word})
    assert reply.result.structured is None  # its documents declare no form of answers
    return reply.result.text


async def test_the_documents_are_read_when_they_are_first_needed() -> None:
    held = document("desk", domain="office")
    server, documents = serve(held)
    upstream: EmulatedUpstream = server
    assert (server.tools, documents.loads) == ((), [])
    assert (upstream.version, upstream.num_tools, server.domain) == (held.version, 2, "office")
    assert (upstream.kind, upstream.emulator) == (ServerKind.EMULATOR, EmulatorKind.OFFLINE)
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(server.prepare)
    assert server.tools == held.tools
    assert server.status == (ServerStatus.READY, "")
    assert documents.loads == ["desk"]


async def test_what_is_shown_is_of_the_version_that_is_told() -> None:
    server, documents = serve(document("desk"))
    documents.held["desk"] = newer = document("desk", spec("only", {}, []))
    await server.prepare()
    assert (server.tools, server.version, server.num_tools) == (newer.tools, newer.version, 1)


async def test_documents_that_cannot_be_read_are_a_failure_until_they_can() -> None:
    server, documents = serve(document("desk"))
    documents.fault = RegistryError("the registry is locked")
    with pytest.raises(UpstreamError, match="documents of desk cannot be read: the registry is"):
        await server.prepare()
    documents.fault = None
    held = documents.held.pop("desk")
    with pytest.raises(UpstreamError, match="desk is not published any more"):
        await server.prepare()
    documents.held["desk"] = held
    await server.prepare()
    assert server.tools == held.tools


async def test_bad_arguments_are_refused_as_a_real_server_does_and_reach_nobody() -> None:
    emulator = FakeEmulator()
    session = session_of(emulator)
    for arguments, said in (
        ({}, "argument 'word' is required (string)"),
        ({"word": 7}, "argument 'word' must be of type string; got 7"),
        ({"word": "x", "wrod": "y"}, "unknown argument 'wrod'; did you mean 'word'?"),
    ):
        reply = await session.call("remember", arguments)
        assert (reply.origin, reply.outcome) == REJECTED
        assert reply.result.is_error
        assert reply.result.text.startswith("Invalid arguments for remember:\n- ")
        assert said in reply.result.text
    assert emulator.states == []


async def test_a_tool_that_is_not_documented_and_what_a_tool_refuses_is_an_error() -> None:
    session = session_of()
    unknown, refused = await session.call("recall", {}), await session.call("refuse", {})
    assert "no tool named 'recall'. Available tools: remember, refuse." in unknown.result.text
    assert (refused.origin, refused.outcome) == APPLIED
    assert refused.result.text == "404: there is no such thing"
    assert unknown.result.is_error
    assert refused.result.is_error


async def test_sessions_share_nothing_and_know_their_seed() -> None:
    emulator = FakeEmulator()
    server, _ = serve(document("desk"), emulator)
    one, two = (server.open_session(key=f"k{n}", seed=n) for n in (1, 2))
    await words(one, "apple")
    assert await words(two, "berry") == '{"words": ["berry"], "seed": 2, "prompt": null}'
    assert await words(one, "cherry") == '{"words": ["apple", "cherry"], "seed": 1, "prompt": null}'
    assert len(emulator.states) == 2


async def test_an_answer_is_structured_where_its_form_is_documented() -> None:
    formed = REMEMBER.model_copy(update={"output_schema": {"type": "object"}})
    server, _ = serve(document("desk", formed))
    reply = await server.open_session(key="k", seed=0).call("remember", {"word": "x"})
    assert reply.result.structured == {"words": ["x"], "seed": 0, "prompt": None}
    assert (reply.origin, reply.outcome) == APPLIED


@pytest.mark.parametrize("fault", FAILURES, ids=lambda fault: type(fault).__name__)
async def test_a_failing_emulator_is_a_failure_of_the_server_and_takes_nothing(fault: Any) -> None:
    emulator = FakeEmulator()
    session = session_of(emulator)
    await words(session, "apple")
    emulator.fault = fault
    reply = await session.call("remember", {"word": "lost"})
    assert (reply.origin, reply.outcome) == (Origin.UPSTREAM, CallOutcome.REJECTED)
    assert reply.cause == f"the emulator of desk failed: {fault}"
    assert (reply.result.is_error, reply.result.text) == (True, "The server could not answer.")
    emulator.fault = None
    assert '"words": ["apple", "berry"]' in await words(session, "berry")


def past(word: str, outcome: CallOutcome = CallOutcome.APPLIED) -> PastCall:
    return PastCall(tool="remember", arguments={"word": word}, outcome=outcome)


async def test_an_earlier_life_is_taken_over_before_the_first_new_call() -> None:
    emulator = FakeEmulator()
    calls = [past("apple"), past("refused", CallOutcome.REJECTED), past("berry")]
    session = session_of(emulator, past=calls)
    assert emulator.states == []
    assert '"words": ["apple", "berry", "cherry"]' in await words(session, "cherry")
    assert '["apple", "berry", "cherry", "date"]' in await words(session, "date")


async def test_a_life_that_was_taken_over_in_part_is_taken_over_anew() -> None:
    emulator = FakeEmulator(fault=FAILURES[0])
    session = session_of(emulator, past=[past("apple")])
    assert await words(session, "lost") == "The server could not answer."
    emulator.fault = None
    assert '"words": ["apple", "berry"]' in await words(session, "berry")


async def test_calls_come_one_at_a_time_in_the_order_of_their_arrival() -> None:
    emulator = FakeEmulator()
    may_go_on = anyio.Event()
    running = most = 0

    async def wait() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await may_go_on.wait()
        running -= 1

    emulator.before_answer = wait
    session = session_of(emulator)
    async with anyio.create_task_group() as group:
        for word in ("a", "b", "c"):
            group.start_soon(words, session, word)
            await anyio.wait_all_tasks_blocked()
        may_go_on.set()
    assert most == 1
    assert emulator.states[0].words == ["a", "b", "c"]


async def test_a_closed_session_takes_no_call() -> None:
    session = session_of()
    await session.aclose()
    await session.aclose()
    reply = await session.call("remember", {"word": "late"})
    assert (reply.origin, reply.cause) == (Origin.UPSTREAM, "the session is closed")


async def test_an_emulator_is_chosen_for_a_session_and_may_be_told_the_task() -> None:
    offline, model = FakeEmulator(), FakeEmulator(kind=EmulatorKind.MODEL)
    server, _ = serve(document("desk"), offline, model)
    chosen = server.open_emulation(emulator=model.kind, key="k", seed=3, prompt="Tidy the desk")
    assert await words(chosen, "x") == '{"words": ["x"], "seed": 3, "prompt": "Tidy the desk"}'
    assert (len(offline.states), len(model.states)) == (0, 1)


async def test_an_emulator_that_is_not_in_use_is_refused_with_what_to_set() -> None:
    server, _ = serve(document("desk"))
    with pytest.raises(NotAvailableError, match=r"set emulators\.kind or emulators\.distractors"):
        server.open_emulation(emulator=EmulatorKind.MODEL, key="k", seed=0)


json_values = random_json(st.integers(-(2**53), 2**53) | st.text(), st.text(), max_leaves=8)
tools = st.builds(
    ToolSpec,
    name=st.text(min_size=1, max_size=20),
    description=st.text(),
    input_schema=st.dictionaries(st.text(), json_values),
    output_schema=st.none() | st.dictionaries(st.text(), json_values),
    extra=st.dictionaries(st.text(), json_values),
)
documents_of_any_kind = st.builds(
    EmulatedDocument,
    name=st.text(),
    title=st.text(),
    description=st.text(),
    domain=st.none() | st.text(),
    language=st.none() | st.text(),
    version=st.text(),
    tools=st.lists(tools, max_size=3).map(tuple),
)


@given(documents_of_any_kind)
def test_a_packed_document_is_the_same_when_it_is_unpacked(held: EmulatedDocument) -> None:
    equal = EmulatedDocument(**{name: getattr(held, name) for name in held.__dataclass_fields__})
    packed = PackedDocument(equal)
    assert packed.unpack() is equal
    del equal
    unpacked = packed.unpack()
    assert unpacked == held
    orders = [[list(t.input_schema) for t in each.tools] for each in (unpacked, held)]
    assert orders[0] == orders[1]
    assert packed.unpack() is unpacked


async def test_few_documents_and_checks_stay_unpacked_besides_those_in_use() -> None:
    cache = DocumentCache(max_documents=2, max_checks=2)
    packed = [PackedDocument(document(f"d{n}")) for n in range(4)]
    first = cache.document(packed[0])
    for other in packed[1:]:
        cache.document(other)
    assert cache.document(packed[0]) is first  # somebody holds it
    kept = [id(cache.document(p)) for p in packed[2:]]
    assert [id(cache.document(p)) for p in packed[2:]] == kept
    check = cache.check(packed[0], "remember")
    assert cache.check(packed[0], "remember") is check
    for other in packed[1:]:
        cache.check(other, "remember")
    assert cache.check(packed[0], "remember") is not check
