"""The text of each family is, byte for byte, what Transformers and Mistral's own library make of it."""

import json
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from training.render import Renderer, RenderError, ThinkingPolicy

from golden_chats import GOLDEN_CHATS, turns_of
from own_templates import SPECIAL_TOKENS, template_source

GOLDEN = Path(__file__).parent / "golden"
OF_TRL = ["qwen2_5", "qwen3", "llama3", "llama3_1", "llama3_2"]
OF_OURS = {"mistral3": "", "mistral7": "{%- set seven = true -%}"}
FILES = sorted(file.stem for file in GOLDEN.glob("*.json"))
NOT_CARRIED = {
    "llama3": {
        "tools", "tools_and_system", "unicode", "parallel", "words_and_call", "empty", "call_at_the_end",
        "thoughts", "users",
    },
    "llama3_1": {"parallel", "words_and_call"},
    "llama3_2": {"parallel", "words_and_call"},
}  # fmt: skip
"""Chats that turns of a family have no place for: it knows no calls, or one in a turn and no words beside."""
REPEATED = {
    # Earlier thoughts, or what turned them off, are shown at the last turn alone.
    "qwen3.native_off": {
        "tools", "tools_and_system", "unicode", "parallel", "words_and_call", "empty", "thoughts", "users",
    },
    "qwen3.on": {
        "tools", "tools_and_system", "unicode", "parallel", "words_and_call", "empty", "users",
    },
    # The tools stand before the last message of the user.
    "mistral3.native_off": {"users"},
    "mistral7.native_off": {"users"},
}  # fmt: skip
"""Files and chats in which a whole rendering tells an earlier part otherwise than it was sampled."""


@cache
def golden(file: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{file}.json").read_text(encoding="utf-8"))


@cache
def renderer_of(file: str) -> Renderer:
    family, policy = file.split(".")
    if family in OF_OURS:
        source, special = OF_OURS[family] + template_source("mistral"), SPECIAL_TOKENS["mistral"]
    else:
        found = find_spec("trl")
        assert found is not None
        assert found.origin is not None
        template = Path(found.origin).parent / "chat_templates" / f"{family}.jinja"
        source = template.read_text(encoding="utf-8")
        special = SPECIAL_TOKENS["llama" if family.startswith("llama") else "hermes"]
    return Renderer.of(source, special, thinking=ThinkingPolicy(policy))


def cases() -> list[Any]:
    """Files and chats; those that need a template of others are of the extra."""
    found = [(file, chat) for file in FILES for chat in GOLDEN_CHATS]
    marks = {True: [pytest.mark.train], False: []}
    return [pytest.param(f, c, marks=marks[f.partition(".")[0] in OF_TRL]) for f, c in found]


def test_there_are_texts_of_every_family_and_chat() -> None:
    assert {file.partition(".")[0] for file in FILES} == {*OF_TRL, *OF_OURS}
    assert all(set(golden(file)) == set(GOLDEN_CHATS) for file in FILES)


@pytest.mark.parametrize(("file", "name"), cases())
def test_the_template_makes_the_same_bytes(file: str, name: str) -> None:
    renderer, chat, expected = renderer_of(file), GOLDEN_CHATS[name], golden(file)[name]
    if "refused" in expected:
        if file.startswith("mistral"):
            return  # refused by the library itself, of which our template knows nothing
        with pytest.raises(RenderError, match=expected["refused"]):
            renderer.whole(chat.messages, chat.tools, is_prompt=False)
        return
    prompts = [
        renderer.whole(chat.messages[:place], chat.tools, is_prompt=True)
        for place in turns_of(chat)
    ]
    whole = renderer.whole(chat.messages, chat.tools, is_prompt=False)
    assert [text.encode() for text in prompts] == [t.encode() for t in expected["prompts"]]
    assert whole.encode() == expected["whole"].encode()


@pytest.mark.parametrize(("file", "name"), cases())
def test_each_turn_is_what_the_template_would_show_of_it(file: str, name: str) -> None:
    renderer, chat, expected = renderer_of(file), GOLDEN_CHATS[name], golden(file)[name]
    if name in NOT_CARRIED.get(file.partition(".")[0], ()):
        with pytest.raises(RenderError, match=r"messages\.\d: "):
            renderer.conversation(chat.messages, chat.tools)
        return
    if "refused" in expected:
        return
    segments = renderer.conversation(chat.messages, chat.tools).segments
    text = "".join(segment.text for segment in segments)
    assert segments[0].text == expected["prompts"][0]
    assert expected["whole"].startswith(expected["prompts"][-1] + segments[-1].text)
    assert expected["whole"].removeprefix(text).strip() == "" or name in REPEATED.get(file, ())
    if name in REPEATED.get(file, ()):
        assert not expected["whole"].startswith(text)
