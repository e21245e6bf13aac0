"""The usual bundle: find a record's code by two properties, then look up what the code leads to.

Eight themes in two languages; shapes of schemas, results and data differ by the seed.
"""

import json
from dataclasses import dataclass, field
from random import Random

from bundle_corpus.drafts import Draft, Fields, StepDraft, ToolDraft, identifying
from bundle_corpus.words import amounts, cities, codes, companies, days, people


@dataclass(frozen=True, slots=True)
class Theme:
    """What the records of a chain are, and how they are spoken of."""

    language: str
    domain: str
    title: str
    find: str
    look: str
    holder: str
    holder_word: str
    option: str
    options: tuple[str, ...]
    code: str
    code_word: str
    prefix: str
    day: str
    day_question: str
    fee: str
    unit: str
    thing: str
    of_companies: bool = False


THEMES = (
    Theme("en", "education", "Lending desk of a library", "find_book", "get_due_date", "author",
          "author", "edition", ("hardcover", "large print", "audio", "pocket"), "number",
          "catalogue number", "BK", "due", "when is it due back", "fee", "EUR", "book"),
    Theme("en", "logistics", "Parcels of a freight office", "search_parcel", "track", "sender",
          "sender", "size", ("letter", "crate", "pallet", "drum"), "tracking",
          "tracking code", "PX", "arrival", "on which day does it arrive", "charge", "GBP",
          "shipment", of_companies=True),
    Theme("en", "automotive", "Job book of a garage", "list_job", "job_status", "owner",
          "owner", "service", ("oil change", "tyre swap", "brake check", "repaint"), "job",
          "job number", "JB", "ready", "when is it ready", "price", "USD", "job"),
    Theme("en", "real_estate", "Leases of a housing office", "lease_of", "lease_terms", "tenant",
          "tenant", "unit", ("studio", "loft", "duplex", "garage"), "contract",
          "contract number", "LC", "expiry", "when does it expire", "rent", "CHF", "lease"),
    Theme("en", "healthcare", "Front desk of a clinic", "find_visit", "visit_details", "patient",
          "patient", "ward", ("cardiology", "dental", "radiology", "eye care"), "visit",
          "visit number", "VN", "day", "on which day is it", "copay", "EUR", "visit"),
    Theme("zh", "logistics", "同城快递查询台", "find_waybill", "waybill_details", "recipient",
          "收件人", "category", ("文件", "生鲜", "家电", "图书"), "waybill", "运单号", "YD",
          "arrives_on", "哪一天送达", "freight", "元", "快件"),
    Theme("zh", "healthcare", "社区医院预约台", "find_booking", "booking_details", "patient",
          "患者", "department", ("内科", "口腔科", "眼科", "皮肤科"), "booking", "预约号", "YY",
          "visit_day", "就诊日是哪天", "deposit", "元", "预约"),
    Theme("zh", "real_estate", "物业租约档案", "find_lease", "lease_details", "tenant", "租客",
          "layout", ("一居室", "两居室", "复式", "车位"), "lease", "合同号", "HT", "ends_on",
          "哪天到期", "deposit", "元", "租约"),
)  # fmt: skip


@dataclass(slots=True)
class Chain(Draft):
    """A draft of two tools over one table, with names for what kinds change."""

    theme: Theme = THEMES[0]
    rows: list[Fields] = field(default_factory=list[Fields])
    gold: Fields = field(default_factory=Fields)
    """The record of the question."""

    @property
    def find(self) -> ToolDraft:
        """The tool that finds the code."""
        return self.tools[0]

    @property
    def look(self) -> ToolDraft:
        """The tool that looks up what the code leads to."""
        return self.tools[1]

    @property
    def first(self) -> StepDraft:
        """The step that finds the code."""
        return self.steps[0]

    @property
    def second(self) -> StepDraft:
        """The step that looks it up."""
        return self.steps[1]

    @property
    def code(self) -> str:
        """The code of the question's record."""
        return str(self.gold[self.theme.code])

    @property
    def day(self) -> str:
        """The day of the question's record."""
        return str(self.gold[self.theme.day])

    def others(self, name: str, count: int = 4) -> list[str]:
        """Values of a column in other records."""
        values = dict.fromkeys(str(r[name]) for r in self.rows)
        return [v for v in values if v != self.gold[name]][:count]

    def returns(self, tool: ToolDraft, **members: str) -> None:
        """Add members to a tool's result, each with its expression."""
        added = ", ".join(f'"{name}": {value}' for name, value in members.items())
        tool.result = tool.result.replace('{"$', "{" + added + ', "$', 1)


