"""Figures of how the product's modules stand on each other, and the bounds that they keep."""

import ast
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from source_graph import PACKAGES, SourceGraph, offered_names, read_sources

__all__ = [
    "MAX_CHAIN",
    "MAX_GATEWAY_CHAIN",
    "MAX_MODULES",
    "arrows_up",
    "broken_bounds",
    "measured",
]

MAX_CHAIN = 15
MAX_GATEWAY_CHAIN = 8
MAX_MODULES = 15
_TESTING = "astra_mcp.testing"
_READERS = (*PACKAGES, "tests", "benchmarks", "examples")


def measured(root: Path) -> dict[str, Any]:
    """All figures of a checkout."""
    graph = read_sources(root)
    whole = graph.longest_chain()
    gateway = graph.longest_chain(lambda name: _within(name, "gateway"))
    return {
        "longest_chain": len(whole),
        "longest_chain_path": list(whole),
        "gateway_longest_chain": len(gateway),
        "gateway_longest_chain_path": list(gateway),
        **_levels(graph),
        **_folders(graph),
        "arrows_up": sorted(arrows_up(graph, root / "pyproject.toml")),
        **_lines(graph, root),
        **_described(graph),
        **_offered(graph, root),
    }


def broken_bounds(figures: dict[str, Any]) -> list[str]:
    """Which bounds do not hold, each as a sentence."""
    found = [
        f"the longest chain of {what} has {figures[name]} modules, and may have {bound}"
        for name, what, bound in (
            ("longest_chain", "imports", MAX_CHAIN),
            ("gateway_longest_chain", "the gateway alone", MAX_GATEWAY_CHAIN),
        )
        if figures[name] > bound
    ]
    found += [
        f"{folder} holds {size} modules, and may hold {MAX_MODULES}"
        for folder, size in figures["folders_too_large"].items()
    ]
    return found + [f"an arrow up: {arrow}" for arrow in figures["arrows_up"]]


def arrows_up(graph: SourceGraph, configuration: Path) -> set[str]:
    """Imports against the direction of the layers that the import contracts list."""
    tool = tomllib.loads(configuration.read_text(encoding="utf-8"))["tool"]
    contracts = [one for one in tool["importlinter"]["contracts"] if one["type"] == "layers"]
    return {arrow for one in contracts for arrow in _against(graph, _layers(one))}


def _layers(contract: dict[str, Any]) -> dict[str, int]:
    """The row of each package that a contract lists, counted from the top."""
    containers: list[str] = contract.get("containers", [""])
    return {
        ".".join(filter(None, (container, entry.strip(" ()")))): row
        for container in containers
        for row, layer in enumerate(contract["layers"])
        for entry in layer.split("|")
    }


def _against(graph: SourceGraph, rows: dict[str, int]) -> Iterator[str]:
    def layer_of(name: str) -> str:
        holders = (layer for layer in rows if _within(name, layer))
        return max(holders, key=len, default="")

    for name, imports in graph.imports.items():
        upper = layer_of(name)
        for one in imports:
            lower = layer_of(one)
            if upper and lower and upper != lower and rows[upper] >= rows[lower]:
                yield f"{name} > {one}"


def _levels(graph: SourceGraph) -> dict[str, int]:
    """The level of the highest module of every package and folder."""
    highest: Counter[str] = Counter()
    for name, level in graph.levels().items():
        folder = name if graph.sources[name].is_package else name.rpartition(".")[0]
        while folder:
            highest[folder] = max(highest[folder], level)
            folder = folder.rpartition(".")[0]
    return {f"level_{folder}": highest[folder] for folder in sorted(highest)}


def _folders(graph: SourceGraph) -> dict[str, Any]:
    """How many modules stand in a folder beside its sub-packages."""
    sizes = Counter(
        str(Path(*name.split(".")[:-1]))
        for name, source in graph.sources.items()
        if not source.is_package
    )
    return {
        "modules": sum(sizes.values()),
        "modules_of_the_largest_folder": max(sizes.values()),
        "folders_too_large": {
            folder: size for folder, size in sorted(sizes.items()) if size > MAX_MODULES
        },
    }


def _lines(graph: SourceGraph, root: Path) -> dict[str, int]:
    testing = sum(s.num_lines for name, s in graph.sources.items() if _within(name, _TESTING))
    product = sum(source.num_lines for source in graph.sources.values()) - testing
    tests = sum(source.num_lines for source in read_sources(root, ["tests"]).sources.values())
    return {
        "lines_product": product,
        "lines_testing": testing,
        "lines_tests": tests,
        "lines_product_tests_and_testing": product + testing + tests,
    }


def _described(graph: SourceGraph) -> dict[str, float]:
    """Shares of what says what it is for, and of functions whose every type is named."""
    nodes = [node for source in graph.sources.values() for node in ast.walk(source.tree)]
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]
    public = [function for function in functions if not function.name.startswith("_")]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    modules = [source.tree for source in graph.sources.values()]
    return {
        "modules_with_docstring": _share([bool(ast.get_docstring(one)) for one in modules]),
        "classes_with_docstring": _share([bool(ast.get_docstring(one)) for one in classes]),
        "functions_with_docstring": _share([bool(ast.get_docstring(one)) for one in functions]),
        "public_functions_with_docstring": _share([bool(ast.get_docstring(one)) for one in public]),
        "functions_with_all_types": _share([_is_typed(one) for one in functions]),
    }


def _is_typed(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    given = function.args
    arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    named = (
        one is None or one.annotation is not None or (place == 0 and one.arg in {"self", "cls"})
        for place, one in enumerate(arguments)
    )
    return function.returns is not None and all(named)


def _offered(graph: SourceGraph, root: Path) -> dict[str, Any]:
    """What modules offer by ``__all__``, and what of it no other module imports."""
    offered = {
        (name, offer) for name, source in graph.sources.items() for offer in offered_names(source)
    }
    readers = read_sources(root, [one for one in _READERS if (root / one).is_dir()])
    product = {one for source in graph.sources.values() for one in source.imported}
    anywhere = {one for source in readers.sources.values() for one in source.imported}
    return {
        "public_names": len(offered),
        "public_names_the_product_does_not_import": len(offered - product),
        "public_names_imported_nowhere": len(offered - anywhere),
        "public_names_imported_nowhere_list": sorted(
            f"{module}.{name}" for module, name in offered - anywhere
        ),
    }


def _share(answers: list[bool]) -> float:
    return round(sum(answers) / max(1, len(answers)), 4)


def _within(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")
