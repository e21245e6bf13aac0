"""Tools give what they are for: page texts, trees, columns, logs, thoughts and drafts, from what is asked."""

import csv
import io
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from servers.emulated.offline.acts import past

from emulated_worlds import World, document_of, spec, text

integer: dict[str, Any] = {"type": "integer"}
anything: dict[str, Any] = {}


def told(tool: str, said: str, /, server: str = "kept", **arguments: Any) -> Any:
    """What the only tool of a server answers."""
    properties: Any = dict.fromkeys(arguments, anything)
    return World(document_of(spec(tool, said, **properties), name=server)).call(tool, **arguments)


def test_a_page_says_in_several_paragraphs_what_its_address_spells() -> None:
    page = told("fetch_markdown", "Fetch a page", url="https://blog.acme.io/night-trains")
    assert page.startswith("# Night Trains\n")
    assert page.count("night trains") >= 3
    assert len([part for part in page.split("\n\n") if len(part) > 100]) >= 3


def test_a_page_comes_in_the_form_that_is_asked_for() -> None:
    url = "https://blog.acme.io/night-trains"
    html = told("fetch_html", "Fetch a page as HTML", url=url)
    plain = told("fetch_text", "Fetch the text of a page", url=url)
    assert "<h1>Night Trains</h1>" in html
    assert html.rstrip().endswith("</html>")
    assert not re.search(r"[<#*`]", plain)


def test_a_long_page_is_cut_where_it_is_said() -> None:
    page = told("fetch_markdown", "Fetch", url="https://blog.acme.io/night-trains", max_length=60)
    assert "start_index of 60" in page


def test_a_reserved_domain_shows_what_stands_there() -> None:
    assert "illustrative examples" in told("fetch_text", "Fetch", url="https://example.com")


def test_a_browser_gives_the_content_of_the_page_that_it_opened() -> None:
    tools = (
        spec("browser_navigate", "Navigate to a URL", url=text),
        spec("browser_get_text", "Get the visible text of the page"),
    )
    world = World(document_of(*tools))
    assert world.call("browser_navigate", url="https://example.com")["title"] == "Example Domain"
    assert "illustrative examples" in world.call("browser_get_text")


def test_a_document_of_the_server_is_not_written_over() -> None:
    tools = (
        spec("create_document", "Create a document", title=text, content=text),
        spec("get_document", "Get a document", document_id=text),
    )
    world = World(document_of(*tools))
    made = world.call("create_document", title="Minutes", content="We met.")
    assert world.call("get_document", document_id=made["id"])["content"] == "We met."
    assert "not found" in world.refusal("get_document", document_id="x")


def test_a_transcript_has_lines_one_after_the_other() -> None:
    told_of = told("get_transcript", "Transcript of a video with its segments", video_id="abc")
    starts = [segment["start"] for segment in told_of["segments"]]
    assert starts == sorted(starts)
    assert len(starts) > 5


def test_a_tree_is_no_deeper_than_asked() -> None:
    said = "Directory tree of a repository"
    tree = told("get_directory_tree", said, repo="pallets/flask")
    flat = told("get_directory_tree", said, repo="pallets/flask", depth=1)
    assert tree.startswith("flask/\n")
    assert "└── " in tree
    assert tree.count("\n") > flat.count("\n")


def test_commands_print_what_they_print() -> None:
    answer = told("run_command", "Run a shell command", command="git log --oneline -n 2 && whoami")
    assert re.fullmatch(r"([0-9a-f]{7} .+\n){2}ubuntu\n", answer["stdout"])
    assert answer["exit_code"] == 0


@given(st.text(max_size=60))
def test_no_command_line_is_too_odd_to_be_read(line: str) -> None:
    answer = told("run_command", "Run a shell command", command=f"ls {line}x")
    assert "README.md" in answer["stdout"]


def test_a_table_has_columns_with_types_in_the_words_of_its_database() -> None:
    tables = {
        server: told("describe_table", "Describe a table", server=server, table_name="orders")
        for server in ("mysql", "sqlite")
    }
    types = {
        server: {column["name"]: column["type"] for column in table["columns"]}
        for server, table in tables.items()
    }
    assert types["mysql"]["total_amount"] == "decimal(12,2)"
    assert types["sqlite"]["total_amount"] == "REAL"
    assert tables["mysql"]["foreign_keys"] == [
        {"column": "customer_id", "references": "customers(id)"}
    ]


@given(st.from_regex(r"[a-z]{1,12}\.csv", fullmatch=True))
def test_the_figures_of_a_column_can_stand_together(path: str) -> None:
    said = "Descriptive statistics of a dataset"
    answer = told("describe_dataset", said, file_path=path, columns=["price"])
    figures = answer["statistics"]["price"]
    ranks = [figures[name] for name in ("min", "25%", "50%", "75%", "max")]
    assert ranks == sorted(ranks)
    assert figures["min"] <= figures["mean"] <= figures["max"]
    assert figures["count"] + figures["missing"] == answer["rows"]