def chain(rng: Random, *, pattern: bool | None = None, language: str | None = None) -> Chain:
    """Draw a chain; ``pattern`` says whether the schema of the code has one."""
    theme = rng.choice([t for t in THEMES if language in (None, t.language)])
    rows = _rows(rng, theme)
    has_pattern = rng.random() < 0.5
    draft = Chain(
        name="chain",
        language=theme.language,
        domain=theme.domain,
        title=theme.title,
        description=_says(
            theme, f"Find a {theme.thing}, then its terms.", f"先查{theme.thing}，再查详情。"
        ),
        theme=theme,
        rows=rows,
        gold=rng.choice([r for r in rows if r[theme.option] != theme.options[0]]),
    )
    draft.names = {
        name: getattr(theme, name) for name in ("holder", "option", "code", "day", "fee", "thing")
    }
    draft.data.append(_table(rng, theme, rows))
    draft.tools += [
        _find(rng, draft),
        _look(rng, draft, has_pattern if pattern is None else pattern),
    ]
    _ask(draft)
    return draft


def _says(theme: Theme, english: str, chinese: str) -> str:
    return chinese if theme.language == "zh" else english


def _rows(rng: Random, theme: Theme) -> list[Fields]:
    holders = (companies if theme.of_companies else people)(rng, theme.language, rng.randint(3, 5))
    options = theme.options[: rng.randint(3, 4)]
    count = len(holders) * len(options)
    drawn = zip(
        codes(rng, theme.prefix, count),
        ((h, o) for h in holders for o in options),
        days(rng, count),
        amounts(rng, count),
        rng.choices(cities(rng, theme.language, 12), k=count),
        strict=True,
    )
    rows = [
        {
            theme.code: code,
            theme.holder: holder,
            theme.option: option,
            theme.day: day,
            theme.fee: f"{fee} {theme.unit}",
            "place": place,
        }
        for code, (holder, option), day, fee, place in drawn
    ]
    rng.shuffle(rows)
    return rows


def _table(rng: Random, theme: Theme, rows: list[Fields]) -> str:
    """The table, written as objects or as lines."""
    key = f'r["{theme.code}"]'
    if rng.random() < 0.5:
        lines = ",\n    ".join(json.dumps(r, ensure_ascii=False) for r in rows)
        return f"ROWS = {{{key}: r for r in [\n    {lines},\n]}}"
    lines = "\n".join(" | ".join(r.values()) for r in rows)
    names = ", ".join(f'"{name}"' for name in rows[0])
    return (
        f'NAMES = ({names})\nLINES = """\n{lines}\n"""\n'
        "PARTS = [line.split(' | ') for line in LINES.strip().splitlines()]\n"
        f"ROWS = {{{key}: r for r in (dict(zip(NAMES, p)) for p in PARTS)}}"
    )


