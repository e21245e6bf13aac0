"""``astra-mcp registry import`` as a person runs it: what it says, and how it exits."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from astra_mcp.cli.main import app
from registry.published.names import read_names

LINES: list[dict[str, Any]] = [
    {
        "name": f"{service}_{what}",
        "description": f"Tell the {what} of the {service} in whole metres",
        "parameters": {"type": "object", "properties": {}},
    }
    for service in ("harbour", "river")
    for what in ("depth", "width", "level")
]


pytestmark = pytest.mark.usefixtures("home")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["registry", *arguments])


def told(*arguments: str) -> dict[str, Any]:
    done = run(*arguments, "--json")
    return json.loads(done.stdout)


def write_lines(path: Path, *further: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(line) for line in LINES]
    path.write_text("\n".join([*lines, *further]) + "\n")
    return path


def test_an_import_tells_what_was_kept_and_importing_again_changes_nothing(tmp_path: Path) -> None:
    file = write_lines(tmp_path / "functions.jsonl")
    first = told("import", str(file))
    assert first == {
        "servers": {"imported": 2, "kept": 2, "rejected": {}},
        "tools": {"imported": 6, "kept": 6, "rejected": {}},
        "added": 2,
        "changed": 0,
        "unchanged": 0,
        "errors": [],
    }
    assert read_names(tmp_path / "home").registered == ("harbour", "river")
    before = told("stats")
    again = told("import", str(file))
    assert (again["added"], again["changed"], again["unchanged"]) == (0, 0, 2)
    assert (again["servers"], again["tools"]) == (first["servers"], first["tools"])
    assert told("stats") == before


def test_where_nobody_looks_no_bar_leaves_a_trace(tmp_path: Path) -> None:
    assert run("import", str(write_lines(tmp_path / "functions.jsonl"))).stderr == ""


def test_a_corrupted_line_is_reported_with_its_number_and_the_rest_is_imported(
    tmp_path: Path,
) -> None:
    file = write_lines(tmp_path / "functions.jsonl", '{"name": "half')
    done = run("import", str(file), "--json")
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert answer["servers"]["kept"] == 2
    assert [(e["line"], set(e)) for e in answer["errors"]] == [(7, {"line", "reason"})]
    shown = run("import", str(file))
    assert shown.exit_code == 1
    assert "functions.jsonl: line 7: " in shown.stderr


def test_a_folder_is_imported_file_by_file_and_errors_name_their_file(tmp_path: Path) -> None:
    write_lines(tmp_path / "docs" / "deep" / "functions.jsonl")
    (tmp_path / "docs" / "letter.json").write_text('{"dear": "Ann"}')
    (tmp_path / "docs" / "notes.txt").write_text("not looked at")
    (tmp_path / "docs" / ".hidden.json").write_text("not looked at")
    done = run("import", str(tmp_path / "docs"), "--json")
    assert done.exit_code == 1
    answer = json.loads(done.stdout)
    assert answer["servers"]["kept"] == 2
    [error] = answer["errors"]
    assert error["file"] == "letter.json"
    assert "functions" in error["reason"]


def test_files_of_one_name_in_a_folder_do_not_take_each_others_place(tmp_path: Path) -> None:
    for part, service in (("train", "canal"), ("test", "bridge")):
        (tmp_path / "docs" / part).mkdir(parents=True)
        functions = [{**line, "name": f"{n}", "service": "s"} for n, line in enumerate(LINES)]
        functions[0]["description"] = f"Tell the length of the {service} in whole metres"
        (tmp_path / "docs" / part / "tools.json").write_text(json.dumps(functions))
    first = told("import", str(tmp_path / "docs"))
    assert (first["added"], first["servers"]["kept"]) == (2, 2)
    again = told("import", str(tmp_path / "docs"))
    assert (again["changed"], again["unchanged"]) == (0, 2)


def test_what_the_last_import_said_of_the_tools_that_are_needed_holds(tmp_path: Path) -> None:
    small = [{**LINES[0], "service": "pond"}, {**LINES[1], "service": "pond"}]
    file = tmp_path / "functions.json"
    file.write_text(json.dumps(small))
    rejected = {"imported": 1, "kept": 0, "rejected": {"too_few_tools": 1}}
    assert told("import", str(file))["servers"] == rejected
    for number, changed, kept in (("2", 1, 1), ("2", 0, 1), ("1", 0, 1), ("3", 1, 0), ("4", 1, 0)):
        answer = told("import", str(file), "--min-tools", number)
        assert (answer["changed"], answer["servers"]["kept"]) == (changed, kept)
    [server] = told("list", "--status", "too_few_tools")["servers"]
    assert told("show", server["name"])["detail"] == "tools: 2 of 2 are left, 4 are needed"
    assert told("import", str(file))["changed"] == 1
    detail = told("show", server["name"])["detail"]
    assert detail == "tools: 2 of 2 are left, 3 are needed"
    assert run("import", str(file), "--min-tools", "0").exit_code == 2


def test_another_document_of_one_key_in_a_later_file_is_told_and_takes_no_place(
    tmp_path: Path,
) -> None:
    for part, text in (("a", "first"), ("b", "second"), ("c", "first")):
        file = tmp_path / "docs" / part / "server.json"
        file.parent.mkdir(parents=True)
        document = {"name": "org.example/ferries", "version": "1", "description": text}
        file.write_text(json.dumps(document))
    for changed in (0, 0):
        answer = told("import", str(tmp_path / "docs"), "--format", "server_json")
        [error] = answer["errors"]
        assert error["file"] == "b/server.json"
        assert "is that of another document, of a/server.json" in error["reason"]
        assert answer["changed"] == changed


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "name one source"),
        (["x.json", "--command", "python"], "name one source"),
        (["missing.jsonl"], "missing.jsonl"),
        (["missing.jsonl", "--format", "tucan"], "toucan"),
        (["missing.jsonl", "--format", "live"], "is no address"),
        (["http://127.0.0.1:9/mcp", "--format", "openapi"], "save what is at the address"),
        (["http://127.0.0.1:9/v0.1/servers", "--name", "x"], "not for lists"),
        (["--command", "'"], "--command"),
        (["--command", "x", "--format", "openapi"], "not for --command"),
        (["--command", "x", "--header-from", "A=B"], "not for --command"),
        (
            ["http://127.0.0.1:9/mcp", "--header-from", "Authorization=NOT_SET"],
            "NOT_SET is not set",
        ),
        (["http://127.0.0.1:9/mcp", "--header-from", "Authorization"], "NAME=VARIABLE"),
        (["missing.jsonl", "--max-calls", "1"], "only --judge asks a model"),
        (["empty"], "holds no file"),
        (["round"], "round.json cannot be read: File name too long"),
        (["ftp://me:secret@example.com/tools.json"], "ftp:// is no address"),
    ],
)
def test_a_wrong_source_is_wrong_usage_and_says_why(
    arguments: list[str], said: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NOT_SET", raising=False)
    Path("empty").mkdir()
    Path("round").mkdir()
    Path("round", "round.json").symlink_to("long" * 100)  # fails alike for every user
    done = run("import", *arguments)
    assert done.exit_code == 2
    assert said in " ".join(done.stderr.split())
    assert "secret" not in done.stderr
    assert "Traceback" not in done.output
    assert not home.exists()


class _BrokenList(BaseHTTPRequestHandler):
    """A registry whose only entry is none."""

    def do_GET(self) -> None:
        body = b'{"servers": [5]}'
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


def test_the_keys_in_the_address_of_a_list_are_not_shown() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _BrokenList) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        place = f"127.0.0.1:{server.server_port}/v0.1/servers"
        done = run("import", f"http://me:hunter2@{place}?token=hunter3")
        server.shutdown()
        thread.join()
    assert f"http://{place}: line 1: must be an object" in done.output
    assert "hunter" not in done.output


def test_a_server_that_cannot_be_started_is_a_failure_without_a_traceback() -> None:
    done = run("import", "--command", "no-such-program-anywhere")
    assert done.exit_code == 1
    assert "no-such-program-anywhere" in done.stderr
    assert "Traceback" not in done.output
