"""Embeddings that depend on the texts alone: made of their words, so texts that share words are alike."""

import base64
from dataclasses import dataclass
from hashlib import sha256

import numpy as np
import numpy.typing as npt

from astra_mcp.completions.policy import RequestFaultError
from astra_mcp.types import JsonObject, JsonValue, canonical_json

__all__ = ["EmbeddingRequest", "embedding_document", "parse_embedding_request"]

_DIMENSIONS = 64
_MAX_DIMENSIONS = 8192


@dataclass(frozen=True, slots=True)
class EmbeddingRequest:
    """One request for vectors."""

    id: str
    """The same for every request with these texts."""
    model: str
    texts: tuple[str, ...]
    dimensions: int
    as_base64: bool


def parse_embedding_request(body: JsonValue) -> EmbeddingRequest:
    """Check a request's body.

    Raises:
        RequestFaultError: It is none of the API's, or asks for what this server does not do.
    """
    if not isinstance(body, dict) or not isinstance(model := body.get("model"), str):
        raise RequestFaultError("model must be a string")
    asked = body.get("input")
    texts = [asked] if isinstance(asked, str) else asked
    if not isinstance(texts, list) or not texts:
        raise RequestFaultError("input must be a text or a list of at least one text")
    strings = tuple(text for text in texts if isinstance(text, str) and text)
    if len(strings) != len(texts):
        msg = "input must hold texts that are not empty; this server takes no tokens"
        raise RequestFaultError(msg)
    dimensions = body.get("dimensions", _DIMENSIONS)
    if not isinstance(dimensions, int) or not 1 <= dimensions <= _MAX_DIMENSIONS:
        raise RequestFaultError(f"dimensions must be an integer from 1 to {_MAX_DIMENSIONS}")
    form = body.get("encoding_format", "float")
    if form not in ("float", "base64"):
        raise RequestFaultError("encoding_format must be float or base64")
    name = sha256(canonical_json([strings, dimensions])).hexdigest()[:16]
    return EmbeddingRequest(name, model, strings, dimensions, form == "base64")


def embedding_document(request: EmbeddingRequest) -> JsonObject:
    """Answer with one vector of length 1 for each text."""
    data: list[JsonValue] = []
    for index, text in enumerate(request.texts):
        vector = _embed(text, request.dimensions)
        shown: JsonValue = (
            base64.b64encode(vector.tobytes()).decode() if request.as_base64 else vector.tolist()
        )
        data.append({"object": "embedding", "index": index, "embedding": shown})
    tokens = sum(len(text.split()) for text in request.texts)
    return {
        "object": "list",
        "data": data,
        "model": request.model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _embed(text: str, dimensions: int) -> npt.NDArray[np.float32]:
    total = np.zeros(dimensions)
    for word in text.casefold().split() or [text]:
        seed = int.from_bytes(sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
        total += np.random.default_rng(seed).standard_normal(dimensions)
    return (total / np.linalg.norm(total)).astype("<f4")
