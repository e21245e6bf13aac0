"""What oracles did in real environments teaches a small model to solve questions through the gateway."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import anyio.to_thread
import pytest

from astra_mcp.serving.process.gateway_access import GatewayAccess
from gateway.api.client import GatewayClient
from gateway.api.wire import SourceEnvironment
from training.export.selection import Selection
from training.export.sft_exporting import SftForm, export_sft

from micro_runs import open_micro_gateway, play_oracle, write_micro_bundles
from sft_runs import prepared_run, text_of

pytestmark = [pytest.mark.train, pytest.mark.timeout(240)]


async def reward_of(
    folder: Path, access: GatewayAccess, names: Sequence[str]
) -> Mapping[str, float]:
    """Play the main question of each environment greedily."""
    from transformers import AutoModelForCausalLM  # noqa: PLC0415 - of the extra

    from training.evaluation.evaluating import evaluate  # noqa: PLC0415
    from training.evaluation.sampler import ModelSampler  # noqa: PLC0415

    model: Any = cast("Any", AutoModelForCausalLM).from_pretrained(folder)
    tokenizer, renderer = text_of(folder)
    sources = [(SourceEnvironment(kind="environment", name=name), None) for name in names]
    async with GatewayClient(access.url, access.key) as gateway:
        found = await evaluate(
            gateway,
            ModelSampler(model, tokenizer.end_ids),
            renderer,
            tokenizer,
            sources,
            samples=0,
            root_seed=0,
        )
    return found.metrics()


@pytest.mark.claim("P89")
async def test_exported_trajectories_teach_a_model_to_earn_rewards(tmp_path: Path) -> None:
    from training.sft.training import train  # noqa: PLC0415 - it loads PyTorch
    from training.tiny.start import save_start  # noqa: PLC0415

    start = save_start(tmp_path / "start")
    names = write_micro_bundles(tmp_path / "environments", 10, questions=8, seed=5)
    async with open_micro_gateway(tmp_path / "home", tmp_path / "environments") as access:
        await play_oracle(access, names[2:], tmp_path / "oracle.jsonl")
        await play_oracle(access, names[:2], tmp_path / "held_out.jsonl")
        for name in ("oracle", "held_out"):
            export_sft(
                [tmp_path / f"{name}.jsonl"],
                tmp_path / f"{name}.parquet",
                SftForm.MESSAGES,
                Selection(min_reward=0.9),
            )
        prepared = prepared_run(
            start,
            tmp_path / "oracle.parquet",
            tmp_path / "run",
            training={"epochs": 20, "batch_size": 8, "micro_batch_size": 8},
            validation={"file": str(tmp_path / "held_out.parquet"), "every": 8},
        )
        outcome = await anyio.to_thread.run_sync(
            lambda: train(prepared, hear=lambda progress: None)
        )
        assert outcome.weights is not None
        before = await reward_of(start, access, names[2:])
        after = await reward_of(outcome.weights, access, names[2:])
    lines = [json.loads(line) for line in (tmp_path / "run/metrics.jsonl").read_text().splitlines()]
    losses = [line["validation_loss"] for line in lines if "validation_loss" in line]
    assert losses[-1] < 0.75 * losses[0]
    assert before["greedy/reward"] == 0
    assert after["greedy/reward"] >= 0.4
