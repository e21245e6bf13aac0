"""verl's own configuration takes what it is told, for every preset."""

import json
import subprocess
from pathlib import Path

import pytest

from training.rl.verl.presets import preset_names

from verl_runs import find_verl

pytestmark = [pytest.mark.foreign, pytest.mark.timeout(1800)]


def dry_run(tmp_path: Path, text: str) -> "subprocess.CompletedProcess[str]":
    config = tmp_path / "run.toml"
    config.write_text(f'{text}\nout = "run"\n[[data]]\nenvironments = ["any"]\n')
    command = [find_verl() / "astra-mcp", "train", "rl", "--backend", "verl", "--dry-run", "--json"]
    return subprocess.run(
        [*command, "--config", config], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("name", preset_names())
def test_verl_composes_and_checks_each_preset(tmp_path: Path, name: str) -> None:
    found = dry_run(tmp_path, f'preset = "{name}"')
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["actor_rollout_ref.rollout.name"] == '"vllm"'
    has_kl = name.startswith("collapse-")
    assert told["actor_rollout_ref.actor.use_kl_loss"] == json.dumps(has_kl)
    assert not (tmp_path / "run").exists()


def test_what_verl_refuses_is_told_in_its_words_and_without_a_trace(tmp_path: Path) -> None:
    found = dry_run(tmp_path, 'preset = "qwen3-4b"\nverl.overrides = ["actor.unknown=1"]')
    assert found.returncode != 0
    assert "verl does not take its configuration" in found.stderr
    assert "Traceback" not in found.stderr


def test_probabilities_as_they_were_sampled_and_help_do_not_go_together(tmp_path: Path) -> None:
    bypass = 'verl.overrides = ["algorithm.rollout_correction.bypass_mode=true"]'
    found = dry_run(tmp_path, f'preset = "qwen3-4b"\nsignals.hints.members = 1\n{bypass}')
    assert found.returncode != 0
    assert "leave it out, or signals" in " ".join(found.stderr.split())


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("actor_rollout_ref.model.lora_rank=8", "leave LoRA out, or signals.schedule"),
        ("actor_rollout_ref.actor.strategy=fsdp", "signals.schedule needs"),
    ],
)
def test_phases_go_with_all_weights_and_one_strategy(
    tmp_path: Path, override: str, words: str
) -> None:
    phases = "signals.schedule.first = 1\nsignals.supervision.learning_rate = 1e-5"
    # With vLLM verl looks for its version before it comes to adapters.
    text = f'preset = "qwen3-4b"\n{phases}\nverl.device = "cpu"\nverl.overrides = ["{override}"]'
    found = dry_run(tmp_path, text)
    assert found.returncode != 0
    assert words in " ".join(found.stderr.split())
