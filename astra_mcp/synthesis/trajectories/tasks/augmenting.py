"""Variations of a task along three axes: diversity, complexity, persona.

Source: ASTRA sec. 2.1.3, the set of tasks becomes T with A(T); each task stands in it once as it is.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from pydantic import ConfigDict, Field

from astra_mcp.answers import tokenize
from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import PipelineError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks, FreeAnswer
from astra_mcp.synthesis.trajectories.asking import ask, stage_version
from astra_mcp.synthesis.trajectories.server import Documents
from astra_mcp.synthesis.trajectories.task import Axis, TaskDraft
from astra_mcp.synthesis.trajectories.tasks.details import details_of
from astra_mcp.synthesis.trajectories.tasks.personas import (
    Persona,
    draw_personas,
    personas_hash,
)
from astra_mcp.synthesis.trajectories.tasks.server_tasks import named_language
from astra_mcp.synthesis.trajectories.tasks.shown_tools import (
    expected_tools,
    servers_of,
    shown_documents,
)
from astra_mcp.types import FrozenModel

__all__ = ["Augmenting", "Variations", "WrittenVariation"]

_AXES: Final = (Axis.DIVERSITY, Axis.COMPLEXITY, Axis.PERSONA)
"""Each has a prompt of its name."""
_MAX_AT_ONCE: Final = 16


class Variations(FrozenModel):
    """How many variations of each axis a task gets."""

    diversity: int = Field(default=1, ge=0, le=8)
    complexity: int = Field(default=1, ge=0, le=8)
    persona: int = Field(default=1, ge=0, le=8)

    @property
    def num(self) -> int:
        """How many in all."""
        return self.diversity + self.complexity + self.persona

    def of(self, axis: Axis) -> int:
        """How many of one axis; none of the original's."""
        return {**dict(self)}.get(axis, 0)


class WrittenVariation(FrozenModel):
    """What is to be a task: the original as it is, or a variation as the model wrote it."""

    original: TaskDraft
    axis: Axis
    query: str
    persona: str | None = None
    repeats: str | None = None
    """Id of the item of the same original whose words it says again."""


class _Varied(FreeAnswer):
    model_config = ConfigDict(extra="ignore")

    query: str


@dataclass(frozen=True, slots=True)
class _Wanted:
    axis: Axis
    sample: int
    """Of its axis, from 0."""
    persona: Persona | None = None


@dataclass(frozen=True, slots=True)
class Augmenting:
    """Makes of an original itself and its variations, each an item of its own."""

    model: Asks
    name_of_model: str
    documents: Documents = field(repr=False)
    variations: Variations = field(default_factory=Variations)
    seed: int = 0
    """Draws the personas, and the tools that a prompt has room for."""
    name = "augment"
    takes = TaskDraft

    @property
    def version(self) -> str:
        """Of the prompts, the model, the personas and what is asked for."""
        return stage_version(
            *_AXES,
            model=self.name_of_model,
            variations=self.variations,
            personas=personas_hash(),
            seed=self.seed,
        )

    async def run(self, item: Item[TaskDraft]) -> Made[WrittenVariation] | Rejected:
        """Vary one task.

        Raises:
            PipelineError: It is a variation itself.
        """
        draft = item.value
        if draft.axis is not Axis.ORIGINAL:
            raise PipelineError(f"the item {item.id!r} is a variation: only originals are varied")

        async def vary(wanted: _Wanted) -> str:
            return await self._vary(draft, wanted)

        wanted = [*self._wanted(item)]
        queries = await map_concurrently(vary, wanted, limit=_MAX_AT_ONCE)
        itself = WrittenVariation(original=draft, axis=Axis.ORIGINAL, query=draft.query)
        said = {_words(draft.query): item.id}
        outputs = [Item(id=item.id, value=itself)]
        for one, query in zip(wanted, queries, strict=True):
            id = f"{item.id}/{one.axis}-{one.sample + 1}"
            first = said.setdefault(_words(query), id)
            variation = WrittenVariation(
                original=draft,
                axis=one.axis,
                query=query,
                persona=one.persona.name if one.persona else None,
                repeats=None if first == id else first,
            )
            outputs.append(Item(id=id, value=variation))
        return Made.of(*outputs)

    def _wanted(self, item: Item[TaskDraft]) -> Iterator[_Wanted]:
        num_people, language = self.variations.persona, item.value.language
        people = draw_personas(item.id, language, num_people, seed=self.seed)
        for axis in _AXES:
            for sample in range(self.variations.of(axis)):
                yield _Wanted(axis, sample, people[sample] if axis is Axis.PERSONA else None)

    async def _vary(self, draft: TaskDraft, wanted: _Wanted) -> str:
        values: dict[str, object] = {}
        if wanted.axis is Axis.COMPLEXITY:
            servers, first = servers_of(draft, self.documents), expected_tools(draft)
            values["documents"] = shown_documents(servers, first=first, seed=self.seed)
        elif wanted.persona is not None:
            values["persona"] = wanted.persona.model_dump(mode="json", exclude={"name"})
        answer = await ask(
            self.model,
            wanted.axis,
            _Varied,
            sample=wanted.sample,
            language=named_language(draft.language),
            task=draft.query,
            details=[*details_of(draft.query)],
            **values,
        )
        return answer.query.strip()


def _words(query: str) -> tuple[str, ...]:
    """What a query says, whatever its punctuation and case; one without words stands for itself."""
    return tokenize(query) or (query.strip(),)
