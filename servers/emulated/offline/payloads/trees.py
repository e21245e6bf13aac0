"""Trees of files, as those of a program or a document in the language that the question names."""

import re
from typing import Final

from astra_mcp.types import JsonObject, JsonValue
from servers.emulated.offline.payloads.asking import Asked
from servers.emulated.offline.promises import Form
from servers.emulated.offline.result_lists import Answer

__all__ = ["files_of", "tree_told"]

_TREE: Final = frozenset(("tree", "structure", "hierarchy", "layout"))
_PLACES: Final = frozenset(
    ("file", "files", "directory", "folder", "repo", "repository", "project", "git", "codebase", "dir", "source",
     "workspace", "code", "github", "gitingest", "path")
)  # fmt: skip
_WHERE: Final = (
    "path", "directory", "repo_url", "repo", "project_path", "root", "folder", "repository", "dir", "url",
    "repo_path", "directory_path", "project", "root_path", "folder_path", "repo_name", "workspace", "uri",
)  # fmt: skip
_SHAPES: Final[dict[str, tuple[str, ...]]] = {
    "python": (
        ".gitignore", "LICENSE", "README.md", "pyproject.toml", "docs/index.md", "docs/quickstart.md",
        "src/{name}/__init__.py", "src/{name}/app.py", "src/{name}/cli.py", "src/{name}/config.py",
        "src/{name}/models.py", "tests/conftest.py", "tests/test_app.py", "tests/test_config.py",
    ),
    "javascript": (
        ".gitignore", "LICENSE", "README.md", "package.json", "package-lock.json", "tsconfig.json",
        "public/favicon.ico", "public/index.html", "src/App.tsx", "src/index.tsx", "src/components/Header.tsx",
        "src/components/Table.tsx", "src/lib/api.ts", "tests/App.test.tsx",
    ),
    "rust": (
        ".gitignore", "Cargo.lock", "Cargo.toml", "LICENSE", "README.md", "benches/parse.rs", "src/config.rs",
        "src/lib.rs", "src/main.rs", "tests/integration.rs",
    ),
    "go": (
        ".gitignore", "LICENSE", "Makefile", "README.md", "cmd/{name}/main.go", "go.mod", "go.sum",
        "internal/config/config.go", "internal/server/server.go", "internal/server/server_test.go",
    ),
    "kicad": (
        "{name}.kicad_pcb", "{name}.kicad_prl", "{name}.kicad_pro", "{name}.kicad_sch", "fp-lib-table",
        "gerbers/{name}-B_Cu.gbr", "gerbers/{name}-F_Cu.gbr", "power.kicad_sch", "sym-lib-table",
    ),
    "unity": (
        "Assets/Materials/Floor.mat", "Assets/Prefabs/Player.prefab", "Assets/Scenes/Main.unity",
        "Assets/Scripts/GameManager.cs", "Assets/Scripts/PlayerController.cs", "Packages/manifest.json",
        "ProjectSettings/ProjectSettings.asset",
    ),
    "docs": (
        "docs/assets/logo.png", "docs/getting-started.md", "docs/guides/deployment.md", "docs/guides/testing.md",
        "docs/index.md", "docs/reference/api.md", "docs/reference/cli.md", "mkdocs.yml",
    ),
}  # fmt: skip
_TOLD: Final = {
    "kicad": ("kicad", "pcb", "schematic"), "unity": ("unity", "unreal"),
    "javascript": ("react", "node", "npm", "vue", "javascript", "typescript", "next", "svelte", "vite", "angular"),
    "rust": ("rust", "cargo", "solana", "anchor"), "go": ("golang", "go", "kubernetes", "terraform"),
    "docs": ("docs", "documentation", "wiki"),
}  # fmt: skip


def files_of(name: str, words: frozenset[str]) -> tuple[str, ...]:
    """The files of a project, by what is said of it; those of a Python one where nothing is."""
    named = words | {*re.findall(r"[a-z]+", name.casefold())}
    kind = next((kind for kind, told in _TOLD.items() if not named.isdisjoint(told)), "python")
    stem = re.sub(r"\W+", "_", name).strip("_").lower() or "app"
    return tuple(path.format(name=stem) for path in _SHAPES[kind])


def tree_told(asked: Asked) -> Answer | None:
    """What a call is told that asks how files are arranged."""
    is_tree = asked.has(_TREE) and asked.has(_PLACES)
    if not is_tree or asked.call.reading.word in ("create", "delete", "update", "add"):
        return None
    where = asked.text(*_WHERE) or asked.text("owner") or "project"
    name = re.sub(r"(\.git|\.\w{2,9})$", "", where.rstrip("/").rpartition("/")[2]) or "project"
    depth = asked.number("depth", "max_depth", "levels")
    paths = [
        path for path in files_of(name, asked.server) if depth is None or path.count("/") < depth
    ]
    if asked.promise.form is Form.LIST:
        rows: list[JsonValue] = [_row(path, asked) for path in paths]
        return Answer({"path": where, "files": rows, "total": len(rows)})
    drawn = "\n".join([f"{name}/", *_drawn(paths)])
    folders = {path.rpartition("/")[0] for path in paths if "/" in path}
    if asked.promise.members or asked.promise.form is Form.RECORD:
        counts: JsonObject = {"files": len(paths), "directories": len(folders)}
        return Answer({"path": where, "tree": drawn, **counts})
    return Answer({"path": where, "tree": drawn}, text=drawn)


def _row(path: str, asked: Asked) -> JsonObject:
    size = asked.rng.at("size", path).between(180, 24_000)
    return {"path": path, "name": path.rpartition("/")[2], "type": "file", "size": size}


def _drawn(paths: list[str], lead: str = "") -> list[str]:
    """Branches as ``tree`` draws them."""
    below: dict[str, list[str]] = {}
    for path in paths:
        head, _, rest = path.partition("/")
        below.setdefault(head, []).extend([rest] if rest else [])
    lines: list[str] = []
    for at, (head, rests) in enumerate(sorted(below.items())):
        is_last = at == len(below) - 1
        lines.append(f"{lead}{'└── ' if is_last else '├── '}{head}{'/' if rests else ''}")
        lines += _drawn(rests, f"{lead}{'    ' if is_last else '│   '}")
    return lines
