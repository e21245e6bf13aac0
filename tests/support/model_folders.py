"""Folders of models without weights: a tokenizer that is trained on the spot, and a chat template."""

import json
from collections.abc import Mapping
from pathlib import Path

from own_templates import SPECIAL_TOKENS, template_source

__all__ = ["save_folder", "train_tokenizer"]

_WORDS = [
    "Is the museum open on Monday? No, it is closed.\n\n",
    '{"name": "opening_hours", "arguments": {"place": "museum"}}\n',
    "<think>\n\n</think>\n\n<tool_call>\n<tool_response>\n</tool_response><|im_end|>\n",
    "<|im_start|>assistant\nYou are welcome.<|im_end|>\n<|im_start|>user\n",
    "<|im_start|>assistant\n<think>\n\n</think>\n\nYou are welcome.",
    "北京 🌦 é Malmö",
]


def train_tokenizer(file: Path, special: list[str], *, joins_lines: bool = False) -> None:
    """Train byte-level BPE on a few sentences.

    Args:
        file: Where it is written.
        special: Tokens that are one each.
        joins_lines: Let tokens reach across white space, lines and what else parts words.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # noqa: PLC0415

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=False, use_regex=not joins_lines
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_WORDS * 3, trainer)
    tokenizer.save(str(file))


def save_folder(
    folder: Path,
    template: str | None = None,
    special: Mapping[str, str] = SPECIAL_TOKENS["hermes"],
    *,
    joins_lines: bool = False,
) -> Path:
    """Write what a model's folder has beside weights; the template is our Hermes one by default."""
    folder.mkdir()
    controls = ["<|im_start|>", "<tool_call>", "</tool_call>", *special.values()]
    if joins_lines:
        controls = list(special.values())
    train_tokenizer(folder / "tokenizer.json", controls, joins_lines=joins_lines)
    config = {**special, "chat_template": template or template_source("hermes")}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder
