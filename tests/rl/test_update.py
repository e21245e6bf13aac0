"""An update makes likelier what earned more, by the tokens that the policy wrote and no others."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from astra_mcp.errors import TrainingError
from training.rl.core.filling import Group
from training.rl.native.generation import Member
from training.rl.native.settings import RlSettings
from training.rl.native.update import Update
from training.tiny.model import SMALLEST, make_model
from training.tiny.tokenizer import make_tokenizer

pytestmark = pytest.mark.train

GOOD, BAD = (1, 300, 301, 302, 303, 304), (1, 300, 305, 302, 306, 2)
MASK = (False, False, True, False, True, True)


@pytest.fixture
def model() -> Any:
    return make_model(make_tokenizer(), SMALLEST, seed=3).eval()


def logprobs_of(model: Any, ids: Sequence[int]) -> list[float]:
    """Of each token; 0 for the first one."""
    with torch.no_grad():
        scores = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].float(), -1)
    return [0.0, *(float(scores[at, token]) for at, token in enumerate(ids[1:]))]


def member(model: Any, ids: tuple[int, ...], mask: tuple[bool, ...] = MASK) -> Member:
    known = zip(logprobs_of(model, ids), mask, strict=True)
    return Member(ids, mask, tuple(p if is_written else 0.0 for p, is_written in known))


def group(
    *members: Member, rewards: tuple[float, ...] = (1.0, 0.0), number: int = 0
) -> Group[Member]:
    return Group(number=number, step=0, rewards=rewards, members=members)


def update(model: Any, reference: Any = None, **sections: dict[str, object]) -> Update:
    training = {"learning_rate": 0.01, **sections.pop("training", {})}
    settings = RlSettings.model_validate(
        {
            "model": "model",
            "out": Path("run"),
            "data": [{"environments": ["harbour"]}],
            "training": training,
            **sections,
        }
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    return Update(settings, model, optimizer, reference)


def weights(model: Any) -> list[torch.Tensor]:
    return [each.detach().clone() for each in model.parameters()]


def learnt(groups: Sequence[Group[Member]], **sections: dict[str, object]) -> list[torch.Tensor]:
    model: Any = make_model(make_tokenizer(), SMALLEST, seed=3).eval()
    update(model, **sections).learn(groups, 0)
    return weights(model)


def is_same(one: list[torch.Tensor], other: list[torch.Tensor], tolerance: float = 0.0) -> bool:
    return all(
        torch.allclose(a, b, rtol=0, atol=tolerance) for a, b in zip(one, other, strict=True)
    )


def test_what_earned_more_becomes_likelier_and_what_earned_less_does_not(model: Any) -> None:
    good, bad = member(model, GOOD), member(model, BAD)
    figures = update(model).learn([group(good, bad)], 0)
    gained = [
        sum(p for p, is_written in zip(logprobs_of(model, m.ids), MASK, strict=True) if is_written)
        - sum(m.logprobs)
        for m in (good, bad)
    ]
    assert gained[0] > 0 > gained[1]
    assert figures["trained_tokens"] == 6
    assert figures["drift"] == pytest.approx(0, abs=1e-5)
    assert figures["clip_fraction"] == 0
    assert figures["gradient_norm"] > 0
    assert 0 < figures["entropy"] < 8


def test_tokens_that_the_policy_did_not_write_never_matter(model: Any) -> None:
    good, bad = member(model, GOOD), member(model, BAD)
    told = replace(good, logprobs=tuple(p or -9.0 for p in good.logprobs))
    longer = replace(
        good,
        ids=(*good.ids, 310, 311),
        mask=(*good.mask, False, False),
        logprobs=(*good.logprobs, 0.0, 0.0),
    )
    known = learnt([group(good, bad)])
    assert is_same(learnt([group(told, bad)]), known)
    assert is_same(learnt([group(longer, bad)]), known, 1e-6)
    assert not is_same(learnt([group(member(model, GOOD, (*MASK[:-1], False)), bad)]), known, 1e-6)


def test_a_group_without_spread_changes_nothing(model: Any) -> None:
    same = group(member(model, GOOD), member(model, BAD), rewards=(0.5, 0.5))
    assert is_same(learnt([same]), weights(model))


@pytest.mark.claim("P96")
def test_the_loss_is_the_mean_over_all_tokens_however_a_batch_is_computed(model: Any) -> None:
    short = (False, False, True, False, False, False)
    groups = [
        group(member(model, GOOD), member(model, BAD)),
        group(member(model, BAD, short), member(model, GOOD, short), number=1),
    ]
    cut = learnt(groups, training={"micro_batch_size": 1})
    assert is_same(cut, learnt(groups, training={"micro_batch_size": 4}), 1e-6)
    swapped = group(*reversed(groups[1].members), rewards=(0.0, 1.0), number=1)
    assert is_same(learnt([groups[0], swapped]), cut, 1e-6)


def test_parts_of_a_batch_have_an_update_each(model: Any) -> None:
    groups = [group(member(model, GOOD), member(model, BAD))] * 2
    whole, parts = (learnt(groups, training={"mini_batches": n}) for n in (1, 2))
    assert not is_same(whole, parts, 1e-6)


def test_a_divergence_is_a_figure_or_a_part_of_the_loss(model: Any) -> None:
    reference = make_model(make_tokenizer(), SMALLEST, seed=4).eval()
    groups = [group(member(model, GOOD), member(model, BAD))]
    before = weights(model)
    measured = update(model, reference, objective={"kl": "metric"}).learn(groups, 0)
    assert measured["kl"] > 0
    by_metric = weights(model)
    assert is_same(by_metric, learnt(groups))
    assert not is_same(by_metric, before)
    other: Any = make_model(make_tokenizer(), SMALLEST, seed=3).eval()
    update(other, reference, objective={"kl": "loss", "kl_weight": 1.0}).learn(groups, 0)
    assert not is_same(weights(other), by_metric, 1e-6)


def test_an_entropy_bonus_is_a_part_of_the_loss(model: Any) -> None:
    groups = [group(member(model, GOOD), member(model, BAD))]
    assert not is_same(learnt(groups, objective={"entropy_weight": 1.0}), learnt(groups), 1e-7)


def test_a_loss_that_is_no_number_ends_it_and_leaves_the_weights(model: Any) -> None:
    good = member(model, GOOD)
    broken = replace(good, logprobs=tuple(float("nan") if p else 0.0 for p in good.logprobs))
    before = weights(model)
    with pytest.raises(TrainingError, match=r"no number any more in step 3"):
        update(model).learn([group(broken, good)], 2)
    assert is_same(weights(model), before)
