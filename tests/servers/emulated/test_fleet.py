"""The fleet follows its documents, and leaves their names to real servers that have them."""

import logging

import pytest

from astra_mcp.types import EmulatorKind
from servers.emulated.fleet import EmulatedServers, NoDocuments

from fake_emulation import FakeDocuments, FakeEmulator, document
from in_memory_tools import spec


def emulate(documents: FakeDocuments, *taken: str) -> EmulatedServers:
    emulators = {EmulatorKind.OFFLINE: FakeEmulator()}
    return EmulatedServers(documents, emulators, is_taken=lambda name: name in taken)


def names(servers: EmulatedServers) -> list[str]:
    return [server.name for server in servers.upstreams()]


def test_what_is_documented_is_published_by_name_and_nothing_is_read() -> None:
    documents = FakeDocuments(document("berry"), document("apple"))
    servers = emulate(documents)
    assert names(servers) == ["apple", "berry"]
    assert servers.find("berry") is servers.upstreams()[1]
    assert servers.find("cherry") is None
    assert documents.loads == []


def test_servers_come_and_go_with_their_documents() -> None:
    documents = FakeDocuments(document("berry"))
    servers = emulate(documents)
    heard: list[str] = []
    end = servers.watch(heard.append)
    documents.publish(document("apple"))
    assert names(servers) == ["apple", "berry"]
    documents.withdraw("berry")
    assert names(servers) == ["apple"]
    assert heard == ["apple", "berry"]
    end()
    end()
    documents.withdraw("apple")
    assert heard == ["apple", "berry"]
    assert documents.num_watching == 1
    servers.close()
    assert documents.num_watching == 0


async def test_other_documents_are_another_server_and_equal_ones_are_the_same() -> None:
    documents = FakeDocuments(document("berry"))
    servers = emulate(documents)
    first = servers.find("berry")
    documents.publish(document("berry"))
    assert servers.find("berry") is first
    documents.publish(changed := document("berry", spec("only", {}, [])))
    second = servers.find("berry")
    assert second is not None
    assert second is not first
    await second.prepare()
    assert (second.version, second.tools) == (changed.version, changed.tools)


def test_a_name_of_a_real_server_is_its_own_and_said_once(caplog: pytest.LogCaptureFixture) -> None:
    documents = FakeDocuments(document("berry"), document("apple"))
    with caplog.at_level(logging.WARNING):
        servers = emulate(documents, "berry")
        heard: list[str] = []
        servers.watch(heard.append)
        assert names(servers) == ["apple"]
        assert servers.find("berry") is None
        documents.publish(document("berry", spec("only", {}, [])))
        assert names(servers) == ["apple"]
    assert heard == []
    assert [r.getMessage() for r in caplog.records] == [
        "berry is not emulated: an environment or a deployed server has its name"
    ]


def test_a_name_that_is_free_again_is_served_again() -> None:
    documents = FakeDocuments(document("berry"))
    taken = {"berry"}
    servers = EmulatedServers(documents, {}, is_taken=taken.__contains__)
    assert names(servers) == []
    taken.clear()
    assert names(servers) == ["berry"]


def test_without_documents_there_are_no_servers() -> None:
    servers = EmulatedServers(NoDocuments(), {})
    assert servers.upstreams() == ()
    assert servers.find("berry") is None
    servers.close()
