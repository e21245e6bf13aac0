"""A worker without its supervisor."""

import signal
import subprocess
import sys

import pytest

STUCK = """
import time
import anyio
from astra_mcp.serving.process.stopping import Stop
from astra_mcp.serving.process.worker import watch_supervisor

async def main():
    stop = Stop()
    async with anyio.create_task_group() as group:
        group.start_soon(watch_supervisor, stop)
        await stop.insisted.wait()
        print("insisted", flush=True)
        time.sleep(600)

anyio.run(main)
"""


@pytest.mark.system
def test_a_worker_that_lost_its_supervisor_ends_even_where_its_loop_is_stuck() -> None:
    worker = subprocess.Popen(
        [sys.executable, "-P", "-c", STUCK], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    said, _ = worker.communicate(timeout=60)  # closes its standard input
    assert said == b"insisted\n"
    assert worker.returncode == -signal.SIGALRM
