"""Reports as one HTML file: whole without a network, and safe whoever wrote the texts in it."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.errors import ConfigError
from astra_mcp.report.html.drawing import drawing_of
from astra_mcp.report.html.parts import (
    MAX_ROWS,
    Bar,
    BarChart,
    DataColumn,
    DataTable,
    Histogram,
    KeyFigure,
    LinePlot,
    Mark,
    Part,
    Passage,
    Reading,
    Report,
    Section,
    Series,
    shortened,
)
from astra_mcp.report.html.plots import y_ends_of
from astra_mcp.report.html.stored import read_report, report_bytes
from astra_mcp.report.html.views import views_of
from astra_mcp.report.html.writing import html_of, require_writable, write_report

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"' <!-- \u202e &amp;"


class Page(HTMLParser):
    """What a parser of HTML finds: elements with their attributes, and all text by its element."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = tag
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self._open, data.strip()))

    def attributes(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


def every_part(word: str) -> list[Part]:
    """One of each kind of part, with a word in every text."""
    return [
        DataTable(
            caption=word,
            columns=[DataColumn(name=word), DataColumn(name=word)],
            rows=[(word, word)],
        ),
        BarChart(
            caption=word, what=word, bars=[Bar(label=word, count=3, reference=0.5)], reference=word
        ),
        Histogram(
            caption=word, x_label=word, y_label=word, bins=[(1, 2)], marks=[Mark(label=word, at=1)]
        ),
        LinePlot(
            caption=word,
            x_label=word,
            y_label=word,
            x=[0, 1],
            series=[Series(name=word, values=[1, None]), Series(name=word, values=[2, 3])],
        ),
        Reading(
            caption=word,
            passages=[
                Passage(label=word, text=word),
                Passage(label=word, text=word, is_folded=True),
            ],
        ),
    ]


def page_of(parts: Sequence[Part], word: str = "plain") -> str:
    section = Section(title=word, lead=word, parts=parts)
    figure = KeyFigure(label=word, value=word, note=word)
    return html_of(
        Report(title=word, lead=word, key_figures=[figure], sections=[section] * 3, footer=word)
    )


def test_no_text_becomes_an_element_an_attribute_or_a_script() -> None:
    def shape(word: str) -> list[Any]:
        found = Page(page_of(every_part(word), word)).elements
        return [(tag, sorted(attributes)) for tag, attributes in found]

    assert shape(HOSTILE) == shape("plain")
    assert "\u202e" not in page_of(every_part(HOSTILE), HOSTILE)
    assert HOSTILE.replace("\u202e", r"\u202e") in Page(page_of([], HOSTILE)).text_of("h1")


def test_texts_to_read_keep_their_lines_and_fold_where_they_are_told_to() -> None:
    passages = [
        Passage(label="said", text="\n  first\n\n  second"),
        Passage(label="thought", text="hm", is_folded=True),
    ]
    html = page_of(
        [Reading(caption="one", passages=passages), Reading(caption="none", passages=[])]
    )
    page = Page(html)
    assert page.text_of("summary")[:2] == ["one", "thought"]
    assert "none" not in page.text_of("summary")
    assert "<pre>\n\n  first\n\n  second</pre>" in html  # the first line break is the element's
    folded = [a.get("class") for a in page.attributes("details")]
    assert folded[:2] == ["reading", "passage"]


def test_the_page_loads_nothing_and_allows_its_own_script_and_style_alone() -> None:
    html = page_of(every_part("plain"))
    page = Page(html)
    addresses = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if name in {"src", "href", "data", "srcset", "action", "poster"}
    ]
    assert [a for a in addresses if not re.match(r"#|data:,$", a or "")] == []
    assert not re.search(r"@import|url\(", html)
    [policy] = [m["content"] for m in page.attributes("meta") if "http-equiv" in m]
    assert policy is not None
    assert policy.startswith("default-src 'none';")
    for element in ("style", "script"):
        [text] = re.findall(rf"<{element}>(.*?)</{element}>", html, re.S)
        digest = b64encode(sha256(text.encode()).digest()).decode()
        assert f"{element}-src 'sha256-{digest}';" in policy


