"""Every planted cheat is refused by the check that is there for it."""

import pytest

from astra_mcp.environments.acceptance import Check, Verdict, verdict_of_faults, verify_bundle
from astra_mcp.environments.acceptance.isolation import isolation_failures
from astra_mcp.environments.loading import load_bundle
from astra_mcp.errors import BundleError
from astra_mcp.sandbox import Sandbox

from workshop import Change, Document, Workshop, both, put

AUTHOR = ("tools", 0, "input_schema", "properties", "author")
FORMAT = ("tools", 0, "input_schema", "properties", "format")
NUMBER = ("tools", 1, "input_schema", "properties", "number")
FIND = "def find_book(author: str, format: str = 'hardcover') -> object:\n"
DUE = "def get_due_date(number: str, renewed: bool = False) -> object:\n"
HONEST_DUE = """
    book = BOOKS.get(number)
    if book is None:
        raise ValueError(f"No book has the number {number!r}; find_book gives numbers.")
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
"""


async def verdict_of(workshop: Workshop, sandbox: Sandbox) -> Verdict:
    try:
        bundle = load_bundle(workshop.path)
    except BundleError as error:
        return verdict_of_faults(workshop.path.name, error.faults)
    return await verify_bundle(bundle, sandbox)


def evidence(verdict: Verdict, check: Check) -> str:
    """Details of one failed check; fails the test where the bundle passed it."""
    details = [f.detail for f in verdict.failed_checks if f.check is check]
    assert details, f"not refused by {check}: {verdict.failed_checks}"
    return "\n".join(details)


async def test_the_honest_bundle_is_verified(workshop: Workshop, sandbox: Sandbox) -> None:
    verdict = await verdict_of(workshop, sandbox)
    assert verdict.failed_checks == ()
    assert verdict.verified


