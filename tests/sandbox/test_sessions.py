"""What honest tool code sees is the same in both backends: calls, errors, bounds."""

from collections.abc import AsyncGenerator
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest

from astra_mcp.errors import SandboxDiedError, SandboxUnavailableError, ToolCodeError
from astra_mcp.sandbox import (
    Raised,
    Returned,
    Sandbox,
    SandboxLimits,
    SandboxReport,
    SandboxSession,
    open_sandbox,
)
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.types import JsonValue

from sandboxes import CLOCK, opened

CODE = """
import dataclasses, decimal, time

@dataclasses.dataclass
class Order:
    id: str

ORDERS = {"o1": Order("o1")}

def echo(value=None): return value
def find(order_id): return dataclasses.asdict(ORDERS[order_id])
def add(order_id): ORDERS[order_id] = Order(order_id); return sorted(ORDERS)
def missing(): raise KeyError("no order o9")
def shout(): print("printed \\u00e9", end=""); return 1
def flood(): print("x" * 10**6)
def value(name):
    return {"nan": float("nan"), "inf": [float("inf")], "set": {1}, "key": {1: 2}, "tuple": (1, 2),
            "long": 10**30, "surrogate": "\\ud800", "order": ORDERS["o1"], "bytes": b"x"}[name]
def deep(levels):
    value = []
    for _ in range(levels - 1): value = [value]
    return value
def spin():
    while True: pass
def stubborn():
    n = 0
    while True:
        try:
            while True:
                n += 1
        except BaseException:
            n += 1
def text(size): return "x" * size
def leave():
    raise SystemExit(1)
def library():
    import socket
def zone():
    import zoneinfo
class Timeout(Exception): pass
def pretend(): raise Timeout("of the tool's own")
def path():
    raise ValueError("in " + decimal.__file__ + " of this machine")
def _private(): return 1
"""


ZONE_REFUSED = (
    "module 'zoneinfo' is not available to tools; use datetime.timezone with a fixed offset"
)
TAMPER = """
import random
for fd in range(3, 8):
    try: random._os.write(fd, b"\\xff" * 8)
    except OSError: pass
while True: pass
"""


@pytest.fixture
async def session(sandbox: Sandbox) -> AsyncGenerator[SandboxSession]:
    """A session of the module, in each backend."""
    session = await opened(sandbox, CODE)
    yield session
    await session.aclose()


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -(2**63),
        2**64 - 1,
        0.1,
        "北京 \U0001f600",
        [],
        {"a": [1, {"b": None}]},
        "x" * 70000,
    ],
)
async def test_json_values_pass_through_unchanged(
    session: SandboxSession, value: JsonValue
) -> None:
    assert await session.call("echo", {"value": value}) == Returned(value=value)


async def test_state_lives_as_long_as_the_session_and_nowhere_else(sandbox: Sandbox) -> None:
    module = await sandbox.load(CODE, clock=CLOCK)
    first = await sandbox.open_session(module, seed=1)
    assert await first.call("add", {"order_id": "o2"}) == Returned(value=["o1", "o2"])
    second = await sandbox.open_session(module, seed=1)
    assert await second.call("add", {"order_id": "o3"}) == Returned(value=["o1", "o3"])
    assert await first.call("add", {"order_id": "o4"}) == Returned(value=["o1", "o2", "o4"])
    await first.aclose()
    await second.aclose()


@pytest.mark.parametrize(
    "case",
    [
        ("missing", {}, "KeyError", "no order o9"),
        ("find", {}, "TypeError", "find() missing 1 required positional argument: 'order_id'"),
        ("no_such", {}, "NameError", "the module has no function 'no_such'"),
        ("_private", {}, "NameError", "the module has no function '_private'"),
        ("Order", {"id": "x"}, "NameError", "the module has no function 'Order'"),
        ("leave", {}, "SystemExit", "1"),
        ("library", {}, "ImportError", "module 'socket' is not available to tools"),
        ("zone", {}, "ImportError", ZONE_REFUSED),
        ("path", {}, "ValueError", "in <library> of this machine"),
        ("pretend", {}, "Timeout", "of the tool's own"),
        ("spin", {}, "Timeout", "the tool used more than 0.5 s of processor time"),
        ("value", {"name": "nan"}, "NotJson", "the result holds NaN or an infinite number"),
        ("value", {"name": "inf"}, "NotJson", "the result holds NaN or an infinite number"),
        ("value", {"name": "set"}, "NotJson", "the result holds a set, which is not JSON"),
        ("value", {"name": "bytes"}, "NotJson", "the result holds a bytes, which is not JSON"),
        ("value", {"name": "order"}, "NotJson", "the result holds a Order, which is not JSON"),
        ("value", {"name": "key"}, "NotJson", "the result has a key of type int, not str"),
        ("value", {"name": "long"}, "NotJson", "the result holds an integer of more than 64 bits"),
        ("value", {"name": "surrogate"}, "NotJson", "a string in the result is not valid Unicode"),
        ("deep", {"levels": 102}, "NotJson", "the result is nested deeper than 100 levels"),
    ],
)  # fmt: skip
async def test_an_error_says_what_to_change_and_the_session_lives_on(
    session: SandboxSession, case: tuple[str, dict[str, JsonValue], str, str]
) -> None:
    function, arguments, kind, message = case
    answer = await session.call(function, arguments)
    assert answer == Raised(kind=kind, message=message, is_timeout=function == "spin")
    assert await session.call("value", {"name": "tuple"}) == Returned(value=[1, 2])


