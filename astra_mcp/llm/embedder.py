"""Vectors from an OpenAI-compatible endpoint."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, Field, ValidationError

from astra_mcp.concurrency import map_concurrently
from astra_mcp.errors import ModelError, ModelFault, fault_words
from astra_mcp.llm.config import EmbeddingConfig, Role
from astra_mcp.llm.endpoint import Endpoint, open_endpoint
from astra_mcp.llm.usage import Budget
from astra_mcp.types import JsonObject

__all__ = ["EndpointEmbedder", "open_embedder"]

Vectors = npt.NDArray[np.float32]

_PATH = "/embeddings"


class EndpointEmbedder:
    """Embeds texts by a model behind an endpoint; made by :func:`open_embedder`."""

    def __init__(self, config: EmbeddingConfig, endpoint: Endpoint) -> None:
        self._config = config
        self._endpoint = endpoint
        self._dimensions = config.dimensions
        """As configured, else as the first answer had them."""

    @property
    def model(self) -> str:
        """Names what made the vectors: model, dimensions where configured, and revision."""
        config = self._config
        size = f"/{config.dimensions}" if config.dimensions is not None else ""
        return f"{config.model}{size}" + (f"#{config.revision}" if config.revision else "")

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        """Embed texts, in their order and in batches at once; vectors are of length 1.

        Blank texts are not sent; their vectors are zero.

        Args:
            texts: Any number.
            as_query: Put the configured instruction before each text, in the words of Qwen3-Embedding.

        Raises:
            BudgetSpentError: The budget does not allow a call.
            ModelError: A batch failed, after retries; the others are given up.
        """
        places = [place for place, text in enumerate(texts) if text.strip()]
        instruction = self._config.query_instruction if as_query else None
        prefix = "" if instruction is None else f"Instruct: {instruction}\nQuery:"
        size = self._config.batch_size
        batches = [places[start : start + size] for start in range(0, len(places), size)]

        async def embed_batch(batch: Sequence[int]) -> Vectors:
            return await self._embed([prefix + texts[place] for place in batch])

        found = await map_concurrently(embed_batch, batches, limit=self._config.max_concurrency)
        vectors = np.zeros((len(texts), self._dimensions or 0), dtype=np.float32)
        if found:
            vectors[places] = np.concatenate(found)
        return vectors

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        config = self._config
        body: JsonObject = {
            "model": config.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if config.dimensions is not None:
            body["dimensions"] = config.dimensions
        document = await self._endpoint.post(_PATH, body)
        try:
            rows = _Embeddings.model_validate(document).in_order()
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, fault["loc"]))
            words = fault_words(fault["type"], fault["msg"])
            raise self._malformed(f"{place}: {words}") from None
        if len(rows) != len(texts):
            raise self._malformed(f"{len(rows)} vectors for {len(texts)} texts")
        return self._normalised(rows)

    def _normalised(self, rows: Sequence[Sequence[float]]) -> Vectors:
        wanted = self._dimensions or len(rows[0])
        sizes = {len(row) for row in rows}
        if sizes != {wanted}:
            got = ", ".join(map(str, sorted(sizes)))
            raise self._malformed(f"vectors of {got} dimensions in place of {wanted}")
        vectors = np.asarray(rows, dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(lengths).all():
            raise self._malformed("a vector holds what is no number")
        self._dimensions = wanted
        return np.divide(vectors, lengths, where=lengths > 0, out=np.zeros_like(vectors)).astype(
            np.float32
        )

    def _malformed(self, words: str) -> ModelError:
        return self._endpoint.error(ModelFault.MALFORMED, f"its answer is no embedding ({words})")


class _Row(BaseModel):
    index: int
    embedding: list[float] = Field(min_length=1)


class _Embeddings(BaseModel):
    data: list[_Row]

    def in_order(self) -> list[list[float]]:
        """Order the vectors by the places of their texts; a place without or with two gives none."""
        rows = {row.index: row.embedding for row in self.data}
        return [rows[place] for place in range(len(self.data)) if place in rows]


@asynccontextmanager
async def open_embedder(
    config: EmbeddingConfig, *, budget: Budget | None = None
) -> AsyncGenerator[EndpointEmbedder]:
    """Open the model of embeddings; its connections close with the context.

    Raises:
        ConfigError: No model or no key is configured, the address is none, or the cost of a limited
            budget cannot be known.
    """
    async with open_endpoint(Role.EMBEDDING, config, budget) as endpoint:
        yield EndpointEmbedder(config, endpoint)
