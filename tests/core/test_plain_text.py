"""No text of others steers a terminal, a log or the direction of what stands beside it."""

import logging
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.serving.process.logs import JsonLines, Redaction, TextLines
from astra_mcp.text.plain import one_line, visible
from astra_mcp.types import Failure, Origin

STEERING = "\x1b[2J\x9b1m\x07\x7f\r\u202e\u2066\u200f\ufeff"
FILLERS = "\u115f\u1160\u3164\uffa0"
"""Letters of Hangul that nobody sees."""
BIDI = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def steers(character: str) -> bool:
    """Tell whether it is a control or turns the direction of text, as Unicode's own tables say."""
    is_control = unicodedata.category(character) in ("Cc", "Cs")
    return is_control or unicodedata.bidirectional(character) in BIDI


@given(st.text(st.characters() | st.sampled_from(STEERING)))
def test_one_line_holds_no_control_and_turns_no_direction(text: str) -> None:
    assert not any(map(steers, one_line(text)))


@given(st.text(st.characters(categories=("L", "N", "P", "S", "Zs"), exclude_characters=FILLERS)))
def test_what_people_read_stays_as_it_is(text: str) -> None:
    assert one_line(text) == visible(text) == text


def test_a_failure_says_what_a_server_said_in_one_harmless_line() -> None:
    failure = Failure(boundary=Origin.UPSTREAM, message="away\r\n\x1b]0;title\x07\u202etxt")
    assert failure.message == r"away \x1b]0;title\x07\u202etxt"


@pytest.mark.parametrize("form", [TextLines, JsonLines])
def test_a_log_repeats_no_control_of_a_message_or_an_exception(
    form: type[TextLines | JsonLines],
) -> None:
    error = RuntimeError(STEERING)
    about = (type(error), error, None)
    event = logging.LogRecord("x", logging.ERROR, "", 1, "said %s", (STEERING,), about)
    line = form(Redaction()).format(event)
    assert "RuntimeError" in line
    assert not any(map(steers, re.sub(r"\n", "", line)))


def test_what_nobody_sees_is_written_out_and_joiners_stay() -> None:
    assert visible("a\u200bb\xadc\u2060d\u3164") == "a\\u200bb\\xadc\\u2060d\\u3164"
    assert visible("\u0646\u200c\u0647 \U0001f469\u200d\U0001f680") == (
        "\u0646\u200c\u0647 \U0001f469\u200d\U0001f680"
    )
