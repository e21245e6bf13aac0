"""What is looked at before a run begins: lengths, versions, bounds of the model, and memory."""

import json
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest

from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject

from sft_runs import chat_rows, prepared_run, write_rows

pytestmark = pytest.mark.train


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Six chats, the last of which is long."""
    rows = [*chat_rows(6)]
    messages = cast("list[dict[str, Any]]", rows[5]["messages"])
    messages[0]["content"] = "Well, " * 200 + str(messages[0]["content"])
    return write_rows(tmp_path / "rows.jsonl", rows)


def test_the_model_learns_its_own_turns_and_nothing_else(small_model: Path, data: Path) -> None:
    from sft_runs import text_of  # noqa: PLC0415

    tokenizer, _ = text_of(small_model)
    example = prepared_run(small_model, data, data.parent / "run").examples[0]
    learned = tokenizer.decode([int(i) for i in example.ids[example.mask]])
    assert "get_box" in learned
    assert "There is a key 0." in learned
    assert "What is in" not in learned
    assert "a key 0<" not in learned.replace("There is a key 0.", "")


def test_one_example_for_each_turn_learns_as_many_tokens(small_model: Path, data: Path) -> None:
    out = data.parent / "run"
    whole = prepared_run(small_model, data, out)
    turns = prepared_run(small_model, data, out, examples={"per": "turn"})
    assert len(turns.examples) == 2 * len(whole.examples)
    assert sum(e.num_trained for e in turns.examples) == sum(e.num_trained for e in whole.examples)


def test_what_is_too_long_is_counted_and_left_out(small_model: Path, data: Path) -> None:
    prepared = prepared_run(small_model, data, data.parent / "run", examples={"max_tokens": 200})
    assert len(prepared.examples) == 5
    assert prepared.sets[0].examples.left_out == {"too long": 1}


def test_what_is_too_long_keeps_its_end_where_that_is_asked_for(
    small_model: Path, data: Path
) -> None:
    out = data.parent / "run"
    cut = prepared_run(small_model, data, out, examples={"max_tokens": 200, "too_long": "cut_left"})
    whole = prepared_run(small_model, data, out)
    assert cut.sets[0].examples.num_cut == 1
    np.testing.assert_array_equal(cut.examples[5].ids, whole.examples[5].ids[-200:])


def test_a_set_of_which_nothing_is_left_names_file_and_reason(
    small_model: Path, data: Path
) -> None:
    with pytest.raises(ConfigError, match=r"rows\.jsonl has no example .* 6 too long"):
        prepared_run(small_model, data, data.parent / "run", examples={"max_tokens": 10})


def test_rows_that_are_trained_on_are_no_validation_in_whatever_file(
    small_model: Path, data: Path
) -> None:
    copied = [json.loads(line) for line in data.read_text().splitlines()][:2]
    other = write_rows(data.parent / "other.jsonl", [*chat_rows(3, begin=60), *copied])
    for held_out, num_rows, num_both in ((data, 6, 6), (other, 5, 2)):
        said = rf"validation\.file: of the {num_rows} rows of .*{held_out.name}, {num_both} are trained on"
        with pytest.raises(ConfigError, match=said):
            prepared_run(small_model, data, data.parent / "run", validation={"file": str(held_out)})


def test_validation_rows_that_the_model_cannot_read_are_refused(
    small_model: Path, data: Path
) -> None:
    from training.sft.model import model_config  # noqa: PLC0415
    from training.sft.preparing import check_fit  # noqa: PLC0415

    short = write_rows(data.parent / "short.jsonl", chat_rows(3, begin=60))
    prepared = prepared_run(small_model, short, data.parent / "run", validation={"file": str(data)})
    config = model_config(str(small_model))
    config.max_position_embeddings = max(len(each.ids) for each in prepared.examples)
    with pytest.raises(ConfigError, match=r"validation\.file: an example has \d+ tokens"):
        check_fit(prepared, config)


def test_a_set_of_which_no_row_is_ever_seen_is_named(small_model: Path, data: Path) -> None:
    other = write_rows(data.parent / "other.jsonl", chat_rows(4, begin=40))
    sets: list[JsonObject] = [{"file": str(data)}, {"file": str(other), "weight": 0.01}]
    with pytest.raises(
        ConfigError, match=r"data\.1\.weight: no row of .*other\.jsonl is ever seen"
    ):
        prepared_run(small_model, data, data.parent / "run", sets=sets)


def test_a_run_of_one_step_lays_down_no_more_than_it_needs(small_model: Path, data: Path) -> None:
    prepared = prepared_run(
        small_model, data, data.parent / "run", training={"epochs": 10_000, "max_steps": 1},
        sets=[{"file": str(data), "weight": 1000}],
    )  # fmt: skip
    assert [len(batch) for batch in prepared.batches] == [8]
    assert prepared.num_seen == 10_000 * 1000 * 6
    assert prepared.epoch(1) == pytest.approx(8 / 6000)


def test_examples_that_the_model_cannot_read_are_refused(small_model: Path, data: Path) -> None:
    from training.sft.model import model_config  # noqa: PLC0415
    from training.sft.preparing import check_fit  # noqa: PLC0415

    prepared = prepared_run(small_model, data, data.parent / "run")
    config = model_config(str(small_model))
    longest = max(len(each.ids) for each in prepared.examples)
    config.max_position_embeddings = longest
    check_fit(prepared, config)
    config.max_position_embeddings = longest - 1
    with pytest.raises(ConfigError, match=r"examples\.max_tokens: an example has \d+ tokens"):
        check_fit(prepared, config)
    config.max_position_embeddings, config.vocab_size = 4096, 50
    with pytest.raises(ConfigError, match="the two do not belong together"):
        check_fit(prepared, config)


def test_libraries_of_other_versions_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from training.sft import preparing  # noqa: PLC0415

    wanted = 'torch>=99; extra == "train"'

    def asked(package: str) -> list[str]:
        return [wanted] if package == "astra-mcp" else []

    monkeypatch.setattr(preparing, "requires", asked)
    with pytest.raises(ConfigError, match=r"needs torch>=99, and .* is here: install astra-mcp"):
        preparing.check_versions()
    wanted = 'no-such-thing; extra == "train"'
    with pytest.raises(ConfigError, match="training needs no-such-thing: install astra-mcp"):
        preparing.check_versions()


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("paper-14b", 14.8),
        ("paper-32b", 32.8),
        ("qwen3-4b", 4.0),
        ("qwen3-1.7b", 1.7),
        ("collapse-1.5b", 1.5),
    ],
)
def test_the_sizes_of_presets_give_the_parameters_that_models_are_published_with(
    name: str, billions: float
) -> None:
    from training.sft.estimate import config_of, count_parameters  # noqa: PLC0415
    from training.sft.presets import find_preset  # noqa: PLC0415

    found = count_parameters(config_of(find_preset(name)))
    assert found / 1e9 == pytest.approx(billions, abs=0.06)


@pytest.mark.parametrize("is_checkpointed", [False, True])
def test_estimated_activations_are_about_what_the_backward_pass_keeps(
    small_model: Path, data: Path, is_checkpointed: bool
) -> None:
    import torch  # noqa: PLC0415
    from transformers import AutoModelForCausalLM, Qwen3Config  # noqa: PLC0415

    from training.sft.estimate import estimate_memory  # noqa: PLC0415
    from training.sft.model import save_memory  # noqa: PLC0415

    config = Qwen3Config(
        vocab_size=64, hidden_size=128, intermediate_size=384, num_hidden_layers=6,
        num_attention_heads=4, num_key_value_heads=2, head_dim=32,
    )  # fmt: skip
    training = {"micro_batch_size": 1, "gradient_checkpointing": is_checkpointed}
    settings = prepared_run(small_model, data, data.parent / "run", training=training).settings
    tokens = 512
    memory = estimate_memory(config, settings, parameters=0, tokens=tokens, trained=1)
    model: Any = cast("Any", AutoModelForCausalLM).from_config(config, attn_implementation="sdpa")
    if is_checkpointed:
        save_memory(model)
    model.train()
    kept: dict[int, int] = {}
    weights = {each.untyped_storage().data_ptr() for each in model.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        place = tensor.untyped_storage().data_ptr()
        if place not in weights:
            kept[place] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        model(
            input_ids=torch.zeros((1, tokens), dtype=torch.long), use_cache=False, logits_to_keep=1
        )
    found = sum(kept.values())
    if is_checkpointed:  # what each layer was given, and less than with one layer's own beside it
        assert 4 * tokens * 6 * 128 <= found <= memory.activations
    else:
        assert found == pytest.approx(memory.activations, rel=0.3)
