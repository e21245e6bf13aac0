"""Cheats that ask for what nobody could know, and such as are told the answer by the call itself."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.chains import Chain, chain
from bundle_corpus.drafts import identifying, modifying
from bundle_corpus.kinds import cheat
from bundle_corpus.words import word


def _looked_up_alone(rng: Random) -> Chain:
    """A chain without its first call: the code has to stand in the question."""
    draft = chain(rng)
    draft.steps = [draft.second]
    draft.steps[0].needs = ()
    draft.tools = [draft.look]
    draft.answer = draft.day
    return draft


def _asked_by_code(draft: Chain, code: str) -> str:
    theme = draft.theme
    if theme.language == "zh":
        return f"请查一下{theme.thing}（{theme.code_word}{code}）：{theme.day_question}？"
    return f"This is about a {theme.thing} ({theme.code_word} {code}): {theme.day_question}?"


@cheat("ungrounded_argument")
def secret_code(rng: Random, mended: bool) -> Bundle:
    """The gold call knows a code that stands nowhere."""
    draft = _looked_up_alone(rng)
    said = draft.code if mended else draft.gold[draft.theme.holder]
    draft.question = draft.steps[0].question = _asked_by_code(draft, said)
    return draft.bundle()


@cheat("ungrounded_argument")
def code_is_worked_out(rng: Random, mended: bool) -> Bundle:
    """A code is said to be worked out from the question, which a code cannot be."""
    draft = _looked_up_alone(rng)
    said = draft.code if mended else draft.gold[draft.theme.holder]
    draft.question = draft.steps[0].question = _asked_by_code(draft, said)
    if not mended:
        draft.steps[0].arguments[draft.theme.code]["from"] = said
    return draft.bundle()


@cheat("ungrounded_argument")
def secret_number(rng: Random, mended: bool) -> Bundle:
    """A number that identifies stands in no text."""
    draft = chain(rng)
    pins = {row[draft.theme.holder]: n for row, n in zip(draft.rows, _pins(rng), strict=False)}
    holder = draft.gold[draft.theme.holder]
    draft.has("PINS", pins)
    draft.find.parameters["pin"] = {"type": "integer", "minimum": 1000, "maximum": 9999}
    draft.find.before = """
        if pin not in PINS.values():
            raise ValueError(f"The number {pin} opens nothing; it has four digits.")
    """
    draft.find.after = """
        if PINS[row["$holder"]] != pin:
            return {"note": "another number is needed for " + row["$holder"], "digits": pin % 10}
    """
    others = [n for h, n in pins.items() if h != holder]
    draft.first.arguments["pin"] = identifying(pins[holder], *others)
    if mended:
        draft.question += f" (PIN {pins[holder]})"
    return draft.bundle()


def _pins(rng: Random) -> list[int]:
    return rng.sample(range(1011, 9899), 24)


@cheat("ungrounded_argument")
def secret_name(rng: Random, mended: bool) -> Bundle:
    """The name that the first call searches for stands in no text."""
    draft = chain(rng)
    if not mended:
        holder = str(draft.gold[draft.theme.holder])
        other = "我的邻居" if draft.language == "zh" else "my neighbour"
        draft.question = draft.question.replace(holder, other)
    return draft.bundle()


_SLOTS = """
        if day not in SLOTS:
            raise ValueError(f"Nothing is planned for {day!r}; days are written as 2026-03-13.")
        return {"booth": SLOTS[day]}
"""


@cheat("ungrounded_argument")
def day_without_source(rng: Random, mended: bool) -> Bundle:
    """A day that has to be worked out, without a word of what from."""
    draft = chain(rng, language="en")
    days = ["2026-03-06", "2026-03-13", "2026-03-20", "2026-03-27", "2026-04-03"]
    slots = {day: f"Booth {name}" for day, name in zip(days, _booths(rng), strict=True)}
    draft.has("SLOTS", slots)
    index = rng.randrange(1, 4)
    wednesday = ("2026-03-11", "2026-03-18", "2026-03-25")[index - 1]
    draft.question = f"Which booth is ours on the Friday after {wednesday}?"
    draft.tools, draft.steps = [], []
    draft.tool("booth_of", "Say which booth is ours on a day.", {"day": {"type": "string"}}, _SLOTS)
    source = {"source": f"the Friday after {wednesday}"} if mended else {}
    day = identifying(days[index], *(d for d in days if d != days[index]), **source)
    draft.step(draft.question, slots[days[index]], "booth_of", day=day)
    draft.answer = slots[days[index]]
    return draft.bundle()


def _booths(rng: Random) -> list[str]:
    return [word(rng).title() for _ in range(5)]


@cheat("echoed_answer")
def code_is_its_own_answer(rng: Random, mended: bool) -> Bundle:
    """A look-up by a code is asked for the code itself."""
    draft = chain(rng)
    draft.returns(draft.look, code="len($code)" if mended else "$code")
    draft.second.answer = draft.day if mended else draft.code
    return draft.bundle()


@cheat("echoed_answer", "leaked_answer", "ungrounded_argument")
def free_text_is_echoed(rng: Random, mended: bool) -> Bundle:
    """The gold call carries the answer in a note, which the result repeats."""
    draft = chain(rng)
    draft.look.parameters["note"] = {"type": "string", "default": "none"}
    draft.returns(draft.look, remark="note.upper()")
    if not mended:
        draft.look.result = draft.look.result.replace('row["$day"]', 'row["$fee"]')
    draft.second.arguments["note"] = modifying("urgent" if mended else f"for {draft.day}")
    return draft.bundle()


@cheat("echoed_answer", "leaked_answer", "identifying_argument")
def answer_in_two_arguments(rng: Random, mended: bool) -> Bundle:
    """The call joins two of its arguments to the answer."""
    draft = chain(rng)
    year, _, rest = draft.day.partition("-")
    draft.look.parameters["head"] = {"type": "string", "default": "day"}
    draft.look.parameters["tail"] = {"type": "string", "default": "of the record"}
    value = 'row["$day"]' if mended else 'head + "-" + tail'
    draft.look.result = f'{{"$day": {value}, "said": head.upper(), "further": tail.title()}}'
    draft.second.arguments["head"] = modifying("the day" if mended else year)
    draft.second.arguments["tail"] = modifying("asked for" if mended else rest)
    return draft.bundle()


@cheat("echoed_answer", "identifying_argument")
def answer_is_told_backwards(rng: Random, mended: bool) -> Bundle:
    """The call is given the answer in another spelling, and puts it right."""
    draft = chain(rng)
    draft.look.parameters["label"] = {"type": "string", "default": "none"}
    draft.returns(draft.look, label="label.upper()" if mended else "label[::-1]")
    if not mended:
        draft.look.result = draft.look.result.replace('row["$day"]', 'row["$fee"]')
    told = "urgent" if mended else draft.day[::-1]
    draft.second.arguments["label"] = modifying(told)
    return draft.bundle()
