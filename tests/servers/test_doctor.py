"""``astra-mcp doctor`` on real machines: this one, and one without seccomp; and what ``run`` does there."""

import json
import socket
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.from_thread import start_blocking_portal
from mcp import Client, StdioServerParameters, stdio_client
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from command_line import Cli, Run, command, served_home
from deployed_workshop import over_http

ASTRA_MCP = tuple(command())
WITHOUT_SECCOMP = (sys.executable, str(Path(__file__).parent / "without_seccomp.py"))
DEADLINE_SECONDS = 60


def run(*arguments: str, environment: dict[str, str], launcher: Sequence[str] = ()) -> Run:
    """Run a command here, or as a program of the launcher where there is one."""
    cli = Cli(Path(environment["ASTRA_MCP_HOME"]), environment)
    return cli.run_program(*arguments, launcher=launcher) if launcher else cli.run(*arguments)


def examined(environment: dict[str, str], *launcher: str) -> tuple[int, dict[str, Any]]:
    """Run the doctor and give its exit code and its checks by name."""
    done = run("doctor", "--json", environment=environment, launcher=launcher)
    assert done.told["ok"] is (done.returncode == 0)
    return done.returncode, {check["name"]: check for check in done.told["checks"]}


def test_a_sound_machine_misses_nothing(environment: dict[str, str], tmp_path: Path) -> None:
    code, checks = examined(environment)
    assert code == 0
    assert {c["state"] for c in checks.values()} <= {"ok", "warning"}
    assert "a tool ran in it" in checks["sandbox"]["detail"]
    assert not (tmp_path / "home").exists()
    shown = run("doctor", environment=environment, launcher=("/usr/bin/env",))
    assert shown.returncode == 0
    assert all(name in shown.stdout for name in checks)


