"""How stages ask a model: by a prompt of their package, and with a version that follows its template."""

from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol, TypeVar

from pydantic import BaseModel, model_validator

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.prompt import Prompt, load_prompt
from astra_mcp.types import FrozenModel, json_fault

__all__ = ["Asks", "FreeAnswer", "PromptBook", "incomplete"]

AnswerT = TypeVar("AnswerT", bound=BaseModel)


class Asks(Protocol):
    """A model that gives structured answers; satisfied by :class:`~astra_mcp.llm.model.Model`."""

    async def ask(self, prompt: Prompt, answer: type[AnswerT], *, sample: int = 0) -> AnswerT:
        """Ask; see :meth:`astra_mcp.llm.model.Model.ask`."""
        ...


class FreeAnswer(FrozenModel):
    """A form with members of any JSON: what could be neither hashed nor sent to a tool is not of it."""

    @model_validator(mode="before")
    @classmethod
    def _is_carried(cls, value: object) -> object:
        if json_fault(value) is not None:
            raise ValueError(
                "holds an integer beyond 64 bits, a number that is not finite, half a character, or more"
                " than 100 levels"
            )
        return value


@dataclass(frozen=True, slots=True)
class PromptBook:
    """The prompts of one package."""

    package: str
    """Its templates lie in it as ``NAME.jinja``."""

    async def ask(
        self, model: Asks, name: str, answer: type[AnswerT], *, sample: int = 0, **values: object
    ) -> AnswerT:
        """Ask a model by one of the prompts.

        Args:
            model: Is asked.
            name: Of the prompt.
            answer: Its form.
            sample: Another number asks the same anew.
            values: What the prompt takes.

        Raises:
            BudgetSpentError: The budget does not allow the call.
            ModelError: No answer of the form came.
            PipelineError: The cache does not answer.
        """
        prompt = load_prompt(self.package, name).render(**values)
        return await model.ask(prompt, answer, sample=sample)

    def version(self, *prompts: str, **settings: object) -> str:
        """Name what a stage depends on: the texts of its prompts, and its settings."""
        hashes = [load_prompt(self.package, name).hash for name in prompts]
        told = [f"{name}={value!r}" for name, value in sorted(settings.items())]
        return sha256("\0".join([*hashes, *told]).encode()).hexdigest()[:16]


def incomplete(name: str, what: str) -> ModelError:
    """Say that an answer is of its form and lacks something, which is a failure of the model."""
    return ModelError(f"the answer to the prompt {name!r} {what}", ModelFault.INVALID)
