"""What questions are synthesized from: a text, a domain, a leaf of a taxonomy, or a question of a person."""

import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Literal, cast

from pydantic import Field, ValidationError

from astra_mcp.errors import ConfigError
from astra_mcp.text.strict_json import parse_strict
from astra_mcp.types import FrozenModel, JsonObject, canonical_json

__all__ = ["Source", "make_source", "read_sources"]

_EMAIL = re.compile(
    r"(?:\"[^\"\s@]*(?: [^\"\s@]+)*\"|(?<![\w.+'!#$%&*/=?^`{|}~-])[\w.+'!#$%&*/=?^`{|}~-]+)[@\uff20\ufe6b]"
    r"(?!example\.(?:com|net|org)(?!\.?[\w-]))[\w-]+(?:[.\u3002\uff0e\uff61][\w-]+)+"
)
_NOBODY = "someone@example.com"
_CJK = re.compile(r"[\u3400-\u9fff]")
_MOST_LATIN = 5
"""With one Chinese character for so many of others a text counts as Chinese."""
_MAX_CORPUS = 100_000


class Source(FrozenModel):
    """What one or more questions are made from. Source: K of ASTRA sec. 2.2.1."""

    id: str = Field(min_length=1)
    """Of its content, so that a file in another order is the same run."""
    domain: str = ""
    """As its author says it; any words."""
    corpus: str = Field(default="", max_length=_MAX_CORPUS)
    """What is known; empty where the model has to make it up."""
    question: str | None = None
    """The main question, where it is given (question-conditional generation)."""
    language: Literal["en", "zh"]


def make_source(
    *, domain: str = "", corpus: str = "", question: str | None = None, language: str | None = None
) -> Source:
    """Make a source; addresses of e-mail become addresses that nobody has.

    Raises:
        ConfigError: It says nothing.
    """
    domain, corpus = (_EMAIL.sub(_NOBODY, text.strip()) for text in (domain, corpus))
    question = _EMAIL.sub(_NOBODY, question.strip()) or None if question else None
    told = f"{domain} {corpus} {question or ''}"
    if not told.strip():
        raise ConfigError("a source needs a domain, a text or a question")
    content: JsonObject = {"domain": domain, "corpus": corpus, "question": question}
    own_language = _language_of(told)
    if language not in (None, own_language):
        content["language"] = language  # the same content in another language is another source
    try:
        return Source(
            id=sha256(canonical_json(content)).hexdigest()[:12],
            domain=domain,
            corpus=corpus,
            question=question,
            language=cast("Literal['en', 'zh']", language or own_language),
        )
    except TypeError:
        raise ConfigError(
            "its text holds half a surrogate pair, which no text in UTF-8 does"
        ) from None
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{first['loc'][0]}: {first['msg']}") from None


def read_sources(path: Path, language: str | None = None) -> list[Source]:
    """Read a file: ``.jsonl`` (also ``.gz``) of rows, or ``.json`` with a taxonomy or a list of rows.

    A row has ``domain`` and ``knowledge_corpus``, or ``question`` with or without a ``domain``; a taxonomy
    nests names down to leaves with a ``description`` and ``examples``. Each content counts once.

    Args:
        path: Of the file.
        language: ``en`` or ``zh`` of all; None tells it from each text.

    Raises:
        ConfigError: It cannot be read, or holds something else; names the line or the leaf.
    """
    found: dict[str, Source] = {}
    for place, row in _rows(path):
        try:
            source = make_source(language=language, **_fields(row))
        except ConfigError as error:
            raise ConfigError(f"{path}, {place}: {error}") from None
        found.setdefault(source.id, source)
    if not found:
        raise ConfigError(f"{path} holds no source: give it at least one row")
    return [*found.values()]


def _rows(path: Path) -> Iterator[tuple[str, JsonObject]]:
    text = _text(path)
    if path.name.removesuffix(".gz").endswith(".json"):
        document = _parsed(text, f"{path}")
        if isinstance(document, list):
            rows = cast("Sequence[object]", document)
            for n, row in enumerate(rows, 1):
                yield f"item {n}", _object(row, f"{path}, item {n}")
        else:
            yield from _leaves(_object(document, f"{path}"), ())
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield (
                f"line {number}",
                _object(_parsed(line, f"{path}, line {number}"), f"{path}, line {number}"),
            )


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
        return (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{path}, line {line} is no UTF-8: save the file as UTF-8") from None
    except (OSError, EOFError, zlib.error) as error:
        why = (error.strerror if isinstance(error, OSError) else None) or error
        raise ConfigError(f"cannot read the sources {path}: {why}") from None


def _parsed(text: str, place: str) -> object:
    try:
        return parse_strict(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is no JSON: {error}") from None


def _object(value: object, place: str) -> JsonObject:
    if not isinstance(value, dict):
        raise ConfigError(f"{place} is no object with domain, knowledge_corpus or question")
    return cast("JsonObject", value)


def _leaves(node: JsonObject, path: tuple[str, ...]) -> Iterator[tuple[str, JsonObject]]:
    """Each leaf of a taxonomy as a row: its path, with what it says, is the domain; it tells no facts."""
    if path and {"description", "examples"} & node.keys():
        examples = node.get("examples") or []
        queries = [_query(e) for e in examples] if isinstance(examples, list) else []
        told = [str(node.get("description") or ""), *queries]
        yield (
            " > ".join(path),
            {"domain": "\n".join([" > ".join(dict.fromkeys(path)), *filter(None, told)])},
        )
        return
    for name, child in node.items():
        yield from _leaves(_object(child, " > ".join((*path, name))), (*path, name))


def _query(example: object) -> str:
    named = cast("JsonObject", example) if isinstance(example, dict) else {"query": example}
    return f"Example of a question: {json.dumps(named.get('query'), ensure_ascii=False)}"


def _fields(row: JsonObject) -> dict[str, str]:
    names = {"domain": "domain", "corpus": "knowledge_corpus", "question": "question"}
    told = {field: row.get(name) for field, name in names.items() if row.get(name) is not None}
    for field, value in told.items():
        if not isinstance(value, str):
            raise ConfigError(f"{names[field]} is no text")
    return {field: str(value) for field, value in told.items()}


def _language_of(text: str) -> str:
    return "zh" if len(_CJK.findall(text)) * _MOST_LATIN > len(text) else "en"
