"""Generations that were labelled by hand, and what holds for all: the classifier reads anything."""

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.errors import AstraError
from training.render import DIALECTS, ParsedCall, ParsedTurn, Renderer, ThinkingPolicy
from training.signals.health.structure import Classifier, Reason, State, Stop

from own_templates import SPECIAL_TOKENS, assistant, make_renderer, template_source
from scripted_policy import END, CharacterTokenizer

CALL, WORDS, POLLUTED, COLLAPSED = (
    *(State.TOOL_CALL, State.RESPONSE, State.POLLUTED, State.COLLAPSED),
)
SEARCH = '<tool_call>\n{"name": "search", "arguments": {"q": "tide"}}\n</tool_call>'

HERMES: Sequence[tuple[State, str, str]] = [
    # The study's own examples, in appendix A and table 3.
    (CALL, "", '<tool_call>{"name": "search", "arguments": {}}</tool_call><|im_end|>'),
    (WORDS, "", "The answer is 4.<|im_end|>"),
    (POLLUTED, "unclosed_call", "The result is ...<tool_call><|im_end|>"),
    (COLLAPSED, "only_tags", "<tool_call><|im_end|>"),
    # Calls.
    (CALL, "", f"{SEARCH}<|im_end|>"),
    (CALL, "", f"I will look it up.\n{SEARCH}<|im_end|>"),
    (CALL, "", f"{SEARCH}\n{SEARCH}<|im_end|>"),
    (CALL, "", f"{SEARCH}\nThat should do.<|im_end|>"),
    (CALL, "", f"\n\n{SEARCH}\n<|im_end|>"),
    (CALL, "", f"{SEARCH}<|endoftext|>"),
    (CALL, "", f"{SEARCH}<|im_end|>\n"),
    (
        CALL,
        "",
        '<tool_call>{"arguments": {"a": [1, {"b": null}]}, "name": "x"}</tool_call><|im_end|>',
    ),
    (CALL, "", '<tool_call>{"name": "no_such_tool", "arguments": {}}</tool_call><|im_end|>'),
    (CALL, "", '<tool_call>{"name": "t", "arguments": {"t": "a < b </b>"}}</tool_call><|im_end|>'),
    (
        CALL,
        "",
        '<tool_call>{"name": "run", "arguments": {"code": "print(\\"}\\")"}}</tool_call><|im_end|>',
    ),
    (
        CALL,
        "",
        '我先查潮汐。\n<tool_call>\n{"name": "查询", "arguments": {"港口": "青岛"}}\n</tool_call><|im_end|>',
    ),
    (
        CALL,
        "",
        '<tool_call>{"name": "s", "arguments": {"q": "\\u6f6e\\u6c50"}}</tool_call><|im_end|>',
    ),
    # Words.
    (WORDS, "", "潮水最高是十四点二十分。<|im_end|>"),
    (WORDS, "", "好的 👍<|im_end|>"),
    (WORDS, "", ".<|im_end|>"),
    (WORDS, "", "I cannot call a tool for that: none of them fits.<|im_end|>"),
    (WORDS, "", '{"name": "search", "arguments": {}}<|im_end|>'),
    (WORDS, "", "```json\n[1, 2]\n```<|im_end|>"),
    (WORDS, "", "Is 3 < 4 and 5 > 2? <b>Yes</b>.<|im_end|>"),
    (WORDS, "", "Write tool_call without brackets.<|im_end|>"),
    (WORDS, "", "a < tool_call > b<|im_end|>"),
    (WORDS, "", "<toolcall>no tag of ours</toolcall><|im_end|>"),
    (WORDS, "", "The turn ends with im_end.<|im_end|>"),
    # Code and prose that spell a tag, without ids to tell words from control tokens.
    (POLLUTED, "unclosed_call", "Calls begin with `<tool_call>`.<|im_end|>"),
    (POLLUTED, "stray_close", 'text.split("</tool_call>")<|im_end|>'),
    (POLLUTED, "bad_json", 're.findall("<tool_call>(.*?)</tool_call>", text)<|im_end|>'),
    (POLLUTED, "stray_tag", "ChatML begins a turn with <|im_start|> and a role.<|im_end|>"),
    (
        POLLUTED,
        "tag_inside_call",
        '<tool_call>{"name": "w", "arguments": {"t": "<tool_call>"}}</tool_call><|im_end|>',
    ),
    # Truncated.
    (POLLUTED, "no_end", "The answer is"),
    (POLLUTED, "no_end", SEARCH),
    (POLLUTED, "unclosed_call no_end", '<tool_call>\n{"name": "search", "argum'),
    (POLLUTED, "unclosed_call no_end", f"{SEARCH}\n<tool_call>"),
    (POLLUTED, "no_end", "青岛的潮水最"),
    (POLLUTED, "no_end", "the same the same the same the same the same"),
    (POLLUTED, "unclosed_call", '<tool_call>{"name": "search", "arguments": {}}<|im_end|>'),
    (POLLUTED, "unclosed_call", 'Yes. <tool_call>{"name": "search"<|im_end|>'),
    # Broken calls.
    (POLLUTED, "stray_close", f"{SEARCH}</tool_call><|im_end|>"),
    (POLLUTED, "stray_close", '{"name": "search", "arguments": {}}</tool_call><|im_end|>'),
    (POLLUTED, "bad_schema", '<tool_call>{"name":"a"}</tool_call><|im_end|>'),
    (POLLUTED, "bad_schema", '<tool_call>{"arguments": {}}</tool_call><|im_end|>'),
    (POLLUTED, "bad_schema", '<tool_call>{"name": "a", "arguments": "{}"}</tool_call><|im_end|>'),
    (POLLUTED, "bad_schema", '<tool_call>{"name": 3, "arguments": {}}</tool_call><|im_end|>'),
    (
        POLLUTED,
        "bad_schema",
        '<tool_call>[{"name": "a", "arguments": {}}]</tool_call><|im_end|>',
    ),
    (POLLUTED, "bad_schema", "<tool_call>null</tool_call><|im_end|>"),
    (POLLUTED, "bad_json", "<tool_call>search(tide)</tool_call><|im_end|>"),
    (POLLUTED, "bad_json", "<tool_call>{'name': 'a', 'arguments': {}}</tool_call><|im_end|>"),
    (
        POLLUTED,
        "bad_json",
        '<tool_call>{"name": "a", "arguments": {}} {}</tool_call><|im_end|>',
    ),
    (POLLUTED, "bad_json", '<tool_call>{"name": "a", "arguments": {}</tool_call><|im_end|>'),
    (POLLUTED, "bad_json", "Here: <tool_call></tool_call><|im_end|>"),
    (POLLUTED, "bad_json", f"{SEARCH}\n<tool_call>潮汐</tool_call><|im_end|>"),
    (
        POLLUTED,
        "tag_inside_call",
        '<tool_call>{"name": "a"<tool_call>{"name": "b", "arguments": {}}</tool_call><|im_end|>',
    ),
    # Tags of turns, thoughts and results.
    (POLLUTED, "stray_tag", f"<think>tide first</think>{SEARCH}<|im_end|>"),
    (POLLUTED, "stray_tag", "<think>\n\n</think>\n\nIt is four.<|im_end|>"),
    (POLLUTED, "stray_tag", "Four.</think><|im_end|>"),
    (POLLUTED, "stray_tag", "Four.<|im_end|>\n<|im_start|>user\nAnd five?<|im_end|>"),
    (POLLUTED, "stray_tag", "Four.<|im_end|><|im_end|>"),
    (POLLUTED, "stray_tag", "<tool_response>14:20</tool_response><|im_end|>"),
    (POLLUTED, "stray_tag", f"<|im_start|>{SEARCH}<|im_end|>"),
    (POLLUTED, "stray_tag", "潮<|endoftext|>水<|im_end|>"),
    (POLLUTED, "unclosed_call stray_tag", "a <tool_call><|im_end|><tool_call><|im_end|>"),
    # Nothing but control tokens.
    (COLLAPSED, "empty", "<|im_end|>"),
    (COLLAPSED, "empty no_end", ""),
    (COLLAPSED, "empty", " \n\t<|im_end|>"),
    (COLLAPSED, "only_tags", "<tool_call></tool_call><|im_end|>"),
    (COLLAPSED, "only_tags", "<tool_call>\n<tool_call>\n<|im_end|>"),
    (COLLAPSED, "only_tags no_end", "<tool_call>" * 40),
    (COLLAPSED, "only_tags", "<think></think><|im_end|>"),
    (COLLAPSED, "only_tags", "<|im_end|><|im_end|>"),
    (COLLAPSED, "only_tags", "</tool_call> <|im_start|> <|im_end|>"),
]
LLAMA: Sequence[tuple[State, str, str]] = [
    (CALL, "", '{"name": "search", "parameters": {"q": "tide"}}<|eot_id|>'),
    (CALL, "", '<|python_tag|>{"name": "search", "parameters": {}}<|eom_id|>'),
    (WORDS, "", "潮水最高是十四点。<|eot_id|>"),
    (WORDS, "", '{"tide": "14:20"}<|eot_id|>'),
    (WORDS, "", "Calls of others begin with <tool_call>.<|eot_id|>"),
    (POLLUTED, "unread_part", '{"name": "a", "parameters": {}} and more<|eot_id|>'),
    (POLLUTED, "bad_json", '{"name": "a", "parameters": {<|eot_id|>'),
    (POLLUTED, "bad_json no_end", '{"name": "a", "param'),
    (POLLUTED, "bad_schema", '{"name": "a", "parameters": []}<|eot_id|>'),
    (POLLUTED, "stray_tag", "Hello<|start_header_id|>user<|eot_id|>"),
    (
        POLLUTED,
        "tag_inside_call",
        '{"name": "a", "parameters": {"x": "<|python_tag|>"}}<|eot_id|>',
    ),
    (COLLAPSED, "only_tags", "<|python_tag|><|eot_id|>"),
    (COLLAPSED, "empty", "<|eot_id|>"),
]
MISTRAL: Sequence[tuple[State, str, str]] = [
    (CALL, "", '[TOOL_CALLS][{"name": "a", "arguments": {}, "id": "abcdefghi"}]</s>'),
    (CALL, "", '我来查。[TOOL_CALLS] [{"name": "a", "arguments": {}}]</s>'),
    (WORDS, "", "The list is [1, 2].</s>"),
    (POLLUTED, "bad_schema", "[TOOL_CALLS][]</s>"),
    (POLLUTED, "bad_schema", '[TOOL_CALLS][{"name": "a"}]</s>'),
    (POLLUTED, "bad_json", '[TOOL_CALLS][{"name": "a", "arg</s>'),
    (POLLUTED, "bad_json", "Yes.[TOOL_CALLS]</s>"),
    (POLLUTED, "stray_tag", "Yes.[INST] no [/INST]</s>"),
    (POLLUTED, "no_end", '[TOOL_CALLS][{"name": "a", "arguments": {}}]'),
    (COLLAPSED, "only_tags", "[TOOL_CALLS]</s>"),
    (COLLAPSED, "empty no_end", "  "),
]
LABELLED = [
    *(("hermes", *each) for each in HERMES),
    *(("llama", *each) for each in LLAMA),
    *(("mistral", *each) for each in MISTRAL),
]
ANYTHING = st.lists(
    st.one_of(
        st.text(max_size=12),
        st.sampled_from(sorted({tag for d in DIALECTS.values() for tag in d.tags.all})),
        st.sampled_from(['{"name": "a", "arguments": {}}', '{"name": "a", "parameters": {}}']),
        st.sampled_from(["[", "]", "{", "}", "\n", '"', "\\", "<", ">"]),
    ),
    max_size=12,
).map("".join)


