"""Who says what a server is about: a model, or the likeness with descriptions of the domains."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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

__all__ = ["ModelLabeller", "domain_texts", "open_similarity_labeller"]

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


class _Answer(BaseModel):
    """What a server is about."""

    model_config = ConfigDict(frozen=True)

    reason: str
    domain: Domain | Literal["none"]


@dataclass(frozen=True, slots=True)
class ModelLabeller:
    """Asks a model."""

    model: Model
    by: Literal["model"] = "model"

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
        answer = (await self.model.ask(prompt, _Answer)).domain
        return None if answer == "none" else answer


@dataclass(frozen=True, slots=True)
class SimilarityLabeller:
    """Compares vectors; made by :func:`open_similarity_labeller`."""

    embedder: Embedder
    domains: Sequence[Domain]
    vectors: Vectors
    """Of the domains, made by the embedder."""
    by: Literal["embedding"] = "embedding"

    async def label(self, server: DescribedServer) -> Domain | None:
        """Take the domain that a server is most alike, where none other is nearly as much.

        Raises:
            ModelError: The embedder failed.
        """
        # Names of tools say more of what a server is about than their descriptions.
        names = " ".join(name for name, _ in server.tools)
        text = f"{server.title}. {server.description[:_MAX_DESCRIPTION]} {names}"
        [vector] = await self.embedder.embed([re.sub(r"\s+", " ", text)])
        likeness = self.vectors @ vector
        second, best = (int(place) for place in np.argsort(likeness, kind="stable")[-2:])
        spread = float(likeness.std())
        if not spread or (likeness[best] - likeness[second]) / spread < _MIN_LEAD:
            return None
        return self.domains[best]


async def open_similarity_labeller(embedder: Embedder) -> SimilarityLabeller:
    """Embed the descriptions of all domains.

    Raises:
        ModelError: The embedder failed.
    """
    texts = domain_texts()
    vectors = await embedder.embed([f"{text.english} {text.chinese}" for text in texts.values()])
    return SimilarityLabeller(embedder, tuple(texts), vectors)


@cache
def domain_texts() -> Mapping[Domain, DomainText]:
    """Read the descriptions that lie beside this module."""
    written = files("registry.intake").joinpath("domain_texts.toml").read_text(encoding="utf-8")
    return TypeAdapter(dict[Domain, DomainText]).validate_python(tomllib.loads(written))
