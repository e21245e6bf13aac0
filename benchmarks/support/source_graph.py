"""The modules of the product as their files say: who imports whom, and on which level a module stands.

Every import counts, also one inside a function and one for annotations alone. Nothing is executed.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

__all__ = ["PACKAGES", "Source", "SourceGraph", "offered_names", "read_sources"]

PACKAGES = ("astra_mcp", "registry", "servers", "gateway", "training")


@dataclass(frozen=True)
class Source:
    """One file of Python."""

    name: str
    """Dotted; that of the folder for its ``__init__``."""
    path: Path
    text: str
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """Whether this is the ``__init__`` of a folder."""
        return self.path.name == "__init__.py"

    @property
    def num_lines(self) -> int:
        """As ``wc -l`` counts them."""
        return self.text.count("\n")

    @cached_property
    def imported(self) -> frozenset[tuple[str, str | None]]:
        """What all import statements name: modules, and names of them where such are given."""
        return frozenset(self._imported())

    def _imported(self) -> Iterator[tuple[str, str | None]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((alias.name, None) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = self._absolute(node)
                yield from ((module, alias.name) for alias in node.names)

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        kept = parts[: len(parts) - node.level + self.is_package]
        return ".".join([*kept, node.module] if node.module else kept)


@dataclass(frozen=True)
class SourceGraph:
    """Modules and the modules that each of them imports."""

    root: Path
    sources: Mapping[str, Source]

    @cached_property
    def imports(self) -> dict[str, frozenset[str]]:
        """What each module imports of the others."""
        return {name: self._known(source) for name, source in self.sources.items()}

    def longest_chain(self, keep: Callable[[str], bool] = lambda _: True) -> tuple[str, ...]:
        """The longest way down over imports, from module to module among those to keep."""
        found: dict[str, tuple[str, ...]] = {}
        chains = (self._chain(name, keep, found, ()) for name in sorted(self.sources) if keep(name))
        return max(chains, key=len, default=())

    def levels(self) -> dict[str, int]:
        """The number of modules on the longest way down from each module, itself included."""
        found: dict[str, tuple[str, ...]] = {}
        return {
            name: len(self._chain(name, lambda _: True, found, ())) for name in sorted(self.sources)
        }

    def _chain(
        self,
        name: str,
        keep: Callable[[str], bool],
        found: dict[str, tuple[str, ...]],
        above: tuple[str, ...],
    ) -> tuple[str, ...]:
        if name in above:
            msg = f"imports in a circle: {' > '.join((*above[above.index(name) :], name))}"
            raise ValueError(msg)
        if name not in found:
            below = (
                self._chain(one, keep, found, (*above, name))
                for one in sorted(self.imports[name])
                if keep(one)
            )
            found[name] = (name, *max(below, key=len, default=()))
        return found[name]

    def _known(self, source: Source) -> frozenset[str]:
        found: set[str] = set()
        for module, name in source.imported:
            inner = f"{module}.{name}"
            found.add(inner if inner in self.sources else self._nearest(module))
        return frozenset(found - {source.name, ""})

    def _nearest(self, module: str) -> str:
        while module and module not in self.sources:
            module = module.rpartition(".")[0]
        return module


def read_sources(root: Path, packages: Iterable[str] = PACKAGES) -> SourceGraph:
    """Read every module below some folders; not the tools of environments, which are data."""
    found = {
        name: Source(name, path, text, ast.parse(text))
        for package in packages
        for path in sorted((root / package).rglob("*.py"))
        if "bundled" not in path.parts
        for name in [_name_of(path.relative_to(root))]
        for text in [path.read_text(encoding="utf-8")]
    }
    return SourceGraph(root, found)


def offered_names(source: Source) -> tuple[str, ...]:
    """What a module's ``__all__`` lists."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return tuple(names)
    return ()


def _name_of(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if path.name == "__init__.py" else parts)
