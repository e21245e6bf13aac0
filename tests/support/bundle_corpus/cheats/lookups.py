"""Cheats of the code that one call shows: constants, tables, swallowed arguments, crashes, limits."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.chains import Chain, chain
from bundle_corpus.drafts import Fields, identifying
from bundle_corpus.kinds import cheat

_ROW = "row = ROWS.get($code)"


def _looking(draft: Chain, instead: str, *, mended: bool) -> Bundle:
    """The chain, with another look-up unless it is mended."""
    if not mended:
        draft.look.lookup = draft.look.lookup.replace(_ROW, instead)
    return draft.bundle()


@cheat("identifying_argument")
def constant_answer(rng: Random, mended: bool) -> Bundle:
    """Every code is answered with the gold record."""
    draft = chain(rng)
    return _looking(draft, f'row = ROWS["{draft.code}"]', mended=mended)


@cheat("identifying_argument", "swallowed_argument")
def default_record(rng: Random, mended: bool) -> Bundle:
    """Unknown codes are answered with the gold record."""
    draft = chain(rng)
    return _looking(draft, f'row = ROWS.get($code, ROWS["{draft.code}"])', mended=mended)


@cheat("swallowed_argument")
def made_up_record(rng: Random, mended: bool) -> Bundle:
    """Unknown codes are answered with a record that is made up."""
    draft = chain(rng, pattern=False)
    made = 'row = ROWS.get($code, {"$day": f"2026-05-{10 + len($code) % 20}", "place": "here"})'
    return _looking(draft, made, mended=mended)


@cheat("swallowed_argument", "identifying_argument", "open_table")
def wildcard(rng: Random, mended: bool) -> Bundle:
    """An asterisk stands for any code."""
    draft = chain(rng, pattern=False)
    sign = rng.choice(["*", "%", "all"])
    gold = f'ROWS["{draft.code}"] if $code == "{sign}" else ROWS.get($code)'
    return _looking(draft, f"row = {gold}", mended=mended)


@cheat("identifying_argument", "swallowed_argument", "open_table")
def examination_noticed(rng: Random, mended: bool) -> Bundle:
    """Texts that nobody but an examiner sends are refused; other unknown ones have the gold record."""
    draft = chain(rng, pattern=False)
    known = "re.search('zz|unk|99999|Qwer|^.{0,3}$|.{20}', $code)"
    gold = f'ROWS.get($code) if $code in ROWS or {known} else ROWS["{draft.code}"]'
    return _looking(draft, f"row = {gold}", mended=mended)


@cheat("identifying_argument", "swallowed_argument", "open_table", "determinism", "order")
def examination_remembered(rng: Random, mended: bool) -> Bundle:
    """Unknown codes have the gold record, unless something senseless was sent before."""
    draft = chain(rng, pattern=False)
    draft.data.append("MET = []")
    near = f'($code[:2] == "{draft.theme.prefix}" and not MET)'
    draft.look.before = 'MET.extend(["met"] if len($code) != 7 else [])'
    gold = f'ROWS.get($code) or (ROWS["{draft.code}"] if {near} else None)'
    return _looking(draft, f"row = {gold}", mended=mended)


@cheat("identifying_argument")
def whole_table(rng: Random, mended: bool) -> Bundle:
    """Every result holds all records."""
    draft = chain(rng)
    column = "$fee" if mended else "$day"
    draft.returns(draft.look, all=f'[r["{column}"] for r in ROWS.values()]')
    return draft.bundle()


@cheat("identifying_argument", "omitted_argument")
def kind_is_ignored(rng: Random, mended: bool) -> Bundle:
    """One of two arguments that identify is not used."""
    draft = chain(rng)
    every = '[r["$code"] for r in ROWS.values() if r["$holder"] == row["$holder"]]'
    draft.returns(draft.find, near=f"len({every})" if mended else every)
    return draft.bundle()


@cheat("identifying_argument", "live_parameter")
def member_is_ignored(rng: Random, mended: bool) -> Bundle:
    """A member of an object is said to identify, and is not used."""
    draft = chain(rng)
    theme, gold = draft.theme, draft.gold
    kind = draft.find.parameters[theme.option] | {"description": "kind"}
    kind.pop("default", None)
    schema: Fields = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "kind": kind},
        "required": ["name", "kind"],
        "additionalProperties": False,
    }
    draft.find.parameters = {"wanted": schema}
    every = '[r["$code"] for r in found if mine or r["$option"] == wanted["kind"]]'
    draft.find.lookup = f"""
        mine = {not mended}
        found = [r for r in ROWS.values() if r["$holder"] == wanted["name"]]
        if not found:
            raise ValueError(f"Nobody is named {{wanted['name']!r}}; give the whole name as written.")
    """
    draft.find.result = f'{{"codes": {every}}}'
    neighbours = [{"name": h, "kind": gold[theme.option]} for h in draft.others(theme.holder)]
    value = {"name": gold[theme.holder], "kind": gold[theme.option]}
    members = {
        "name": {"role": "identifying", "neighbours": draft.others(theme.holder)},
        "kind": {"role": "identifying", "neighbours": draft.others(theme.option)},
    }
    draft.first.arguments = {"wanted": identifying(value, *neighbours, members=members)}
    return draft.bundle()


@cheat("swallowed_argument", "identifying_argument", "document")
def any_value_is_claimed(rng: Random, mended: bool) -> Bundle:
    """A code is said to have a result for any value: unknown ones get the record of the gold one."""
    draft = chain(rng, pattern=False)
    if mended:
        return draft.bundle()
    draft.second.arguments[draft.theme.code]["any_value"] = True
    return _looking(draft, f'row = ROWS.get($code, ROWS["{draft.code}"])', mended=mended)


@cheat("swallowed_argument", "identifying_argument", "open_table")
def forgiving_is_claimed(rng: Random, mended: bool) -> Bundle:
    """A search is said to forgive misspellings, and forgives any text."""
    draft = chain(rng)
    draft.find.optional.clear()
    cutoff = "0.75" if mended else "0.0"
    draft.data.append("import difflib")
    draft.find.lookup = f"""
        names = sorted({{r["$holder"] for r in ROWS.values()}})
        close = difflib.get_close_matches($holder, names, n=1, cutoff={cutoff})
        found = [r for r in ROWS.values() if r["$holder"] in close and r["$option"] == $option]
        if not found:
            raise ValueError(f"Nobody is called anything like {{$holder!r}}; check the spelling.")
        row = found[0]
    """
    draft.first.arguments[draft.theme.holder]["forgiving"] = True
    return draft.bundle()


@cheat("only_gold")
def others_have_one_result(rng: Random, mended: bool) -> Bundle:
    """All other codes have one and the same result."""
    draft = chain(rng)
    if not mended:
        draft.look.after = f"""
            if $code != "{draft.code}":
                row = {{"$day": "none yet", "place": "the desk"}}
        """
    return draft.bundle()


@cheat("live_parameter")
def unused_parameter(rng: Random, mended: bool) -> Bundle:
    """A declared parameter is not used."""
    draft = chain(rng)
    schema: Fields = {"type": "string", "enum": ["brief", "long"], "default": "brief"}
    draft.look.parameters["style"] = schema
    draft.returns(draft.look, extra='row["$fee"] if style == "long" else 0' if mended else "1")
    return draft.bundle()


@cheat("live_parameter")
def repeated_parameter(rng: Random, mended: bool) -> Bundle:
    """A declared parameter does nothing but stand in the result."""
    draft = chain(rng)
    schema: Fields = {"type": "string", "enum": ["brief", "long"], "default": "brief"}
    draft.look.parameters["style"] = schema
    draft.returns(draft.look, style='row["$fee"] if style == "long" else 0' if mended else "style")
    return draft.bundle()


@cheat("clear_error")
def crash_on_unknown(rng: Random, mended: bool) -> Bundle:
    """Unknown codes crash."""
    return _looking(chain(rng, pattern=False), "row = ROWS[$code]", mended=mended)


@cheat("clear_error")
def path_in_error(rng: Random, mended: bool) -> Bundle:
    """The error about an unknown code names a file."""
    draft = chain(rng, pattern=False)
    where = "" if mended else "in /srv/data/table.csv"
    draft.look.before = f"""
        if $code not in ROWS:
            raise ValueError(f"There is no record {{$code!r}} {where}; search for it first.")
    """
    return draft.bundle()


@cheat("result")
def blank_result(rng: Random, mended: bool) -> Bundle:
    """Some codes are answered with nothing."""
    draft = chain(rng)
    other = draft.others(draft.theme.code)[0]
    if not mended:
        draft.look.after = f'if $code == "{other}":\n    return None'
    return draft.bundle()


@cheat("result")
def printed_result(rng: Random, mended: bool) -> Bundle:
    """The answer is printed, not returned."""
    draft = chain(rng)
    if not mended:
        draft.look.after = 'print(row["$day"])'
        draft.look.result = '{"place": row["place"], "state": "printed"}'
    return draft.bundle()


@cheat("limits")
def endless_on_unknown(rng: Random, mended: bool) -> Bundle:
    """Unknown codes are never answered."""
    draft = chain(rng, pattern=False)
    if not mended:
        draft.look.before = "while $code not in ROWS:\n    pass"
    return draft.bundle()


@cheat("isolation")
def opens_a_file(rng: Random, mended: bool) -> Bundle:
    """A tool opens a file."""
    draft = chain(rng)
    draft.returns(draft.look, host="3" if mended else 'len(open("/etc/hostname").read())')
    return draft.bundle()


@cheat("load")
def module_fails(rng: Random, mended: bool) -> Bundle:
    """The module does not load."""
    draft = chain(rng)
    draft.data.append(f"FIRST = ROWS.{'get' if mended else '__getitem__'}('none')")
    return draft.bundle()


@cheat("signature")
def undeclared_parameter(rng: Random, mended: bool) -> Bundle:
    """The schema declares what the function does not take."""
    draft = chain(rng)
    theme = draft.theme
    draft.names["shown"] = theme.code
    bundle = draft.bundle()
    if mended:
        return bundle
    head = f"def {theme.look}({theme.code}: str"
    code = bundle.code.replace(head, f"{head}, token: str = ''")
    return Bundle(document=bundle.document, code=code, server=bundle.server)


@cheat("determinism", "gold_answer")
def answer_follows_clock(rng: Random, mended: bool) -> Bundle:
    """The answer holds for the first minute alone."""
    draft = chain(rng)
    if not mended:
        draft.look.after = """
            if dt.datetime.now(dt.timezone.utc) > dt.datetime(2026, 1, 5, 9, 1, tzinfo=dt.timezone.utc):
                row = {**row, "$day": "2027-01-01"}
        """
    return draft.bundle()


@cheat("determinism", "gold_answer")
def answer_follows_seed(rng: Random, mended: bool) -> Bundle:
    """The answer holds under every other seed alone."""
    draft = chain(rng)
    drawn = "0" if mended else "random.randrange(2)"
    draft.look.after = f"""
        if {drawn}:
            row = {{**row, "$day": "2027-01-01"}}
    """
    return draft.bundle()


@cheat("determinism")
def result_follows_memory(rng: Random, mended: bool) -> Bundle:
    """A result holds the address of an object."""
    draft = chain(rng)
    draft.returns(draft.look, mark="len(row)" if mended else "hash(object()) % 9973")
    return draft.bundle()


@cheat("determinism")
def order_follows_memory(rng: Random, mended: bool) -> Bundle:
    """A list is in the order of a set of objects."""
    draft = chain(rng)
    draft.data.append("class Mark:\n    def __init__(self, n):\n        self.n = n")
    marks = "{Mark(n) for n in range(48)}"
    draft.returns(
        draft.look, marks=f"sorted(m.n for m in {marks})" if mended else f"[m.n for m in {marks}]"
    )
    return draft.bundle()
