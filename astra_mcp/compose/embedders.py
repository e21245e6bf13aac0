"""What makes the vectors of tools, as the settings or a command line name it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from astra_mcp.compose.settings import Settings
from astra_mcp.embedding import Embedder
from astra_mcp.embedding.lexical import LexicalEmbedder
from astra_mcp.errors import ConfigError
from registry.settings import EmbedderKind

__all__ = ["open_embedder"]


@asynccontextmanager
async def open_embedder(settings: Settings, kind: EmbedderKind | None) -> AsyncGenerator[Embedder]:
    """Open an embedder.

    Args:
        settings: Say which model there is, and which kind is used by default.
        kind: Which one; None for that of the settings.

    Raises:
        ConfigError: The settings name no model, or what runs it is not installed.
    """
    kind = kind or settings.registry.embedder
    if kind is EmbedderKind.LEXICAL:
        yield LexicalEmbedder()
        return
    config = settings.models.of_embedding()
    if not config.model:
        msg = f"the embedder {kind.value!r} needs a model: set models.embedding.model in astra.toml"
        raise ConfigError(msg)
    if kind is EmbedderKind.LOCAL:
        from astra_mcp.embedding.local import open_local_embedder  # noqa: PLC0415 - an extra

        async with open_local_embedder(config.model) as embedder:
            yield embedder
    else:
        from astra_mcp.llm.embedder import open_embedder as open_at_endpoint  # noqa: PLC0415 - slow

        async with open_at_endpoint(config) as embedder:
            yield embedder
