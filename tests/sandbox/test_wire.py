"""What a hostile process writes on its channel is refused, never believed and never fatal."""

import itertools
import json
import socket
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.sandbox import Raised, Returned
from astra_mcp.sandbox.channel import (
    ChannelClosedError,
    Message,
    OversizedMessageError,
    channel_pair,
)
from astra_mcp.sandbox.replies import MalformedReplyError, parse_call
from astra_mcp.sandbox.zygote import frames as wire

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(head=st.binary(max_size=80) | json_values.map(lambda v: json.dumps(v).encode()),
       body=st.binary(max_size=80))  # fmt: skip
def test_any_bytes_are_a_reply_or_refused(head: bytes, body: bytes) -> None:
    try:
        reply = parse_call(Message(head, body), call="c", output_bytes=100)
    except MalformedReplyError:
        return
    assert isinstance(reply, Returned | Raised)


@given(value=json_values)
def test_an_honest_reply_is_read_as_it_was_written(value: Any) -> None:
    head = json.dumps({"call": "c", "status": "returned", "output": "o"}).encode()
    reply = parse_call(Message(head, json.dumps(value).encode()), call="c", output_bytes=100)
    assert reply == Returned(value=value, output="o")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ({"status": "returned"}, b"NaN"),
        ({"status": "returned"}, b""),
        ({"status": "returned"}, b"[" * 5000 + b"]" * 5000),
        ({"status": "returned"}, b"[" * 200 + b"]" * 200),
        ({"status": "returned", "output": "x" * 101}, b"1"),
        ({"status": "returned", "output": 1}, b"1"),
        ({"status": "raised", "kind": "x" * 101, "message": ""}, b""),
        ({"status": "raised", "kind": "E", "message": "x" * 2001}, b""),
        ({"status": "raised", "kind": "E", "message": ""}, b"1"),
        ({"status": "interrupted", "kind": "Timeout", "message": ""}, b"1"),
        ({"status": "ready"}, b""),
        ({"call": "b", "status": "returned"}, b"1"),
        ({"call": None, "status": "returned"}, b"1"),
        ([], b""),
    ],
)
def test_what_no_honest_process_sends_is_refused(head: Any, body: bytes) -> None:
    if head != []:
        head = {"call": "c"} | head
    with pytest.raises(MalformedReplyError):
        parse_call(Message(json.dumps(head).encode(), body), call="c", output_bytes=100)


async def test_messages_arrive_whole_and_in_order() -> None:
    channel, theirs = channel_pair()
    with theirs:
        for size in (0, 1, 150_000):
            theirs.sendall(wire.encode({"n": size}, b"x" * size))
            if size < 150_000:
                message = await channel.receive(head_limit=100, body_limit=150_000)
                assert (json.loads(message.head), len(message.body)) == ({"n": size}, size)
        message = await channel.receive(head_limit=100, body_limit=150_000)
        assert message.body == b"x" * 150_000
    channel.close()


async def test_an_announced_size_over_the_limit_is_refused_unread() -> None:
    channel, theirs = channel_pair()
    with theirs:
        theirs.sendall(wire.PREFIX.pack(2, 101) + b"{}")
        with pytest.raises(OversizedMessageError):
            await channel.receive(head_limit=100, body_limit=100)
    channel.close()


async def test_the_end_of_the_process_in_mid_message_is_noticed() -> None:
    channel, theirs = channel_pair()
    theirs.sendall(wire.PREFIX.pack(2, 100) + b"{}short")
    theirs.close()
    with pytest.raises(ChannelClosedError):
        await channel.receive(head_limit=100, body_limit=100)
    with pytest.raises(ChannelClosedError):
        await channel.send({"op": "call"})
    channel.close()


async def test_descriptors_come_with_the_first_byte() -> None:
    channel, theirs = channel_pair()
    passed, kept = socket.socketpair()
    with theirs, passed, kept:
        socket.send_fds(theirs, [wire.encode({"status": "up"})], [passed.fileno()])
        message, descriptors = await channel.receive_with_descriptors(head_limit=100)
        assert json.loads(message.head) == {"status": "up"}
        with socket.socket(fileno=descriptors[0]) as received:
            received.sendall(b"x")
        assert kept.recv(1) == b"x"
    channel.close()


class CutStream:
    """Receives like a socket, by pieces of given lengths."""

    def __init__(self, stream: bytes, lengths: list[int]) -> None:
        self._left = stream
        self._lengths = itertools.cycle(lengths)

    def recv(self, size: int) -> bytes:
        """Take the next piece; empty at the end."""
        length = min(size, next(self._lengths))
        piece, self._left = self._left[:length], self._left[length:]
        return piece


@given(
    messages=st.lists(st.tuples(st.binary(max_size=40), st.binary(max_size=9000)), max_size=5),
    lengths=st.lists(st.integers(1, 5000), min_size=1, max_size=5),
)
def test_messages_are_read_ahead_however_they_are_cut(
    messages: list[tuple[bytes, bytes]], lengths: list[int]
) -> None:
    stream = CutStream(b"".join(wire.join(*message) for message in messages), lengths)
    ahead = bytearray()
    for message in messages:
        assert wire.receive_ahead(cast("socket.socket", stream), ahead) == message
    with pytest.raises(EOFError):
        wire.receive_ahead(cast("socket.socket", stream), ahead)
