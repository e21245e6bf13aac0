"""Train a model by GRPO on environments of families through a gateway, and print what it earns.

astra-mcp synth environments --families micro --count 8 --language en --out micro
ASTRA_MCP_ENVIRONMENTS='["micro"]' python examples/train_on_families.py MODEL OUT

MODEL earns something already, as the one of `astra-mcp train demo` does after its SFT.
"""

import sys
from pathlib import Path

import anyio

from astra_mcp.compose.settings import load_settings
from astra_mcp.serving.process.gateway_access import open_gateway_access
from gateway.api.client import GatewayClient
from training.render import load_tokenizer
from training.rl.native.questions import find_questions
from training.rl.native.settings import LimitSettings, QuestionSet, RlSettings, UpdateSettings
from training.rl.native.trainer import Playground, train
from training.sft.preparing import check_versions
from training.sft.training import Progress


def show(progress: Progress) -> None:
    """Print the mean reward of the groups that were played for a step."""
    print(f"step {progress.step}: reward {progress.values['rollout/reward']:.3f}")


async def main(model: str, out: str, steps: int = 10) -> None:
    """Train on all micro environments that the gateway has."""
    tokenizer, renderer = load_tokenizer(model)
    async with (
        open_gateway_access(load_settings()) as access,
        GatewayClient(access.url, access.key) as gateway,
    ):
        names = [each.name for each in await gateway.environments()]
        micro = tuple(name for name in names if name.startswith("micro-"))
        settings = RlSettings(
            model=model,
            out=Path(out),
            data=(QuestionSet(environments=micro),),
            training=UpdateSettings(steps=steps, groups=4, group_size=4, learning_rate=1e-3),
            limits=LimitSettings(turns=6, turn_tokens=32),
        )
        questions = await find_questions(gateway, settings)
        playground = Playground(
            gateway=gateway, renderer=renderer, tokenizer=tokenizer, questions=questions
        )
        await train(settings, playground, versions=check_versions(), hear=show)


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:3])
