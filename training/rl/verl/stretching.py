"""A model that reads further than it was made for: YaRN, said in its configuration alone.

Training, sampling and what is saved then read one configuration, as overrides of verl's would not give them.
"""

# pyright: reportUnknownVariableType=false

import json
from pathlib import Path
from typing import Any, cast

from astra_mcp.errors import ConfigError

__all__ = ["fetch", "stretch"]

_CONFIG = "config.json"


def fetch(model: str) -> str:
    """Give a model as a folder with absolute path; one of the hub is loaded.

    Raises:
        ConfigError: It cannot be loaded.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        return str(folder.resolve())
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - of the extra
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError  # noqa: PLC0415

    try:
        return str(cast("Any", snapshot_download)(model))
    except (HfHubHTTPError, HFValidationError, OSError) as error:
        raise ConfigError(f"model: {model} is not loaded from the hub: {error}") from None


def stretch(model: Path, place: Path, factor: float) -> Path:
    """Make a folder with links to a model's files, and a configuration that says YaRN.

    Args:
        model: A folder.
        place: The folder to make.
        factor: By how much more it is to read.

    Raises:
        ConfigError: The model has no positions of its own, or is stretched already.
    """
    config: dict[str, Any] = json.loads((model / _CONFIG).read_text(encoding="utf-8"))
    positions = config.get("max_position_embeddings")
    name = "rope_parameters" if "rope_parameters" in config else "rope_scaling"
    told: dict[str, Any] = config.get(name) or {}
    if not isinstance(positions, int):
        raise ConfigError(f"{model / _CONFIG} has no max_position_embeddings to stretch")
    if told.get("rope_type", told.get("type", "default")) != "default":
        raise ConfigError(
            f"{model / _CONFIG} stretches its positions already: leave rope_factor out"
        )
    config["max_position_embeddings"] = int(positions * factor)
    config[name] = {
        **told,
        "rope_type": "yarn",
        "factor": factor,
        "original_max_position_embeddings": positions,
    }
    place.mkdir(parents=True)
    for file in model.iterdir():
        if file.name != _CONFIG:
            (place / file.name).symlink_to(file.resolve())
    (place / _CONFIG).write_text(json.dumps(config, indent=2), encoding="utf-8")
    return place