CODE_CHEATS: dict[str, tuple[str, str, Check, str]] = {
    "answers only its gold arguments": (
        "find_book",
        FIND
        + """
    if (author, format) == ("Ida Moreau", "large print"):
        return {"number": "BK-9038"}
    raise ValueError("The library has no such book, sorry.")
""",
        Check.ONLY_GOLD,
        "no other value of author has a result of its own",
    ),
    "answers only its gold arguments, the rest with an empty list": (
        "find_book",
        FIND
        + """
    is_gold = (author, format) == ("Ida Moreau", "large print")
    return {"numbers": ["BK-9038"] if is_gold else []}
""",
        Check.ONLY_GOLD,
        "all other arguments have one result",
    ),
    "answers a constant": (
        "get_due_date",
        DUE + "    return {'number': number, 'due': '2026-02-17', 'renewed': renewed}\n",
        Check.IDENTIFYING_ARGUMENT,
        "keeps its answers whatever number is",
    ),
    "ignores one identifying argument": (
        "find_book",
        FIND
        + """
    found = [b["number"] for b in BOOKS.values() if b["author"] == author]
    if not found:
        raise ValueError(f"The library has no author named {author!r}.")
    return {"numbers": found, "format": format}
""",
        Check.IDENTIFYING_ARGUMENT,
        "whatever format is",
    ),
    "returns the whole table": (
        "get_due_date",
        DUE + "    return {'asked': [number, renewed], 'books': list(BOOKS.values())}\n",
        Check.IDENTIFYING_ARGUMENT,
        "whatever number is",
    ),
    "returns most of the table": (
        "get_due_date",
        DUE
        + """
    if number == "BK-2205":
        raise ValueError("Nothing is known of that book, sorry.")
    return {"asked": [number, renewed], "books": list(BOOKS.values())}
""",
        Check.IDENTIFYING_ARGUMENT,
        "more than 20%",
    ),
    "returns the whole table for every book there is": (
        "get_due_date",
        DUE
        + """
    if number not in BOOKS:
        raise ValueError(f"No book has the number {number!r}; find_book gives numbers.")
    return {"asked": [number, renewed], "row": list(BOOKS).index(number), "all": [*BOOKS.values()]}
""",
        Check.IDENTIFYING_ARGUMENT,
        "existing values of number, more than half",
    ),
    "opens the whole table by an option": (
        "get_due_date",
        DUE
        + HONEST_DUE
        + "    return {'due': [b['due'] for b in BOOKS.values()] if renewed else str(due)}\n",
        Check.IDENTIFYING_ARGUMENT,
        "renewed must not open all",
    ),
    "takes a wildcard": (
        "find_book",
        FIND
        + """
    if author == "*":
        return {"all": list(BOOKS.values()), "format": format}
    for book in BOOKS.values():
        if (book["author"], book["format"]) == (author, format):
            return {"number": book["number"]}
    raise ValueError(f"The library has no author named {author!r}.")
""",
        Check.SWALLOWED_ARGUMENT,
        'find_book("author":"*","format":"large print") still has answer',
    ),
    "makes up a record for any argument": (
        "get_due_date",
        DUE
        + """
    book = BOOKS.get(number, {"due": "2026-01-15"})
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
        Check.SWALLOWED_ARGUMENT,
        "whatever texts identify the record, there is one",
    ),
    "returns a blank": (
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': str(due)} if number != 'BK-2205' else '  '\n",
        Check.RESULT,
        "returns nothing",
    ),
    "returns false": (
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': str(due)} if number != 'BK-2205' else False\n",
        Check.RESULT,
        "returns nothing",
    ),
    "hangs on a long text": (
        "find_book",
        FIND
        + """
    while len(author) > 600:
        pass
    for book in BOOKS.values():
        if (book["author"], book["format"]) == (author, format):
            return {"number": book["number"]}
    raise ValueError(f"The library has no author named {author!r}.")
""",
        Check.LIMITS,
        "exceeds the limits",
    ),
    "shows a path of another system in an error": (
        "get_due_date",
        DUE
        + HONEST_DUE.replace("find_book gives numbers", "see C:/data/books.csv").replace(
            ":/d", ":\\\\d"
        )
        + "    return {'due': str(due)}\n",
        Check.CLEAR_ERROR,
        "shows a path or a traceback",
    ),
    "shows how it parses a day": (
        "get_due_date",
        DUE
        + HONEST_DUE.replace(
            "raise ValueError", "dt.date.fromisoformat(number)\n        raise ValueError"
        )
        + "    return {'due': str(due)}\n",
        Check.CLEAR_ERROR,
        "crashes instead of explaining (ValueError)",
    ),
    "returns nothing at all": (
        "get_due_date",
        DUE + "    return None\n",
        Check.RESULT,
        "returns nothing; return an object or a text",
    ),
    "only repeats a declared parameter": (
        "get_due_date",
        DUE
        + HONEST_DUE.replace("_RENEWAL if renewed else ", "")
        + "    return {'due': str(due), 'asked': f'renewed: {renewed}'}\n",
        Check.LIVE_PARAMETER,
        "no value of renewed was found that changes a result, but for repeating it",
    ),
    "shows the address of an object": (
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': due.isoformat(), 'row': repr(object())}\n",
        Check.DETERMINISM,
        "differs between two",
    ),
    "orders by addresses": (
        "get_due_date",
        DUE
        + HONEST_DUE
        + """
    class Row:
        def __init__(self, name: int) -> None:
            self.name = name
    rows = {Row(i) for i in range(64)}
    return {"due": due.isoformat(), "rows": [row.name for row in rows]}
""",
        Check.DETERMINISM,
        "differs between two",
    ),
    "orders by addresses while it loads": (
        "get_due_date",
        DUE
        + HONEST_DUE
        + """
    return {"due": due.isoformat(), "rows": ORDER}


class Row:
    def __init__(self, name: int) -> None:
        self.name = name


ORDER = [row.name for row in {Row(i) for i in range(64)}]
""",
        Check.DETERMINISM,
        "two layouts of memory",
    ),
    "calls id": (
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': due.isoformat(), 'row': id(book) % 97}\n",
        Check.DETERMINISM,
        "id(book)",
    ),
    "answers only while the clock is young": (
        "get_due_date",
        DUE
        + HONEST_DUE
        + """
    if dt.datetime.now(dt.timezone.utc) > dt.datetime(2026, 1, 5, 9, 1, tzinfo=dt.timezone.utc):
        due += dt.timedelta(days=1)
    return {"due": due.isoformat()}
""",
        Check.DETERMINISM,
        "seconds later, get_due_date",
    ),
    "opens a file": (
        "get_due_date",
        DUE + "    return {'due': open('/etc/hostname').read(), 'asked': [number, renewed]}\n",
        Check.ISOLATION,
        "must not use open",
    ),
    "opens a file behind a method": (
        "get_due_date",
        DUE + "    import io\n    return {'due': io.open('/etc/hostname').read()}\n",
        Check.ISOLATION,
        "must not reach open through io",
    ),
    "imports a module that reaches out": (
        "get_due_date",
        DUE + "    import subprocess\n    return {'due': subprocess.getoutput('date')}\n",
        Check.ISOLATION,
        "subprocess",
    ),
    "evaluates its arguments": (
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': due.isoformat(), 'n': eval('1')}\n",
        Check.ISOLATION,
        "must not use eval",
    ),
    "prints instead of returning": (
        "get_due_date",
        DUE + HONEST_DUE + "    print({'due': due.isoformat()})\n",
        Check.RESULT,
        "prints answer 2 instead of returning it",
    ),
    "swallows everything": (
        "get_due_date",
        DUE
        + """
    book = BOOKS.get(number, BOOKS["BK-9038"])
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
        Check.IDENTIFYING_ARGUMENT,
        "keeps answer 2",
    ),
    "returns a value that JSON cannot carry": (
        "get_due_date",
        DUE + "    return {'due', '2026-02-17'}\n",
        Check.RESULT,
        "NotJson",
    ),
    "returns nothing for unknown arguments": (
        "get_due_date",
        DUE.replace("object", "dict[str, str] | None")
        + """
    book = BOOKS.get(number)
    if book is None:
        return None
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
        Check.RESULT,
        "returns nothing",
    ),
    "takes an undeclared parameter": (
        "get_due_date",
        DUE.replace("False)", "False, answer: str = '')")
        + HONEST_DUE
        + "    return {'due': str(due)}\n",
        Check.SIGNATURE,
        "get_due_date.answer: the document does not declare this parameter",
    ),
    "takes any parameter": (
        "get_due_date",
        DUE.replace("False)", "False, **rest: object)")
        + HONEST_DUE
        + "    return {'due': str(due)}\n",
        Check.SIGNATURE,
        "must not take *rest",
    ),
    "hangs": (
        "get_due_date",
        DUE + "    while True:\n        pass\n",
        Check.LIMITS,
        "get_due_date",
    ),
    "hangs on unusual arguments": (
        "get_due_date",
        DUE
        + """
    while number not in BOOKS:
        pass
    due = dt.date.fromisoformat(BOOKS[number]["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
        Check.LIMITS,
        "exceeds the limits",
    ),
    "takes all memory": (
        "get_due_date",
        DUE + "    return {'due': 'x' * (8 << 30)}\n",
        Check.LIMITS,
        "MemoryError",
    ),
    "returns too much": (
        "get_due_date",
        DUE + "    return {'due': 'x' * (8 << 20)}\n",
        Check.LIMITS,
        "get_due_date",
    ),
    "ignores a declared parameter": (
        "get_due_date",
        DUE
        + HONEST_DUE.replace("_RENEWAL if renewed else ", "")
        + "    return {'due': str(due)}\n",
        Check.LIVE_PARAMETER,
        "no value of renewed was found that changes a result",
    ),
    "crashes on unknown arguments": (
        "get_due_date",
        DUE
        + """
    due = dt.date.fromisoformat(BOOKS[number]["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
        Check.CLEAR_ERROR,
        "crashes instead of explaining (KeyError)",
    ),
    "crashes with the interpreter's words": (
        "get_due_date",
        DUE
        + """
    book = BOOKS.get(number)
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
        Check.CLEAR_ERROR,
        "crashes instead of explaining (TypeError)",
    ),
    "shows the interpreter's words as its own error": (
        "get_due_date",
        DUE
        + """
    book = list(BOOKS.values())[list(BOOKS).index(number)]
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
        Check.CLEAR_ERROR,
        "crashes instead of explaining (ValueError)",
    ),
    "shows a path in an error": (
        "get_due_date",
        DUE
        + HONEST_DUE.replace("find_book gives numbers", "see /srv/data/books.csv")
        + "    return {'due': str(due)}\n",
        Check.CLEAR_ERROR,
        "shows a path or a traceback",
    ),
    "does not load": (
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': str(due)}\n\n\nBOOKS['none']\n",
        Check.LOAD,
        "KeyError",
    ),
    "hangs while it loads": (
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': str(due)}\n\n\nwhile True:\n    pass\n",
        Check.LOAD,
        "tools.py",
    ),
}


@pytest.mark.parametrize("cheat", CODE_CHEATS)
async def test_a_cheat_in_the_code_is_refused_for_its_own_reason(
    workshop: Workshop, sandbox: Sandbox, cheat: str
) -> None:
    function, source, check, words = CODE_CHEATS[cheat]
    workshop.replace_function(function, source)
    assert words in evidence(await verdict_of(workshop, sandbox), check)


DOCUMENT_CHEATS: dict[str, tuple[Change, Check, str]] = {
    "leaks the answer into a description": (
        put("tools", 0, "description", value="Find numbers such as BK-9038."),
        Check.LEAKED_ANSWER,
        "answer 1, 'BK-9038', stands in the description of find_book",
    ),
    "leaks the answer into a parameter": (
        put(*NUMBER, "description", value="A number of a book due on 17 February 2026."),
        Check.LEAKED_ANSWER,
        "answer 2, '2026-02-17', stands in the schema of get_due_date",
    ),
    "leaks the answer into the text of another tool": (
        put("tools", 1, "description", value="Say when a book such as BK-9038 is due."),
        Check.LEAKED_ANSWER,
        "answer 1, 'BK-9038', stands in the description of get_due_date",
    ),
    "leaks the answer into a structured example": (
        put(
            "tools", 1, "output_schema", value={"type": "object", "examples": [{"n": ["BK-9038"]}]}
        ),
        Check.LEAKED_ANSWER,
        "stands in the schema of get_due_date, examples",
    ),
    "leaks the answer into an unknown keyword": (
        put(*NUMBER, "x-note", value={"hint": "17 Feb 2026"}),
        Check.LEAKED_ANSWER,
        "properties, number, x-note, hint",
    ),
    "leaks the answer into the name of a property": (
        put("tools", 1, "output_schema", value={"type": "object", "properties": {"bk_9038": {}}}),
        Check.LEAKED_ANSWER,
        "the name bk_9038",
    ),
    "leaks the answer with another hyphen": (
        put("question", value="When is the large print BK\u20119038 by Ida Moreau due?"),
        Check.LEAKED_ANSWER,
        "stands in the main question",
    ),
    "leaks the answer without its hyphen": (
        put("question", value="When is the large print edition 'bk 9038' due?"),
        Check.LEAKED_ANSWER,
        "stands in the main question",
    ),
    "leaks the answer with an invisible character": (
        put("question", value="When is the large print BK-90\u200b38 by Ida Moreau due?"),
        Check.LEAKED_ANSWER,
        "stands in the main question",
    ),
    "leaks the answer in another spelling of the day": (
        put("question", value="Is the large print edition by Ida Moreau due on 17.02.2026?"),
        Check.LEAKED_ANSWER,
        "answer 2, '2026-02-17', stands in the main question",
    ),
    "leaks the answer into a short enumeration": (
        both(
            put(*AUTHOR, "enum", value=["Ida Moreau", "Tomas Brandt", "Aiko Senda"]),
            put("sub_tasks", 0, "answer", value="Tomas Brandt"),
        ),
        Check.LEAKED_ANSWER,
        "enum",
    ),
    "asks with the answer": (
        put("question", value="Is BK-9038 due back on 2026-02-17?"),
        Check.LEAKED_ANSWER,
        "stands in the main question",
    ),
    "asks a sub-question with the answer": (
        put("sub_tasks", 1, "question", value="Is it due back on 2026-02-17?"),
        Check.LEAKED_ANSWER,
        "stands in question 2",
    ),
    "has a truth value as its answer": (
        put("sub_tasks", 1, "answer", value="Yes"),
        Check.SPECIFIC_ANSWER,
        "truth value",
    ),
    "has a truth value with a full stop as its answer": (
        put("sub_tasks", 1, "answer", value="Yes."),
        Check.SPECIFIC_ANSWER,
        "truth value",
    ),
    "has an answer that is found by chance": (
        put("sub_tasks", 1, "answer", value="17"),
        Check.SPECIFIC_ANSWER,
        "fewer than 3 characters",
    ),
    "has an answer that no tool gives": (
        put("sub_tasks", 1, "answer", value="2026-02-18"),
        Check.GOLD_ANSWER,
        "does not contain answer 2, '2026-02-18'",
    ),
    "marks every argument as modifying": (
        both(
            put("gold", 0, "arguments", "author", "role", value="modifying"),
            put("gold", 0, "arguments", "format", "role", value="modifying"),
        ),
        Check.IDENTIFYING_ARGUMENT,
        "has no identifying argument",
    ),
    "names no other existing value": (
        both(
            put("gold", 0, "arguments", "author", "neighbours", value=[]),
            put(*AUTHOR, "examples", value=[]),
        ),
        Check.ONLY_GOLD,
        "none is named",
    ),
    "solves itself by its examples": (
        put(*NUMBER, "examples", value=["BK-9038"]),
        Check.GUESSABLE,
        "solves [2]",
    ),
    "takes values of any type": (
        put(*NUMBER, value={"anyOf": [{}]}),
        Check.CLEAR_ERROR,
        "the schema of number takes any value",
    ),
    "returns another type than it declares": (
        put(
            "tools",
            1,
            "output_schema",
            value={"type": "object", "properties": {"due": {"type": "integer"}}},
        ),
        Check.RESULT,
        "returns what its output schema refuses",
    ),
    "declares another type than it takes": (
        put(*NUMBER, value={"type": "integer"}),
        Check.SIGNATURE,
        "is annotated str, but its schema says ['integer']",
    ),
    "lacks its gold calls": (
        both(put("status", value="unverified"), put("gold", value=[])),
        Check.COMPLETE,
        "environment.json lacks gold",
    ),
    "breaks its own graph": (
        put("sub_tasks", 1, "hop_level", value=1),
        Check.DOCUMENT,
        "sub_tasks[1].hop_level",
    ),
}


@pytest.mark.claim("P5")
@pytest.mark.parametrize("cheat", DOCUMENT_CHEATS)
async def test_a_cheat_in_the_document_is_refused_for_its_own_reason(
    workshop: Workshop, sandbox: Sandbox, cheat: str
) -> None:
    change, check, words = DOCUMENT_CHEATS[cheat]
    workshop.change_document(change)
    assert words in evidence(await verdict_of(workshop, sandbox), check)


async def test_made_up_values_are_tried_however_many_are_known(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_function(
        "get_due_date",
        DUE
        + """
    due = dt.date.fromisoformat(BOOKS.get(number, BOOKS["BK-9038"])["due"])
    return {"due": str(due + (_RENEWAL if renewed else dt.timedelta()))}
""",
    )
    names = [f"BK-{n}" for n in (2205, 6184, 1573, 4471, 3957, 8642, 5820, 7316)]
    workshop.change_document(put("gold", 1, "arguments", "number", "neighbours", value=names))
    details = evidence(await verdict_of(workshop, sandbox), Check.IDENTIFYING_ARGUMENT)
    assert "made-up values of number, more than half" in details


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
        "get_due_date",
        f"""def get_due_date() -> dict[str, str]:
    if {condition}:
        return {{"due": "2026-02-17"}}
    raise ValueError("Find the large print edition first, then ask when it is due.")


_FOUND: list[str] = []
""",
    )
    workshop.change_document(put("tools", 1, "input_schema", value=HANDLE))
    workshop.change_document(put("gold", 1, "arguments", value={}))
    failed = (await verdict_of(workshop, sandbox)).failed_checks
    details = [f.detail for f in failed if f.check is Check.IDENTIFYING_ARGUMENT]
    assert any("whatever the calls before name" in d for d in details) is not is_tied


SAME_TOOL = both(
    put("sub_tasks", 0, "tool", value="get_due_date"),
    put("sub_tasks", 0, "answer", value="2026-03-03"),
    put("gold", 0, value={"tool": "get_due_date", "solves": [1]}),
    put(
        "gold",
        0,
        "arguments",
        value={
            "number": {"value": "BK-9038", "role": "identifying", "neighbours": ["BK-2205"]},
            "renewed": {"value": True, "role": "identifying"},
        },
    ),
)


async def test_a_call_that_earns_more_than_it_declares_is_refused(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_function(
        "get_due_date",
        DUE + HONEST_DUE + "    return {'due': str(due), 'first': book['due']}\n",
    )
    workshop.change_document(SAME_TOOL)
    details = evidence(await verdict_of(workshop, sandbox), Check.REWARD)
    assert "also contains answer 2, '2026-02-17', which it does not declare" in details


async def test_an_answer_that_the_call_itself_names_is_refused(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_function(
        "get_due_date", DUE + HONEST_DUE + "    return {'due': str(due), 'number': number}\n"
    )
    workshop.change_document(put("sub_tasks", 1, "answer", value="BK-9038"))
    details = evidence(await verdict_of(workshop, sandbox), Check.LEAKED_ANSWER)
    assert "stands in the arguments of the call that should find it" in details


REACHES = {
    "o = open": "must not use open",
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
    "return None": (Check.RESULT, "returns nothing"),
    "return [][1]": (Check.CLEAR_ERROR, "crashes instead of explaining"),
    "while True: pass": (Check.LIMITS, "exceeds the limits"),
    "print('x')": (Check.RESULT, "prints instead"),
    "return b'x'": (Check.RESULT, "JSON cannot carry"),
    "return {'k': hash(object())}": (Check.DETERMINISM, "differs between"),
    "raise SystemExit": (Check.CLEAR_ERROR, "crashes instead of explaining"),
}


@pytest.mark.parametrize("body", EXTRA_TOOLS)
async def test_a_tool_without_gold_calls_and_parameters_is_judged_too(
    workshop: Workshop, sandbox: Sandbox, body: str
) -> None:
    check, words = EXTRA_TOOLS[body]
    schema: Document = {"type": "object", "properties": {}}
    tool: Document = {
        "name": "opening_hours",
        "description": "Say when it is open.",
        "input_schema": schema,
    }
    workshop.change_document(lambda document: document["tools"].append(tool))
    workshop.append_code(f"def opening_hours() -> object:\n    {body}\n")
    assert words in evidence(await verdict_of(workshop, sandbox), check)


async def test_a_parameter_outside_the_gold_calls_takes_garbage_too(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_function(
        "get_due_date",
        DUE.replace("False)", "False, copies: int = 1)")
        + HONEST_DUE
        + "    return {'due': str(due), 'share': 100 // copies}\n",
    )
    parameter = {"type": "integer", "default": 1}
    workshop.change_document(
        put("tools", 1, "input_schema", "properties", "copies", value=parameter)
    )
    details = evidence(await verdict_of(workshop, sandbox), Check.CLEAR_ERROR)
    assert "crashes instead of explaining (ZeroDivisionError)" in details


@pytest.mark.parametrize("schema", [{"type": "string"}, {"type": ["string", "null"]}])
async def test_an_answer_without_the_argument_that_identifies_is_refused(
    workshop: Workshop, sandbox: Sandbox, schema: Document
) -> None:
    workshop.replace_function(
        "find_book",
        """def find_book(author: str | None = None, format: str = "hardcover") -> object:
    if author is None:
        return {"all": [b["number"] for b in BOOKS.values()]}
    for book in BOOKS.values():
        if (book["author"], book["format"]) == (author, format):
            return {"number": book["number"]}
    raise ValueError(f"The library has no author named {author!r}.")
""",
    )
    workshop.change_document(put(*AUTHOR, value={**schema, "examples": ["Tomas Brandt"]}))
    workshop.change_document(put("tools", 0, "input_schema", "required", value=[]))
    details = evidence(await verdict_of(workshop, sandbox), Check.GUESSABLE)
    assert "solves [1]" in details


async def test_results_of_other_arguments_must_repeat(workshop: Workshop, sandbox: Sandbox) -> None:
    late = "    row = hash(object()) if number == 'BK-2205' else 0\n"
    workshop.replace_function(
        "get_due_date", DUE + HONEST_DUE + late + "    return {'due': str(due), 'row': row}\n"
    )
    details = evidence(await verdict_of(workshop, sandbox), Check.DETERMINISM)
    assert "BK-2205" in details


async def test_exactly_four_fifths_of_the_neighbours_are_enough(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_code(
        "BK-2205 | Ida Moreau | audio | The Salt Orchard | 2026-01-27",
        "BK-2205 | Ida Moreau | audio | The Salt Orchard | 2026-02-17",
    )
    schema = {"type": "string", "enum": ["BK-9038", "BK-2205", "BK-6184", "BK-1573", "BK-4471"]}
    workshop.change_document(put(*NUMBER, value={**schema, "enum": [*schema["enum"], "BK-3957"]}))
    workshop.change_document(put("gold", 1, "arguments", "number", "neighbours", value=[]))
    details = [f.detail for f in (await verdict_of(workshop, sandbox)).failed_checks]
    assert not any("more than 20%" in d for d in details)
    workshop.change_document(put(*NUMBER, value=schema))
    details = [f.detail for f in (await verdict_of(workshop, sandbox)).failed_checks]
    assert any("1 of 4" in d and "more than 20%" in d for d in details)


async def test_an_answer_in_a_default_is_refused(workshop: Workshop, sandbox: Sandbox) -> None:
    workshop.replace_code(
        'format: str = "hardcover")', 'format: str = "hardcover", number: str = "BK-9038")'
    )
    parameter = {"type": "string", "default": "BK-9038"}
    workshop.change_document(
        put("tools", 0, "input_schema", "properties", "number", value=parameter)
    )
    details = evidence(await verdict_of(workshop, sandbox), Check.LEAKED_ANSWER)
    assert "the schema of find_book, properties, number, default" in details


async def test_swallowed_garbage_is_refused_where_the_schema_lets_it_through(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_function(
        "get_due_date",
        DUE
        + """
    book = BOOKS.get(number) if number.startswith("BK-") else BOOKS["BK-9038"]
    if book is None:
        raise ValueError(f"No book has the number {number!r}; find_book gives numbers.")
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"due": due.isoformat()}
""",
    )
    schema = {"type": "string", "examples": ["BK-7316", "BK-1573", "BK-5820", "BK-8642", "BK-3957"]}
    workshop.change_document(put(*NUMBER, value=schema))
    details = evidence(await verdict_of(workshop, sandbox), Check.SWALLOWED_ARGUMENT)
    assert "still has answer '2026-02-17'" in details


@pytest.mark.parametrize("num_draws", range(1, 5))
async def test_an_answer_that_depends_on_the_episode_seed_is_refused(
    workshop: Workshop, sandbox: Sandbox, num_draws: int
) -> None:
    workshop.replace_code("import datetime as dt", "import datetime as dt\nimport random")
    draws = f"    odd = [random.randrange(2) for _ in range({num_draws})][-1]\n"
    late = "    return {'due': str(due + dt.timedelta(days=odd))}\n"
    workshop.replace_function("get_due_date", DUE + HONEST_DUE + draws + late)
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


async def test_a_handle_that_an_earlier_call_made_needs_no_known_neighbour(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    code = f"PNR-{sum(map(ord, 'TR-8815A'))}"
    (workshop.path / "tools.py").write_text(STATEFUL, encoding="utf-8")
    workshop.change_document(
        both(
            put(*AUTHOR, value={"type": "string"}),
            put(*NUMBER, value={"type": "string"}),
            put("sub_tasks", 0, "answer", value=code),
            put("sub_tasks", 1, "answer", value="Gate A51"),
            put("gold", 0, "arguments", "author", "value", value="TR-88"),
            put("gold", 0, "arguments", "author", "neighbours", value=["TR-95"]),
            put("gold", 1, "arguments", "number", "value", value=code),
            put("gold", 1, "arguments", "number", "neighbours", value=[]),
        )
    )
    assert (await verdict_of(workshop, sandbox)).failed_checks == ()


async def test_a_list_that_drops_results_is_live_without_examples(
    workshop: Workshop, sandbox: Sandbox
) -> None:
    workshop.replace_function(
        "find_book",
        FIND.replace("'hardcover')", "'hardcover', avoid: list[str] = [])")
        + """
    own = [b for b in BOOKS.values() if (b["author"], b["format"]) == (author, format)]
    if not own:
        raise ValueError(f"The library has no author named {author!r}.")
    return {"numbers": [b["number"] for b in own if b["number"] not in avoid]}
""",
    )
    parameter: Document = {"type": "array", "items": {"type": "string"}, "default": []}
    workshop.change_document(
        put("tools", 0, "input_schema", "properties", "avoid", value=parameter)
    )
    assert (await verdict_of(workshop, sandbox)).failed_checks == ()
