"""Vectors of words: alike where texts share words, equal on every machine."""

import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest

from astra_mcp.embedding.lexical import DIMENSIONS, LexicalEmbedder
from astra_mcp.embedding.tool_text import tool_text
from astra_mcp.types import ToolSpec

TEXTS = ["Converts currencies", "查询天气 weather", "getForex1HourData 42"]
DIGEST = "89d19bbfc881584a2bf16ddec86a307a125eed06d4221ea073b55d9844193a51"


def tool(name: str, description: str) -> str:
    schema: dict[str, object] = {"type": "object", "properties": {}}
    return tool_text(ToolSpec(name=name, description=description, input_schema=schema))


async def likeness(query: str, *texts: str) -> list[float]:
    vectors = await LexicalEmbedder().embed([query, *texts])
    return [float(vectors[0] @ vector) for vector in vectors[1:]]


async def test_vectors_are_of_length_one_and_of_a_text_without_words_of_length_zero() -> None:
    vectors = await LexicalEmbedder().embed([*TEXTS, "", "the of ...", "的"])
    assert vectors.shape == (6, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 0, 0, 0])


async def test_many_texts_are_embedded_as_each_alone() -> None:
    texts = [f"tool number {number} of the weather" for number in range(150)]
    together = await LexicalEmbedder().embed(texts)
    assert (together[149] == (await LexicalEmbedder().embed(texts[149:]))[0]).all()
    assert (await LexicalEmbedder().embed([])).shape == (0, DIMENSIONS)


async def test_vectors_are_the_very_same_on_every_machine() -> None:
    vectors = await LexicalEmbedder().embed(TEXTS)
    assert sha256(vectors.astype("<f4").tobytes()).hexdigest() == DIGEST


def test_vectors_do_not_depend_on_the_seed_of_hashes() -> None:
    program = (
        "import anyio, hashlib; from astra_mcp.embedding.lexical import LexicalEmbedder\n"
        f"vectors = anyio.run(LexicalEmbedder().embed, {TEXTS!r})\n"
        "print(hashlib.sha256(vectors.astype('<f4').tobytes()).hexdigest())"
    )
    command = [sys.executable, "-c", program]
    said = subprocess.check_output(command, env={"PYTHONHASHSEED": "1"}, text=True, timeout=60)
    assert said.strip() == DIGEST


async def test_forms_and_parts_of_words_are_alike_and_other_words_are_not() -> None:
    same, form, part, other = await likeness(
        "currency conversion", "conversion of currency", "currencies", "cryptocurrency", "weather"
    )
    assert same == pytest.approx(1, abs=1e-6)
    assert same > form > part > abs(other)
    assert abs(other) < 0.1


async def test_a_chinese_query_is_like_an_english_tool() -> None:
    weather, stock = await likeness(
        "查询天气", tool("get_weather", "Weather of a city"), tool("get_stock", "Price of a stock")
    )
    assert weather > 0.3 > stock


async def test_words_of_every_document_count_little() -> None:
    topic, form = await likeness(
        "get stock price", tool("stock_price", "Price of a stock"), tool("get", "Get a value")
    )
    assert topic > 3 * form


async def test_the_name_of_a_tool_counts_more_than_its_description() -> None:
    named, described = await likeness(
        "weather", tool("weather", "Asks the city hall"), tool("hall", "Asks the city weather")
    )
    assert named > described
