"""Which question something belongs to: the key of gold, hints, errors and reflections."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple, Self

from pydantic import Field, ValidationError, field_validator

from astra_mcp.errors import ConfigError, fault_words
from astra_mcp.trajectory import Trajectory
from astra_mcp.types import FrozenModel
from training.export.row_files import read_rows
from training.rollout.plan import Source

__all__ = ["QuestionKey", "QuestionRow", "read_question_rows"]


class QuestionKey(NamedTuple):
    """An environment's question."""

    environment: str
    question: str | None
    """Id of a further question; None is the main one."""

    def __str__(self) -> str:
        return self.environment if self.question is None else f"{self.environment}/{self.question}"

    @classmethod
    def of_source(cls, source: Source) -> Self | None:
        """Give the key of what is played; None where it is no environment."""
        if source.kind != "environment":
            return None
        return cls(source.name, source.question)

    @classmethod
    def of(cls, trajectory: Trajectory) -> Self | None:
        """Give the key of what was played; None where it was no environment."""
        name = trajectory.environment
        return None if name is None else cls(name, trajectory.question)


class QuestionRow(FrozenModel):
    """A text about a question, as a file holds it."""

    environment: str = Field(min_length=1)
    question: str | None = None
    kind: str | None = None
    """What text it is, where a file holds several kinds."""
    text: str

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str) -> str:
        if not text.strip():
            raise ValueError("it says nothing")
        return text

    @property
    def key(self) -> QuestionKey:
        """The question."""
        return QuestionKey(self.environment, self.question)


def read_question_rows(
    file: Path, check: Callable[[QuestionRow], str | None]
) -> Iterator[QuestionRow]:
    """Read a file of texts about questions.

    Args:
        file: Of rows (.jsonl, .ndjson, .parquet).
        check: Says what is wrong with a row; None where nothing is.

    Raises:
        ConfigError: It cannot be read, or a row is none; names the row.
    """
    for number, row in read_rows(file):
        if isinstance(row, str):
            raise ConfigError(f"{file}: row {number} {row}")
        try:
            read = QuestionRow.model_validate(row)
        except ValidationError as error:
            fault = error.errors(include_url=False)[0]
            place = ".".join(map(str, fault["loc"]))
            words = fault_words(fault["type"], fault["msg"])
            raise ConfigError(f"{file}: row {number}: {place}: {words}") from None
        wrong = check(read)
        if wrong is not None:
            raise ConfigError(f"{file}: row {number}: {wrong}")
        yield read
