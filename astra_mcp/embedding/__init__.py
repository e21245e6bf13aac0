"""Vectors of texts: one Protocol, and the embedders that need no endpoint.

Knows texts and numbers, and which text of a tool is embedded; not where vectors are kept. The embedder over
an endpoint is in :mod:`astra_mcp.llm`, since it is a model like the others. ``registry`` and the composition
root may import it.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["Embedder", "Vectors"]

Vectors = npt.NDArray[np.float32]
"""One row a text; rows are of length 1, or all zeros where a text says nothing."""


class Embedder(Protocol):
    """Turns texts into vectors whose cosine says how alike they are."""

    @property
    def model(self) -> str:
        """Names what made the vectors; vectors of different names are never compared."""
        ...

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        """Embed texts, in their order.

        Args:
            texts: Any number; batches are the embedder's own affair.
            as_query: True for what is searched with, False for what is searched; some models differ.

        Raises:
            ModelError: The model could not be asked, after retries.
        """
        ...
