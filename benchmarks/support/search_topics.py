"""Queries, and what a tool says of itself that concerns each of them."""

import re
from collections.abc import Mapping
from typing import Final

from astra_mcp.types import ToolSpec

__all__ = ["TOPICS", "concerns"]

TOPICS: Final[Mapping[str, re.Pattern[str]]] = {
    query: re.compile(words, re.IGNORECASE)
    for query, words in {
        "currency conversion": r"currenc|forex|exchange.?rate|fiat|汇率|货币",
        "exchange rates": r"currenc|forex|exchange.?rate|fiat|汇率|货币",
        "汇率换算": r"currenc|forex|exchange.?rate|fiat|汇率|货币",
        "weather forecast": r"weather|forecast|temperature|天气|气温|气象",
        "查询天气": r"weather|forecast|temperature|天气|气温|气象",
        "translate text": r"translat|翻译",
        "stock price": r"stock|share price|quote|equit|股票|股价",
        "股票行情": r"stock|share price|quote|equit|股票|股价",
        "send an email": r"e-?mail|gmail|smtp|邮件",
        "github issues": r"github|issue|gitlab",
        "read file contents": r"file|文件",
        "search academic papers": r"paper|arxiv|pubmed|scholar|literature|论文",
        "generate image": r"image|picture|图片|图像",
        "run sql query": r"sql|quer(y|ies)",
        "list calendar events": r"calendar|event|日程|日历",
        "take a screenshot of a web page": r"screenshot|截图",
        "bitcoin price": r"bitcoin|btc|crypto|coin|比特币",
        "delete a database table": r"table|database|数据库",
        "subtitles of a video": r"transcri|subtitle|caption|video|字幕|视频",
        "convert units": r"convert|unit|conversion",
        "docker containers": r"docker|container|容器",
        "最新新闻": r"news|headline|新闻|热搜",
        "knowledge graph memory": r"memor|graph|entit|knowledge|记忆|图谱",
        "directions to an address": r"direction|route|distance|navigat|address|路线|地址",
    }.items()
}


def concerns(tool: ToolSpec, query: str) -> bool:
    """Say whether a tool's name or description has a word of the query's topic."""
    return TOPICS[query].search(f"{tool.name} {tool.description}") is not None
