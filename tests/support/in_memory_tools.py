"""Tools in this process, in the place of an MCP client; records what reaches them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from astra_mcp.types import JsonValue, ToolResult, ToolSpec
from training.rollout.episode import LiveEpisode
from training.rollout.users.user import User

Function = Callable[[Mapping[str, JsonValue]], Awaitable[ToolResult]]


@dataclass(frozen=True)
class ReceivedCall:
    """One call as it arrived."""

    name: str
    arguments: Mapping[str, JsonValue]
    call_id: str | None
    seq: int | None
    fault: str | None = None


@dataclass
class InMemoryTools:
    """Answers calls by functions; a tool without one echoes its arguments."""

    functions: dict[str, Function] = field(default_factory=dict[str, Function])
    received: list[ReceivedCall] = field(default_factory=list[ReceivedCall])

    async def call(
        self,
        name: str,
        arguments: Mapping[str, JsonValue],
        *,
        call_id: str | None = None,
        seq: int | None = None,
        fault: str | None = None,
    ) -> ToolResult:
        """Call a tool; one whose arguments are at fault is answered as the gateway does."""
        self.received.append(ReceivedCall(name, arguments, call_id, seq, fault))
        if fault is not None:
            return ToolResult.from_text(fault, is_error=True)
        if name in self.functions:
            return await self.functions[name](arguments)
        return ToolResult.from_value(dict(arguments))

    def open_episode(
        self, *tools: ToolSpec, seed: int = 0, prompt: str = "Go.", user: User | None = None
    ) -> LiveEpisode:
        """Open an episode over these tools."""
        return LiveEpisode(
            environment="in-memory",
            seed=seed,
            prompt=prompt,
            tools=tools,
            caller=self,
            user=user,
        )


def spec(name: str, properties: Mapping[str, object], required: list[str]) -> ToolSpec:
    """A tool with these parameters."""
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }
    return ToolSpec(name=name, description=f"The tool {name}.", input_schema=schema)


CITY = spec("weather", {"city": {"type": "string", "examples": ["Oslo", "Rome"]}}, ["city"])
"""A tool whose one string has examples."""
