"""An environment whose one tool echoes, to be run in the real sandbox."""

import json
from pathlib import Path

__all__ = ["NAME", "write_echo_bundle"]

NAME = "echo-bench"
_DOCUMENT = {
    "schema_version": 1,
    "name": NAME,
    "title": "An echo",
    "description": "One tool that says a text again; for measurements.",
    "status": "unverified",
    "domain": "education",
    "language": "en",
    "question": "What does the echo say?",
    "sub_tasks": [{"id": 1, "answer": "7319 metres", "tool": "echo"}],
    "tools": [
        {
            "name": "echo",
            "description": "Say a text again.",
            "input_schema": {
                "type": "object",
                "properties": {"text": {"type": "string"}},
                "required": ["text"],
            },
        }
    ],
    "provenance": {"source": "original"},
}
_SERVER = {
    "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
    "name": f"example.org/{NAME}",
    "description": "Says a text again.",
    "version": "1.0.0",
}
_CODE = '"""An echo."""\n\n\ndef echo(text: str) -> str:\n    """Say a text again."""\n    return text\n'


def write_echo_bundle(folder: Path) -> Path:
    """Write the bundle into a new folder; answers where it is."""
    bundle = folder / NAME
    bundle.mkdir(parents=True)
    (bundle / "environment.json").write_text(json.dumps(_DOCUMENT), encoding="utf-8")
    (bundle / "server.json").write_text(json.dumps(_SERVER), encoding="utf-8")
    (bundle / "tools.py").write_text(_CODE, encoding="utf-8")
    return bundle
