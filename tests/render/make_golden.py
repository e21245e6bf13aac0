"""Write the golden texts anew: what other programs make of our chats.

Run it as ``PYTHONPATH=tests/support python tests/render/make_golden.py`` where TRL, Transformers and
``mistral_common`` are installed. Transformers renders the templates that TRL carries, Mistral's own library
makes its tokens, which are spelled out as text. The texts are kept; the templates stay where they are.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingImports=false, reportPrivateUsage=false, reportAttributeAccessIssue=false

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import mistral_common
import trl
from mistral_common.exceptions import MistralCommonException
from mistral_common.protocol.instruct.messages import (
    AssistantMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from mistral_common.protocol.instruct.request import InstructRequest
from mistral_common.protocol.instruct.tool_calls import FunctionCall, Tool, ToolCall
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from mistral_common.tokens.tokenizers.instruct import InstructTokenizerV3, InstructTokenizerV7
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from golden_chats import GOLDEN_CHATS, GoldenChat, turns_of

FOLDER = Path(__file__).parent / "golden"
TEMPLATES = Path(trl.__file__).parent / "chat_templates"
SPECIAL = {
    "qwen2_5": {"eos_token": "<|im_end|>"},
    "qwen3": {"eos_token": "<|im_end|>"},
    "llama3": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "llama3_1": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
    "llama3_2": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"},
}
THINKING: Mapping[str, Mapping[str, Any]] = {
    "native_off": {"enable_thinking": False},
    "on": {"enable_thinking": True},
}
DATE = "26 Jul 2024"


def rows(chat: GoldenChat, *, with_thoughts: bool) -> list[dict[str, Any]]:
    """The chat as Transformers' documentation has it."""
    found: list[dict[str, Any]] = []
    names: dict[str, str] = {}
    for message in chat.messages:
        row = message.model_dump(mode="json")
        for call in row.get("tool_calls", ()):
            names[call["id"]] = call["function"]["name"]
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
        if message.role == "tool":
            row["name"] = names[row["tool_call_id"]]
        if not with_thoughts:
            row.pop("reasoning_content", None)
        found.append(row)
    return found


def by_transformers(family: str, policy: str) -> dict[str, dict[str, Any]]:
    """The texts of a family."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()), **SPECIAL[family])
    tokenizer.chat_template = (TEMPLATES / f"{family}.jinja").read_text(encoding="utf-8")

    def text(chat: GoldenChat, end: int, *, is_prompt: bool) -> str:
        made = tokenizer.apply_chat_template(
            rows(chat, with_thoughts=policy == "on")[:end],
            tools=list(chat.tools) or None,
            tokenize=False,
            add_generation_prompt=is_prompt,
            date_string=DATE,
            **THINKING[policy],
        )
        assert isinstance(made, str)
        return made

    return {name: texts(chat, text) for name, chat in GOLDEN_CHATS.items()}


def by_mistral(version: int) -> dict[str, dict[str, Any]]:
    """The texts of a version of Mistral's format, by the tokenizer of its library."""
    data = Path(mistral_common.__file__).parent / "data"
    tekken = Tekkenizer.from_file(data / "tekken_240718.json")
    if version == 7:
        tekken._version = TokenizerVersion.v7  # the same words and special tokens
    kind = InstructTokenizerV7 if version == 7 else InstructTokenizerV3
    tokenizer = kind(tekken)

    def text(chat: GoldenChat, end: int, *, is_prompt: bool) -> str:
        del is_prompt  # the format has no words for it
        system = [m.content for m in chat.messages[:end] if m.role == "system"]
        messages = [mistral_message(row) for row in rows(chat, with_thoughts=False)[:end]]
        if version == 3:
            messages = [m for m in messages if not isinstance(m, SystemMessage)]
        request = InstructRequest(
            messages=messages,
            available_tools=[Tool.model_validate(tool) for tool in chat.tools] or None,
            system_prompt=system[0] if system and version == 3 else None,
        )
        return str(tokenizer.encode_instruct(request).text)

    return {name: texts(chat, text) for name, chat in GOLDEN_CHATS.items()}


def mistral_message(row: Mapping[str, Any]) -> Any:
    """A message of Mistral's library."""
    match row["role"]:
        case "system":
            return SystemMessage(content=row["content"])
        case "user":
            return UserMessage(content=row["content"])
        case "tool":
            return ToolMessage(
                content=row["content"], tool_call_id=row["tool_call_id"], name=row["name"]
            )
        case _:
            calls = [
                ToolCall(
                    id=call["id"],
                    function=FunctionCall(
                        name=call["function"]["name"],
                        arguments=json.dumps(call["function"]["arguments"], ensure_ascii=False),
                    ),
                )
                for call in row.get("tool_calls", ())
            ]
            return AssistantMessage(content=row["content"] or None, tool_calls=calls or None)


def texts(chat: GoldenChat, text: Any) -> dict[str, Any]:
    """The prompt before each turn, and the whole; None where the program refuses the chat."""
    try:
        places: Sequence[int] = turns_of(chat)
        prompts = [text(chat, place, is_prompt=True) for place in places]
        whole = text(chat, len(chat.messages), is_prompt=False)
    except (MistralCommonException, ValueError, *_refusals()) as error:
        return {"refused": str(error)}
    return {"prompts": prompts, "whole": whole}


def _refusals() -> tuple[type[Exception], ...]:
    from jinja2 import TemplateError  # noqa: PLC0415 - of the templates alone

    return (TemplateError,)


def main() -> None:
    """Write every file."""
    FOLDER.mkdir(exist_ok=True)
    found = {f"{family}.native_off": by_transformers(family, "native_off") for family in SPECIAL}
    found["qwen3.on"] = by_transformers("qwen3", "on")
    found |= {f"mistral{version}.native_off": by_mistral(version) for version in (3, 7)}
    for name, golden in found.items():
        written = json.dumps(golden, ensure_ascii=True, indent=1)
        (FOLDER / f"{name}.json").write_text(written + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
