"""Starting a bundle: a small environment that passes the acceptance, to be changed step by step."""

import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from astra_mcp.environments.bundle import NAME_PATTERN, Bundle
from astra_mcp.errors import ConfigError
from astra_mcp.types import JsonObject

__all__ = ["create_bundle", "texts_of", "write_bundle"]

_TEMPLATE = Path(__file__).parent / "template"
_TEMPLATE_NAME = "template-name"
_FILES = {
    "environment.json": "environment.json",
    "server.json": "server.json",
    "tools.py.template": "tools.py",
}
_MAX_NAME = 48


def create_bundle(name: str, folder: Path) -> Path:
    """Write a new bundle into ``folder / name``: all of its files, or none.

    Raises:
        ConfigError: The name is not one, or something of that name is there.
    """
    if not re.fullmatch(NAME_PATTERN, name) or len(name) > _MAX_NAME:
        raise ConfigError(
            f"{name!r} is no name for an environment: use up to {_MAX_NAME} lower-case letters and "
            "digits, with single hyphens, starting with a letter, such as hotel-booking"
        )
    target = folder / name
    if target.exists():
        raise ConfigError(f"{target} is there already; choose another name, or delete it first")
    texts = {
        file: (_TEMPLATE / source).read_text(encoding="utf-8").replace(_TEMPLATE_NAME, name)
        for source, file in _FILES.items()
    }
    return write_bundle(name, texts, folder)


def write_bundle(name: str, texts: Mapping[str, str], folder: Path) -> Path:
    """Write the files of a bundle into ``folder / name``, which is not there: all of them, or none.

    Raises:
        ConfigError: They cannot be written.
    """
    target = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=f".{name}-", dir=folder) as workplace:
            made = Path(workplace) / name
            made.mkdir()
            for file, text in texts.items():
                (made / file).write_text(text, encoding="utf-8")
            made.rename(target)
    except OSError as error:
        msg = f"{target} cannot be written: {error.strerror}; choose another folder"
        raise ConfigError(msg) from error
    return target


def texts_of(bundle: Bundle) -> dict[str, str]:
    """The texts of a bundle's files, by their names; loading them gives the same bundle."""
    document = bundle.document.model_dump(mode="json", by_alias=True)
    document["tools"] = [_tool_document(tool) for tool in document["tools"]]
    return {
        "environment.json": f"{json.dumps(document, ensure_ascii=False, indent=2)}\n",
        "tools.py": bundle.code,
        "server.json": f"{json.dumps(bundle.server, ensure_ascii=False, indent=2)}\n",
    }


def _tool_document(tool: JsonObject) -> JsonObject:
    """A tool as authors write it: annotations beside its name, nothing that is not said."""
    said: JsonObject = {n: v for n, v in tool.items() if n != "extra" and v is not None}
    extra = tool.get("extra")
    return said | extra if isinstance(extra, dict) else said
