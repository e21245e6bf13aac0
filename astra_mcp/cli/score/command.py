"""``astra-mcp score``: which trajectories, by which judge, into which file."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer

from astra_mcp.cli.score import options as written
from astra_mcp.cli.score.calibrating import calibrate_judge
from astra_mcp.cli.score.tables import print_scores
from astra_mcp.cli.usage import print_usage
from astra_mcp.compose.settings import Settings, load_settings
from astra_mcp.errors import ConfigError
from astra_mcp.home import user_path
from astra_mcp.llm.config import Role
from astra_mcp.llm.usage import Budget, Usage, metered
from astra_mcp.report.console import ExitCode, out, print_json, report_errors, run_async, say
from astra_mcp.trajectory import read_trajectories
from training.rewards.judging import prompts_version
from training.rewards.running import Plan, plan_scoring, run_scoring
from training.rewards.score import Method, State, digest_of
from training.rewards.score_files import ScoreWriter, read_scores
from training.rewards.statistics import Figures, ScoreSummary

__all__ = ["score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a person asks for, once it is understood."""

    settings: Settings
    role: Role
    method: Method
    plan: Plan
    out: Path
    budget: Budget
    concurrency: int


def score(  # noqa: PLR0913 - one parameter for each option
    files: written.Files = None,
    *,
    file: written.Out = None,
    judge: written.Judge = written.JudgeRole.JUDGE,
    repeat: written.Repeat = 1,
    concurrency: written.Concurrency = 8,
    max_calls: written.MaxCalls = None,
    max_tokens: written.MaxTokens = None,
    max_cost: written.MaxCost = None,
    max_prompt_bytes: written.MaxPromptBytes = written.MAX_PROMPT_BYTES,
    rule_total: written.RuleTotal = False,
    calibrate: written.Calibrate = False,
    report: written.Report = None,
    as_json: written.AsJson = False,
) -> None:
    """Score trajectories in seven dimensions, by a judge and by their record.

    A run that was stopped goes on where it was when it is started again: what is
    scored is not scored again, and what the judge failed on is tried again.
    """
    budget = Budget(max_calls, max_cost, max_tokens)
    role = Role(judge.value)
    if calibrate:
        _refuse_with_calibrate(files, file, report, repeat=repeat, rule_total=rule_total)
        with report_errors():
            settings = load_settings()
        calibrate_judge(
            settings,
            role,
            budget,
            max_bytes=max_prompt_bytes,
            concurrency=concurrency,
            as_json=as_json,
        )
        return
    if not files or file is None:
        missing = "--out" if files else "FILE"
        raise typer.BadParameter("needed, unless --calibrate is there", param_hint=missing)
    with report_errors():
        if report is not None:
            from astra_mcp.report.html.writing import require_writable  # noqa: PLC0415

            require_writable(user_path(report))
        settings = load_settings()
        config = settings.models.of_role(role)
        asked = _Asked(
            settings=settings,
            role=role,
            method=Method(
                judge=f"{config.model} {config.revision}".strip(),
                prompts=prompts_version(),
                repeat=repeat,
                max_prompt_bytes=max_prompt_bytes,
                rule_total=rule_total,
            ),
            plan=plan_scoring([*map(user_path, files)]),
            out=user_path(file),
            budget=budget,
            concurrency=concurrency,
        )
        _check_out(asked)
    _score(asked, file, report, as_json=as_json)


def _refuse_with_calibrate(
    files: list[Path] | None,
    file: Path | None,
    report: Path | None,
    *,
    repeat: int,
    rule_total: bool,
) -> None:
    given = {
        "FILE": bool(files),
        "--out": file is not None,
        "--html": report is not None,
        "--repeat": repeat != 1,
        "--rule-total": rule_total,
    }
    for name, is_given in given.items():
        if is_given:
            raise typer.BadParameter("--calibrate scores no files", param_hint=name)


def _check_out(asked: _Asked) -> None:
    if asked.out.resolve() in {each.resolve() for each in asked.plan.files}:
        raise ConfigError(f"{asked.out} is a file of trajectories: name another one with --out")


def _score(asked: _Asked, file: Path, report: Path | None, *, as_json: bool) -> None:
    """Run to the end or as far as it comes, and tell what there is then."""
    kept: list[int] = []
    ending = ExitCode.DONE
    with metered() as meter:
        try:
            run_async(_run, asked, kept)
        except typer.Exit as error:
            ending = ExitCode(error.exit_code)
            if not kept:  # it did not even begin
                raise
    with report_errors():
        summary = _tell(asked, file, kept[0], meter.usage, as_json=as_json)
        if report is not None:
            _write_report(asked, user_path(report))
    unsettled = summary.states[State.UNSCORED]
    if ending is ExitCode.DONE and unsettled:
        ending = ExitCode.FAILED
    if ending is not ExitCode.DONE:
        raise typer.Exit(ending)


async def _run(asked: _Asked, kept: list[int]) -> None:
    from astra_mcp.compose.models import open_role  # noqa: PLC0415 - a second to load

    async with open_role(asked.settings, asked.role, asked.budget) as judge:
        with ScoreWriter(asked.out, asked.method) as writer:
            known = [digest for digest in asked.plan.order if digest in writer.settled]
            kept.append(len(known))
            with say.bars(transient=True) as progress:
                task = progress.add_task("scoring", total=len(asked.plan.order) - len(known))
                await run_scoring(
                    asked.plan,
                    writer,
                    judge,
                    asked.method,
                    concurrency=asked.concurrency,
                    hear=partial(progress.advance, task),
                )


def _tell(asked: _Asked, file: Path, kept: int, usage: Usage, *, as_json: bool) -> ScoreSummary:
    found = read_scores(asked.out)
    scores = [found[digest] for digest in asked.plan.order if digest in found]
    summary = ScoreSummary.of(scores)
    left = len(asked.plan.order) - len(scores)
    if as_json:
        figures = Figures()
        for path in asked.plan.files:
            for trajectory in read_trajectories(path):
                figures.add(trajectory)
        print_json(
            {
                "read": asked.plan.num_read,
                "repeated": asked.plan.num_repeated,
                "kept": kept,
                "left": left,
                **summary.as_json(),
                "judge": asked.method.judge,
                "repeat": asked.method.repeat,
                "trajectories": figures.as_json(),
                "file": str(file),
                **usage.as_json(),
            }
        )
        return summary
    print_scores(summary, asked.plan, kept=kept, left=left, repeat=asked.method.repeat)
    print_usage(usage)
    out.print(f"scores: {file}")
    return summary


def _write_report(asked: _Asked, file: Path) -> None:
    from astra_mcp.cli.score.page import report_of  # noqa: PLC0415 - for this alone
    from astra_mcp.report.html.writing import write_report  # noqa: PLC0415

    scores = read_scores(asked.out)
    rows = (
        (trajectory, scores.get(digest_of(trajectory)))
        for path in asked.plan.files
        for trajectory in read_trajectories(path)
    )
    write_report(report_of(rows, asked.method), file)
