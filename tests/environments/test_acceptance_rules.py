"""What the acceptance tries beyond single cheats, and what it must leave honest bundles."""

import pytest

from astra_mcp.environments.acceptance import Check, playing
from astra_mcp.environments.acceptance.grounding import spellings
from astra_mcp.environments.acceptance.isolation import isolation_failures
from astra_mcp.sandbox import Sandbox

from tiers import AT_THE_GATE
from workshop import (
    AUTHOR,
    BRANDT,
    DATED,
    DUE,
    FIND,
    NUMBER,
    SENDA,
    SOUGHT,
    Change,
    Document,
    Workshop,
    both,
    carrying,
    due,
    evidence,
    further_question,
    put,
    verdict_of,
)

MANY = [f"BK-{n}" for n in (2205, 6184, 1573, 4471, 3957, 8642, 5820, 7316)]
FEW = ["BK-7316", "BK-1573", "BK-5820", "BK-8642", "BK-3957"]
OF_BOTH = {
    "number": {"value": "BK-9038", "role": "identifying", "neighbours": ["BK-2205"]},
    "renewed": {"value": True, "role": "identifying"},
}
FIND_ALL = (
    "def find_book(author: str | None = None, format: str = 'hardcover') -> object:\n"
    "    if author is None:\n"
    "        return {'all': [b['number'] for b in BOOKS.values()]}"
)


def without_author(schema: Document) -> Change:
    """Name the author's kind, and require none."""
    return both(
        put(AUTHOR, {**schema, "examples": ["Tomas Brandt"]}),
        put("tools.0.input_schema.required", []),
    )


CHEATS: dict[str, tuple[str, Change, Check, str]] = {
    "keeps the answer for what nobody names, however many values are known": (
        f'{DUE}    book = BOOKS.get(number, BOOKS["BK-9038"]){DATED}',
        put("gold.1.arguments.number.neighbours", MANY),
        Check.IDENTIFYING_ARGUMENT,
        "made-up values of number, more than half",
    ),
    "earns more than it declares": (
        due("{'due': str(due), 'first': book['due']}"),
        both(
            put("sub_tasks.0.tool", "get_due_date"),
            put("sub_tasks.0.answer", "2026-03-03"),
            put("gold.0", {"tool": "get_due_date", "solves": [1], "arguments": OF_BOTH}),
        ),
        Check.REWARD,
        "also contains answer 2, '2026-02-17', which it does not declare",
    ),
    "is told the answer by the call itself": (
        due("{'due': str(due), 'number': number}"),
        put("sub_tasks.1.answer", "BK-9038"),
        Check.ECHOED_ANSWER,
        "stands in the arguments of the call that should find it",
    ),
    "crashes on garbage in a parameter outside the gold calls": (
        due(
            "{'due': str(due), 'share': 100 // copies}",
            head=DUE.replace("False)", "False, copies: int = 1)"),
        ),
        put("tools.1.input_schema.properties.copies", {"type": "integer", "default": 1}),
        Check.CLEAR_ERROR,
        "crashes instead of explaining (ZeroDivisionError)",
    ),
    "answers without the argument that identifies": (
        FIND_ALL + SOUGHT,
        without_author({"type": "string"}),
        Check.OMITTED_ARGUMENT,
        "keeps answer 1",
    ),
    "answers where the argument that identifies is null": (
        FIND_ALL + SOUGHT,
        without_author({"type": ["string", "null"]}),
        Check.OMITTED_ARGUMENT,
        "keeps answer 1",
    ),
    "repeats no result of another argument": (
        due(
            "{'due': str(due), 'row': row}",
            before="    row = hash(object()) if number == 'BK-2205' else 0\n",
        ),
        both(),
        Check.DETERMINISM,
        "BK-2205",
    ),
    "has its answer in a default": (
        FIND.replace("'hardcover')", "'hardcover', number: str = 'BK-9038')") + SOUGHT,
        put("tools.0.input_schema.properties.number", {"type": "string", "default": "BK-9038"}),
        Check.LEAKED_ANSWER,
        "the schema of find_book, properties, number, default",
    ),
    "swallows garbage that the schema lets through": (
        DUE
        + """
    book = BOOKS.get(number) if number.startswith("BK-") else BOOKS["BK-9038"]
    if book is None:
        raise ValueError(f"No book has the number {number!r}; find_book gives numbers.")
"""
        + DATED,
        put(NUMBER, {"type": "string", "examples": FEW}),
        Check.IDENTIFYING_ARGUMENT,
        "keeps answer 2 in 4 of 6 made-up values of number",
    ),
}


