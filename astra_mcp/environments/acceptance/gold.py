"""Do the gold calls return their answers, always the same, and do they score?"""

import ast
import itertools
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.playing import (
    FIRST_SEED,
    LIMIT_KINDS,
    Observation,
    PlannedCall,
    Player,
)
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle, GoldCall
from astra_mcp.reward import score_episode, solved_by
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.types import Origin, canonical_json

__all__ = ["ORACLE_REWARD", "gold_failures", "planned_gold", "stability_failures"]

ORACLE_REWARD = 0.999
_OTHER_SEEDS = tuple(range(FIRST_SEED + 1, FIRST_SEED + 9))
"""Enough that an answer which one seed in two gives is seen through."""
_LATER = timedelta(seconds=97)
"""As much later as the virtual clock stands after some fifty wrong calls and a pause."""
_OUTSIDE_KINDS = frozenset(
    {
        "PermissionError",
        "FileNotFoundError",
        "OSError",
        "ImportError",
        "ModuleNotFoundError",
        "BlockingIOError",
        "ConnectionRefusedError",
    }
)
_PADDING = "_padding = [bytes(n % 480) for n in range(9000)]; del _padding[::3]"
"""Some hundred objects of every size that the interpreter pools, with holes between them."""


def planned_gold(bundle: Bundle) -> tuple[PlannedCall, ...]:
    """The gold calls, in order."""
    return tuple(PlannedCall.of_gold(g) for g in bundle.document.gold)


async def gold_failures(bundle: Bundle, player: Player) -> list[FailedCheck]:
    """Play the gold calls in two fresh sessions: same bytes, right answers, full reward."""
    calls = planned_gold(bundle)
    first, second = await player.play(calls), await player.play(calls)
    failures = [*_differences(calls, first, second, "two fresh sessions")]
    answers = {s.id: s.answer for s in bundle.document.sub_tasks}
    solved: set[int] = set()
    for gold, seen in zip(bundle.document.gold, first, strict=False):
        failures.extend(_call_failures(gold, seen, answers))
        solved |= solved_by(bundle.job, gold.tool, seen.result, Origin.TOOL)
    failures.extend(_gift_failures(bundle, first))
    oracle = score_episode(bundle.job, solved, len(calls))
    if not failures and (oracle is None or oracle.reward < ORACLE_REWARD):
        detail = f"the gold calls score {oracle.reward if oracle else None}, not {ORACLE_REWARD}"
        failures.append(FailedCheck.of(Check.REWARD, detail))
    return failures


def _gift_failures(bundle: Bundle, seen: Sequence[Observation]) -> list[FailedCheck]:
    """A gold call must earn what it declares and no more, and not by repeating what it was told."""
    answers = {s.id: s.answer for s in bundle.document.sub_tasks}
    failures: list[FailedCheck] = []
    for gold, observed in zip(bundle.document.gold, seen, strict=False):
        call = PlannedCall.of_gold(gold)
        extra = solved_by(bundle.job, gold.tool, observed.result, Origin.TOOL) - {*gold.solves}
        failures += [
            FailedCheck.of(
                Check.REWARD,
                f"{call} also contains answer {i}, {answers[i]!r}, which it does not declare in "
                f"solves: {observed}",
            )
            for i in sorted(extra)
        ]
        failures += [
            FailedCheck.of(
                Check.LEAKED_ANSWER,
                f"answer {i}, {answers[i]!r}, stands in the arguments of the call that should "
                f"find it: {call}",
            )
            for i in gold.solves
            if any(contains_answer(text, answers[i]) for text in _texts(gold))
        ]
    return failures


def _texts(gold: GoldCall) -> list[str]:
    """The arguments of a gold call, as texts."""
    return [v if isinstance(v, str) else canonical_json(v).decode() for v in gold.values.values()]


