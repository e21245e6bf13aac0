"""Train a model by GRPO on an MCP server of your own, by a reward of your own.

python examples/train_on_own_server.py OUT [MODEL]
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio

from astra_mcp.compose.settings import load_settings
from astra_mcp.serving.process.gateway_access import open_gateway_access
from gateway.api.client import GatewayClient
from gateway.api.settings import ServeSettings
from gateway.api.wire import SourceServers
from training.render import load_tokenizer
from training.rl.core.playing import PolicyTrajectory
from training.rl.native.agenda import Question
from training.rl.native.settings import LimitSettings, QuestionSet, RlSettings, UpdateSettings
from training.rl.native.trainer import Playground, train
from training.sft.preparing import check_versions
from training.tiny.start import save_start

SERVER = Path(__file__).with_name("harbour_server.py")
ENTRY = {"command": sys.executable, "args": ["-P", str(SERVER)], "isolation": "shared"}


def reward(number: int, played: Sequence[PolicyTrajectory]) -> list[float]:
    """Pay 1 for an answer with the weight, and a little for a short one, which random weights can learn."""
    del number  # of the group
    answers = [str(one.trajectory.messages[-1].content) for one in played]
    return [float("400 tons" in answer) + 1 / (10 + len(answer)) for answer in answers]


def write_servers(file: Path) -> Path:
    """Write the file of servers that desktop clients read."""
    file.write_text(json.dumps({"mcpServers": {"harbour": ENTRY}}), encoding="utf-8")
    return file


async def main(out: Path, model: str | None = None, steps: int = 12) -> None:
    """Serve it, and train on a question about it."""
    model = model or str(save_start(out / "start"))
    servers = write_servers(out / "servers.json")
    settings = RlSettings(
        model=model,
        out=out / "run",
        data=(QuestionSet(environments=("harbour",)),),
        training=UpdateSettings(steps=steps, groups=2, group_size=8, learning_rate=1e-2),
        limits=LimitSettings(turns=3, turn_tokens=24),
    )
    tokenizer, renderer = load_tokenizer(model)
    asked = SourceServers(kind="servers", names=("harbour",), prompt="How heavy is the Alma?")
    async with (
        open_gateway_access(load_settings(serve=ServeSettings(mcp_config=servers))) as access,
        GatewayClient(access.url, access.key) as gateway,
    ):
        playground = Playground(
            gateway=gateway,
            renderer=renderer,
            tokenizer=tokenizer,
            questions=[Question(source=asked, version=None)],
        )
        await train(
            settings,
            playground,
            versions=check_versions(),
            rewards=reward,
            hear=lambda p: print(f"step {p.step}: reward {p.values['rollout/reward']:.3f}"),
        )


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), *sys.argv[2:3])
