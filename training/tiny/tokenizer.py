"""The tokenizer: byte-level BPE over texts of micro environments, with names cut into syllables.

A name is two or three tokens, also one that nobody has seen, so that a model can learn to copy names in place
of learning each of them. Everything else that recurs (words, tools, the frame of a call) is one token, since
a context costs what it is long.
"""

import re
from importlib.resources import files

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from training.tiny.corpus import name_pieces, names, texts

__all__ = ["make_tokenizer"]

PAD, START, END = "<|endoftext|>", "<|im_start|>", "<|im_end|>"
SPECIAL_TOKENS = (PAD, START, END, "<tool_call>", "</tool_call>")
_VOCABULARY = 1280
"""At most; what recurs less than twice gets no token."""
_NUM_ENVIRONMENTS = 144
_PIECE_WEIGHT = 50
"""How often each syllable stands in the texts, so that none is left out."""
_CAPITALISED = re.compile(r"[A-Z][a-z]*")


def make_tokenizer(seed: int = 0) -> PreTrainedTokenizerFast:
    """Make the tokenizer, with the chat template.

    Args:
        seed: Of the environments whose texts it is made of; the same gives the same tokenizer.
    """
    written = [*texts(seed, _NUM_ENVIRONMENTS)]
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_pattern(written)), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=_VOCABULARY,
        min_frequency=2,
        special_tokens=[*SPECIAL_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    pieces = [*name_pieces(), *names()] * _PIECE_WEIGHT
    frames = [f"{role}\n" for role in ("system", "user", "assistant", "tool")] * _PIECE_WEIGHT
    tokenizer.train_from_iterator([*written, *pieces, *frames], trainer)
    made = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END,
        pad_token=PAD,
        additional_special_tokens=[START],
    )
    template = files("training.tiny") / "chat_template.jinja"
    made.chat_template = template.read_text("utf-8")
    return made


def _pattern(written: list[str]) -> str:
    """What is never joined with its neighbours: words, syllables of names, the frame of a call."""
    found = {word for text in written for word in _CAPITALISED.findall(text)} - {*names()}
    words = "|".join(sorted(found, key=lambda word: (-len(word), word)))
    return "|".join(
        (
            r"(?:system|user|assistant|tool)\n",
            r'\n\{"name": "|", "arguments": \{"name": "|"\}\}\n|\{"[a-z]+": "|"\}|\([a-z]+\)\n',
            rf" ?(?:{words})(?![a-z])",
            # A name: its first two letters, then two at a time.
            "[A-Z][a-z]?",
            *(rf"(?<=[A-Z][a-z]{{{length}}})[a-z]{{1,2}}" for length in (1, 3, 5, 7)),
            r"'[a-z]+| (?=[A-Z])",
            r" ?[a-z]+(?:_[a-z]+)*",
            r"\p{Han}|\d",
            r"[^\sa-zA-Z\d\p{Han}]+|\s",
        )
    )
