"""Train a model with the GRPOTrainer of TRL on environments of a gateway.

astra-mcp synth environments --families micro --count 8 --language en --out micro
ASTRA_MCP_ENVIRONMENTS='["micro"]' python examples/train_with_trl.py MODEL OUT micro

Needs `pip install trl`. MODEL earns something already, as the one of `astra-mcp train demo` does.
"""

import sys
from pathlib import Path

from anyio.from_thread import start_blocking_portal
from datasets import Dataset
from transformers import AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_template

from astra_mcp.compose.settings import load_settings
from astra_mcp.serving.process.gateway_access import open_gateway_access
from gateway.api.wire import SourceEnvironment
from training.rl.trl import open_trl_environments


def main(model: str, out: str, folder: str, steps: int = 10) -> GRPOTrainer:
    """Train on all environments of a folder."""
    names = sorted(place.name for place in Path(folder).iterdir())
    sources = {name: SourceEnvironment(kind="environment", name=name) for name in names}
    tokenizer = AutoTokenizer.from_pretrained(model)
    tokenizer.response_template = (
        qwen3_template  # how the tiny model writes calls; TRL knows others
    )
    config = GRPOConfig(
        output_dir=out,
        max_steps=steps,
        per_device_train_batch_size=16,
        num_generations=4,
        max_completion_length=128,
        learning_rate=1e-3,
        logging_steps=1,
        report_to="none",
        use_cpu=True,
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_gateway_access(load_settings())) as gateway,
        open_trl_environments(gateway.url, gateway.key, sources, seeds=range(4)) as environments,
    ):
        trainer = GRPOTrainer(
            model,
            args=config,
            processing_class=tokenizer,
            train_dataset=Dataset.from_list(environments.rows),
            environment_factory=environments.environment_factory,
            reward_funcs=environments.reward,
        )
        trainer.train()
    return trainer


if __name__ == "__main__":
    for line in main(*sys.argv[1:4]).state.log_history:
        if "reward" in line:
            print(f"step {line['step']}: reward {line['reward']:.3f}")
