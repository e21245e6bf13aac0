"""What this machine can do, found out by trying it in a child process."""

import json
import os
import platform
import subprocess

from astra_mcp.sandbox.protocol import SandboxLimits, SandboxReport
from astra_mcp.sandbox.runtime import Runtime, settings_for

__all__ = ["examine_machine"]

_SECONDS = 30.0


def examine_machine(runtime: Runtime | None = None) -> SandboxReport:
    """Lock a child process layer by layer and report which layers held.

    Takes about a tenth of a second and never fails: what cannot be tried counts as missing.
    """
    runtime = runtime or Runtime.default()
    settings = settings_for(SandboxLimits(), runtime).encode()
    facts: dict[str, bool | int] = {}
    if platform.system() == "Linux":
        try:
            finished = subprocess.run(  # noqa: S603 - our own interpreter and launcher
                runtime.command("examine", "1", settings),
                env=runtime.environment,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                timeout=_SECONDS,
                check=False,
            )
            facts = json.loads(finished.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired):
            facts = {}
    return _report(facts)


def _report(facts: dict[str, bool | int]) -> SandboxReport:
    report = SandboxReport(
        backend="zygote",
        machine=platform.machine(),
        seccomp=bool(facts.get("seccomp")),
        no_new_privs=bool(facts.get("no_new_privs")),
        rlimits=bool(facts.get("rlimits")),
        landlock_abi=int(facts.get("landlock_abi", 0)),
        uid=int(facts.get("uid", os.getuid())),
    )
    return report.model_copy(update={"backend": "unsandboxed"}) if report.missing else report