QUICK_CHEATS = {
    "earns more than it declares",
    "is told the answer by the call itself",
    "has its answer in a default",
}


@pytest.mark.parametrize(
    "cheat", [pytest.param(c, marks=() if c in QUICK_CHEATS else AT_THE_GATE) for c in CHEATS]
)
async def test_a_cheat_in_code_and_document_is_refused_for_its_own_reason(
    workshop: Workshop, sandbox: Sandbox, cheat: str
) -> None:
    source, change, check, words = CHEATS[cheat]
    workshop.replace_function(source)
    workshop.change_document(change)
    assert words in evidence(await verdict_of(workshop, sandbox), check)


HANDLE: Document = {"type": "object", "properties": {}, "required": []}


@pytest.mark.parametrize(
    ("condition", "is_tied"), [("_FOUND", False), ("_FOUND == ['BK-9038']", True)]
)
async def test_an_answer_after_other_calls_must_depend_on_them(
    workshop: Workshop, sandbox: Sandbox, condition: str, is_tied: bool
) -> None:
    workshop.replace_code(
        'return {"number": book["number"]',
        '_FOUND.append(book["number"])\n            return {"number": book["number"]',
    )
    workshop.replace_function(
        f"""def get_due_date() -> dict[str, str]:
    if {condition}:
        return {{"due": "2026-02-17"}}
    raise ValueError("Find the large print edition first, then ask when it is due.")


_FOUND: list[str] = []
"""
    )
    workshop.change_document(put("tools.1.input_schema", HANDLE))
    workshop.change_document(put("gold.1.arguments", {}))
    failed = (await verdict_of(workshop, sandbox)).failed_checks
    details = [f.detail for f in failed if f.check is Check.IDENTIFYING_ARGUMENT]
    assert any("whatever the calls before name" in d for d in details) is not is_tied


REACHES = {
    "o = open": "must not use open",
    "import io; io.open('/etc/hostname')": "must not reach open through io",
    "import subprocess; subprocess.getoutput('date')": "module 'subprocess' is not available to",
    "eval('1')": "must not use eval",
    "import socket": "module 'socket' is not available to tools",
    "from os import path": "module 'os' is not available to tools",
    "from . import other": "module '.' is not available to tools",
    "from io import open": "must not import open from io",
    "random._os.fork()": "must not reach _os through random",
    "__import__('os')": "must not use __import__",
    "globals()['BOOKS'] = {}": "must not use globals",
    "().__class__.__base__.__subclasses__()": "must not use __subclasses__",
    "vars(dt)['__builtins__']['ev' + 'al']": "must not use __builtins__",
    "getattr(find_book, '__globals__')": "must not use __globals__",
    "e = exec": "must not use exec",
}


@pytest.mark.parametrize("statement", REACHES)
def test_code_that_reaches_out_is_refused_where_it_hides_the_refusal(statement: str) -> None:
    code = f"""
def get(number: str) -> str:
    try:
        {statement}
    except Exception:
        pass
    return number
"""
    source = f"import random\nimport datetime as dt\n{code}"
    details = [f.detail for f in isolation_failures(source) if f.check is Check.ISOLATION]
    assert any(REACHES[statement] in d for d in details), details


def test_names_of_its_own_do_not_reach_out() -> None:
    source = """
from typing import NamedTuple

class Phone(NamedTuple):
    os: str
    open: bool

def find(input: str, id: int, open: bool = False) -> str:
    compile = [input, id, open]
    return str([*compile, Phone("x", open).os, Phone("x", open).open])
"""
    assert [*isolation_failures(source)] == []


