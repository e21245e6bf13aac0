"""The client library alone, asked for the same: what a call costs without anything of ours.

    python bare_client.py BASE_URL NUM_CALLS CALLS_AT_ONCE

Prints the processor time as one JSON line.
"""

import json
import sys
import time
from collections.abc import Iterator

import anyio
import httpx2
import openai

__all__ = ["main"]


async def _ask_all(base_url: str, num_calls: int, at_once: int) -> float:
    numbers = iter(range(num_calls))
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=at_once)
    http = httpx2.AsyncClient(limits=limits, timeout=60)
    async with openai.AsyncOpenAI(base_url=base_url, api_key="none", http_client=http) as client:
        began = time.process_time()
        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(_ask_in_turn, client, numbers)
        return time.process_time() - began


async def _ask_in_turn(client: openai.AsyncOpenAI, numbers: Iterator[int]) -> None:
    for number in numbers:
        text = f"item-{number:05}: answer with its name and the square of its number, as JSON."
        completion = await client.chat.completions.create(
            model="scripted", messages=[{"role": "user", "content": text}]
        )
        json.loads(completion.choices[0].message.content or "")


def main() -> None:
    """Ask, and print."""
    base_url, num_calls, at_once = sys.argv[1:]
    seconds = anyio.run(
        _ask_all, base_url, int(num_calls), int(at_once), backend_options={"use_uvloop": True}
    )
    sys.stdout.write(json.dumps({"cpu_seconds": seconds}) + "\n")


if __name__ == "__main__":
    main()
