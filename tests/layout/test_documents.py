"""What pages and docstrings say of the code is so; ``tests/support/documented_code.py`` writes it anew."""

import ast
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from training.rl.native.settings import UpdateSettings
from training.sft.settings import TrainingSettings

from documented_code import ROOT, error_tree, pages, read_product, with_blocks
from source_graph import Source, SourceGraph

_TRAINING = tuple(
    f"training.{name}" for name in ("tiny", "sft", "rl", "render", "checkpoints", "evaluation")
)
_HOMES: Mapping[str, Sequence[str]] = {
    "anyio": ("astra_mcp", "registry", "servers", "gateway", "training"),
    "pydantic": ("astra_mcp", "registry", "servers", "gateway", "training"),
    "mcp": ("servers", "gateway", "astra_mcp.mcp", "astra_mcp.testing"),
    "openai": ("astra_mcp.llm",),
    "qwen_agent": ("training.rollout.agents.qwen_agent",),
    "httpx": ("astra_mcp.cli", "registry.importers"),
    "sqlmodel": ("registry",),
    "torch": _TRAINING,
    "transformers": _TRAINING,
    "verl": ("training.rl",),
    "vllm": ("training.rl",),
}
"""Where each third party that the product is built on is at home: imported there, and nowhere else."""
_NOT_YET = {"vllm"}
"""Of what is still to come; each is taken out with its home."""
_NO_MODULES = {
    # settings
    "registry.embedder",
    "registry.url",
    *(
        f"training.{name}"
        for settings in (TrainingSettings, UpdateSettings)
        for name in settings.model_fields
    ),
    # a variable of an example
    "gateway.agent",
    "gateway.url",
    # names in traces and logs
    "gateway.http",
    "astra_mcp.access",
    "astra_mcp.episode",
    "astra_mcp.is_error",
    "astra_mcp.origin",
    "astra_mcp.server",
    "astra_mcp.worker",
}
"""What pages name with a dot beside modules."""
_ENDINGS = (".md", ".json", ".jsonl", ".db", ".parquet", ".toml")
_RENAMED = "0015-words.md"
"""Names what is no more beside what there is."""
_EXAMPLE = re.compile(r"^```python\n.*?^```", re.M | re.S)
"""Code, whose variables may be called like packages; tests run it."""
_DOTTED = re.compile(
    r"(?<![\w./-])((?:astra_mcp|registry|servers|gateway|training)(?:\.\w+)+)\b(?![/-])"
)
_PATH = re.compile(
    r"(?<![\w./-])((?:astra_mcp|registry|servers|gateway|training|benchmarks|tests|examples)"
    r"/[\w/.-]*\w)"
)


@pytest.fixture(scope="module")
def graph() -> SourceGraph:
    """The product."""
    return read_product()


def test_generated_blocks_of_pages_are_as_the_code_is(graph: SourceGraph) -> None:
    texts = {page: page.read_text(encoding="utf-8") for page in pages()}
    assert any("<!-- generated: " in text for text in texts.values())
    stale = [str(page) for page, text in texts.items() if with_blocks(text, graph) != text]
    assert stale == []


def test_the_printed_tree_of_errors_is_that_of_the_code(graph: SourceGraph) -> None:
    tree = error_tree(graph)
    assert "\n        WorkerError\n" in tree
    assert f"\n\n{tree}\n" in (ast.get_docstring(graph.sources["astra_mcp.errors"].tree) or "")


def names_in(source: Source) -> set[str]:
    """Whatever a module binds at any depth."""
    found: set[str] = set()
    for node in ast.walk(source.tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                found.add(node.name)
            case ast.Name(ctx=ast.Store()):
                found.add(node.id)
            case ast.Attribute(ctx=ast.Store()):
                found.add(node.attr)
            case ast.alias():
                found.add((node.asname or node.name).split(".")[0])
            case _:
                pass
    return found


def is_in(graph: SourceGraph, dotted: str) -> bool:
    """Whether a dotted name leads to a module, or to something in one."""
    parts = dotted.split(".")
    if (ROOT / Path(*parts)).is_dir():
        return True
    for end in range(len(parts), 0, -1):
        source = graph.sources.get(".".join(parts[:end]))
        if source is not None:
            return set(parts[end:]) <= names_in(source)
    return False


def test_every_module_and_file_that_a_page_names_exists(graph: SourceGraph) -> None:
    missing: list[str] = []
    for page in pages():
        if page.name == _RENAMED:
            continue
        text = _EXAMPLE.sub("", page.read_text(encoding="utf-8"))
        dotted = {m for m in _DOTTED.findall(text) if not m.endswith(_ENDINGS)} - _NO_MODULES
        missing += [f"{page.name}: {name}" for name in sorted(dotted) if not is_in(graph, name)]
        paths = set(_PATH.findall(text))
        missing += [f"{page.name}: {path}" for path in sorted(paths) if not (ROOT / path).exists()]
    assert missing == []


def test_a_walk_leads_through_at_most_nine_modules(graph: SourceGraph) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    walks = re.findall(r"^```mermaid\n(.*?)^```", page, re.M | re.S)
    assert len(walks) == 2
    for walk in walks:
        modules = set(re.findall(r'\["([\w.]+): ', walk))
        assert 3 <= len(modules) <= 9
        assert modules <= set(graph.sources)


@pytest.mark.parametrize("package", sorted(_HOMES))
def test_a_third_party_is_imported_in_its_home_and_nowhere_else(
    graph: SourceGraph, package: str
) -> None:
    importers = {
        name
        for name, source in graph.sources.items()
        if any(module.split(".")[0] == package for module, _ in source.imported)
    }
    homes = _HOMES[package]
    strangers = {
        name for name in importers if not any(f"{name}.".startswith(f"{home}.") for home in homes)
    }
    assert strangers == set()
    assert bool(importers) is (package not in _NOT_YET)
