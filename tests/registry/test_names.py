"""The names that completion offers: written by whoever publishes, read without the catalog."""

import subprocess
import sys
from pathlib import Path

import pytest

from registry.published.names import NameKind, Names, read_names, write_names

NOTHING = Names((), (), ())


def test_names_are_read_in_their_order_as_they_were_written_last(tmp_path: Path) -> None:
    write_names(tmp_path, NameKind.ENVIRONMENTS, ["b", "a", "old"])
    write_names(tmp_path, NameKind.DEPLOYED, ["files"])
    write_names(tmp_path, NameKind.REGISTERED, ["weather", "a"])
    write_names(tmp_path, NameKind.ENVIRONMENTS, ["b", "a"])
    names = read_names(tmp_path)
    assert names == Names(("a", "b"), ("files",), ("a", "weather"))
    assert names.servers == ("a", "b", "files", "weather")
    assert not list(tmp_path.glob("names/.*"))  # no draft is left


def test_a_home_that_is_not_there_has_no_names_and_is_not_made(tmp_path: Path) -> None:
    home = tmp_path / "home"
    write_names(home, NameKind.DEPLOYED, ["files"])
    assert not home.exists()
    assert read_names(home) == NOTHING


def test_a_file_that_is_no_text_gives_no_names(tmp_path: Path) -> None:
    write_names(tmp_path, NameKind.DEPLOYED, ["files"])
    (tmp_path / "names" / "deployed").write_bytes(b"\xff\xfe\n")
    assert read_names(tmp_path) == NOTHING


def test_a_home_that_cannot_be_written_is_only_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "names").write_text("in the way", encoding="utf-8")
    write_names(tmp_path, NameKind.DEPLOYED, ["files"])
    assert "names for completion cannot be written" in caplog.text


def test_names_that_are_the_same_are_not_written_again(tmp_path: Path) -> None:
    write_names(tmp_path, NameKind.DEPLOYED, ["files"])
    before = (tmp_path / "names" / "deployed").stat().st_ino
    write_names(tmp_path, NameKind.DEPLOYED, ["files"])
    assert (tmp_path / "names" / "deployed").stat().st_ino == before


def test_reading_names_loads_nothing_of_the_product_but_itself() -> None:
    said = (
        "import sys, registry.published.names; print(*sorted(m for m in sys.modules if '.' in m))"
    )
    loaded = subprocess.check_output([sys.executable, "-c", said], text=True).split()
    ours = {name for name in loaded if name.split(".")[0] in ("registry", "astra_mcp", "gateway")}
    assert ours == {"registry.published", "registry.published.names"}
    assert not {"sqlalchemy.orm", "pydantic.main", "anyio.to_thread"} & set(loaded)
