"""Who says what a server is about: a model, or the likeness with descriptions of the domains."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter

from astra_mcp.domains import Domain
from astra_mcp.embedding import Embedder, Vectors
from astra_mcp.llm.model import Model
from astra_mcp.llm.prompt import load_prompt
from astra_mcp.types import FrozenModel
from registry.intake.domain_labels import DescribedServer

__all__ = [
    "DomainText",
    "ModelLabeller",
    "SimilarityLabeller",
    "domain_texts",
    "open_similarity_labeller",
]

_MAX_DESCRIPTION = 1000
_MAX_TOOL_DESCRIPTION = 200
"""Characters."""
_MIN_LEAD = 2.0
"""How far the best domain must be ahead of the second one, in standard deviations of the likenesses with
all domains: it does not depend on how the likenesses of an embedder are spread. See docs/search.md for how
often it is right."""


class DomainText(FrozenModel):
    """How a domain is described, in words of English and Chinese."""

    summary: str
    """What belongs to it, in one line."""
    english: str
    """Words that servers of the domain use."""
    chinese: str

    @property
    def terms(self) -> str:
        """The words of both languages, for comparing a server with them."""
        return f"{self.english} {self.chinese}"


class _Answer(BaseModel):
    """What a server is about."""

    model_config = ConfigDict(frozen=True)

    reason: str
    domain: Domain | Literal["none"]


class ModelLabeller:
    """Asks a model."""

    def __init__(self, model: Model) -> None:
        self.by: Literal["model"] = "model"
        self._model = model

    async def label(self, server: DescribedServer) -> Domain | None:
        """Ask about a server.

        Raises:
            BudgetSpentError: The budget does not allow the call.
            ModelError: The model failed, or named no domain of the list.
        """
        domains = {domain.value: text.summary for domain, text in domain_texts().items()}
        document = {
            "title": server.title,
            "description": server.description[:_MAX_DESCRIPTION],
            "labels": list(server.labels),
            "tools": {name: text[:_MAX_TOOL_DESCRIPTION] for name, text in server.tools},
        }
        prompt = load_prompt("registry.intake.prompts", "domain").render(
            domains=domains, document=document
        )
        answer = (await self._model.ask(prompt, _Answer)).domain
        return None if answer == "none" else answer


class SimilarityLabeller:
    """Compares vectors; made by :func:`open_similarity_labeller`."""

    def __init__(self, embedder: Embedder, domains: Sequence[Domain], vectors: Vectors) -> None:
        """Use vectors of the domains, made by the embedder."""
        self.by: Literal["embedding"] = "embedding"
        self._embedder = embedder
        self._domains = domains
        self._vectors = vectors

    async def label(self, server: DescribedServer) -> Domain | None:
        """Take the domain that a server is most alike, where none other is nearly as much.

        Raises:
            ModelError: The embedder failed.
        """
        [vector] = await self._embedder.embed([_text(server)])
        likeness = self._vectors @ vector
        second, best = (int(place) for place in np.argsort(likeness, kind="stable")[-2:])
        spread = float(likeness.std())
        if not spread or (likeness[best] - likeness[second]) / spread < _MIN_LEAD:
            return None
        return self._domains[best]


async def open_similarity_labeller(embedder: Embedder) -> SimilarityLabeller:
    """Embed the descriptions of all domains.

    Raises:
        ModelError: The embedder failed.
    """
    texts = domain_texts()
    vectors = await embedder.embed([text.terms for text in texts.values()])
    return SimilarityLabeller(embedder, tuple(texts), vectors)


def _text(server: DescribedServer) -> str:
    """What is compared: names of tools say more of what a server is about than their descriptions."""
    names = " ".join(name for name, _ in server.tools)
    return re.sub(r"\s+", " ", f"{server.title}. {server.description[:_MAX_DESCRIPTION]} {names}")


@cache
def domain_texts() -> Mapping[Domain, DomainText]:
    """Read the descriptions that lie beside this module."""
    written = files("registry.intake").joinpath("domain_texts.toml").read_text(encoding="utf-8")
    return TypeAdapter(dict[Domain, DomainText]).validate_python(tomllib.loads(written))
