"""Finding the format of a file."""

import gzip
import json
from pathlib import Path

import pytest

from astra_mcp.errors import ConfigError
from registry.importers.detection import FORMATS, detect, format_named

from real_documents import TOUCAN, real_data

TOUCAN_LINE = json.dumps({"file": "x", "metadata": {"server_name": "x"}})
ASTRA_LINE = json.dumps({"base_info": {"group_info": {"server_name": "x"}, "tool_list": []}})


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (TOUCAN_LINE.encode(), "toucan"),
        (f"{TOUCAN_LINE}\n{TOUCAN_LINE}\n".encode(), "toucan"),
        (f"corrupted {{\n\n{TOUCAN_LINE}\n".encode(), "toucan"),
        (b"\xef\xbb\xbf" + TOUCAN_LINE.encode(), "toucan"),
        (gzip.compress(TOUCAN_LINE.encode(), mtime=0), "toucan"),
        (gzip.compress(f"{TOUCAN_LINE}\n".encode() * 90, compresslevel=0, mtime=0)[:-60], "toucan"),
        (ASTRA_LINE.encode(), "astra_servers"),
        (json.dumps({"mcp_info": {}}).encode(), "astra_servers"),
    ],
)
def test_a_format_is_recognised_by_what_stands_in_the_file(
    tmp_path: Path, content: bytes, name: str
) -> None:
    path = tmp_path / "documents"
    path.write_bytes(content)

    assert detect(path).name == name


@pytest.mark.parametrize("content", [b"a,b,c\n1,2,3\n", b"[]", b"5"])
def test_a_file_of_no_format_is_a_mistake_that_names_the_remedy(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "documents"
    path.write_bytes(content)

    with pytest.raises(ConfigError, match=r"documents: .*--format \(toucan, astra_servers"):
        detect(path)


def test_a_file_that_is_not_there_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent.*cannot be read"):
        detect(tmp_path / "absent.json")


def test_a_format_is_found_by_its_name() -> None:
    assert [format_named(each.name) for each in FORMATS] == list(FORMATS)
    with pytest.raises(ConfigError, match=r"'tucan'; did you mean toucan\? there are toucan"):
        format_named("tucan")


def test_the_real_documents_are_recognised() -> None:
    assert detect(real_data(TOUCAN)).name == "toucan"
