"""Cheats that show only over several calls: repetition, order, hints, and long sessions."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.chains import Chain, chain
from bundle_corpus.drafts import Fields, identifying
from bundle_corpus.kinds import cheat

_DAYS = '[r["$day"] for r in ROWS.values()]'


@cheat("repetition", "open_table", "long_session")
def repetition_opens(rng: Random, mended: bool) -> Bundle:
    """The same call made twice in a row is answered with the whole table."""
    draft = chain(rng)
    draft.data.append("SEEN = []")
    shown = 'row["$fee"]' if mended else f'{_DAYS} if SEEN.count($code) > 1 else row["$fee"]'
    draft.look.after = "SEEN.append($code)"
    draft.returns(draft.look, extra=shown)
    return draft.bundle()


@cheat("repetition")
def result_counts_requests(rng: Random, mended: bool) -> Bundle:
    """A read whose result carries the number of the request."""
    draft = chain(rng)
    draft.data.append("CALLS = itertools.count(1)")
    draft.returns(draft.look, request="len($code)" if mended else "next(CALLS)")
    return draft.bundle()


@cheat("repetition")
def reading_marks_as_read(rng: Random, mended: bool) -> Bundle:
    """A read that changes what it reads: the second time, it is old."""
    draft = chain(rng)
    draft.data.append("OLD = set()")
    draft.look.after = 'state = "old" if $code in OLD else "new"\n'
    draft.look.after += "OLD.discard($code)" if mended else "OLD.add($code)"
    draft.returns(draft.look, state="state")
    return draft.bundle()


def _reserving(rng: Random, code: str, *, hints: Fields | None = None) -> Chain:
    """A chain with a third tool that reserves what was found, and a step for it."""
    draft = chain(rng)
    theme = draft.theme
    draft.data.append("TAKEN = {}")
    parameters: dict[str, Fields] = {theme.code: {"type": "string"}}
    known = """
        if $code not in ROWS:
            raise ValueError(f"There is no record with the code {$code!r}; search for it first.")
    """
    reserve = draft.tool("reserve", "Reserve what has this code.", parameters, known)
    reserve.after = code
    reserve.hints = hints or {}
    digits = int(draft.code[3:]) * 37
    chinese = draft.language == "zh"
    asked = "预留之后，凭证号是多少？" if chinese else "Reserve it: which voucher is given for it?"
    draft.question += asked if chinese else f" {asked}"
    arguments = {theme.code: identifying(draft.code, *draft.others(theme.code))}
    step = draft.step(asked, f"VCH-{digits}", "reserve", **arguments)
    step.needs = (1,)
    draft.answer += f", VCH-{digits}"
    return draft


_VOUCHER = 'voucher = f"VCH-{int($code[3:]) * 37'
_KEPT = 'TAKEN[$code] = voucher\nreturn {"voucher": voucher}'


@cheat("repetition")
def reserves_twice(rng: Random, mended: bool) -> Bundle:
    """The same reservation made twice gives another voucher, without a word."""
    count = "}" if mended else " + len(TAKEN.setdefault($code, []))}"
    keep = _KEPT if mended else 'TAKEN[$code].append(voucher)\nreturn {"voucher": voucher}'
    return _reserving(rng, f'{_VOUCHER}{count}"\n{keep}').bundle()


@cheat("repetition", "order")
def falsely_read_only(rng: Random, mended: bool) -> Bundle:
    """A tool that says it only reads takes the record away from another tool."""
    draft = _reserving(rng, f'{_VOUCHER}}}"\n{_KEPT}', hints={"readOnlyHint": not mended})
    draft.returns(draft.look, state='"taken" if $code in TAKEN else "free"')
    return draft.bundle()


@cheat("repetition")
def falsely_idempotent(rng: Random, mended: bool) -> Bundle:
    """A tool that says a repetition changes nothing counts every one, which another tool shows."""
    amount = "1" if mended else "TAKEN.get($code, 0) + 1"
    code = f'{_VOUCHER}}}"\nTAKEN[$code] = {amount}\nreturn {{"voucher": voucher}}'
    draft = _reserving(rng, code, hints={"idempotentHint": True})
    draft.returns(draft.look, reservations="TAKEN.get($code, 0)")
    return draft.bundle()


@cheat("order", "identifying_argument")
def order_matters_unsaid(rng: Random, mended: bool) -> Bundle:
    """A call must come after another one, which nothing says."""
    draft = _reserving(rng, f'{_VOUCHER}}}"\n{_KEPT}')
    theme = draft.theme
    draft.steps[2].needs = (1,)
    draft.steps[2].after = (2,) if mended else ()
    draft.look.after = "SHOWN.add($code)"
    draft.data.append("SHOWN = set()")
    draft.tools[2].before = f"""
        if $code in ROWS and $code not in SHOWN:
            raise ValueError("Look at the record with {theme.look} first, then reserve it.")
    """
    return draft.bundle()


@cheat("order")
def one_answer_spoils_another(rng: Random, mended: bool) -> Bundle:
    """Two sub-tasks on one level, of which one hides what the other looks for."""
    draft = _reserving(rng, f'{_VOUCHER}}}"\n{_KEPT}')
    if not mended:
        draft.look.after = """
            if $code in TAKEN:
                return {"note": "This one is reserved, and is no longer shown.", "$code": $code}
        """
    return draft.bundle()


@cheat("order", "long_session")
def failed_calls_lock(rng: Random, mended: bool) -> Bundle:
    """After three failed calls, even right ones are refused."""
    draft = chain(rng, pattern=False)
    draft.data.append("FAILED = []")
    draft.look.before = """
        if $code not in ROWS:
            FAILED.append($code)
    """
    if not mended:
        draft.look.before += """
        if len(FAILED) > 3:
            raise ValueError("Too many codes were wrong; this desk is closed until tomorrow.")
    """
    return draft.bundle()


@cheat("order", "long_session", "open_table")
def an_error_opens(rng: Random, mended: bool) -> Bundle:
    """After a failed call, every result holds the whole table."""
    draft = chain(rng, pattern=False)
    draft.data.append("FAILED = []")
    draft.look.before = """
        if $code not in ROWS:
            FAILED.append($code)
    """
    shown = 'row["$fee"]' if mended else f'{_DAYS} if FAILED else row["$fee"]'
    draft.returns(draft.look, extra=shown)
    return draft.bundle()


@cheat("long_session", "open_table")
def many_calls_open(rng: Random, mended: bool) -> Bundle:
    """After some calls in one session, every result holds the whole table."""
    draft = chain(rng)
    count = rng.randint(8, 14)
    draft.data.append("CALLS = []")
    draft.look.before = "CALLS.append($code)"
    shown = 'row["$fee"]' if mended else f'{_DAYS} if len(CALLS) > {count} else row["$fee"]'
    draft.returns(draft.look, extra=shown)
    return draft.bundle()


@cheat("long_session", "repetition")
def iterator_runs_out(rng: Random, mended: bool) -> Bundle:
    """Results are numbered from an iterator that ends after some calls."""
    draft = chain(rng)
    count = rng.randint(5, 9)
    draft.data.append(f"DESKS = {'itertools.repeat(7)' if mended else f'iter([7] * {count})'}")
    draft.returns(draft.look, desk="next(DESKS)")
    return draft.bundle()


@cheat("long_session", "repetition")
def record_is_popped(rng: Random, mended: bool) -> Bundle:
    """A tool that says it only reads takes a record out of the table."""
    draft = chain(rng)
    draft.look.hints = {"readOnlyHint": True}
    taken = "ROWS.get($code)" if mended else "ROWS.pop($code, None)"
    draft.look.lookup = draft.look.lookup.replace("ROWS.get($code)", taken)
    return draft.bundle()


@cheat("long_session", "repetition")
def answers_grow(rng: Random, mended: bool) -> Bundle:
    """Every result also holds all that was shown before."""
    draft = chain(rng)
    draft.data.append("SHOWN = []")
    draft.look.after = 'SHOWN.append(row["$fee"])'
    draft.returns(draft.look, shown="SHOWN[-1:]" if mended else "list(SHOWN)")
    return draft.bundle()


@cheat("long_session")
def works_for_ten_calls(rng: Random, mended: bool) -> Bundle:
    """A quota of calls, after which nothing is answered any more."""
    draft = chain(rng)
    draft.data.append("CALLS = []")
    draft.look.before = "CALLS.append($code)"
    if not mended:
        draft.look.before += """

if len(CALLS) > 10:
    raise ValueError("The quota of ten calls is used up; there will be none today.")
"""
    return draft.bundle()
