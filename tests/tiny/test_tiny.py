"""The tiny model: made on the spot, the same each time, and read by Transformers."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from astra_mcp.errors import ConfigError
from astra_mcp.synthesis.environments.families.catalog import find_families
from astra_mcp.synthesis.environments.families.generation import Order, make_planned, plan
from astra_mcp.synthesis.environments.families.micro.vocabulary import RELATIONS, WAYS
from astra_mcp.trajectory import AssistantMessage, FunctionCall, ToolCall, ToolMessage, UserMessage
from astra_mcp.types import JsonObject
from training.render import encode, load_tokenizer
from training.tiny.corpus import names
from training.tiny.model import MAX_PARAMETERS, SMALLEST, TINY, ModelSize, make_model
from training.tiny.start import save_start
from training.tiny.tokenizer import make_tokenizer

pytestmark = pytest.mark.train

TOOLS: list[JsonObject] = [
    {
        "type": "function",
        "function": {"name": "get_owner", "parameters": {"properties": {"name": {}, "at": {}}}},
    }
]
CHAT = (
    UserMessage(content="Who is Alba's owner?"),
    AssistantMessage(
        tool_calls=(
            ToolCall(id="1", function=FunctionCall(name="get_owner", arguments='{"name":"Alba"}')),
        )
    ),
    ToolMessage(tool_call_id="1", content='{"is": "碧桃"}'),
    AssistantMessage(content="碧桃."),
)


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return make_tokenizer()


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_start(tmp_path_factory.mktemp("tiny") / "start", size=SMALLEST)


def ids_of(tokenizer: PreTrainedTokenizerFast, text: str) -> list[int]:
    return list(tokenizer.encode(text, add_special_tokens=False))


def test_any_text_comes_back(tokenizer: PreTrainedTokenizerFast) -> None:
    @settings(max_examples=50)
    @given(st.text(st.characters(exclude_categories=["Cs"])))
    def check(text: str) -> None:
        assert tokenizer.decode(ids_of(tokenizer, text)) == text

    check()


def test_the_same_seed_makes_the_same_tokenizer(tokenizer: PreTrainedTokenizerFast) -> None:
    assert make_tokenizer().backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()


def test_a_name_is_few_tokens_wherever_it_stands_and_whether_it_is_known(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    for name in (*names(), "Bafo", "Zuze", "Wiva", "豆井"):
        alone = ids_of(tokenizer, name)
        assert len(alone) <= 3, name
        for text in (f"Who is {name}'s owner?", f'{{"is": "{name}"}}', f'"{name}" 的'):
            found = ids_of(tokenizer, text)
            assert any(found[at : at + len(alone)] == alone for at in range(len(found))), text


def test_words_and_frames_are_one_token_each(tokenizer: PreTrainedTokenizerFast) -> None:
    for planned in plan(Order(find_families(["micro"]), 10, 77)):
        asked = make_planned(planned).document.question
        # Words, the space before a name, two pieces more of a name, and signs; in Chinese each sign.
        names_in = sum(asked.count(name) for name in names())
        words = re.findall(r"[A-Za-z]+|[^\sA-Za-z]", asked)
        assert len(ids_of(tokenizer, asked)) <= len(words) + 3 * names_in, asked
    for tool in (each.tool for each in (*RELATIONS, *WAYS)):
        assert len(ids_of(tokenizer, f'\n{{"name": "{tool}", "arguments": {{"name": "')) == 3
    for key in ("is", "key", "gem", "at"):
        assert len(ids_of(tokenizer, f'{{"{key}": "')) == 1
    assert len(ids_of(tokenizer, "Every gold call has been made.")) == 7


def test_its_template_is_the_same_to_transformers_and_to_the_renderer(start: Path) -> None:
    own, renderer = load_tokenizer(str(start))
    theirs = AutoTokenizer.from_pretrained(start)
    rows = [message.model_dump(mode="json") for message in CHAT]
    rows[1]["tool_calls"][0]["function"]["arguments"] = {"name": "Alba"}
    text = theirs.apply_chat_template(rows, tools=TOOLS, tokenize=False)
    rendered = renderer.conversation(CHAT, TOOLS)
    assert rendered.text == text
    assert text.startswith("<|im_start|>system\nget_owner(name, at)\n<|im_end|>")
    assert renderer.dialect.name == "hermes"
    assert list(encode(rendered, own).ids) == ids_of(theirs, text)


def test_what_is_saved_is_read_and_names_what_it_is(start: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(start)
    assert model.config.model_type == "qwen3"
    own, _ = load_tokenizer(str(start))
    assert own.end_ids == {model.config.eos_token_id}
    assert "nothing but micro families" in (start / "README.md").read_text("utf-8")


def test_the_usual_size_is_tiny_and_a_larger_one_is_refused(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    count = sum(parameter.numel() for parameter in make_model(tokenizer, TINY).parameters())
    assert count < MAX_PARAMETERS / 2
    with pytest.raises(ConfigError, match="at most 500000"):
        make_model(tokenizer, ModelSize(hidden=256, layers=2, heads=4, head=64, feed_forward=512))


def test_weights_follow_from_the_seed_and_no_other_draw_does(
    tokenizer: PreTrainedTokenizerFast,
) -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, same, other = (make_model(tokenizer, SMALLEST, seed).state_dict() for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("kept")
    with pytest.raises(ConfigError, match=str(tmp_path)):
        save_start(tmp_path, size=SMALLEST)
    with pytest.raises(ConfigError, match="mine"):
        save_start(tmp_path / "mine", size=SMALLEST)
    assert [place.name for place in tmp_path.iterdir()] == ["mine"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert (save_start(empty, size=SMALLEST) / "config.json").is_file()
