"""Which language a document is in."""

import pytest

from astra_mcp.text.language import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Get the current weather of a city and its forecast for the next days.", "en"),
        ("Add two numbers", "en"),
        ("查询天气", "zh"),
        ("使用 GitHub API 查询 issue 列表", "zh"),
        ("現在開いているページの内容を取得します", "ja"),
        ("ファイル一覧", "ja"),
        ("오늘의 날씨", "ko"),
        ("Показывает погоду в выбранном городе на завтра", "ru"),
        ("يعرض حالة الطقس في المدينة التي تختارها", "ar"),
        ("แสดงสภาพอากาศ", "th"),
        ("Obtiene el pronóstico del tiempo para una ciudad y devuelve la temperatura", "es"),
        ("Obter previsão meteorológica para uma cidade específica em Portugal", "pt"),
        ("Şehir adına göre hava durumu bilgilerini getirir ve sonucu döndürür", "tr"),  # noqa: RUF001
        ("Renvoie la météo de la ville et les prévisions pour les prochains jours", "fr"),
        ("", None),
        ("GET /v1", None),
        ("`get_weather` https://example.org/docs/get-weather {city_name}", None),
    ],
)
def test_the_language_of_a_text(text: str, language: str | None) -> None:
    assert language_of([text]) == language


def test_the_words_of_the_tools_count_beside_those_of_the_server() -> None:
    assert language_of(["Weather", "查询城市的天气预报", "查询空气质量"]) == "zh"


def test_names_and_code_in_a_text_are_of_no_language() -> None:
    text = "查询天气 ```python\nprint(get_weather(city_name='x'))\n``` userId requestId https://example.org"

    assert language_of([text]) == "zh"
