"""A chat template: Jinja of a model's maker, run in a sandbox as Transformers runs it.

Source: ``apply_chat_template`` of Transformers 5, whose text it gives byte for byte.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, time
from typing import Any, Final

from jinja2 import TemplateError, TemplateSyntaxError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.parser import Parser
from jinja2.sandbox import ImmutableSandboxedEnvironment

from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject
from training.render.dialects.turns import RenderError

__all__ = ["DATE", "ChatTemplate"]

DATE: Final = date(2024, 7, 26)
"""What templates that ask for today's date are told: no text may depend on the day."""

_FAILURES = (
    TemplateError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What the code of a template raises over messages that it does not expect."""


class ChatTemplate:
    """A template that compiles."""

    def __init__(
        self, source: str, special_tokens: Mapping[str, str], *, today: date = DATE
    ) -> None:
        """Compile it.

        Args:
            source: Jinja.
            special_tokens: By the names that templates know them by, such as ``bos_token``.
            today: What ``strftime_now`` tells.

        Raises:
            ConfigError: It is no Jinja template.
        """
        environment = ImmutableSandboxedEnvironment(
            trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, loopcontrols]
        )
        environment.filters["tojson"] = _to_json
        globals_: dict[str, Any] = environment.globals
        globals_ |= {"raise_exception": _raise, "strftime_now": _clock(today)}
        try:
            self._template = environment.from_string(source)
        except TemplateSyntaxError as error:
            raise ConfigError(f"the chat template: line {error.lineno}: {error.message}") from None
        self._special_tokens = dict(special_tokens)

    def render(
        self,
        messages: Sequence[JsonObject],
        tools: Sequence[JsonObject] = (),
        *,
        is_prompt: bool,
        variables: Mapping[str, object] | None = None,
    ) -> str:
        """Give the text of messages.

        Args:
            messages: In the form of OpenAI, the arguments of calls as objects.
            tools: OpenAI function documents.
            is_prompt: Whether the model speaks next (``add_generation_prompt``).
            variables: Further ones of the template, such as ``enable_thinking``.

        Raises:
            RenderError: The template does not take these messages; says what it says.
        """
        try:
            text = self._template.render(
                **self._special_tokens,
                messages=list(messages),
                tools=list(tools) or None,
                add_generation_prompt=is_prompt,
                **(variables or {}),
            )
            text.encode()
        except _FAILURES as error:
            raise RenderError(f"the chat template does not take the messages: {error}") from None
        return text


class _Generation(Extension):
    """``{% generation %}``, by which some templates mark the model's part; it changes no text."""

    tags = {"generation"}  # noqa: RUF012 - as the base class has it

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_inside"), [], [], body).set_lineno(line)

    def _inside(self, caller: Callable[[], str]) -> str:
        return caller()


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    """Write JSON; Jinja's own filter would escape it for HTML."""
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )


def _raise(message: str) -> str:
    raise TemplateError(message)


def _clock(today: date) -> Callable[[str], str]:
    return datetime.combine(today, time()).strftime
