"""What is known of a server without starting it: a card, kept under the home by the hash of its entry.

Knows files and JSON. A card that cannot be read is as good as none.
"""

import logging
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import orjson
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field, ValidationError

from astra_mcp.mcp.request_context import Era
from astra_mcp.types import FrozenModel

__all__ = ["Card", "CardFile", "EraFacts"]

CARD_VERSION = 1
FORGET_SECONDS = 86400.0
"""How long a card is believed that a server does not speak an era."""

_log = logging.getLogger(__name__)


class EraFacts(FrozenModel):
    """What a server said of itself in one era."""

    version: str
    """The protocol revision agreed on."""
    capabilities: dict[str, Any]
    instructions: str | None = None
    server_info: dict[str, Any] | None = None

    @property
    def era(self) -> Era:
        """In which the revision agreed on belongs."""
        return Era.MODERN if self.version in MODERN_PROTOCOL_VERSIONS else Era.HANDSHAKE


class Card(FrozenModel):
    """What is known of one server."""

    card_version: int = CARD_VERSION
    eras: dict[Era, EraFacts | None] = Field(default_factory=dict[Era, EraFacts | None])
    """None for an era that it does not speak; absent where nobody has tried."""
    tools: tuple[dict[str, Any], ...] | None = None
    """As it lists them, all pages; None where nobody has asked."""
    is_old_sse: bool = False
    """It speaks the transport of 2024-11-05."""

    def with_era(self, era: Era, facts: EraFacts | None) -> Self:
        """Learn of an era."""
        return self.model_copy(update={"eras": {**self.eras, era: facts}})

    @property
    def facts(self) -> EraFacts | None:
        """Of the newest era that it speaks."""
        return self.eras.get(Era.MODERN) or self.eras.get(Era.HANDSHAKE)


class CardFile:
    """One card on disk."""

    def __init__(self, folder: Path, config_hash: str) -> None:
        self._path = folder / f"{config_hash}.json"

    def read(self) -> Card:
        """Read the card; an empty one where there is none that can be read."""
        try:
            changed = self._path.stat().st_mtime
            card = Card.model_validate(orjson.loads(self._path.read_bytes()))
        except FileNotFoundError:
            return Card()
        except (OSError, orjson.JSONDecodeError, ValidationError) as error:
            _log.warning("%s is passed over: %s", self._path, type(error).__name__)
            return Card()
        if card.card_version != CARD_VERSION:
            return Card()
        if time.time() - changed > FORGET_SECONDS:  # it may have learned the other era since
            spoken = {era: facts for era, facts in card.eras.items() if facts is not None}
            card = card.model_copy(update={"eras": spoken})
        return card

    def write(self, card: Card) -> None:
        """Put the card in the place of the one before.

        A disk that is full, or a document that cannot be written, only costs the next start time.
        """
        temporary = ""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, temporary = tempfile.mkstemp(dir=self._path.parent, prefix=".card-")
            with os.fdopen(handle, "wb") as file:
                file.write(orjson.dumps(card.model_dump(mode="json")))
            Path(temporary).replace(self._path)
        except (OSError, ValueError, orjson.JSONEncodeError) as error:
            # What a server says may nest deeper than can be written, or hold a number that is too long.
            _log.warning("%s is not written: %s", self._path, error)
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
