"""Cheats that need no identifying argument: options, searches and errors that open the table."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.chains import Chain, chain
from bundle_corpus.drafts import Fields, identifying, modifying
from bundle_corpus.kinds import cheat

_DAYS = '[r["$day"] for r in ROWS.values()]'
_FEES = '[r["$fee"] for r in ROWS.values()]'


def _option(draft: Chain, name: str, schema: Fields) -> None:
    draft.look.parameters[name] = schema


@cheat("open_table")
def enum_option_opens(rng: Random, mended: bool) -> Bundle:
    """A value of an enumeration adds all records to any result."""
    draft = chain(rng)
    levels = rng.choice([["row", "sheet"], ["short", "full"], ["one", "some", "all"]])
    _option(draft, "extent", {"type": "string", "enum": levels, "default": levels[0]})
    shown = _FEES if mended else _DAYS
    draft.returns(draft.look, extra=f'{shown} if extent == "{levels[-1]}" else row["$fee"]')
    return draft.bundle()


@cheat("open_table")
def integer_option_opens(rng: Random, mended: bool) -> Bundle:
    """A number of further records shows those of all codes."""
    draft = chain(rng)
    _option(draft, "further", {"type": "integer", "minimum": 0, "maximum": 50, "default": 0})
    shown = _FEES if mended else _DAYS
    draft.returns(draft.look, extra=f"{shown}[:further]")
    return draft.bundle()


@cheat("open_table")
def null_option_opens(rng: Random, mended: bool) -> Bundle:
    """Null in place of a place adds all records to any result."""
    draft = chain(rng)
    schema: Fields = {"type": ["string", "null"], "enum": ["here", None], "default": "here"}
    _option(draft, "branch", schema)
    shown = _FEES if mended else _DAYS
    draft.returns(draft.look, extra=f'{shown} if branch is None else row["$fee"]')
    return draft.bundle()


@cheat("open_table", "identifying_argument")
def boolean_option_opens(rng: Random, mended: bool) -> Bundle:
    """A boolean adds all records to any result."""
    draft = chain(rng)
    name = rng.choice(["verbose", "history", "related"])
    _option(draft, name, {"type": "boolean", "default": False})
    shown = _FEES if mended else _DAYS
    draft.returns(draft.look, extra=f'{shown} if {name} else row["$fee"]')
    return draft.bundle()


@cheat("open_table")
def two_options_open(rng: Random, mended: bool) -> Bundle:
    """Two options together add all records to any result; each alone does not."""
    draft = chain(rng)
    _option(draft, "history", {"type": "boolean", "default": False})
    _option(draft, "style", {"type": "string", "enum": ["plain", "wide"], "default": "plain"})
    shown = _FEES if mended else _DAYS
    both = f'{shown} if history and style == "wide" else row["$fee"] if history else style.upper()'
    draft.returns(draft.look, extra=both)
    return draft.bundle()


@cheat("open_table")
def list_option_opens(rng: Random, mended: bool) -> Bundle:
    """A list of columns to show adds all records where it names one of them."""
    draft = chain(rng)
    names = ["fee", "place", "table"]
    schema: Fields = {"type": "array", "items": {"type": "string", "enum": names}, "default": []}
    _option(draft, "columns", schema)
    shown = _FEES if mended else _DAYS
    columns = f'{{"fee": row["$fee"], "place": row["place"], "table": {shown}}}'
    draft.returns(draft.look, extra=f"[{columns}[c] for c in columns]")
    return draft.bundle()


def _search(rng: Random, found: str, **more: object) -> Chain:
    """A chain whose first tool searches by one text, and gives what is found with its days."""
    draft = chain(rng, language="en")
    theme, gold = draft.theme, draft.gold
    draft.find.description = f"Search {theme.thing}s by {theme.holder_word}."
    draft.find.parameters = {"query": {"type": "string", "minLength": 1}}
    draft.find.lookup = f"""
        words = query.casefold().split()
        if not words:
            raise ValueError("The query is blank; give the name of a {theme.holder_word}.")
        found = [r for r in ROWS.values() if {found}]
        if not found:
            raise ValueError(f"Nothing matches {{query!r}}; give the name of a {theme.holder_word}.")
    """
    draft.find.result = '[{"$code": r["$code"], "$option": r["$option"]} for r in found]'
    query = identifying(gold[theme.holder], *draft.others(theme.holder), **more)
    draft.first.arguments = {"query": query}
    return draft


@cheat("open_table", "swallowed_argument")
def one_letter_finds_everyone(rng: Random, mended: bool) -> Bundle:
    """A search for any part of a name: one letter finds all."""
    matches = 'set(words) <= {*r["$holder"].casefold().split()}'
    return _search(
        rng, matches if mended else 'query.casefold() in r["$holder"].casefold()'
    ).bundle()


@cheat("open_table", "swallowed_argument", "identifying_argument")
def first_letter_finds_all(rng: Random, mended: bool) -> Bundle:
    """A search by the first letter alone: 26 calls find everybody."""
    matches = 'set(words) <= {*r["$holder"].casefold().split()}'
    first = 'any(p.startswith(words[0]) for p in r["$holder"].casefold().split())'
    return _search(rng, matches if mended else first).bundle()


@cheat("open_table", "identifying_argument", "swallowed_argument")
def any_word_finds_all(rng: Random, mended: bool) -> Bundle:
    """A search that takes a word of every record, such as the name of the kind of thing."""
    matches = 'set(words) <= {*r["$holder"].casefold().split()}'
    return _search(rng, matches if mended else f'"$thing" in words or {matches}').bundle()


@cheat("open_table")
def error_lists_table(rng: Random, mended: bool) -> Bundle:
    """The error about an unknown code lists every record with what is asked for."""
    draft = chain(rng, pattern=False)
    draft.data.append('LISTED = "; ".join(f"{k}: {r[\'$day\']}" for k, r in ROWS.items())')
    listed = "" if mended else "All there are: {LISTED}."
    draft.look.lookup = f"""
        row = ROWS.get($code)
        if row is None:
            raise ValueError(f"No record has the code {{$code!r}}; the other tool finds it. {listed}")
    """
    return draft.bundle()


@cheat("open_table")
def answer_among_hundreds(rng: Random, mended: bool) -> Bundle:
    """The gold call answers with hundreds of records, one of which is the answer."""
    draft = chain(rng)
    numbers = "range(2)" if mended else "range(600)"
    draft.find.result = f"""[row["$code"], *(
        f"{{row['$code'][:2]}}-{{(int(row['$code'][3:]) * 7 + n * 13) % 9000 + 10000}}" for n in {numbers}
    )]"""
    return draft.bundle()


@cheat("open_table")
def finding_earns_the_rest(rng: Random, mended: bool) -> Bundle:
    """The call that finds the code already holds what another tool is there for."""
    draft = chain(rng)
    draft.returns(draft.find, extra='row["$fee"]' if mended else 'row["$day"]')
    return draft.bundle()


@cheat("open_table")
def summary_holds_every_group(rng: Random, mended: bool) -> Bundle:
    """A total by group, which an option gives for all groups at once."""
    draft = chain(rng)
    theme = draft.theme
    holder, unit = draft.gold[theme.holder], theme.unit
    own = [r for r in draft.rows if r[theme.holder] == holder]
    total = sum(round(float(r[theme.fee].split()[0]) * 100) for r in own)
    draft.data.append(
        "CENTS = {}\nfor r in ROWS.values():\n"
        '    CENTS[r["$holder"]] = CENTS.get(r["$holder"], 0)'
        ' + round(float(r["$fee"].split()[0]) * 100)'
    )
    every = "len(CENTS)" if mended else "{h: c / 100 for h, c in CENTS.items()}"
    draft.tools = []
    draft.tool(
        "sum_up",
        "Add up what one name owes.",
        {
            "name": {"type": "string"},
            "compare": {"type": "string", "enum": ["none", "all"], "default": "none"},
        },
        f"""
        cents = CENTS.get(name)
        if cents is None:
            raise ValueError(f"Nobody is named {{name!r}}; give the full name as it is written.")
        if compare == "all":
            return {{"compared": {every}, "unit": "{unit}"}}
        return {{"total": f"{{cents / 100:.2f}} {unit}"}}
        """,
    )
    asked = (
        f"{holder}一共要付多少钱？"
        if draft.language == "zh"
        else f"How much does {holder} owe in all?"
    )
    draft.steps = []
    name = identifying(holder, *draft.others(theme.holder))
    answer = f"{total / 100:.2f}".rstrip("0").rstrip(".")
    draft.step(asked, answer, "sum_up", name=name)
    draft.question = asked
    return draft.bundle()


@cheat("omitted_argument")
def code_may_be_left_out(rng: Random, mended: bool) -> Bundle:
    """Without a code, the record that was found last is looked up."""
    draft = chain(rng)
    draft.data.append("LAST = []")
    draft.find.after = 'LAST.append(row["$code"])'
    draft.look.optional.add(draft.theme.code)
    known = "" if mended else "or (LAST or [None])[-1]"
    draft.look.before = f"""
        if $code is None:
            $code = $code {known}
        if $code is None:
            raise ValueError("Say which record is meant: its code is missing here.")
    """
    return draft.bundle()


@cheat("omitted_argument", "guessable", "open_table")
def all_may_be_left_out(rng: Random, mended: bool) -> Bundle:
    """Without any argument, the search answers with everything."""
    draft = chain(rng)
    every = '[r["$code"] for r in ROWS.values()]'
    refusal = 'raise ValueError("Give a name: a search needs at least that.")'
    draft.find.optional |= {draft.theme.holder}
    draft.find.before = f"""
        if $holder is None:
            {refusal if mended else f"return {{'all': {every}}}"}
    """
    return draft.bundle()


@cheat("omitted_argument")
def kind_may_be_left_out(rng: Random, mended: bool) -> Bundle:
    """Without the kind, which identifies, the search answers with all kinds."""
    draft = chain(rng)
    draft.find.parameters[draft.theme.option].pop("default", None)
    draft.find.optional |= {draft.theme.option}
    every = '[r["$code"] for r in ROWS.values() if r["$holder"].casefold() == $holder.casefold()]'
    refusal = 'raise ValueError("Say which kind is meant: a name alone has several.")'
    draft.find.before = f"""
        if $option is None:
            found = {every}
            {refusal if mended else "return found or [$holder]"}
    """
    return draft.bundle()


@cheat("omitted_argument", "open_table")
def filter_may_be_left_out(rng: Random, mended: bool) -> Bundle:
    """A filter of a list may be left out, and the list is whole then."""
    draft = chain(rng)
    theme, gold = draft.theme, draft.gold
    refusal = 'raise ValueError("Give a name, or the list would be too long.")'
    everyone = "list(ROWS.values())"
    draft.find.parameters = {
        theme.holder: draft.find.parameters[theme.holder],
        "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 20, "examples": [1]},
    }
    draft.find.optional.add(theme.holder)
    draft.find.lookup = f"""
        if $holder is None:
            {refusal if mended else f"return [r['$code'] for r in {everyone}][:limit]"}
        found = [r for r in ROWS.values() if r["$holder"].casefold() == $holder.casefold()]
        if not found:
            raise ValueError(f"Nobody is named {{$holder!r}}; give the full name as it is written.")
    """
    draft.find.result = '[{"$code": r["$code"], "$option": r["$option"]} for r in found[:limit]]'
    draft.first.arguments = {
        theme.holder: identifying(gold[theme.holder], *draft.others(theme.holder)),
        "limit": modifying(20),
    }
    return draft.bundle()