def _find(rng: Random, draft: Chain) -> ToolDraft:
    theme, gold = draft.theme, draft.gold
    option: Fields = {"type": "string", "description": theme.option, "enum": [*theme.options]}
    if rng.random() < 0.6:
        option["default"] = theme.options[0]
    holder: Fields = {"type": "string", "description": theme.holder_word, "minLength": 1}
    if rng.random() < 0.5:
        holder["examples"] = draft.others(theme.holder, 2)
    sorry = _says(
        theme,
        f"There is no {{$option}} {theme.thing} of a {theme.holder_word} named {{$holder!r}}.",
        f"没有{theme.holder_word}{{$holder!r}}的{{$option}}{theme.thing}，请核对姓名。",
    )
    lookup = f"""
        wanted = $holder.strip().casefold()
        found = [r for r in ROWS.values() if (r["$holder"].casefold(), r["$option"]) == (wanted, $option)]
        if not found:
            raise ValueError(f"{sorry}")
        row = found[0]
    """
    arguments = {
        theme.holder: identifying(gold[theme.holder], *draft.others(theme.holder)),
        theme.option: identifying(gold[theme.option], *draft.others(theme.option)),
    }
    names = {"holder": theme.holder_word, "thing": theme.thing, "word": theme.code_word}
    english = "Give the {word} of a {thing} by {holder} and kind."
    says = _says(theme, english, "按{holder}和类别查询{thing}的{word}。").format(**names)
    asked = _says(
        theme,
        f"What is the {theme.code_word} of the {gold[theme.option]} {theme.thing} of {gold[theme.holder]}?",
        f"{gold[theme.holder]}的{gold[theme.option]}{theme.thing}的{theme.code_word}是多少？",
    )
    draft.steps.append(StepDraft(asked, draft.code, theme.find, arguments))
    parameters = {theme.holder: holder, theme.option: option}
    result = _shaped(rng, '{"$code": row["$code"]}')
    return ToolDraft(theme.find, says, parameters, lookup, result)


def _look(rng: Random, draft: Chain, has_pattern: bool) -> ToolDraft:
    theme = draft.theme
    code: Fields = {"type": "string", "description": theme.code_word}
    if has_pattern:
        code["pattern"] = f"^{theme.prefix}-[0-9]{{4}}$"
    if rng.random() < 0.5:
        code["examples"] = draft.others(theme.code, 1)
    sorry = _says(
        theme,
        f"There is no {theme.thing} numbered {{$code!r}}; {theme.find} gives such codes.",
        f"没有编号为{{$code!r}}的{theme.thing}，请先用 {theme.find} 查询。",
    )
    lookup = f"""
        row = ROWS.get($code)
        if row is None:
            raise ValueError(f"{sorry}")
    """
    says = _says(
        theme,
        f"Give the terms of a {theme.thing} by its {theme.code_word}.",
        f"按{theme.code_word}查询{theme.thing}的详情。",
    )
    asked = _says(
        theme,
        f"About the {theme.thing} with that {theme.code_word}: {theme.day_question}?",
        f"这个{theme.code_word}对应的{theme.thing}{theme.day_question}？",
    )
    arguments = {theme.code: identifying(draft.code, *draft.others(theme.code))}
    draft.steps.append(StepDraft(asked, draft.day, theme.look, arguments, needs=(1,)))
    result = _shaped(rng, '{"$day": row["$day"], "place": row["place"]}')
    return ToolDraft(theme.look, says, {theme.code: code}, lookup, result)


def _shaped(rng: Random, members: str) -> str:
    """An expression that returns the members as an object, within one, as lines or in a list."""
    shapes = (
        members,
        f"dict($thing_key={members})",
        f'"; ".join(f"{{k}}: {{v}}" for k, v in {members}.items())',
        f'[{{"name": k, "value": v}} for k, v in {members}.items()]',
    )
    return rng.choice(shapes).replace("$thing_key", "result")


def _ask(draft: Chain) -> None:
    theme, gold = draft.theme, draft.gold
    holder, option = gold[theme.holder], gold[theme.option]
    draft.question = _says(
        theme,
        f"This is about the {option} {theme.thing} of {holder}. "
        f"What is its {theme.code_word}, and {theme.day_question}?",
        f"请查一下{holder}的{option}{theme.thing}：{theme.code_word}是多少，{theme.day_question}？",
    )
    draft.answer = f"{draft.code}, {draft.day}"
