"""Whatever a document, a record, a server or an argument says, it is shown as it is and steers nothing."""

import io
import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from astra_mcp.cli.main import app
from astra_mcp.report.console import Printer, fail, print_json
from astra_mcp.report.shown import Table, cut, number, shown_time, styled, whole

STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m[/][bold red]x[/bold]\r\u202egnp.\ud800 \\"
TEXTS = st.text(st.characters()) | st.text("\x1b[]/\\\x9b\r\n\t\u202e\ud800bold")


def written(*, width: int = 80, is_terminal: bool = False) -> tuple[io.StringIO, Printer]:
    file = io.StringIO()
    return file, Printer(file=file, width=width, is_terminal=is_terminal)


@given(TEXTS, TEXTS)
def test_no_text_steers_the_terminal(text: str, other: str) -> None:
    file, printer = written()
    printer.print(text)
    printer.print(styled((text, "bold"), other), style="red")
    table = Table(text, whole("status"), number(other))
    table.add_row(other, text, other)
    printer.print(table)
    assert not STEERING.search(file.getvalue())
    file.getvalue().encode()  # half a character would end the command


def test_markup_and_backslashes_are_shown_as_they_were_written() -> None:
    file, printer = written()
    printer.print(EVIL)
    printer.print(styled("[link=x]", ("[/]", "red"), "\\[a]"))
    assert file.getvalue() == (
        r"\x1b]0;owned\x07\x1b[2J\x9b31m[/][bold red]x[/bold]\x0d\u202egnp.\ud800 "
        "\\\n[link=x][/]\\[a]\n"
    )


def test_a_text_cannot_pass_for_a_row_of_the_table_or_for_a_bar() -> None:
    file, printer = written()
    table = Table("name", "status")
    table.add_row("a\nforged  verified", "refused")
    printer.print(table)
    assert r"a\nforged" in file.getvalue()
    file, printer = written(is_terminal=True)
    with printer.bars() as bars:
        bars.add_task(f"{EVIL}\nforged", total=1)
    assert "\x1b]0;" not in file.getvalue()
    assert r"\nforged" in file.getvalue()


def test_a_table_fits_its_columns_and_loses_nothing() -> None:
    for width in (80, 60):
        file, printer = written(width=width)
        table = Table("name", "what it says", whole("status"), number("calls"))
        table.add_row("a-name-of-one-word-" * 4, "many words " * 20, "verified", "123456")
        printer.print(table)
        assert max(map(len, file.getvalue().splitlines())) <= width
        assert "…" not in file.getvalue()
        assert file.getvalue().count("many") == 20
        assert "verified" in file.getvalue()
        assert "123456" in file.getvalue()


def test_an_error_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit):
        fail(EVIL)
    assert not STEERING.search(capsys.readouterr().err)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--\x1b[31mx"],
        ["\x1b[31mx"],
        ["serve", "--log-format", "\x1b[31mx"],
        ["episodes", "show", "\x1b[31m[/x]"],
    ],
)
def test_a_wrong_argument_is_shown_as_it_is(arguments: list[str]) -> None:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code in (1, 2)
    assert r"\x1b[31m" in done.stderr
    assert not STEERING.search(done.stderr)


@given(TEXTS)
def test_an_object_for_programs_is_one_line_that_says_the_same(text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file := io.StringIO())
        print_json({text: text})
    line = file.getvalue()
    assert json.loads(line) == {text: text}
    assert len(line.splitlines()) == 1
    assert not STEERING.search(line.removesuffix("\n"))
    line.encode()


def test_a_moment_has_one_form_whatever_its_zone() -> None:
    at = datetime(2026, 1, 5, 23, 30, 1, 999, tzinfo=timezone(timedelta(hours=-2)))
    assert shown_time(at) == "2026-01-06 01:30:01Z" == shown_time(at.astimezone(UTC))


def test_a_long_text_is_cut_to_one_line() -> None:
    assert cut("a\n b", 10) == "a b"
    assert cut("abcdefgh", 6) == "abc..."
