"""Settings that have a name: those of the paper, of the study of collapses, and for smaller machines.

Each says the sizes of its model too, so that what it takes can be computed without the weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from astra_mcp.errors import ConfigError
from astra_mcp.report.choices import closest
from astra_mcp.types import JsonObject

__all__ = ["PRESETS", "Preset", "find_preset"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """Settings, of which a file and the command line may say others."""

    what: str
    """Where it comes from, in a few words."""
    settings: JsonObject
    shape: Mapping[str, int | bool] | None = None
    """What the model's own ``config.json`` says of its sizes; None where the model is made on the spot."""
    model_type: str = "qwen3"


def _shape(
    hidden: int, layers: int, heads: int, kv_heads: int, ffn: int, *, is_tied: bool
) -> Mapping[str, int | bool]:
    return {
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": 128,
        "intermediate_size": ffn,
        "vocab_size": 151_936,
        "tie_word_embeddings": is_tied,
    }


def _paper(model: str, learning_rate: float, context: int) -> JsonObject:
    """ASTRA sec. 3.2.1: two epochs, 20k tokens without packing, batch 32, cosine, 5 % warm-up."""
    return {
        "model": model,
        "examples": {"max_tokens": 20_000},
        "training": {
            "epochs": 2,
            "batch_size": 32,
            "learning_rate": learning_rate,
            "schedule": "cosine",
            "warmup_ratio": 0.05,
            "gradient_checkpointing": True,
        },
        "parallel": {"processes": 8, "context": context},
    }


def _single(model: str, learning_rate: float) -> JsonObject:
    return {**_paper(model, learning_rate, 1), "parallel": {"processes": 1}}


def _collapse(model: str) -> JsonObject:
    """The study of collapses, table 4 and its scripts: one example for each turn, cut on the left."""
    return {
        "model": model,
        "examples": {"per": "turn", "max_tokens": 8192, "too_long": "cut_left"},
        "training": {
            "epochs": 3,
            "batch_size": 128,
            "learning_rate": 1e-5,
            "schedule": "cosine",
            "gradient_checkpointing": True,
        },
    }


_TINY: JsonObject = {
    "model": "tiny",
    "examples": {"max_tokens": 512},
    "training": {
        "epochs": 10,
        "batch_size": 32,
        "micro_batch_size": 32,
        "learning_rate": 6e-3,
        "betas": [0.9, 0.98],
        "precision": "float32",
    },
    "checkpoints": {"every": 50},
}

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "paper-14b": Preset(
            what="the paper's 14B model (sec. 3.2.1), context parallelism of 2",
            settings=_paper("Qwen/Qwen3-14B", 5e-6, 2),
            shape=_shape(5120, 40, 40, 8, 17_408, is_tied=False),
        ),
        "paper-32b": Preset(
            what="the paper's 32B model (sec. 3.2.1), context parallelism of 4",
            settings=_paper("Qwen/Qwen3-32B", 2e-6, 4),
            shape=_shape(5120, 64, 64, 8, 25_600, is_tied=False),
        ),
        "qwen3-4b": Preset(
            what="the paper's settings for a model on one GPU of more than 80 GB",
            settings=_single("Qwen/Qwen3-4B", 1e-5),
            shape=_shape(2560, 36, 32, 8, 9728, is_tied=True),
        ),
        "qwen3-1.7b": Preset(
            what="the paper's settings for a model on one GPU",
            settings=_single("Qwen/Qwen3-1.7B", 1e-5),
            shape=_shape(2048, 28, 16, 8, 6144, is_tied=True),
        ),
        "collapse-1.5b": Preset(
            what="the study of collapses (table 4)",
            settings=_collapse("Qwen/Qwen2.5-1.5B-Instruct"),
            shape=_shape(1536, 28, 12, 2, 8960, is_tied=True),
            model_type="qwen2",
        ),
        "collapse-1.7b": Preset(
            what="the study of collapses (table 4)",
            settings=_collapse("Qwen/Qwen3-1.7B"),
            shape=_shape(2048, 28, 16, 8, 6144, is_tied=True),
        ),
        "tiny": Preset(
            what="a model of some hundred thousand parameters, made on the spot, on a CPU",
            settings=_TINY,
        ),
    }
)


def find_preset(name: str) -> Preset:
    """Find a preset.

    Raises:
        ConfigError: There is none of this name; says which are.
    """
    if name in PRESETS:
        return PRESETS[name]
    close = closest(name, PRESETS)
    hint = f"did you mean {close}?" if close else f"there are {', '.join(PRESETS)}"
    raise ConfigError(f"no preset is named {name!r}; {hint}")
