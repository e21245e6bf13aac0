"""The processes of a run: Ray's, which this run starts and ends, and the one that trains."""

import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import anyio
from anyio.abc import Process

from astra_mcp.errors import TrainingError
from training.rl.verl.settings import DeviceSettings

__all__ = [
    "FIGURES_VARIABLE",
    "KEY_VARIABLE",
    "environment",
    "open_process",
    "open_ray",
    "read_end",
]

KEY_VARIABLE = "ASTRA_MCP_CONTROL_KEY"
"""By which processes that play are told the gateway's key: it stands in no file."""
FIGURES_VARIABLE = "VERL_FILE_LOGGER_PATH"
"""By which verl is told the file of its figures."""
_STARTED = "Ray runtime started"
_STOP_SECONDS = 30.0
_STORE_BYTES = 500_000_000
"""Of Ray's memory for objects, on a CPU."""
_LOGICAL_CPUS = 16
"""verl's processes mostly wait: as many as it starts have to find a place, also on two cores."""
_RAY = {
    "RAY_raylet_start_wait_time_s": "240",
    "RAY_worker_niceness": "0",  # 15, and so never served, where others compute
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_enable_worker_prestart": "0",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
}
"""A loaded machine takes longer to start Ray than Ray waits."""
_ON_CPU = {
    "VERL_PLATFORM": "cpu",
    "VERL_ENGINE_DEVICE": "cuda",  # by this name verl finds the engine, which runs on a CPU too
    "VERL_USE_EXTERNAL_MODULES": "training.rl.verl.cpu.plugin",
    "TORCHDYNAMO_DISABLE": "1",
    "OMP_NUM_THREADS": "1",
}
_LOOPBACK = "127.0.0.1"
_TETHERED = (
    sys.executable,
    "-c",
    (
        "import ctypes, os, signal, sys\n"
        "ctypes.CDLL(None).prctl(1, signal.SIGTERM)\n"
        "os.execv(sys.argv[1], sys.argv[1:])"
    ),
)
"""Has Linux end a process where its parent is killed, who could not."""


def environment(settings: DeviceSettings, key: str, metrics: Path) -> dict[str, str]:
    """Give the environment of all processes of a run.

    Args:
        settings: Of the devices.
        key: Of the gateway's control plane.
        metrics: Where verl writes its figures.
    """
    return {
        **os.environ,
        **_RAY,
        **(_ON_CPU if settings.device == "cpu" else {}),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
        "TOKENIZERS_PARALLELISM": "false",
        "HYDRA_FULL_ERROR": "1",
        # Ray listens on all addresses of the machine.
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": token_hex(32),
        FIGURES_VARIABLE: str(metrics),
        KEY_VARIABLE: key,
    }


@asynccontextmanager
async def open_ray(
    settings: DeviceSettings, env: Mapping[str, str], log: Path
) -> AsyncGenerator[str]:
    """Start Ray for this run alone, and end it; gives its address.

    Raises:
        TrainingError: It does not start in time; names the log.
    """
    with TemporaryDirectory(
        prefix="ray-", dir="/tmp", ignore_cleanup_errors=True
    ) as place:  # paths of sockets are short
        # Ports that are told need not be found out, which is what fails on a loaded machine.
        names = ("port", "dashboard-agent-grpc-port", "dashboard-agent-listen-port")
        names += ("runtime-env-agent-port", "metrics-export-port")
        ports = dict(zip(names, _free_ports(len(names)), strict=True))
        options = [f"--{name}={port}" for name, port in ports.items()]
        options += [f"--num-cpus={max(_LOGICAL_CPUS, os.cpu_count() or 1)}"]
        options += [f"--num-gpus={settings.devices}", f"--temp-dir={place}"]
        if settings.device == "cpu":
            options.append(f"--object-store-memory={_STORE_BYTES}")
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--head", "--block"]
        command += [f"--node-ip-address={_LOOPBACK}", "--include-dashboard=false"]
        command += ["--disable-usage-stats", *options]
        async with open_process(command, env, log) as process:
            is_started = False
            with anyio.move_on_after(settings.start_seconds):
                while process.returncode is None and not is_started:
                    await anyio.sleep(0.2)  # it tells its log alone
                    is_started = _STARTED in read_end(log)
            if not is_started:
                raise TrainingError(
                    f"Ray did not start within {settings.start_seconds:g} s (verl.start_seconds): {log}"
                    " says more"
                )
            yield f"{_LOOPBACK}:{ports['port']}"


@asynccontextmanager
async def open_process(
    command: list[str], env: Mapping[str, str], log: Path
) -> AsyncGenerator[Process]:
    """Start a process that writes to a log, and end it and what it started, at the latest with this one."""
    if sys.platform == "linux":
        command = [*_TETHERED, *command]
    with log.open("ab") as output:
        process = await anyio.open_process(
            command, stdin=None, stdout=output, stderr=output, env=env, start_new_session=True
        )
    try:
        yield process
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)


async def _end(process: Process) -> None:
    if process.returncode is None:
        process.terminate()
        with anyio.move_on_after(_STOP_SECONDS):
            await process.wait()
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


def read_end(log: Path, size: int = 65_536) -> str:
    """Give the last bytes of a log as text."""
    with log.open("rb") as file:
        file.seek(max(0, file.seek(0, os.SEEK_END) - size))
        return file.read().decode("utf-8", "replace")


def _free_ports(count: int) -> list[int]:
    """Find ports that nobody listens on, all different."""
    held = [socket.socket() for _ in range(count)]
    try:
        for each in held:
            each.bind((_LOOPBACK, 0))
        return [each.getsockname()[1] for each in held]
    finally:
        for each in held:
            each.close()
