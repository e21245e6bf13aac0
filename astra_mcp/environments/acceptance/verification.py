"""Runs every check of the acceptance, cheap ones first; later ones only where they can tell.

Each question of a bundle is examined by itself, with a budget of its own. What depends on the tools alone is
looked at once.
"""

from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from dataclasses import replace

from astra_mcp.environments.acceptance.documents import (
    document_failures,
    fault_check,
    question_failures,
)
from astra_mcp.environments.acceptance.gold import (
    gold_failures,
    repetition_failures,
    stability_failures,
)
from astra_mcp.environments.acceptance.grounding import grounding_failures
from astra_mcp.environments.acceptance.identifying.likeness import likeness_failures
from astra_mcp.environments.acceptance.identifying.parts import part_failures
from astra_mcp.environments.acceptance.identifying.perturbation import perturbation_failures
from astra_mcp.environments.acceptance.identifying.walks import walk_failures
from astra_mcp.environments.acceptance.isolation import isolation_failures
from astra_mcp.environments.acceptance.live_parameters import parameter_failures
from astra_mcp.environments.acceptance.omission import guessing_failures, omission_failures
from astra_mcp.environments.acceptance.open_tables import open_table_failures
from astra_mcp.environments.acceptance.playing import (
    MAX_CALLS,
    MAX_SECONDS,
    BudgetError,
    Conditions,
    LimitsExceededError,
    Player,
    conditions_of,
)
from astra_mcp.environments.acceptance.refusals import (
    schema_refusal_failures,
    seen_failures,
    slow_call_failures,
)
from astra_mcp.environments.acceptance.senseless_arguments import senseless_argument_failures
from astra_mcp.environments.acceptance.sessions import session_failures
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck, Spent, Verdict
from astra_mcp.environments.bundle import Bundle
from astra_mcp.errors import BundleFault, ToolCodeError
from astra_mcp.sandbox.protocol import Sandbox

__all__ = ["verdict_of_faults", "verify_bundle"]

_BLOCKING = frozenset({Check.DOCUMENT, Check.SIGNATURE, Check.COMPLETE})


async def verify_bundle(
    bundle: Bundle, sandbox: Sandbox, *, hear: Callable[[], None] = lambda: None
) -> Verdict:
    """Run the acceptance on a bundle; ``hear`` is told of each further question that was examined.

    Nothing is executed while the document has faults, and what the tools do with other arguments is
    looked at only where the gold calls answer.

    Raises:
        SandboxError: The sandbox itself failed, so that nothing can be said.
    """
    failures, spent = [*document_failures(bundle)], None
    for asked in bundle.asked:
        failures.extend(_about(asked, question_failures(asked)))
    if not _BLOCKING & {f.check for f in failures}:
        failures.extend(isolation_failures(bundle.code))
        failures.extend(schema_refusal_failures(bundle))
        executed, spent = await _executed(bundle, sandbox, hear)
        failures.extend(executed)
    return Verdict.of(bundle.name, failures, spent)


def verdict_of_faults(name: str, faults: Sequence[BundleFault]) -> Verdict:
    """Refuse a bundle that does not load."""
    return Verdict.of(name, (FailedCheck.of(fault_check(f), f) for f in faults))


def _about(asked: Bundle, failures: Iterable[FailedCheck]) -> list[FailedCheck]:
    """Say which question failures speak of."""
    return [replace(failure, question=asked.question_id) for failure in failures]


async def _executed(
    bundle: Bundle, sandbox: Sandbox, hear: Callable[[], None]
) -> tuple[list[FailedCheck], Spent | None]:
    conditions = conditions_of(bundle)
    player = Player(bundle, sandbox, seed=conditions.seed)
    try:
        for one in (player, player.in_other_layout()):
            await one.play(())
    except ToolCodeError as error:
        return [FailedCheck.of(Check.LOAD, f"tools.py does not load: {error}")], None
    failures, spent = await _examined(player, conditions, None)
    doubted = {f.subject for f in failures if f.check is Check.LIVE_PARAMETER}
    for asked in bundle.asked[1:]:
        other = Player(asked, sandbox, seed=conditions.seed)
        found, more = await _examined(other, conditions, doubted)
        failures.extend(_about(asked, found))
        spent += more
        hear()
    is_live = (f.check is Check.LIVE_PARAMETER and f.subject not in doubted for f in failures)
    return [f for f, live in zip(failures, is_live, strict=True) if not live], spent


async def _examined(
    player: Player, conditions: Conditions, doubted: set[str] | None
) -> tuple[list[FailedCheck], Spent]:
    """Play the gold calls of one question, and other calls where they answer."""
    failures: list[FailedCheck] = []
    try:
        failures.extend(await gold_failures(player))
        if not failures:
            async for failure in _probing_failures(player, conditions, doubted):
                failures.append(failure)  # noqa: PERF401 - kept where the budget ends amid them
            failures.extend(seen_failures(player))
    except LimitsExceededError:
        failures.extend(seen_failures(player))  # what exceeded them is among what was seen
    except BudgetError as error:
        detail = f"{error}; make tools faster, or fewer of their parameters optional"
        failures.extend((FailedCheck.of(Check.BUDGET, detail), *seen_failures(player)))
    spent = Spent(
        player.num_calls, MAX_CALLS, round(player.seconds, 2), MAX_SECONDS, tuple(player.left_out)
    )
    return failures, spent


async def _probing_failures(
    player: Player, conditions: Conditions, doubted: set[str] | None
) -> AsyncIterator[FailedCheck]:
    """Play other calls than the gold ones."""
    for failures in (
        stability_failures(player, conditions),
        grounding_failures(player),
        omission_failures(player),
        perturbation_failures(player),
        part_failures(player),
        open_table_failures(player),
        parameter_failures(player, doubted),
        senseless_argument_failures(player),
        walk_failures(player),
        guessing_failures(player),
        likeness_failures(player),
        session_failures(player),
        repetition_failures(player),
        slow_call_failures(player),
    ):
        async for failure in failures:
            yield failure