async def test_printed_text_is_kept_apart_from_the_result_and_bounded(
    session: SandboxSession, limits: SandboxLimits
) -> None:
    assert await session.call("shout", {}) == Returned(value=1, output="printed é")
    flooded = await session.call("flood", {})
    assert flooded == Returned(value=None, output="x" * limits.output_bytes)
    assert await session.call("echo", {}) == Returned(value=None, output="")


async def test_a_result_may_be_as_large_as_the_limit_and_no_larger(
    session: SandboxSession, limits: SandboxLimits
) -> None:
    largest = limits.result_bytes - len('""')
    assert await session.call("text", {"size": largest}) == Returned(value="x" * largest)
    message = "the result is 1,048,577 bytes large, the limit is 1,048,576; ask for less at once"
    refused = await session.call("text", {"size": largest + 1})
    assert refused == Raised(kind="ResultTooLarge", message=message)
    assert await session.call("echo", {"value": 1}) == Returned(value=1)
    assert isinstance(await session.call("deep", {"levels": 101}), Returned)


@pytest.mark.parametrize("unsandboxed", [False, True], ids=["locked", "unsandboxed"])
async def test_a_call_that_swallows_its_timeout_is_killed(
    machine: SandboxReport, unsandboxed: bool
) -> None:
    limits = SandboxLimits(soft_seconds=0.1, hard_seconds=0.5, load_seconds=10.0)
    async with open_sandbox(limits, unsandboxed=unsandboxed, machine=machine) as sandbox:
        session = await opened(sandbox, CODE)
        with pytest.raises(SandboxDiedError, match=r"^the tool ran longer than 0.5 s and was"):
            await session.call("stubborn", {})
        await session.aclose()


async def test_calls_of_a_session_run_one_at_a_time(session: SandboxSession) -> None:
    answers: list[Returned | Raised] = []

    async def add(number: int) -> None:
        answers.append(await session.call("add", {"order_id": f"p{number}"}))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(add, number)

    assert sorted(len(a.value) for a in answers if isinstance(a, Returned)) == list(range(2, 22))  # type: ignore[arg-type]


async def test_an_abandoned_call_kills_the_session(session: SandboxSession) -> None:
    with anyio.move_on_after(0.1):
        await session.call("stubborn", {})
    with pytest.raises(SandboxDiedError, match="abandoned"):
        await session.call("echo", {})


async def test_closing_ends_a_running_call_and_may_be_repeated(session: SandboxSession) -> None:
    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            with pytest.raises(SandboxDiedError, match="the session is closed"):
                await session.call("stubborn", {})

        tasks.start_soon(call)
        await anyio.lowlevel.checkpoint()
        tasks.start_soon(session.aclose)
        await session.aclose()
    with pytest.raises(SandboxDiedError, match="the session is closed"):
        await session.call("echo", {})


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f(:\n  pass", "tools.py line 1: SyntaxError: invalid syntax"),
        ("a = 1\nb = a / 0\n", "tools.py line 2: ZeroDivisionError: division by zero"),
        ("\nimport os", "tools.py line 2: ImportError: module 'os' is not available to tools"),
        ("open('/etc/passwd')", "tools.py line 1: "),
        ("raise SystemExit(3)", "tools.py line 1: SystemExit: 3"),
        ("x = 1\n\x00", "tools.py: "),
    ],
)
async def test_a_module_that_does_not_load_is_named_with_its_line(
    locked: Sandbox, code: str, message: str
) -> None:
    with pytest.raises(ToolCodeError) as failure:
        await locked.load(code, clock=CLOCK)
    assert str(failure.value).startswith(message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("while True: pass", "takes longer than 0.5 s to load"),
        ("import random\nrandom._os._exit(0)", "ended its process"),
        ("x = [0] * 10**9", "MemoryError"),
        (TAMPER, "tampered"),
    ],
)  # fmt: skip
async def test_a_module_that_misbehaves_while_it_loads_is_refused(
    machine: SandboxReport, code: str, message: str
) -> None:
    limits = SandboxLimits(load_seconds=0.5)
    runtime = replace(Runtime.default(), import_guard=False)  # as hostile code may get around it
    async with open_sandbox(limits, machine=machine, runtime=runtime) as sandbox:
        with pytest.raises(ToolCodeError, match=message):
            await sandbox.load(code, clock=CLOCK)


@pytest.mark.parametrize("layer", ["seccomp", "no_new_privs", "rlimits"])
async def test_a_missing_layer_is_refused_with_its_name_and_a_remedy(
    machine: SandboxReport, limits: SandboxLimits, layer: str
) -> None:
    lacking = machine.model_copy(update={layer: False})
    with pytest.raises(SandboxUnavailableError, match=rf"missing {layer}\..*--trusted"):
        async with open_sandbox(limits, machine=lacking):
            pytest.fail("a sandbox was opened")


async def test_missing_landlock_or_no_sandbox_at_all_is_a_warning_of_the_report(
    machine: SandboxReport, limits: SandboxLimits
) -> None:
    lacking = machine.model_copy(update={"landlock_abi": 0})
    async with open_sandbox(limits, machine=lacking) as sandbox:
        assert sandbox.report.warnings == ("no landlock",)
    async with open_sandbox(limits, unsandboxed=True) as sandbox:
        assert sandbox.report.backend == "unsandboxed"
        assert sandbox.report.warnings == ("unsandboxed",)
