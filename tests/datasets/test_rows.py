"""Rows of RL data and their bundles: equal after a round trip, or refused by name."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.environments.bundle import Bundle
from astra_mcp.environments.loading import load_bundle, parse_bundle
from astra_mcp.environments.rows.bundles import name_of_row, row_of_bundle, texts_of_row
from astra_mcp.environments.rows.row import Row
from astra_mcp.environments.rows.sources import join_sources, split_sources
from astra_mcp.errors import BundleError
from astra_mcp.types import JsonObject, canonical_json
from servers.bundled import bundled_folder

from published_rows import function, published_row

SOURCES = (
    "def {0}(x: str) -> str:\n    return x\n",
    "import json\nLIMIT = 3\n\n\ndef {0}(x):\n    '''Say\n\n  it.'''\n    return json.dumps(x)\n\n",
    "import json\n\n\ndef _half(n): return n / 2\ndef {0}(x): return _half(3)",
    (
        "from datetime import datetime as dt, date\n\n\nclass Day: ...\n"
        "def {0}(x):\n    return f'{{date.today()}}', dt(1, 1, 1)\n"
    ),
    (
        "import datetime as dt\ndate: dict = {{'日': 1}}; Day = 1\n"
        "def {0}(x): return date, Day, dt.date.min, '''\n dt '''\n"
    ),
    "# code of nothing\n\n\ndef {0}(x):\n    return {{'一': [1]}}",
)
LINE_ENDS = ("\n", "\r\n")
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)
SAID = TEXTS.filter(str.strip)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=5,
)
PLAIN = TEXTS | VALUES.map(json.dumps)
OBJECTS: st.SearchStrategy[dict[str, Any]] = st.dictionaries(TEXTS, VALUES, max_size=3)
TOLD: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries({"background": PLAIN})
BACKGROUNDS = st.none() | TOLD | OBJECTS


def shuffled(draw: Any, value: dict[str, Any]) -> str:
    """Write an object with its members in any order, formatted in any way."""
    keys = draw(st.permutations(sorted(value)))
    indent = draw(st.sampled_from([None, 1, 4]))
    ascii_alone = draw(st.booleans())
    return json.dumps({k: value[k] for k in keys}, indent=indent, ensure_ascii=ascii_alone)


@st.composite
def two_spellings(draw: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of one row, spelled twice."""
    names = draw(st.lists(st.sampled_from(["find", "book", "pay"]), min_size=1, unique=True))
    parameters = {"x": {"type": "string", "description": draw(TEXTS), "x-note": draw(VALUES)}}
    functions = [function(name, parameters, "x") for name in names]
    templates = {name: draw(st.sampled_from(SOURCES)) for name in names}
    sources = {name: text.format(name) for name, text in templates.items()}
    if draw(st.booleans()):  # all tools in one module, as an export writes it
        sources = dict.fromkeys(
            names, "".join(text.format(n) + "\n" for n, text in templates.items())
        )
    answers = draw(
        st.dictionaries(st.sampled_from(names), st.lists(SAID, min_size=1, max_size=3), min_size=1)
    )
    background, question = draw(BACKGROUNDS), draw(SAID).strip()

    def spelled() -> dict[str, Any]:
        gap = draw(st.sampled_from(["\n\n", " ", "\n \n"]))
        heading = "## some information related to the user\n"
        told = "" if background is None else f"{heading}{shuffled(draw, background)}{gap}"
        ends = draw(st.sampled_from(LINE_ENDS))
        return {
            "prompt": [{"role": "user", "content": told + question}],
            "tool_schema": f"[{', '.join(shuffled(draw, each) for each in functions)}]",
            "tool_dict": shuffled(draw, {n: s.replace("\n", ends) for n, s in sources.items()}),
            "sub_qa_dict": shuffled(draw, answers),
        }

    return spelled(), spelled()


def bundle_of(row: Row) -> Bundle:
    """Load the files of a row's bundle."""
    return parse_bundle(name_of_row(row), texts_of_row(row))


@given(two_spellings())
def test_a_row_comes_back_from_its_bundle_equal_and_equal_rows_are_one_bundle(
    spellings: tuple[dict[str, Any], dict[str, Any]],
) -> None:
    first, second = map(Row.parse, spellings)
    bundle = bundle_of(first)
    again = Row.parse(row_of_bundle(bundle).columns)
    assert canonical_json(again.content) == canonical_json(first.content)
    assert bundle_of(second).content_hash == bundle.content_hash
    assert bundle.document.prompt == again.prompt
    assert len(bundle.job) == sum(map(len, first.answers.values()))