def test_logs_have_the_level_and_the_number_that_are_asked_for() -> None:
    rows = told("get_logs", "Get the logs of a service", service="api", level="error", limit=1)[
        "logs"
    ]
    assert [(row["level"], row["source"]) for row in rows] == [("ERROR", "api")]


def test_thoughts_are_counted() -> None:
    names = ("thought", "thoughtNumber", "totalThoughts", "nextThoughtNeeded")
    taken: Any = dict.fromkeys(names, anything)
    world = World(document_of(spec("sequentialthinking", "Think", **taken)))
    for number in (1, 2):
        answer = world.call(
            "sequentialthinking",
            thought="x", thoughtNumber=number, totalThoughts=1, nextThoughtNeeded=number < 2,
        )  # fmt: skip
    assert answer == {
        "thoughtNumber": 2,
        "totalThoughts": 2,
        "nextThoughtNeeded": False,
        "branches": [],
        "thoughtHistoryLength": 2,
    }


def test_memory_adds_up() -> None:
    answer = told("get_memory_usage", "Memory usage of the operating system")
    assert answer["used_gb"] + answer["free_gb"] == pytest.approx(answer["total_gb"])


def test_drafts_are_written_from_what_is_given() -> None:
    nodes, edges = ["Login", "Home"], [{"from": "Login", "to": "Home", "label": "ok"}]
    diagram = told("generate_mermaid_diagram", "Generate a diagram", nodes=nodes, edges=edges)
    assert diagram.splitlines()[-1].strip() == "n1 -->|ok| n2"
    letter = told(
        "write_email", "Write an email", recipient="ana.silva@acme.io", subject="Kick-off"
    )
    assert letter.startswith("Subject: Kick-off\n\nDear Ana Silva,")
    query = told("generate_sql", "Write SQL", question="How many orders were placed in 2024?")
    assert query.startswith("SELECT COUNT(*) AS total\nFROM orders\nWHERE")
    schema = json.loads(
        told("generate_json_schema", "Make a schema", json='{"ok": true, "n": [1]}')
    )
    assert schema["properties"]["n"] == {"type": "array", "items": {"type": "integer"}}


def test_a_text_that_only_an_author_could_write_is_refused() -> None:
    world = World(document_of(spec("generate_story", "Generate a story", topic=text)))
    assert "not available" in world.refusal("generate_story", topic="a fox")


def test_a_file_is_read_in_the_form_of_its_ending() -> None:
    table = told("read_file", "Read a file", path="/data/customers.csv")
    rows = [*csv.reader(io.StringIO(table))]
    assert rows[0][:2] == ["id", "email"]
    assert {len(row) for row in rows} == {len(rows[0])}
    assert json.loads(told("read_file", "Read a file", path="package.json"))["scripts"]


@pytest.mark.parametrize(
    ("tool", "said", "arguments", "message"),
    [
        ("click", "Click an element", {"selector": "#a"}, "Clicked #a"),
        ("next_day", "Go to the next day", {"game_id": "g"}, "Moved on to the next day"),
        ("manage_routes", "Enable routes", {"action": "enable", "ip": "10.0.0.1"}, "Enabled routes"),
        ("acme_restart_service", "Restart a service", {"name": "nginx"}, "Restarted service: nginx"),
        ("transfer_tokens", "Transfer tokens", {"to": "9x", "amount": 5, "token": "USDC"},
         "Transferred tokens: 5 USDC to 9x"),
    ],
)  # fmt: skip
def test_an_act_is_told_in_a_sentence(
    tool: str, said: str, arguments: dict[str, Any], message: str
) -> None:
    answer = told(tool, said, server="acme", **arguments)
    assert answer.pop("message") == message
    assert answer.items() >= arguments.items()


def test_a_payment_has_a_reference_in_the_form_of_its_chain() -> None:
    for server, name, form in (
        ("solana", "signature", r"\w{88}"),
        ("evm", "transaction_hash", "0x[0-9a-f]{64}"),
    ):
        answer = told("transfer", "Transfer coins", server=server, to="9x", amount=5)
        assert re.fullmatch(form, answer[name])


@pytest.mark.parametrize(
    ("verb", "done"),
    [("click", "clicked"), ("plan", "planned"), ("apply", "applied"), ("merge", "merged"), ("send", "sent"),
     ("cancel", "cancelled"), ("play", "played"), ("stop", "stopped")],
)  # fmt: skip
def test_verbs_have_their_past(verb: str, done: str) -> None:
    assert past(verb) == done


def test_the_same_calls_are_told_the_same() -> None:
    calls = [told("get_logs", "Get logs", service="api") for _ in range(2)]
    assert calls[0] == calls[1]
