"""Credit of turns: by hand-computed values, and what it changes in an update."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from training.rl.native.credit import turn_advantages

_GROUPS = st.lists(
    st.tuples(st.floats(-3, 3), st.lists(st.integers(0, 5), min_size=1, max_size=6)),
    min_size=1,
    max_size=6,
)


def test_a_turn_gets_what_it_solved_beside_the_other_turns_of_its_episode() -> None:
    # Means 1/2 and 1; apart 1/2, -1/2 and -1, -1, 2; the mean of squares is 6.5 / 5.
    found = turn_advantages([1.0, -1.0], [[1, 0], [0, 0, 3]], weight=1.0)
    spread = math.sqrt(1.3)
    assert found[0] == pytest.approx((1 + 0.5 / spread, 1 - 0.5 / spread))
    assert found[1] == pytest.approx((-1 - 1 / spread, -1 - 1 / spread, -1 + 2 / spread))
    half = turn_advantages([1.0, -1.0], [[1, 0], [0, 0, 3]], weight=0.5)
    assert half[0] == pytest.approx((1 + 0.25 / spread, 1 - 0.25 / spread))


def test_where_all_turns_solve_alike_each_gets_what_its_episode_does() -> None:
    found = turn_advantages([0.5, -0.5, 0.0], [[1, 1], [0], []], weight=1.0)
    assert found == ((0.5, 0.5), (-0.5,), ())


@given(_GROUPS, st.floats(0.1, 4))
def test_the_mean_over_the_turns_of_an_episode_is_its_advantage_and_their_spread_the_weight(
    group: Sequence[tuple[float, list[int]]], weight: float
) -> None:
    advantages, solved = zip(*group, strict=True)
    found = turn_advantages(advantages, solved, weight=weight)
    for advantage, turns in zip(advantages, found, strict=True):
        assert sum(turns) / len(turns) == pytest.approx(advantage, abs=1e-9)
    apart = [each - a for a, turns in zip(advantages, found, strict=True) for each in turns]
    square = sum(each * each for each in apart) / len(apart)
    differ = any(len({*turns}) > 1 for turns in solved)
    assert square == pytest.approx(weight * weight if differ else 0.0)


@pytest.mark.train
def test_an_update_learns_most_from_the_turn_that_solved() -> None:
    import torch  # noqa: PLC0415 - of the extra

    from training.rl.core.filling import Group  # noqa: PLC0415
    from training.rl.native.generation import Member, MemberTurn  # noqa: PLC0415
    from training.rl.native.settings import RlSettings  # noqa: PLC0415
    from training.rl.native.update import Update  # noqa: PLC0415
    from training.tiny.model import SMALLEST, make_model  # noqa: PLC0415
    from training.tiny.tokenizer import make_tokenizer  # noqa: PLC0415

    torch.set_num_threads(1)
    # Two turns of one token each, at places 2 and 4.
    mask = (False, False, True, False, True)

    def gained(credit: str, solved: tuple[int, int]) -> tuple[float, float]:
        model = make_model(make_tokenizer(), SMALLEST, seed=3).eval()

        def logprobs(ids: tuple[int, ...]) -> list[float]:
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([ids])).logits[0].float()
            scores = torch.log_softmax(logits, -1)
            return [0.0, *(float(scores[at, token]) for at, token in enumerate(ids[1:]))]

        def member(ids: tuple[int, ...], counts: tuple[int, int]) -> Member:
            known = tuple(p if own else 0.0 for p, own in zip(logprobs(ids), mask, strict=True))
            turns = (MemberTurn(2, 3, counts[0]), MemberTurn(4, 5, counts[1]))
            return Member(ids, mask, known, turns)

        good = member((1, 300, 301, 302, 303), solved)
        bad = member((1, 300, 305, 302, 306), (0, 0))
        settings = RlSettings.model_validate(
            {
                "model": "model",
                "out": "run",
                "data": [{"environments": ["harbour"]}],
                "training": {"learning_rate": 0.01},
                "objective": {"credit": credit},
            }
        )
        update = Update(settings, model, torch.optim.SGD(model.parameters(), lr=0.05), None)
        update.learn([Group(number=0, step=0, rewards=(1.0, 0.0), members=(good, bad))], 0)
        now = logprobs(good.ids)
        return now[2] - good.logprobs[2], now[4] - good.logprobs[4]

    usual, alike, second = (
        gained("episode", (0, 1)),
        gained("turn", (1, 1)),
        gained("turn", (0, 1)),
    )
    assert alike == usual
    assert second[0] < usual[0]
    assert second[1] > usual[1]


@pytest.mark.train
def test_a_group_that_waits_keeps_what_its_turns_solved() -> None:
    from training.rl.core.filling import Group  # noqa: PLC0415
    from training.rl.native.generation import (  # noqa: PLC0415
        Member,
        MemberTurn,
        group_of,
        group_state,
    )

    member = Member((1, 2), (False, True), (0.0, -0.5), (MemberTurn(1, 2, 3),))
    other = replace(member, turns=())
    group = Group(number=4, step=2, rewards=(1.0, 0.0), members=(member, other))
    assert group_of(group_state(group)) == group
