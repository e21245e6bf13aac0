"""Every planted cheat is refused by the check that is there for it."""

from collections.abc import Mapping
from typing import Any

import pytest

from astra_mcp.environments.acceptance import Check
from astra_mcp.environments.acceptance.documents import document_failures, question_failures
from astra_mcp.environments.loading import load_bundle
from astra_mcp.sandbox import Sandbox

from tiers import AT_THE_GATE
from workshop import (
    AUTHOR,
    DATED,
    DUE,
    FIND,
    HONEST_DUE,
    NUMBER,
    SOUGHT,
    Change,
    Workshop,
    both,
    due,
    evidence,
    put,
    verdict_of,
)

OUTPUT = "tools.1.output_schema"
STR_DUE = "{'due': str(due)}"


async def test_the_honest_bundle_is_verified(workshop: Workshop, sandbox: Sandbox) -> None:
    verdict = await verdict_of(workshop, sandbox)
    assert verdict.failed_checks == ()
    assert verdict.verified


CODE_CHEATS: Mapping[Check, Mapping[str, tuple[str, str]]] = {
    Check.ONLY_GOLD: {
        "answers only its gold arguments": (
            FIND
            + """
    if (author, format) == ("Ida Moreau", "large print"):
        return {"number": "BK-9038"}
    raise ValueError("The library has no such book, sorry.")
""",
            "no other value of author has a result of its own",
        ),
        "answers only its gold arguments, the rest with an empty list": (
            FIND
            + """
    is_gold = (author, format) == ("Ida Moreau", "large print")
    return {"numbers": ["BK-9038"] if is_gold else []}
""",
            "all other arguments have one result",
        ),
    },
    Check.IDENTIFYING_ARGUMENT: {
        "answers a constant": (
            DUE + "    return {'number': number, 'due': '2026-02-17', 'renewed': renewed}\n",
            "keeps its answers whatever number is",
        ),
        "returns the whole table": (
            DUE + "    return {'asked': [number, renewed], 'books': list(BOOKS.values())}\n",
            "whatever number is",
        ),
        "returns most of the table": (
            DUE
            + """
    if number == "BK-2205":
        raise ValueError("Nothing is known of that book, sorry.")
    return {"asked": [number, renewed], "books": list(BOOKS.values())}
""",
            "3 of 3 existing values of number, more than half",
        ),
        "returns the whole table for every book there is": (
            DUE
            + """
    if number not in BOOKS:
        raise ValueError(f"No book has the number {number!r}; find_book gives numbers.")
    return {"asked": [number, renewed], "row": list(BOOKS).index(number), "all": [*BOOKS.values()]}
""",
            "existing values of number, more than half",
        ),
        "swallows everything": (
            f'{DUE}    book = BOOKS.get(number, BOOKS["BK-9038"]){DATED}',
            "keeps answer 2",
        ),
    },
    Check.OPEN_TABLE: {
        "opens the whole table by an option": (
            due("{'due': [b['due'] for b in BOOKS.values()] if renewed else str(due)}"),
            "renewed = true must not open all",
        ),
    },
    Check.OMITTED_ARGUMENT: {
        "ignores one identifying argument": (
            FIND
            + """
    found = [b["number"] for b in BOOKS.values() if b["author"] == author]
    if not found:
        raise ValueError(f"The library has no author named {author!r}.")
    return {"numbers": found, "format": format}
""",
            "keeps answer 1 without format",
        ),
    },
    Check.OPEN_TABLE: {
        "takes a wildcard": (
            FIND
            + """
    if author == "*":
        return {"all": list(BOOKS.values()), "format": format}
"""
            + SOUGHT,
            'find_book("author":"*","format":"large print") holds answer 1',
        ),
    },
    Check.SWALLOWED_ARGUMENT: {
        "makes up a record for any argument": (
            f'{DUE}    book = BOOKS.get(number, {{"due": "2026-01-15"}}){DATED}',
            "whatever texts identify the record, there is one",
        ),
        "answers for the next record": (
            DUE
            + """
    number = min((key for key in BOOKS if key >= number), default=max(BOOKS))
    book = BOOKS[number]
    due = dt.date.fromisoformat(book["due"]) + (_RENEWAL if renewed else dt.timedelta())
    return {"number": number, "due": due.isoformat()}
""",
            "answer for another number than the one that was sent",
        ),
    },
    Check.REPETITION: {
        "shows more from the third call on": (
            due(
                "{'due': str(due)} | ({'log': 'BK-2205'} if len(CALLS) > 2 else {})",
                before="    CALLS.append(number)\n",
                after="\n\nCALLS = []\n",
            ),
            "as call 3 in a row",
        ),
    },
    Check.HYGIENE: {
        "writes a code in letters of another alphabet": (
            due("{'due': str(due), 'shelf': '\u0412\u0421-7741'}"),
            "letters only look like A to Z",
        ),
    },
    Check.RESULT: {
        "returns a blank": (due(f"{STR_DUE} if number != 'BK-2205' else '  '"), "returns nothing"),
        "returns false": (due(f"{STR_DUE} if number != 'BK-2205' else False"), "returns nothing"),
        "returns nothing at all": (
            DUE + "    return None\n",
            "returns nothing; return an object or a text",
        ),
        "returns nothing for unknown arguments": (
            DUE.replace("object", "dict[str, str] | None")
            + "    book = BOOKS.get(number)\n    if book is None:\n        return None"
            + DATED,
            "returns nothing",
        ),
        "prints instead of returning": (
            DUE + HONEST_DUE + "    print({'due': due.isoformat()})\n",
            "prints answer 2 instead of returning it",
        ),
        "returns a value that JSON cannot carry": (
            DUE + "    return {'due', '2026-02-17'}\n",
            "NotJson",
        ),
    },
    Check.LIMITS: {
        "hangs": (DUE + "    while True:\n        pass\n", "get_due_date"),
        "hangs on a long text": (
            f"{FIND}    while len(author) > 600:\n        pass{SOUGHT}",
            "exceeds the limits",
        ),
        "hangs on unusual arguments": (
            f"{DUE}    while number not in BOOKS:\n        pass\n    book = BOOKS[number]{DATED}",
            "exceeds the limits",
        ),
        "takes all memory": (DUE + "    return {'due': 'x' * (8 << 30)}\n", "MemoryError"),
        "returns too much": (DUE + "    return {'due': 'x' * (8 << 20)}\n", "get_due_date"),
    },
    Check.CLEAR_ERROR: {
        "shows a path in an error": (
            due(STR_DUE).replace("find_book gives numbers", "see /srv/data/books.csv"),
            "shows a path or a traceback",
        ),
        "shows a path of another system in an error": (
            due(STR_DUE).replace("find_book gives numbers", "see C:\\\\data/books.csv"),
            "shows a path or a traceback",
        ),
        "shows how it parses a day": (
            due(STR_DUE).replace(
                "raise ValueError", "dt.date.fromisoformat(number)\n        raise ValueError"
            ),
            "crashes instead of explaining (ValueError)",
        ),
        "crashes on unknown arguments": (
            f"{DUE}    book = BOOKS[number]{DATED}",
            "crashes instead of explaining (KeyError)",
        ),
        "crashes with the interpreter's words": (
            f"{DUE}    book = BOOKS.get(number){DATED}",
            "crashes instead of explaining (TypeError)",
        ),
        "shows the interpreter's words as its own error": (
            f"{DUE}    book = list(BOOKS.values())[list(BOOKS).index(number)]{DATED}",
            "crashes instead of explaining (ValueError)",
        ),
    },
    Check.LIVE_PARAMETER: {
        "ignores a declared parameter": (
            due(STR_DUE).replace("_RENEWAL if renewed else ", ""),
            "no value of renewed was found that changes a result",
        ),
        "only repeats a declared parameter": (
            due("{'due': str(due), 'asked': f'renewed: {renewed}'}").replace(
                "_RENEWAL if renewed else ", ""
            ),
            "no value of renewed was found that changes a result, but for repeating it",
        ),
    },
    Check.DETERMINISM: {
        "shows the address of an object": (
            due("{'due': due.isoformat(), 'row': repr(object())}"),
            "differs between two",
        ),
        "orders by addresses": (
            due(
                '{"due": due.isoformat(), "rows": [row.name for row in rows]}',
                before="""
    class Row:
        def __init__(self, name: int) -> None:
            self.name = name
    rows = {Row(i) for i in range(64)}
""",
            ),
            "differs between two",
        ),
        "orders by addresses while it loads": (
            due(
                '{"due": due.isoformat(), "rows": ORDER}',
                after="""

class Row:
    def __init__(self, name: int) -> None:
        self.name = name


ORDER = [row.name for row in {Row(i) for i in range(64)}]
""",
            ),
            "two layouts of memory",
        ),
        "calls id": (due("{'due': due.isoformat(), 'row': id(book) % 97}"), "id(book)"),
    },
    Check.ISOLATION: {
        "opens a file": (
            DUE + "    return {'due': open('/etc/hostname').read(), 'asked': [number, renewed]}\n",
            "must not use open",
        ),
    },
    Check.SIGNATURE: {
        "takes an undeclared parameter": (
            due(STR_DUE, head=DUE.replace("False)", "False, answer: str = '')")),
            "get_due_date.answer: the document does not declare this parameter",
        ),
        "takes any parameter": (
            due(STR_DUE, head=DUE.replace("False)", "False, **rest: object)")),
            "must not take *rest",
        ),
    },
    Check.LOAD: {
        "does not load": (due(STR_DUE, after="\n\nBOOKS['none']\n"), "KeyError"),
        "hangs while it loads": (due(STR_DUE, after="\n\nwhile True:\n    pass\n"), "tools.py"),
    },
}


