"""The one renderer: how messages and tools become text and tokens, for SFT, RL, rollouts and evaluation.

What is trained has to be, token for token, what sampling saw and wrote; so everybody renders here. Knows
trajectories and values, and neither torch nor the gateway; only ``loading`` reads a tokenizer, when it is
asked to. Whatever trains or evaluates imports it, and the command line. To read in this order: ``template``,
``rows``, ``dialects``, ``thinking``, ``controls``, ``renderer``, ``differences``, ``loading``,
``tokens``.
"""

from training.render.controls import Controls, Sign
from training.render.dialects.known import DIALECTS
from training.render.dialects.turns import ControlTags, Dialect, ParsedCall, ParsedTurn, RenderError
from training.render.differences import Difference, sampling_difference, served_difference
from training.render.renderer import Rendered, Renderer, Segment
from training.render.thinking import ThinkingPolicy, Thoughts
from training.render.tokens import Mismatch, Tokenizer, Tokens, compare, encode, load_tokenizer

__all__ = [
    "DIALECTS",
    "ControlTags",
    "Controls",
    "Dialect",
    "Difference",
    "Mismatch",
    "ParsedCall",
    "ParsedTurn",
    "RenderError",
    "Rendered",
    "Renderer",
    "Segment",
    "Sign",
    "ThinkingPolicy",
    "Thoughts",
    "Tokenizer",
    "Tokens",
    "compare",
    "encode",
    "load_tokenizer",
    "sampling_difference",
    "served_difference",
]