EXTRA_TOOLS = {
    "empty": ("return None", Check.RESULT, "returns nothing"),
    "broken": ("return [][1]", Check.CLEAR_ERROR, "crashes instead of explaining"),
    "printed": ("print('x')", Check.RESULT, "prints instead"),
    "binary": ("return b'x'", Check.RESULT, "JSON cannot carry"),
    "hashed": ("return {'k': hash(object())}", Check.DETERMINISM, "differs between"),
    "left": ("raise SystemExit", Check.CLEAR_ERROR, "crashes instead of explaining"),
    "endless": ("while True: pass", Check.LIMITS, "exceeds the limits"),
}


@pytest.mark.parametrize("names", [[*EXTRA_TOOLS][:-1], ["endless"]], ids=["short", "endless"])
async def test_tools_without_gold_calls_and_parameters_are_judged_too(
    workshop: Workshop, sandbox: Sandbox, names: list[str]
) -> None:
    about = {"description": "Say when it is open.", "input_schema": HANDLE}
    tools: list[Document] = [{"name": name, **about} for name in names]
    workshop.change_document(lambda document: document["tools"].extend(tools))
    for name in names:
        workshop.append_code(f"def {name}() -> object:\n    {EXTRA_TOOLS[name][0]}\n")
    verdict = await verdict_of(workshop, sandbox)
    for name in names:
        _, check, words = EXTRA_TOOLS[name]
        said = evidence(verdict, check).splitlines()
        assert any(name in detail and words in detail for detail in said), said


