"""Several modules become one: names of theirs that clash are told apart, by scope and not by text."""

import ast
import builtins
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from astra_mcp.synthesis.environments.building.joinable import (
    has_texts_for_annotations,
    joinable_tree,
    with_texts_for_annotations,
)
from astra_mcp.synthesis.environments.building.renaming import UnjoinableError, renamed_tree
from astra_mcp.synthesis.environments.building.scopes import (
    IMPORT,
    bound,
    is_settled,
    name_of,
    named,
    read,
    spoken,
    stored,
)

__all__ = ["in_own_words", "joined_code"]

_BUILTIN = "builtin"


@dataclass(frozen=True, slots=True)
class _Module:
    tool: str
    tree: ast.Module
    names: Mapping[str, str]
    """New ones of its names that clash, by the old ones."""


def joined_code(title: str, modules: Sequence[tuple[str, str]]) -> str:
    """Join the modules of tools, so that each goes on to mean what it means alone.

    Args:
        title: Of the whole.
        modules: The name of each tool, unique, and the text of its module.

    Raises:
        UnjoinableError: A module means something else beside others. What could do so beside any is refused
            also where it is alone, so that whoever wrote it learns of it then.
        SyntaxError, ValueError, RecursionError, MemoryError: One does not parse.
    """
    parts = _told_apart(modules)
    if len(parts) == 1:
        return modules[0][1].strip("\n") + "\n"
    tools = {part.tool for part in parts}
    are_texts = all(has_texts_for_annotations(part.tree) for part in parts)
    imports: dict[str, None] = {}
    bodies: list[str] = []
    for part in parts:
        first = [f"{part.names[name]} = {name}" for name in _builtin_at_first(part)]
        heads, rest = _changed(part, tools, are_texts=are_texts)
        imports |= dict.fromkeys(map(ast.unparse, heads))
        bodies.append("\n".join([*first, _text(rest)]))
    lines = sorted(imports, key=lambda line: not line.startswith("from __future__ "))
    texts = [_text([ast.Expr(ast.Constant(title))]), "\n".join(lines), *bodies]
    return "\n\n\n".join(text for text in texts if text) + "\n"


def in_own_words(modules: Sequence[tuple[str, str]], text: str) -> str:
    """Give names in a text about joined modules the form that they have in their own.

    Args:
        modules: As :func:`joined_code` joins them; where that fails, the text stays as it is.
        text: Any.
    """
    try:
        parts = _told_apart(modules)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text  # then nothing was joined that it could tell of
    old = {new: (name, part.tool) for part in parts for name, new in part.names.items()}
    found = [word for word in dict.fromkeys(re.findall(r"\w+", text)) if word in old]
    tools = dict.fromkeys(old[word][1] for word in found)
    told = re.sub(r"\w+", lambda word: old.get(word[0], (word[0], ""))[0], text)
    return f"{told} (in the module of {', '.join(tools)})" if tools else text


def _told_apart(modules: Sequence[tuple[str, str]]) -> list[_Module]:
    """Find out which names of each module need new ones."""
    trees: list[tuple[str, ast.Module]] = []
    for tool, code in modules:
        with _saying_whose(tool):
            trees.append((tool, joinable_tree(code)))
    clashing = _clashing(trees) if len(trees) > 1 else set[str]()
    taken = {tool for tool, _ in trees} | {name for _, tree in trees for name in spoken(tree)}
    return [
        _Module(
            tool,
            tree,
            {
                name: _fresh(tool, name, taken)
                for name in sorted((bound(tree) | _foreign(tree)) & clashing)
                if name != tool
            },
        )
        for tool, tree in trees
    ]


def _changed(
    part: _Module, tools: set[str], *, are_texts: bool
) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The imports of a module that may stand above all others, and the rest, under their new names."""
    own = {name for node in part.tree.body if not isinstance(node, IMPORT) for name in stored(node)}
    above = {
        id(node)
        for node in part.tree.body
        if isinstance(node, IMPORT)
        and (getattr(node, "module", None) == "__future__" or own.isdisjoint(stored(node)))
    }
    with _saying_whose(part.tool):
        tree = renamed_tree(part.tree, part.names, tools)
    if has_texts_for_annotations(tree) and not are_texts:
        tree = with_texts_for_annotations(tree)
    heads = [node for node in tree.body if id(node) in above]
    return heads, [node for node in tree.body if id(node) not in above]


@contextmanager
def _saying_whose(tool: str) -> Generator[None]:
    try:
        yield
    except UnjoinableError as error:
        raise UnjoinableError(f"the module of {tool}, {error}") from None


def _text(body: list[ast.stmt]) -> str:
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def _clashing(trees: Sequence[tuple[str, ast.Module]]) -> set[str]:
    """The names that are not one and the same thing in all modules that speak of them."""
    meanings: dict[str, set[str]] = {name: {_BUILTIN} for name in dir(builtins)}
    for tool, tree in trees:
        imported = {*_imported(tree)}
        own = [node for node in tree.body if not isinstance(node, IMPORT)]
        owned = {name for node in own for name in stored(node)} | _foreign(tree)
        for name, meaning in (*imported, *((name, f"of {tool}") for name in owned)):
            meanings.setdefault(name, set()).add(meaning)
    return {name for name, found in meanings.items() if len(found) > 1}


def _foreign(tree: ast.Module) -> set[str]:
    """The names that a module speaks of and binds at no place but by ``global``: nobody else's are meant."""
    known = bound(tree) | {*dir(builtins)}
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
                known.add(name)
            case _:
                known.update(named(node))
    declared = {name for n in ast.walk(tree) if isinstance(n, ast.Global) for name in n.names}
    return ({*spoken(tree)} - known) | (declared - bound(tree))


def _imported(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What a module imports at its top, and as what."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield name_of(alias), alias.name if alias.asname else name_of(alias)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield name_of(alias), f"{node.module}:{alias.name}"


def _fresh(tool: str, name: str, taken: set[str]) -> str:
    """A name that nothing has, which says whose it is."""
    new = f"_{tool}_{name.strip('_').lower()}"
    while new in taken:
        new += "_"
    taken.add(new)
    return new


def _builtin_at_first(part: _Module) -> Iterator[str]:
    """The builtins that a module reads, or may read, at its top level before it binds their names."""
    for name in part.names:
        if not hasattr(builtins, name):
            continue
        for node in part.tree.body:
            is_bound, is_read = name in stored(node), name in read(node)
            is_doubtful = isinstance(node, ast.If | ast.Try | ast.While | ast.Match)
            if (is_read and (is_settled(node) or not is_bound)) or (is_bound and is_doubtful):
                yield name
                break
            if is_bound:
                break
