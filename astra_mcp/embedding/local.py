"""Vectors from a sentence-transformers model on this machine; the only home of that library.

It takes seconds to import and brings torch, so it is imported when a model is opened and not before. It
comes with the extra ``embedding``.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from hashlib import file_digest, sha256
from pathlib import Path
from typing import Any, cast

import anyio
import numpy as np
from anyio import CapacityLimiter

from astra_mcp.embedding import Vectors
from astra_mcp.errors import ConfigError, ModelError, ModelFault

__all__ = ["LocalEmbedder", "open_local_embedder"]

_BATCH = 32
"""Texts that the model gets at once, and between two chances to be cancelled."""


class LocalEmbedder:
    """An :class:`~astra_mcp.embedding.Embedder` over a loaded model; made by :func:`open_local_embedder`."""

    def __init__(self, model: str, loaded: Any) -> None:
        """Use a loaded ``SentenceTransformer``.

        Args:
            model: Names its vectors.
            loaded: Not used by anybody else.
        """
        self.model = model
        self._loaded = loaded
        self._limiter = CapacityLimiter(1)

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        """Embed texts, in their order; queries with the prompt that the model has for them.

        Raises:
            ModelError: The model failed, such as for want of memory.
        """
        encode = self._loaded.encode_query if as_query else self._loaded.encode_document
        parts: list[Vectors] = []
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            parts.append(
                await anyio.to_thread.run_sync(
                    self._encode, encode, batch, limiter=self._limiter, abandon_on_cancel=True
                )
            )
        return np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.float32)

    def _encode(self, encode: Any, batch: list[str]) -> Vectors:
        try:
            vectors = encode(
                batch,
                batch_size=_BATCH,
                show_progress_bar=False,
                convert_to_numpy=True,
                normalize_embeddings=True,
            )
        except RuntimeError as error:  # torch has no other: memory, devices, shapes
            msg = f"the embedding model {self.model!r} failed: {_first_line(error)}"
            raise ModelError(msg, ModelFault.SERVER_ERROR) from None
        return np.asarray(vectors, dtype=np.float32)


@asynccontextmanager
async def open_local_embedder(source: str) -> AsyncGenerator[LocalEmbedder]:
    """Load a model.

    Args:
        source: The folder of a model, or a name that sentence-transformers finds or downloads.

    Raises:
        ConfigError: The library is not installed, or there is no such model.
    """
    yield await anyio.to_thread.run_sync(partial(_load, source), abandon_on_cancel=True)


def _load(source: str) -> LocalEmbedder:
    try:
        import sentence_transformers  # noqa: PLC0415 # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ConfigError(
            f"a local embedding model needs sentence-transformers ({_first_line(error)}): "
            "install astra-mcp[embedding]"
        ) from error
    try:
        loaded = cast("Any", sentence_transformers).SentenceTransformer(source)
    except (OSError, ValueError, RuntimeError) as error:
        msg = f"the embedding model {source!r} cannot be loaded: {_first_line(error)}"
        raise ConfigError(msg) from error
    return LocalEmbedder(_name(source), loaded)


def _name(source: str) -> str:
    """Name the vectors of a model: a folder by its content too, which may change under one path."""
    folder = Path(source)
    if not folder.is_dir():
        return source
    digest = sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        digest.update(file.relative_to(folder).as_posix().encode())
        with file.open("rb") as content:
            digest.update(file_digest(content, "sha256").digest())
    return f"{folder.resolve().name}@{digest.hexdigest()[:12]}"


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0][:300]