def each(cheats: Mapping[Check, Mapping[str, tuple[Any, str]]]) -> list[Any]:
    """The cases of a table: the check, the cheat, and what is said of it; one of each check is quick."""
    return [
        pytest.param(check, *row, id=name, marks=() if number < 1 else AT_THE_GATE)
        for check, named in cheats.items()
        for number, (name, row) in enumerate(named.items())
    ]


@pytest.mark.parametrize(("check", "source", "words"), each(CODE_CHEATS))
async def test_a_cheat_in_the_code_is_refused_for_its_own_reason(
    workshop: Workshop, sandbox: Sandbox, check: Check, source: str, words: str
) -> None:
    workshop.replace_function(source)
    assert words in evidence(await verdict_of(workshop, sandbox), check)


INTEGER_DUE = {"type": "object", "properties": {"due": {"type": "integer"}}}
FIRST, SECOND = "answer 1, 'BK-9038', stands in the", "answer 2, '2026-02-17', stands in the"
LEAKS: Mapping[str, tuple[str, Any, str]] = {
    "a description": ("tools.0.description", "Find BK-9038.", f"{FIRST} description of find_book"),
    "a parameter": (f"{NUMBER}.description", "17 February 2026", f"{SECOND} schema of get_due_"),
    "another tool": ("tools.1.description", "Of BK-9038.", f"{FIRST} description of get_due_date"),
    "an example": (OUTPUT, {"examples": [{"n": ["BK-9038"]}]}, "schema of get_due_date, examples"),
    "an unknown keyword": (f"{NUMBER}.x-note", {"hint": "17 Feb 2026"}, "number, x-note, hint"),
    "the name of a property": (OUTPUT, {"properties": {"bk_9038": {}}}, "the name bk_9038"),
    "the question": ("question", "Is BK-9038 due back on 2026-02-17?", f"{FIRST} main question"),
    "another hyphen": ("question", "When is BK\u20119038 due?", f"{FIRST} main question"),
    "no hyphen": ("question", "When is 'bk 9038' due?", f"{FIRST} main question"),
    "an invisible character": ("question", "When is BK-90\u200b38 due?", f"{FIRST} main question"),
    "another spelling": ("question", "Is it due on 17.02.2026?", f"{SECOND} main question"),
    "a sub-question": ("sub_tasks.1.question", "On 2026-02-17?", "stands in question 2"),
}
"""Where or how an answer is given away: the field, its value, and what is said of it."""


