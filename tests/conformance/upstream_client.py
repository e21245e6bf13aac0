"""A client for the suites' mock servers that is nothing but the gateway's own side towards its servers.

``python upstream_client.py URL``, with what the suite says in ``MCP_CONFORMANCE_*``: opens a session, lists
what there is, and calls every tool.
"""

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import anyio

from astra_mcp.mcp.request_context import Era, Exchange
from astra_mcp.types import JsonObject, JsonValue, ToolSpec
from servers.deployed import DeployedSession, open_deployed

NAME = "mock"
SECONDS = 25.0
SCHEMA_ECHO = "json_schema_echo"
NO_VALUES: Mapping[str, JsonValue] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
}


class DefaultsChannel:
    """A user who accepts every form as it is."""

    @property
    def capabilities(self) -> Mapping[str, JsonValue]:
        """Forms, whose defaults are filled in."""
        return {"elicitation": {"form": {"applyDefaults": True}}}

    async def notify(self, method: str, params: JsonObject) -> None:
        """Hear nothing."""

    async def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Accept the defaults."""
        schema = cast("dict[str, Any]", params["requestedSchema"])
        filled = {
            name: said.get("default", NO_VALUES.get(said["type"]))
            for name, said in schema["properties"].items()
        }
        return {"action": "accept", "content": filled}


async def _call(session: DeployedSession, name: str, arguments: JsonObject, era: Era) -> None:
    channel = DefaultsChannel()
    reply = await session.call(name, arguments, Exchange(era=era, channel=channel))
    asks = reply.result.asks
    if asks is None:
        return
    requests = cast("dict[str, Any]", asks["inputRequests"])
    answers: JsonObject = {
        key: await channel.ask(asked["method"], asked["params"]) for key, asked in requests.items()
    }
    further: JsonObject = {"inputResponses": answers}
    if "requestState" in asks:
        further["requestState"] = asks["requestState"]
    await session.call(name, arguments, Exchange(era=era, channel=channel, params=further))


def _calls(tools: Sequence[ToolSpec]) -> list[tuple[str, JsonObject]]:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    if "toolCalls" in context:
        return [(call["name"], call["arguments"]) for call in context["toolCalls"]]
    if any(tool.name == SCHEMA_ECHO for tool in tools):
        return [(SCHEMA_ECHO, {"schema": tools[0].input_schema})]
    return [(tool.name, _arguments(tool)) for tool in tools]


def _arguments(tool: ToolSpec) -> JsonObject:
    properties = tool.input_schema.get("properties", {})
    required = tool.input_schema.get("required", [])
    return {name: NO_VALUES[properties[name].get("type", "string")] for name in required}


async def _visit(session: DeployedSession, capabilities: Mapping[str, JsonValue], era: Era) -> None:
    """Read the first resource and the first prompt, where there are any."""
    exchange = Exchange(era=era)
    if "resources" in capabilities:
        listed: Any = await session.request("resources/list", {}, exchange)
        for resource in listed["resources"]:
            await session.request("resources/read", {"uri": resource["uri"]}, exchange)
    if "prompts" in capabilities:
        listed = await session.request("prompts/list", {}, exchange)
        for prompt in listed["prompts"]:
            await session.request("prompts/get", {"name": prompt["name"]}, exchange)


async def _run(url: str, home: Path) -> None:
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "")
    era = Era.MODERN if version >= "2026" else Era.HANDSHAKE
    file = anyio.Path(home, "servers.json")
    await file.write_text(json.dumps({"mcpServers": {NAME: {"url": url}}}))
    with anyio.fail_after(SECONDS):
        async with open_deployed(Path(file), home=home) as servers:
            (server,) = servers.upstreams()
            await server.prepare()
            session = server.open_session(key="conformance", seed=0)
            for name, arguments in _calls(server.tools):
                await _call(session, name, arguments, era)
            await _visit(session, server.capabilities, era)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(_run, sys.argv[1], Path(folder))
