"""A model in this process as a policy: turns of a whole batch at once, with the keys and values kept.

Needs the extra ``train``. Contexts are padded on the left, so that all end where the next token begins.
"""

# pyright: reportUnknownMemberType=false

from collections.abc import Sequence
from inspect import signature
from typing import Any, cast

import torch
from torch import Tensor
from transformers import DynamicCache

from training.rl.core.policy import PolicyLimits, Sampled, check_temperature

__all__ = ["ModelSampler", "Silence", "limits_of_model"]


def limits_of_model(config: Any) -> PolicyLimits:
    """Say how far a model goes: an episode may fill its context, and a turn an eighth of it.

    Args:
        config: Of the model, as Transformers has it.
    """
    positions = int(config.max_position_embeddings)
    turn = min(PolicyLimits().turn_tokens, max(1, positions // 8))
    return PolicyLimits(context_tokens=positions, turn_tokens=turn)


class Silence:
    """Ends each turn at once, to see which prompts leave room for one; a Policy."""

    def __init__(self, limits: PolicyLimits, end_ids: frozenset[int]) -> None:
        """Take the limits of the model that is to play, and the tokens that end its turns."""
        self.limits = limits
        self._end = min(end_ids)

    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        """Write the end alone; see :meth:`training.rl.core.policy.Policy.generate`."""
        del temperature, max_tokens, seeds
        return [Sampled((self._end,), (0.0,), is_ended=True) for _ in contexts]


class ModelSampler:
    """Samples from a causal model of Transformers; a :class:`~training.rl.core.policy.Policy`."""

    def __init__(self, model: torch.nn.Module, end_ids: frozenset[int]) -> None:
        """Take the model as it is: whatever trains it meanwhile changes what is sampled.

        Args:
            model: Takes and gives what causal models of Transformers do.
            end_ids: Tokens that end a turn.

        Raises:
            ValueError: There are no end tokens, so no turn would end.
        """
        if not end_ids:
            raise ValueError("a policy without end tokens ends no turn")
        self._model = model
        self._ends = torch.tensor(sorted(end_ids))
        self._end_ids = end_ids
        # Before version 5.40 of Transformers the older name is taken too, with a warning.
        taken = signature(model.forward).parameters
        self._cache = "cache" if "cache" in taken else "past_key_values"

    @property
    def limits(self) -> PolicyLimits:
        """See :func:`limits_of_model`."""
        return limits_of_model(cast("Any", self._model).config)

    @torch.no_grad()
    def generate(
        self,
        contexts: Sequence[Sequence[int]],
        *,
        temperature: float,
        max_tokens: int,
        seeds: Sequence[int],
    ) -> list[Sampled]:
        """Write one turn for each context; see :meth:`training.rl.core.policy.Policy.generate`.

        Raises:
            ValueError: The temperature is none.
        """
        check_temperature(temperature)
        was_training = self._model.training
        self._model.eval()
        try:
            draws = _draws(seeds, max_tokens) if temperature > 0 else None
            ids, logprobs = self._write(contexts, temperature, max_tokens, draws)
        finally:
            self._model.train(was_training)
        rows = zip(_rows(ids), _rows(logprobs), strict=True)
        return [self._cut([int(t) for t in row], scores) for row, scores in rows]

    def _write(
        self,
        contexts: Sequence[Sequence[int]],
        temperature: float,
        max_tokens: int,
        draws: Tensor | None,
    ) -> tuple[Tensor, Tensor]:
        """Write until each turn has ended or is full: ids and log-probabilities [batch, tokens]."""
        device = next(self._model.parameters()).device
        ids, attended = (part.to(device) for part in _padded(contexts))
        ends, places = self._ends.to(device), (attended.cumsum(1) - 1).clamp(min=0)
        is_over = torch.zeros(len(contexts), dtype=torch.bool, device=device)
        written: list[Tensor] = []
        logprobs: list[Tensor] = []
        kept = {self._cache: DynamicCache(config=cast("Any", self._model).config)}
        for step in range(max_tokens):
            output: Any = self._model(
                input_ids=ids,
                attention_mask=attended,
                position_ids=places,
                use_cache=True,
                logits_to_keep=1,
                **kept,
            )
            drawn = None if draws is None else draws[:, step].to(device)
            token, logprob = _pick(output.logits[:, -1].float(), temperature, drawn)
            written.append(token)
            logprobs.append(logprob)
            is_over |= torch.isin(token, ends)
            if bool(is_over.all()):
                break
            ids, places = token[:, None], places[:, -1:] + 1
            attended = torch.cat([attended, attended.new_ones(len(contexts), 1)], dim=1)
        return torch.stack(written, 1), torch.stack(logprobs, 1)

    def _cut(self, ids: list[int], logprobs: list[float]) -> Sampled:
        """Leave out what was written behind the end."""
        length = next((n for n, token in enumerate(ids, 1) if token in self._end_ids), None)
        return Sampled(tuple(ids[:length]), tuple(logprobs[:length]), length is not None)


def _rows(values: Tensor) -> list[list[float]]:
    return cast("list[list[float]]", cast("Any", values).tolist())


def _padded(contexts: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
    """Ids [batch, longest], padded on the left with 0, and which of them are attended to."""
    longest = max(map(len, contexts))
    ids = torch.tensor([[0] * (longest - len(c)) + [*c] for c in contexts])
    attended = torch.tensor([[0] * (longest - len(c)) + [1] * len(c) for c in contexts])
    return ids, attended


def _draws(seeds: Sequence[int], max_tokens: int) -> Tensor:
    """Numbers in [0, 1), a row for each seed: a turn's draws do not depend on what else is in the batch."""
    rows = [
        torch.rand(max_tokens, generator=torch.Generator().manual_seed(seed % (1 << 63)))
        for seed in seeds
    ]
    return torch.stack(rows)


def _pick(logits: Tensor, temperature: float, drawn: Tensor | None) -> tuple[Tensor, Tensor]:
    """Take a token of each row, and its log-probability; ``drawn`` None takes the likeliest."""
    logprobs = torch.log_softmax(logits if drawn is None else logits / temperature, -1)
    if drawn is None:
        token = logprobs.argmax(-1)
    else:
        sums = logprobs.exp().cumsum(-1)
        token = torch.searchsorted(sums, drawn[:, None] * sums[:, -1:], right=True)[:, 0]
        token = token.clamp(max=logits.shape[-1] - 1)
    return token, logprobs.gather(-1, token[:, None])[:, 0]
