"""One batch makes the policy better: log-probabilities again, gradients, and the steps of the optimizer."""

# pyright: reportUnknownMemberType=false

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar, cast

import torch
from torch import Tensor

from astra_mcp.errors import TrainingError
from astra_mcp.seeds import generator
from training.rl.core.filling import Group
from training.rl.native.batch import Padded, Row, pad, written_logprobs
from training.rl.native.credit import turn_advantages
from training.rl.native.generation import Member
from training.rl.native.objective import Tokens, advantages, loss_sums
from training.rl.native.settings import RlSettings
from training.sft.model import Model
from training.signals.supervision.guidance import Help

__all__ = ["Update"]

RowT = TypeVar("RowT")


class Update:
    """Updates a policy batch by batch."""

    def __init__(
        self,
        settings: RlSettings,
        model: Model,
        optimizer: torch.optim.Optimizer,
        reference: Model | None,
    ) -> None:
        """Take what learns.

        Args:
            settings: Of the run.
            model: Stays in evaluation mode: the policy that learns is the one that wrote.
            optimizer: Of its weights.
            reference: What a divergence is measured from; None measures none.
        """
        self._settings = settings
        self.model = model
        self.optimizer = optimizer
        self.reference = reference
        """May be another one behind a supervised phase."""
        self._device = next(model.parameters()).device

    def learn(self, groups: Sequence[Group[Member]], step: int) -> dict[str, float]:
        """Train on a batch, part by part.

        Args:
            groups: Each with rewards.
            step: From 0; decides which part an episode is in.

        Returns:
            Figures of the batch: means over its tokens, ``gradient_norm`` over its parts. ``drift`` is how
            far log-probabilities are from those with which a token was written, by earlier parts' updates.

        Raises:
            TrainingError: The loss is no number any more; the model is as before that part.
        """
        began = time.process_time()
        rows = self._own([row for group in groups for row in self._rows(group)])
        generator(self._settings.seed, "rl", "mini-batches", step).shuffle(rows)
        parts = [*_cut(rows, self._settings.training.mini_batches)]
        sums: dict[str, float] = {}
        for part in parts:
            _add(sums, self._learn_part(part, step))
        written = max(sum(member.num_written for member, _ in rows), 1)
        norm = sums.pop("gradient_norm") / len(parts)
        return {
            **{name: value / written for name, value in sums.items()},
            "gradient_norm": norm,
            "trained_tokens": written,
            "cpu_seconds/update": time.process_time() - began,
        }

    def _rows(self, group: Group[Member]) -> list[Row]:
        objective, scores = self._settings.objective, advantages(group.rewards or ())
        if objective.credit == "episode":
            alike = zip(group.members, scores, strict=True)
            return [(member, (score,) * len(member.ids)) for member, score in alike]
        solved = [[turn.solved for turn in member.turns] for member in group.members]
        by_turn = turn_advantages(scores, solved, weight=objective.credit_weight)
        return [
            (member, _of_tokens(member, found))
            for member, found in zip(group.members, by_turn, strict=True)
        ]

    def _own(self, rows: Sequence[Row]) -> list[Row]:
        """Give members that were helped the log-probabilities that the policy has now, without the help.

        So the ratio of their tokens is 1 until a first part has changed the policy, as it is for others.
        Source: eq. 5 and 6 of the study of collapses: one ratio for all, given the question alone.
        """
        helped = [at for at, (member, _) in enumerate(rows) if member.help is not Help.NONE]
        own, size = [*rows], self._settings.training.micro_batch_size
        for begin in range(0, len(helped), size):
            places = helped[begin : begin + size]
            padded = self._padded([rows[at] for at in places])
            with torch.no_grad():
                known = written_logprobs(self.model, padded)
                written = padded.ids[:, 1:][padded.is_written][:, None]
                found = iter(cast("list[float]", known.gather(-1, written)[:, 0].tolist()))
            for at in places:
                member, scores = rows[at]
                logprobs = tuple(next(found) if m else 0.0 for m in member.mask)
                own[at] = replace(member, logprobs=logprobs), scores
        return own

    def _padded(self, rows: Sequence[Row]) -> Padded:
        is_shaped = self._settings.signals.demonstrations.shaping != "none"
        return pad(rows, self._device, is_shaped=is_shaped)

    def _learn_part(self, part: Sequence[Row], step: int) -> dict[str, float]:
        objective, settings = self._settings.objective, self._settings.training
        num_tokens = max(sum(member.num_written for member, _ in part), 1)
        ordered = sorted(part, key=lambda row: len(row[0].ids))
        sums: dict[str, float] = {}
        for at in range(0, len(ordered), settings.micro_batch_size):
            rows = self._padded(ordered[at : at + settings.micro_batch_size])
            tokens, entropy = self._tokens(rows)
            gamma = self._settings.signals.demonstrations.gamma
            found = loss_sums(tokens, clip=objective.clip, gamma=gamma)
            loss = found.policy - objective.entropy_weight * entropy
            if objective.kl == "loss":
                loss = loss + objective.kl_weight * found.kl
            (loss / num_tokens).backward()
            figures = {
                "loss": loss,
                "entropy": entropy,
                "clip_fraction": found.clipped,
                "drift": (tokens.logprobs - tokens.sampled).abs().sum(),
            }
            if self.reference is not None:
                figures["kl"] = found.kl
            _add(sums, {name: float(value.detach()) for name, value in figures.items()})
        norm = float(torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip_norm))
        if not (math.isfinite(norm) and math.isfinite(sums["loss"])):
            self.optimizer.zero_grad()
            raise TrainingError(
                f"the loss or its gradient is no number any more in step {step + 1}; the checkpoints before"
                " it are as they were: take a smaller training.learning_rate in another folder"
            )
        self.optimizer.step()
        self.optimizer.zero_grad()
        return {**sums, "gradient_norm": norm}

    def _tokens(self, rows: Padded) -> tuple[Tokens, Tensor]:
        """Compute what the policy wrote again, and the sum of its entropies."""
        logprobs = written_logprobs(self.model, rows)
        with torch.no_grad():
            reference = None if self.reference is None else written_logprobs(self.reference, rows)
        written = rows.ids[:, 1:][rows.is_written][:, None]
        entropy = -(logprobs.exp() * logprobs).sum()
        tokens = Tokens(
            logprobs=logprobs.gather(-1, written)[:, 0],
            sampled=rows.sampled[rows.is_written],
            advantages=rows.advantages[rows.is_written],
            is_shaped=None if rows.is_shaped is None else rows.is_shaped[rows.is_written],
            reference=None if reference is None else reference.gather(-1, written)[:, 0],
        )
        return tokens, entropy


def _of_tokens(member: Member, by_turn: Sequence[float]) -> tuple[float, ...]:
    """Spread what each turn deserves over its tokens."""
    found = [0.0] * len(member.ids)
    for turn, advantage in zip(member.turns, by_turn, strict=True):
        found[turn.begin : turn.end] = [advantage] * (turn.end - turn.begin)
    return tuple(found)


def _add(sums: dict[str, float], values: Mapping[str, float]) -> None:
    for name, value in values.items():
        sums[name] = sums.get(name, 0.0) + value


def _cut(rows: Sequence[RowT], num_parts: int) -> Iterator[Sequence[RowT]]:
    """Cut into parts whose sizes differ by at most one."""
    ends = [len(rows) * n // num_parts for n in range(num_parts + 1)]
    return (rows[begin:end] for begin, end in pairwise(ends))
