"""Templates of others run in a sandbox, with what Transformers gives them and nothing else."""

from datetime import date

import pytest

from astra_mcp.types import JsonObject
from training.render import RenderError
from training.render.template import ChatTemplate


def rendered(source: str, **variables: object) -> str:
    template = ChatTemplate(source, {"bos_token": "<s>"}, today=date(2025, 2, 3))
    rows: list[JsonObject] = [{"role": "user", "content": "a<b"}]
    return template.render(rows, is_prompt=True, variables=variables)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}{{ messages[0].content }}", "<s>a<b"),
        ("{{ {'b': '<é>', 'a': 1} | tojson }}", '{"b": "<é>", "a": 1}'),
        ("{{ [1] | tojson(indent=1) }}", "[\n 1\n]"),
        ("{{ {'b': 1, 'a': 2} | tojson(sort_keys=true, separators=(',', ':')) }}", '{"a":2,"b":1}'),
        ("{{ 'é' | tojson(ensure_ascii=true) }}", '"\\u00e9"'),
        ("{{ strftime_now('%d %b %Y %H') }}", "03 Feb 2025 00"),
        ("{% for i in range(9) %}{% if i == 2 %}{% break %}{% endif %}{{ i }}{% endfor %}", "01"),
        (
            "{% for i in range(3) %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% endfor %}",
            "02",
        ),
        ("a{% generation %}b{% endgeneration %}c", "abc"),
        ("{% if tools is none %}none{% endif %}{{ add_generation_prompt }}", "noneTrue"),
        ("x\n    {% if true %}\ny\n    {% endif %}\nz", "x\ny\nz"),
        ("{{ told }}", "so"),
    ],
)
def test_a_template_has_what_transformers_gives_it(source: str, text: str) -> None:
    assert rendered(source, told="so") == text


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__ }}",
        "{{ raise_exception.__globals__.keys() }}",
        "{{ messages.append(1) }}",
        "{{ messages[0].update(a=1) }}",
        "{{ range(999999999) | length }}",
        "{{ raise_exception('only users') }}",
        "{{ 1 / 0 }}",
        "{{ 'a' + 1 }}",
        "{{ nothing.at_all }}",
        "{% include 'other' %}",
        "{{ '\\ud800' }}",
    ],
)
def test_what_a_template_must_not_or_cannot_do_is_an_error_of_rendering(source: str) -> None:
    with pytest.raises(RenderError, match="the chat template does not take the messages: "):
        rendered(source)


def test_what_a_template_says_itself_is_passed_on() -> None:
    with pytest.raises(RenderError, match="only users"):
        rendered("{{ raise_exception('only users') }}")
