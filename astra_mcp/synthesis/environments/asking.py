"""How stages ask a model: by a prompt of this package, and with a version that follows its template."""

from hashlib import sha256
from typing import Protocol, TypeVar

from pydantic import BaseModel, model_validator

from astra_mcp.errors import ModelError, ModelFault
from astra_mcp.llm.prompt import Prompt, load_prompt
from astra_mcp.types import FrozenModel, json_fault

__all__ = ["Asks", "FreeAnswer", "ask", "incomplete", "stage_version"]

AnswerT = TypeVar("AnswerT", bound=BaseModel)
_PROMPTS = "astra_mcp.synthesis.environments.prompts"


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


async def ask(
    model: Asks, name: str, answer: type[AnswerT], *, sample: int = 0, **values: object
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
    return await model.ask(load_prompt(_PROMPTS, name).render(**values), answer, sample=sample)


def stage_version(*prompts: str, **settings: object) -> str:
    """Name what a stage depends on: the texts of its prompts, and its settings."""
    hashes = [load_prompt(_PROMPTS, name).hash for name in prompts]
    told = [f"{name}={value!r}" for name, value in sorted(settings.items())]
    return sha256("\0".join([*hashes, *told]).encode()).hexdigest()[:16]


def incomplete(name: str, what: str) -> ModelError:
    """Say that an answer is of its form and lacks something, which is a failure of the model."""
    return ModelError(f"the answer to the prompt {name!r} {what}", ModelFault.INVALID)
