"""Runs every check of the acceptance, cheap ones first; later ones only where they can tell."""

import contextlib
from collections.abc import AsyncIterator, Sequence

from astra_mcp.environments.acceptance.documents import document_failures, fault_check
from astra_mcp.environments.acceptance.gold import (
    gold_failures,
    repetition_failures,
    stability_failures,
)
from astra_mcp.environments.acceptance.guessing import guessing_failures
from astra_mcp.environments.acceptance.isolation import isolation_failures
from astra_mcp.environments.acceptance.live_parameters import parameter_failures
from astra_mcp.environments.acceptance.perturbation import perturbation_failures
from astra_mcp.environments.acceptance.playing import (
    Conditions,
    LimitsExceededError,
    Player,
    conditions_of,
)
from astra_mcp.environments.acceptance.refusals import schema_refusal_failures, seen_failures
from astra_mcp.environments.acceptance.senseless_arguments import senseless_argument_failures
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck, Verdict
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import BundleFault, ToolCodeError
from astra_mcp.sandbox.protocol import Sandbox

__all__ = ["verdict_of_faults", "verify_bundle"]

_BLOCKING = frozenset({Check.DOCUMENT, Check.SIGNATURE, Check.COMPLETE})


async def verify_bundle(bundle: Bundle, sandbox: Sandbox) -> Verdict:
    """Run the acceptance on a bundle.

    Nothing is executed while the document has faults, and what the tools do with other arguments is
    looked at only where the gold calls answer.

    Raises:
        SandboxError: The sandbox itself failed, so that nothing can be said.
    """
    failures = [*document_failures(bundle)]
    if not _BLOCKING & {f.check for f in failures}:
        failures.extend(isolation_failures(bundle.code))
        failures.extend(schema_refusal_failures(bundle))
        failures.extend(await _executed_failures(bundle, sandbox))
    return Verdict.of(bundle.name, failures)


def verdict_of_faults(name: str, faults: Sequence[BundleFault]) -> Verdict:
    """Refuse a bundle that does not load."""
    return Verdict.of(name, (FailedCheck.of(fault_check(f), f) for f in faults))


async def _executed_failures(bundle: Bundle, sandbox: Sandbox) -> list[FailedCheck]:
    conditions = conditions_of(bundle)
    player = Player(bundle, sandbox, seed=conditions.seed)
    try:
        for one in (player, player.in_other_layout()):
            await one.play(())
    except ToolCodeError as error:
        return [FailedCheck.of(Check.LOAD, f"tools.py does not load: {error}")]
    failures = await gold_failures(player)
    if failures:
        return failures
    with contextlib.suppress(LimitsExceededError):  # what exceeded them is among what was seen
        async for failure in _probing_failures(player, conditions):
            failures.append(failure)
    failures.extend(seen_failures(player))
    return failures


async def _probing_failures(player: Player, conditions: Conditions) -> AsyncIterator[FailedCheck]:
    """Play other calls than the gold ones."""
    for failures in (
        stability_failures(player, conditions),
        perturbation_failures(player),
        parameter_failures(player),
        senseless_argument_failures(player),
        guessing_failures(player),
        repetition_failures(player),
    ):
        async for failure in failures:
            yield failure
