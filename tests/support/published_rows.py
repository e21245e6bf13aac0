"""Rows of RL data as others publish them, and bundles made of them."""

import json
from pathlib import Path
from typing import Any

TIDES = '''import json
from typing import Dict, Optional

_DEPTHS: Dict[str, float] = {"Aldport": 4.2, "Brimhaven": 3.1}


def tide_table(port: str, day: str = "today") -> str:
    """Say when it is high tide."""
    return json.dumps({"port": port, "depth": f"{_DEPTHS[port]} m", "day": day})
'''
BERTHS = """from typing import Optional


def berth_finder(port: str, length_m: Optional[float] = None) -> dict:
    return {"berth": f"{port[:2].upper()}-17", "note": "Berth is free until 18:00"}
"""


def function(name: str, properties: dict[str, Any], *required: str) -> dict[str, Any]:
    """A tool in the form of OpenAI."""
    parameters = {"type": "object", "properties": properties, "required": [*required]}
    described = {"name": name, "description": f"Use {name}.", "parameters": parameters}
    return {"type": "function", "function": described}


def published_row(question: str = "When can I berth my ketch in Aldport?") -> dict[str, Any]:
    """A row with a background, two tools of different sources, and two answers of one of them."""
    text = {"type": "string"}
    tide = function("tide_table", {"port": text, "day": {**text, "default": "today"}}, "port")
    berth = function("berth_finder", {"port": text, "length_m": {"type": "number"}}, "port")
    told = json.dumps({"background": "I sail a ketch of 11 m.\nNo engine."}, indent=1)
    content = f"## some information related to the user\n{told}\n\n\n{question}"
    answers = {"berth_finder": ["free until 18:00", "AL-17"], "tide_table": ["4.2 m"]}
    return {
        "prompt": [{"content": content, "role": "user"}],
        "tool_schema": json.dumps([tide, berth]),
        "tool_dict": json.dumps({"tide_table": TIDES, "berth_finder": BERTHS}),
        "sub_qa_dict": json.dumps(answers),
    }


def write_lines(file: Path, *rows: object) -> Path:
    """Write lines of JSON; a text stands as it is."""
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file
