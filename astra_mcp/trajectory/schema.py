"""The JSON Schema of the line of a trajectory file, made of the model."""

from typing import cast

from astra_mcp.trajectory.line import PLAIN_MEMBERS, SCHEMA_VERSION
from astra_mcp.trajectory.trajectory import Trajectory
from astra_mcp.types import JsonObject

__all__ = ["trajectory_schema"]

_ABOUT = (
    "One line of a trajectory file of astra-mcp: one agent in one episode. Every member is there in every "
    "line. A member with contentSchema is JSON text; its value obeys that schema."
)


def trajectory_schema() -> JsonObject:
    """Give the schema of a line (JSON Schema 2020-12), as it stands in ``trajectory.schema.json``."""
    model = Trajectory.model_json_schema()
    fields = cast("dict[str, JsonObject]", model["properties"])
    version: JsonObject = {"const": SCHEMA_VERSION, "type": "integer"}
    members = {name: _member(name, field) for name, field in fields.items()}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"astra-mcp trajectory, version {SCHEMA_VERSION}",
        "description": _ABOUT,
        "type": "object",
        "properties": {"schema_version": version, **members},
        "required": ["schema_version", *members],
        "additionalProperties": False,
        "$defs": model["$defs"],
    }


def _member(name: str, field: JsonObject) -> JsonObject:
    if name in PLAIN_MEMBERS:
        return field
    return {"type": "string", "contentMediaType": "application/json", "contentSchema": field}
