"""The tiny model: Qwen3's architecture, random weights, at most half a million parameters."""

# pyright: reportUnknownMemberType=false

from dataclasses import dataclass
from typing import cast

import torch
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from astra_mcp.errors import ConfigError

__all__ = ["MAX_PARAMETERS", "SMALLEST", "TINY", "ModelSize", "make_model"]

MAX_PARAMETERS = 500_000
_MAX_POSITIONS = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSize:
    """How large a model is."""

    hidden: int
    layers: int
    heads: int
    head: int
    """Width of one head."""
    feed_forward: int


TINY = ModelSize(hidden=64, layers=2, heads=4, head=32, feed_forward=128)
"""The smallest that copies names: one layer finds where a name stood, the next what followed it."""
SMALLEST = ModelSize(hidden=16, layers=1, heads=2, head=8, feed_forward=32)
"""Learns forms and no names: for tests of what surrounds a model."""


def make_model(
    tokenizer: PreTrainedTokenizerFast, size: ModelSize = TINY, seed: int = 0
) -> Qwen3ForCausalLM:
    """Make a model with random weights.

    Args:
        tokenizer: Says how many tokens there are, and which ends a turn.
        size: See :class:`ModelSize`.
        seed: Of the weights. The random state of the process is left as it was.

    Raises:
        ConfigError: The model has more than half a million parameters, and would not be tiny.
    """
    end = cast("int", tokenizer.eos_token_id)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=size.hidden,
        intermediate_size=size.feed_forward,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.heads,
        head_dim=size.head,
        max_position_embeddings=_MAX_POSITIONS,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=end,
        pad_token_id=cast("int", tokenizer.pad_token_id),
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Qwen3ForCausalLM(config)
    count = sum(parameter.numel() for parameter in model.parameters())
    if count > MAX_PARAMETERS:
        raise ConfigError(f"a tiny model has at most {MAX_PARAMETERS} parameters, and this {count}")
    return model
