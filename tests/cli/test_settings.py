"""Settings: the file, the environment, and what is said when they are wrong."""

from pathlib import Path

import pytest

from astra_mcp.cli.config import DEFAULT_PORT, load_settings
from astra_mcp.errors import ConfigError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working folder and home."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    return tmp_path


def test_without_a_file_the_defaults_hold(folder: Path) -> None:
    settings = load_settings()
    assert settings.serve.port == DEFAULT_PORT
    assert settings.home == folder / "home"


def test_the_file_of_the_working_folder_comes_before_that_of_the_home(folder: Path) -> None:
    (folder / "home").mkdir()
    (folder / "home" / "astra.toml").write_text("[serve]\nport = 1111\n")
    assert load_settings().serve.port == 1111
    (folder / "astra.toml").write_text("[serve]\nport = 2222\n")
    assert load_settings().serve.port == 2222


def test_the_environment_comes_before_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "astra.toml").write_text("[serve]\nport = 2222\nhost = '::1'\n")
    monkeypatch.setenv("ASTRA_MCP_SERVE__PORT", "3333")
    settings = load_settings()
    assert (settings.serve.port, settings.serve.host) == (3333, "::1")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[serve]\nprot = 1\n", "serve.prot"),
        ("[serve]\nport = 70000\n", "serve.port"),
        ("[sandbox]\nhard_seconds = 0\n", "sandbox.hard_seconds"),
        ("colour = 'red'\n", "colour"),
        ("[serve\n", "astra.toml"),
    ],
)
def test_a_wrong_file_is_refused_with_the_field(folder: Path, text: str, named: str) -> None:
    (folder / "astra.toml").write_text(text)
    with pytest.raises(ConfigError, match=named):
        load_settings()


def test_a_secret_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASTRA_MCP_AGENT__API_KEY", "sk-very-secret")
    assert "sk-very-secret" not in repr(load_settings())