def test_a_port_in_use_is_a_warning(environment: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        environment["ASTRA_MCP_SERVE__PORT"] = str(taken.getsockname()[1])
        code, checks = examined(environment)
    assert code == 0
    assert checks["gateway"]["state"] == "warning"
    assert "serve.port" in checks["gateway"]["remedy"]


def test_a_gateway_that_runs_is_found(environment: dict[str, str]) -> None:
    home = Path(environment["ASTRA_MCP_HOME"])
    with served_home(home):
        url = json.loads((home / "gateway.json").read_text(encoding="utf-8"))["url"]
        _, checks = examined(environment)
    assert checks["gateway"]["state"] == "ok"
    assert url in checks["gateway"]["detail"]


@pytest.mark.parametrize(
    ("variable", "value", "check", "member", "words"),
    [
        ("HOME", "FOLDER/file/home", "home folder", "remedy", "ASTRA_MCP_HOME"),
        ("HOME", "/proc/home", "home folder", "remedy", "ASTRA_MCP_HOME"),
        ("SERVE__API_KEYS", '["short"]', "gateway", "detail", "fewer than 16 characters"),
        ("SERVE__PORT", "many", "configuration", "detail", "serve.port"),
        ("ENVIRONMENTS", '["FOLDER/mine"]', "environments", "detail", "broken"),
        ("EMULATORS__KIND", "model", "emulators", "detail", "models.emulator.model"),
    ],
    ids=[
        "a home that cannot be written",
        "a home that cannot be made",
        "a short key",
        "a wrong setting",
        "a broken bundle",
        "no model's name",
    ],
)
def test_what_is_wrong_is_named(
    environment: dict[str, str],
    tmp_path: Path,
    *,
    variable: str,
    value: str,
    check: str,
    member: str,
    words: str,
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    (tmp_path / "mine" / "broken").mkdir(parents=True)
    (tmp_path / "mine" / "broken" / "environment.json").write_text("{}", encoding="utf-8")
    environment[f"ASTRA_MCP_{variable}"] = value.replace("FOLDER", str(tmp_path))
    code, checks = examined(environment)
    assert code == 1
    assert checks[check]["state"] == "missing"
    assert words in checks[check][member]


def test_a_missing_layer_is_named_and_each_fault_has_a_remedy(environment: dict[str, str]) -> None:
    code, checks = examined(environment, *WITHOUT_SECCOMP)
    assert code == 1
    assert all(c["remedy"] for c in checks.values() if c["state"] != "ok")
    assert checks["sandbox: seccomp"]["state"] == "missing"
    assert checks["sandbox: rlimits"]["state"] == "ok"
    assert "seccomp" in checks["sandbox"]["detail"]


def test_foreign_code_needs_every_layer(environment: dict[str, str], notebook_folder: Path) -> None:
    target = str(notebook_folder)
    done = run("run", target, environment=environment, launcher=WITHOUT_SECCOMP)
    assert done.returncode == 1
    assert "lacks seccomp" in done.stderr
    assert "--trusted" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("is_trusted", [True, pytest.param(False, marks=pytest.mark.system)])
async def test_trusted_and_bundled_code_runs_there_with_a_notice(
    environment: dict[str, str], notebook_folder: Path, tmp_path: Path, is_trusted: bool
) -> None:
    target = [str(notebook_folder), "--trusted"] if is_trusted else ["drone-show-winds"]
    command = StdioServerParameters(
        command=WITHOUT_SECCOMP[0],
        args=[*WITHOUT_SECCOMP[1:], *ASTRA_MCP, "run", *target],
        env=environment,
    )
    errors = tmp_path / "errors"
    with anyio.fail_after(DEADLINE_SECONDS), errors.open("w") as stream:
        async with Client(stdio_client(command, errlog=stream), cache=None) as client:
            tools = (await client.list_tools()).tools
            arguments: dict[str, Any] = {"word": "one"} if is_trusted else {"country": "IE"}
            result = await client.call_tool(tools[0].name, arguments)
    assert not result.is_error
    assert "unsandboxed" in errors.read_text()


def test_registry_and_endpoints_are_looked_for(environment: dict[str, str], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    nowhere = f"http://127.0.0.1:{port}/v1"
    environment |= {
        "ASTRA_MCP_REGISTRY__URL": f"postgresql://ann:secret-word@127.0.0.1:{port}/tools",
        "ASTRA_MCP_MODELS__JUDGE__BASE_URL": nowhere,
        "ASTRA_MCP_MODELS__JUDGE__MODEL": "small",
        "ASTRA_MCP_MODELS__JUDGE__API_KEY": "secret-key",
    }
    code, checks = examined(environment)
    assert code == 1
    assert checks["registry"]["state"] == "missing"
    assert checks["model endpoint: judge"]["detail"].startswith(f"small at {nowhere}: cannot be")
    assert "secret" not in json.dumps(checks)
    assert not (tmp_path / "home").exists()


def test_an_endpoint_that_answers_is_said_to(environment: dict[str, str]) -> None:
    with running_endpoint() as url:
        environment |= {"ASTRA_MCP_MODELS__AGENT__BASE_URL": url}
        _, checks = examined(environment)
    assert checks["model endpoint: agent"]["state"] == "ok"
    assert checks["registry"]["detail"].endswith("(made at the first import)")


def test_an_endpoint_that_was_not_asked_is_not_said_to_answer(environment: dict[str, str]) -> None:
    environment |= {"ASTRA_MCP_MODELS__JUDGE__MODEL": "small", "OPENAI_API_KEY": "secret-key"}
    _, checks = examined(environment)
    detail = checks["model endpoint: judge"]["detail"]
    assert detail == "small at OpenAI has a key, and was not asked"


@contextmanager
def running_endpoint() -> Generator[str]:
    """Answer requests for models, like any compatible endpoint."""

    def models(_: Request) -> Response:
        return JSONResponse({"object": "list", "data": []})

    app = Starlette(routes=[Route("/v1/models", models)])
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(over_http(app)) as url,
    ):
        yield url.replace("/mcp", "/v1")


def test_emulators_that_are_not_published_need_no_model(environment: dict[str, str]) -> None:
    environment |= {"ASTRA_MCP_EMULATORS__KIND": "model", "ASTRA_MCP_EMULATORS__PUBLISH": "false"}
    assert "emulators" not in examined(environment)[1]
