"""The completions server as a process; prints one JSON line with its URL, and serves until a signal.

python -m astra_mcp.completions --recordings answers.jsonl
python -m astra_mcp.completions --policy my_module:answer --fault hang=0.01 --fault rate_limited=0.05
"""

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import anyio
from pydantic import ValidationError

from astra_mcp.addresses import run_until_stopped
from astra_mcp.completions.planned_faults import FaultKind, FaultPlan
from astra_mcp.completions.policy import Policy
from astra_mcp.completions.recordings import load_recordings
from astra_mcp.completions.server import open_completions
from astra_mcp.errors import AstraError, ConfigError


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal.

    Returns:
        The exit code.
    """
    options = _parser().parse_args(argv)
    try:
        file = options.recordings
        policy = load_recordings(file) if file else _load_policy(options.policy)
        anyio.run(_serve, options, policy, _plan(options), backend_options={"use_uvloop": True})
    except AstraError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


async def _serve(options: argparse.Namespace, policy: Policy, plan: FaultPlan) -> None:
    async def serve() -> None:
        async with open_completions(
            policy,
            faults=plan,
            models=options.model or ("scripted",),
            takes_schemas=not options.refuse_schemas,
            port=options.port,
        ) as server:
            hello = {"url": server.url, "base_url": server.base_url, "pid": os.getpid()}
            sys.stdout.write(json.dumps(hello) + "\n")
            sys.stdout.flush()
            await anyio.sleep_forever()

    await run_until_stopped(serve)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m astra_mcp.completions",
        description="Serve OpenAI's completions API on this machine from recordings or a policy.",
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--recordings", type=Path, metavar="FILE", help="JSONL of match and response"
    )
    source.add_argument("--policy", metavar="MODULE:NAME", help="a function of the request")
    parser.add_argument("--port", type=int, default=0, help="0, the default, takes any free one")
    parser.add_argument("--model", action="append", metavar="NAME", help="what /v1/models lists")
    parser.add_argument(
        "--refuse-schemas", action="store_true", help="refuse structured output with 400"
    )
    kinds = ", ".join(FaultKind)
    parser.add_argument(
        "--fault", action="append", default=[], metavar="KIND=SHARE", help=f"kinds: {kinds}"
    )
    parser.add_argument("--fault-seed", type=int, default=0, metavar="N")
    parser.add_argument("--retry-after", type=int, default=1, metavar="SECONDS")
    return parser


def _plan(options: argparse.Namespace) -> FaultPlan:
    given = {"seed": options.fault_seed, "retry_after_seconds": options.retry_after}
    try:
        return FaultPlan.model_validate({**given, "shares": _shares(options.fault)})
    except ValidationError as error:
        fault = error.errors()[0]
        wanted = ", ".join(FaultKind)
        raise ConfigError(
            f"--fault, --fault-seed and --retry-after: {fault['msg']} (got {fault['input']!r}); "
            f"a fault is KIND=SHARE, with a share from 0 to 1 and one of {wanted}"
        ) from None


def _shares(given: Sequence[str]) -> dict[str, str]:
    shares: dict[str, str] = {}
    for option in given:
        kind, _, share = option.partition("=")
        if kind in shares:
            msg = f"--fault {kind} is given twice, with {shares[kind]} and {share}: give it once"
            raise ConfigError(msg)
        shares[kind] = share
    return shares


def _load_policy(name: str) -> Policy:
    module, _, attribute = name.partition(":")
    try:
        policy: object = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        msg = f"--policy {name}: {error}; give MODULE:NAME of what Python can import"
        raise ConfigError(msg) from None
    if not callable(policy):
        raise ConfigError(f"--policy {name}: it is no function of a request")
    return cast("Policy", policy)


if __name__ == "__main__":
    sys.exit(main())
