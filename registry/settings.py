"""The section ``registry`` of the settings."""

from enum import StrEnum

from pydantic import SecretStr

from astra_mcp.types import FrozenModel

__all__ = ["EmbedderKind", "RegistrySettings"]


class EmbedderKind(StrEnum):
    """What makes the vectors that tools are searched by."""

    LEXICAL = "lexical"
    """Words and parts of words, hashed: needs no model and no download."""
    LOCAL = "local"
    """A sentence-transformers model on this machine: ``models.embedding.model`` is its path or name."""
    ENDPOINT = "endpoint"
    """The endpoint of ``models.embedding``."""


class RegistrySettings(FrozenModel):
    """Where tool documents, vectors and the index of episodes are kept."""

    url: SecretStr | None = None
    """Of a database, such as ``postgresql://user:password@host/name``; by default a file in the home."""
    embedder: EmbedderKind = EmbedderKind.LEXICAL
