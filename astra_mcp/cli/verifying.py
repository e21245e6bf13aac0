"""``astra-mcp environments verify``: the acceptance and the judge on bundles, and how what they say looks."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from astra_mcp.cli.usage import print_usage
from astra_mcp.compose.bundles import find_bundles, open_bundle_sandbox
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.compose.verdicts import StoredJudgements, StoredVerdicts
from astra_mcp.concurrency import map_concurrently
from astra_mcp.environments.acceptance import Verdict, verdict_of_faults, verify_bundle
from astra_mcp.environments.acceptance.remembered import acceptance_version, verify_or_remember
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.judging.judgement import Answer, Judgement, judged
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleError
from astra_mcp.llm.usage import Usage, metered
from astra_mcp.report.console import out, say
from astra_mcp.report.shown import cut, styled
from astra_mcp.sandbox import Sandbox
from astra_mcp.types import JsonObject
from servers.bundled import bundled_folder

if TYPE_CHECKING:  # loaded where a model is asked alone
    from astra_mcp.compose.models import BundleJudge

__all__ = ["Verified", "print_failed_votes", "print_verified", "verify_bundles"]

_CONCURRENT_BUNDLES = 4
"""Bundles verified at once: their calls wait for one another more than for the processor."""
_WORDS = {True: ("sound", "green"), False: ("unsound", "bold red"), None: ("undecided", "yellow")}
_MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class _Row:
    """What is said of one bundle."""

    verdict: Verdict
    judgements: tuple[Judgement, ...] = ()
    """Empty where it was not judged."""
    is_remembered: bool = False
    """Whether the verdict was found before."""

    def as_json(self) -> JsonObject:
        """Render without what a judge says."""
        return {**self.verdict.as_json(), "remembered": self.is_remembered}


@dataclass(frozen=True, slots=True)
class Verified:
    """What the acceptance says of bundles, and the judge where one was asked."""

    rows: Sequence[_Row]
    usage: Usage | None
    """Of the judge; None where none was asked."""

    def as_json(self) -> JsonObject:
        """Render for ``--json``."""
        if self.usage is None:
            return {"environments": [row.as_json() for row in self.rows]}
        return {"environments": [_judged_row(row) for row in self.rows], **self.usage.as_json()}


def _judged_row(row: _Row) -> JsonObject:
    return {
        **row.as_json(),
        "judged": judged(row.judgements),
        "judgements": [judgement.as_json() for judgement in row.judgements],
    }


async def verify_bundles(
    paths: Sequence[Path], trusted: bool, num_votes: int | None, again: bool
) -> Verified:
    """Verify bundles, and have those that are verified judged.

    Args:
        paths: Bundles, folders of them, or names of bundled ones.
        trusted: Run foreign tool code even where nothing isolates it.
        num_votes: How often a judge is asked each question; None asks none.
        again: Run the acceptance also where its verdict is remembered.

    Raises:
        ConfigError: A path holds no bundle, or no judge is configured.
        SandboxError: The sandbox failed.
    """
    named = [_bundled(path) for path in paths]
    folders = list(dict.fromkeys(f.resolve() for path in named for f in find_bundles(path)))
    settings = load_settings()
    with metered() as meter:
        async with _open_judge(settings, num_votes) as judge:
            rows = await _examine(settings, folders, trusted, judge, again=again)
    return Verified(rows, meter.usage if judge is not None else None)


def _open_judge(
    settings: Settings, num_votes: int | None
) -> AbstractAsyncContextManager["BundleJudge | None"]:
    if num_votes is None:
        return nullcontext()
    from astra_mcp.compose.models import open_bundle_judge  # noqa: PLC0415 - a second to load

    return open_bundle_judge(settings, num_votes)


async def _examine(
    settings: Settings,
    folders: Sequence[Path],
    trusted: bool,
    judge: "BundleJudge | None",
    *,
    again: bool,
) -> list[_Row]:
    bundles = (b for b in map(_load, folders) if isinstance(b, Bundle))  # where nothing isolates
    with say.bars(transient=True) as progress:
        task = progress.add_task("verifying", total=len(folders))
        async with open_bundle_sandbox(settings, bundles, trusted=trusted) as sandbox:
            version = acceptance_version(settings.sandbox, sandbox.report.backend)
            store = StoredVerdicts(settings.home, version)

            async def examine(folder: Path) -> _Row:
                item = _load(folder)
                if isinstance(item, Verdict):
                    progress.advance(task)
                    return _Row(item)
                further = len(item.document.questions)
                progress.update(task, total=(progress.tasks[task].total or 0) + further)
                waiting = 1 + further

                def hear() -> None:
                    nonlocal waiting
                    waiting -= 1
                    progress.advance(task)

                verify = partial(verify_bundle, sandbox=sandbox, hear=hear)
                found, known = await verify_or_remember(item, verify, store, again=again)
                judgements = await _judge_all(item, found, sandbox, judge)
                if judgements:
                    StoredJudgements(settings.home).keep(item, judgements)
                row = _Row(found, judgements, known)
                progress.advance(task, waiting)  # the main question, and what was not examined
                return row

            return await map_concurrently(examine, folders, limit=_CONCURRENT_BUNDLES)


async def _judge_all(
    bundle: Bundle, verdict: Verdict, sandbox: Sandbox, judge: "BundleJudge | None"
) -> tuple[Judgement, ...]:
    """Have each question of a verified bundle judged."""
    if judge is None or not verdict.verified:
        return ()
    each = [await judge(asked, sandbox) for asked in bundle.asked]
    return tuple(chain.from_iterable(each))


def _bundled(path: Path) -> Path:
    """Take a bare name that is no folder here for that of a bundled environment."""
    named = bundled_folder() / path
    is_name = path.name == str(path) and not path.exists()
    return named if is_name and named.is_dir() else path


def _load(folder: Path) -> Bundle | Verdict:
    try:
        return load_bundle(folder)
    except BundleError as error:
        return verdict_of_faults(folder.name, error.faults)


def print_verified(done: Verified) -> None:
    """Show every bundle with what speaks against it, and how many are verified and judged sound."""
    for row in done.rows:
        word = ("verified", "green") if row.verdict.verified else ("refused", "bold red")
        remembered = "  (remembered)" if row.is_remembered else ""
        out.print(styled(word, "  ", row.verdict.name, remembered))
        for failed in row.verdict.failed_checks:
            out.print(f"    {failed}")
        if done.usage is not None:
            _print_judgements(row.judgements)
    num_verified = sum(row.verdict.verified for row in done.rows)
    out.print(f"{num_verified} of {len(done.rows)} verified")
    if done.usage is not None:
        asked = [row.judgements for row in done.rows if row.judgements]
        num = Counter(judged(judgements) for judgements in asked)
        words = ", ".join(f"{num[verdict]} {word}" for verdict, (word, _) in _WORDS.items())
        out.print(f"{len(asked)} judged: {words}")
        print_usage(done.usage)


def _print_judgements(judgements: Sequence[Judgement]) -> None:
    if not judgements:
        out.print("    not judged: only what is verified is")
        return
    out.print(styled("    judged ", _WORDS[judged(judgements)]))
    for each in judgements:
        num_failed = sum(vote.answer is None for vote in each.votes)
        counts = each.counts | ({"failed": num_failed} if num_failed else {})
        votes = ", ".join(f"{num} {answer}" for answer, num in counts.items())
        reason = _reason(each)
        behind = f": {cut(reason, _MAX_REASON)}" if reason else ""
        of = "" if each.question_id is None else f"question {each.question_id}: "
        out.print(f"      {of}{each.question.value}: {each.answer.value} ({votes}){behind}")


def _reason(judgement: Judgement) -> str:
    """The first reason against it, else the first one that keeps it open; none where it is decided for."""
    if judgement.verdict:
        return ""
    against = [v.reason for v in judgement.votes if v.answer is Answer.NO]
    undecided = [v.reason for v in judgement.votes if v.answer is not Answer.YES]
    return next(iter([*against, *undecided]), "")


def print_failed_votes(done: Verified) -> None:
    """Say on standard error how many votes the model failed to give, and why the first one failed."""
    votes = [vote for row in done.rows for each in row.judgements for vote in each.votes]
    failures = [vote.reason for vote in votes if vote.answer is None]
    if failures:
        say.print(f"{len(failures)} of {len(votes)} votes failed: {failures[0]}", style="yellow")
