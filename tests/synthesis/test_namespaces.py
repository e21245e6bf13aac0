"""Joined modules of tools behave as each of them behaves alone."""

import sys
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from astra_mcp.synthesis.environments.building.namespaces import in_own_words, joined_code
from astra_mcp.synthesis.environments.building.renaming import UnjoinableError, renamed_function

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
    "a member that begins as the module's": (
        (
            "{n} = {k}\nclass C{i}:\n    y = {n}\n    {n} = {n} + 1\n    z = {n}\n"
            "    w = [{n} for _ in range(2)]\n    def f(self):\n        return {n}"
        ),
        "(C{i}.y, C{i}.{n}, C{i}.z, C{i}.w, C{i}().f())",
    ),
    "a member that is only annotated at first": (
        "{n} = {k}\nclass C{i}:\n    {n}: int\n    y = {n}\n    {n} = 3",
        "(C{i}.y, C{i}.{n})",
    ),
    "an enumeration": (
        "import enum\nclass {n}(enum.Enum):\n    A = {k}",
        "(str({n}.A), repr({n}.A), {n}.__qualname__)",
    ),
    "a record": (
        "import dataclasses\n@dataclasses.dataclass\nclass {n}:\n    v: int = {k}\n    w: int | None = None",
        "(repr({n}(v=1)), [f.type for f in dataclasses.fields({n})])",
    ),
    "annotations that are looked at": (
        "def h{i}(a: int, *b: list[str]) -> 'str':\n    return dict(h{i}.__annotations__)",
        "h{i}(1)",
    ),
    "all of a module": ("from math import *\n{n} = {k}", "(pow(2, 3), floor(pi), {n})"),
    "a part of a module": (
        "import collections.abc\n{n} = {k}",
        "(collections.abc.Sized.__name__, collections.Counter('aa')['a'], {n})",
    ),
    "another thing by a module's name": ("from math import tau as collections", "collections"),
    "a builtin": ("", "max([{k}, x, 2])"),
    "a builtin that a module may import": ("", "pow(2, {k}, 5)"),
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
    if any("collections = " in line or "tau as collections" in line for line in lines):
        told = [each for each in told if "collections." not in each]
    if any("from math import *" in line for line in lines):
        told = [each for each in told if not each.endswith(", 5)")]  # the other ``pow`` takes two
    head = draw(st.sampled_from(["", "from __future__ import annotations\n", "import json\n"]))
    return head + "\n".join(lines) + f"\n\ndef {tool}(x):\n    return [{', '.join(told)}]\n"


def executed(code: str) -> dict[str, Any]:
    """The names of a module once it ran."""
    module = ModuleType("tools")
    with patch.dict(sys.modules, tools=module):  # dataclasses look there
        exec(compile(code, "tools.py", "exec", dont_inherit=True), vars(module))  # noqa: S102 - our own text
    return vars(module)


@given(modules())
def test_joined_modules_behave_as_each_alone(parts: list[tuple[str, str]]) -> None:
    joined = executed(joined_code("Any", parts))
    for tool, code in parts:
        alone = executed(code)
        assert [joined[tool](n) for n in (1, 2)] == [alone[tool](n) for n in (1, 2)]