def test_every_number_of_a_plot_stands_in_a_table_too() -> None:
    histogram = Histogram(
        caption="Rewards",
        x_label="reward",
        y_label="episodes",
        bins=[(0.25, 1), (0.75, 12)],
        bin_width=0.5,
    )
    lines = LinePlot(
        caption="Reward by step",
        x_label="step",
        y_label="reward",
        x=[0, 10],
        series=[Series(name="mean", values=[0.125, None])],
    )
    cells = Page(page_of([histogram, lines])).texts
    shown = [text for tag, text in cells if tag in {"th", "td"}][:16]
    assert shown == [
        *("reward", "episodes", "0 to 0.5", "1", "0.5 to 1", "12"),
        *("step", "mean", "0", "0.125", "10", "\u2013"),
        *("reward", "episodes", "0 to 0.5", "1"),
    ]


def test_a_bar_chart_is_read_as_a_table_with_shares_and_references() -> None:
    bars = [Bar(label="en", count=3, reference=0.5), Bar(label="zh", count=1)]
    page = Page(page_of([BarChart(caption="c", what="questions", bars=bars, reference="paper")]))
    rows = [text for tag, text in page.texts if tag in {"th", "td"}]
    assert rows[: 2 + 8] == [
        "questions",
        "share",
        "paper",
        "en",
        "3",
        "75.0%",
        "50.0%",
        "zh",
        "1",
        "25.0%",
    ]
    widths = [a["width"] for a in page.attributes("rect") if a.get("class") == "bar"]
    assert widths[:2] == ["100.0%", "33.33%"]


def test_a_report_without_plots_has_no_script_and_no_library() -> None:
    html = page_of(
        [*every_part("plain")[:2], Histogram(caption="none", x_label="x", y_label="y", bins=[])]
    )
    assert "<script" not in html
    assert "uplot" not in html.lower()
    assert "none</h3>" not in html


def test_equal_reports_give_equal_files_and_the_licence_goes_with_the_library(
    tmp_path: Path,
) -> None:
    for name in ("one.html", "two.html"):
        report = Report(title="t", sections=[Section(title="s", parts=every_part("plain"))])
        write_report(report, tmp_path / name)
    one, two = (tmp_path / name for name in ("one.html", "two.html"))
    assert one.read_bytes() == two.read_bytes()
    assert "Copyright (c) 2022 Leon Sorokin" in one.read_text(encoding="utf-8")


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing/report\.html cannot be written"):
        write_report(Report(title="t"), tmp_path / "missing" / "report.html")


def test_a_page_stands_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "report.html"
    write_report(Report(title="first"), file)
    require_writable(file)

    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(ConfigError, match="No space left"):
        write_report(Report(title="second"), file)
    assert "first" in file.read_text(encoding="utf-8")
    assert [*tmp_path.iterdir()] == [file]
    with pytest.raises(ConfigError, match="directory"):
        require_writable(tmp_path)


def test_bars_of_a_funnel_are_shares_of_what_it_began_with() -> None:
    bars = [Bar(label="judged", count=4), Bar(label="accepted", count=1)]
    chart = BarChart(caption="c", what="items", bars=bars, whole=8)
    html = html_of(Report(title="t", sections=[Section(title="s", parts=[chart])]))
    assert [text for text in Page(html).text_of("td") if "%" in text] == ["50.0%", "12.5%"]


def test_lines_have_a_value_for_each_place_of_the_axis() -> None:
    plot = LinePlot(
        caption="c", x_label="x", y_label="y", x=[1, 2], series=[Series(name="s", values=[1])]
    )
    with pytest.raises(ValueError, match="'s' has another number of values"):
        page_of([plot])


