"""What pages and files repeat of the code: layers, modules, families, the tree of errors, a JSON Schema.

    python tests/support/documented_code.py

writes them anew. In a page, a block stands between ``<!-- generated: layers -->``,
``<!-- generated: families -->`` or ``<!-- generated: modules FOLDER -->`` and ``<!-- end -->``; the tree
of errors stands in the docstring of ``astra_mcp/errors.py``, the schema of trajectories in a file of its own.
"""

import ast
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "support"))

from astra_mcp.synthesis.environments.families.catalog import find_families  # noqa: E402
from astra_mcp.trajectory import trajectory_schema  # noqa: E402

from source_graph import Source, SourceGraph, offered_names, read_sources  # noqa: E402

TRAJECTORY_SCHEMAS = (
    ROOT / "astra_mcp" / "trajectory" / "trajectory.schema.json",
    ROOT / "docs" / "trajectory.schema.json",
)
_BLOCK = re.compile(r"(<!-- generated: (\w+)(?: ([\w.]+))? -->\n)(.*?)(<!-- end -->)", re.S)
_ERRORS = "astra_mcp.errors"
_TREE = re.compile(r"(?<=\n\n)AstraError\n.*?\n(?=\n)", re.S)


def main() -> None:
    """Write everything anew."""
    graph = read_product()
    for page in pages():
        _replace(page, with_blocks(page.read_text(encoding="utf-8"), graph))
    errors = graph.sources[_ERRORS]
    _replace(errors.path, with_error_tree(errors.text, graph))
    for file in TRAJECTORY_SCHEMAS:
        _replace(file, trajectory_schema_text())


def trajectory_schema_text() -> str:
    """The schema of a line of a trajectory file, as it is published."""
    return json.dumps(trajectory_schema(), indent=2, ensure_ascii=False) + "\n"


@cache
def read_product() -> SourceGraph:
    """The product of this checkout, read once."""
    return read_sources(ROOT)


def pages() -> list[Path]:
    """All pages for people."""
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def with_blocks(text: str, graph: SourceGraph) -> str:
    """A page with its blocks as the code has them now."""

    def block(match: re.Match[str]) -> str:
        begin, kind, folder, _, end = match.groups()
        match kind:
            case "layers":
                rows = _layers(graph)
            case "families":
                rows = _families()
            case _:
                rows = _modules(graph, folder)
        return "\n".join([begin.strip(), *rows, end])

    return _BLOCK.sub(block, text)


def with_error_tree(text: str, graph: SourceGraph) -> str:
    """The module of the errors with the tree as it is now."""
    return _TREE.sub(lambda _: error_tree(graph), text, count=1)


# --- layers and modules ---------------------------------------------------------------------------


def _families() -> Iterator[str]:
    yield "| family | its environments |"
    yield "|---|---|"
    for family in find_families(["all"]):
        yield f"| `{family.name}` | {family.about.rstrip('.')} |"


def _layers(graph: SourceGraph) -> Iterator[str]:
    """The layers of the first import contract, the highest first."""
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    [contract, *_] = configuration["tool"]["importlinter"]["contracts"]
    yield "| layer | package | what it is |"
    yield "|---|---|---|"
    for row, layer in enumerate(contract["layers"], 1):
        for name in (entry.strip(" ()") for entry in layer.split("|")):
            if name in graph.sources:
                yield f"| {row} | `{name}` | {_summary(graph.sources[name])} |"


def _modules(graph: SourceGraph, folder: str) -> Iterator[str]:
    """The modules and folders right below a folder."""
    yield "| module | what it is |"
    yield "|---|---|"
    for name, source in sorted(graph.sources.items()):
        if name.rpartition(".")[0] == folder:
            shown = f"{name.removeprefix(f'{folder}.')}{'/' if source.is_package else ''}"
            yield f"| `{shown}` | {_summary(source)} |"


def _summary(source: Source) -> str:
    """The first paragraph of a docstring, as one line of a table."""
    text = (ast.get_docstring(source.tree) or "").partition("\n\n")[0]
    plain = re.sub(r":\w+:`~?([^`]*)`", r"`\1`", " ".join(text.split()))
    return plain.replace("``", "`").replace("|", "\\|").rstrip(".")


# --- the tree of errors ---------------------------------------------------------------------------


def error_tree(graph: SourceGraph) -> str:
    """Every kind of error that leaves its package, below what it is a kind of, in the order of the code."""
    bases = dict(_bases(graph))
    children: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for error, above in bases.items():
        for base in above:
            children.setdefault(base, []).append(error)

    def lines(error: tuple[str, str], depth: int) -> Iterator[str]:
        module, name = error
        if module == _ERRORS or _leaves(graph, module, name):
            home = "" if module == _ERRORS else f"    in {module}"
            yield f"{'    ' * depth}{name}{home}\n"
            depth += 1
        for child in sorted(children.get(error, ()), key=lambda one: one[0] != _ERRORS):
            yield from lines(child, depth)

    return "".join(lines((_ERRORS, "AstraError"), 0))


def _bases(graph: SourceGraph) -> Iterator[tuple[tuple[str, str], list[tuple[str, str]]]]:
    """Every class and the classes of the product that it names as its bases."""
    for module, source in sorted(graph.sources.items()):
        imported = {name: home for home, name in source.imported if name is not None}
        for node in source.tree.body:
            if isinstance(node, ast.ClassDef):
                names = [base.id for base in node.bases if isinstance(base, ast.Name)]
                yield (module, node.name), [(imported.get(name, module), name) for name in names]


def _leaves(graph: SourceGraph, module: str, name: str) -> bool:
    """Whether another package imports a class, from its module or from its folder."""
    source = graph.sources[module]
    homes = (module, module.rpartition(".")[0])
    return name in offered_names(source) and any(
        (home, name) in reader.imported
        for home in homes
        for reader in graph.sources.values()
        if _package(reader.name) != _package(module)
    )


def _package(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "astra_mcp" else parts[0]


def _replace(path: Path, text: str) -> None:
    if path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)} is written anew\n")


if __name__ == "__main__":
    main()
