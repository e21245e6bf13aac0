"""A model as a policy: its turns are those of the model alone, whatever else is in the batch."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from training.evaluation.sampler import ModelSampler
from training.tiny.model import SMALLEST, make_model
from training.tiny.tokenizer import make_tokenizer

pytestmark = pytest.mark.train

CONTEXTS = [[1, 300, 301, 302], [1, 400], [1, 310, 320, 330, 340, 350, 360]]


@pytest.fixture(scope="module")
def model() -> Any:
    made = make_model(make_tokenizer(), SMALLEST, seed=3)
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.mul_(6)  # random weights are indifferent: these prefer some tokens
    return made


def logprobs_of(model: Any, ids: Sequence[int]) -> torch.Tensor:
    """Of each token that might follow each, without keys and values that are kept."""
    with torch.no_grad():
        return torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].float(), -1)


def sampler(model: Any, *ends: int) -> ModelSampler:
    return ModelSampler(model, frozenset(ends or {2}))


def test_greedy_turns_are_the_likeliest_of_each_context_alone(model: Any) -> None:
    turns = sampler(model).generate(CONTEXTS, temperature=0, max_tokens=12, seeds=[0, 0, 0])
    for context, turn in zip(CONTEXTS, turns, strict=True):
        ids = [*context]
        for token, logprob in zip(turn.ids, turn.logprobs, strict=True):
            scores = logprobs_of(model, ids)[-1]
            assert token == int(scores.argmax())
            assert logprob == pytest.approx(float(scores[token]), abs=1e-4)
            ids.append(token)


def test_log_probabilities_are_those_of_what_was_drawn(model: Any) -> None:
    turns = sampler(model).generate(CONTEXTS, temperature=0.7, max_tokens=12, seeds=[1, 2, 3])
    for context, turn in zip(CONTEXTS, turns, strict=True):
        with torch.no_grad():
            logits = model(input_ids=torch.tensor([[*context, *turn.ids]])).logits[0].float()
        scores = torch.log_softmax(logits / 0.7, -1)
        for place, (token, logprob) in enumerate(zip(turn.ids, turn.logprobs, strict=True)):
            expected = float(scores[len(context) - 1 + place, token])
            assert logprob == pytest.approx(expected, abs=1e-4)


def test_a_turn_follows_from_its_context_and_seed(model: Any) -> None:
    policy = sampler(model)
    together = policy.generate(CONTEXTS, temperature=1, max_tokens=12, seeds=[7, 8, 9])
    (alone,) = policy.generate(CONTEXTS[1:2], temperature=1, max_tokens=12, seeds=[8])
    (other,) = policy.generate(CONTEXTS[1:2], temperature=1, max_tokens=12, seeds=[80])
    assert alone.ids == together[1].ids
    assert other.ids != alone.ids


def test_tokens_are_drawn_as_often_as_they_are_likely(model: Any) -> None:
    count, context = 4000, CONTEXTS[0]
    turns = sampler(model).generate(
        [context] * count, temperature=1, max_tokens=1, seeds=range(count)
    )
    drawn = Counter(turn.ids[0] for turn in turns)
    likely = logprobs_of(model, context)[-1].exp()
    for token in range(len(likely)):
        share = float(likely[token])
        spread = (count * share * (1 - share)) ** 0.5
        assert abs(drawn[token] - count * share) <= 6 * spread + 2


def test_a_turn_ends_with_its_end_token_or_is_cut(model: Any) -> None:
    (free,) = sampler(model).generate(CONTEXTS[:1], temperature=0, max_tokens=6, seeds=[0])
    assert (len(free.ids), free.is_ended) == (6, False)
    end = free.ids[2]
    (ended,) = sampler(model, end).generate(CONTEXTS[:1], temperature=0, max_tokens=6, seeds=[0])
    assert ended.ids == free.ids[: free.ids.index(end) + 1]
    assert ended.is_ended


@pytest.mark.parametrize("temperature", [-0.5, float("nan"), float("inf")])
def test_a_temperature_that_is_none_is_refused(model: Any, temperature: float) -> None:
    with pytest.raises(ValueError, match="a finite number from 0"):
        sampler(model).generate(CONTEXTS, temperature=temperature, max_tokens=1, seeds=[0, 0, 0])


def test_the_model_is_left_as_it_was_and_its_context_bounds_episodes(model: Any) -> None:
    policy = sampler(model)
    for is_training in (True, False):
        model.train(is_training)
        policy.generate(CONTEXTS, temperature=1, max_tokens=2, seeds=[0, 0, 0])
        assert model.training is is_training
    assert policy.limits.context_tokens == model.config.max_position_embeddings
    with pytest.raises(ValueError, match="end tokens"):
        ModelSampler(model, frozenset())
