"""What a run takes of a device's memory, computed from the sizes of the model before anything is loaded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from training.sft.presets import Preset
from training.sft.settings import Precision, SftSettings

__all__ = ["Memory", "config_of", "count_parameters", "devices_here", "estimate_memory"]

_MASTER = 4
"""Bytes of a weight, as of a gradient: float32."""
_ADAM = 8
"""Bytes of both moments."""
_LOGIT = 4 + 4 + 4
"""Bytes that a logit has at the peak in float32: itself, its log-probability and its gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of one device."""

    weights: int
    gradients: int
    optimizer: int
    activations: int
    logits: int

    @property
    def total(self) -> int:
        """All together."""
        return self.weights + self.gradients + self.optimizer + self.activations + self.logits


def config_of(preset: Preset) -> Any:
    """Make a model's configuration of what a preset says of its sizes."""
    return cast("Any", AutoConfig).for_model(preset.model_type, **(preset.shape or {}))


def count_parameters(config: Any) -> int:
    """Count a model's parameters without any memory for them; tied ones once."""
    with torch.device("meta"):
        model = cast("Any", AutoModelForCausalLM).from_config(config)
    return sum(each.numel() for each in model.parameters())


def devices_here() -> int:
    """Count the GPUs of this machine."""
    return torch.cuda.device_count()


def estimate_memory(
    config: Any,
    settings: SftSettings,
    *,
    parameters: int,
    tokens: int,
    trained: int,
    is_whole: bool = False,
) -> Memory:
    """Estimate what a device needs.

    Left out are the allocator's losses, the layer that FSDP gathers at a time, and what the libraries take.

    Args:
        config: Of the model.
        settings: Of the run.
        parameters: Of the model.
        tokens: Of the longest example.
        trained: Most tokens with loss of an example.
        is_whole: Whether each process holds the whole model, as on CPUs.
    """
    shards = 1 if is_whole else settings.parallel.processes
    context = settings.parallel.context
    share = settings.training.micro_batch_size / context
    is_half = settings.training.precision is not Precision.FLOAT32
    return Memory(
        weights=parameters * _MASTER // shards,
        gradients=parameters * _MASTER // shards,
        optimizer=parameters * _ADAM // shards,
        activations=int(share * tokens * _activation_bytes(config, settings, 2 if is_half else 4)),
        logits=int(share * trained * config.vocab_size * (_LOGIT + (2 if is_half else 0))),
    )


def _activation_bytes(config: Any, settings: SftSettings, number: int) -> int:
    """Bytes for each token of what the backward pass needs.

    Args:
        config: Of a decoder with gated feed-forward layers, such as Qwen and Llama.
        settings: Whether layers are computed again.
        number: Bytes of a number.
    """
    sizes = cast("Mapping[str, int]", config.to_dict())
    hidden, ffn, layers = (
        sizes[name] for name in ("hidden_size", "intermediate_size", "num_hidden_layers")
    )
    heads, kv_heads = sizes["num_attention_heads"], sizes["num_key_value_heads"]
    head = sizes.get("head_dim") or hidden // heads
    # The inputs of both norms and of both blocks; queries, keys and values before and after their turns, and
    # the attention's output; the four products of the feed-forward layer.
    layer = 6 * hidden + 3 * heads * head + 4 * kv_heads * head + 4 * ffn
    if settings.training.gradient_checkpointing:
        return number * (layers * hidden + layer)
    return number * layers * layer
