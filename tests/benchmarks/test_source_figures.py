"""The figures of the product's modules count what they say, and a broken bound is named."""

from pathlib import Path

import pytest

from source_figures import MAX_MODULES, broken_bounds, measured
from source_graph import PACKAGES, read_sources

_LAYERS = """
[[tool.importlinter.contracts]]
name = "layers"
type = "layers"
layers = ["gateway", "astra_mcp.upper", "astra_mcp.left | (astra_mcp.right)", "astra_mcp.errors"]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A small product without a fault."""
    for package in (*PACKAGES, "tests", "gateway/edge", "servers/bundled"):
        write(tmp_path, f"{package}/__init__.py", '"""A folder."""')
    write(tmp_path, "astra_mcp/errors.py", '"""Errors."""\n\n__all__ = ["First", "Second"]')
    write(tmp_path, "astra_mcp/left.py", "from astra_mcp.errors import First")
    write(tmp_path, "astra_mcp/right.py", "def go() -> None:\n    import astra_mcp.errors")
    write(tmp_path, "astra_mcp/upper.py", "from astra_mcp import left")
    write(tmp_path, "gateway/edge/keys.py", "import os")
    write(tmp_path, "gateway/app.py", "from .edge import keys\nfrom astra_mcp.upper import go")
    write(tmp_path, "servers/bundled/tools.py", "from gateway.app import x")
    (tmp_path / "pyproject.toml").write_text(_LAYERS, encoding="utf-8")
    return tmp_path


def write(root: Path, path: str, text: str) -> None:
    """Put a module into a checkout."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text + "\n", encoding="utf-8")


def test_the_longest_chain_is_walked_down_every_import(checkout: Path) -> None:
    figures = measured(checkout)
    chain = ["gateway.app", "astra_mcp.upper", "astra_mcp.left", "astra_mcp.errors"]
    assert figures["longest_chain_path"] == chain
    assert figures["gateway_longest_chain_path"] == ["gateway.app", "gateway.edge.keys"]
    assert (figures["level_gateway"], figures["level_gateway.edge"]) == (4, 1)
    assert figures["level_astra_mcp"] == 3
    assert broken_bounds(figures) == []


def test_an_import_in_a_function_counts(checkout: Path) -> None:
    assert read_sources(checkout).imports["astra_mcp.right"] == {"astra_mcp.errors"}


@pytest.mark.parametrize("target", ["astra_mcp.upper", "astra_mcp.left", "gateway.edge.keys"])
def test_an_arrow_up_or_to_a_sibling_is_named(checkout: Path, target: str) -> None:
    write(checkout, "astra_mcp/right.py", f"def go() -> None:\n    import {target}")
    figures = measured(checkout)
    assert figures["arrows_up"] == [f"astra_mcp.right > {target}"]
    assert broken_bounds(figures) == [f"an arrow up: astra_mcp.right > {target}"]


def test_a_large_folder_and_a_long_chain_are_named(checkout: Path) -> None:
    for number in range(MAX_MODULES + 1):
        below = f"from gateway.many.m{number + 1} import x" if number < MAX_MODULES else ""
        write(checkout, f"gateway/many/m{number}.py", below)
    assert broken_bounds(measured(checkout)) == [
        "the longest chain of imports has 16 modules, and may have 15",
        "the longest chain of the gateway alone has 16 modules, and may have 8",
        "gateway/many holds 16 modules, and may hold 15",
    ]


def test_a_circle_is_named_and_not_walked_for_ever(checkout: Path) -> None:
    write(checkout, "astra_mcp/errors.py", "def go() -> None:\n    import astra_mcp.left")
    with pytest.raises(ValueError, match=r"a circle: astra_mcp\.(errors|left) > "):
        measured(checkout)


def test_names_docstrings_and_types_are_counted(checkout: Path) -> None:
    write(checkout, "tests/test_it.py", "from astra_mcp.errors import Second")
    before = measured(checkout)
    assert before["public_names"] == 2
    assert before["public_names_the_product_does_not_import"] == 1
    assert before["public_names_imported_nowhere"] == 0
    write(checkout, "astra_mcp/left.py", "def one(self, x: int) -> None: ...\ndef two(x): ...")
    after = measured(checkout)
    assert after["functions_with_all_types"] == pytest.approx(2 / 3, abs=1e-4)
    assert after["public_names_imported_nowhere_list"] == ["astra_mcp.errors.First"]
    assert after["lines_product"] == before["lines_product"] + 1
