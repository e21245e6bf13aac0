"""Mutations are found by what they change, and each changes one module in one place."""

import ast
import difflib
from pathlib import Path

import pytest

from mutant_trials import tests_about as files_about
from mutants import NAMED, Anchor, LostAnchorError, drawn_mutants, find_mutant
from source_graph import SourceGraph, read_sources

ROOT = Path(__file__).parents[2]

_MODULE = '''
def grant(x: int, taken: set[int]) -> bool:
    """Return 1."""
    text = f"ö{x == 2}"
    if x == 2 and text:
        raise ValueError(text)
    return x in taken
'''


@pytest.fixture
def graph(tmp_path: Path) -> SourceGraph:
    """Two modules."""
    write(tmp_path, "gateway/one.py", _MODULE)
    write(tmp_path, "gateway/two.py", "def grant(x: int) -> bool:\n    return x == 3")
    return read_sources(tmp_path, ["gateway"])


def write(root: Path, path: str, text: str) -> None:
    """Put a file into a checkout."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text, encoding="utf-8")


def changed_lines(before: str, after: str) -> list[str]:
    """The lines in which two texts differ."""
    lines = difflib.ndiff(before.split("\n"), after.split("\n"))
    return [line[2:].strip() for line in lines if line.startswith("+ ")]


def test_an_anchor_finds_its_function_wherever_it_stands(graph: SourceGraph) -> None:
    mutant = find_mutant(graph, Anchor("keys", "gateway", "grant", "x in taken", "x not in taken"))
    assert (mutant.module, mutant.line) == ("gateway.one", 7)
    assert changed_lines(_MODULE, mutant.text) == ["return x not in taken"]


@pytest.mark.parametrize(
    ("expression", "where"), [("x == 9", "nowhere"), ("x", "gateway.one, gateway.two")]
)
def test_an_anchor_that_is_gone_or_ambiguous_is_named(
    graph: SourceGraph, expression: str, where: str
) -> None:
    with pytest.raises(LostAnchorError, match=f"{expression!r} stands {where} "):
        find_mutant(graph, Anchor("keys", "gateway", "grant", expression, "y"))


def test_drawn_mutations_are_the_seeds_and_compile(graph: SourceGraph) -> None:
    drawn = drawn_mutants(graph, 11, seed=1)
    assert drawn == drawn_mutants(graph, 11, seed=1)
    assert drawn != drawn_mutants(graph, 11, seed=2)
    assert {(m.before, m.after) for m in drawn if m.line > 3} >= {
        ("raise ValueError(text)", "pass"),
        ("x in taken", "(x not in taken)"),
        ("x == 2 and text", "(x == 2 or text)"),
    }
    for mutant in drawn:
        assert ast.dump(ast.parse(mutant.text)) != ast.dump(graph.sources[mutant.module].tree)


@pytest.mark.volume
def test_every_named_mutation_finds_its_place() -> None:
    graph = read_sources(ROOT)
    places = [find_mutant(graph, anchor).name for anchor in NAMED]
    assert len(places) == 20
    assert {places.count(place) for place in places} == {2}


def test_the_tests_of_a_module_are_those_that_import_it_and_then_those_of_its_folder(
    tmp_path: Path, graph: SourceGraph
) -> None:
    write(tmp_path, "gateway/three.py", "import gateway.two")
    graph = read_sources(tmp_path, ["gateway"])
    first = "from gateway import one\nimport gateway.three"
    write(tmp_path, "tests/other/test_first.py", first)
    write(tmp_path, "tests/support/workbench.py", "from gateway.one import grant")
    write(tmp_path, "tests/other/test_second.py", "from workbench import something")
    write(tmp_path, "tests/gateway/test_near.py", "import os")
    write(tmp_path, "tests/other/test_far.py", "import os")
    assert files_about(graph, tmp_path, "gateway.one") == [
        "tests/other/test_second.py",
        "tests/other/test_first.py",
        "tests/gateway/test_near.py",
    ]
