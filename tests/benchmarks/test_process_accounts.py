"""What the benchmarks count as processor time is what the processes used, also of many that use little."""

import subprocess
import sys

from process_accounts import cpu_seconds

_CHILD = """
import sys, time
while time.process_time() < 0.034:
    pass
print(time.process_time(), flush=True)
sys.stdin.readline()
"""
_PARENT = f"""
import subprocess, sys
pipe = subprocess.PIPE
children = [
    subprocess.Popen([sys.executable, "-c", {_CHILD!r}], stdin=pipe, stdout=pipe, text=True)
    for _ in range(8)
]
print(sum(float(child.stdout.readline()) for child in children), flush=True)
sys.stdin.readline()
for child in children:
    child.communicate()
"""


def test_no_tick_of_any_process_is_lost() -> None:
    command = [sys.executable, "-c", _PARENT]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdout is not None
        used = float(parent.stdout.readline())
        alone = cpu_seconds(parent.pid, with_children=False)
        counted = cpu_seconds(parent.pid, with_children=True) - alone
        parent.communicate("\n")
    assert used <= counted < used * 1.5
