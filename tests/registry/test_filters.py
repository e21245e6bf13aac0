"""Which descriptions are missing, vague, open to a judge, or clear; which servers have too few tools."""

import pytest

from astra_mcp.types import ToolSpec
from registry.documents.filters import Clarity, clarity_of, reject_server, reject_tool
from registry.documents.sources import Rejection, ToolReason


def clarity(description: str, name: str = "some_name") -> Clarity:
    spec = ToolSpec(name=name, description=description, input_schema={"type": "object"})
    return clarity_of(spec, name)


@pytest.mark.parametrize(
    "description",
    [
        "", "...", "🚆", "123", "N/A", "n/a.", "TODO", "None", "Description not available",
        "No description provided.", "(no description)", "Tool description not accessible",
        "暂无描述", "无", "暂无", "待补充", "工具描述", "説明なし", "설명없음",
        "Sin descripción", "Нет описания",
    ],
)  # fmt: skip
def test_nothing_or_a_placeholder_is_a_missing_description(description: str) -> None:
    assert clarity(description) is Clarity.MISSING


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("list-chapters", "List Chapters"),
        ("getWeather", "get weather."),
        ("set_pwm", "Execute set_pwm command"),
        ("w3_ls", "Tool for w3_ls operation."),
        ("lookup", "The lookup tool"),
        ("add_numbers", "add_numbers function"),
        ("查询", "查询"),
    ],
)
def test_a_description_that_repeats_the_name_is_vague(name: str, description: str) -> None:
    assert clarity(description, name) is Clarity.VAGUE


@pytest.mark.parametrize(
    "description",
    [
        "tool", "A tool", "This is a test tool", "My custom function", "Search", "Helper", "Does stuff",
        "一个工具", "测试工具", "这是一个测试函数", "搜索", "ツールです", "テスト",
    ],
)  # fmt: skip
def test_a_description_that_fits_every_tool_is_vague(description: str) -> None:
    assert clarity(description) is Clarity.VAGUE


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("add", "Add two numbers"),
        ("add", "Adds two integers."),
        ("remove_task", "Remove a task."),
        ("close-browser", "Close the browser"),
        ("eval", "Evaluate an expression"),
        ("get_advice", "Rastgele tavsiye döner."),
        ("gdb_set_breakpoint", "设置断点"),
        ("execute_query", "执行SQL查询语句"),
        ("get_current_time", "获取当前时间"),
        ("login", "登录小红书账号"),
        ("count", "テキストの文字数を計測します"),
        ("weather", "오늘의 날씨를 조회합니다"),
        ("weather", "Показывает погоду в городе"),
        ("test", "Run the unit tests of a project"),
    ],
)
def test_a_terse_description_that_says_what_is_done_is_kept(name: str, description: str) -> None:
    spec = ToolSpec(name=name, description=description, input_schema={"type": "object"})

    assert reject_tool(spec, name) is None


def test_what_a_few_words_say_is_open_to_a_judge() -> None:
    assert clarity("Add two numbers") is Clarity.OPEN
    assert clarity("设置断点") is Clarity.OPEN
    assert clarity("Find the cheapest train between two cities") is Clarity.CLEAR
    assert clarity("查询两个城市之间最便宜的火车票") is Clarity.CLEAR


def test_the_original_name_counts_where_it_was_written_otherwise() -> None:
    spec = ToolSpec(name="tool_12345678", description="查询天气", input_schema={"type": "object"})

    assert clarity_of(spec, "查询天气") is Clarity.VAGUE
    assert clarity_of(spec, "get_weather") is Clarity.OPEN


def test_a_rejection_names_the_field_and_what_stands_there() -> None:
    spec = ToolSpec(name="x", description="Coming soon!", input_schema={"type": "object"})

    detail = "description: 'Coming soon!' stands for one"
    assert reject_tool(spec) == Rejection(ToolReason.NO_DESCRIPTION, detail)


@pytest.mark.parametrize(
    ("num_tools", "num_kept", "reason"),
    [(0, 0, "no_tools"), (2, 2, "too_few_tools"), (9, 2, "too_few_tools"), (3, 3, None)],
)
@pytest.mark.claim("P18")
def test_a_server_needs_three_tools_that_are_left(
    num_tools: int, num_kept: int, reason: str | None
) -> None:
    rejection = reject_server(num_tools, num_kept)

    assert (rejection and rejection.reason) == reason
