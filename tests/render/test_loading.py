"""A model's folder says how it reads and writes, or the message says which of its files is wrong."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.errors import ConfigError
from astra_mcp.trajectory import UserMessage
from training.render import ParsedCall, ParsedTurn, RenderError, ThinkingPolicy, load_tokenizer

from model_folders import save_folder
from own_templates import SPECIAL_TOKENS, assistant, template_source

pytestmark = pytest.mark.train
tokenizers = pytest.importorskip("tokenizers")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return save_folder(tmp_path / "model")


def change(folder: Path, name: str, **members: Any) -> None:
    file = folder / name
    rows: dict[str, Any] = json.loads(file.read_text("utf-8")) if file.exists() else {}
    file.write_text(json.dumps({**rows, **members}), encoding="utf-8")


def test_special_tokens_of_a_text_are_one_token_each_and_none_is_added(folder: Path) -> None:
    tokenizer, renderer = load_tokenizer(str(folder))
    ids = tokenizer.encode("<|im_start|>北京<|im_end|>")
    assert tokenizer.decode(ids[:1]) == "<|im_start|>"
    assert tokenizer.decode(ids[-1:]) == renderer.end
    assert tokenizer.decode(ids) == "<|im_start|>北京<|im_end|>"
    assert tokenizer.end_ids == {ids[-1]}


def test_what_generation_ends_at_ends_a_turn_too(folder: Path) -> None:
    change(folder, "generation_config.json", eos_token_id=[2, 5])
    tokenizer, _ = load_tokenizer(str(folder))
    assert tokenizer.end_ids > {2, 5}


def ending(folder: Path, *words: str) -> None:
    backend = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    ids = [backend.token_to_id(word) for word in words]
    change(folder, "generation_config.json", eos_token_id=ids)


def test_a_turn_is_read_up_to_whatever_ends_it_at_generation(tmp_path: Path) -> None:
    special = {**SPECIAL_TOKENS["hermes"], "pad_token": "<|endoftext|>"}
    folder = save_folder(tmp_path / "hermes", special=special)
    ending(folder, "<|im_end|>", "<|endoftext|>")
    _, renderer = load_tokenizer(str(folder))
    assert renderer.parse("Yes.<|endoftext|>") == ParsedTurn("Yes.")
    with pytest.raises(RenderError, match=re.escape("holds <|endoftext|> itself")):
        renderer.turn(assistant(ParsedTurn("so <|endoftext|>")))
    special = {**SPECIAL_TOKENS["llama"], "pad_token": "<|eom_id|>"}
    folder = save_folder(tmp_path / "llama", template_source("llama"), special)
    ending(folder, "<|eot_id|>", "<|eom_id|>")
    _, renderer = load_tokenizer(str(folder))
    read = renderer.parse('{"name": "f", "parameters": {}}<|eom_id|>')
    assert read == ParsedTurn(calls=(ParsedCall("f", "{}"),))


def test_tags_that_are_added_as_common_tokens_are_controls_and_blanks_are_not(folder: Path) -> None:
    file = str(folder / "tokenizer.json")
    backend = tokenizers.Tokenizer.from_file(file)
    backend.add_tokens(["<tool_response>", "  ", "<b>"])
    backend.save(file)
    _, renderer = load_tokenizer(str(folder))
    assert "  " in template_source("hermes")
    expected = {"<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<tool_response>"}
    assert renderer.controls.spellings == expected


def test_a_common_word_that_ends_generation_ends_no_text(folder: Path) -> None:
    ending(folder, "<|im_end|>", "n")
    tokenizer, renderer = load_tokenizer(str(folder))
    assert tokenizer.encode("n")[0] in tokenizer.end_ids
    assert renderer.parse("one<|im_end|>") == ParsedTurn("one")


def test_truncation_and_padding_that_were_saved_along_change_no_tokens(folder: Path) -> None:
    expected = load_tokenizer(str(folder))[0].encode("Is the museum open?" * 9)
    file = str(folder / "tokenizer.json")
    backend = tokenizers.Tokenizer.from_file(file)
    backend.enable_truncation(4)
    backend.enable_padding(length=500)
    backend.save(file)
    tokenizer, _ = load_tokenizer(str(folder))
    assert tokenizer.encode("Is the museum open?" * 9) == expected
    assert len(tokenizer.encode("No")) <= 2


def of_config(folder: Path) -> None:
    change(folder, "tokenizer_config.json", chat_template=template_source("llama"))


def of_list(folder: Path) -> None:
    templates = [
        {"name": "default", "template": template_source("hermes")},
        {"name": "tool_use", "template": template_source("llama")},
    ]
    change(folder, "tokenizer_config.json", chat_template=templates)


def of_file(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text(template_source("llama"), encoding="utf-8")


def of_further_file(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text(template_source("hermes"), encoding="utf-8")
    further = folder / "additional_chat_templates"
    further.mkdir()
    (further / "tool_use.jinja").write_text(template_source("llama"), encoding="utf-8")


@pytest.mark.parametrize("place", [of_config, of_list, of_file, of_further_file])
def test_the_template_for_tools_is_found_where_models_have_it(
    tmp_path: Path, place: Callable[[Path], None]
) -> None:
    folder = save_folder(tmp_path / "model", special=SPECIAL_TOKENS["llama"])
    place(folder)
    _, renderer = load_tokenizer(str(folder))
    assert renderer.dialect.name == "llama"


def test_special_tokens_may_be_objects_and_stand_in_a_file_of_their_own(folder: Path) -> None:
    config = folder / "tokenizer_config.json"
    template = json.loads(config.read_text(encoding="utf-8"))["chat_template"]
    config.write_text(json.dumps({"chat_template": "{{ bos_token }}" + template}), encoding="utf-8")
    change(folder, "special_tokens_map.json", bos_token={"content": "<|im_start|>"}, eos_token=None)
    _, renderer = load_tokenizer(str(folder), thinking=ThinkingPolicy.ON)
    chat = [UserMessage(content="hi"), assistant(ParsedTurn("so"))]
    assert renderer.conversation(chat, ()).text.startswith("<|im_start|><|im_start|>user")


def without(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def with_text(name: str, text: str) -> Callable[[Path], None]:
    def spoil(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8")

    return spoil


def with_members(name: str, **members: Any) -> Callable[[Path], None]:
    return lambda folder: change(folder, name, **members)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (without("tokenizer.json"), "tokenizer.json is missing: save the tokenizer"),
        (with_text("tokenizer.json", "{}"), "tokenizer.json is no tokenizer: "),
        (with_text("tokenizer.json", "\ud800".encode("utf-8", "replace").decode()), "no tokenizer"),
        (without("tokenizer_config.json"), "has no chat template"),
        (with_text("tokenizer_config.json", "{"), "tokenizer_config.json cannot be read: "),
        (with_text("tokenizer_config.json", "[]"), "tokenizer_config.json is no JSON object"),
        (with_members("tokenizer_config.json", chat_template=None), "has no chat template"),
        (with_members("tokenizer_config.json", chat_template="{% if %}"), "template: line 1"),
        (
            with_members(
                "tokenizer_config.json",
                chat_template=template_source("hermes").replace("<|im_end|>", "<|other|>"),
                eos_token="<|im_end|>",
            ),
            "'<|other|>', with which the chat template ends a turn, is no token",
        ),
        (
            with_members(
                "tokenizer_config.json", added_tokens_decoder={"7": {"content": "<|im_end|>"}}
            ),
            "the added token '<|im_end|>' is 7, and tokenizer.json has ",
        ),
    ],
)
def test_a_folder_that_is_wrong_is_refused_by_the_name_of_its_file(
    folder: Path, spoil: Callable[[Path], None], words: str
) -> None:
    spoil(folder)
    with pytest.raises(ConfigError) as caught:
        load_tokenizer(str(folder))
    assert words in str(caught.value)
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("model", ["./none", "/none/such", "~/none-such", "a/b/c"])
def test_a_folder_that_is_none_is_not_asked_for_elsewhere(model: str) -> None:
    with pytest.raises(ConfigError, match="is no folder: name that of a model, or a name on"):
        load_tokenizer(model)


@pytest.mark.parametrize("model", ["nobody/none-such", "no good name", "--x"])
def test_a_name_that_the_hub_does_not_give_is_an_error_of_the_caller(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(
        ConfigError, match=f"^{model} is no folder, and was not loaded from the hub"
    ):
        load_tokenizer(model)


@pytest.mark.parametrize("library", ["tokenizers", "huggingface_hub"])
def test_a_library_that_is_not_installed_is_named_by_its_extra(
    library: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    model = str(folder) if library == "tokenizers" else "some/model"
    with pytest.raises(ConfigError, match=r"install astra-mcp\[train\]"):
        load_tokenizer(model)
