"""Open an episode, play its gold calls as an MCP client, and read the reward.

astra-mcp serve                              # in another terminal
python examples/one_episode.py [ENVIRONMENT]
"""

import sys

import anyio
from mcp import Client

from astra_mcp.home import home_folder
from gateway.api.client import GatewayClient, RefusedError
from gateway.api.wire import EpisodeRequest
from gateway.edge.discovery import find_gateway


async def main(environment: str) -> None:
    """Play one environment."""
    home = home_folder()
    running = find_gateway(home)
    if running is None:
        sys.exit("no gateway runs: start one with `astra-mcp serve`")
    key = (home / "control.key").read_text(encoding="ascii").strip()
    async with GatewayClient(running.url, key) as control:
        request = EpisodeRequest.model_validate(
            {"source": {"kind": "environment", "name": environment}, "seed": 7}
        )
        try:
            episode = await control.create_episode(request)
        except RefusedError as error:
            sys.exit(str(error))
        print("question:", episode.prompt)
        async with Client(episode.mcp_url, cache=None) as agent:
            print("tools:", ", ".join(t.name for t in (await agent.list_tools()).tools))
            for step in await control.gold(environment):
                result = await agent.call_tool(step.tool, step.arguments)
                print(f"{step.tool} ->", getattr(result.content[0], "text", "")[:100])
        state = await control.close_episode(episode.id)
        print("reward:", state.reward)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1] if len(sys.argv) > 1 else "tour-rebooking")
