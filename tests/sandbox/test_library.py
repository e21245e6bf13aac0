"""Every module that tools may import works behind the lock, also what it imports only when needed."""

from astra_mcp.sandbox import Returned, SandboxLimits, SandboxReport, open_sandbox
from astra_mcp.sandbox.locked import LockedSandbox
from astra_mcp.sandbox.runtime import Runtime
from astra_mcp.sandbox.zygote.imports import ALLOWED

from sandboxes import opened

IMPORTS = "\n".join(f"import {name}" for name in sorted(ALLOWED - {"__future__"}))

CODE = f"""from __future__ import annotations
{IMPORTS}
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime as DT
from urllib.parse import quote

class Kind(enum.StrEnum):
    A = "a"

@dataclass
class Row:
    name: str
    tags: list[str] = field(default_factory=list)

class Record(typing.NamedTuple):
    x: int

def work():
    warnings.warn("careful")
    logging.getLogger("tool").warning("logged")
    try:
        1 / 0
    except ZeroDivisionError:
        trace = traceback.format_exc()
    return [
        DT.strptime("5 Jan 2026", "%d %b %Y").isoformat(),
        "bücher.example".encode("idna").decode(),
        "北京".encode("gb18030").hex(), "台北".encode("big5").hex(), "é".encode("utf-16").hex(),
        str(decimal.Decimal(1) / 3), str(fractions.Fraction(1, 3)), statistics.median([1, 2, 4]),
        f"{{1234567.891:,.2f}}", f"{{0.1:e}}", unicodedata.normalize("NFKC", "ﬁ"),
        list(csv.reader(["a,b"])), json.loads('[1, {{"a": null}}]'), quote("a b"),
        hashlib.sha256(b"x").hexdigest()[:8], hashlib.md5(b"x").hexdigest()[:8],
        base64.b64encode(b"x").decode(), zlib.crc32(b"x"), textwrap.fill("a b", 1),
        re.sub("(?i)B", "c", "ab"), Kind.A, dataclasses.asdict(Row("n")), Record(1)._asdict(),
        str(ipaddress.ip_address("10.0.0.1")), html.escape("<"), calendar.month(2026, 1)[:10].strip(),
        difflib.get_close_matches("appel", ["apple"]), string.Template("$x").substitute(x=1),
        heapq.nsmallest(1, [3, 1]), pprint.pformat({{"a": 1}}), inspect.signature(work).return_annotation is inspect.Signature.empty,
        isinstance({{}}, Mapping), list(graphlib.TopologicalSorter({{1: {{0}}}}).static_order()),
        ast.literal_eval("[1]"), "ZeroDivisionError" in trace, copy.deepcopy(Row("n", ["t"])).tags,
        locale.format_string("%d", 3), shlex.split("a 'b c'"), sorted(["b", "a"], key=str.casefold),
    ]
"""  # noqa: E501 - tool code

FOREIGN = """
import sys
def foreign():
    return sorted(m for m in sys.modules if m.split(".")[0] in {"pydantic", "anyio", "orjson", "mcp"})
"""


async def test_the_library_works_behind_the_lock_as_it_does_outside(
    locked: LockedSandbox, machine: SandboxReport
) -> None:
    session = await opened(locked, CODE)
    behind = await session.call("work", {})
    await session.aclose()
    async with open_sandbox(SandboxLimits(), unsandboxed=True, machine=machine) as plain:
        session = await opened(plain, CODE)
        outside = await session.call("work", {})
        await session.aclose()
    assert isinstance(behind, Returned), behind
    assert behind == outside


async def test_a_locked_process_holds_no_third_party_code(machine: SandboxReport) -> None:
    default = Runtime.default()
    unguarded = Runtime(python=default.python, launcher=default.launcher, import_guard=False)
    async with open_sandbox(SandboxLimits(), machine=machine, runtime=unguarded) as sandbox:
        session = await opened(sandbox, FOREIGN)
        assert await session.call("foreign", {}) == Returned(value=[])
