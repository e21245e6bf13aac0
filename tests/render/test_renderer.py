"""A conversation grows as a sampler's context does, whatever the policy of thoughts is."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from astra_mcp.types import JsonObject
from training.render import ParsedCall, ParsedTurn, Renderer, RenderError, ThinkingPolicy

from own_templates import SPECIAL_TOKENS, assistant, make_renderer, template_source

TOOLS: Sequence[JsonObject] = (
    {"type": "function", "function": {"name": "f", "description": "<f> & é", "parameters": {}}},
)
CALL = ParsedCall("f", '{"a": 1}')
BLOCK = "<think>\n\n</think>\n\n"
TWO_USERS: Sequence[Message] = (
    UserMessage(content="hi"),
    assistant(ParsedTurn("", "why", (CALL,)), prefix="a"),
    ToolMessage(tool_call_id="a_0", content="one"),
    assistant(ParsedTurn("done", "since")),
    UserMessage(content="more"),
    assistant(ParsedTurn("bye")),
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="<[{"), max_size=8)
SETTINGS = [
    ("hermes", ThinkingPolicy.NATIVE_OFF),
    ("hermes", ThinkingPolicy.ON),
    ("llama", ThinkingPolicy.NATIVE_OFF),
    ("mistral", ThinkingPolicy.NATIVE_OFF),
]


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Turns with at most one call, answered, of one user or several."""
    messages: list[Message] = []
    if draw(st.booleans()):
        messages.append(SystemMessage(content=draw(TEXTS)))
    for number in range(draw(st.integers(1, 4))):
        messages.append(UserMessage(content=draw(TEXTS)))
        if draw(st.booleans()):
            turn = ParsedTurn(reasoning=draw(TEXTS), calls=(CALL,))
            messages.append(assistant(turn, prefix=f"c{number}"))
            messages.append(ToolMessage(tool_call_id=f"c{number}_0", content=draw(TEXTS)))
        messages.append(assistant(ParsedTurn(draw(TEXTS), draw(TEXTS))))
    return messages


@pytest.mark.parametrize(("name", "policy"), SETTINGS)
@given(messages=conversations())
def test_a_conversation_is_what_prompt_turn_and_continuation_come_to(
    name: str, policy: ThinkingPolicy, messages: list[Message]
) -> None:
    renderer = make_renderer(name, policy)
    places = [i for i, m in enumerate(messages) if isinstance(m, AssistantMessage)]
    context, kept = renderer.prompt(messages[: places[0]], TOOLS), list[str]()
    for place, following in zip(places, [*places[1:], len(messages)], strict=True):
        assert renderer.prompt(messages[:place], TOOLS) == context
        message = messages[place]
        assert isinstance(message, AssistantMessage)
        kept.append(renderer.turn(message))
        assert renderer.conversation(messages[: place + 1], TOOLS).text == context + kept[-1]
        context += kept[-1]
        context += renderer.continuation(messages[: place + 1], messages[place + 1 : following])
    segments = renderer.conversation(messages, TOOLS).segments
    assert [segment.text for segment in segments if segment.is_model] == kept
    assert all(text.endswith(renderer.end) for text in kept)


def test_native_off_keeps_what_turns_thoughts_off_before_every_turn() -> None:
    renderer = make_renderer("hermes", ThinkingPolicy.NATIVE_OFF)
    rendered = renderer.conversation(TWO_USERS, TOOLS)
    context, turns = rendered.segments[::2], rendered.segments[1::2]
    assert all(segment.text.endswith(BLOCK) for segment in context)
    assert "think" not in "".join(segment.text for segment in turns)
    assert renderer.prompt(TWO_USERS[:3], TOOLS).count(BLOCK) == 2


def test_off_in_sampling_only_shows_it_at_the_end_of_prompts_and_trains_without() -> None:
    renderer = make_renderer("hermes", ThinkingPolicy.OFF_SAMPLING_ONLY)
    assert renderer.sampling_only == BLOCK
    assert "think" not in renderer.conversation(TWO_USERS, TOOLS).text
    prompt = renderer.prompt(TWO_USERS[:3], TOOLS)
    assert prompt.count("<think>") == 1
    assert prompt.endswith("<|im_start|>assistant\n" + BLOCK)
    assert renderer.continuation(TWO_USERS[:2], TWO_USERS[2:3]).endswith(BLOCK)


def test_thoughts_that_are_on_are_the_models_and_stay_in_its_context() -> None:
    renderer = make_renderer("hermes", ThinkingPolicy.ON)
    turns = [s.text for s in renderer.conversation(TWO_USERS, TOOLS).segments if s.is_model]
    assert turns[0].startswith("<think>\nwhy\n</think>\n\n<tool_call>")
    assert turns[2] == f"{BLOCK}bye<|im_end|>"
    assert "why" in renderer.prompt(TWO_USERS[:5], TOOLS)


def test_an_instance_for_each_turn_has_what_a_server_would_show_before_it() -> None:
    renderer = make_renderer("hermes", ThinkingPolicy.ON)
    instances = renderer.instances(TWO_USERS, TOOLS, per_turn=True)
    last = instances[-1]
    assert [[s.is_model for s in one.segments] for one in instances] == [[False, True]] * 3
    assert last.segments[0].text == renderer.whole(TWO_USERS[:5], TOOLS, is_prompt=True)
    assert "since" not in last.text
    assert "since" in instances[1].segments[1].text
    (one,) = renderer.instances(TWO_USERS, TOOLS, per_turn=False)
    assert one == renderer.conversation(TWO_USERS, TOOLS)


