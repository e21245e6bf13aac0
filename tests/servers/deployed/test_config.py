"""The mcpServers file: what is accepted, what is refused and in which words, and what stays secret."""

import logging
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.errors import ConfigError
from servers.deployed import open_deployed
from servers.deployed.config import read_entries

from deployed_workshop import write_config

STDIO: dict[str, Any] = {"command": "server"}
URL: dict[str, Any] = {"url": "https://example.com/mcp"}


def test_a_desktop_clients_file_is_taken(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = write_config(
        tmp_path,
        files={**STDIO, "args": ["-y", "x"], "env": {"A": "b"}, "alwaysAllow": ["read"]},
        web={**URL, "type": "http", "headers": {"X-Key": "k"}, "autoApprove": []},
    )
    with caplog.at_level(logging.WARNING):
        entries = read_entries(file)
    assert entries["files"].server.args == ("-y", "x")
    assert entries["web"].server.headers == {"x-key": "k"}
    [notice] = caplog.messages
    assert "files: alwaysAllow; web: autoApprove" in notice


@pytest.mark.parametrize("name", ["serverUrl", "httpUrl"])
def test_an_address_may_be_named_as_other_clients_name_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    as_theirs = read_entries(write_config(tmp_path, web={name: URL["url"]}))["web"]
    assert as_theirs.config_hash == read_entries(write_config(tmp_path, web=URL))["web"].config_hash
    assert not caplog.messages
    with pytest.raises(ConfigError, match=f"'web': entry: .*`url` and `{name}` both name"):
        read_entries(write_config(tmp_path, web={**URL, name: "https://example.com/other"}))


def test_a_disabled_server_is_left_out_with_all_its_faults(tmp_path: Path) -> None:
    file = write_config(
        tmp_path, off={**STDIO, "env": {"A": "${NOT_SET}"}, "disabled": True}, on=URL
    )
    assert list(read_entries(file, {})) == ["on"]


def test_variables_are_put_in_everywhere(tmp_path: Path) -> None:
    environ = {"KEY": "secret-1", "HOST": "example.com", "FLAG": "x"}
    file = write_config(
        tmp_path,
        one={**STDIO, "args": ["--${FLAG}"], "env": {"K": "a-${KEY}"}},
        theirs={**STDIO, "env": {"K": "${env:KEY}"}},  # as other clients write it
        two={"url": "https://${HOST}/mcp", "headers": {"Authorization": "Bearer ${KEY}"}},
    )
    entries = read_entries(file, environ)
    assert entries["one"].server.args == ("--x",)
    assert entries["one"].server.env == {"K": "a-secret-1"}
    assert entries["two"].server.url == "https://example.com/mcp"
    assert entries["two"].server.headers == {"authorization": "Bearer secret-1"}
    assert entries["two"].redact("said Bearer secret-1") == "said ***"
    assert entries["theirs"].server.env == {"K": "secret-1"}
    assert entries["theirs"].redact("said secret-1") == "said ***"


def test_an_entry_of_before_has_the_hash_of_before(tmp_path: Path) -> None:
    """Cards and versions of records that an earlier version wrote are found by it."""
    entry = read_entries(write_config(tmp_path, one={"command": "run", "args": ["a"]}), {})["one"]
    digest = "b2014aff9060584126b2f1a24a10fcabf8c7301a235de2d73decf2ce14b2409c"
    assert entry.config_hash == digest


def test_a_secret_changes_the_hash_and_does_not_stand_in_it(tmp_path: Path) -> None:
    file = write_config(tmp_path, one={**STDIO, "env": {"K": "${KEY}"}})
    first, second = (read_entries(file, {"KEY": key})["one"] for key in ("secret-1", "secret-2"))
    assert first.config_hash != second.config_hash
    assert first.config_hash == read_entries(file, {"KEY": "secret-1"})["one"].config_hash
    assert "secret" not in first.config_hash


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({}, "give either `command`"),
        ({**STDIO, **URL}, "give either `command`"),
        ({**STDIO, "type": "sse"}, "`type` 'sse' belongs to a `url`"),
        ({**URL, "type": "stdio"}, "`type` 'stdio' belongs to a `command`"),
        ({**URL, "type": "websocket"}, "type: Input should be"),
        ({**STDIO, "headers": {"A": "x"}}, "`headers` has no meaning beside `command`"),
        ({**URL, "env": {"A": "x"}}, "`env` has no meaning beside `url`"),
        ({**URL, "max_processes": 2}, "`max_processes` has no meaning beside `url`"),
        ({**STDIO, "args": "x"}, "args: Input should be a list"),
        ({**STDIO, "env": []}, "env: Input should be an object"),
        (7, "entry: Input should be an object"),
        ({**STDIO, "env": {"A": 1}}, "env.A: "),
        ({**STDIO, "isolation": "none"}, "isolation: "),
        ({**STDIO, "max_processes": 0}, "max_processes: "),
        ({**STDIO, "env": {"A": "${NOT_SET}"}}, "env.A: the environment variable NOT_SET is not"),
        ({**URL, "headers": {"A": "${NOT_SET}"}}, "headers.A: the environment variable NOT_SET"),
        ({**STDIO, "env": {"A": "${env:NOT_SET}"}}, "env.A: the environment variable NOT_SET is"),
        ({**STDIO, "env": {"A": "${input:key}"}}, "env.A: ${input:key} belongs to another client"),
        ({**URL, "url": "${HOST:-https://a.b}/mcp"}, "url: ${HOST:-https://a.b} belongs to"),
        ({**STDIO, "cwd": "/nowhere"}, "cwd: /nowhere is no folder"),
        ({"url": "example.com"}, "url: write a full address"),
        ({"url": "file:///etc/passwd"}, "url: write a full address"),
        ({**URL, "headers": {"A b": "x"}}, "'a b' is no name of an HTTP header"),
        ({**URL, "headers": {"A": "x\ny"}}, "headers.a holds a character"),
        ({**URL, "headers": {"Host": "x"}}, "headers.host is set by the protocol"),
        ([], "Input should be"),
    ],
)
def test_a_wrong_entry_is_named_and_how_to_mend_it(tmp_path: Path, server: Any, said: str) -> None:
    file = write_config(tmp_path, broken=server)
    with pytest.raises(ConfigError, match=r"mcp\.json: server 'broken': ") as told:
        read_entries(file, {"SET": "value"})
    assert said in str(told.value)


