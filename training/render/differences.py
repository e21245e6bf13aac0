"""Where what sampling sees differs from what is trained, and from what a server would show.

Our sampler appends, and so does training text. Two things can stand in the way: a thinking policy that shows
something at sampling alone, and a server that renders all messages anew for each turn by a template that
shows an earlier turn otherwise than it was sampled.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from astra_mcp.trajectory import AssistantMessage, Message
from astra_mcp.types import JsonObject
from training.render.renderer import Rendered, Renderer, Segment

__all__ = ["Difference", "sampling_difference", "served_difference"]


@dataclass(frozen=True, slots=True)
class Difference:
    """Two texts for one place of a conversation."""

    message: int
    """Place of the turn before which they differ, from 0."""
    sampled: Rendered
    """What our sampler sees there."""
    other: Rendered
    """What is trained, that turn included; or what a server would show."""


def sampling_difference(
    renderer: Renderer, messages: Sequence[Message], tools: Sequence[JsonObject]
) -> Difference | None:
    """Find the first turn before which sampling sees something else than the training text has.

    Raises:
        RenderError: A message cannot be rendered.
    """
    segments = renderer.conversation(messages, tools).segments
    for number, place in enumerate(_turns(messages)):
        prompt = renderer.prompt(messages[:place], tools)
        if prompt != Rendered(segments[: 2 * number + 1]).text:
            trained = Rendered(segments[: 2 * number + 2])
            last = Segment(renderer.sampling_only, is_model=False)
            shown = renderer.shown(messages[:place], tools).segments
            return Difference(place, Rendered((*shown, last)), trained)
    return None


def served_difference(
    renderer: Renderer, messages: Sequence[Message], tools: Sequence[JsonObject]
) -> Difference | None:
    """Find the first turn before which a server that renders anew shows another text than our sampler.

    Raises:
        RenderError: A message cannot be rendered, or the template refuses to show it.
    """
    segments = renderer.conversation(messages, tools).segments
    for number, place in enumerate(_turns(messages)):
        sampled = Rendered(segments[: 2 * number + 1])
        text = renderer.whole(messages[:place], tools, is_prompt=True)
        if text != sampled.text:
            return Difference(place, sampled, Rendered((Segment(text, is_model=False),)))
    return None


def _turns(messages: Sequence[Message]) -> list[int]:
    return [i for i, message in enumerate(messages) if isinstance(message, AssistantMessage)]