@pytest.mark.parametrize("folder", sorted(bundled_folder().glob("l*/")), ids=lambda f: f.name)
def test_the_row_of_a_bundled_environment_makes_a_bundle_of_the_same_code_and_job(
    folder: Any,
) -> None:
    bundle = load_bundle(folder)
    made = bundle_of(Row.parse(row_of_bundle(bundle).columns))
    assert made.code == bundle.code
    assert made.document.prompt == bundle.document.question
    said = [(item.tools, item.answer) for item in bundle.job]
    assert sorted((item.tools, item.answer) for item in made.job) == sorted(said)
    assert made.document.status == "unverified"


def test_sources_that_bind_one_name_to_two_things_stand_in_one_module() -> None:
    second = '''from datetime import datetime

LIMIT = 2


def second() -> str:
    """Give a datetime."""
    return f"{datetime(2026, 1, 6):%d} {LIMIT}"
'''
    sources = {
        "first": "import datetime\n\n\ndef first(): return str(datetime.date(2026, 1, 5))\n",
        "second": second,
        "third": "def LIMIT(): return 3\n\n\ndef third(): return LIMIT()\n",
    }
    code = join_sources(sources, [*sources])
    assert split_sources(code, [*sources]) == sources
    module: dict[str, Any] = {}
    exec(code, module)  # noqa: S102 - what it does is what is tested
    assert [module[name]() for name in sources] == ["2026-01-05", "06 2", 3]


def test_a_background_is_kept_apart_and_shown_to_the_agent_before_the_question() -> None:
    document = bundle_of(Row.parse(published_row())).document
    assert document.background == "I sail a ketch of 11 m.\nNo engine."
    assert document.question == "When can I berth my ketch in Aldport?"
    heading, told = document.prompt.split("\n", 1)
    assert heading == "## some information related to the user"
    assert json.loads(told.removesuffix(document.question)) == {"background": document.background}


def changed(column: str, change: Callable[[Any], object]) -> Callable[[dict[str, Any]], object]:
    """Change what stands in the JSON of a column."""

    def change_row(row: dict[str, Any]) -> None:
        value = json.loads(row[column])
        change(value)
        row[column] = json.dumps(value)

    return change_row


def with_source(tool: str, source: str) -> Callable[[dict[str, Any]], object]:
    return changed("tool_dict", lambda sources: sources.update({tool: source}))


FAULTS: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "column missing": (lambda row: row.pop("tool_dict"), "tool_dict: is missing"),
    "column too many": (lambda row: row.update(ability="x"), "ability: is none of"),
    "no JSON": (lambda row: row.update(sub_qa_dict="{'a': 1}"), "sub_qa_dict: is not JSON"),
    "a key twice": (
        lambda row: row.update(sub_qa_dict='{"a": ["x"], "a": ["y"]}'),
        "'a' stands twice",
    ),
    "two messages": (lambda row: row["prompt"].append({}), "prompt: must be one message"),
    "half a character": (
        lambda row: row.update(prompt=[{"role": "user", "content": "\ud800"}]),
        "a value that JSON cannot carry",
    ),
    "a setting of a function that is not kept": (
        changed("tool_schema", lambda tools: tools[0]["function"].update(strict=True)),
        "tool_schema: [0]: a function has name, description and parameters, and no 'strict'",
    ),
    "no answer": (changed("sub_qa_dict", lambda a: a.update(tide_table=[])), "one or more texts"),
    "an answer for no tool": (
        changed("sub_qa_dict", lambda answers: answers.update(moon=["full"])),
        "there is no tool 'moon'",
    ),
    "a tool without code": (
        changed("tool_dict", lambda sources: sources.pop("tide_table")),
        "tide_table: define a top-level function of this name",
    ),
    "keyword arguments": (
        with_source("berth_finder", "def berth_finder(port, length_m=None, **kwargs): ...\n"),
        "tools.py: berth_finder: must not take *kwargs; name every parameter",
    ),
    "no Python": (with_source("berth_finder", "def berth_finder(:"), "does not compile"),
    "one tool in two sources": (
        with_source(
            "berth_finder", "tide_table = 3\n\n\ndef berth_finder(port, length_m=None): ..."
        ),
        "tool_dict: berth_finder: binds tide_table to something else than the code of an earlier",
    ),
    "a name that cannot be told apart": (
        with_source(
            "berth_finder", "json = 3\n\n\ndef berth_finder(port, json=None):\n    json()\n"
        ),
        "tool_dict: berth_finder: binds json to something else than the code of an earlier",
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_row_that_makes_no_bundle_is_refused_with_what_is_wrong(name: str) -> None:
    change, words = FAULTS[name]
    row: JsonObject = published_row()
    change(row)
    with pytest.raises(BundleError) as refused:
        bundle_of(Row.parse(row))
    assert words in str(refused.value)
