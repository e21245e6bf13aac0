"""The tool that a row holds."""

from astra_mcp.types import ToolSpec
from registry.store.tables import ToolRow

__all__ = ["spec_of"]


def spec_of(row: ToolRow) -> ToolSpec:
    """Make the value of a stored tool, equal to the one that was stored."""
    return ToolSpec(
        name=row.name,
        description=row.description,
        input_schema=row.input_schema,
        output_schema=row.output_schema,
        extra=row.extra,
    )
