"""What runs of both pipelines share: one process works on each, and words by hand stand for a model's."""

import fcntl
from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from astra_mcp.compose.settings import Settings
from astra_mcp.errors import ConfigError
from astra_mcp.llm.config import ModelConfig, Role

if TYPE_CHECKING:
    from astra_mcp.completions import Policy

__all__ = ["alone", "serve_words"]


@contextmanager
def alone(home: Path, run: str) -> Generator[None]:
    """Hold a run for this process while the block lasts: two would count each other's items.

    Raises:
        ConfigError: Another process works on it.
    """
    folder = home / "runs"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (folder / f"{sha256(run.encode()).hexdigest()[:16]}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(
                f"another process works on the run {run!r}: wait until it ends, or name another with --run"
            ) from None
        yield


@asynccontextmanager
async def serve_words(
    settings: Settings, model: str, version: str, policy: "Policy", roles: Iterable[Role]
) -> AsyncGenerator[Settings]:
    """Serve what was written by hand on a loopback port, and name that place for roles of models.

    Args:
        settings: The rest of what is yielded.
        model: Its name.
        version: Of all that was written; of another one no answer of an earlier one is recalled.
        policy: Answers.
        roles: That it plays.
    """
    from astra_mcp.completions import open_completions  # noqa: PLC0415 - a server, for demos alone

    async with open_completions(policy, models=(model,)) as server:
        config = ModelConfig(model=model, revision=version, base_url=server.base_url)
        played = {role.value: config for role in roles}
        yield settings.model_copy(update={"models": settings.models.model_copy(update=played)})