def test_the_vendored_library_is_the_one_that_its_page_names() -> None:
    folder = Path(__file__).parents[2] / "astra_mcp" / "report" / "html" / "vendored" / "uplot"
    named = re.findall(r"`([\w.]+)` \| `(\w{64})`", (folder / "README.md").read_text("utf-8"))
    assert len(named) == 2
    assert [sha256((folder / file).read_bytes()).hexdigest() for file, _ in named] == [
        digest for _, digest in named
    ]


def test_a_report_that_is_read_again_gives_the_same_page(tmp_path: Path) -> None:
    parts = every_part(HOSTILE)
    gap = [Series(name="s", values=[1, None, float("nan")])]
    parts.append(LinePlot(caption="c", x_label="x", y_label="y", x=[0, 1, 2], series=gap))
    report = Report(
        title=HOSTILE,
        key_figures=[KeyFigure(label="l", value="v")],
        sections=[Section(title="s", parts=parts)],
    )
    (tmp_path / "r.json").write_bytes(report_bytes(report))
    pages = (html_of(each) for each in (read_report(tmp_path / "r.json"), report))
    again, first = (re.sub(r"(\d)\.0\b", r"\1", page) for page in pages)  # 1 may be read as 1.0
    assert again == first
    (tmp_path / "r.json").write_bytes(report_bytes(report)[:-9])
    with pytest.raises(ConfigError, match="holds no report"):
        read_report(tmp_path / "r.json")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_report(tmp_path / "none.json")


def test_plots_are_drawn_for_those_without_a_script_too() -> None:
    histogram = Histogram(
        caption="h", x_label="x", y_label="y", bins=[(0.25, 1), (0.75, 4)], bin_width=0.5
    )
    lines = LinePlot(
        caption="l",
        x_label="x",
        y_label="y",
        x=[0, 5, 10],
        series=[Series(name="a", values=[1, None, 3]), Series(name="b", values=[2, 2, None])],
    )
    drawing = drawing_of(histogram)
    assert drawing is not None
    assert [(y, height) for _, y, _, height in drawing.bars] == [(150, 50), (0, 200)]
    assert (drawing.x_ends, drawing.y_ends) == (("0", "1"), ("0", "4"))
    equal = Histogram(caption="h", x_label="x", y_label="y", bins=[(0.275, 5)], bin_width=0.05)
    drawing = drawing_of(equal)
    assert drawing is not None
    assert drawing.bars == [(6, 0, 588, 200)]
    assert drawing.x_ends == ("0.25", "0.3")
    drawing = drawing_of(lines)
    assert drawing is not None
    assert drawing.lines == [("M0 200 L600 0", 0), ("M0 100 L300 100", 1)]
    alone = LinePlot(
        caption="l", x_label="x", y_label="y", x=[7], series=[Series(name="a", values=[2])]
    )
    drawing = drawing_of(alone)
    assert drawing is not None
    assert drawing.lines == [("M300 100 h4", 0)]
    page = Page(page_of([histogram, lines]))
    assert len([a for a in page.attributes("svg") if a.get("class") == "drawn"]) == 6
    assert drawing.y_ends == ("1.8", "2.2")
    nothing = LinePlot(
        caption="l", x_label="x", y_label="y", x=[7], series=[Series(name="a", values=[None])]
    )
    assert drawing_of(nothing) is None


@pytest.mark.parametrize(
    ("values", "span", "ends"),
    [
        ([0.25, 0.3], (0.0, 1.0), (0.0, 1.0)),
        ([0.25], (0.0, 1.0), (0.0, 1.0)),
        ([-1.0, 0.5, 2.0], (0.0, 1.0), (-1.0, 2.0)),
        ([0.2, None, float("nan"), 0.4], None, (0.2, 0.4)),
        ([-10.0, -10.0], None, (-11.0, -9.0)),
        ([0.0, 0.0], None, (0.0, 1.0)),
        ([None], (0.0, 1.0), None),
    ],
)
def test_an_axis_shows_its_span_and_what_the_values_need_and_is_never_of_one_number(
    values: list[float | None],
    span: tuple[float, float] | None,
    ends: tuple[float, float] | None,
) -> None:
    series, x = [Series(name="a", values=values)], range(len(values))
    plot = LinePlot(caption="l", x_label="x", y_label="y", x=x, series=series, y_span=span)
    assert y_ends_of(plot) == (ends if ends is None else pytest.approx(ends))