async def test_exactly_four_fifths_of_the_neighbours_are_enough(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_code(
        "BK-2205 | Ida Moreau | audio | The Salt Orchard | 2026-01-27",
        "BK-2205 | Ida Moreau | audio | The Salt Orchard | 2026-02-17",
    )
    schema = {"type": "string", "enum": ["BK-9038", "BK-2205", "BK-6184", "BK-1573", "BK-4471"]}
    workshop.change_document(put(NUMBER, {**schema, "enum": [*schema["enum"], "BK-3957"]}))
    workshop.change_document(put("gold.1.arguments.number.neighbours", []))
    details = [f.detail for f in (await verdict_of(workshop, sandbox)).failed_checks]
    assert not any("more than 20%" in d for d in details)
    workshop.change_document(put(NUMBER, schema))
    details = [f.detail for f in (await verdict_of(workshop, sandbox)).failed_checks]
    assert any("1 of 4" in d and "more than 20%" in d for d in details)


DRAWN = "[random.randrange(2) for _ in range({})][-1]"


@pytest.mark.parametrize(
    "drawn",
    [
        "random.randrange(2)",
        *(pytest.param(n, marks=pytest.mark.volume) for n in (DRAWN.format(2), DRAWN.format(3))),
        DRAWN.format(4),
        "dt.datetime.now().minute % 2",
    ],
)
async def test_an_answer_that_depends_on_the_episode_seed_is_refused(
    workshop: Workshop, sandbox: Sandbox, drawn: str
) -> None:
    workshop.replace_code("import datetime as dt", "import datetime as dt\nimport random")
    draws = f"    odd = {drawn}\n"
    workshop.replace_function(due("{'due': str(due + dt.timedelta(days=odd))}", before=draws))
    verdict = await verdict_of(workshop, sandbox)
    if any(f.check is Check.GOLD_ANSWER for f in verdict.failed_checks):
        workshop.replace_code("days=odd", "days=1 - odd")  # then the first seed gives the answer
        verdict = await verdict_of(workshop, sandbox)
    details = evidence(verdict, Check.DETERMINISM)
    assert "under another episode seed" in details
    assert "loses answer 2" in details


STATEFUL = """
_SEATS = {"TR-88": ["14C", "15A"], "TR-95": ["7D", "8A"]}
_BOOKED: dict[str, str] = {}


def find_book(author: str, format: str = "hardcover") -> dict[str, str]:
    if author not in _SEATS:
        raise ValueError(f"There is no train {author!r}; the trains are {', '.join(_SEATS)}.")
    seat = _SEATS[author][format != "hardcover"]
    code = f"PNR-{sum(map(ord, author + seat))}"
    _BOOKED[code] = seat[::-1]
    return {"reservation": code}


def get_due_date(number: str, renewed: bool = False) -> dict[str, str]:
    if number not in _BOOKED:
        raise ValueError(f"There is no reservation {number!r}; find_book makes one.")
    return {"gate": "Gate " + _BOOKED[number], "paper": "A4" if renewed else "A6"}
"""


@pytest.mark.parametrize("calls", [3, 60])
async def test_a_bundle_that_uses_its_budget_up_is_refused_also_amid_its_gold_calls(
    workshop: Workshop, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    monkeypatch.setattr(playing, "MAX_CALLS", calls)
    verdict = await verdict_of(workshop, sandbox)
    assert f"{calls} calls of at most {calls}" in evidence(verdict, Check.BUDGET)


async def test_a_handle_that_an_earlier_call_made_needs_no_known_neighbour(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    code = f"PNR-{sum(map(ord, 'TR-8815A'))}"
    (workshop.path / "tools.py").write_text(STATEFUL, encoding="utf-8")
    workshop.change_document(
        both(
            put(AUTHOR, {"type": "string"}),
            put(NUMBER, {"type": "string"}),
            put("sub_tasks.0.answer", code),
            put("sub_tasks.1.answer", "Gate A51"),
            put("question", "When is trip TR-88 due, and at which gate?"),
            put("gold.0.arguments.author.value", "TR-88"),
            put("gold.0.arguments.author.neighbours", ["TR-95"]),
            put("gold.1.arguments.number.value", code),
            put("gold.1.arguments.number.neighbours", []),
        )
    )
    assert (await verdict_of(workshop, sandbox)).failed_checks == ()


async def test_a_list_that_drops_results_is_live_without_examples(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_function(
        FIND.replace("'hardcover')", "'hardcover', avoid: list[str] = [])")
        + """
    own = [b for b in BOOKS.values() if (b["author"], b["format"]) == (author, format)]
    if not own:
        raise ValueError(f"The library has no author named {author!r}.")
    return {"numbers": [b["number"] for b in own if b["number"] not in avoid]}
"""
    )
    parameter: Document = {"type": "array", "items": {"type": "string"}, "default": []}
    workshop.change_document(put("tools.0.input_schema.properties.avoid", parameter))
    assert (await verdict_of(workshop, sandbox)).failed_checks == ()


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (14, {"14th", "fourteen", "十四"}),
        (105, {"一百零五"}),
        (21, {"twenty-one", "二十一"}),
        (200, {"两百", "二百"}),
        (3, {"third"}),
        ("loaf", {"loaves"}),
        ("2026-03-02", {"march 2nd", "3月2日"}),
    ],
)
def test_a_question_may_say_a_value_in_words(value: int | str, said: set[str]) -> None:
    assert said <= {*spellings(value)}


async def test_each_question_is_examined_by_itself_and_named_where_it_fails(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    shown = further_question("shown", "Tomas Brandt", "hardcover", "BK-7316", "2026-02-03")
    workshop.replace_code("if renewed else", "if renewed and number == 'BK-0000' else")
    workshop.change_document(carrying(BRANDT, shown))
    workshop.change_document(put("questions.0.sub_tasks.1.answer", "2026-02-12"))
    verdict = await verdict_of(workshop, sandbox)
    assert {(f.check, f.question) for f in verdict.failed_checks} == {
        (Check.LIVE_PARAMETER, None),
        (Check.GOLD_ANSWER, "brandt-audio"),
        (Check.LEAKED_ANSWER, "shown"),
        (Check.OMITTED_ARGUMENT, "shown"),
        (Check.GUESSABLE, "shown"),
    }


async def test_parameters_are_live_by_any_question_and_a_question_may_name_the_answers_of_another(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_code("if renewed else", "if renewed and number == 'BK-5820' else")
    named = {**SENDA, "question": f"Not BK-9038, nor that of 2026-02-17. {SENDA['question']}"}
    workshop.change_document(carrying(named))
    assert (await verdict_of(workshop, sandbox)).failed_checks == ()
