"""Verdicts that were found before: a bundle whose content and acceptance are the same is not played again.

The version of the acceptance is a hash over the source of all that decides, over the versions of Python and
of what reads schemas, and over the sandbox: where one of them changes, nothing is remembered.
"""

import sys
from collections.abc import Awaitable, Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

from astra_mcp.environments.acceptance.verdict import Check, Verdict
from astra_mcp.environments.bundle import Bundle
from astra_mcp.sandbox.protocol import SandboxLimits

__all__ = ["DECIDING", "VerdictStore", "acceptance_version", "verify_or_remember"]

DECIDING = (
    *("answers", "environments", "sandbox", "text", "values"),
    *(
        "errors.py",
        "domains.py",
        "reward.py",
        "schemas.py",
        "seeds.py",
        "sent_answers.py",
    ),
    *("concurrency.py", "types.py"),
)
"""What of this package decides on a verdict: folders and modules."""
_LIBRARIES = ("jsonschema-rs", "pydantic")
_OF_THE_MACHINE = frozenset({Check.LIMITS, Check.BUDGET})
"""Another time, or on another machine, these may come out otherwise."""


class VerdictStore(Protocol):
    """Keeps verdicts of one version of the acceptance."""

    def find(self, content_hash: str) -> Verdict | None:
        """What was kept of a bundle; None where nothing was."""
        ...

    def keep(self, content_hash: str, verdict: Verdict) -> None:
        """Keep a verdict, in place of an earlier one."""
        ...


async def verify_or_remember(
    bundle: Bundle,
    verify: Callable[[Bundle], Awaitable[Verdict]],
    store: VerdictStore,
    *,
    again: bool = False,
) -> tuple[Verdict, bool]:
    """Run the acceptance on a bundle, unless its verdict is known.

    Args:
        bundle: Loaded.
        verify: Runs it.
        store: Remembers; a refusal that may be the machine's doing is not given to it.
        again: Run it in any case.

    Returns:
        The verdict, and whether it was remembered.

    Raises:
        SandboxError: The sandbox itself failed, so that nothing can be said.
    """
    content_hash = bundle.content_hash
    known = None if again else store.find(content_hash)
    if known is not None:
        return known, True
    verdict = await verify(bundle)
    if _OF_THE_MACHINE.isdisjoint(failed.check for failed in verdict.failed_checks):
        store.keep(content_hash, verdict)
    return verdict, False


def acceptance_version(limits: SandboxLimits, backend: str) -> str:
    """Name the acceptance as it is, in 64 hex digits, in some kind of sandbox with some limits."""
    libraries = map(version, _LIBRARIES)
    parts = (_source_hash(), sys.version, *libraries, backend, limits.model_dump_json())
    return sha256("\0".join(parts).encode()).hexdigest()


@cache
def _source_hash() -> str:
    total = sha256()
    for file in _sources():
        total.update(sha256(file.read_bytes()).digest())
    return total.hexdigest()


def _sources() -> Iterator[Path]:
    package = Path(__file__).parents[2]
    for name in DECIDING:
        place = package / name
        yield from (place,) if place.is_file() else sorted(place.rglob("*.py"))
