"""Vectors of the words in a text: no model, no download, equal on every machine.

Says that texts are alike where they share words or parts of words; knows no meaning. Named in every
output that rests on it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from hashlib import blake2b
from math import sqrt

import anyio
import numpy as np
import numpy.typing as npt

from astra_mcp.embedding import Vectors
from astra_mcp.embedding.queries import query_words
from astra_mcp.embedding.tool_text import read_tool_text
from astra_mcp.embedding.words import STOP_WORDS, is_unspaced, split_words

__all__ = ["DIMENSIONS", "LexicalEmbedder"]

DIMENSIONS = 2048
"""Two texts that share nothing come to a likeness of about 1 / sqrt(DIMENSIONS) by chance, here 0.02; what
more and fewer dimensions find is measured in docs/search.md."""

_WORD_PLACES = 8
"""A word is spread over so many dimensions, so that two that share one are still told apart."""
_GRAM = 4
"""Characters of the parts of words that are compared too."""
_NAME_WEIGHT = 3.0
_PARAMETERS_WEIGHT = 0.5
"""Of a tool's document; its description weighs 1."""
_COMMON_WEIGHT = 0.3
_NUMBER_WEIGHT = 0.2
_SCALE = 2**16
"""Weights are summed up as whole numbers of this fraction: the sum is exact, whatever the machine."""
_BATCH = 64
"""Texts between two chances to be cancelled."""
_DISTINCT_WORDS = 20_000

_COMMON = frozenset(
    split_words("""
all allow amount apply api arg argument array available base based boolean call change check client code
config contain content count create current custom data default delete description detail dict different
display each end error example existing false fetch field filter find first float format full function
general generate get give given id identifier include info information input int integer item json key
kind last limit list load make manage match max maximum message method min minimum mode multiple name
need new next none null number object offset one operation option optional order output page param
parameter part pass path perform provide query read receive record request require required resource
response result retrieve return run search select server service set show single size sort source
specific specify start status str string success support system target text tool total true type update
url use used user using valid value version view want
""")
)
"""Words of nearly every tool's document, whatever it is about."""


class LexicalEmbedder:
    """An :class:`~astra_mcp.embedding.Embedder` of hashed words and parts of words.

    A text is the sum of its distinct words, each weighed by the square root of how often it stands there;
    words of every document and numbers weigh less, stop words nothing. A word is the sum of
    pseudo-random directions: its own and those of its parts of four letters. In the document of a tool
    (:func:`~astra_mcp.embedding.tool_text.tool_text`) the name weighs three times as much as the
    description, and the parameters half. A query is the sum of its telling words and, with less weight, of
    what tools say for them (:mod:`~astra_mcp.embedding.queries`).
    """

    model = "lexical-v1"
    """Changes with whatever changes a vector that is kept; those of queries are not."""

    async def embed(self, texts: Sequence[str], *, as_query: bool = False) -> Vectors:
        """Embed texts, in their order."""
        weigh = _query_weights if as_query else _text_weights
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            embed = partial(_embed, batch, weigh)
            vectors[start : start + _BATCH] = await anyio.to_thread.run_sync(embed)
        return vectors


def _embed(texts: Sequence[str], weigh: Callable[[str], Mapping[str, float]]) -> Vectors:
    return np.stack([_vector(weigh(text)) for text in texts])


def _text_weights(text: str) -> Mapping[str, float]:
    words: defaultdict[str, float] = defaultdict(float)
    for part, weight in _weighed(text):
        for word in split_words(part):
            if word not in STOP_WORDS:
                words[word] += weight
    return {word: sqrt(count) for word, count in words.items()}


def _query_weights(query: str) -> Mapping[str, float]:
    weights = query_words(query).weights
    return {word: weight for word, weight in weights.items() if word not in STOP_WORDS}


def _vector(words: Mapping[str, float]) -> Vectors:
    if not words:
        return np.zeros(DIMENSIONS, dtype=np.float32)
    features = [(_features(word), weight) for word, weight in words.items()]
    places = np.concatenate([places for (places, _), _ in features])
    weights = np.rint(np.concatenate([weights * count for (_, weights), count in features]))
    sums = np.bincount(places, weights, DIMENSIONS)
    # Sums of whole numbers are the same in any order; the root and the quotient are exactly rounded.
    length = sqrt(int((sums.astype(np.int64) ** 2).sum()))
    return (sums / length if length else sums).astype(np.float32)


def _weighed(text: str) -> Iterator[tuple[str, float]]:
    tool = read_tool_text(text)
    if tool is None:
        yield text, 1.0
    else:
        yield tool.name, _NAME_WEIGHT
        yield tool.description, 1.0
        yield tool.parameters, _PARAMETERS_WEIGHT


@lru_cache(_DISTINCT_WORDS)
def _features(word: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Give the dimensions that a word adds to, and by how much."""
    own = 1 / sqrt(_WORD_PLACES)
    hashed = [_hashed(f"{place} {word}", own) for place in range(_WORD_PLACES)]
    if len(word) >= _GRAM and not is_unspaced(word):
        edged = f"<{word}>"
        grams = [edged[at : at + _GRAM] for at in range(len(edged) - _GRAM + 1)]
        hashed += [_hashed(gram, 1 / sqrt(len(grams))) for gram in grams]
    scale = _SCALE * _weight(word)
    return (
        np.array([place for place, _ in hashed]),
        np.array([scale * weight for _, weight in hashed]),
    )


def _weight(word: str) -> float:
    if word.isdecimal():
        return _NUMBER_WEIGHT
    return _COMMON_WEIGHT if word in _COMMON else 1.0


def _hashed(feature: str, weight: float) -> tuple[int, float]:
    value = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    return (value >> 1) % DIMENSIONS, weight if value & 1 else -weight
