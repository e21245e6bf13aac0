"""Do the gold calls return their answers, always the same, and do they score?"""

import ast
import itertools
from collections.abc import AsyncIterator, Iterator, Sequence

from astra_mcp.answers import contains_answer
from astra_mcp.environments.acceptance.playing import (
    LIMIT_KINDS,
    REFUSED,
    Conditions,
    Observation,
    PlannedCall,
    Play,
    Player,
)
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck
from astra_mcp.environments.bundle import Bundle, GoldCall
from astra_mcp.reward import score_episode, solved_by
from astra_mcp.sandbox.protocol import Sandbox
from astra_mcp.types import Origin, canonical_json

__all__ = [
    "gold_failures",
    "planned_gold",
    "repetition_failures",
    "stability_failures",
]

_ORACLE_REWARD = 0.999
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
_MAX_REPEATED = 16
_PADDING = (
    "_padding = [bytes(n % 480) if n % 2 else object() for n in range(18000)]; del _padding[::5]"
)
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
    if not failures and (oracle is None or oracle.reward < _ORACLE_REWARD):
        detail = f"the gold calls score {oracle.reward if oracle else None}, not {_ORACLE_REWARD}"
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
    bundle: Bundle, sandbox: Sandbox, player: Player, conditions: Conditions
) -> AsyncIterator[FailedCheck]:
    """Play the gold calls under other seeds and a later clock: the answers must hold under all."""
    document, calls = bundle.document, planned_gold(bundle)
    for seed in conditions.other_seeds:
        seen = await player.play(calls, seed=seed)
        lost = _lost_answers(bundle, seen, "under another episode seed")
        for failure in lost:
            yield failure
        if lost:
            break
    later = await sandbox.load(
        bundle.code, load_seed=document.load_seed, clock=document.clock + conditions.later
    )
    seen = await Player(bundle, sandbox, later, seed=conditions.seed).play(calls)
    when = f"{conditions.later.total_seconds():.0f} seconds later"
    for failure in _lost_answers(bundle, seen, when):
        yield failure


async def repetition_failures(
    bundle: Bundle, sandbox: Sandbox, player: Player, conditions: Conditions
) -> AsyncIterator[FailedCheck]:
    """Repeat gold calls and a sample of all others under another layout of memory: equal bytes."""
    document, calls = bundle.document, planned_gold(bundle)
    padded = await sandbox.load(
        _padded(bundle.code), load_seed=document.load_seed, clock=document.clock
    )
    other = Player(bundle, sandbox, padded, seed=conditions.seed)
    between = "two layouts of memory (id, repr, set order)"
    for failure in _differences(calls, await player.play(calls), await other.play(calls), between):
        yield failure
    for play in _sample(player.plays()):
        seen = await other.observe(play.call, play.after)
        for failure in _differences([play.call], [play.seen], [seen], "two fresh sessions"):
            yield failure


def _sample(plays: Sequence[Play]) -> Iterator[Play]:
    """Up to 16 plays of each tool, spread over all of them; what exceeded a limit is not repeated."""
    by_tool: dict[str, list[Play]] = {}
    for play in plays:
        if play.seen.error_kind not in (*LIMIT_KINDS, REFUSED):
            by_tool.setdefault(play.call.tool, []).append(play)
    for rows in by_tool.values():
        yield from rows[:: -(-len(rows) // _MAX_REPEATED)]


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
