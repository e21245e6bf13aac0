"""In which language a server answers, where its own description and its tools differ."""

import pytest

from servers.emulated.offline.learning import spoken_in

from emulated_worlds import document_of, spec

CHINESE = ("根据关键词搜索笔记", "获取笔记内容", "执行SQL查询语句")
ENGLISH = ("Search notes by keywords", "Get a note of Xiaohongshu (小红书)", "List all notes")
JAPANESE = ("テキストの詳細な形態素解析を行います", "文章の品詞を数えます")


@pytest.mark.parametrize(
    ("descriptions", "language"),
    [
        (CHINESE, "zh"),
        ((*CHINESE[:2], ENGLISH[0]), "zh"),
        (ENGLISH, "en"),
        ((CHINESE[0], *ENGLISH[:2]), "en"),
        (JAPANESE, "en"),
    ],
)
def test_a_server_answers_in_chinese_where_most_of_its_tools_are_described_so(
    descriptions: tuple[str, ...], language: str
) -> None:
    tools = [spec(f"tool_{n}", text) for n, text in enumerate(descriptions)]
    assert spoken_in(document_of(*tools, language="en")) == language


def test_a_server_in_chinese_whose_tools_are_described_in_english_answers_in_chinese() -> None:
    assert spoken_in(document_of(spec("search", ENGLISH[0]), language="zh")) == "zh"
