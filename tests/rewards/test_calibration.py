"""The labelled set, and what it says of judges."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.prompt import Prompt
from training.rewards.calibration import (
    Agreement,
    calibrate,
    cohens_kappa,
    load_calibration,
)
from training.rewards.conciseness import decided_by_code
from training.rewards.judging import JUDGED, Asked, questions_of
from training.rewards.score import Dimension

pytestmark = pytest.mark.anyio

AnswerT = TypeVar("AnswerT", bound=BaseModel)

ROWS = load_calibration()
GRADES = st.sampled_from([0.0, 0.5, 1.0])
WORDS = {1.0: "right", 0.5: "partly", 0.0: "wrong"}


class Labelling:
    """Grades as the labels say, and as a function says where that is given."""

    def __init__(self, error: ModelError | None = None, *, always: str | None = None) -> None:
        self.error = error
        self.always = always
        self.labels: dict[str, float | dict[int, float]] = {}
        for row in ROWS:
            found = questions_of(row.trajectory, 10**6)
            for dimension, labels in row.labels.items():
                asked = found[dimension]
                assert isinstance(asked, Asked)
                for question in asked.questions:
                    key = f"{question.prompt}{[s.document for s in question.shown.values()]}"
                    by_call = {n: labels.get(f"call {n}", 1.0) for n in question.numbers}
                    self.labels[key] = by_call or labels.get(question.what, 1.0)
        self.asked = 0

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        """Answer in the form that is asked for."""
        del sample
        if self.error is not None:
            raise self.error

        system, user = (str(message["content"]) for message in prompt.messages)
        name = system.split('"')[1]
        found = re.search(r"<(\w+)>\n(.*)\n</\1>", user, re.DOTALL)
        assert found is not None
        grade = self.labels[f"{name}{[json.loads(found[2])]}"]
        self.asked += 1
        if isinstance(grade, dict):
            verdicts = [
                {"call": n, "reason": "so", "necessary": True if self.always else bool(g)}
                for n, g in grade.items()
            ]
            return answer.model_validate({"verdicts": verdicts})
        return answer.model_validate({"reason": "so", "verdict": self.always or WORDS[grade]})


async def agreements(judge: Labelling) -> dict[Dimension, Agreement]:
    found = await calibrate(judge, ROWS, max_bytes=10**6, concurrency=4)
    return {each.dimension: each for each in found}


def test_the_set_is_large_enough_and_every_label_is_of_something_that_is_judged() -> None:
    labels = [(row, d, w, v) for row in ROWS for d, by in row.labels.items() for w, v in by.items()]
    assert len(labels) >= 30
    assert len({row.id for row in ROWS}) == len(ROWS)
    for row, dimension, what, value in labels:
        asked = questions_of(row.trajectory, 10**6)[dimension]
        assert isinstance(asked, Asked)
        judged = {q.what for q in asked.questions}
        judged |= {f"call {n}" for q in asked.questions for n in q.numbers}
        assert what in judged, row.id
        assert value in ({0, 1} if dimension is Dimension.TC else WORDS), row.id
    of_dimensions = Counter((d, v) for _, d, _, v in labels)
    for dimension in JUDGED:
        wanted = [0, 1] if dimension is Dimension.TC else [0, 0.5, 1]
        assert all(of_dimensions[dimension, value] >= 2 for value in wanted), dimension
    assert not any(decided_by_code(row.trajectory) for row in ROWS)


async def test_a_judge_that_grades_as_people_do_is_trusted() -> None:
    found = await agreements(Labelling())
    assert [*found] == [d for d in Dimension if d is not Dimension.TCS]
    assert {(each.exact, each.kappa, each.is_trusted) for each in found.values()} == {(1, 1, True)}


async def test_a_judge_that_flatters_is_not_to_be_trusted() -> None:
    found = await agreements(Labelling(always="right"))
    assert not any(each.is_trusted for each in found.values())
    assert {each.kappa for each in found.values()} == {0.0}


async def test_a_judge_that_fails_is_not_to_be_trusted() -> None:
    found = await agreements(Labelling(ModelError("gone", ModelFault.UNREACHABLE)))
    assert all(each.exact is None and not each.is_trusted for each in found.values())
    assert "umbrella: QU, query: gone" in found[Dimension.QU].failures


def pairs(table: Sequence[Sequence[int]]) -> list[tuple[float, float]]:
    return [
        (float(a), float(b))
        for a, b in product(range(len(table)), repeat=2)
        for _ in range(table[a][b])
    ]


@pytest.mark.parametrize(
    ("table", "kappa"),
    [
        ([[20, 5], [10, 15]], 0.4),
        ([[45, 15], [25, 15]], (0.6 - 0.54) / (1 - 0.54)),
        ([[25, 35], [5, 35]], (0.6 - 0.46) / (1 - 0.46)),
        ([[0, 5], [5, 0]], -1.0),
        ([[3, 0], [0, 3]], 1.0),
        ([[3, 0], [0, 0]], None),
    ],
)
def test_kappa_is_what_it_is_by_hand(table: Sequence[Sequence[int]], kappa: float | None) -> None:
    found = cohens_kappa(pairs(table))
    assert found == (kappa if kappa is None else pytest.approx(kappa, abs=1e-12))


@given(st.lists(st.tuples(GRADES, GRADES), min_size=1, max_size=40))
def test_kappa_is_at_most_one_alike_from_both_sides_and_one_where_all_agree(
    found: list[tuple[float, float]],
) -> None:
    kappa = cohens_kappa(found)
    assert cohens_kappa([(b, a) for a, b in found]) == (
        kappa if kappa is None else pytest.approx(kappa, abs=1e-12)
    )
    if kappa is not None:
        assert kappa <= 1 + 1e-12
        assert (kappa == pytest.approx(1, abs=1e-12)) == all(a == b for a, b in found)


def test_nothing_graded_has_no_agreement() -> None:
    assert cohens_kappa([]) is None
    assert Agreement(Dimension.QU, [], []).is_trusted is False
