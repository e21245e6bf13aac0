"""Answers that were written down, found again by what was asked.

A file of recordings has one JSON object a line, ``{"match": ..., "response": ...}``. ``match`` is either
``{"messages": [...], "schema": {...}}``, or ``{"hash": "..."}`` in their place, or null for the next
request that no other recording matches. ``response`` holds the fields of
:class:`~astra_mcp.completions.policy.Answer`.
"""

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from pydantic import Field, ValidationError, model_validator

from astra_mcp.completions.policy import (
    Answer,
    CompletionRequest,
    Refusal,
    Reply,
    content_id,
    excerpt,
)
from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.types import FrozenModel, JsonObject

__all__ = ["Match", "Recording", "Recordings", "load_recordings"]


class Match(FrozenModel):
    """Which requests a recording answers."""

    hash: str | None = Field(default=None, pattern="^[0-9a-f]{16}$")
    """As the server names it when it has no recording."""
    messages: tuple[JsonObject, ...] | None = None
    json_schema: JsonObject | None = Field(default=None, alias="schema")

    @model_validator(mode="after")
    def _check_one(self) -> Self:
        if (self.hash is None) == (self.messages is None):
            raise ValueError("give either hash or messages")
        if self.hash is not None and self.json_schema is not None:
            raise ValueError("schema is part of the hash; leave it out")
        return self

    @property
    def id(self) -> str:
        """The name of the content."""
        return self.hash or content_id(self.messages, self.json_schema)


class Recording(FrozenModel):
    """One line of a file of recordings."""

    match: Match | None
    response: Answer


class Recordings:
    """A policy that says what was recorded."""

    def __init__(self, recordings: Iterable[Recording]) -> None:
        """Take recordings.

        Args:
            recordings: Several of one content are played in turn, again from the first after the last;
                those of no content once each, in their order.
        """
        self._by_id: dict[str, list[Answer]] = {}
        self._in_order: deque[Answer] = deque()
        for recording in recordings:
            if recording.match is None:
                self._in_order.append(recording.response)
            else:
                self._by_id.setdefault(recording.match.id, []).append(recording.response)

    def __call__(self, request: CompletionRequest) -> Reply:
        """Play the answer to a request, or say that there is none."""
        answers = self._by_id.get(request.id)
        if answers:
            return answers[request.turn % len(answers)]
        if self._in_order:
            return self._in_order.popleft()
        message = (
            f'no recording matches: add one with {{"match": {{"hash": "{request.id}"}}}} '
            f"for the request that ends with {excerpt(request.text)!r}"
        )
        return Refusal(404, message)


def load_recordings(path: Path) -> Recordings:
    """Read a file of recordings.

    Raises:
        ConfigError: It cannot be read, or a line is no recording; names the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # other ends of lines stand in texts
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the recordings {path}: {error}") from None
    recordings: list[Recording] = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                recordings.append(Recording.model_validate_json(line))
            except ValidationError as error:
                fault = error.errors()[0]
                field = ".".join(map(str, fault["loc"]))
                msg = f"{path}, line {number}: {field}: {fault_words(fault['type'], fault['msg'])}"
                raise ConfigError(msg) from None
    return Recordings(recordings)
