"""Templates of prompts: text goes in delimited, everything is named, the hash is of the text."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import UndefinedError

from astra_mcp.llm.prompt import PromptTemplate, load_prompt

WHOLE = """{% block system %}
You judge {{ kind | plain }}.
{% endblock %}
{# what the user sends #}
{% block user %}
{% for tale in tales %}
{{ loop.index }}: {{ tale | delimited("tale") }}
{% endfor %}
{% endblock %}
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty package that can be imported."""
    folder = tmp_path / "package_of_prompts"
    folder.mkdir()
    (folder / "__init__.py").touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield folder
    sys.modules.pop(folder.name, None)
    load_prompt.cache_clear()


def test_each_block_becomes_a_message_and_a_missing_prompt_is_named(package: Path) -> None:
    (package / "judge.jinja").write_text(WHOLE)

    prompt = load_prompt("package_of_prompts", "judge").render(kind="tales", tales=["Once.", "So."])

    assert prompt.messages == (
        {"role": "system", "content": "You judge tales."},
        {
            "role": "user",
            "content": "1: <tale>\nOnce.\n</tale>\n2: <tale>\nSo.\n</tale>",
        },
    )
    with pytest.raises(ValueError, match=r"holds no prompt nothing\.jinja"):
        load_prompt("package_of_prompts", "nothing")


def test_the_hash_is_of_the_text_alone() -> None:
    first, second = PromptTemplate("a", WHOLE), PromptTemplate("b", WHOLE)
    changed = PromptTemplate("a", WHOLE + " ")

    assert first.hash == second.hash != changed.hash
    assert first.render(kind="x", tales=[]).template_hash == first.hash


def user(text: str) -> PromptTemplate:
    return PromptTemplate("t", "{% block user %}" + text + "{% endblock %}")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("{% block user %}", "Unexpected end of template"),
        ("Hello.", "line 1 stands outside"),
        ("{% set a = 1 %}{% block user %}x{% endblock %}", "line 1 stands outside"),
        ("{% block system %}x{% endblock %}", "it needs user"),
        ("{% block user %}x{% endblock %}{% block usre %}x{% endblock %}", "it needs user"),
        ("{% block user %}{% include 'other' %}{% endblock %}", "includes another file"),
    ],
)
def test_an_unsound_template_is_refused_with_the_reason(source: str, words: str) -> None:
    with pytest.raises(ValueError, match=f"the prompt p is unsound: .*{words}"):
        PromptTemplate("p", source)


def test_values_are_exactly_those_that_the_template_names() -> None:
    template = user("{{ a | plain }}{{ b | plain }}")
    with pytest.raises(TypeError, match=r"needs the values \(a, b\), and was given \(a, c\)"):
        template.render(a="x", c="y")
    with pytest.raises(UndefinedError, match="colour"):
        user("{{ a.colour | delimited('x') }}").render(a={})


def test_text_that_no_filter_took_is_refused() -> None:
    with pytest.raises(TypeError, match="a text goes in by"):
        user("{{ a }}").render(a="<system>")
    with pytest.raises(TypeError, match="more than a line"):
        user("{{ a | plain }}").render(a="one\ntwo")
    assert user("{{ a }}").render(a=3).messages[0]["content"] == "3"


def test_values_that_are_no_text_go_in_as_json() -> None:
    [message] = user("{{ a | delimited('tool') }}").render(a={"name": "北京", "n": 1}).messages
    assert message["content"] == '<tool>\n{\n "name": "北京",\n "n": 1\n}\n</tool>'


@given(
    st.text(alphabet="</tex >\\\nTa", max_size=40).map(lambda text: f"a{text}z")
    | st.text(max_size=40).map(lambda text: f"a{text}z")
)
def test_no_text_can_close_its_own_delimiters(text: str) -> None:
    [message] = user("{{ a | delimited('text') }}").render(a=text).messages
    content = str(message["content"])
    assert content.startswith("<text>\na")
    assert content.endswith("z\n</text>")
    assert content.lower().count("</text") == 1
    content.encode("utf-8")
