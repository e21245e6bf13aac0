"""The rules that the code keeps about itself."""

import ast
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from documented_code import ROOT, read_product

PACKAGES = ("astra_mcp", "registry", "servers", "gateway", "training")
MODULES = sorted(
    path
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
    if "bundled" not in path.parts[:-1] or path.name == "__init__.py"
)
VAGUE = {"utils", "helpers", "common", "misc", "base", "manager", "managers"}
MAX_FILE_LINES = 600
MAX_FUNCTION_LINES = 80
MAX_MODULES = 15
"""Of one folder, its ``__init__`` aside."""


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@cache
def trees() -> Mapping[str, ast.Module]:
    """Every module, parsed when first needed: all workers import this file, and one runs its tests."""
    known = {name_of(source.path): source.tree for source in read_product().sources.values()}
    return {
        name: known.get(name) or ast.parse(path.read_text(encoding="utf-8"))
        for path in MODULES
        for name in [name_of(path)]
    }


def test_every_module_is_short_named_after_something_and_says_what_it_is_for() -> None:
    offenders = [
        f"{name}: {fault}" for name, tree in trees().items() for fault in faults(name, tree)
    ]
    assert offenders == []


def test_no_folder_has_more_modules_than_one_reads_in_a_sitting() -> None:
    folders = Counter(
        str(Path(name).parent) for name in trees() if not name.endswith("__init__.py")
    )
    assert {folder: num for folder, num in folders.items() if num > MAX_MODULES} == {}


def faults(name: str, tree: ast.Module) -> Iterator[str]:
    """What is wrong with a module."""
    if not ast.get_docstring(tree):
        yield "no docstring"
    if Path(name).stem in VAGUE:
        yield "a name that says nothing"
    if tree.body and (lines := tree.body[-1].end_lineno or 0) > MAX_FILE_LINES:
        yield f"{lines} lines"
    for function in functions_in(tree):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > MAX_FUNCTION_LINES:
            yield f"{function.name} has {lines} lines"


def functions_in(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions at any depth; no expression, of which there are most, holds any."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield child
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield from functions_in(child)


def names_bound_by(node: ast.stmt) -> set[str]:
    """Names that a top-level statement binds."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return {node.name}
        case ast.Import() | ast.ImportFrom():
            return {(a.asname or a.name).split(".")[0] for a in node.names}
        case ast.Assign() | ast.AnnAssign():
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return {n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        case ast.If() | ast.Try():
            return {name for child in node.body for name in names_bound_by(child)}
        case _:
            return set()


def test_every_module_offers_what_it_names() -> None:
    faults = {name: fault_of_offer(name, tree) for name, tree in trees().items()}
    assert {name: fault for name, fault in faults.items() if fault} == {}


@cache
def imports() -> Mapping[str, frozenset[str]]:
    """What each module imports, by dotted names and all that lies above them."""
    pattern = re.compile(r"^\s*(?:from|import) ([\w.]+)", re.M)
    found: dict[str, frozenset[str]] = {}
    for path in MODULES:
        words = [name.split(".") for name in pattern.findall(path.read_text(encoding="utf-8"))]
        found[name_of(path)] = frozenset(
            ".".join(parts[: n + 1]) for parts in words for n in range(len(parts))
        )
    return found


def importers_outside(package: str, name: str) -> list[str]:
    """Modules of other packages that import from a module."""
    module = name.removesuffix(".py").replace("/", ".")
    return [
        importer
        for importer, imported in imports().items()
        if module in imported and not importer.startswith(f"{package}/")
    ]


def package_of(name: str) -> str | None:
    """The package that uses a module's names unasked; root modules of ``astra_mcp`` are everybody's."""
    top, *folders = name.split("/")[:-1]
    if top != "astra_mcp":
        return top
    return f"{top}/{folders[0]}" if folders else None


def fault_of_offer(name: str, tree: ast.Module) -> str | None:
    """What is wrong with ``__all__``; a program, which nobody imports from, needs none."""
    offered = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and "__all__" in names_bound_by(node)
    ]
    if any(isinstance(n, ast.If) and "__name__" in ast.unparse(n.test) for n in tree.body):
        return None
    if not offered and (package := package_of(name)):
        return "no __all__ for what others import" if importers_outside(package, name) else None
    if len(offered) != 1 or offered[0] is None:
        return "no __all__"
    names: list[str] = ast.literal_eval(offered[0])
    unbound = set(names) - {bound for node in tree.body for bound in names_bound_by(node)}
    return f"{unbound} and repetitions" if unbound or len(names) != len(set(names)) else None


def tracked_text_files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    kinds = {".py", ".md", ".toml", ".json", ".yml", ".yaml", ".svg", ".sh", ""}
    paths = [ROOT / line for line in listed if line]
    return [p for p in paths if p.suffix in kinds and p.is_file()]


FOREIGN_WORDS = re.compile(
    r"(?<![\w.~$])/(?:home|root|Users|work)/\w|\b(?:pypi|pythonhosted|npmjs)\.(?:org|com)\b", re.I
)


def test_no_file_names_a_folder_of_one_machine_or_a_package_host() -> None:
    here = Path(__file__)
    offenders = [
        f"{name_of(path)}: {match.group()}"
        for path in tracked_text_files()
        if path != here
        for match in FOREIGN_WORDS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert offenders == []


def test_pages_link_to_files_that_exist() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    broken = [
        f"{name_of(page)} -> {target}"
        for page in pages
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_claim_of_the_paper_map_has_a_test_and_every_mark_a_claim() -> None:
    page = (ROOT / "docs" / "paper-map.md").read_text(encoding="utf-8")
    marked = {
        claim
        for path in (ROOT / "tests").rglob("test_*.py")
        for claim in re.findall(r'mark\.claim\("(P\d+)"\)', path.read_text(encoding="utf-8"))
    }
    assert marked == set(re.findall(r"^\| (P\d+) \|", page, re.M))
