"""What a process may write that no one expects: secrets in pieces, ids of no request, half errors."""

import json
from pathlib import Path

import pytest

from astra_mcp.errors import BusyError, UpstreamError
from astra_mcp.mcp.request_context import Era, Exchange
from servers.deployed import DeployedSession
from servers.deployed.errors import in_words
from servers.deployed.transports.messages import parse_message

from deployed_workshop import deployed, raw_entry, session, text_of

SECRET = "s3cr3t-välue-0123456789"
_BYTES = SECRET.encode()
_RESULT = '"result": {"content": [{"type": "text", "text": "fine"}]}'
_FINE = f'{{"jsonrpc": "2.0", "id": <id>, {_RESULT}}}'


@pytest.mark.parametrize(
    "parts",
    [
        [b"x" * 490 + _BYTES + b"\n"],
        [b"x" * 490 + _BYTES],
        [b"bad key " + _BYTES[:9], _BYTES[9:] + b"\n"],  # within a character
        [b"bad key " + _BYTES[:4], _BYTES[4:]],
        [_BYTES * (300_000 // len(_BYTES))],
        [b"y" * 3000, _BYTES + b"z" * (500 - len(_BYTES) + 4)],
    ],
)
async def test_a_secret_on_standard_error_is_blacked_out_wherever_it_is_cut(
    tmp_path: Path, parts: list[bytes]
) -> None:
    async with deployed(tmp_path, raw=raw_entry(env={"KEY": SECRET})) as servers:
        with pytest.raises(UpstreamError, match="exit status 3") as told:
            await session(servers).call("mutter", {"parts": [p.hex() for p in parts]})
    text = str(told.value)
    assert not any(SECRET[i : i + 4] in text for i in range(len(SECRET) - 3))


async def test_a_secret_in_garbage_is_blacked_out_wherever_it_is_cut(tmp_path: Path) -> None:
    lines = ["x" * 110 + SECRET] * 200
    async with deployed(tmp_path, raw=raw_entry(env={"KEY": SECRET})) as servers:
        with pytest.raises(UpstreamError, match="no JSON-RPC, such as 'xxx") as told:
            await session(servers).call("odd", {"lines": [*lines]})
    assert SECRET[:4] not in str(told.value)


async def test_what_a_server_writes_in_place_of_the_handshake_is_told(tmp_path: Path) -> None:
    entry = {"command": "sh", "args": ["-c", "echo hello; sleep 300"], "timeout_seconds": 1.0}
    async with deployed(tmp_path, raw=entry) as servers:
        with pytest.raises(UpstreamError, match="it wrote 'hello', which is no JSON-RPC"):
            await session(servers).call("echo", {})


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (rb'{"a": "cut \ud83d", "b": "\udead!"}', {"a": "cut \ufffd", "b": "\ufffd!"}),
        (rb'{"a": "\ud83d\ude00\ud83d"}', {"a": "\U0001f600\ufffd"}),
        (rb'{"a": "\\ud83d", "b": "\ud83d"}', {"a": r"\ud83d", "b": "\ufffd"}),
        (rb'{"a": "\ud83d", "b": NaN}', None),
    ],
)
def test_half_an_emoji_loses_no_message(text: bytes, read: object) -> None:
    assert parse_message(text) == parse_message(text.decode()) == read


async def test_ids_of_no_request_are_passed_over(one: DeployedSession) -> None:
    progress = {"progressToken": "9" * 5000}
    lines = [
        '{"jsonrpc": "2.0", "id": "' + "9" * 5000 + '", "result": {}}',
        '{"jsonrpc": "2.0", "id": ' + "9" * 5000 + ', "result": {}}',
        '{"jsonrpc": "2.0", "id": true, "result": {}}',
        json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": progress}),
    ]
    assert await text_of(one, "odd", lines=[*lines, _FINE]) == "fine"


async def test_a_result_beside_an_error_of_null_is_a_result(one: DeployedSession) -> None:
    line = _FINE.replace(_RESULT, f'{_RESULT}, "error": null')
    assert await text_of(one, "odd", lines=[line]) == "fine"
    with pytest.raises(UpstreamError, match="answered tools/call with no object"):
        await one.call("odd", {"lines": ['{"id": <id>, "error": null}']})


async def test_a_request_that_cannot_be_written_fails_in_words(one: DeployedSession) -> None:
    with pytest.raises(UpstreamError, match="upstream raw could not be asked"):
        await one.call("count", {"text": "\ud800"})


@pytest.mark.parametrize("max_processes", [1, 2])
async def test_a_server_that_ends_late_of_a_method_it_does_not_know_is_started_again(
    tmp_path: Path, max_processes: int
) -> None:
    entry = raw_entry("handshake", "brittle", timeout_seconds=4.5, max_processes=max_processes)
    async with deployed(tmp_path, raw=entry) as servers:
        assert await text_of(session(servers), "count", Exchange(era=Era.MODERN)) == "1"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("  | ValueError: no key\n    +------------------\n", "ValueError: no key"),
        ("  | + Exception Group\n  +-+------- 1 -------\n  | ValueError: no key\n---\n", "no key"),
        ("| free | total |\n|------|-------|\n", r"\| free \| total \|"),
        ("-----\n", "-----"),
        ("ключ неверен\n=======\n\n", "ключ неверен"),
    ],
)
async def test_the_last_words_of_a_server_are_a_line_with_words(
    one: DeployedSession, written: str, words: str
) -> None:
    with pytest.raises(UpstreamError, match=rf"closed \(exit status 3\): .*{words}; delivery"):
        await one.call("mutter", {"parts": [written.encode().hex()]})


def test_an_error_comes_out_of_a_task_groups_wrapping() -> None:
    busy = BusyError("busy")
    with pytest.raises(BusyError, match="busy"), in_words("raw"):
        raise ExceptionGroup("outer", [ExceptionGroup("inner", [busy])])
    two = ExceptionGroup("two", [busy, ValueError("x")])
    with (
        pytest.raises(UpstreamError, match=r"upstream raw could not .*ExceptionGroup"),
        in_words("raw"),
    ):
        raise two
