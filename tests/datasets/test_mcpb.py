"""``astra-mcp export mcpb``: an archive that a client starts offline, and that answers as `run` does.

The schema beside this file, with its licence, is that of the repository ``modelcontextprotocol/mcpb``.
"""

import json
import os
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import anyio
import pytest
from jsonschema_rs import Draft7Validator
from mcp import Client, StdioServerParameters

from astra_mcp.answers import contains_answer
from astra_mcp.environments.archive.mcpb import archive_of
from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle
from astra_mcp.types import JsonObject
from servers.bundled import bundled_folder

from command_line import Cli, command, variables

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parent / "mcpb/mcpb-manifest-v0.3.schema.json").read_text()
)
WITH_CLOCK = "loan-overpayment"
"""Its gold calls need the day of the bundle."""
NAMES = sorted(folder.parent.name for folder in bundled_folder().glob("*/environment.json"))
EACH = [pytest.param(n, marks=() if n == WITH_CLOCK else pytest.mark.volume) for n in NAMES]
SECONDS = 60


def read(packed: bytes, name: str) -> str:
    with ZipFile(BytesIO(packed)) as archive:
        return archive.read(name).decode()


def test_the_manifest_is_valid_and_names_files_of_the_archive() -> None:
    packed = archive_of(load_bundle(bundled_folder() / WITH_CLOCK))
    manifest = json.loads(read(packed, "manifest.json"))
    assert [error.message for error in Draft7Validator(SCHEMA).iter_errors(manifest)] == []
    names = ZipFile(BytesIO(packed)).namelist()
    assert names == sorted(names)
    assert manifest["server"]["entry_point"] in names
    assert "without a sandbox" in manifest["long_description"]


def test_the_same_bundle_gives_the_same_bytes_without_answers_or_gold_calls() -> None:
    for name in NAMES:
        bundle = load_bundle(bundled_folder() / name)
        packed = archive_of(bundle)
        assert archive_of(bundle) == packed
        shown = [read(packed, file) for file in ("manifest.json", "server/environment.json")]
        for text in shown:
            assert not any(contains_answer(text, item.answer) for item in bundle.job)
            assert {"gold", "sub_tasks", "answer"}.isdisjoint(json.loads(text))


def test_an_archive_is_written_once_and_holds_one_environment(tmp_path: Path, cli: Cli) -> None:
    done = cli.run("export", "mcpb", WITH_CLOCK, "--out", "loan.mcpb", "--json")
    written = (tmp_path / "loan.mcpb").read_bytes()
    assert done.told == {"name": WITH_CLOCK, "file": "loan.mcpb", "bytes": len(written)}
    for arguments, words in (
        ((WITH_CLOCK, "--out", "loan.mcpb"), "is there already"),
        ((WITH_CLOCK, "--out", "loan.zip"), "must end in .mcpb"),
        ((str(bundled_folder()), "--out", "all.mcpb"), "holds several bundles"),
    ):
        refused = cli.run("export", "mcpb", *arguments)
        assert (refused.returncode, words in refused.stderr) == (2, True)
    assert (tmp_path / "loan.mcpb").read_bytes() == written


async def conversation(
    program: StdioServerParameters, bundle: Bundle, mode: Any
) -> dict[str, list[Any]]:
    """List the tools, play the gold calls, and make mistakes."""
    first = bundle.document.tools[0].name
    wrong: Sequence[JsonObject] = ({}, {"none_such": 1})
    calls = [(call.tool, call.values) for call in bundle.document.gold]
    calls += [(first, arguments) for arguments in wrong]
    with anyio.fail_after(SECONDS):
        async with Client(program, mode=mode, cache=None) as client:
            listed = await client.list_tools()
            results = [await client.call_tool(tool, arguments) for tool, arguments in calls]
    tools = [tool.model_dump(mode="json") for tool in listed.tools]
    return {
        "tools": tools,
        "results": [
            [result.is_error, result.structured_content, *(b.model_dump() for b in result.content)]
            for result in results
        ],
    }


@pytest.mark.parametrize("name", EACH)
async def test_a_client_sees_the_tools_and_results_that_run_shows_in_both_eras(
    name: str, tmp_path: Path
) -> None:
    bundle = load_bundle(bundled_folder() / name)
    with ZipFile(BytesIO(archive_of(bundle))) as archive:
        archive.extractall(tmp_path / "archive")
    server = json.loads((tmp_path / "archive/manifest.json").read_text("utf-8"))["server"]
    started = server["mcp_config"]
    arguments = [a.replace("${__dirname}", str(tmp_path / "archive")) for a in started["args"]]
    env = {**started["env"], "PATH": os.environ["PATH"]}
    alone = StdioServerParameters(command=sys.executable, args=arguments, env=env)
    program, *rest = command("run", name)
    ours = StdioServerParameters(command=program, args=rest, env=variables(tmp_path / "home"))
    expected = await conversation(ours, bundle, "legacy")
    for mode in ("legacy", "2026-07-28"):
        assert await conversation(alone, bundle, mode) == expected
    solved = [r[2]["text"] for r in expected["results"][: len(bundle.document.gold)]]
    assert all(any(contains_answer(text, i.answer) for text in solved) for i in bundle.job)
