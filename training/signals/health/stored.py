"""Structure of stored conversations, whose turns were parsed when they were played.

What was parsed away cannot be seen any more: where blanks stood, of which form a broken call was, and whether
a turn of control tokens alone had one of a call. What stays is what the renderer kept: words with control
tokens in them, calls, calls that could not be read, and that the last turn was cut.
"""

from collections.abc import Sequence

from astra_mcp.trajectory import AssistantMessage, Message, StopReason
from training.rollout.agent import UNREADABLE
from training.signals.health.structure import Classifier, Reason, State, Structure

__all__ = ["structures_of_messages"]


def structures_of_messages(
    messages: Sequence[Message], classifier: Classifier, stop: StopReason | None
) -> list[Structure]:
    """Classify the turns of the agent, in their order.

    Args:
        messages: A conversation.
        classifier: Knows the control tokens that may stand in words.
        stop: Why the agent stopped, where that is known: the last turn was cut at ``length``.
    """
    turns = [message for message in messages if isinstance(message, AssistantMessage)]
    cut = len(turns) - 1 if stop is StopReason.LENGTH else None
    return [_structure(turn, classifier, is_cut=at == cut) for at, turn in enumerate(turns)]


def _structure(turn: AssistantMessage, classifier: Classifier, *, is_cut: bool) -> Structure:
    words = turn.content or ""
    strays = [tag for tag in sorted(classifier.controls) if tag in words]
    controls = {tag: words.count(tag) for tag in strays}
    broken = [call for call in turn.tool_calls if call.function.name == UNREADABLE]
    num_calls = len(turn.tool_calls) - len(broken)
    found = {
        Reason.STRAY_TAG: bool(strays),
        Reason.NO_END: is_cut,
        Reason.UNREADABLE_CALL: bool(broken),
    }
    reasons = tuple(reason for reason in Reason if found.get(reason))
    if not turn.tool_calls and not classifier.without_tags(words).strip():
        what = Reason.ONLY_TAGS if strays else Reason.EMPTY
        return Structure(
            State.COLLAPSED, (what, *((Reason.NO_END,) if is_cut else ())), 0, controls
        )
    if reasons:
        return Structure(State.POLLUTED, reasons, num_calls, controls)
    return Structure(State.TOOL_CALL if num_calls else State.RESPONSE, (), num_calls, controls)
