"""The model that learns: loading it, its optimizer, and what a checkpoint holds of both.

PyTorch and Transformers are partly untyped; the functions here have types.
"""

# pyright: reportUnknownVariableType=false

import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import torch
from huggingface_hub import HfApi, constants, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_optimizer_state_dict,
)
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from astra_mcp.errors import ConfigError
from training.sft.settings import TrainingSettings

__all__ = [
    "Model",
    "find_model",
    "load_model",
    "make_optimizer",
    "model_config",
    "optimizer_state",
    "restore_optimizer",
    "save_memory",
    "set_learning_rate",
    "side_files",
    "tied_names",
    "weights_of",
]

Model = nn.Module
"""A causal language model of Transformers; whatever wraps it for several devices is one too."""
_WHOLE = StateDictOptions(full_state_dict=True, cpu_offload=True)
_MATRIX_DIMENSIONS = 2
_HUB_SECONDS = 5.0
"""To connect to the hub, and for its answer."""


def find_model(name: str) -> str:
    """Find a model before anything of it is loaded: its folder, or its name where the hub knows it.

    The hub is asked once, and for a few seconds: its library would try for the better part of a minute. Where
    it is not reached, the folder of its cache is taken.

    Raises:
        ConfigError: There is no such folder, the hub does not know the model, or it is not reached and the
            model was not loaded before.
    """
    folder = Path(name).expanduser()
    if folder.is_dir():
        return str(folder)
    if name.startswith((".", "/", "~")) or name.endswith("/") or name.count("/") > 1:
        raise ConfigError(f"model: there is no such folder: {name}")
    try:
        if not constants.HF_HUB_OFFLINE:
            HfApi().model_info(name, timeout=_HUB_SECONDS)
            return name
        reason = "HF_HUB_OFFLINE is set"
    except HFValidationError:
        raise ConfigError(
            f"model: {name!r} is no folder, and no name that the hub could have"
        ) from None
    except HfHubHTTPError as error:
        said = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ConfigError(f"model: {name!r} is no folder, and the hub refuses it: {said}") from None
    except Exception as error:  # noqa: BLE001 - of a transport that the library changes with its versions
        reason = f"the hub is not reached ({error or type(error).__name__})"
    try:
        return cast("Any", snapshot_download)(name, local_files_only=True)
    except (LocalEntryNotFoundError, HFValidationError, OSError):
        raise ConfigError(
            f"model: {name!r} is no folder, was not loaded before, and {reason}"
        ) from None


def model_config(name: str) -> Any:
    """Read a model's configuration.

    Raises:
        ConfigError: There is none of this name, here or at the hub.
    """
    with _told_of(name):
        return cast("Any", AutoConfig).from_pretrained(name)


def load_model(name: str, *, gradient_checkpointing: bool) -> Model:
    """Load a model to train, in float32.

    Args:
        name: A folder, or a name of the hub.
        gradient_checkpointing: Compute activations again in the backward pass.

    Raises:
        ConfigError: It cannot be loaded, or is no model that this loop can train.
    """
    transformers_logging.disable_progress_bar()  # beside the run's own it would only be in the way
    with _told_of(name):
        loaded = cast("Any", AutoModelForCausalLM).from_pretrained(
            name, dtype=torch.float32, attn_implementation="sdpa"
        )
    if gradient_checkpointing:
        save_memory(loaded)
    loaded.train()
    return loaded


def save_memory(model: Model) -> None:
    """Have a model compute its activations again in the backward pass."""
    known = cast("Any", model)
    # Transformers renamed it within its fifth version.
    enable = getattr(known, "activation_checkpointing_enable", None)
    (enable or known.gradient_checkpointing_enable)({"use_reentrant": False})


@contextmanager
def _told_of(name: str) -> Generator[None]:
    try:
        yield
    except (OSError, ValueError, KeyError) as error:
        first = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise ConfigError(f"the model {name!r} cannot be loaded: {first}") from None


def make_optimizer(model: Model, settings: TrainingSettings) -> torch.optim.Optimizer:
    """Make AdamW, without decay for biases and norms."""
    named = [(name, each) for name, each in model.named_parameters() if each.requires_grad]
    matrices = [each for _, each in named if each.ndim >= _MATRIX_DIMENSIONS]
    others = [each for _, each in named if each.ndim < _MATRIX_DIMENSIONS]
    groups = [
        {"params": matrices, "weight_decay": settings.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=settings.learning_rate, betas=settings.betas)


def set_learning_rate(optimizer: torch.optim.Optimizer, rate: float) -> None:
    """Use this rate in the next step."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def tied_names(model: Model) -> frozenset[str]:
    """Name the weights of a model that are the same as others; asked before it is spread over devices."""
    if not cast("Any", model).config.tie_word_embeddings:
        return frozenset()
    return frozenset(cast("Mapping[str, str]", getattr(model, "_tied_weights_keys", None) or {}))


def weights_of(model: Model, tied: frozenset[str]) -> Mapping[str, Tensor]:
    """Give all weights, gathered from all devices, without those that are the same as others.

    Every process has to call it; the first one gets the weights.
    """
    whole = cast("Mapping[str, Tensor]", get_model_state_dict(model, options=_WHOLE))
    return {name: each for name, each in whole.items() if name not in tied}


def optimizer_state(model: Model, optimizer: torch.optim.Optimizer) -> Mapping[str, Any]:
    """Give the optimizer's state by the names of weights, gathered like the weights."""
    return cast("Mapping[str, Any]", get_optimizer_state_dict(model, optimizer, options=_WHOLE))


def restore_optimizer(
    model: Model, optimizer: torch.optim.Optimizer, state: Mapping[str, Any]
) -> None:
    """Put back what :func:`optimizer_state` gave."""
    set_optimizer_state_dict(model, optimizer, dict(state), options=_WHOLE)
    for group in optimizer.param_groups:
        # PyTorch makes a list of the tuple, and the next checkpoint would be another file.
        group["betas"] = tuple(group["betas"])


def side_files(model: Model, source: str) -> Mapping[str, bytes]:
    """Give what stands beside weights, so that they load by themselves: configuration and tokenizer.

    Args:
        model: Whose configuration it is.
        source: The folder, or the name at the hub, of the tokenizer.

    Raises:
        ConfigError: The tokenizer cannot be loaded.
    """
    with tempfile.TemporaryDirectory(prefix="astra-mcp-") as folder, _told_of(source):
        cast("Any", model).config.save_pretrained(folder)
        generation = getattr(model, "generation_config", None)
        if generation is not None:
            generation.save_pretrained(folder)
        cast("Any", AutoTokenizer).from_pretrained(source).save_pretrained(folder)
        return {file.name: file.read_bytes() for file in sorted(Path(folder).iterdir())}
