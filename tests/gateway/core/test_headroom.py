"""Memory that a process may not have is an answer: the JSON library would end the process instead."""

import subprocess
import sys

import pytest

from astra_mcp import headroom
from astra_mcp.errors import NoMemoryError
from astra_mcp.headroom import require_memory, wait_for_memory

READS = """
import sys
from servers.deployed.transports.messages import parse_message
import resource
text = "x" * 7_000_000
line = b'{"jsonrpc":"2.0","id":1,"result":{"text":"' + text.encode() + b'"}}'
from astra_mcp import headroom
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (150 << 20),) * 2)
headroom._has_limit = True
kept = []
try:
    while True:
        kept.append(parse_message(line))
        assert kept[-1]["result"]["text"] == text
except Exception as error:
    said = type(error).__name__
    num, kept = len(kept), None
    print(num, said)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems limit no address space")
def test_messages_are_read_until_there_is_no_memory_and_then_refused_in_words() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", READS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    num, error = done.stdout.split()
    assert error == "UpstreamError"
    assert int(num) > 10


def test_without_a_limit_nothing_is_asked() -> None:
    require_memory(1 << 60)


async def test_what_cannot_be_had_is_refused_or_waited_for_no_longer_than_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(headroom, "_has_limit", True)
    require_memory(1 << 20)
    assert await wait_for_memory(1 << 20, 0.01)
    with pytest.raises(NoMemoryError, match=r"no more memory for now \(ulimit -v\)"):
        require_memory(1 << 60)
    assert not await wait_for_memory(1 << 60, 0.01)
