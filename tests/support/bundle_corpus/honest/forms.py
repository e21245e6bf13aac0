"""Honest bundles whose arguments fit together, or are written in a form of their own."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.drafts import Draft, Fields, begin, identifying
from bundle_corpus.honest.lookups import TEXT, other
from bundle_corpus.kinds import honest
from bundle_corpus.words import amounts, cities, codes, people, word

_SMALL, _TEENS, _TENS = (
    words.split()
    for words in (
        "zero one two three four five six seven eight nine ten eleven twelve",
        "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
        "twenty thirty forty",
    )
)
_CHINESE = "零一二三四五六七八九"


def _orders(rng: Random, each: int) -> tuple[Draft, list[tuple[str, str, str]]]:
    """A desk that tells the parcel of an order to who knows both its number and an address."""
    draft = begin(rng, "e_commerce", "Orders of a shop", "网店订单")
    mails = [f"{word(rng, 5)}.{word(rng, 6)}@example.{end}" for end in ("org", "com", "net", "org")]
    numbers, parcels = codes(rng, "OR", each * 4), codes(rng, "PC", each * 4)
    rows = [(n, mails[i % 4], p) for i, (n, p) in enumerate(zip(numbers, parcels, strict=True))]
    draft.has("ORDERS", {n: {"mail": m, "parcel": p} for n, m, p in rows})
    draft.tool(
        "order_parcel",
        draft.says(
            "Give the parcel of an order to who ordered it.", "凭订单号和邮箱查询订单的包裹号。"
        ),
        {"order": TEXT, "email": {"type": "string", "minLength": 3}},
        """
        row = ORDERS.get(order)
        if row is None or row["mail"] != email.strip().casefold():
            raise ValueError(f"No order {order!r} was made with {email!r}; both stand on the receipt.")
        return {"parcel": row["parcel"]}
        """,
    )
    return draft, rows


def _ask_order(
    draft: Draft, gold: tuple[str, str, str], orders: list[str], mails: list[str]
) -> None:
    number, mail, parcel = gold
    asked = draft.says(
        f"In which parcel is order {number}, made with {mail}?",
        f"用{mail} 下的订单{number}在哪个包裹里？",
    )
    arguments = {"order": identifying(number, *orders), "email": identifying(mail, *mails)}
    draft.step(asked, parcel, "order_parcel", **arguments)


@honest
def composite_key(rng: Random) -> Bundle:
    """Two arguments that identify and only fit together: a number and an address, in pairs."""
    draft, rows = _orders(rng, 1)
    gold = rng.choice(rows)
    others = [r for r in rows if r is not gold]
    _ask_order(draft, gold, [r[0] for r in others], [r[1] for r in others])
    return draft.bundle()


@honest
def guarded_record(rng: Random) -> Bundle:
    """An address guards records: other ones fail, and other numbers of the same one do not."""
    draft, rows = _orders(rng, rng.randint(3, 5))
    gold = rng.choice(rows)
    own = [r[0] for r in rows if r[1] == gold[1] and r is not gold]
    _ask_order(draft, gold, own, [f"{word(rng, 6)}@example.org" for _ in range(3)])
    return draft.bundle()


def _in_words(number: int, language: str) -> str:
    """A number below 50 as a text writes it."""
    tens, ones = divmod(number, 10)
    if language == "zh":
        start = "" if not tens else "十" if tens == 1 else f"{_CHINESE[tens]}十"
        return start + (_CHINESE[ones] if ones or not tens else "")
    if number < len(_SMALL):
        return _SMALL[number]
    return (
        _TEENS[number - 13]
        if tens == 1
        else f"{_TENS[tens - 2]}-{_SMALL[ones]}".removesuffix("-zero")
    )


@honest
def numbers_in_words(rng: Random) -> Bundle:
    """A number that the question writes in words."""
    draft = begin(rng, "legal", "Fees of the town", "市政收费条例")
    rules = [draft.says(f"Rules of {c}", f"{c}条例") for c in cities(rng, draft.language, 4)]
    count = rng.randint(34, 45)
    table = {r: dict(enumerate(amounts(rng, count), 1)) for r in rules}
    draft.has("FEES", table)
    draft.tool(
        "fee_of_article",
        draft.says("Give the fee that an article sets.", "查询条例某一条规定的费用。"),
        {"rules": TEXT, "article": {"type": "integer", "minimum": 1}},
        """
        own = FEES.get(rules)
        if own is None:
            raise ValueError(f"There are no rules called {rules!r}; give their whole title.")
        if article not in own:
            raise ValueError(f"There is no article {article} in them; the last one is {len(own)}.")
        return {"fee": own[article] + " EUR"}
        """,
    )
    title, number = rng.choice(rules), rng.randint(6, count - 4)
    said = _in_words(number, draft.language)
    asked = draft.says(
        f"Which fee does article {said} of the {title} set?",
        f"《{title}》第{said}条规定的费用是多少？",
    )
    near = [n for n in rng.sample(range(1, count), 5) if n != number]
    arguments = {
        "rules": identifying(title, *other(rules, title)),
        "article": identifying(number, *near),
    }
    draft.step(asked, f"{table[title][number]} EUR", "fee_of_article", **arguments)
    return draft.bundle()


@honest
def virtual_paths(rng: Random) -> Bundle:
    """A path in a tree that is data, whose errors name the folders that there are."""
    draft = begin(rng, "developer_tools", "Files of an office", "办公文件库")
    root = rng.choice(["finance", "projects", "archive"])
    parts = [f"/{root}/{word(rng)}" for _ in range(3)]
    folders = [f"{part}/{year}" for part in parts for year in rng.sample(range(2018, 2027), 4)]
    keepers = dict(zip(folders, codes(rng, "KP", 12), strict=True))
    draft.has("FOLDERS", keepers)
    draft.tool(
        "keeper_of",
        draft.says("Say under which code a folder is kept.", "查询文件夹的保管编号。"),
        {"folder": {"type": "string", "pattern": "^/", "description": f"/{root}/..."}},
        """
        if folder not in FOLDERS:
            beside = [f for f in FOLDERS if f.startswith(folder.rpartition("/")[0])] or [*FOLDERS]
            raise ValueError(f"There is no folder {folder}; there are {', '.join(beside[:6])}.")
        return {"folder": folder, "keeper": FOLDERS[folder]}
        """,
    )
    folder = rng.choice(folders)
    asked = draft.says(
        f"Under which code is the folder {folder} kept?", f"文件夹 {folder} 的保管编号是多少？"
    )
    argument = identifying(folder, *other(folders, folder))
    draft.step(asked, keepers[folder], "keeper_of", folder=argument)
    return draft.bundle()


@honest
def cursor_from_before(rng: Random) -> Bundle:
    """A list that goes on where an earlier result of the same tool says, for the same subject."""
    draft = begin(rng, "customer_support", "Tickets of a help desk", "客服工单")
    names = people(rng, draft.language, 4)
    rows: list[Fields] = [
        {"ticket": t, "agent": names[i % 4], "mark": f"n{i * 7919 % 8999 + 1000}"}
        for i, t in enumerate(codes(rng, "TK", 28))
    ]
    draft.has("TICKETS", rows)
    draft.tool(
        "list_tickets",
        draft.says(
            "List the tickets of an agent, two at a time; a cursor goes on.",
            "列出客服的工单，每次两个；游标用于继续。",
        ),
        {"agent": TEXT, "cursor": {"type": ["string", "null"], "default": None}},
        """
        own = [r for r in TICKETS if r["agent"] == agent]
        if not own:
            raise ValueError(f"Nobody named {agent!r} has tickets; give the full name as written.")
        marks = [r["mark"] for r in own]
        if cursor is not None and cursor not in marks[2::2]:
            raise ValueError(f"The list of {agent} does not go on at {cursor!r}; begin without one.")
        at = 0 if cursor is None else marks.index(cursor)
        return {"tickets": [r["ticket"] for r in own[at : at + 2]], "next": (marks[at + 2 :] or [None])[0]}
        """,
    )
    name = rng.choice(names)
    own = [r for r in rows if r["agent"] == name]
    first = draft.says(f"Which is the first ticket of {name}?", f"{name}的第一个工单编号是多少？")
    second = draft.says("And which is the fourth?", "第四个呢？")
    agent = identifying(name, *other(names, name))
    marks = [r["mark"] for r in own]
    draft.step(first, own[0]["ticket"], "list_tickets", agent=agent)
    cursor = identifying(marks[2], *marks[4::2])
    draft.step(second, own[3]["ticket"], "list_tickets", agent=agent, cursor=cursor).needs = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def value_of_its_form(rng: Random) -> Bundle:
    """An argument that takes any value of a form: a multiple of four, or a full name."""
    return (_booklet if rng.random() < 0.5 else _badge)(rng)


def _booklet(rng: Random) -> Bundle:
    draft = begin(rng, "content_creation", "Booklets of a printer", "小册子印制")
    sizes: list[str] = ["A4", "A5", "B5", "A6"]
    grams = dict(zip(sizes, rng.sample(range(211, 979), 4), strict=True))
    draft.has("MILLIGRAMS", grams)
    draft.tool(
        "booklet_weight",
        draft.says(
            "Say what a booklet weighs; sheets have four pages.", "计算小册子重量，每张四页。"
        ),
        {"pages": {"type": "integer", "minimum": 4}, "size": {"type": "string", "enum": [*grams]}},
        """
        if pages % 4:
            raise ValueError(f"No booklet has {pages} pages; give a multiple of four.")
        return {"weight": f"{pages // 4 * MILLIGRAMS[size] / 100:.2f} g"}
        """,
    )
    pages, size = rng.randint(9, 60) * 4, rng.choice(sizes[1:])
    asked = draft.says(
        f"What does a booklet of {pages} pages weigh in {size}?", f"{pages}页的{size}小册子重多少？"
    )
    arguments = {"pages": identifying(pages, any_value=True), "size": identifying(size)}
    answer = f"{pages // 4 * grams[size] / 100:.2f} g"
    draft.step(asked, answer, "booklet_weight", **arguments)
    return draft.bundle()


def _badge(rng: Random) -> Bundle:
    draft = begin(rng, "human_resources", "Badges of guests", "访客胸牌")
    factor = rng.randint(31, 89)
    draft.tool(
        "badge_of",
        draft.says(
            "Give the badge of a guest by first and last name.", "按英文全名查询访客的胸牌号。"
        ),
        {"guest": {"type": "string", "minLength": 3}},
        f"""
        if not re.fullmatch("[A-Za-z]+( [A-Za-z]+)+", guest):
            raise ValueError(f"{{guest!r}} is no full name; give a first and a last name in letters.")
        total = sum(i * ord(c) for i, c in enumerate(guest, 3))
        return {{"badge": f"G-{{total * {factor} % 89989 + 10007}}"}}
        """,
    )
    guest = people(rng, "en", 1)[0]
    number = sum(i * ord(c) for i, c in enumerate(guest, 3)) * factor % 89989 + 10007
    asked = draft.says(f"Which badge does {guest} get?", f"{guest} 的胸牌号是多少？")
    draft.step(asked, f"G-{number}", "badge_of", guest=identifying(guest, any_value=True))
    return draft.bundle()