def test_long_texts_are_cut_where_a_page_asks_for_it_and_say_so() -> None:
    table = DataTable(caption="c", columns=[DataColumn(name="n")], rows=[("w" * 50,)])
    reading = Reading(caption="c", passages=[Passage(label="l", text="w" * 50)])
    report = Report(title="t", sections=[Section(title="s", parts=[table, reading])])
    html = html_of(shortened(report, 10))
    assert html.count("w" * 10 + " \u2026 40 characters more") == 2
    assert "w" * 11 not in html
    assert html_of(shortened(report, 50)) == html_of(report)


def test_long_tables_and_names_are_cut_too() -> None:
    columns = [DataColumn(name="a"), DataColumn(name="b")]
    rows = [(str(number), "x") for number in range(MAX_ROWS + 7)]
    table = DataTable(caption="c" * 50, columns=columns, rows=rows, paths=["/p"] * len(rows))
    line = [Series(name="s" * 50, values=[1])]
    plot = LinePlot(caption="c" * 50, x_label="x", y_label="y" * 50, x=[1], series=line)
    report = Report(title="t", sections=[Section(title="s", parts=[table, plot])])
    short = shortened(report, 10)
    html = html_of(short)
    assert not re.search(r"c{11}|s{11}|y{11}", html)
    assert "\u2026 7 rows more" in html
    (cut, _) = short.sections[0].parts
    assert isinstance(cut, DataTable)
    assert len(cut.rows) == len(cut.paths) == MAX_ROWS + 1


@pytest.mark.parametrize(
    "part",
    [
        DataTable(caption="c", columns=[DataColumn(name="a")], rows=[("1", "2")]),
        DataTable(caption="c", columns=[DataColumn(name="a")], rows=[("1",), ("2",)], paths=["/"]),
        LinePlot(
            caption="c", x_label="x", y_label="y", x=[1, 2], series=[Series(name="s", values=[1])]
        ),
        BarChart(caption="c", what="w", bars=[Bar(label="l", count=-1), Bar(label="m", count=1)]),
    ],
)
def test_a_stored_report_that_cannot_be_shown_is_refused(tmp_path: Path, part: Part) -> None:
    report = Report(title="t", sections=[Section(title="s", parts=[part])])
    (tmp_path / "r.json").write_bytes(report_bytes(report))
    with pytest.raises(ConfigError, match="holds no report"):
        read_report(tmp_path / "r.json")


def test_a_row_leads_to_pages_of_the_gateway_alone() -> None:
    own = ["/environments/harbour", "/episodes?q=a%20b", "/"]
    foreign = [
        "javascript:alert(1)",
        "//a.example",
        "/\\a.example",
        "/\t/a.example",
        "a",
        " /a",
        "/a\n",
    ]
    table = DataTable(
        caption="c",
        columns=[DataColumn(name="a")],
        rows=[(path,) for path in own + foreign],
        paths=own + foreign,
    )
    ((_, (view,)),) = views_of(Report(title="t", sections=[Section(title="s", parts=[table])]))
    assert isinstance(view.part, DataTable)
    assert [*view.part.paths] == own + [""] * len(foreign)
    assert [row for (row,) in view.part.rows] == own + foreign


def test_numbers_at_the_ends_of_their_range_are_drawn() -> None:
    values = [1.7e308, -1.7e308, 0.0]
    plot = LinePlot(
        caption="c", x_label="x", y_label="y", x=[1, 2, 3], series=[Series(name="s", values=values)]
    )
    drawing = drawing_of(plot)
    assert drawing is not None
    assert drawing.lines == [("M0 0 L300 200 L600 100", 0)]
