"""Joined modules of tools behave as each of them behaves alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.synthesis.environments.building.namespaces import joined_code, renamed_function

NAMES = ("_ROWS", "_rows", "rows", "datetime", "json", "_Row", "max", "_first_rows", "error")
"""Few, so that modules want the same ones; such as differ by case and marks alone, and a builtin."""
FRAGMENTS = {
    "a table": ("{n} = [{k}, x0, 2]", "{n}[0]"),
    "a table of the standard library": ("import datetime as {n}", "{n}.date(2026, 1, {k}).day"),
    "a class of the standard library": (
        "from datetime import date as {n}",
        "{n}(2026, 2, {k}).month",
    ),
    "a helper": ("def {n}(v: int = {k}) -> int:\n    return v + x0", "{n}()"),
    "a helper with its own name": (
        "{n} = {k}\ndef h{i}({n}):\n    return {n} * 2",
        "h{i}(x) + {n}",
    ),
    "a local variable": ("{n} = {k}\ndef h{i}():\n    {n} = 7\n    return {n}", "h{i}() + {n}"),
    "a counter": ("{n} = {k}\ndef h{i}():\n    global {n}\n    {n} += 1\n    return {n}", "h{i}()"),
    "a class": (
        "class {n}:\n    v = {k}\n    def {n}(self):\n        return self.v",
        "{n}().{n}()",
    ),
    "a member": (
        "{n} = {k}\nclass C{i}:\n    {n} = 5\n    def f(self):\n        return {n}",
        "C{i}().f()",
    ),
    "a read member": ("{n} = {k}\nclass C{i}:\n    {n} = 5", "C{i}.{n} + {n}"),
    "an annotation": (
        "class {n}:\n    v = {k}\ndef h{i}(a: {n}) -> {n}:\n    return a",
        "h{i}({n}()).v",
    ),
    "a comprehension": ("{n} = [{k}, 1]", "[{n} for {n} in {n}]"),
    "a walrus": (
        "{n} = {k}\ndef h{i}():\n    return [({n} := v) for v in (1, 2)]",
        "h{i}() + [{n}]",
    ),
    "a lambda": ("{n} = {k}\nh{i} = lambda a, {n}=9: a + {n}", "h{i}({n})"),
    "a caught error": (
        (
            "{n} = {k}\ndef h{i}():\n    try:\n        return 1 / 0\n    except ZeroDivisionError as {n}:\n"
            "        return str({n})"
        ),
        "(h{i}(), {n})",
    ),
    "a match": (
        "{n} = {k}\ndef h{i}(v):\n    match v:\n        case [a, *{n}]:\n            return {n}",
        "(h{i}([1, 2]), {n})",
    ),
    "an import inside": (
        "{n} = {k}\ndef h{i}():\n    import json as {n}\n    return {n}.dumps(1)",
        "(h{i}(), {n})",
    ),
    "an outer variable": (
        (
            "{n} = {k}\ndef h{i}():\n    {n} = 1\n    def g():\n        nonlocal {n}\n        {n} += 1\n"
            "        return {n}\n    return g()"
        ),
        "(h{i}(), {n})",
    ),
    "the global below a local": (
        (
            "{n} = {k}\ndef h{i}():\n    {n} = 1\n    def g():\n        global {n}\n        return {n}\n"
            "    return g() + {n}"
        ),
        "h{i}()",
    ),
    "a builtin": ("", "max([{k}, x, 2])"),
}


@st.composite
def modules(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Two or three modules of tools that are full of names of others."""
    return [
        (tool, draw(module(tool)))
        for tool in draw(
            st.lists(
                st.sampled_from(["first", "second", "rows", "h0"]),
                min_size=2,
                max_size=3,
                unique=True,
            )
        )
    ]


