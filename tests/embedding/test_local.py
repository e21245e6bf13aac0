"""A local model is used as it is meant to be, and its absence is said with a remedy.

The library is played by a module of the same boundary here: the real one brings torch.
"""

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from astra_mcp.embedding.local import open_local_embedder
from astra_mcp.errors import ConfigError, ModelError


class FakeSentenceTransformer:
    """Embeds a text as its length; remembers what it was asked, and in which thread."""

    asked: list[tuple[str, int]]
    threads: set[int]

    def __init__(self, source: str) -> None:
        if source == "absent":
            raise OSError("absent is not a local folder\nand is not a valid model identifier")
        self.asked = []
        self.threads = {threading.get_ident()}
        FakeSentenceTransformer.last = self

    last: "FakeSentenceTransformer"

    def encode_query(self, sentences: Sequence[str], **options: Any) -> Any:
        return self._encode("query", sentences, options)

    def encode_document(self, sentences: Sequence[str], **options: Any) -> Any:
        return self._encode("document", sentences, options)

    def _encode(self, kind: str, sentences: Sequence[str], options: dict[str, Any]) -> Any:
        assert options["normalize_embeddings"]
        assert options["convert_to_numpy"]
        if "too much" in sentences:
            raise RuntimeError("out of memory\n  at some place")
        self.asked.append((kind, len(sentences)))
        self.threads.add(threading.get_ident())
        return np.array([[len(text), 1] for text in sentences], dtype=np.float64)


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sentence_transformers")
    module.__dict__["SentenceTransformer"] = FakeSentenceTransformer
    monkeypatch.setitem(sys.modules, "sentence_transformers", module)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a model."""
    path = tmp_path / "tiny-model"
    (path / "weights").mkdir(parents=True)
    (path / "config.json").write_text("{}")
    (path / "weights" / "0.bin").write_bytes(b"0" * 100)
    return path


@pytest.mark.usefixtures("library")
async def test_texts_are_embedded_in_their_order_in_batches_and_in_threads() -> None:
    texts = ["a" * length for length in range(70)]
    async with open_local_embedder("some/model") as embedder:
        vectors = await embedder.embed(texts)
    assert vectors.dtype == np.float32
    assert [int(length) for length in vectors[:, 0]] == list(range(70))
    assert FakeSentenceTransformer.last.asked == [("document", size) for size in (32, 32, 6)]
    assert threading.get_ident() not in FakeSentenceTransformer.last.threads


@pytest.mark.usefixtures("library")
async def test_queries_are_embedded_as_queries_and_no_text_gives_no_vector() -> None:
    async with open_local_embedder("some/model") as embedder:
        await embedder.embed(["weather"], as_query=True)
        assert len(await embedder.embed([])) == 0
    assert FakeSentenceTransformer.last.asked == [("query", 1)]


@pytest.mark.usefixtures("library")
async def test_vectors_are_named_by_the_model_and_of_a_folder_by_its_content(folder: Path) -> None:
    async def name(source: str) -> str:
        async with open_local_embedder(source) as embedder:
            return embedder.model

    assert await name("some/model") == "some/model"
    before = await name(str(folder))
    assert before.startswith("tiny-model@")
    assert await name(str(folder)) == before
    (folder / "weights" / "0.bin").write_bytes(b"1" * 100)
    assert await name(str(folder)) != before


@pytest.mark.usefixtures("library")
async def test_a_model_that_fails_is_a_failure_of_the_model() -> None:
    async with open_local_embedder("some/model") as embedder:
        with pytest.raises(ModelError, match=r"'some/model' failed: out of memory$"):
            await embedder.embed(["too much"])


@pytest.mark.usefixtures("library")
async def test_an_unknown_model_is_said_in_one_line() -> None:
    with pytest.raises(
        ConfigError, match=r"'absent' cannot be loaded: absent is not a local folder$"
    ):
        async with open_local_embedder("absent"):
            pass


async def test_a_missing_library_is_said_with_the_extra_that_brings_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"install astra-mcp\[embedding\]$"):
        async with open_local_embedder("some/model"):
            pass