def thinking() -> Classifier:
    return Classifier.of(make_renderer("hermes", ThinkingPolicy.ON))


@pytest.mark.parametrize(("dialect", "state", "reasons", "text"), LABELLED)
def test_generations_are_classified_as_people_did(
    dialect: str, state: State, reasons: str, text: str
) -> None:
    found = Classifier(DIALECTS[dialect]).of_text(text)
    assert (found.state, " ".join(found.reasons)) == (state, reasons)


def test_a_stop_that_is_known_says_whether_a_turn_came_to_its_end() -> None:
    hermes = Classifier(DIALECTS["hermes"])
    assert hermes.of_text("Four.", Stop.EOS).state is State.RESPONSE
    assert hermes.of_text(SEARCH, Stop.EOS).state is State.TOOL_CALL
    for stop in (Stop.LENGTH, Stop.ABORT):
        assert hermes.of_text("Four.", stop).reasons == (Reason.NO_END,)


@pytest.mark.parametrize(
    ("state", "reasons", "text"),
    [
        (CALL, "", f"<think>\nfirst the tide\n</think>\n\n{SEARCH}<|im_end|>"),
        (WORDS, "", "<think>\na <tool_call> is not needed\n</think>\n\nFour.<|im_end|>"),
        (COLLAPSED, "empty", "<think>\nwell\n</think>\n\n<|im_end|>"),
        (POLLUTED, "stray_tag unclosed_thought", "<think>\nwell, four.<|im_end|>"),
        (POLLUTED, "stray_tag", "<think>\na\n</think>\n\n<think>b</think>Four.<|im_end|>"),
    ],
)
def test_where_the_policy_thinks_one_thought_may_stand_first(
    state: State, reasons: str, text: str
) -> None:
    found = thinking().of_text(text)
    assert (found.state, " ".join(found.reasons)) == (state, reasons)


