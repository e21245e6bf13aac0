"""Honest bundles that look things up: chains, parallel calls, nested shapes and filters."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.chains import chain
from bundle_corpus.drafts import Draft, Fields, begin, identifying
from bundle_corpus.kinds import honest
from bundle_corpus.words import amounts, cities, codes, people, word

TEXT: Fields = {"type": "string", "minLength": 1}


def other(values: list[str], gold: str) -> list[str]:
    """Up to four values but the gold one."""
    return [v for v in values if v != gold][:4]


@honest
def english_chain(rng: Random) -> Bundle:
    """A code, and what it leads to, in English."""
    return chain(rng, language="en").bundle()


@honest
def chinese_chain(rng: Random) -> Bundle:
    """A code, and what it leads to, in Chinese."""
    return chain(rng, language="zh").bundle()


@honest
def single_lookup(rng: Random) -> Bundle:
    """One call with two arguments."""
    draft = begin(rng, "government", "Opening hours of offices", "办事大厅开放时间")
    week = ["Monday", "Wednesday", "Friday", "Saturday"]
    places = cities(rng, draft.language, 4)
    times = rng.sample(range(7 * 60, 12 * 60), 16)
    hours = {
        place: {
            d: f"{t // 60:02}:{t % 60:02} - {t // 60 + 7:02}:{t * 7 % 60:02}"
            for d, t in zip(week, times[4 * i :], strict=False)
        }
        for i, place in enumerate(places)
    }
    draft.has("HOURS", hours)
    place, day = rng.choice(places), rng.choice(week[1:])
    draft.tool(
        "opening_hours",
        draft.says(
            "Say when an office is open on a day of the week.", "查询某地办事大厅在某天的开放时间。"
        ),
        {"place": TEXT, "weekday": {"type": "string", "enum": week}},
        """
        if place not in HOURS:
            raise ValueError(f"There is no office in {place!r}; give the name of a city.")
        return {"place": place, "open": HOURS[place][weekday]}
        """,
    )
    asked = draft.says(
        f"When is the office in {place} open on {day}s?", f"{place}的办事大厅{day}几点到几点开放？"
    )
    arguments = {"place": identifying(place, *other(places, place)), "weekday": identifying(day)}
    draft.step(asked, hours[place][day], "opening_hours", **arguments)
    return draft.bundle()


def _levels(rng: Random) -> tuple[Draft, list[str], dict[str, str]]:
    draft = begin(rng, "weather", "River gauges", "河流水位站")
    places = cities(rng, draft.language, 6)
    levels = {p: f"{a} m" for p, a in zip(places, amounts(rng, 6), strict=True)}
    draft.has("LEVELS", levels)
    draft.tool(
        "water_level",
        draft.says("Give the level at a gauge.", "查询一个水位站的水位。"),
        {"gauge": TEXT},
        """
        level = LEVELS.get(gauge)
        if level is None:
            raise ValueError(f"There is no gauge at {gauge!r}; give the name of a city.")
        return {"gauge": gauge, "level": level}
        """,
    )
    return draft, places, levels


def _ask_levels(draft: Draft, places: list[str], levels: dict[str, str], count: int) -> None:
    for place in places[:count]:
        asked = draft.says(f"How high does the water stand at {place}?", f"{place}的水位是多少？")
        gauge = identifying(place, *other(places, place))
        draft.step(asked, levels[place], "water_level", gauge=gauge)
    draft.question = " ".join(step.question for step in draft.steps)


@honest
def parallel_lookups(rng: Random) -> Bundle:
    """Several independent calls of one tool."""
    draft, places, levels = _levels(rng)
    _ask_levels(draft, places, levels, rng.randint(2, 4))
    return draft.bundle()


@honest
def compared_lookups(rng: Random) -> Bundle:
    """Two calls, and a comparison that needs no tool."""
    draft, places, levels = _levels(rng)
    _ask_levels(draft, places, levels, 2)
    higher = max(places[:2], key=lambda p: float(levels[p].split()[0]))
    asked = draft.says("At which of the two does it stand higher?", "两地哪一处更高？")
    draft.step(asked, higher, None).needs = (1, 2)
    draft.question += f" {asked}"
    return draft.bundle()


@honest
def three_hops(rng: Random) -> Bundle:
    """A person's team, the team's room, the room's telephone."""
    draft = begin(rng, "human_resources", "Staff directory", "员工通讯录")
    names = people(rng, draft.language, 6)
    teams, rooms = codes(rng, "TM", 6), codes(rng, "RM", 6)
    phones = [f"+49 {n} {n * 3 % 9000 + 1000}" for n in rng.sample(range(200, 900), 6)]
    gold = rng.randrange(6)
    questions = (
        (f"Which team does {names[gold]} belong to", f"{names[gold]}属于哪个团队"),
        ("which room does that team sit in", "这个团队在哪个房间"),
        ("what is the telephone number of that room", "这个房间的电话是多少"),
    )
    columns = (names, teams, rooms, phones)
    for step, (tool, key) in enumerate(
        (("team_of", "person"), ("room_of", "team"), ("phone_of", "room"))
    ):
        table = dict(zip(columns[step], columns[step + 1], strict=True))
        draft.has(f"TABLE_{step}", table)
        draft.tool(
            tool,
            draft.says(f"Look up by {key}.", f"按 {key} 查询。"),
            {key: {"type": "string", "minLength": 2}},
            f"""
            if {key} not in TABLE_{step}:
                raise ValueError(f"The directory does not know the {key} {{{key}!r}}.")
            return {{"found": TABLE_{step}[{key}]}}
            """,
        )
        value = identifying(columns[step][gold], *other(columns[step], columns[step][gold]))
        english, chinese = questions[step]
        made = draft.step(
            draft.says(f"{english}?", f"{chinese}？"), columns[step + 1][gold], tool, **{key: value}
        )
        made.needs = (step,) if step else ()
    draft.question = draft.says(
        ", ".join(q for q, _ in questions) + "?", "，".join(q for _, q in questions) + "？"
    )
    return draft.bundle()