def test_members_that_are_empty_may_stand_beside_a_url(tmp_path: Path) -> None:
    file = write_config(tmp_path, one={**URL, "args": [], "env": {}})
    assert read_entries(file)["one"].server.url == URL["url"]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        *((n, "a name is part of a URL") for n in ("", "a/b", "..", "a b", "-x", "ä", "x" * 65)),
        ("a__b", "'a__b': `__` separates server and tool"),
    ],
)
def test_a_name_unfit_for_a_url_or_a_tool_is_refused(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        read_entries(write_config(tmp_path, **{name: STDIO}))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"),
        ("[]", '"mcpServers" is missing'),
        ('{"servers": {}}', 'rename "servers" to'),
        ('{"mcpServers": {"quay": {}, "quay": {}}}', "'quay' stands twice"),
    ],
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_entries(file)


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nothing\.json cannot be read: No such file"):
        read_entries(tmp_path / "nothing.json")


async def test_a_server_must_not_take_the_name_of_an_environment(tmp_path: Path) -> None:
    file = write_config(tmp_path, cinema=STDIO)
    with pytest.raises(ConfigError, match="server 'cinema': an environment has this name already"):
        async with open_deployed(file, home=tmp_path, taken=["cinema"]):
            pass


def test_a_missing_variable_is_named_and_its_neighbours_value_is_not(tmp_path: Path) -> None:
    file = write_config(tmp_path, one={**STDIO, "env": {"A": "${GIVEN} ${MISSING}"}})
    with pytest.raises(ConfigError, match="MISSING") as told:
        read_entries(file, {"GIVEN": "hidden-value"})
    assert "hidden-value" not in str(told.value)


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    file = write_config(tmp_path, quay=STDIO)
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert list(read_entries(file)) == ["quay"]


def test_a_mistyped_key_of_ours_is_told_with_the_closest_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    read_entries(write_config(tmp_path, quay={**STDIO, "isolaton": "shared", "icon": "x"}))
    assert "isolaton (did you mean isolation?)" in caplog.text
    assert "icon, isolaton" in caplog.text
