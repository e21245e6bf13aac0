"""Every planted cheat is refused by the check that is there for it."""

import pytest

from astra_mcp.environments.acceptance import Check
from astra_mcp.sandbox import Sandbox

from workshop import (
    AUTHOR,
    DUE,
    FIND,
    HONEST_DUE,
    NUMBER,
    Change,
    Workshop,
    both,
    evidence,
    put,
    verdict_of,
)


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
