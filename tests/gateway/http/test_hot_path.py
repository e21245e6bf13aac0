"""The hot path answers what the SDK's server answers, request by request, in both eras."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from by_hand import PREFIX, modern_message
from twin_ways import RESULTS, RawRequest, Twins, modern, open_twins, post


@pytest.fixture(scope="module")
async def twins(
    tmp_path_factory: pytest.TempPathFactory, anyio_backend: str
) -> AsyncIterator[Twins]:
    """One gateway for all tests of the module; each opens episodes of its own."""
    async with open_twins(tmp_path_factory.mktemp("twins")) as opened:
        yield opened


ECHO: dict[str, Any] = {"name": "echo", "arguments": {"text": "x"}}


def call(name: str = "echo", arguments: Any = None, /, **meta: Any) -> Any:
    """Make the message of a call in the modern era."""
    params: dict[str, Any] = {**ECHO, "name": name}
    if arguments is not None:
        params["arguments"] = arguments
    return modern_message("tools/call", params, **meta)


def plain(*metas: dict[str, Any]) -> Any:
    """Make the message of a plain call with further members of ``_meta``."""
    return modern_message("tools/call", dict(ECHO), **{k: v for m in metas for k, v in m.items()})


def with_params(**params: Any) -> Any:
    """Change members of the params of a plain call."""
    message = call()
    message["params"] = {**message["params"], **params}
    return message


def with_members(**members: Any) -> Any:
    """Change members of the message of a plain call."""
    return {**call(), **members}


def without_meta(*keys: str) -> Any:
    """Leave members of ``_meta`` out."""
    message = call()
    for key in keys:
        del message["params"]["_meta"][PREFIX + key]
    return message


def with_header(name: bytes, value: bytes) -> RawRequest:
    """Change a header of a plain call."""
    return modern(call()).without(name).plus((name, value))


PLAIN: dict[str, RawRequest] = {
    **{f"result {name}": modern(call(name, {})) for name in RESULTS},
    "an echo": modern(call()),
    "an error that fails the episode": modern(call("break", {})),
    "a list": modern(modern_message("tools/list")),
    "an id that is a text": modern(with_members(id="a-\u00e9")),
    "a negative id": modern(with_members(id=-7)),
    "a great id": modern(with_members(id=2**60)),
    "unusual arguments": modern(
        call("echo", {"a": [1.5, None, True, {"\u4e2d": "\u00e9"}], "": -1})
    ),
    "json alone accepted": with_header(b"accept", b"application/json"),
    "anything accepted": with_header(b"accept", b"*/*"),
    "a charset": with_header(b"content-type", b"application/json; charset=utf-8"),
    "white space around headers": modern(call(), name=" echo "),
    "a header for a parameter": modern(call()).plus((b"mcp-param-text", b"y")),
    "a progress token": modern(call(progressToken="p")),
    "a trace": modern(call(traceparent="00-" + "a" * 32 + "-" + "b" * 16 + "-01")),
    "own meta": modern(plain({"dev.example/x": {"y": [1]}})),
    "a call id": modern(plain({"dev.astra-mcp/call-id": "a"})),
    "a fault of the arguments": modern(plain({"dev.astra-mcp/argument-fault": "no JSON"})),
    "no client info": modern(without_meta("clientInfo")),
    "capabilities": modern(plain({f"{PREFIX}clientCapabilities": {"sampling": {}, "roots": {}}})),
    "a log level": modern(plain({f"{PREFIX}logLevel": "debug"})),
}
"""Requests that the hot path answers."""

ODD: dict[str, RawRequest] = {
    "an unknown tool": modern(call("paint")),
    "no meta": modern(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}
    ),
    "an empty meta": modern(with_params(_meta={})),
    "no version": modern(without_meta("protocolVersion")),
    "no capabilities": modern(without_meta("clientCapabilities")),
    "another version in the body": modern(plain({f"{PREFIX}protocolVersion": "2026-07-29"})),
    "a version of the other era": modern(plain({f"{PREFIX}protocolVersion": "2025-11-25"})),
    "client info of the wrong shape": modern(plain({f"{PREFIX}clientInfo": {"name": 1}})),
    "capabilities of the wrong shape": modern(plain({f"{PREFIX}clientCapabilities": {"roots": 1}})),
    "capabilities that are a list": modern(plain({f"{PREFIX}clientCapabilities": []})),
    "no such log level": modern(plain({f"{PREFIX}logLevel": "loud"})),
    "another method in the header": modern(call(), method="tools/list"),
    "another name in the header": modern(call(), name="fail"),
    "no method in the headers": modern(call()).without(b"mcp-method"),
    "no name in the headers": modern(call()).without(b"mcp-name"),
    "an encoded name": modern(call(), name="=?base64?ZWNobw==?="),
    "a wrongly encoded name": modern(call(), name="=?base64?ZWNob?="),
    "html accepted": with_header(b"accept", b"text/html"),
    "nothing accepted": modern(call()).without(b"accept"),
    "another content type": with_header(b"content-type", b"text/plain"),
    "an accept header twice": modern(call()).plus((b"accept", b"text/html")),
    "no id": modern({k: v for k, v in call().items() if k != "id"}),
    "an id that is null": modern(with_members(id=None)),
    "an id that is true": modern(with_members(id=True)),
    "an id with a fraction": modern(with_members(id=1.5)),
    "an id that is an object": modern(with_members(id={})),
    "an id beyond 64 bits": modern(with_members(id=2**70)),
    "another jsonrpc": modern(with_members(jsonrpc="1.0")),
    "no jsonrpc": modern({k: v for k, v in call().items() if k != "jsonrpc"}),
    "a further member": modern(with_members(extra=1)),
    "params that are null": modern(with_members(params=None)),
    "params that are a list": modern(with_members(params=[])),
    "no arguments": modern(modern_message("tools/call", {"name": "echo"})),
    "arguments that are null": modern(with_params(arguments=None)),
    "arguments that are a list": modern(with_params(arguments=[1])),
    "arguments that are a text": modern(with_params(arguments="x")),
    "a name that is a number": modern(with_params(name=7), name="7"),
    "no name": modern(modern_message("tools/call", {"arguments": {}})),
    "an empty name": modern(call("")),
    "a name beyond ASCII": modern(call("\u4e2d")),
    "a further param": modern(with_params(task={"ttl": 1})),
    "a cursor": modern(modern_message("tools/list", {"cursor": "x"})),
    "a ping of the other era": modern(modern_message("ping")),
    "no such method": modern(modern_message("tools/paint")),
    "a batch": modern([call()]),
    "a text": modern("tools/call"),
    "no json": modern(b"{", method="tools/call", name="echo"),
    "nothing": modern(b"", method="tools/call", name="echo"),
    "a byte order mark": modern(b"\xef\xbb\xbf{}", method="tools/call", name="echo"),
    "no utf-8": modern(b'{"a": "\xff"}', method="tools/call", name="echo"),
    "a number that json does not have": modern(with_params(arguments={"a": float("nan")})),
    "an endless number": modern(with_params(arguments={"a": float("inf")})),
    "an integer beyond 64 bits": modern(with_params(arguments={"a": 2**64})),
    "a great integer": modern(with_params(arguments={"a": 2**63})),
    "half a character": modern(with_params(arguments={"a": "\ud800"})),
    "a call id that is empty": modern(plain({"dev.astra-mcp/call-id": ""})),
    "a call id that is a number": modern(plain({"dev.astra-mcp/call-id": 7})),
    "a seq that is a text": modern(plain({"dev.astra-mcp/seq": "7"})),
    "a seq with a fraction": modern(plain({"dev.astra-mcp/seq": 1.5})),
    "a fault that is empty": modern(plain({"dev.astra-mcp/argument-fault": ""})),
    "a progress token that is null": modern(call(progressToken=None)),
    "a progress token that is a list": modern(call(progressToken=[])),
    "a name of the protocol's own": modern(plain({f"{PREFIX}paint": 1})),
}
"""Requests that are better left to the SDK; whoever answers them, the answer is one."""


async def agree(twins: Twins, request: RawRequest, short: str, long: str) -> int:
    """Compare the answers of both ways; tells how often the hot path answered."""
    before = twins.num_hot
    by_short = await twins.ask(short, request, sdk=False)
    answered = twins.num_hot - before
    assert by_short == await twins.ask(long, request, sdk=True)
    return answered


@pytest.mark.parametrize("what", [*PLAIN, *ODD])
async def test_a_request_gets_the_sdks_answer_whatever_the_one_before_said_of_itself(
    twins: Twins, what: str
) -> None:
    request = (PLAIN | ODD)[what]
    alone = await agree(twins, request, *await twins.episode_paths())
    assert what in ODD or alone == 1
    assert await agree(twins, modern(call()), *await twins.episode_paths()) == 1
    assert await agree(twins, request, *await twins.episode_paths()) == alone
    assert await agree(twins, request, *await twins.episode_paths()) == alone


@pytest.mark.parametrize("path", ["/servers/palette/mcp", "/mcp"])
@pytest.mark.parametrize("what", ["an echo", "a list", "result structure", "a call id"])
async def test_interactive_endpoints_are_answered_alike(twins: Twins, path: str, what: str) -> None:
    request = PLAIN[what]
    if path == "/mcp" and what != "a list":
        message = call("palette__structure" if "structure" in what else "palette__echo")
        request = modern(message)
    caller = what.replace(" ", "-")
    paths = (f"{path}?caller=a-{caller}", f"{path}?caller=b-{caller}")
    assert await agree(twins, request, *paths) == 1


async def test_an_episode_that_has_ended_is_answered_alike(twins: Twins) -> None:
    short, long = await twins.episode_paths()
    once = modern(plain({"dev.astra-mcp/call-id": "a"}))
    await agree(twins, once, short, long)
    for path in (short, long):
        await twins.close(path)
    for request in (modern(call()), modern(modern_message("tools/list")), once):
        await agree(twins, request, short, long)


async def test_calls_of_a_failed_episode_are_answered_alike(twins: Twins) -> None:
    short, long = await twins.episode_paths()
    for request in (
        modern(call("break", {})),
        modern(call()),
        modern(modern_message("tools/list")),
    ):
        await agree(twins, request, short, long)


async def test_a_repeated_seq_is_refused_alike(twins: Twins) -> None:
    short, long = await twins.episode_paths()
    numbered = modern(plain({"dev.astra-mcp/seq": 0}))
    assert await agree(twins, numbered, short, long) == 1
    assert await agree(twins, numbered, short, long) == 1


async def test_the_clients_meta_reaches_the_server_less_what_is_ours(twins: Twins) -> None:
    trace = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    own = {"traceparent": trace, "dev.example/x": 1}
    request = modern(plain(own, {"dev.astra-mcp/call-id": "a"}))
    await agree(twins, request, *await twins.episode_paths())
    by_short, by_sdk = twins.palette.heard[-2:]
    assert by_short.meta == own
    assert by_short == by_sdk


# --- the handshake era ----------------------------------------------------------------------------


def message_of(method: str, params: Any = None, **members: Any) -> Any:
    """Make a message of the handshake era."""
    said = {} if params is None else {"params": params}
    return {"jsonrpc": "2.0", "id": 1, "method": method, **said, **members}


PLAIN_IN_SESSION: dict[str, Any] = {
    **{f"result {n}": message_of("tools/call", {"name": n, "arguments": {}}) for n in RESULTS},
    "an echo": message_of("tools/call", ECHO),
    "an error that fails the episode": message_of("tools/call", {"name": "break", "arguments": {}}),
    "a list": message_of("tools/list"),
    "a list with params": message_of("tools/list", {}),
    "a ping": message_of("ping"),
    "a ping with meta": message_of("ping", {"_meta": {"dev.example/x": 1}}),
    "an id that is a text": message_of("tools/call", ECHO, id="a"),
    "a progress token": message_of("tools/call", {**ECHO, "_meta": {"progressToken": 1}}),
}
ODD_IN_SESSION: dict[str, Any] = {
    "an unknown tool": message_of("tools/call", {"name": "paint", "arguments": {}}),
    "no arguments": message_of("tools/call", {"name": "echo"}),
    "arguments that are a list": message_of("tools/call", {"name": "echo", "arguments": []}),
    "no name": message_of("tools/call", {"arguments": {}}),
    "no params": message_of("tools/call"),
    "a task": message_of("tools/call", {**ECHO, "task": {"ttl": 1}}),
    "a cursor": message_of("tools/list", {"cursor": "x"}),
    "no such method": message_of("tools/paint"),
    "an integer beyond 64 bits": message_of(
        "tools/call", {"name": "echo", "arguments": {"a": 2**64}}
    ),
    "an envelope of the other era": modern_message("tools/call", dict(ECHO)),
    "a notification": {"jsonrpc": "2.0", "method": "notifications/cancelled"},
    "an answer": {"jsonrpc": "2.0", "id": 1, "result": {}},
    "a batch": [message_of("ping")],
    "no json": b"{",
}


@pytest.mark.parametrize("what", PLAIN_IN_SESSION)
@pytest.mark.parametrize(
    ("version", "num_hot"), [("2025-06-18", 1), ("2025-11-25", 1), ("2025-03-26", 0)]
)
async def test_a_plain_request_in_a_session_is_answered_as_the_sdk_answers_it(
    twins: Twins, version: str, num_hot: int, what: str
) -> None:
    """One of an old revision is left to the SDK."""
    assert await agree_in_session(twins, PLAIN_IN_SESSION[what], version) == num_hot


@pytest.mark.parametrize("what", ODD_IN_SESSION)
async def test_an_odd_request_in_a_session_gets_the_sdks_answer(twins: Twins, what: str) -> None:
    await agree_in_session(twins, ODD_IN_SESSION[what], "2025-11-25")


async def agree_in_session(twins: Twins, message: Any, version: str) -> int:
    """Compare the answers in a session for each way, with and without the version's header."""
    answered = 0
    for headers in ([], [(b"mcp-protocol-version", version.encode())]):
        paths = await twins.episode_paths()
        asked = [
            post(message, (b"mcp-session-id", await twins.open_session(path, version)), *headers)
            for path in paths
        ]
        before = twins.num_hot
        by_short = await twins.ask(paths[0], asked[0], sdk=False)
        answered += twins.num_hot - before
        assert by_short == await twins.ask(paths[1], asked[1], sdk=True)
    assert answered in (0, 2)
    return answered // 2
