"""Cheats of the document: answers that are given away, too common, or not there, and broken documents."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.chains import chain
from bundle_corpus.drafts import StepDraft, modifying
from bundle_corpus.kinds import cheat


@cheat("leaked_answer")
def answer_in_title(rng: Random, mended: bool) -> Bundle:
    """The title of the environment holds an answer."""
    draft = chain(rng)
    draft.published = draft.title
    draft.title += "" if mended else f" ({draft.day})"
    return draft.bundle()


@cheat("leaked_answer")
def answer_in_summary(rng: Random, mended: bool) -> Bundle:
    """The description of the environment holds an answer."""
    draft = chain(rng)
    draft.description += "" if mended else f" {draft.code}."
    return draft.bundle()


@cheat("leaked_answer")
def answer_in_server_document(rng: Random, mended: bool) -> Bundle:
    """The description in server.json holds an answer."""
    draft = chain(rng)
    draft.published = draft.title + ("" if mended else f": {draft.code}")
    return draft.bundle()


@cheat("leaked_answer")
def answer_in_tool_description(rng: Random, mended: bool) -> Bundle:
    """The description of a tool holds an answer."""
    draft = chain(rng)
    draft.look.description += f" {draft.others(draft.theme.code)[0] if mended else draft.code}"
    return draft.bundle()


@cheat("leaked_answer")
def answer_in_short_enumeration(rng: Random, mended: bool) -> Bundle:
    """The code that should be found is one of three in an enumeration."""
    draft = chain(rng, pattern=False)
    named = [draft.code, *draft.others(draft.theme.code, 2)]
    rest = draft.others(draft.theme.code, 9)[2:]
    schema = draft.look.parameters[draft.theme.code]
    schema["enum"] = [*rest, *named] if mended else named[::-1]
    schema.pop("examples", None)
    draft.second.arguments[draft.theme.code]["neighbours"] = []
    return draft.bundle()


@cheat("leaked_answer")
def answer_in_question(rng: Random, mended: bool) -> Bundle:
    """The main question holds the answer in another spelling of the day."""
    draft = chain(rng)
    year, month, day = draft.day.split("-")
    draft.question += "" if mended else f" ({day}.{month}.{year}?)"
    return draft.bundle()


@cheat("leaked_answer")
def answer_in_default(rng: Random, mended: bool) -> Bundle:
    """The default of a parameter is the answer."""
    draft = chain(rng)
    default = draft.others(draft.theme.day)[0] if mended else draft.day
    draft.look.parameters["since"] = {"type": "string", "default": default}
    draft.returns(draft.look, later='row["$day"] > since')
    return draft.bundle()


@cheat("specific_answer")
def truth_value_as_answer(rng: Random, mended: bool) -> Bundle:
    """The answer is a truth value."""
    draft = chain(rng)
    draft.returns(draft.look, agreed='"yes"')
    draft.second.answer = draft.day if mended else "Yes."
    return draft.bundle()


@cheat("specific_answer")
def short_answer(rng: Random, mended: bool) -> Bundle:
    """The answer is a number of two digits without a unit."""
    draft = chain(rng)
    day = draft.day[-2:]
    draft.returns(draft.look, of_month='row["$day"][-2:]')
    draft.second.answer = draft.day if mended else day
    return draft.bundle()


@cheat("gold_answer")
def answer_is_wrong(rng: Random, mended: bool) -> Bundle:
    """No tool gives what is said to be the answer."""
    draft = chain(rng)
    draft.second.answer = draft.day if mended else draft.others(draft.theme.day)[0]
    return draft.bundle()


@cheat("complete")
def gold_is_missing(rng: Random, mended: bool) -> Bundle:
    """The document has no gold calls."""
    draft = chain(rng)
    draft.more = {} if mended else {"gold": [], "status": "unverified"}
    return draft.bundle()


@cheat("document")
def graph_is_broken(rng: Random, mended: bool) -> Bundle:
    """The scenario type does not fit the sub-tasks."""
    draft = chain(rng)
    draft.more = {} if mended else {"scenario_type": "Parallel Single-Hop"}
    return draft.bundle()


@cheat("reward")
def earns_more_than_declared(rng: Random, mended: bool) -> Bundle:
    """A gold call holds the answer of a later call of the same tool."""
    draft = chain(rng)
    theme = draft.theme
    rows = draft.rows
    start = rows.index(draft.gold) + 1
    later = [*rows[start:], *rows[:start]]
    other = next(r for r in later if r[theme.option] != theme.options[0])
    arguments = {
        theme.holder: {**draft.first.arguments[theme.holder], "value": other[theme.holder]},
        theme.option: {**draft.first.arguments[theme.option], "value": other[theme.option]},
    }
    for name, argument in arguments.items():
        values = dict.fromkeys(r[name] for r in rows if r[name] != other[name])
        argument["neighbours"] = [*values][:4]
    asked = f"{other[theme.holder]} / {other[theme.option]}: {theme.code_word}?"
    draft.question += f" {asked}"
    draft.steps.append(StepDraft(asked, other[theme.code], theme.find, arguments))
    after = "ROWS[sorted(ROWS)[sorted(ROWS).index(row['$code']) - 1]]"
    step = later.index(other) + 1
    following = f"list(ROWS)[(list(ROWS).index(row['$code']) + {step}) % {len(rows)}]"
    draft.returns(draft.find, near=f"{after}['$fee']" if mended else following)
    return draft.bundle()


@cheat("guessable")
def solved_by_examples(rng: Random, mended: bool) -> Bundle:
    """The examples of the schema solve a sub-task that is not about the example."""
    draft = chain(rng)
    theme = draft.theme
    draft.look.parameters[theme.code].pop("examples", None)
    example = draft.others(theme.holder)[0] if mended else draft.gold[theme.holder]
    draft.find.parameters[theme.holder]["examples"] = [example]
    option = draft.find.parameters[theme.option]
    option.pop("default", None)
    names = option["enum"]
    option["enum"] = sorted(names, key=lambda n: n != draft.gold[theme.option])
    return draft.bundle()


@cheat("identifying_argument")
def nothing_identifies(rng: Random, mended: bool) -> Bundle:
    """Every argument is said to shape the result only."""
    draft = chain(rng)
    if not mended:
        for name in (draft.theme.holder, draft.theme.option):
            draft.first.arguments[name] = modifying(draft.gold[name])
    return draft.bundle()


@cheat("only_gold")
def neighbours_are_not_named(rng: Random, mended: bool) -> Bundle:
    """Nobody names another existing code."""
    draft = chain(rng)
    theme = draft.theme
    draft.look.parameters[theme.code].pop("examples", None)
    if not mended:
        draft.second.arguments[theme.code]["neighbours"] = []
    return draft.bundle()


@cheat("only_gold")
def neighbours_all_fail(rng: Random, mended: bool) -> Bundle:
    """The neighbours of the gold value do not exist."""
    draft = chain(rng)
    theme = draft.theme
    draft.look.parameters[theme.code].pop("examples", None)
    if not mended:
        made = [f"{theme.prefix}-{n}" for n in range(1003, 1102, 29)]
        draft.second.arguments[theme.code]["neighbours"] = made
    return draft.bundle()
