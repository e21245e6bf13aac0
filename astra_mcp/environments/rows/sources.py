"""The code of several tools as one module, and back.

A row has a source for each tool; a bundle has one ``tools.py``. Sources that differ stand in it one after
another, each below a comment that names its tools; one that all tools share stands there as it is.
"""

import ast
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence

from astra_mcp.errors import BundleError, BundleFault

__all__ = ["join_sources", "split_sources"]

_MARK = re.compile(r"^# code of (\[.*\])\n", re.MULTILINE)


def join_sources(sources: Mapping[str, str], tools: Sequence[str]) -> str:
    """Make one module of the sources of tools; tools of equal sources share one copy.

    Args:
        sources: By tool.
        tools: All that the row declares, in order; others come after them, by name.

    Raises:
        BundleError: Two sources bind one name to different things, so that no module can hold both.
    """
    order = [name for name in tools if name in sources]
    order += sorted(sources.keys() - set(tools))
    by_source: dict[str, list[str]] = {}
    for name in order:
        by_source.setdefault(sources[name], []).append(name)
    if len(by_source) == 1 and set(order) == set(tools):
        [(source, _)] = by_source.items()
        if not _MARK.search(source):
            return source
    faults = [*_mark_faults(by_source), *_conflicts(by_source)]
    if faults:
        raise BundleError("the row", faults)
    return "".join(
        f"# code of {json.dumps(names, ensure_ascii=False)}\n{source}\n"
        for source, names in by_source.items()
    )


def split_sources(code: str, tools: Sequence[str]) -> dict[str, str]:
    """Give each tool its source; the whole module where the tools share it."""
    marks = [*_MARK.finditer(code)]
    if not marks or marks[0].start() != 0:
        return dict.fromkeys(tools, code)
    ends = [*(mark.start() for mark in marks[1:]), len(code)]
    return {
        name: code[mark.end() : end].removesuffix("\n")
        for mark, end in zip(marks, ends, strict=True)
        for name in json.loads(mark[1])
    }


def _mark_faults(by_source: Mapping[str, Sequence[str]]) -> Iterator[BundleFault]:
    for source, names in by_source.items():
        if _MARK.search(source):
            words = (
                "has a line that begins with '# code of [', which tells sources apart; change it"
            )
            yield BundleFault.at("tool_dict", names[0], words)


def _conflicts(by_source: Mapping[str, Sequence[str]]) -> Iterator[BundleFault]:
    """Find names that mean one thing in the code of one tool and another in that of another."""
    seen: dict[str, tuple[str, str]] = {}
    for source, names in by_source.items():
        for name, meaning in _bindings(source):
            holder, known = seen.setdefault(name, (names[0], meaning))
            if known != meaning and holder != names[0]:
                words = (
                    f"binds {name!r} to something else than the code of {holder} does; rename one"
                )
                yield BundleFault.at("tool_dict", names[0], words)


def _bindings(source: str) -> Iterable[tuple[str, str]]:
    """Each name that a source binds at its top level, with what it is bound to."""
    try:
        with warnings.catch_warnings(action="ignore"):
            module = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # whoever loads the module says why
    return [pair for statement in module.body for pair in _bound_by(statement)]


def _bound_by(statement: ast.stmt) -> Iterator[tuple[str, str]]:
    match statement:
        case ast.Import(names=aliases):
            for alias in aliases:
                name = alias.asname or alias.name.partition(".")[0]
                # ``import a.b`` binds ``a``, as ``import a`` does.
                yield name, f"import {alias.name if alias.asname else name}"
        case ast.ImportFrom(module=module, names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name, f"from {module} import {alias.name}"
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, ast.dump(statement)
        case _:
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id, ast.dump(statement)