@pytest.mark.claim("P5")
@pytest.mark.parametrize("how", LEAKS)
def test_an_answer_that_is_given_away_is_found_before_anything_is_run(
    workshop: Workshop, how: str
) -> None:
    field, value, words = LEAKS[how]
    workshop.change_document(put(field, value))
    bundle = load_bundle(workshop.path)
    failures = [*document_failures(bundle), *question_failures(bundle)]
    assert words in "\n".join(f.detail for f in failures if f.check is Check.LEAKED_ANSWER)


DOCUMENT_CHEATS: Mapping[Check, Mapping[str, tuple[Change, str]]] = {
    Check.LEAKED_ANSWER: {
        "leaks the answer into a short enumeration": (
            both(
                put(f"{AUTHOR}.enum", ["Ida Moreau", "Tomas Brandt", "Aiko Senda"]),
                put("sub_tasks.0.answer", "Tomas Brandt"),
            ),
            "enum",
        ),
    },
    Check.SPECIFIC_ANSWER: {
        "has a truth value as its answer": (put("sub_tasks.1.answer", "Yes."), "truth value"),
    },
    Check.GOLD_ANSWER: {
        "has an answer that no tool gives": (
            put("sub_tasks.1.answer", "2026-02-18"),
            "does not contain answer 2, '2026-02-18'",
        ),
    },
    Check.IDENTIFYING_ARGUMENT: {
        "marks every argument as modifying": (
            both(
                put("gold.0.arguments.author.role", "modifying"),
                put("gold.0.arguments.format.role", "modifying"),
            ),
            "has no identifying argument",
        ),
    },
    Check.ONLY_GOLD: {
        "names no other existing value": (
            both(put("gold.1.arguments.number.neighbours", []), put(f"{NUMBER}.examples", [])),
            "none is named",
        ),
    },
    Check.GUESSABLE: {
        "solves itself by its examples": (put(f"{NUMBER}.examples", ["BK-9038"]), "solves 2")
    },
    Check.CLEAR_ERROR: {
        "takes values of any type": (
            put(NUMBER, {"anyOf": [{}]}),
            "the schema of number takes any value",
        ),
    },
    Check.RESULT: {
        "returns another type than it declares": (
            put(OUTPUT, INTEGER_DUE),
            "returns what its output schema refuses",
        ),
    },
    Check.SIGNATURE: {
        "declares another type than it takes": (
            put(NUMBER, {"type": "integer"}),
            "is annotated str, but its schema says ['integer']",
        ),
    },
    Check.COMPLETE: {
        "lacks its gold calls": (
            both(put("status", "unverified"), put("gold", [])),
            "environment.json lacks gold",
        ),
    },
    Check.DOCUMENT: {
        "breaks its own graph": (put("sub_tasks.1.hop_level", 1), "sub_tasks[1].hop_level"),
    },
}


@pytest.mark.claim("P5")
@pytest.mark.parametrize(("check", "change", "words"), each(DOCUMENT_CHEATS))
async def test_a_cheat_in_the_document_is_refused_for_its_own_reason(
    workshop: Workshop, sandbox: Sandbox, check: Check, change: Change, words: str
) -> None:
    workshop.change_document(change)
    assert words in evidence(await verdict_of(workshop, sandbox), check)
