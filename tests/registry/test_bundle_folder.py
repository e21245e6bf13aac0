"""A folder of many bundles: read once, remembered, and read again where it changed."""

import os
import shutil
from pathlib import Path

import pytest

from astra_mcp.environments.creation import create_bundle
from astra_mcp.environments.loading import load_bundle
from registry.bundles import folder as module
from registry.bundles.digest import BundleDigest
from registry.bundles.folder import BundleFolder, FoundBundle
from registry.bundles.index import index_file

NAMES = ("ash", "birch", "cedar")
LONG_AGO = 1_700_000_000


@pytest.fixture(autouse=True)
def _few_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three bundles are many."""
    monkeypatch.setattr(module, "FEW", 0)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder of bundles that were written long ago."""
    for name in NAMES:
        age(create_bundle(name, tmp_path / "many"))
    return tmp_path / "many"


def age(bundle: Path) -> None:
    for file in bundle.iterdir():
        os.utime(file, (LONG_AGO, LONG_AGO))


def change(bundle: Path, old: str, new: str) -> None:
    document = bundle / "environment.json"
    document.write_text(document.read_text().replace(old, new))
    os.utime(document, (LONG_AGO + 1, LONG_AGO + 1))


def scan(place: Path, home: Path) -> tuple[dict[str, FoundBundle | None], int]:
    """Look as a process does that starts, and tell how many bundles were read."""
    read: list[int] = []
    found = BundleFolder(place, home).scan(lambda done, _: read.append(done))
    return found, len(read)


def test_what_was_read_once_is_known_and_a_changed_bundle_alone_is_read_again(
    place: Path, tmp_path: Path
) -> None:
    first, num_read = scan(place, tmp_path)
    assert (sorted(first), num_read) == (list(NAMES), 3)
    again, num_read = scan(place, tmp_path)
    assert (again, num_read) == (first, 0)
    found = again["birch"]
    assert found is not None
    assert found.digest == BundleDigest.of(load_bundle(place / "birch"))

    change(place / "birch", "Ida Moreau", "Ada Moreau")
    shutil.rmtree(place / "cedar")
    changed, num_read = scan(place, tmp_path)
    assert (sorted(changed), num_read) == (["ash", "birch"], 1)
    assert changed["birch"] != first["birch"]


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"]\n", b""), (b'"title":"', b'"title":"x'), (b'"format":1', b'"format":0')],
    ids=["cut", "changed", "of another version"],
)
def test_an_index_that_is_damaged_or_of_another_version_is_rebuilt(
    place: Path, tmp_path: Path, old: bytes, new: bytes
) -> None:
    first, _ = scan(place, tmp_path)
    file = index_file(tmp_path, place)
    whole = file.read_bytes()
    file.write_bytes(whole.replace(old, new, 1))
    assert scan(place, tmp_path) == (first, 3)
    assert file.read_bytes() == whole


def test_a_file_that_was_written_a_moment_ago_is_not_relied_on(place: Path, tmp_path: Path) -> None:
    (place / "ash" / "tools.py").touch()
    assert scan(place, tmp_path)[1] == 3
    assert scan(place, tmp_path)[1] == 1


def test_a_later_look_tells_what_came_changed_and_went(place: Path, tmp_path: Path) -> None:
    folder = BundleFolder(place, tmp_path)
    folder.scan()
    assert folder.scan() == {}
    change(place / "birch", '"schema_version": 1', '"schema_version": "1"')
    shutil.rmtree(place / "cedar")
    age(create_bundle("dogwood", place))
    create_bundle("elm", place)
    changed = folder.scan(settled=True)
    assert sorted(changed) == ["birch", "cedar", "dogwood"]
    assert changed["cedar"] is None
    assert changed["birch"] is not None
    assert changed["birch"].digest is None
    assert "schema_version" in changed["birch"].faults[0]


def test_of_few_bundles_all_faults_are_found_and_the_sound_ones_are_kept(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FEW", 3)
    (place / "ash" / "tools.py").write_text("def find_book(): ...\n")
    found, _ = scan(place, tmp_path)
    assert found["ash"] is not None
    assert any("tools.py" in fault for fault in found["ash"].faults)
    assert found["birch"] is not None
    assert found["birch"].bundle == load_bundle(place / "birch")
    assert not index_file(tmp_path, place).exists()
