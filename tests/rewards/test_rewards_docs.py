"""docs/rewards.md says what is so: its tables name every option and field, its figures are the code's."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from astra_mcp.cli.main import load_command
from astra_mcp.cli.score.options import MAX_PROMPT_BYTES, JudgeRole
from training.rewards.calibration import MIN_AGREEMENT, MIN_KAPPA, load_calibration
from training.rewards.floors import MIN_TOTAL, NO_ANSWER, NO_SCORE, UNSCORED
from training.rewards.score import (
    SCORES_VERSION,
    Assessment,
    Dimension,
    DimensionScore,
    Languages,
    Method,
    RuleChecks,
    Score,
    State,
)

PAGE = (Path(__file__).parents[2] / "docs" / "rewards.md").read_text(encoding="utf-8")


def first_cells() -> set[str]:
    """What the tables of the page are about."""
    rows = re.findall(r"^\| (.*?) \|", PAGE, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_the_page_names_every_option_of_the_command() -> None:
    options = {name for p in load_command("score").params for name in p.opts if name[0] == "-"}
    section = PAGE[: PAGE.index("## The seven dimensions")]
    documented = set(re.findall(r"`(--[\w-]+)`", "".join(re.findall(r"^\| .*?\|", section, re.M))))
    assert options - {"--help"} == documented


@pytest.mark.parametrize(
    "model", [Score, DimensionScore, Assessment, Method, RuleChecks, Languages]
)
def test_the_page_names_every_field(model: type[BaseModel]) -> None:
    assert {name for name in model.model_fields if f"`{name}`" not in PAGE} == set()


def test_the_page_names_every_dimension_state_role_and_floor() -> None:
    assert {*Dimension} <= first_cells()
    assert [each for each in (*State, *JudgeRole) if f"`{each}`" not in PAGE] == []
    assert {NO_SCORE, UNSCORED, NO_ANSWER, "--min-total", "--min-calls"} <= first_cells()


def test_the_figures_of_the_page_are_those_of_the_code() -> None:
    labels = [[*by.values()] for row in load_calibration() for by in row.labels.values()]
    by_dimension = {
        d: sum(len(row.labels.get(d, {})) for row in load_calibration()) for d in Dimension
    }
    counts = [num for num in by_dimension.values() if num]
    for words in (
        f"| `--min-total` | {MIN_TOTAL:g} |",
        f"| `schema_version` | {SCORES_VERSION} |",
        f"{MAX_PROMPT_BYTES:,} by default",
        f"about {len(load_calibration())} short trajectories",
        f"{sum(map(len, labels))} grades given by hand",
        f"fewer than {MIN_AGREEMENT:g} are equal, or where kappa is below {MIN_KAPPA:g}",
        f"Between {min(counts)} and {max(counts)} grades",
    ):
        assert words in " ".join(PAGE.split()), words
