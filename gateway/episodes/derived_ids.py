"""Ids that are derived from the gateway's secret: the same after a restart, and known to nobody else.

Knows the secret and names; knows neither episodes nor servers.
"""

import hmac
from collections import OrderedDict
from dataclasses import dataclass, field

from astra_mcp.call_record import EpisodeId

__all__ = ["DerivedIds"]

_MAX_REMEMBERED = 1024


@dataclass(eq=False)
class DerivedIds:
    """Derives ids, and remembers which state of an endpoint each caller had last."""

    _secret: bytes = field(repr=False)
    _generations: OrderedDict[tuple[str, str], int] = field(
        default_factory=OrderedDict[tuple[str, str], int], init=False
    )

    def upstream_key(self, episode: EpisodeId, server: str) -> str:
        """The key under which a server knows an episode; it does not tell the episode's id."""
        return self._digest(f"{episode}\0{server}")

    def state(self, endpoint: str, caller: str, generation: int) -> EpisodeId:
        """The id of a caller's state at an interactive endpoint; each that follows another has its own."""
        return EpisodeId(
            self._digest("\0".join(("interactive", endpoint, caller, str(generation))))[:32]
        )

    def generation(self, endpoint: str, caller: str) -> int:
        """The last generation that is remembered, from 0; later ones may be found in the records."""
        return self._generations.get((endpoint, caller), 0)

    def remember(self, endpoint: str, caller: str, generation: int) -> None:
        """Spare the search next time; what is forgotten is found again from the records."""
        self._generations[endpoint, caller] = generation
        if len(self._generations) > _MAX_REMEMBERED:
            self._generations.popitem(last=False)

    def _digest(self, message: str) -> str:
        return hmac.new(self._secret, message.encode(), "sha256").hexdigest()
