"""Prompts: one template file for each call of a model, beside the code that makes the call.

A template is a Jinja file ``NAME.jinja`` of a package, with a block ``user`` and, if wanted, a block
``system``; each becomes a message. Text goes in only through one of two filters: ``| delimited("name")``
puts text from outside between ``<name>`` and ``</name>``, which it cannot close; ``| plain`` takes words
of our own, on one line. Values that are no text are put in as JSON by the first.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Final

from jinja2 import Environment, StrictUndefined, TemplateSyntaxError, Undefined, meta, nodes

from astra_mcp.types import JsonObject

__all__ = ["Prompt", "PromptTemplate", "load_prompt"]

_BLOCKS: Final = ("system", "user")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """What a model is asked."""

    messages: tuple[JsonObject, ...]
    """OpenAI chat messages."""
    template_hash: str
    """Of the text of the template; a cached answer belongs to one."""


class PromptTemplate:
    """A template that is sound and knows what it needs."""

    def __init__(self, name: str, source: str) -> None:
        """Compile a template.

        Args:
            name: For messages.
            source: Its text.

        Raises:
            ValueError: It is no template of a prompt; says why.
        """
        self._name = name
        self.hash = sha256(source.encode("utf-8")).hexdigest()
        try:
            tree = _ENVIRONMENT.parse(source)
            _check(tree)
            self._template = _ENVIRONMENT.from_string(source)
        except (TemplateSyntaxError, ValueError) as error:
            raise ValueError(f"the prompt {name} is unsound: {error}") from None
        self.names = frozenset(meta.find_undeclared_variables(tree))

    def render(self, **values: object) -> Prompt:
        """Put values in.

        Args:
            values: Exactly those that the template names.

        Raises:
            TypeError: A value is missing, not used, or a text that no filter takes.
        """
        if values.keys() != self.names:
            wanted, given = ", ".join(sorted(self.names)), ", ".join(sorted(values))
            msg = f"the prompt {self._name} needs the values ({wanted}), and was given ({given})"
            raise TypeError(msg)
        written = ((role, self._write(role, values)) for role in _BLOCKS)
        messages = tuple[JsonObject, ...](
            {"role": role, "content": text} for role, text in written if text
        )
        return Prompt(messages=messages, template_hash=self.hash)

    def _write(self, role: str, values: Mapping[str, object]) -> str:
        block = self._template.blocks.get(role)
        if block is None:
            return ""
        return "".join(block(self._template.new_context(dict(values)))).strip()


@cache
def load_prompt(package: str, name: str) -> PromptTemplate:
    """Load a template that lies in a package as ``NAME.jinja``.

    Raises:
        ValueError: There is none, or it is unsound.
    """
    place = files(package).joinpath(f"{name}.jinja")
    try:
        source = place.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ValueError(f"the package {package} holds no prompt {name}.jinja") from None
    return PromptTemplate(f"{package}/{name}", source)


class _Placed(str):
    """Text that a filter let through."""

    __slots__ = ()


def _delimited(value: object, name: str) -> _Placed:
    if isinstance(value, Undefined):
        str(value)  # raises, and says which
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=1)
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = re.sub(rf"<(?=\s*/\s*{re.escape(name)})", r"<\\", text, flags=re.IGNORECASE)
    return _Placed(f"<{name}>\n{text}\n</{name}>")


def _plain(value: object) -> _Placed:
    text = str(value)
    if not text.isprintable():
        raise TypeError(f"{text[:40]!r} is more than a line of words: use | delimited(...)")
    return _Placed(text)


def _let_through(value: object) -> object:
    if isinstance(value, Undefined):
        str(value)  # raises, and says which
    if isinstance(value, str) and not isinstance(value, _Placed):
        raise TypeError(f"a text goes in by | delimited(...) or | plain: {value[:40]!r}")
    return value


def _check(tree: nodes.Template) -> None:
    blocks = {n.name for n in tree.body if isinstance(n, nodes.Block)}
    loose = [n for n in tree.body if not isinstance(n, nodes.Block) and not _is_blank(n)]
    if loose:
        raise ValueError(f"line {loose[0].lineno} stands outside of the blocks")
    if "user" not in blocks or not blocks.issubset(_BLOCKS):
        raise ValueError(f"it has the blocks {sorted(blocks)}; it needs user, and may have system")
    if next(meta.find_referenced_templates(tree), None) is not None:
        raise ValueError("it includes another file, which its hash would not cover")


def _is_blank(node: nodes.Node) -> bool:
    """True for white space between blocks."""
    return isinstance(node, nodes.Output) and all(
        isinstance(part, nodes.TemplateData) and not part.data.strip() for part in node.nodes
    )


def _environment() -> Environment:
    environment = Environment(
        autoescape=False,  # noqa: S701 - prompts are no HTML: escaped code would mislead a model
        undefined=StrictUndefined,
        finalize=_let_through,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["delimited"] = _delimited
    environment.filters["plain"] = _plain
    return environment


_ENVIRONMENT: Final = _environment()
