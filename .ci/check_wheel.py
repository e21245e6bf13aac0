"""Checks the built wheel: its contents, and that it serves when it is installed alone."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

TOP_LEVEL = {"astra_mcp", "registry", "servers", "gateway", "training"}


def check_contents(wheel: Path) -> int:
    """Require the five packages, their data and every bundled environment; count the latter."""
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == TOP_LEVEL, f"top-level names are {sorted(tops)}"
    for package in TOP_LEVEL:
        assert f"{package}/py.typed" in names, f"{package} has no py.typed"
    bundles = {
        n.split("/")[2] for n in names if n.startswith("servers/bundled/") and n.count("/") > 2
    }
    for bundle in bundles:
        for file in ("environment.json", "tools.py", "server.json"):
            assert f"servers/bundled/{bundle}/{file}" in names, f"{bundle} lacks {file}"
    library = "vendored/uplot/uPlot.iife.min.js"
    for file in (library, "assets/report.css", "assets/report.html.jinja", "assets/report.js"):
        assert f"astra_mcp/report/html/{file}" in names, f"reports lack {file}"
    licences = [name for name in names if ".dist-info/licenses/" in name]
    assert any("uplot" in name for name in licences), f"the licences are {licences}"
    assert len(bundles) >= 16, f"only {len(bundles)} bundled environments"
    return len(bundles)


def check_serves(wheel: Path, expected: int) -> None:
    """Install the wheel into a new environment without extras, serve, and count the environments."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        venv.create(home / "venv", with_pip=True)
        python = home / "venv" / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", str(wheel)], check=True)
        environment = {**os.environ, "ASTRA_MCP_HOME": str(home / "home")}
        command = [home / "venv" / "bin" / "astra-mcp", "serve", "--port", "0", "--json"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=folder)
        try:
            assert server.stdout is not None
            started = json.loads(server.stdout.readline())
            rollout = subprocess.run(
                [command[0], "rollout", "--agent", "oracle", "--json"],
                check=True,
                capture_output=True,
                env=environment,
                cwd=folder,
            )
            episodes = json.loads(rollout.stdout)["episodes"]
            assert len(episodes) == expected, f"{len(episodes)} of {expected} environments ran"
            weak = [e["environment"] for e in episodes if (e["reward"] or 0) < 0.999]
            assert not weak, f"the oracle fails in {weak}"
            assert started["url"].startswith("http://127.0.0.1:"), started
        finally:
            server.send_signal(signal.SIGINT)
            server.wait(30)
        assert server.returncode in (0, 130), f"serve ended with {server.returncode}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    count = check_contents(path)
    check_serves(path, count)
    print(f"{path.name}: {count} environments, serves when installed alone")