def _call_failures(gold: GoldCall, seen: Observation, answers: dict[int, str]) -> list[FailedCheck]:
    call = PlannedCall.of_gold(gold)
    if seen.is_success and seen.value is None and not seen.output.strip():
        return [FailedCheck.of(Check.RESULT, f"{call} returns nothing; return an object or a text")]
    if seen.error_kind is not None:
        return [FailedCheck.of(_error_check(seen.error_kind), f"{call} answered {seen}")]
    lost = [i for i in gold.solves if not contains_answer(seen.result.text, answers[i])]
    printed = [i for i in lost if contains_answer(seen.output, answers[i])]
    if printed:
        detail = f"{call} prints answer {printed[0]} instead of returning it; it returned {seen}"
        return [FailedCheck.of(Check.RESULT, detail)]
    return [
        FailedCheck.of(
            Check.GOLD_ANSWER, f"{call} does not contain answer {i}, {answers[i]!r}: {seen}"
        )
        for i in lost
    ]


def _error_check(kind: str) -> Check:
    if kind in LIMIT_KINDS:
        return Check.LIMITS
    if kind in _OUTSIDE_KINDS:
        return Check.ISOLATION
    return Check.RESULT if kind == "NotJson" else Check.GOLD_ANSWER


async def stability_failures(
    bundle: Bundle, sandbox: Sandbox, player: Player
) -> AsyncIterator[FailedCheck]:
    """Play the gold calls under other seeds, a later clock and another layout of memory.

    The answers must hold under all; under the last one the results must be the same bytes.
    """
    document, calls = bundle.document, planned_gold(bundle)
    for seed in _OTHER_SEEDS:
        seen = await player.play(calls, seed=seed)
        lost = _lost_answers(bundle, seen, "under another episode seed")
        for failure in lost:
            yield failure
        if lost:
            break
    later = await sandbox.load(
        bundle.code, load_seed=document.load_seed, clock=document.clock + _LATER
    )
    seen = await Player(bundle, sandbox, later).play(calls)
    for failure in _lost_answers(bundle, seen, f"{_LATER.total_seconds():.0f} seconds later"):
        yield failure
    padded = await sandbox.load(
        _padded(bundle.code), load_seed=document.load_seed, clock=document.clock
    )
    moved = await Player(bundle, sandbox, padded).play(calls)
    usual = await player.play(calls, seed=FIRST_SEED)
    for failure in _differences(calls, usual, moved, "two layouts of memory (id, repr, set order)"):
        yield failure


def _padded(code: str) -> str:
    """Allocate memory before the module's own code, behind what must stand first."""
    body = ast.parse(code).body
    lines = code.splitlines(keepends=True)
    leading = itertools.takewhile(_must_lead, body)
    end = max((node.end_lineno or 0 for node in leading), default=0)
    return "".join([*lines[:end], f"{_PADDING}\n", *lines[end:]])


def _must_lead(node: ast.stmt) -> bool:
    is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return is_text or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def _lost_answers(bundle: Bundle, seen: Sequence[Observation], when: str) -> list[FailedCheck]:
    answers = {s.id: s.answer for s in bundle.document.sub_tasks}
    return [
        FailedCheck.of(
            Check.DETERMINISM,
            f"{when}, {PlannedCall.of_gold(gold)} loses answer {i}, {answers[i]!r}: {observed}",
        )
        for gold, observed in zip(bundle.document.gold, seen, strict=False)
        for i in gold.solves
        if not observed.is_success or not contains_answer(observed.result.text, answers[i])
    ]


def _differences(
    calls: Sequence[PlannedCall],
    first: Sequence[Observation],
    second: Sequence[Observation],
    between: str,
) -> list[FailedCheck]:
    for call, one, other in zip(calls, first, second, strict=False):
        if canonical_json(one.result.model_dump()) != canonical_json(other.result.model_dump()):
            detail = f"{call} differs between {between}: {one} and {other}"
            return [FailedCheck.of(Check.DETERMINISM, detail)]
    return []
