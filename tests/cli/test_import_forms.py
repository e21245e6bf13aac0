"""Every format of files on the command line: read again, from elsewhere, packed, and damaged in many ways."""

import gzip
import json
import re
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from astra_mcp.cli.main import app
from registry.importers.detection import FORMATS

from deployed_workshop import RAW_SERVER
from import_forms import FORMS, Form, openapi, tools

ALL = [pytest.param(form, id=name) for name, form in FORMS.items()]


@pytest.fixture(scope="module", autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    """One registry for all: each test imports what no other does, or looks at its own answer alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASTRA_MCP_HOME", str(tmp_path_factory.mktemp("forms") / "home"))
        patch.setenv("COLUMNS", "400")
        yield


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["registry", *map(str, arguments)])


def told(*arguments: str | Path) -> dict[str, Any]:
    done = run(*arguments, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def counts(answer: dict[str, Any]) -> tuple[int, int, int]:
    return answer["added"], answer["changed"], answer["unchanged"]


def written(folder: Path, form: Form, content: bytes | None = None) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    path = folder / form.name
    path.write_bytes(form.content if content is None else content)
    return path


@contextmanager
def listed() -> Generator[str]:
    """A registry that lists one server over HTTP; gives its address."""
    body = FORMS["server_json"].content

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            del format, args

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v0.1/servers"
        server.shutdown()
        thread.join()


def test_there_is_a_file_of_every_format() -> None:
    assert list(FORMS) == [each.name for each in FORMATS]


@pytest.mark.parametrize("form", ALL)
def test_a_file_imported_again_from_here_from_elsewhere_and_packed_is_unchanged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form
) -> None:
    monkeypatch.setenv("ASTRA_MCP_HOME", str(tmp_path / "home"))
    here = written(tmp_path / "here", form)
    first = told("import", here)
    num = first["added"]
    assert num >= 1
    assert (first["servers"]["kept"], first["servers"]["rejected"]) == (num, {})
    there = written(tmp_path / "there", form)
    marked = written(tmp_path / "marked", form, b"\xef\xbb\xbf" + form.content)
    packed = tmp_path / "packed" / f"{form.name}.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress(form.content))
    for again in (here, there, marked, packed, tmp_path / "here"):
        assert counts(told("import", again)) == (0, 0, num), again


def test_a_list_and_a_running_server_imported_again_are_unchanged() -> None:
    with listed() as url:
        assert told("import", url)["added"] == 1
        assert counts(told("import", url)) == (0, 0, 1)
    command = f"{sys.executable} -S {RAW_SERVER} handshake"
    assert told("import", "--command", command)["added"] == 1
    assert counts(told("import", "--command", command)) == (0, 0, 1)


def test_files_of_one_title_and_one_address_are_servers_of_their_own(tmp_path: Path) -> None:
    for name in ("ships.json", "fees.json", "old/ships.json"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(openapi("Port", name.replace("/", "_").removesuffix(".json"))))
    first = told("import", tmp_path)
    assert (first["added"], first["servers"]["kept"]) == (3, 3)
    assert counts(told("import", tmp_path)) == (0, 0, 3)


@dataclass(frozen=True, slots=True)
class Damage:
    """What is done to a line or to a whole file, and what is said of it."""

    do: Callable[[bytes], bytes]
    said: str
    """A pattern."""
    keeps: bool = False
    """True where the part is read in spite of it."""


DAMAGES = {
    "cut short": Damage(lambda t: t[: len(t) // 2], r"line \d+.* column \d+: .*cut short"),
    "no UTF-8": Damage(lambda t: t.replace(b"harbour", b"harb\xffur", 1), r"not UTF-8 at byte \d+"),
    "NaN": Damage(
        lambda t: t.replace(b"{", b'{"x": NaN, ', 1), r"line \d+.* column \d+: NaN is no number of JSON"
    ),
    "too large": Damage(
        lambda t: t.replace(b"{", b'{"x": -1e999, ', 1), r"line \d+.* column \d+: -1e999 is no number"
    ),
    "twice": Damage(
        lambda t: t.replace(b"{", b'{"x": 1, "x": 2, ', 1), r"line \d+: the key 'x' stands twice", True
    ),
    "too deep": Damage(
        lambda t: t.replace(b"{", b'{"x": ' + b"[" * 200 + b"]" * 200 + b", ", 1),
        r"line \d+.* column \d+: nested more than 100 levels deep",
    ),
    "a comma too many": Damage(
        lambda t: t.rstrip().removesuffix(b"}").removesuffix(b"]") + b",}",
        r"line \d+.* column \d+: ",
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", [pytest.param(d, id=name) for name, d in DAMAGES.items()])
@pytest.mark.parametrize("form", ALL)
def test_a_damaged_part_is_named_with_its_place_and_the_rest_is_imported(
    tmp_path: Path, form: Form, damage: Damage
) -> None:
    if form.has_lines:
        first, second, third = (line.encode() for line in form.lines)
        content = b"\n".join([first, damage.do(second), third])
    else:
        content = damage.do(form.content)
    assert content not in (form.content, form.content.rstrip())
    num_read = (3 if damage.keeps else 2) if form.has_lines else int(damage.keeps)
    check(written(tmp_path, form, content), damage.said, num_read)


WHOLE: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda t: t.decode().encode("utf-16"), "UTF-16: save the file as UTF-8"),
    (lambda _: b"", "the file is empty"),
    (lambda _: b" \n\n", "the file is empty"),
    (lambda t: gzip.compress(t)[:-30], "the packed file ends too early"),
    (lambda t: gzip.compress(t)[:-1] + b"x", "the packed file is damaged"),
]


@pytest.mark.parametrize("form", ALL)
@pytest.mark.parametrize(("damage", "said"), WHOLE)
def test_a_file_that_is_damaged_as_a_whole_is_named(
    tmp_path: Path, form: Form, damage: Callable[[bytes], bytes], said: str
) -> None:
    path = written(tmp_path, form, damage(form.content))
    named = next(name for name, each in FORMS.items() if each is form)
    for arguments in ([], ["--format", named]):
        done = run("import", path, *arguments)
        assert done.exit_code in (1, 2)
        assert said in done.stderr
        assert form.name in done.stderr
        assert "Traceback" not in done.output


OTHERS: list[tuple[str, Any, str, int]] = [
    ("toucan", {"file": "x", "metadata": {"server_name": 5}}, "line 4: metadata.server_name: ", 3),
    ("toucan", {"file": "x"}, "line 4: metadata: ", 3),
    ("toucan", json.loads(FORMS["toucan"].lines[0]), "line 4: .*is that of line 1", 3),
    ("toucan", [1], "line 4: ", 3),
    ("astra_servers", {"base_info": {}}, "line 4: base_info.group_info.server_name: ", 3),
    ("astra_servers", {"base_info": {"tool_list": {}}}, "line 4: base_info.tool_list: ", 3),
    ("functions", {"question": "?"}, "line 4: no function in it", 3),
    ("functions", {"tools": {"x": {"tools": []}}}, "line 4: no function in it", 3),
    ("functions", "text", "line 4: ", 3),
    ("openapi", {"swagger": "2.0", "paths": {}}, "Swagger 2: convert it to OpenAPI 3, as `npx", 0),
    ("openapi", {"openapi": "4.0.0"}, r"openapi is '4.0.0'", 0),
    ("openapi", {"openapi": "3.0.0", "paths": []}, "paths: must be an object", 1),
    ("openapi", {**openapi(), "paths": {"/a": {"get": 5}}}, "paths./a.get: ", 1),
    ("openapi", {**openapi(), "paths": {"/a": {"$ref": "b.yaml#/x"}}}, "paths./a", 1),
    ("server_json", {"servers": [{"server": {"name": "a/b", "version": "1"}}, 5]}, "line 2: ", 1),
    ("livemcpbench", [{"tools": {"a": {"tools": []}}, "name": 5}], "line 1: name: ", 0),
    ("livemcpbench", [{"name": "a", "tools": {"x": {"tools": []}}}, 7], "line 2: must be an", 1),
    ("livemcpbench", [{"name": "a", "tools": {"x": {"tools": []}, "y": 1}}], "tools.y.tools: ", 1),
    ("livemcpbench", [{"name": "a", "tools": {"x": {"tools": []}}}, {"name": "b"}], "line 2: to", 1),
    ("mcp_tools", {"jsonrpc": "2.0", "id": 1, "error": {"message": "no"}}, "line 1: error: .*no", 0),
    ("mcp_tools", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, "line 1: method: ", 0),
    ("mcp_tools", {"jsonrpc": "2.0", "id": 1, "result": {"content": []}}, "result.tools: missing", 0),
    ("mcp_tools", {"jsonrpc": "2.0", "id": 1, "result": {"tools": {}}}, "result.tools: must be", 0),
    ("mcp_tools", {"jsonrpc": "2.0", "id": 1, "result": 5}, "line 1: result: must be", 0),
    (
        "mcp_tools",
        {"tools": tools("a", "inputSchema"), "nextCursor": "p2"},
        "line 1: nextCursor: .*these 3 tools are not all",
        1,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("name", "entry", "said", "num_read"), OTHERS)
def test_an_entry_that_is_none_of_its_format_is_named_with_its_place(
    tmp_path: Path, name: str, entry: Any, said: str, num_read: int
) -> None:
    form = FORMS[name]
    before = [*form.lines, ""] if form.has_lines else []
    content = "\n".join(before) + json.dumps(entry)
    check(written(tmp_path, form, content.encode()), said, num_read)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            b'{"dear": "Ann", "how": "are you"}',
            "an object with the members 'dear', 'how': in no format",
        ),
        (b'[{"a": 1}, {"b": 2}]', "a list of 2, the first object with the members 'a': in no"),
        (b'[{"name": "x", "tools": {"y": 1}}]', "the members 'name', 'tools': in no format"),
        (b"[1, 2]", "a list of no objects"),
        (b"[]", "an empty list"),
        (b"5", "a single text or number"),
        (b"a,b,c\n1,2,3\n", "no JSON: a text that begins with 'a,b,c"),
    ],
)
def test_what_no_reader_understands_is_refused_with_what_was_found_and_the_formats(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "unknown.json"
    path.write_bytes(content)
    done = run("import", path)
    assert done.exit_code == 2
    assert said in done.stderr
    assert ", ".join(FORMS) in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"tools": [\n{"name": }]}', "not JSON: line 2, column 10: a value must stand here"),
        (b"\x1f\x8b", "the packed file ends too early"),
        (b"", "the file is empty"),
        ("{}".encode("utf-16"), "save the file as UTF-8"),
    ],
)
def test_what_no_format_could_read_is_not_said_to_lack_one(
    tmp_path: Path, content: bytes, said: str
) -> None:
    path = tmp_path / "unknown.json"
    path.write_bytes(content)
    done = run("import", path)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "--format" not in done.stderr


def check(path: Path, said: str, num_read: int) -> None:
    """Import a file of which a part is none: that is told, and the rest is stored."""
    done = run("import", path, "--json")
    assert "Traceback" not in done.output
    if done.exit_code == 1:
        answer = json.loads(done.stdout)
        assert answer["servers"]["imported"] == num_read
        told = "\n".join(f"line {e['line']}: {e['reason']}" for e in answer["errors"])
    else:
        assert (done.exit_code, num_read) == (2, 0), done.output
        told = done.stderr
        assert path.name in told
    assert re.search(said, told), told
