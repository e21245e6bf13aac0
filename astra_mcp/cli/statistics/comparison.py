"""The figures written down, ours beside the paper's: the same in terminal, report and docs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from astra_mcp.environments.statistics import PAPER, Distribution, Share, Statistics

__all__ = ["NONE", "Categories", "Figure", "categories_of", "figures_of", "left_out", "mean_of"]

NONE = "\u2013"
"""Where there is no figure."""


class Figure(NamedTuple):
    """A figure, ours and the paper's."""

    name: str
    meaning: str
    ours: str
    paper: str = NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Categories:
    """How many questions are of which kind."""

    what: str
    counts: Mapping[str, int]
    """The most frequent first, and behind them those that the paper alone has."""
    paper: Mapping[str, float]
    """Its shares; empty where it gives none."""


def figures_of(found: Statistics) -> list[Figure]:
    """Write down every figure that is one number."""
    return [
        Figure(
            "questions",
            "main questions; the paper's samples",
            f"{found.questions:,}",
            f"{PAPER.questions:,}",
        ),
        *_hops(found.sub_questions),
        *_shares(found),
        Figure("hop depth, mean", "highest hop level of a question", mean_of(found.hop_depth)),
        Figure("hop depth, range", "the least and the most", _range_of(found.hop_depth)),
        *_tool_calls(found.tool_calls),
        Figure("tools, mean", "tools of an environment", mean_of(found.tools)),
        Figure("tools, range", "the least and the most", _range_of(found.tools)),
    ]


def _hops(found: Distribution | None) -> Iterator[Figure]:
    total = f"{found.total:,}" if found else NONE
    median = f"{found.median:.1f}" if found else NONE
    hops = "sub-questions of a question; the paper's reasoning hops, since 28,794 / 6,596 = 4.37"
    yield Figure(
        "sub-questions",
        "of all questions together",
        total,
        f"{PAPER.total_sub_questions:,}",
    )
    yield Figure("hops, mean", hops, mean_of(found), f"{PAPER.mean_sub_questions:.2f}")
    yield Figure("hops, median", "the one in the middle", median, f"{PAPER.median_sub_questions}")
    least, most = PAPER.range_sub_questions
    yield Figure("hops, range", "the least and the most", _range_of(found), f"{least}\u2013{most}")


def _shares(found: Statistics) -> Iterator[Figure]:
    yield Figure(
        "needing a tool",
        "sub-questions that name a tool, of all",
        _percent(found.with_tool),
        f"{PAPER.with_tool:.1%}",
    )
    steps = f"{PAPER.parallel_steps:.1%}"
    yield Figure(
        "without dependency",
        "steps that wait for no other one, of all; the paper's steps that can be parallelized",
        _percent(found.without_dependency),
        steps,
    )
    yield Figure(
        "sharing a level",
        "steps with another on their hop level (`is_parallel`), of all; the paper's word fits both",
        _percent(found.sharing_level),
        steps,
    )


def _tool_calls(found: Distribution | None) -> Iterator[Figure]:
    least, most = PAPER.common_tool_calls
    within = _percent(found.within(least, most)) if found else NONE
    meaning = "gold calls of a question; one may solve several sub-questions"
    yield Figure("tool calls, mean", meaning, mean_of(found), f"{PAPER.mean_tool_calls:.2f}")
    yield Figure("tool calls, range", "the least and the most", _range_of(found))
    yield Figure(f"{least} to {most} tool calls", "questions with so many, of all", within, "most")


def categories_of(found: Statistics) -> list[Categories]:
    """Sort the questions by what they are; by family only where an environment names one."""
    kinds: tuple[tuple[str, dict[str, int], dict[str, float]], ...] = (
        ("domain", found.domains, PAPER.domains),
        ("scenario type", found.scenario_types, PAPER.scenario_types),
        ("language", found.languages, PAPER.languages),
        ("family", found.families, {}),
    )
    return [
        Categories(what=what, counts={**counts, **_missing(paper, counts)}, paper=paper)
        for what, counts, paper in kinds
        if counts
    ]


def _missing(paper: Mapping[str, float], counts: Mapping[str, int]) -> dict[str, int]:
    return {name: 0 for name in paper if name not in counts}


def left_out(found: Statistics) -> str:
    """Say how many questions some figures are not of; empty where they are of all."""
    lacking = {
        "hop levels": found.without_dag,
        "scenario type": found.without_scenario_type,
        "gold calls": found.without_gold,
    }
    said = ", ".join(f"{num:,} without {what}" for what, num in lacking.items() if num)
    return f"Left out of the figures that need them: questions {said}." if said else ""


def mean_of(found: Distribution | None) -> str:
    """Write a mean down."""
    return f"{found.mean:.2f}" if found else NONE


def _range_of(found: Distribution | None) -> str:
    return "\u2013".join(map(str, found.range)) if found else NONE


def _percent(share: Share) -> str:
    return NONE if share.value is None else f"{share.value:.1%}"
