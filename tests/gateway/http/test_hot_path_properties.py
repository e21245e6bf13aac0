"""However a request is changed, the hot path and the SDK's server give one answer."""

import copy
import dataclasses
import json
from collections.abc import Generator
from contextlib import AbstractContextManager
from typing import Any, cast

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from by_hand import MODERN, PREFIX, modern_message
from twin_ways import RESULTS, Answer, RawRequest, Twins, open_twins, post

KEYS = st.sampled_from(
    [
        *("jsonrpc", "id", "method", "params", "name", "arguments", "_meta", "cursor", "task"),
        *("progressToken", "text", "dev.astra-mcp/call-id", "dev.astra-mcp/seq", "a", ""),
        *(
            f"{PREFIX}{n}"
            for n in ("protocolVersion", "clientInfo", "clientCapabilities", "logLevel")
        ),
    ]
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**66), 2**66),
        st.floats(),
        st.text(max_size=5),
        st.sampled_from(["2.0", "tools/call", "tools/list", "ping", "echo", MODERN, "2025-11-25"]),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(KEYS | st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
HEADERS = st.sampled_from(
    [b"content-type", b"accept", b"mcp-protocol-version", b"mcp-method", b"mcp-name"]
)
HEADER_VALUES = st.sampled_from(
    [
        b"", b"*/*", b"application/json", b"application/json ; x=y", b"Application/JSON", b" echo",
        b"text/event-stream", b"application/*;q=0", b"tools/call", b"tools/list", b"ping", b"echo",
        b"2026-07-28", b"2025-11-25", b"2024-11-05", b"1900-01-01", b"=?base64?ZWNobw==?=", b"\xff",
    ]
)  # fmt: skip


@pytest.fixture(scope="module")
def portal() -> Generator[BlockingPortal]:
    with start_blocking_portal() as opened:
        yield opened


@pytest.fixture(scope="module")
def twins(portal: BlockingPortal, tmp_path_factory: pytest.TempPathFactory) -> Generator[Twins]:
    opening: AbstractContextManager[Twins] = portal.wrap_async_context_manager(
        open_twins(tmp_path_factory.mktemp("twins"))
    )
    with opening as opened:
        yield opened
        assert opened.num_hot > 0, "plain ones among them take the short way"


def changed(draw: Any, message: Any) -> Any:
    """Change a message at a place or two."""
    message = copy.deepcopy(message)
    for _ in range(draw(st.integers(0, 2))):
        place: dict[str, Any] = message
        while draw(st.booleans()):
            inner = [cast("dict[str, Any]", v) for v in place.values() if isinstance(v, dict)]
            if not inner:
                break
            place = draw(st.sampled_from(inner))
        key = draw(KEYS)
        if draw(st.booleans()):
            place.pop(key, None)
        else:
            place[key] = draw(VALUES)
    return message


@st.composite
def requests(draw: Any) -> tuple[RawRequest, bool]:
    """Change a plain request of either era, in its message and in its headers."""
    in_session = draw(st.booleans())
    method = draw(st.sampled_from(["tools/call", "tools/list", "ping"]))
    tools = st.sampled_from(["echo", *RESULTS, "\u00e9"])
    params = {"name": draw(tools), "arguments": draw(VALUES)} if method == "tools/call" else {}
    message: Any = modern_message(method, params)
    if in_session:
        del message["params"]["_meta"]
    message = changed(draw, message)
    body = json.dumps(message).encode()
    headers: dict[bytes, bytes] = dict(post(b"").headers)
    if not in_session:
        said = (method.encode(), str(params.get("name", "")).encode())
        headers |= {
            b"mcp-protocol-version": MODERN.encode(),
            b"mcp-method": said[0],
            b"mcp-name": said[1],
        }
    for name in draw(st.lists(HEADERS, max_size=1)):
        headers[name] = draw(HEADER_VALUES)
    return RawRequest(headers=tuple(headers.items()), body=body), in_session


def as_text(answer: Answer) -> str:
    """Write an answer so that a NaN equals another."""
    return json.dumps(dataclasses.asdict(answer), sort_keys=True, default=repr)


async def compare(twins: Twins, request: RawRequest, in_session: bool) -> None:
    paths = await twins.episode_paths()
    asked = [request, request]
    if in_session:
        asked = [request.plus((b"mcp-session-id", await twins.open_session(p))) for p in paths]
    by_short = await twins.ask(paths[0], asked[0], sdk=False)
    by_sdk = await twins.ask(paths[1], asked[1], sdk=True)
    assert as_text(by_short) == as_text(by_sdk)
    for path in paths:
        await twins.close(path)


@settings(
    max_examples=2 * settings().max_examples,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(case=requests())
def test_changed_requests_get_one_answer(
    twins: Twins, portal: BlockingPortal, case: tuple[RawRequest, bool]
) -> None:
    portal.call(compare, twins, *case)
