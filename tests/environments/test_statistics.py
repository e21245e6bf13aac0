"""What environments hold together: every figure from what documents say, and from nothing else."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.environments.bundle import EnvironmentDocument, FurtherQuestion, Question
from astra_mcp.environments.loading import load_bundle
from astra_mcp.environments.statistics import Distribution, Share, counts_of, summarise

from workshop import Workshop


@pytest.fixture
def document(tmp_path: Path) -> EnvironmentDocument:
    """A question of two sub-questions, one behind the other."""
    return load_bundle(Workshop(tmp_path).path).document


def with_steps(
    document: EnvironmentDocument, scenario_type: str, steps: Sequence[dict[str, Any]]
) -> EnvironmentDocument:
    """The document with other sub-tasks and one gold call."""
    subs = [{"id": i, "answer": "a", "tool": "find_book"} | s for i, s in enumerate(steps, 1)]
    changed = document.model_dump(mode="json", by_alias=True)
    changed |= {"sub_tasks": subs, "scenario_type": scenario_type, "gold": changed["gold"][:1]}
    return EnvironmentDocument.model_validate(changed)


def test_steps_are_counted_by_their_place_in_the_dependencies(
    document: EnvironmentDocument,
) -> None:
    parallel = with_steps(
        document,
        "Parallel Multi-Hop",
        [
            {"hop_level": 1, "is_parallel": True},
            {"hop_level": 1, "is_parallel": True},
            {"hop_level": 2, "is_parallel": False, "dependencies": [1, 2], "tool": None},
        ],
    )
    found = summarise([counts_of(document), counts_of(parallel)])
    assert (found.environments, found.questions, found.without_dag) == (2, 2, 0)
    assert found.scenario_types == {"Multi-Hop": 1, "Parallel Multi-Hop": 1}
    assert found.sub_questions == Distribution(counts=((2, 1), (3, 1)))
    assert found.hop_depth == Distribution(counts=((2, 2),))
    assert found.tool_calls == Distribution(counts=((1, 1), (2, 1)))
    assert found.with_tool == Share(part=4, whole=5)
    assert found.without_dependency == Share(part=3, whole=5)
    assert found.sharing_level == Share(part=2, whole=5)


def test_what_an_unverified_document_leaves_out_is_counted_and_never_guessed(
    document: EnvironmentDocument,
) -> None:
    bare = document.model_dump(mode="json", by_alias=True)
    bare |= {"status": "unverified", "scenario_type": None, "gold": []}
    known = {"id": 2, "answer": "b", "hop_level": 1, "is_parallel": False}
    bare["sub_tasks"] = [{"id": 1, "answer": "a"}, known]
    alone = summarise([counts_of(EnvironmentDocument.model_validate(bare))])
    assert (alone.verified, alone.unverified, alone.questions) == (0, 1, 1)
    assert (alone.without_scenario_type, alone.without_dag, alone.without_gold) == (1, 1, 1)
    assert alone.sub_questions == Distribution(counts=((2, 1),))
    assert (alone.hop_depth, alone.tool_calls) == (None, None)
    assert alone.without_dependency.value is None
    assert alone.as_json()["hop_depth"] is None
    beside = summarise([counts_of(EnvironmentDocument.model_validate(bare)), counts_of(document)])
    assert beside.without_dependency == Share(part=1, whole=2)


def test_further_questions_and_families_count_where_a_document_has_them(
    document: EnvironmentDocument,
) -> None:
    made = document.provenance.model_copy(update={"family": "timetable"})
    asked = {name: getattr(document, name) for name in Question.model_fields}
    further = tuple(FurtherQuestion(id=id, **asked) for id in ("second", "third"))
    many = document.model_copy(update={"provenance": made, "questions": further})
    found = summarise([counts_of(many), counts_of(document)])
    assert (found.environments, found.questions) == (2, 4)
    assert document.domain is not None
    assert found.domains == {document.domain.value: 4}
    assert found.as_json()["families"] == {"timetable": 3}
    assert "families" not in summarise([counts_of(document)]).as_json()


@pytest.mark.parametrize(
    ("values", "mean", "median", "within"),
    [([3], 3.0, 3.0, 1.0), ([1, 2, 2, 9], 3.5, 2.0, 0.5), ([1, 2, 5, 9], 4.25, 3.5, 0.5)],
)
def test_a_distribution_has_the_usual_figures(
    values: list[int], mean: float, median: float, within: float
) -> None:
    found = Distribution.of(values)
    assert found is not None
    assert (found.mean, found.median, found.range) == (mean, median, (min(values), max(values)))
    assert found.within(2, 5).value == within


def test_nothing_at_all_has_no_figures() -> None:
    found = summarise([])
    assert found.as_json()["tools"] is None
    assert found.with_tool.value is None
