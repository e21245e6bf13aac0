"""The last stage: what passed is published, whole or not at all."""

from dataclasses import dataclass, field
from secrets import token_hex

from astra_mcp.errors import ConfigError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.environments.building.assembly import assemble
from astra_mcp.synthesis.environments.building.tool import Built
from astra_mcp.synthesis.environments.publication import Publisher
from astra_mcp.types import FrozenModel

__all__ = ["Published", "Publishing"]


class Published(FrozenModel):
    """What came out of the pipeline."""

    name: str
    content_hash: str
    built: Built


@dataclass(frozen=True, slots=True)
class Publishing:
    """Gives bundles to a publisher."""

    publisher: Publisher
    place: str
    """Where to, so that another place is another outcome."""
    opened: str = field(default_factory=lambda: token_hex(8))
    """Another in each run, so that each looks whether what it published is still there."""
    name = "publish"
    takes = Built

    @property
    def version(self) -> str:
        """Of the place, as this run finds it."""
        return f"{self.place} {self.opened}"

    async def run(self, item: Item[Built]) -> Made[Published] | Rejected:
        """Publish one; what has its name already, with other content, stays."""
        bundle = assemble(item.value)
        try:
            is_there = self.publisher.holds(bundle, None)
        except ConfigError as error:
            return Rejected("name_taken", str(error))
        if not is_there:
            self.publisher.publish(bundle, None)
        published = Published(name=bundle.name, content_hash=bundle.content_hash, built=item.value)
        return Made.of(Item(id=item.id, value=published))
