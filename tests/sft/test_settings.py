"""Settings of a run: presets, files and options, and what is said of a wrong one."""

import subprocess
import sys
from pathlib import Path

import pytest

from astra_mcp.errors import ConfigError
from training.sft.configuring import preset_of, read_assignments, read_settings
from training.sft.presets import PRESETS
from training.sft.settings import Per, ScheduleShape, TooLong


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "run.toml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.claim("P88")
@pytest.mark.parametrize(
    ("name", "rate", "context"), [("paper-14b", 5e-6, 2), ("paper-32b", 2e-6, 4)]
)
def test_the_papers_presets_say_what_the_paper_says(name: str, rate: float, context: int) -> None:
    found = read_settings(None, name, {"out": "run"})
    training = found.training
    assert (training.epochs, training.batch_size, training.learning_rate) == (2, 32, rate)
    assert (training.schedule, training.warmup_ratio) == (ScheduleShape.COSINE, 0.05)
    assert (found.examples.max_tokens, found.examples.too_long) == (20_000, TooLong.LEAVE_OUT)
    assert found.parallel.context == context


@pytest.mark.parametrize("name", ["collapse-1.5b", "collapse-1.7b"])
def test_the_studys_presets_take_turns_and_cut_on_the_left(name: str) -> None:
    found = read_settings(None, name, {"out": "run"})
    assert (found.examples.per, found.examples.too_long) == (Per.TURN, TooLong.CUT_LEFT)
    assert (found.examples.max_tokens, found.training.batch_size) == (8192, 128)
    assert (found.training.epochs, found.training.learning_rate) == (3, 1e-5)


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_every_preset_lacks_a_folder_alone(name: str) -> None:
    with pytest.raises(ConfigError, match=r"(?s)cannot be used:\n  out: is needed"):
        read_settings(None, name, {})
    assert read_settings(None, name, {"out": "run"}).out == Path("run")


def test_a_file_stands_over_its_preset_and_options_over_the_file(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        'preset = "tiny"\nout = "run"\n[training]\nepochs = 3\nbatch_size = 7\n[[data]]\nfile = "a.jsonl"\n',
    )
    found = read_settings(file, None, read_assignments(["training.epochs=4", "seed=9"]))
    assert (found.training.epochs, found.training.batch_size, found.seed) == (4, 7, 9)
    assert (
        found.training.learning_rate
        == read_settings(None, "tiny", {"out": "x"}).training.learning_rate
    )
    assert (found.out, found.data[0].file) == (tmp_path / "run", tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[trainig]\nepochs = 1\n", "trainig: there is no such setting; did you mean training?"),
        ("[training]\nepoch = 1\n", "training.epoch: there is no such setting; did you mean epochs?"),
        ('[[data]]\nfile = "a"\nwieght = 2\n', "data.0.wieght: .* did you mean weight?"),
        ("[training]\nepochs = 'many'\n", "training.epochs: .* number"),
        ("[parallel]\nprocesses = 3\ncontext = 2\n", "parallel: context 2 does not divide processes 3"),
        ("seed = \n", "is no TOML"),
        ("preset = 3\n", "preset: must be a text"),
        ('preset = "papr-14b"\n', "no preset is named 'papr-14b'; did you mean paper-14b?"),
        ("data = 5\n", r"data: must be a list: write a table \[\[data\]\] for each"),
    ],
)  # fmt: skip
def test_a_wrong_file_is_refused_by_place(tmp_path: Path, text: str, said: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(ConfigError, match=said):
        read_settings(file, None, {"model": "m", "out": "o"})


@pytest.mark.parametrize("text", ["training.epochs", "=3", "training..epochs=3"])
def test_an_assignment_without_place_or_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"write SECTION\.KEY=VALUE"):
        read_assignments([text])