@honest
def wide_and_deep(rng: Random) -> Bundle:
    """Two chains side by side: four sub-tasks on two levels."""
    draft = chain(rng)
    theme = draft.theme
    second = next(
        r
        for r in draft.rows
        if r[theme.holder] != draft.gold[theme.holder]
        and r[theme.option] != draft.gold[theme.option]
    )
    asked = draft.says(
        f"And the {second[theme.option]} {theme.thing} of {second[theme.holder]}: what is its "
        f"{theme.code_word}, and {theme.day_question}?",
        f"还有{second[theme.holder]}的{second[theme.option]}{theme.thing}：{theme.code_word}是多少，{theme.day_question}？",
    )
    draft.question += f" {asked}"
    for index, names in enumerate(((theme.holder, theme.option), (theme.code,))):
        arguments = {
            n: identifying(second[n], *other([str(r[n]) for r in draft.rows], second[n]))
            for n in names
        }
        answer = second[theme.day if index else theme.code]
        step = draft.step(asked, answer, draft.tools[index].name, **arguments)
        step.needs = (3,) if index else ()
    draft.answer = ""
    return draft.bundle()


@honest
def nested_argument(rng: Random) -> Bundle:
    """The record is picked by two members of an object."""
    draft = begin(rng, "maps_and_geolocation", "Postal districts", "邮政分区")
    places, streets = cities(rng, draft.language, 4), [word(rng).title() for _ in range(3)]
    drawn = rng.sample(range(10103, 98989), 12)
    table = {f"{p}/{s}": f"D-{drawn.pop()}" for p in places for s in streets}
    draft.has("DISTRICTS", table)
    schema: Fields = {
        "type": "object",
        "properties": {"city": TEXT, "street": {"type": "string", "examples": streets[1:]}},
        "required": ["city", "street"],
        "additionalProperties": False,
    }
    draft.tool(
        "district_of",
        draft.says("Give the postal district of an address.", "查询地址所属的邮政分区。"),
        {"address": schema},
        """
        key = address["city"] + "/" + address["street"]
        if key not in DISTRICTS:
            raise ValueError(f"There is no such address: {address['street']} in {address['city']}.")
        return {"district": DISTRICTS[key]}
        """,
    )
    value = {"city": rng.choice(places), "street": streets[0]}
    members = {
        "city": {"role": "identifying", "neighbours": other(places, value["city"])},
        "street": {"role": "identifying", "neighbours": streets[1:]},
    }
    near = [{**value, "city": c} for c in other(places, value["city"])]
    asked = draft.says(
        f"Which postal district is {value['street']} in {value['city']}?",
        f"{value['city']}的{value['street']}属于哪个邮政分区？",
    )
    address = identifying(value, *near, members=members)
    draft.step(asked, table[f"{value['city']}/{streets[0]}"], "district_of", address=address)
    return draft.bundle()