def test_by_ids_a_spelled_tag_is_words_and_a_control_token_is_not() -> None:
    renderer, tokenizer = make_renderer("hermes"), CharacterTokenizer()
    classifier = Classifier.of(renderer)
    spelled = [id for character in END for id in tokenizer.encode(character)]
    whole = [*tokenizer.encode("The end is "), *spelled, *tokenizer.encode(f".{END}")]
    assert tokenizer.decode(whole).endswith("<|im_end|>.<|im_end|>")
    assert classifier.of_ids(whole, tokenizer).state is State.RESPONSE
    assert classifier.of_text(tokenizer.decode(whole)).reasons == (Reason.STRAY_TAG,)
    control = tokenizer.encode(f"The end is {END}.{END}")
    assert classifier.of_ids(control, tokenizer).reasons == (Reason.STRAY_TAG,)


def test_by_ids_a_tag_of_several_tokens_counts_wherever_it_is_spelled() -> None:
    classifier, tokenizer = Classifier.of(make_renderer("hermes")), CharacterTokenizer()
    found = classifier.of_ids(tokenizer.encode(f"<tool_call>{END}"), tokenizer, Stop.EOS)
    assert (found.state, found.num_tokens) == (State.COLLAPSED, 12)
    assert found.controls == {"<tool_call>": 1, END: 1}