def test_an_option_sets_a_key_of_the_set_that_it_numbers(tmp_path: Path) -> None:
    file = written(
        tmp_path, 'preset = "tiny"\n[[data]]\nfile = "a.jsonl"\n[[data]]\nfile = "b.jsonl"\n'
    )
    named = read_assignments(["data.1.weight=2", "training.betas.0=0.8"])
    found = read_settings(file, None, named, fallbacks={"out": "run"})
    assert [(each.file.name, each.weight) for each in found.data] == [
        ("a.jsonl", 1),
        ("b.jsonl", 2),
    ]
    assert found.training.betas == (0.8, 0.98)
    named = read_assignments(["data.0.min_reward=0.5"], {"data": [{"file": "c.jsonl"}]})
    (only,) = read_settings(file, None, named, fallbacks={"out": "run"}).data
    assert (only.file, only.min_reward) == (Path("c.jsonl"), 0.5)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("data.0.bogus=1", r"data\.0\.bogus: there is no such setting"),
        ("data.0.min_reward=2", r"data\.0\.min_reward: .* less than or equal to 1"),
        ("data.1.weight=2", r"data\.1: there is no such member of the list; there is data\.0"),
        ("data.-1.weight=2", r"data\.-1: there is no such member"),
        ("data=b.jsonl", "another option says data already"),
        ("training.betas=0.9,0.99", r"--set 'training\.betas=\[0\.9,0\.99\]'"),
        ("validation.environments=one", r"""--set 'validation\.environments=\["NAME"\]'"""),
    ],
)
def test_a_wrong_member_of_a_list_is_refused_by_name(text: str, said: str) -> None:
    options = {"data": [{"file": "a.jsonl"}], "out": "run"}
    with pytest.raises(ConfigError, match=said):
        read_settings(None, "tiny", read_assignments([text], options))


def test_a_set_that_is_not_there_is_not_made_by_an_option() -> None:
    with pytest.raises(ConfigError, match=r"data: must be a list: write a table \[\[data\]\]"):
        read_settings(None, "tiny", read_assignments(["data.0.weight=2", "out=run"]))


def test_a_fallback_gives_way_to_the_file(tmp_path: Path) -> None:
    file = written(tmp_path, 'preset = "tiny"\nout = "mine"\n')
    assert read_settings(file, None, {}, fallbacks={"out": "run"}).out == tmp_path / "mine"


def test_settings_and_the_command_load_no_library_of_training() -> None:
    code = (
        "import sys, astra_mcp.cli.train.command, training.sft.preparing, training.sft.run_folder;"
        "print({'torch', 'transformers', 'accelerate', 'tokenizers'} & {*sys.modules})"
    )
    told = subprocess.run(
        [sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("training.betas=[1.0, 0.9]", r"training\.betas\.0: .*less than 1"),
        ("training.betas=[0.9, -0.1]", r"training\.betas\.1: .*greater than or equal to 0"),
        ("training.betas=[nan, 0.9]", r"training\.betas\.0"),
        ("training.betas=[0.9, inf]", r"training\.betas\.1"),
        ("training.weight_decay=inf", r"training\.weight_decay: .*finite"),
        ("training.weight_decay=nan", r"training\.weight_decay"),
        ("training.clip_norm=inf", r"training\.clip_norm: .*finite"),
        ("training.learning_rate=nan", r"training\.learning_rate"),
        ("training.learning_rate=inf", r"training\.learning_rate"),
        ("training.epochs=nan", r"training\.epochs"),
        ("training.warmup_ratio=nan", r"training\.warmup_ratio"),
        (f"training.batch_size={10**400}", r"training\.batch_size"),
        (f"training.max_steps={10**30}", r"training\.max_steps"),
        ('data=[{file="a", weight=nan}]', r"data\.0\.weight"),
        ('data=[{file="a", min_reward=0.9, max_reward=0.1}]', "data.0: min_reward 0.9 is above max_rew"),
        ('data=[{file="a", min_calls=9, max_calls=1}]', "data.0: min_calls 9 is above max_calls 1"),
        ("validation.url=127.0.0.1:80", r"validation\.url: must be a URL"),
        ("validation.url=http://[", r"validation\.url: must be a URL"),
    ],
)  # fmt: skip
def test_a_value_out_of_range_is_refused_by_place(assignment: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_settings(None, "tiny", {"out": "o", **read_assignments([assignment])})


@pytest.mark.parametrize(
    "url", ["http://u:hunter2@h:1", "http://hunter2@h", "http://h?key=hunter2"]
)
def test_a_secret_in_the_gateways_url_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ConfigError, match=r"validation\.url: must hold no user") as told:
        read_settings(None, "tiny", {"out": "o", "validation": {"url": url}})
    assert "hunter2" not in str(told.value)


def test_the_preset_is_the_one_asked_for_or_the_files(tmp_path: Path) -> None:
    file = written(tmp_path, 'preset = "tiny"\nout = "run"\n')
    assert preset_of(file, None) == "tiny"
    assert preset_of(file, "qwen3-4b") == "qwen3-4b"
    assert preset_of(None, None) is None
