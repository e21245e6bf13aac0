"""Renderers of chat templates that are ours, one for each dialect, and messages for them."""

from functools import cache
from pathlib import Path

from astra_mcp.trajectory import AssistantMessage, FunctionCall, ToolCall
from training.render import ParsedTurn, Renderer, ThinkingPolicy

__all__ = ["SPECIAL_TOKENS", "assistant", "make_renderer", "template_source"]

_TEMPLATES = Path(__file__).parents[1] / "render" / "templates"
SPECIAL_TOKENS = {
    "hermes": {"eos_token": "<|im_end|>"},
    "llama": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "mistral": {"bos_token": "<s>", "eos_token": "</s>"},
}
"""By the name of the dialect."""


def template_source(name: str) -> str:
    """The text of our template of a dialect."""
    return (_TEMPLATES / f"{name}.jinja").read_text(encoding="utf-8")


@cache
def make_renderer(name: str, thinking: ThinkingPolicy = ThinkingPolicy.NATIVE_OFF) -> Renderer:
    """The renderer of our template of a dialect."""
    return Renderer.of(template_source(name), SPECIAL_TOKENS[name], thinking=thinking)


def assistant(turn: ParsedTurn, *, prefix: str = "call") -> AssistantMessage:
    """The message of a turn; calls without an id get one that begins so."""
    calls = tuple(
        ToolCall(
            id=call.id or f"{prefix}_{number}",
            function=FunctionCall(name=call.name, arguments=call.arguments),
        )
        for number, call in enumerate(turn.calls)
    )
    return AssistantMessage(
        content=turn.content, reasoning_content=turn.reasoning, tool_calls=calls
    )
