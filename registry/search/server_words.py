"""What servers say of themselves, compared with a query: a tool fits better where its server fits too.

*Create a page* is said by tools of many servers, and which of them is for a wiki is often said by the server
alone. Servers are few, so their words are held in memory and ranked by BM25 there, on either database.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from math import log

import numpy as np
import numpy.typing as npt
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from sqlmodel import col

from astra_mcp.embedding.words import STOP_WORDS, split_words
from registry.store.tables import ServerRow

__all__ = ["EMPTY_SERVERS", "ServerWords", "read_server_words"]

_TITLE_WEIGHT = 3
_DESCRIPTION_WORDS = 60
"""Of each server; what a long page says after them is how to install it."""
_DESCRIPTION_CHARACTERS = 2000
_SATURATION = 1.2
_LENGTH = 0.5
"""k1 and b of BM25."""

_Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class _Word:
    """A word of servers: where it stands, and what it adds to each of their scores."""

    places: npt.NDArray[np.intp]
    scores: _Scores


@dataclass(frozen=True, slots=True, eq=False)
class ServerWords:
    """The words of all kept servers."""

    places: Mapping[int, int]
    """Where each server stands in an array of scores, by its id."""
    _words: Mapping[str, _Word] = field(repr=False)

    def scores(self, weights: Mapping[str, float]) -> _Scores:
        """Score all servers.

        Args:
            weights: What each word that is searched for counts.

        Returns:
            One score for each of :attr:`places`: 0 where a server has none of the words.
        """
        scores = np.zeros(len(self.places))
        for text, weight in weights.items():
            word = self._words.get(text)
            if word is not None:
                scores[word.places] += weight * word.scores
        return scores


EMPTY_SERVERS = ServerWords({}, {})


def read_server_words(session: Session) -> ServerWords:
    """Read the words of all kept servers: of their names, titles and the beginnings of their descriptions."""
    beginning = func.substr(col(ServerRow.description), 1, _DESCRIPTION_CHARACTERS)
    columns = (col(ServerRow.id), col(ServerRow.name), col(ServerRow.title), beginning)
    kept = select(*columns).where(col(ServerRow.status) == "kept").order_by(col(ServerRow.id))
    places: dict[int, int] = {}
    counts: list[Counter[str]] = []
    for server, name, title, description in session.execute(kept):
        places[server] = len(counts)
        counts.append(_count(f"{name} {title}", description))
    return ServerWords(places, _weighed(counts))


def _count(names: str, description: str) -> Counter[str]:
    words: Counter[str] = Counter()
    for word in split_words(names):
        words[word] += _TITLE_WEIGHT
    words.update(islice(split_words(description), _DESCRIPTION_WORDS))
    return words


def _weighed(servers: Iterable[Counter[str]]) -> Mapping[str, _Word]:
    standing: dict[str, tuple[list[int], list[int]]] = {}
    lengths: list[int] = []
    for place, words in enumerate(servers):
        lengths.append(words.total())
        for word, count in words.items():
            if word not in STOP_WORDS:
                places, counts = standing.setdefault(word, ([], []))
                places.append(place)
                counts.append(count)
    length = np.array(lengths, dtype=np.float64)
    norms = (
        _SATURATION * (1 - _LENGTH + _LENGTH * length / max(length.mean(), 1))
        if lengths
        else length
    )
    return {
        word: _word(np.array(places), np.array(counts, dtype=np.float64), norms)
        for word, (places, counts) in standing.items()
    }


def _word(places: npt.NDArray[np.intp], counts: _Scores, norms: _Scores) -> _Word:
    having, every = len(places), len(norms)
    rarity = log(1 + (every - having + 0.5) / (having + 0.5))
    return _Word(places, rarity * counts * (_SATURATION + 1) / (counts + norms[places]))