@st.composite
def module(draw: st.DrawFn, tool: str) -> str:
    """A module whose tool returns what all its parts say."""
    names = draw(
        st.lists(st.sampled_from([n for n in NAMES if n != tool]), max_size=4, unique=True)
    )
    lines, told = [f"x0 = {draw(st.integers(0, 99))}"], ["x", "x0"]
    for i, name in enumerate(names, 1):
        binding, expression = FRAGMENTS[draw(st.sampled_from(sorted(FRAGMENTS)))]
        values = {"n": name, "k": draw(st.integers(3, 9)), "i": i}
        lines.append(binding.format(**values))
        if "max(" not in expression or "max" not in names:
            told.append(expression.format(**values))
    head = draw(st.sampled_from(["", "from __future__ import annotations\n", "import json\n"]))
    return head + "\n".join(lines) + f"\n\ndef {tool}(x):\n    return [{', '.join(told)}]\n"


def executed(code: str) -> dict[str, Any]:
    """The names of a module once it ran."""
    names: dict[str, Any] = {"__name__": "tools"}
    exec(compile(code, "tools.py", "exec", dont_inherit=True), names)  # noqa: S102 - our own text
    return names


@given(modules())
def test_joined_modules_behave_as_each_alone(parts: list[tuple[str, str]]) -> None:
    joined = executed(joined_code("Any", parts))
    for tool, code in parts:
        alone = executed(code)
        assert [joined[tool](n) for n in (1, 2)] == [alone[tool](n) for n in (1, 2)]


CLASHES = {
    "a name that only the other module has": (
        "_ROWS = [1]\ndef first():\n    return _ROWS[0]\n",
        "def second():\n    try:\n        return first(), _ROWS\n    except NameError:\n        pass\n",
    ),
    "a global that is bound in a function alone": (
        "def first():\n    global _ROWS\n    _ROWS = [2]\n    return _ROWS\n",
        "_ROWS = [1]\ndef second():\n    return _ROWS\n",
    ),
    "one name for a module and its class": (
        "import datetime\ndef first():\n    return datetime.date(2026, 3, 1).year\n",
        "from datetime import datetime\ndef second():\n    return datetime(2026, 3, 1).month\n",
    ),
    "names that differ by case alone": (
        "_ROWS = [1]\ndef _rows():\n    return _ROWS\ndef first():\n    return _rows()\n",
        "_ROWS = [2]\ndef _rows():\n    return _ROWS\ndef second():\n    return _rows()\n",
    ),
    "a builtin that one module has for itself": (
        "def sorted(rows):\n    return rows\ndef first():\n    return sorted([2, 1])\n",
        "def second():\n    return sorted([2, 1])\n",
    ),
    "an annotation that speaks of a class": (
        "class _Row:\n    pass\ndef first(row: _Row = None) -> _Row:\n    return row\n",
        "class _Row:\n    pass\ndef second(row: _Row = None) -> _Row:\n    return row\n",
    ),
    "what has to stand first": (
        "import re\ndef first():\n    return bool(re.match('a', 'a'))\n",
        "from __future__ import annotations\ndef second(row: Unknown = 1):\n    return row\n",
    ),
}


@pytest.mark.parametrize("clash", CLASHES)
def test_names_that_clash_are_told_apart(clash: str) -> None:
    first, second = CLASHES[clash]
    joined = executed(joined_code("Any", [("first", first), ("second", second)]))
    assert joined["first"]() == executed(first)["first"]()
    assert joined["second"]() == executed(second)["second"]()


def test_a_title_may_hold_quotes_and_backslashes() -> None:
    code = "def {}():\n    return 1\n"
    joined = joined_code('The "best" \\ """', [(n, code.format(n)) for n in ("one", "two")])
    assert executed(joined)["__doc__"] == 'The "best" \\ """'


def test_one_module_stays_as_it_is_written() -> None:
    code = "# why\ndef only():\n    return 1\n"
    assert joined_code("Any", [("only", code)]) == code


def test_a_renamed_function_is_found_by_its_new_name_and_goes_on_to_call_itself() -> None:
    code = "def find(n, find_=0):\n    return 0 if n == 0 else 1 + find(n - 1)\n"
    assert executed(renamed_function(code, "find", "find_2"))["find_2"](3) == 3
