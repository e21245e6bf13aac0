"""Single trajectories to read in the report: what was said, thought and called, and what the judge said."""

from collections.abc import Iterator
from typing import Final

from astra_mcp.report.html.parts import Passage, Reading
from astra_mcp.trajectory import AssistantMessage, Message, SystemMessage, ToolMessage, Trajectory
from training.rewards.score import DimensionScore, Score, State

__all__ = ["Chosen", "reading_of"]

_LOWEST: Final = 12
_HIGHEST: Final = 4
_WITHOUT: Final = 4
_MAX_TEXT: Final = 4000
"""Characters of one text; what is longer is cut, and says so."""
_MAX_PASSAGES: Final = 120
_MAX_CAPTION: Final = 140

_Row = tuple[Trajectory, Score]


class Chosen:
    """Keeps the trajectories that are worth reading, of any number that goes by."""

    def __init__(self) -> None:
        self._lowest: list[_Row] = []
        self._highest: list[_Row] = []
        self._without: list[_Row] = []

    def add(self, trajectory: Trajectory, score: Score) -> None:
        """Take one more."""
        row = (trajectory, score)
        if score.state is not State.SCORED:
            self._without = [*self._without, row][:_WITHOUT]
            return
        self._lowest = sorted([*self._lowest, row], key=_total)[:_LOWEST]
        self._highest = sorted([*self._highest, row], key=lambda r: -_total(r))[:_HIGHEST]

    def __iter__(self) -> Iterator[_Row]:
        """Give each once: the lowest first, then the highest, then those without a total."""
        rows = {row[1].digest: row for row in [*self._lowest, *self._highest, *self._without]}
        yield from rows.values()


def _total(row: _Row) -> float:
    return row[1].total or 0.0


def reading_of(trajectory: Trajectory, score: Score) -> Reading:
    """Lay a trajectory out for reading."""
    total = "no total" if score.total is None else f"total {score.total:.3f}"
    asked = next((m.content for m in trajectory.messages if m.role == "user"), "")
    caption = " · ".join([total, trajectory.episode_id or "no episode", " ".join(asked.split())])
    passages = [
        passage for message in trajectory.messages for passage in _passages(message, trajectory)
    ]
    more = len(passages) - _MAX_PASSAGES
    if more > 0:
        passages = passages[:_MAX_PASSAGES]
        passages.append(Passage(label="…", text=f"{more} more passages are in the trajectory file"))
    return Reading(
        caption=caption if len(caption) <= _MAX_CAPTION else caption[: _MAX_CAPTION - 1] + "…",
        passages=[*_scores(score), *passages],
    )


def _passages(message: Message, trajectory: Trajectory) -> Iterator[Passage]:
    if isinstance(message, ToolMessage):
        note = next(n for n in trajectory.calls if n.tool_call_id == message.tool_call_id)
        failed = ", failed" if note.is_error else ""
        on_purpose = " on purpose" if note.injected is not None else ""
        label = f"result of {message.tool_call_id}{failed}{on_purpose}"
        yield Passage(label=label, text=_cut(message.content))
        return
    if isinstance(message, AssistantMessage):
        if message.reasoning_content:
            thought = _cut(message.reasoning_content)
            yield Passage(label="thought", text=thought, is_folded=True)
        if message.content:
            yield Passage(label="assistant", text=_cut(message.content))
        for call in message.tool_calls:
            text = f"{call.function.name}({_cut(call.function.arguments)})"
            yield Passage(label=f"call {call.id}", text=text)
        return
    is_system = isinstance(message, SystemMessage)
    yield Passage(label=message.role, text=_cut(message.content), is_folded=is_system)


def _scores(score: Score) -> Iterator[Passage]:
    if score.reason is not None:
        yield Passage(label="no total", text=score.reason)
    for dimension, each in score.dimensions.items():
        said = "\n".join(f"{a.what}: {a.value:g} by {a.by}, {a.reason}" for a in each.assessments)
        yield Passage(label=f"{dimension.value} {_value(each)}", text=_cut(said), is_folded=True)
    if score.rules is not None:
        languages = score.rules.languages
        text = f"language of the question {languages.question}, of the answer {languages.answer}"
        urls = ", ".join(score.rules.unseen_urls) or "none"
        yield Passage(label="rules", text=f"{text}\nURLs that nobody told: {urls}", is_folded=True)


def _value(each: DimensionScore) -> str:
    if each.value is not None:
        return f"{each.value:.3f}"
    return f"not defined: {each.undefined}" if each.undefined else f"failed: {each.failed}"


def _cut(text: str) -> str:
    if len(text) <= _MAX_TEXT:
        return text
    return (
        f"{text[:_MAX_TEXT]}\n[{len(text) - _MAX_TEXT} more characters are in the trajectory file]"
    )
