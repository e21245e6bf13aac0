"""What the conformance fixture holds: the documents of its tools, and its resources.

Written after the requirements that the conformance suites state for each scenario. Data alone: knows
neither the protocol's two eras nor any transport.
"""

import base64
import io
import struct
import wave
import zlib

from astra_mcp.types import JsonObject, JsonValue


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _red_pixel() -> str:
    header = struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(b"\x00\xff\x00\x00")), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, body) for kind, body in chunks)
    return base64.b64encode(png).decode()


def _silence() -> str:
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8000)
        sound.writeframes(b"\x80" * 8)
    return base64.b64encode(buffer.getvalue()).decode()


def text(words: str) -> JsonObject:
    """Make a text block."""
    return {"type": "text", "text": words}


def schema(**properties: JsonObject) -> JsonObject:
    """Make the schema of an object whose properties are all required."""
    made: JsonObject = {"type": "object", "properties": dict(properties)}
    return {**made, "required": list(properties)} if properties else made


def _titled(**titles: str) -> list[JsonValue]:
    return [{"const": value, "title": title} for value, title in titles.items()]


def form(message: str, **properties: JsonObject) -> JsonObject:
    """Make the params of an ``elicitation/create`` request."""
    return {"mode": "form", "message": message, "requestedSchema": schema(**properties)}


IMAGE: JsonObject = {"type": "image", "data": _red_pixel(), "mimeType": "image/png"}
"""A picture of one red point."""
SOUND: JsonObject = {"type": "audio", "data": _silence(), "mimeType": "audio/wav"}
"""One millisecond of silence."""
NO_ARGUMENTS = schema()

RICH_SCHEMA: JsonObject = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
"""Uses the vocabulary of JSON Schema 2020-12 that a gateway may not lose."""

FORM_WITH_DEFAULTS = form(
    "Who are you?",
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
"""Asks with a default for every primitive type."""

ENUM_FORM = form(
    "Choose from each list.",
    untitledSingle={"type": "string", "enum": ["option1", "option2", "option3"]},
    titledSingle={
        "type": "string",
        "oneOf": _titled(value1="First Option", value2="Second Option"),
    },
    legacyEnum={
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    untitledMulti={
        "type": "array",
        "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
    },
    titledMulti={
        "type": "array",
        "items": {"anyOf": _titled(value1="First Choice", value2="Second Choice")},
    },
)
"""Asks with each of the five kinds of choices."""

_HELD: tuple[tuple[str, str, str, JsonObject], ...] = (
    (
        "static-text",
        "Static text",
        "A text that never changes",
        {"mimeType": "text/plain", "text": "This is the content of the static text resource."},
    ),
    (
        "static-binary",
        "Static picture",
        "A picture that never changes",
        {"mimeType": "image/png", "blob": IMAGE["data"]},
    ),
    (
        "watched-resource",
        "Watched text",
        "A text that a client may subscribe to",
        {"mimeType": "text/plain", "text": "This is the content of the watched resource."},
    ),
)
RESOURCES: list[JsonObject] = [
    {"uri": f"test://{place}", "name": name, "description": said, "mimeType": held["mimeType"]}
    for place, name, said, held in _HELD
]
RESOURCE_CONTENTS: dict[str, JsonObject] = {
    f"test://{place}": {"uri": f"test://{place}", **held} for place, _, _, held in _HELD
}
TEMPLATE_PREFIX, TEMPLATE_SUFFIX = "test://template/", "/data"
TEMPLATES: list[JsonObject] = [
    {
        "uriTemplate": f"{TEMPLATE_PREFIX}{{id}}{TEMPLATE_SUFFIX}",
        "name": "Data by id",
        "description": "One document for every id",
        "mimeType": "application/json",
    }
]
