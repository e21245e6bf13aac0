"""A small file of every format that documents come in, whose servers all are kept."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

_TEXTS: Final = {
    "tide": "Tell the height of the tide at an hour",
    "fee": "Compute what a ship pays for a night",
    "ships": "List the ships that lie in the harbour",
}


@dataclass(frozen=True, slots=True)
class Form:
    """A file of a format."""

    name: str
    """Of the file."""
    lines: tuple[str, ...]
    """One for each server where the format has lines, else a single value on several of them."""
    has_lines: bool = False

    @property
    def content(self) -> bytes:
        """What stands in the file."""
        return ("\n".join(self.lines) + "\n").encode()


def tools(prefix: str, schema: str) -> list[Any]:
    """Three tools in the words of a format."""
    empty: Any = {"type": "object", "properties": {}}
    return [
        {"name": f"{prefix}_{name}", "description": text, schema: empty}
        for name, text in _TEXTS.items()
    ]


def openapi(title: str = "Harbour", prefix: str = "harbour") -> dict[str, Any]:
    """A document of three operations."""
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": "1"},
        "servers": [{"url": "https://api.harbour.example"}],
        "paths": {
            f"/{name}": {"get": {"operationId": f"{prefix}_{name}", "summary": text}}
            for name, text in _TEXTS.items()
        },
    }


def _toucan(number: int) -> str:
    answer = {"url": "", "tools": tools(f"toucan{number}", "input_schema")}
    metadata = {"server_name": f"Toucan {number}", "remote_server_response": answer}
    return json.dumps({"file": f"{number}.json", "metadata": metadata})


def _astra(number: int) -> str:
    group = {"server_name": f"astra {number}"}
    base = {"group_info": group, "tool_list": tools(f"astra{number}", "parameters")}
    return json.dumps({"base_info": base})


def _functions(number: int) -> str:
    return json.dumps({"server": f"port{number}", "tools": tools(f"port{number}", "parameters")})


def _answer(prefix: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "result": {"tools": tools(prefix, "inputSchema")}}


_SERVER: Final[Mapping[str, Any]] = {
    "name": "org.example/quay",
    "description": "A quay",
    "version": "1.0.0",
    "_meta": {
        "io.modelcontextprotocol.registry/publisher-provided": {
            "tools": tools("quay", "inputSchema")
        }
    },
}
_BENCHMARK: Final[Sequence[Any]] = [
    {
        "name": f"Dock {n}",
        "description": "A dock",
        "category": "Travel",
        "web": "https://dock.example/?key=secret",
        "config": {"mcpServers": {"dock": {"command": "npx", "env": {"KEY": "secret"}}}},
        "tools": {"dock": {"version": "1.2", "tools": tools(f"dock{n}", "inputSchema")}},
    }
    for n in (1,)
]


def _value(value: Any) -> tuple[str, ...]:
    return tuple(json.dumps(value, indent=1).splitlines())


FORMS: Final[Mapping[str, Form]] = {
    "toucan": Form("toucan.jsonl", tuple(map(_toucan, (1, 2, 3))), has_lines=True),
    "astra_servers": Form("servers.jsonl", tuple(map(_astra, (1, 2, 3))), has_lines=True),
    "openapi": Form("api.json", _value(openapi())),
    "server_json": Form("server.json", _value({"servers": [{"server": _SERVER}]})),
    "livemcpbench": Form("bench.json", _value(_BENCHMARK)),
    "mcp_tools": Form("pier.json", _value(_answer("pier"))),
    "functions": Form("functions.jsonl", tuple(map(_functions, (1, 2, 3))), has_lines=True),
}
"""By the name of the format."""