@honest
def nested_result(rng: Random) -> Bundle:
    """A result of several levels, with its schema."""
    draft = chain(rng)
    inner = '{"dates": [{"kind": "main", "$day": row["$day"]}], "place": {"name": row["place"]}}'
    draft.look.result = f'{{"record": {inner}}}'
    draft.look.output = {
        "type": "object",
        "properties": {"record": {"type": "object", "required": ["dates", "place"]}},
        "required": ["record"],
    }
    return draft.bundle()


@honest
def text_result(rng: Random) -> Bundle:
    """Results are sentences."""
    draft = chain(rng)
    draft.find.result = "f\"The code is {row['$code']}.\""
    draft.look.result = "f\"It is {row['$day']}, at {row['place']}.\""
    return draft.bundle()


@honest
def several_filters(rng: Random) -> Bundle:
    """Three enumerations that together leave one record."""
    draft = begin(rng, "real_estate", "Flats to let", "出租房源")
    floors, sides, heats = (
        ["ground", "middle", "top"],
        ["north", "south", "garden"],
        ["gas", "oil", "heat pump"],
    )
    flats = codes(rng, "FL", 27)
    rows = [
        {"code": c, "floor": f, "side": s, "heating": h}
        for c, (f, s, h) in zip(
            flats, ((f, s, h) for f in floors for s in sides for h in heats), strict=True
        )
    ]
    draft.has("FLATS", rows)
    draft.tool(
        "filter_flats",
        draft.says("List the flats of one kind.", "按条件列出房源。"),
        {
            "floor": {"type": "string", "enum": floors},
            "side": {"type": "string", "enum": sides},
            "heating": {"type": "string", "enum": heats},
        },
        """
        wanted = {"floor": floor, "side": side, "heating": heating}
        return [r["code"] for r in FLATS if all(r[n] == v for n, v in wanted.items())]
        """,
    )
    gold = rng.choice([r for r in rows if "ground" not in r.values() or r["side"] != "north"])
    wanted = f"{gold['floor']}, {gold['side']}, {gold['heating']}"
    asked = draft.says(f"Which flat is this ({wanted})?", f"符合（{wanted}）的房源编号是多少？")
    arguments = {n: identifying(gold[n]) for n in ("floor", "side", "heating")}
    draft.step(asked, gold["code"], "filter_flats", **arguments)
    return draft.bundle()


@honest
def nullable_option(rng: Random) -> Bundle:
    """An optional argument that may be null, and one without default."""
    draft = chain(rng)
    draft.look.parameters["since"] = {
        "type": ["string", "null"],
        "default": None,
        "examples": ["2026-04-01"],
    }
    draft.look.parameters["columns"] = {
        "type": "array",
        "items": {"type": "string", "enum": ["fee", "place"]},
    }
    draft.look.optional.add("columns")
    draft.returns(
        draft.look,
        later='"not asked" if since is None else row["$day"] > since',
        more='[row["$fee"] for c in columns or [] if c == "fee"]',
    )
    return draft.bundle()


@honest
def revisions(rng: Random) -> Bundle:
    """A revision of a document by its number, which the question names."""
    draft = begin(rng, "developer_tools", "Document history", "文档修订历史")
    names = [f"{word(rng)}.md" for _ in range(3)]
    table = {n: dict(enumerate(people(rng, draft.language, 6), 1)) for n in names}
    draft.has("HISTORY", table)
    draft.tool(
        "revision",
        draft.says("Say who made a revision of a document.", "查询文档某次修订的作者。"),
        {"document": TEXT, "number": {"type": "integer", "minimum": 1}},
        """
        own = HISTORY.get(document)
        if own is None:
            raise ValueError(f"There is no document {document!r}; names end in .md here.")
        if number not in own:
            raise ValueError(f"There is no revision {number} of it; the last one is {len(own)}.")
        return {"document": document, "revision": number, "author": own[number]}
        """,
    )
    name, number = rng.choice(names), rng.randint(2, 5)
    asked = draft.says(
        f"Who made revision {number} of {name}?", f"{name}的第{number}次修订是谁做的？"
    )
    others = [n for n in (1, 3, 4, 6) if n != number]
    arguments = {
        "document": identifying(name, *other(names, name)),
        "number": identifying(number, *others),
    }
    draft.step(asked, table[name][number], "revision", **arguments)
    return draft.bundle()


@honest
def reading_hints(rng: Random) -> Bundle:
    """Tools that say, truly, that they only read."""
    draft = chain(rng)
    for tool in draft.tools:
        tool.hints = {"readOnlyHint": True, "idempotentHint": True}
    return draft.bundle()