def test_further_ends_and_control_tokens_are_those_of_the_renderer() -> None:
    renderer = Renderer.of(
        template_source("hermes"),
        SPECIAL_TOKENS["hermes"],
        ends=["<|stop|>"],
        controls=["<|fim|>"],
    )
    classifier = Classifier.of(renderer)
    assert classifier.of_text("Four.<|stop|>").state is State.RESPONSE
    assert classifier.of_text("Four.<|fim|><|im_end|>").reasons == (Reason.STRAY_TAG,)


@given(text=ANYTHING, stop=st.sampled_from([None, *Stop]))
@pytest.mark.parametrize("dialect", DIALECTS)
def test_anything_is_classified_and_healthy_ones_have_no_reason(
    dialect: str, text: str, stop: Stop | None
) -> None:
    classifier = Classifier(DIALECTS[dialect])
    found = classifier.of_text(text, stop)
    is_healthy = found.state in (State.TOOL_CALL, State.RESPONSE)
    assert is_healthy == (not found.reasons)
    if is_healthy:
        bare = next((text.rstrip().removesuffix(e) for e in classifier.ends if e in text), text)
        assert not DIALECTS[dialect].read(bare).faults
    assert (found.state is State.TOOL_CALL) <= (found.num_calls > 0)


@given(ids=st.lists(st.integers(0, 300), max_size=20))
def test_any_ids_are_classified(ids: list[int]) -> None:
    found = Classifier(DIALECTS["hermes"]).of_ids(ids, CharacterTokenizer())
    assert found.num_tokens == len(ids)


ARGUMENTS = st.dictionaries(st.text(max_size=4), st.text(max_size=8) | st.integers(-9, 9))
TURNS = st.builds(
    ParsedTurn,
    content=st.text(max_size=20) | st.sampled_from(["a <think> b", "see <|im_start|>", "x </s>"]),
    calls=st.lists(
        st.builds(
            ParsedCall,
            name=st.text(min_size=1, max_size=8),
            arguments=ARGUMENTS.map(json.dumps),
        ),
        max_size=2,
    ).map(tuple),
)


@given(turn=TURNS)
@pytest.mark.parametrize("dialect", ["hermes", "llama", "mistral"])
def test_what_the_renderer_writes_is_healthy(dialect: str, turn: ParsedTurn) -> None:
    renderer = make_renderer(dialect)
    try:
        written = renderer.turn(assistant(turn))
    except AstraError:
        return  # the dialect has no form for it
    classifier = Classifier.of(renderer)
    of_calls = {classifier.tags.opening, classifier.tags.closing}
    data = written.removesuffix(renderer.end)
    if any(tag in data for tag in classifier.controls - of_calls):
        return  # spelled in data, which ids alone can tell
    found = classifier.of_text(written)
    if not turn.calls and not turn.content.strip():
        assert found.state is State.COLLAPSED
        return
    assert found.state is (State.TOOL_CALL if turn.calls else State.RESPONSE)
