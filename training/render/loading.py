"""The tokenizer and the renderer of a model, from its folder or from the hub; no weights are read."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from astra_mcp.errors import ConfigError
from training.render.dialects.turns import Dialect
from training.render.renderer import Renderer
from training.render.thinking import ThinkingPolicy

__all__ = ["FolderTokenizer", "load_tokenizer"]

_TOKENIZER, _CONFIG, _GENERATION = (
    "tokenizer.json",
    "tokenizer_config.json",
    "generation_config.json",
)
_TEMPLATES = ("additional_chat_templates/tool_use.jinja", "chat_template.jinja")
"""In the order of choice: a template for tools before the one for chats."""
_WANTED = (_TOKENIZER, _CONFIG, _GENERATION, "special_tokens_map.json", *_TEMPLATES)


class FolderTokenizer:
    """A tokenizer of the library ``tokenizers``; a :class:`~training.render.tokens.Tokenizer`."""

    def __init__(self, backend: Any, end_ids: frozenset[int]) -> None:
        """Take it, and the ids that end a turn."""
        self._backend = backend
        self.end_ids = end_ids

    def encode(self, text: str) -> list[int]:
        """Give the ids; special tokens that stand in the text become theirs, and none is added."""
        return list(self._backend.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: Sequence[int]) -> str:
        """Give the text, special tokens included."""
        return str(self._backend.decode(list(ids), skip_special_tokens=False))


def load_tokenizer(
    model: str,
    *,
    thinking: ThinkingPolicy = ThinkingPolicy.NATIVE_OFF,
    dialect: Dialect | None = None,
) -> tuple[FolderTokenizer, Renderer]:
    """Load what a model's folder says of text.

    Args:
        model: A folder with ``tokenizer.json`` and a chat template, or the name of one on the hub.
        thinking: What becomes of thoughts.
        dialect: How turns spell calls; by default that in which the template writes one.

    Raises:
        ConfigError: There is no such model, a file of it is missing or wrong, or a library is not installed.
    """
    folder = Path(model).expanduser()
    if not folder.is_dir():
        folder = _download(model)
    config = _read_object(folder / _CONFIG)
    special = _special_tokens(folder, config)
    backend = _backend(folder / _TOKENIZER)
    _check_added(folder, config, backend)
    template = _find_template(folder, config)
    further = _generation_ends(folder)
    added = backend.get_added_tokens_decoder()
    # A word of the vocabulary cannot be told from the same letters in a text; it ends at sampling alone.
    ends = [added[id].content for id in sorted(further & set(added))]
    try:
        renderer = Renderer.of(
            template,
            special,
            dialect,
            thinking=thinking,
            ends=ends,
            controls=[t.content for t in added.values() if _is_control(t, template)],
        )
    except ConfigError as error:
        raise ConfigError(f"{model}: {error}") from None
    words = {renderer.end, *filter(None, [special.get("eos_token")])}
    ids = {word: backend.token_to_id(word) for word in sorted(words)}
    if ids[renderer.end] is None:
        raise ConfigError(
            f"{folder / _TOKENIZER}: {renderer.end!r}, with which the chat template ends a turn, is no "
            "token: the model could not end one"
        )
    found = {id for id in ids.values() if id is not None}
    return FolderTokenizer(backend, frozenset(found | further)), renderer


def _download(model: str) -> Path:
    """Fetch the small files of a model of the hub, or find them in its cache."""
    if model.startswith((".", "/", "~")) or model.count("/") > 1:
        raise ConfigError(f"{model} is no folder: name that of a model, or a name on the hub")
    try:
        from huggingface_hub import snapshot_download  # noqa: PLC0415 - a second to load
        from huggingface_hub.errors import HfHubHTTPError, HFValidationError  # noqa: PLC0415
    except ImportError:
        raise _missing_extra() from None
    try:
        return Path(snapshot_download(model, allow_patterns=list(_WANTED)))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise ConfigError(
            f"{model} is no folder, and was not loaded from the hub: {reason}"
        ) from None


def _missing_extra() -> ConfigError:
    return ConfigError("a model's tokenizer needs further libraries: install astra-mcp[train]")


def _backend(file: Path) -> Any:
    try:
        import tokenizers  # noqa: PLC0415 - of the extra
    except ImportError:
        raise _missing_extra() from None
    if not file.is_file():
        raise ConfigError(
            f"{file} is missing: save the tokenizer with `save_pretrained` of Transformers first"
        )
    try:
        backend = tokenizers.Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise ConfigError(f"{file} is no tokenizer: {error}") from None
    # Transformers saves those of its last call along; here every text is encoded whole, and as it is.
    backend.no_truncation()
    backend.no_padding()
    return backend


def _read_object(file: Path) -> Mapping[str, Any]:
    """Read a JSON object; a file that is not there says nothing."""
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, RecursionError, ValueError) as error:
        raise ConfigError(f"{file} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise ConfigError(f"{file} is no JSON object")
    return cast("Mapping[str, Any]", value)


def _special_tokens(folder: Path, config: Mapping[str, Any]) -> Mapping[str, str]:
    """Give the named special tokens, such as ``eos_token``."""
    rows = {**_read_object(folder / "special_tokens_map.json"), **config}
    texts = {name: _text_of(row) for name, row in rows.items() if name.endswith("_token")}
    return {name: text for name, text in texts.items() if text is not None}


def _text_of(token: object) -> str | None:
    row = cast("Mapping[str, object]", token) if isinstance(token, Mapping) else {}
    text = row.get("content", token)
    return text if isinstance(text, str) else None


def _is_control(token: Any, template: str) -> bool:
    """Whether it is special, or a tag that the template writes; runs of blanks are added as well."""
    text = str(token.content)
    return bool(token.special or (text.strip() and text in template))


def _check_added(folder: Path, config: Mapping[str, Any], backend: Any) -> None:
    """Refuse a folder whose files say different things of a token."""
    added = config.get("added_tokens_decoder")
    rows = cast("Mapping[str, object]", added) if isinstance(added, Mapping) else {}
    for id, row in rows.items():
        text = _text_of(row)
        if text is not None and str(backend.token_to_id(text)) != id:
            raise ConfigError(
                f"{folder / _CONFIG}: the added token {text!r} is {id}, and {_TOKENIZER} has "
                f"{backend.token_to_id(text)}: save the tokenizer anew"
            )


def _find_template(folder: Path, config: Mapping[str, Any]) -> str:
    for name in _TEMPLATES:
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="utf-8")
    told: Any = config.get("chat_template")
    if isinstance(told, list):
        rows = [cast("Mapping[str, Any]", row) for row in told if isinstance(row, Mapping)]
        named = {row.get("name"): row.get("template") for row in rows}
        told = named.get("tool_use", named.get("default"))
    if isinstance(told, str) and told:
        return told
    raise ConfigError(
        f"{folder} has no chat template (chat_template.jinja, or chat_template in {_CONFIG}): a base "
        "model has none; use the one that was made for chats"
    )


def _generation_ends(folder: Path) -> set[int]:
    told = _read_object(folder / _GENERATION).get("eos_token_id")
    ids = cast("list[object]", told) if isinstance(told, list) else [told]
    return {id for id in ids if isinstance(id, int)}
