"""The folder that training starts from: tokenizer, chat template, random weights, and what the model is."""

# pyright: reportUnknownMemberType=false

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from transformers.utils import logging as transformers_logging

from astra_mcp.errors import ConfigError
from training.tiny.model import TINY, ModelSize, make_model
from training.tiny.tokenizer import make_tokenizer

__all__ = ["save_start"]

_TITLE = "# tiny\n\nA model of astra-mcp"
_CARD = (
    _TITLE
    + """ for examples, tests and evidence: Qwen3's architecture with {count:,} parameters, made on
the spot. It learns nothing but micro families (`astra-mcp synth environments --families micro`), and knows
nothing before it is trained: its weights are random (seed {seed}).
"""
)


def save_start(folder: Path, *, size: ModelSize = TINY, seed: int = 0) -> Path:
    """Make a model and save it, as ``from_pretrained`` of Transformers reads it.

    Args:
        folder: Is made; it may be there already, if nothing is in it.
        size: Of the model.
        seed: Of the weights.

    Returns:
        The folder.

    Raises:
        ConfigError: There is something in the folder, or it cannot be written.
    """
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder} is there already: name a new folder for the tiny model")
        with TemporaryDirectory(dir=folder.parent, prefix=".tiny-") as whole:
            made = Path(whole) / "model"
            tokenizer = make_tokenizer()
            transformers_logging.disable_progress_bar()  # a file of some megabytes needs none
            model = make_model(tokenizer, size, seed)
            model.save_pretrained(made)
            tokenizer.save_pretrained(made)
            count = sum(parameter.numel() for parameter in model.parameters())
            (made / "README.md").write_text(_CARD.format(count=count, seed=seed), encoding="utf-8")
            os.replace(made, folder)  # also over an empty one
    except OSError as error:
        raise ConfigError(f"the tiny model cannot be saved in {folder}: {error}") from None
    return folder