@pytest.mark.parametrize("per_turn", [True, False])
def test_where_no_turn_is_there_is_nothing_to_train(per_turn: bool) -> None:
    renderer = make_renderer("hermes")
    assert renderer.instances(TWO_USERS[:1], TOOLS, per_turn=per_turn) == []
    assert [s.is_model for s in renderer.conversation(TWO_USERS[:1], TOOLS).segments] == [False]


def test_messages_behind_the_last_turn_stand_there_without_another_prompt() -> None:
    renderer = make_renderer("llama")
    text = renderer.conversation(TWO_USERS[:3], TOOLS).text
    assert text.endswith("\n\none<|eot_id|>")


def test_blanks_that_a_template_would_trim_are_kept_as_they_were_sampled() -> None:
    renderer = make_renderer("llama")
    message = assistant(ParsedTurn(" so \n"))
    assert renderer.turn(message) == " so \n<|eot_id|>"
    assert " so \n" not in renderer.whole([TWO_USERS[0], message], TOOLS, is_prompt=False)


def test_a_mark_that_a_result_holds_confuses_no_continuation() -> None:
    renderer = make_renderer("hermes")
    new = [ToolMessage(tool_call_id="a_0", content="astramark astramarkx<|im_end|>")]
    assert "astramark astramarkx<|im_end|>" in renderer.continuation(TWO_USERS[:2], new)


@pytest.mark.parametrize(
    ("before", "new", "words"),
    [
        (TWO_USERS[:1], TWO_USERS[2:3], "follows a turn of the assistant"),
        ((), (), "follows a turn of the assistant"),
        (TWO_USERS[:2], TWO_USERS[3:4], "holds no turn of the assistant"),
        (TWO_USERS[:4], TWO_USERS[2:3], "'a_0' answers no call of the turn before"),
    ],
)
def test_a_continuation_of_something_else_is_refused(
    before: Sequence[Message], new: Sequence[Message], words: str
) -> None:
    with pytest.raises(RenderError, match=re.escape(words)):
        make_renderer("hermes").continuation(before, new)


def test_a_turn_that_cannot_be_carried_is_named_by_its_place() -> None:
    messages = [TWO_USERS[0], assistant(ParsedTurn("so", calls=(CALL,)))]
    with pytest.raises(RenderError, match=r"messages\.1: a turn has words beside its call"):
        make_renderer("llama").conversation(messages, TOOLS)


def test_tools_for_a_template_without_calls_are_words_alone() -> None:
    source = "{% for m in messages %}{{ m.role }}: {{ m.content }}<e>\n{% endfor %}"
    renderer = Renderer.of(source + "{% if add_generation_prompt %}assistant: {% endif %}", {})
    assert renderer.dialect.name == "plain"
    assert renderer.conversation(TWO_USERS[4:], ()).text == "user: more<e>\nassistant: bye<e>"
    with pytest.raises(RenderError, match=r"messages\.1: the chat template knows no tool calls"):
        renderer.conversation(TWO_USERS[:2], TOOLS)


@pytest.mark.parametrize(
    ("source", "policy", "words"),
    [
        ("{% if %}", ThinkingPolicy.NATIVE_OFF, "the chat template: line 1: "),
        ("{{ messages[0].content + 3 }}", ThinkingPolicy.NATIVE_OFF, "does not take the messages"),
        ("{{ raise_exception('no') }}", ThinkingPolicy.NATIVE_OFF, "no template of chats"),
        ("x", ThinkingPolicy.NATIVE_OFF, "cannot turn thoughts off"),
        (
            "{% for m in messages %}{{ m.content }}{% endfor %}",
            ThinkingPolicy.NATIVE_OFF,
            "writes no end behind a turn",
        ),
        (
            "{% for m in messages %}{{ m.content }}{{ m.tool_calls | string }}<e>{% endfor %}",
            ThinkingPolicy.NATIVE_OFF,
            "writes tool calls in none of the dialects hermes, llama, mistral",
        ),
        (template_source("llama"), ThinkingPolicy.ON, "shows no thoughts"),
        (template_source("llama"), ThinkingPolicy.OFF_SAMPLING_ONLY, "adds nothing to a prompt"),
    ],
)
def test_a_template_that_cannot_do_it_is_refused_when_the_renderer_is_made(
    source: str, policy: ThinkingPolicy, words: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        Renderer.of(source, SPECIAL_TOKENS["llama"], thinking=policy)


def test_a_thought_that_the_prompt_begins_is_read_and_written_from_there() -> None:
    source = template_source("hermes").replace(
        "{{- '<|im_start|>assistant\\n' -}}", "{{- '<|im_start|>assistant\\n<think>\\n' -}}"
    ).replace("'<think>\\n\\n</think>\\n\\n' -}}{%- endif", "'\\n</think>\\n\\n' -}}{%- endif")  # fmt: skip
    renderer = Renderer.of(source, SPECIAL_TOKENS["hermes"], thinking=ThinkingPolicy.ON)
    message = assistant(ParsedTurn("done", "since"))
    assert renderer.turn(message) == "since\n</think>\n\ndone<|im_end|>"
    assert renderer.parse(renderer.turn(message)) == ParsedTurn("done", "since")
    cut = renderer.parse("I wonder")
    assert (cut.content, cut.reasoning) == ("", "I wonder")
    assert "is not closed" in cut.faults[0]
    off = Renderer.of(source, SPECIAL_TOKENS["hermes"])
    assert off.parse("I wonder") == ParsedTurn("I wonder")
    with pytest.raises(ConfigError, match="begins them in it"):
        Renderer.of(source, SPECIAL_TOKENS["hermes"], thinking=ThinkingPolicy.OFF_SAMPLING_ONLY)