CLASHES = {
    "a part of a module beside a variable": (
        "import os.path\ndef first():\n    return os.path.basename('a/b'), os.sep\n",
        "os = 4\ndef second():\n    return os\n",
    ),
    "all of a module beside its builtin": (
        "from math import *\ndef first():\n    return sqrt(4), pow(2, 3), floor(pi)\n",
        "def second():\n    return pow(2, 3, 5)\n",
    ),
    "all of a module before a name of its own": (
        "from math import *\npi = 3\ndef first():\n    return pi, e\n",
        "e = 1\ndef second():\n    return e\n",
    ),
    "a class by the name of a builtin": (
        "class list(list):\n    pass\ndef first():\n    return repr(list), list('a') + [1]\n",
        "def second():\n    return repr(list)\n",
    ),
    "a class by the name of another tool": (
        "class second:\n    v = 1\ndef first():\n    return second.v\n",
        "def second():\n    return 2\n",
    ),
    "a builtin that is read before it is hidden": (
        (
            "_MOST = max(1, 2)\nmax = max\nif not _MOST:\n    sorted = None\n"
            "def first():\n    return _MOST, max(4, 5), sorted([2, 1])\n"
        ),
        "max = 3\nsorted = 4\ndef second():\n    return max, sorted\n",
    ),
    "an import over a name of the module": (
        "json = 1\n_BEFORE = json\nimport json\ndef first():\n    return _BEFORE, json.dumps(1)\n",
        "json = 2\ndef second():\n    return json\n",
    ),
    "a name that a class declares to be the module's": (
        (
            "_ROWS = 1\nclass _C:\n    global _ROWS\n    _ROWS = 2\n    v = _ROWS\n"
            "def first():\n    return _ROWS, _C.v\n"
        ),
        "_ROWS = 5\ndef second():\n    return _ROWS\n",
    ),
    "a member that is deleted, and one that an if binds": (
        (
            "_ROWS = 1\nclass _C:\n    a = _ROWS\n    _ROWS = 2\n    del _ROWS\n    if a:\n"
            "        _ROWS = 4\ndef first():\n    return _C.a, _C._ROWS\n"
        ),
        "_ROWS = 5\ndef second():\n    return _ROWS\n",
    ),
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


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("told", [0, 1])
def test_a_later_evaluation_of_annotations_is_that_of_its_own_module_alone(
    told: int, turned: bool
) -> None:
    head = "from __future__ import annotations\n"
    body = "def {0}(row: int = 1) -> {1}:\n    return {0}.__annotations__\n"
    codes = [body.format("first", "int"), body.format("second", "int")]
    codes[told] = head + codes[told].replace("-> int", "-> Unknown")
    parts = [*zip(("first", "second"), codes, strict=True)]
    joined = executed(joined_code("Any", parts[::-1] if turned else parts))
    for tool, code in parts:
        assert joined[tool]() == executed(code)[tool]()


UNJOINABLE = {
    "all of a module that tools have not": ("from nowhere import *\n", "line 1: .*nowhere"),
    "all of what stands beside": ("from . import *\n", "line 1: "),
    "globals": ("_ROWS = [1]\n_FIRST = globals()['_ROWS']\n", "line 2: globals"),
    "vars": ("_ROWS = [1]\n_FIRST = vars()['_ROWS']\n", r"line 2: vars\(\)"),
    "locals in a comprehension": ("_ALL = [n for n in locals()]\n", r"line 1: locals\(\)"),
    "the text above a module": ("'Why.'\n_WHY = __doc__\n", "line 2: __doc__"),
    "a member that may be the module's": (
        "_ROWS = 1\nclass _C:\n    if _ROWS:\n        _ROWS = 2\n    v = _ROWS\n",
        "line 3: the class _C binds _ROWS",
    ),
    "a member that is the module's changed": (
        "_ROWS = [1]\nclass _C:\n    _ROWS += [2]\n",
        "line 3: the class _C binds _ROWS",
    ),
    "a member after it was deleted": (
        "_ROWS = 1\nclass _C:\n    _ROWS = 2\n    del _ROWS\n    v = _ROWS\n",
        "line 5: the class _C binds _ROWS",
    ),
}


@pytest.mark.parametrize("fault", UNJOINABLE)
def test_what_would_mean_something_else_is_refused_by_the_line_of_its_own_module(
    fault: str,
) -> None:
    code, words = UNJOINABLE[fault]
    other = "_ROWS = 5\ndef second():\n    return _ROWS\n"
    with pytest.raises(UnjoinableError, match=f"the module of first, {words}"):
        joined_code("Any", [("second", other), ("first", f"{code}def first():\n    pass\n")])


def test_a_lookup_by_text_is_refused_before_there_is_another_module() -> None:
    with pytest.raises(UnjoinableError, match="line 1: globals"):
        joined_code("Any", [("only", "_A = globals()\ndef only():\n    return 1\n")])


def test_functions_and_classes_may_look_at_their_own_names() -> None:
    code = (
        "class _C:\n    a = 1\n    names = sorted(n for n in locals() if n[0] != '_')\n"
        "def first(a, vars=vars):\n    return locals()['a'], dir(), _C.names, [*vars(_C())]\n"
    )
    other = "_C = 3\ndef second():\n    return _C\n"
    joined = executed(joined_code("Any", [("second", other), ("first", code)]))
    assert joined["first"](1) == executed(code)["first"](1)


def test_a_text_about_joined_modules_is_told_in_the_words_of_the_own_one() -> None:
    modules = [(n, f"_ROWS = [1]\ndef {n}():\n    return _ROWS\n") for n in ("first", "second")]
    [line] = [n for n in joined_code("Any", modules).splitlines() if n.startswith("_second")]
    told = in_own_words(modules, f"tools.py line 9: {line}: a table")
    assert told == "tools.py line 9: _ROWS = [1]: a table (in the module of second)"
    assert in_own_words(modules, "second returns 1") == "second returns 1"


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
