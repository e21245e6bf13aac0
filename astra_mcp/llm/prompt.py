"""Prompts: one template file for each call of a model, beside the code that makes the call.

A template is a Jinja file ``NAME.jinja`` of a package, with a block ``user`` and, if wanted, a block
``system``; each becomes a message. Text goes in only through one of two filters: ``| delimited("name")``
puts text from outside between ``<name>`` and ``</name>``; ``| plain`` takes words of our own, on one line.
Neither can open or close any tag of its template. Values that are no text are put in as JSON by the first.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any, Final, cast

from jinja2 import (
    Environment,
    StrictUndefined,
    TemplateSyntaxError,
    Undefined,
    meta,
    nodes,
    pass_context,
)
from jinja2.runtime import Context

from astra_mcp.types import JsonObject

__all__ = ["Prompt", "PromptTemplate", "load_prompt"]

_BLOCKS: Final = ("system", "user")
_TAGS: Final = "tags of the template"
"""In a context: the pattern of :func:`_pattern`. No name of a template's value has spaces."""
_TAG: Final = re.compile(r"([<\uff1c\ufe64])([^<\uff1c\ufe64>]*)")
"""What looks like the sign that begins a tag, and what may be its inside."""
_FILLERS: Final = frozenset("\u115f\u1160\u3164\uffa0")
"""Letters that nobody sees."""


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
            self._tags = _pattern(_tag_names(tree))
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
        context = self._template.new_context({**values, _TAGS: self._tags})
        return "".join(block(context)).strip()


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


@pass_context
def _delimited(context: Context, value: object, name: str) -> _Placed:
    if isinstance(value, Undefined):
        str(value)  # raises, and says which
    is_text = isinstance(value, str)
    text = value if is_text else json.dumps(value, ensure_ascii=False, indent=1)
    text = _without_tags(
        text.encode("utf-8", "replace").decode("utf-8"), context, is_json=not is_text
    )
    return _Placed(f"<{name}>\n{text}\n</{name}>")


@pass_context
def _plain(context: Context, value: object) -> _Placed:
    text = str(value)
    if not text.isprintable():
        raise TypeError(f"{text[:40]!r} is more than a line of words: use | delimited(...)")
    return _Placed(_without_tags(text, context))


def _without_tags(text: str, context: Context, *, is_json: bool = False) -> str:
    """Spoil what a reader could take for a tag of the template; JSON keeps its meaning."""

    def spoil(found: re.Match[str]) -> str:
        sign, inside = found.groups()
        if not context[_TAGS].match(_seen(inside)):
            return found[0]
        return f"\\u{ord(sign):04x}{inside}" if is_json else f"{sign}\\{inside}"

    return _TAG.sub(spoil, text)


def _seen(inside: str) -> str:
    """Leave what a reader sees, in plain letters: nothing invisible, no full width."""
    normal = unicodedata.normalize("NFKC", inside)
    return "".join(c for c in normal if c.isspace() or not _is_invisible(c))


def _is_invisible(character: str) -> bool:
    return unicodedata.category(character) in ("Cf", "Cc", "Mn", "Me") or character in _FILLERS


def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    """Match the inside of an opening or closing tag of these names, whatever follows a closing one."""
    any_name = "|".join(map(re.escape, sorted(names))) or r"(?!)"
    return re.compile(rf"\s*(?:/[\s/]*(?:{any_name})|(?:{any_name})(?!\w))", re.IGNORECASE)


def _tag_names(tree: nodes.Template) -> frozenset[str]:
    names: set[str] = set()
    for used in tree.find_all(nodes.Filter):
        if used.name != "delimited":
            continue
        match used.args:
            case [nodes.Const(value=str() as name)]:
                names.add(name)
            case _:
                raise ValueError(f"line {used.lineno}: delimited takes one name, written out")
    return frozenset(names)


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
    filters = cast("dict[str, Any]", environment.filters)  # typed by the signatures of Jinja's own
    filters |= {"delimited": _delimited, "plain": _plain}
    return environment


_ENVIRONMENT: Final = _environment()
