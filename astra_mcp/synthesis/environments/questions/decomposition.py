"""The first stage: a model writes questions with their sub-questions (ASTRA sec. 2.2.1, prompt 3 of A.3)."""

from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.asking import Asks
from astra_mcp.synthesis.environments.asking import ask, stage_version
from astra_mcp.synthesis.environments.questions.instance import Drafts, Instance
from astra_mcp.synthesis.environments.questions.source import Source
from astra_mcp.synthesis.environments.questions.topology import Wanted

__all__ = ["Decomposition"]

_LANGUAGES = {"en": "English", "zh": "Chinese (Simplified)"}


@dataclass(frozen=True, slots=True)
class Decomposition:
    """Makes of a source as many instances as are asked for."""

    model: Asks
    name_of_model: str
    writer: str
    """The model as provenance names it, whatever its revision."""
    wanted: Wanted
    num_samples: int = 1
    name = "decompose"
    takes = Source

    @property
    def version(self) -> str:
        """Of the prompt, the model and what is asked for."""
        return stage_version(
            "decompose", model=self.name_of_model, wanted=self.wanted, samples=self.num_samples
        )

    async def run(self, item: Item[Source]) -> Made[Instance] | Rejected:
        """Ask for the instances of one source."""
        source = item.value
        least, most = self.wanted.hops
        drafts = await ask(
            self.model,
            "decompose",
            Drafts,
            count=self.num_samples,
            language=_LANGUAGES[source.language],
            types=", ".join(self.wanted.types),
            least=least,
            most=most,
            labels=", ".join(Domain),
            domain=source.domain or "any",
            corpus=source.corpus,
            question=source.question,
        )
        if not drafts.instances:
            return Rejected("nothing_written", "the model wrote no instance of this source")
        return Made.of(
            *(
                Item(
                    id=f"{item.id}/{number}",
                    value=Instance(
                        **dict(draft),
                        source=source.id,
                        writer=self.writer,
                        corpus=source.corpus,
                        language=source.language,
                        asked_question=source.question,
                    ),
                )
                for number, draft in enumerate(drafts.instances[: self.num_samples], 1)
            )
        )
