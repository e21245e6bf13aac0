"""The chats whose text by other programs is kept under ``tests/render/golden``."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from astra_mcp.trajectory import Message, SystemMessage, ToolMessage, UserMessage
from astra_mcp.types import JsonObject, ToolSpec
from training.render import ParsedCall, ParsedTurn

from own_templates import assistant

__all__ = ["GOLDEN_CHATS", "GoldenChat", "turns_of"]


@dataclass(frozen=True, slots=True)
class GoldenChat:
    """One chat; it ends with a turn of the assistant."""

    messages: Sequence[Message]
    tools: Sequence[JsonObject] = ()


_SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string", "description": "such as <Malmö> & '北京'"}},
    "required": ["city"],
}
_TOOLS = tuple(
    ToolSpec(name=name, description=description, input_schema=_SCHEMA).as_openai()
    for name, description in (("get_time", 'The "local" time.'), ("get_weather", "天气 🌦"))
)
_USER = UserMessage(content="What time is it in Malmö?")
_TIME = ParsedCall("get_time", '{"city": "Malmö"}', "time00001")
_WEATHER = ParsedCall(
    "get_weather",
    '{"city": "北京", "days": [1, 2.5, null, true], "in": {"a": "\\"<q>\\"\\n"}}',
    "weather01",
)
_AT_NOON = ToolMessage(tool_call_id="time00001", content="noon, it is")
_RAIN = ToolMessage(tool_call_id="weather01", content="rain & <sun> 🌦")
_CALL = assistant(ParsedTurn(calls=(_TIME,)))
_NOON = assistant(ParsedTurn("It is noon."))

GOLDEN_CHATS: Mapping[str, GoldenChat] = {
    "plain": GoldenChat((_USER, _NOON)),
    "system": GoldenChat((SystemMessage(content="Be brief."), _USER, _NOON)),
    "tools": GoldenChat((_USER, _CALL, _AT_NOON, _NOON), _TOOLS),
    "tools_and_system": GoldenChat(
        (SystemMessage(content="Be brief."), _USER, _CALL, _AT_NOON, _NOON), _TOOLS
    ),
    "unicode": GoldenChat(
        (
            UserMessage(content="北京 🧑‍🚀 e\u0301 ñ \u202b\u05e2\u05d1\u202c"),
            assistant(ParsedTurn(calls=(_WEATHER,))),
            _RAIN,
            assistant(ParsedTurn("下雨 ☔ a\u0308.")),
        ),
        _TOOLS,
    ),
    "parallel": GoldenChat(
        (_USER, assistant(ParsedTurn(calls=(_TIME, _WEATHER))), _AT_NOON, _RAIN, _NOON), _TOOLS
    ),
    "words_and_call": GoldenChat(
        (_USER, assistant(ParsedTurn("Let me see.", calls=(_TIME,))), _AT_NOON, _NOON), _TOOLS
    ),
    "empty": GoldenChat(
        (UserMessage(content=""), _CALL, _AT_NOON, assistant(ParsedTurn())), _TOOLS
    ),
    "call_at_the_end": GoldenChat((_USER, _CALL), _TOOLS),
    "thoughts": GoldenChat(
        (
            _USER,
            assistant(ParsedTurn(reasoning="A clock\n\nwill tell.", calls=(_TIME,))),
            _AT_NOON,
            assistant(ParsedTurn("It is noon.", "So noon.")),
        ),
        _TOOLS,
    ),
    "users": GoldenChat(
        (
            _USER,
            _CALL,
            _AT_NOON,
            assistant(ParsedTurn("It is noon.", "So noon.")),
            UserMessage(content="And the weather?"),
            assistant(ParsedTurn(reasoning="Ask again.", calls=(_WEATHER,))),
            _RAIN,
            assistant(ParsedTurn("It rains.", "Rain, then.")),
        ),
        _TOOLS,
    ),
}
"""By name."""


def turns_of(chat: GoldenChat) -> list[int]:
    """The places of the assistant's turns."""
    return [i for i, message in enumerate(chat.messages) if message.role == "assistant"]
