"""The container without a container engine: the file's rules, and its steps done by hand.

What an engine adds (layers, namespaces, its seccomp profile) is not tested here.
"""

import json
import os
import re
import shlex
import shutil
import stat
import subprocess
import tempfile
import tomllib
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest

from gateway.api.client import EpisodeClient, GatewayClient, open_http
from gateway.api.wire import EpisodeRequest
from gateway.edge.keys import read_control_key

ROOT = Path(__file__).parents[2]
UID = 54321
BUILD_SECONDS = 600
START_SECONDS = 60
API_KEY = "an api key of this test"
BASE_PYTHON = Path("/usr/bin/python3.11")
"""Stands for the interpreter of the base image: one that an unprivileged user can run."""


@dataclass
class Stage:
    """One stage of a Containerfile."""

    base: str
    name: str
    steps: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def all(self, word: str) -> list[str]:
        """The arguments of every instruction of one kind."""
        return [argument for kind, argument in self.steps if kind == word]

    @property
    def environment(self) -> dict[str, str]:
        """What ENV sets."""
        pairs = [pair for line in self.all("ENV") for pair in shlex.split(line)]
        return dict(pair.split("=", 1) for pair in pairs)


def read_stages() -> tuple[dict[str, str], list[Stage]]:
    """Read the Containerfile: its global arguments and its stages."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    arguments: dict[str, str] = {}
    stages: list[Stage] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word == "FROM":
            base, _, name = rest.partition(" AS ")
            stages.append(Stage(base, name))
        elif word == "ARG" and not stages:
            name, _, value = rest.partition("=")
            arguments[name] = value
        else:
            stages[-1].steps.append((word, rest))
    return arguments, stages


ARGUMENTS, STAGES = read_stages()
BUILD, FINAL = STAGES


def sources(stage: Stage) -> list[str]:
    """What a stage copies from the repository."""
    copies = [shlex.split(c) for c in stage.all("COPY") if not c.startswith("--from=")]
    return [source for words in copies for source in words[:-1]]


def test_both_stages_begin_at_one_base_of_an_exact_version() -> None:
    assert {stage.base for stage in STAGES} == {"${BASE}"}
    base = ARGUMENTS["BASE"]
    assert re.search(r"@sha256:[0-9a-f]{64}$|:\d+\.\d+\.\d+-[a-z0-9-]+$", base), base


def test_every_source_exists_and_reaches_the_builder() -> None:
    ignored = (ROOT / ".containerignore").read_text().splitlines()
    wanted = sources(BUILD)
    assert wanted
    assert sources(FINAL) == []
    for source in wanted:
        assert (ROOT / source).exists(), source
        assert f"!{source}" in ignored, source
    assert "*" in ignored


def test_the_wheel_s_packages_are_copied() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert set(packages) <= set(sources(BUILD))


def test_the_last_stage_runs_as_an_unprivileged_number_and_has_no_tools() -> None:
    assert FINAL.all("USER") == [f"{UID}:{UID}"]
    order = [word for word, _ in FINAL.steps]
    assert order.index("USER") > max(i for i, word in enumerate(order) if word in ("RUN", "COPY"))
    assert not re.search(
        r"\b(pip|apt|apt-get|gcc|make|git|curl|wget)\b", " ".join(FINAL.all("RUN"))
    )
    assert all(c.startswith("--from=build ") for c in FINAL.all("COPY"))
    assert any("pip uninstall" in run for run in BUILD.all("RUN"))


def test_it_is_started_stopped_and_probed_without_a_shell() -> None:
    [entry], [probe] = FINAL.all("ENTRYPOINT"), FINAL.all("HEALTHCHECK")
    assert json.loads(entry)[1:] == ["serve", "--host", "0.0.0.0"]
    assert json.loads(probe.partition(" CMD ")[2])[0].startswith("/")
    assert FINAL.all("CMD") == []
    assert FINAL.all("STOPSIGNAL") == ["SIGTERM"]
    assert FINAL.all("EXPOSE") == ["8420"]


def test_the_home_is_a_volume_and_no_secret_is_in_the_file() -> None:
    [volume] = FINAL.all("VOLUME")
    assert json.loads(volume) == [FINAL.environment["ASTRA_MCP_HOME"]]
    text = (ROOT / "Containerfile").read_text()
    assert not re.search(r"api_?key|secret|token|passw", text, re.IGNORECASE)


@dataclass(frozen=True)
class Built:
    """The result of the steps, below a folder that stands for the root."""

    root: Path

    def here(self, text: str) -> str:
        """Name a path of the container below the folder."""
        return re.sub(r"(?<![\w/.-])/(opt|src|wheels|var/lib)\b", rf"{self.root}/\1", text)

    def words_of(self, instruction: str) -> list[str]:
        """The command of an instruction of the last stage, below the folder."""
        [command] = FINAL.all(instruction)
        return [self.here(word) for word in json.loads(command[command.index("[") :])]


@pytest.fixture(scope="module")
def built() -> Generator[Built]:
    """Do the COPY and RUN steps of both stages below a folder that everyone can enter."""
    if os.getuid() != 0:
        pytest.skip("needs root, as a builder has, to become the container's user")
    if not BASE_PYTHON.exists():
        pytest.skip(f"needs an interpreter that every user can run: {BASE_PYTHON}")
    root = Path(tempfile.mkdtemp(prefix="container-", dir="/tmp"))
    root.chmod(0o755)
    found = Built(root)
    try:
        copy_sources(found)
        for stage in STAGES:
            run_steps(found, stage)
        yield found
    finally:
        shutil.rmtree(root)


def copy_sources(built: Built) -> None:
    (built.root / "src").mkdir()
    (built.root / "var" / "lib").mkdir(parents=True)
    for source in sources(BUILD):
        target = built.root / "src" / source
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, target)


def run_steps(built: Built, stage: Stage) -> None:
    commands = built.root / "bin"
    commands.mkdir(exist_ok=True)
    if not (commands / "python").exists():
        (commands / "python").symlink_to(BASE_PYTHON)
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
    for command in stage.all("RUN"):
        done = subprocess.run(
            ["/bin/sh", "-c", built.here(command)],
            cwd=built.root / "src",
            env={**variables, **stage.environment, "PATH": f"{commands}:/usr/bin:/bin"},
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


def run_as_user(environment: dict[str, str], *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as the container would."""
    return subprocess.run(
        command,
        env=environment,
        cwd=environment["ASTRA_MCP_HOME"],
        capture_output=True,
        timeout=START_SECONDS,
        check=False,
        user=UID,
        group=UID,
        extra_groups=[],
        text=True,
    )


