"""What a call is told, before it takes the form of an output schema."""

from dataclasses import dataclass, field
from typing import cast

from astra_mcp.types import JsonObject, JsonValue
from astra_mcp.values.making import LISTED
from servers.emulated.offline.learning import Noun

__all__ = ["Answer", "listed"]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and what else is known of it."""

    shown: JsonObject
    """All of it, where no schema says otherwise."""
    more: JsonObject = field(default_factory=dict[str, JsonValue])
    """What an output schema may ask for by other names."""

    @property
    def known(self) -> JsonObject:
        """Everything, for an output schema to choose from."""
        return {**self.more, **self.shown}


def listed(noun: Noun, rows: list[JsonObject], more: JsonObject | None = None) -> Answer:
    """Entities, under what the server calls many of them.

    Args:
        noun: Theirs.
        rows: They themselves.
        more: What is told beside them.
    """
    entities = cast("list[JsonValue]", rows)
    names = dict.fromkeys(
        ("count", "total", "total_count", "total_results", "num_results"), len(rows)
    )
    return Answer({noun.shown: entities, **(more or {})}, {**names, LISTED: entities})
