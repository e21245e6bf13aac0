"""``astra-mcp environments list`` over a folder of many: chosen, cut, and counted; faulty ones are named."""

from pathlib import Path

import pytest

from astra_mcp.environments.creation import create_bundle
from registry.bundles import folder

from command_line import Cli


@pytest.fixture
def cli(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Over two bundles, which are many, and a faulty one."""
    monkeypatch.setattr(folder, "FEW", 2)
    for name in ("ash", "birch", "cedar"):
        create_bundle(name, tmp_path / "many")
    (tmp_path / "many" / "cedar" / "server.json").unlink()
    monkeypatch.setattr("astra_mcp.compose.bundles.bundled_folder", lambda: tmp_path / "bundled")
    create_bundle("oak", tmp_path / "bundled")
    return Cli(home)


def test_environments_are_chosen_and_cut_and_a_faulty_one_of_many_is_told_of(
    cli: Cli, tmp_path: Path
) -> None:
    environments = f'["{tmp_path / "many"}"]'

    def listed(*options: str) -> tuple[list[str], int]:
        done = cli.run(
            "environments", "list", "--json", *options, ASTRA_MCP_ENVIRONMENTS=environments
        )
        assert "cedar is not published: server.json: is missing" in done.stderr
        return [e["name"] for e in done.told["environments"]], done.told["total"]

    assert listed() == (["ash", "birch", "oak"], 3)
    assert listed("--limit", "1", "--offset", "1") == (["birch"], 3)
    assert listed("--type", "multi-hop", "--hops", "2", "--verified")[1] == 3
    assert listed("--language", "zh") == ([], 0)
