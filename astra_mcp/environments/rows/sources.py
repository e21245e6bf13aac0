"""The code of several tools as one module, and back.

A row has a source for each tool; a bundle has one ``tools.py``. Sources that differ stand in it one after
another, each below a comment that names its tools; one that all tools share stands there as it is. A name
that two sources bind to different things, as ``import datetime`` and ``from datetime import datetime`` do, is
another one in the later source, which the comment says.
"""

import ast
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from astra_mcp.environments.rows.renaming import renamed
from astra_mcp.environments.syntax import parse_code
from astra_mcp.errors import BundleError, BundleFault

__all__ = ["join_sources", "split_sources"]

_MARK = re.compile(r"^# code of (\[.*?\])(?: renamed (\{.*\}))?\n", re.MULTILINE)


def join_sources(sources: Mapping[str, str], tools: Sequence[str]) -> str:
    """Make one module of the sources of tools; tools of equal sources share one copy.

    Args:
        sources: By tool.
        tools: All that the row declares, in order; others come after them, by name.

    Raises:
        BundleError: No module can hold them all, such as where two sources define one tool.
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
    faults: list[BundleFault] = []
    meanings: dict[str, str] = {}
    parts = [_part(s, names, order, meanings, faults) for s, names in by_source.items()]
    if faults:
        raise BundleError("the row", faults)
    return "".join(parts)


def split_sources(code: str, tools: Sequence[str]) -> dict[str, str]:
    """Give each tool its source; the whole module where the tools share it."""
    marks = [*_MARK.finditer(code)]
    if not marks or marks[0].start() != 0:
        return dict.fromkeys(tools, code)
    ends = [*(mark.start() for mark in marks[1:]), len(code)]
    return {
        name: _restored(code[mark.end() : end].removesuffix("\n"), mark[2])
        for mark, end in zip(marks, ends, strict=True)
        for name in json.loads(mark[1])
    }


def _restored(source: str, names: str | None) -> str:
    back: dict[str, str] = {new: old for old, new in json.loads(names or "{}").items()}
    return (renamed(source, back) or source) if back else source


def _part(
    source: str,
    names: Sequence[str],
    tools: Collection[str],
    meanings: dict[str, str],
    faults: list[BundleFault],
) -> str:
    """Write the source of some tools below its mark, or note why it cannot stand beside the others."""
    if _MARK.search(source):
        words = "has a line that begins with '# code of [', which tells sources apart; change it"
        faults.append(BundleFault.at("tool_dict", names[0], words))
    bound = dict(_bindings(source))
    clashing = {n for n, meaning in bound.items() if meanings.setdefault(n, meaning) != meaning}
    new_names = {name: f"{name}_of_{names[0]}" for name in sorted(clashing - {*tools})}
    text = source
    if clashing:
        text = renamed(source, new_names) if clashing == new_names.keys() else None
        if text is None or _restored(text, json.dumps(new_names)) != source:
            told = ", ".join(sorted(clashing))
            words = f"binds {told} to something else than the code of an earlier tool; rename it"
            faults.append(BundleFault.at("tool_dict", names[0], words))
            return ""
    said = f" renamed {json.dumps(new_names)}" if new_names else ""
    return f"# code of {json.dumps(names, ensure_ascii=False)}{said}\n{text}\n"


def _bindings(source: str) -> Iterable[tuple[str, str]]:
    """Each name that a source binds at its top level, with what it is bound to."""
    try:
        module = parse_code(source)
        return [pair for statement in module.body for pair in _bound_by(statement)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # whoever loads the module says why


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