@dataclass(frozen=True)
class Running:
    """The entry point, running as the container's user."""

    process: subprocess.Popen[str]
    url: str
    built: Built
    environment: dict[str, str]

    @property
    def home(self) -> Path:
        """Its home folder."""
        return Path(self.environment["ASTRA_MCP_HOME"])


@pytest.fixture(scope="module")
def running(built: Built) -> Generator[Running]:
    """Start the entry point with the container's variables and nothing else."""
    environment = {k: built.here(v) for k, v in FINAL.environment.items()}
    # A container's ports are its own; these are not.
    del environment["ASTRA_MCP_SERVE__WORKER_PORT"]
    environment |= {"ASTRA_MCP_SERVE__API_KEYS": json.dumps([API_KEY]), "PATH": "/usr/bin:/bin"}
    process = subprocess.Popen(
        [*built.words_of("ENTRYPOINT"), "--port", "0", "--json", "--workers", "2"],
        env=environment,
        cwd=environment["ASTRA_MCP_HOME"],
        umask=0o077,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        user=UID,
        group=UID,
        extra_groups=[],
        text=True,
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        if not line:
            pytest.fail(f"it did not start: {process.communicate()[1]}")
        yield Running(process, json.loads(line)["url"], built, environment)
    finally:
        process.kill()
        process.communicate()


def by_hand(test: Any) -> Any:
    """Mark a test of the built container: pip fetches all it needs, and it drops to another user."""
    for mark in (pytest.mark.foreign, pytest.mark.root, pytest.mark.timeout(BUILD_SECONDS)):
        test = mark(test)
    return test


@by_hand
async def test_the_entry_point_serves_as_the_container_s_user(running: Running) -> None:
    owner = (Path("/proc") / str(running.process.pid)).stat()
    assert (owner.st_uid, owner.st_gid) == (UID, UID)
    async with GatewayClient(running.url, read_control_key(running.home)) as control:
        [first, *_] = [e.name for e in await control.environments() if e.status == "verified"]
        [step, *_] = await control.gold(first)
        request = EpisodeRequest.model_validate({"source": {"kind": "environment", "name": first}})
        for created in await control.create_episodes([request, request]):
            agent = EpisodeClient(created.mcp_url, control.http)
            result = await agent.call(step.tool, step.arguments)
            assert not result.is_error, result.text
            assert (await control.close_episode(created.id)).calls == 1


@by_hand
async def test_the_interactive_endpoints_need_the_key_of_the_environment(running: Running) -> None:
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.post(f"{running.url}/mcp", content=b"{}")).status_code == 401
    async with open_http() as kept:
        assert (await EpisodeClient(f"{running.url}/mcp", kept, key=API_KEY).list_tools()) != ()


@by_hand
def test_the_health_check_answers_for_the_running_gateway(running: Running) -> None:
    done = run_as_user(running.environment, *running.built.words_of("HEALTHCHECK"))
    assert (done.returncode, done.stderr) == (0, "")


@by_hand
def test_the_package_folder_cannot_be_written_by_it(running: Running) -> None:
    package = running.built.root / "opt" / "astra-mcp"
    find = ("/usr/bin/find", str(package), "-writable", "!", "-type", "l")
    done = run_as_user(running.environment, *find)
    assert (done.returncode, done.stdout) == (0, "")
    assert stat.S_IMODE(running.home.stat().st_mode) == 0o700


@by_hand
def test_without_a_key_it_says_how_to_set_one(built: Built) -> None:
    home = Path(tempfile.mkdtemp(dir=built.root))
    os.chown(home, UID, UID)
    environment = {"ASTRA_MCP_HOME": str(home), "PATH": "/usr/bin:/bin"}
    done = run_as_user(environment, *built.words_of("ENTRYPOINT"), "--port", "0")
    assert done.returncode == 2
    assert "ASTRA_MCP_SERVE__API_KEYS" in done.stderr
