"""Servers as LiveMCPBench lists them."""

import json
from pathlib import Path
from typing import Any

from registry.documents.sources import Provenance, ServerDocument
from registry.importers.detection import detect
from registry.importers.livemcpbench import FORMAT, read

from import_forms import FORMS, tools


def read_all(path: Path, entries: Any) -> list[ServerDocument]:
    path.write_text(json.dumps(entries))
    assert detect(path) is FORMAT
    return [each for each in read(path) if isinstance(each, ServerDocument)]


def test_an_entry_is_a_server_and_nothing_secret_of_its_configuration_is_kept(
    tmp_path: Path,
) -> None:
    [server] = read_all(tmp_path / "bench.json", json.loads(FORMS["livemcpbench"].content))
    assert (server.key, server.name, server.version) == ("Dock 1#dock", "Dock 1", "1.2")
    assert (server.labels, server.provenance) == (("Travel",), Provenance.LIVE)
    assert server.origin == {"website": "https://dock.example/", "config": "dock"}
    assert [tool.name for tool in server.tools] == ["dock1_tide", "dock1_fee", "dock1_ships"]
    assert server.tools[0].input_schema == {"type": "object", "properties": {}}
    assert "secret" not in repr(server)


def test_each_configuration_of_an_entry_is_a_server_of_its_own(tmp_path: Path) -> None:
    listed = {config: {"tools": tools(config, "inputSchema")} for config in ("fast", "slow")}
    found = read_all(tmp_path / "bench.json", [{"name": "Dock", "tools": listed}])
    assert [(server.key, server.name) for server in found] == [
        ("Dock#fast", "Dock fast"),
        ("Dock#slow", "Dock slow"),
    ]


def test_an_entry_without_configurations_is_a_server_without_tools(tmp_path: Path) -> None:
    full = {"name": "Dock", "tools": {"dock": {"tools": tools("dock", "inputSchema")}}}
    _, empty = read_all(tmp_path / "bench.json", [full, {"name": "Dry dock", "tools": {}}])
    assert (empty.name, empty.tools) == ("Dry dock", ())
