"""Honest bundles with a memory: reservations, baskets, transfers, sessions and tickets."""

from random import Random

from astra_mcp.environments.bundle import Bundle

from bundle_corpus.chains import chain
from bundle_corpus.drafts import Draft, begin, identifying
from bundle_corpus.honest.lookups import TEXT, other
from bundle_corpus.kinds import honest
from bundle_corpus.words import codes, people, word


def _seats(rng: Random) -> tuple[Draft, list[str], dict[str, str]]:
    draft = begin(rng, "travel", "Seats of a railway", "铁路座位")
    trains = codes(rng, "TR", 5)
    seats = {
        t: f"{rng.randint(11, 89)}{rng.choice('ABCDEF')}-{n}" for n, t in enumerate(trains, 31)
    }
    draft.has("SEATS", seats)
    draft.data.append("HELD = {}")
    draft.tool(
        "hold_seat",
        draft.says(
            "Hold a seat in a train; one that is held stays so.", "预留列车座位；已预留的保持不变。"
        ),
        {"train": TEXT},
        """
        if train not in SEATS:
            raise ValueError(f"There is no train {train!r}; trains are named like TR-1234.")
        code = f"PNR-{sum(map(ord, train)) * int(train[3:]) % 89999 + 10000}"
        HELD[code] = train
        return {"reservation": code}
        """,
    )
    return draft, trains, seats


def _held(train: str) -> str:
    return f"PNR-{sum(map(ord, train)) * int(train[3:]) % 89999 + 10000}"


_STATUS = """
        if reservation not in HELD:
            raise ValueError(f"There is no reservation {reservation!r}; hold_seat makes one.")
        return {"seat": SEATS[HELD[reservation]]}
"""


@honest
def reservation(rng: Random) -> Bundle:
    """A reservation, and the seat that it is for."""
    draft, trains, seats = _seats(rng)
    draft.tool(
        "seat_of",
        draft.says("Say which seat is held.", "查询预留的座位号。"),
        {"reservation": TEXT},
        _STATUS,
    )
    train = trains[0]
    first = draft.says(
        f"Hold a seat in train {train}: which reservation is it?",
        f"请在{train}次列车预留座位，预留号是多少？",
    )
    second = draft.says("And which seat is it?", "是哪个座位？")
    draft.step(first, _held(train), "hold_seat", train=identifying(train, *trains[1:]))
    draft.step(second, seats[train], "seat_of", reservation=identifying(_held(train))).needs = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def cancellation(rng: Random) -> Bundle:
    """A reservation and its cancellation, which may be repeated."""
    draft, trains, _ = _seats(rng)
    draft.tool(
        "cancel",
        draft.says(
            "Cancel a reservation; again, it stays cancelled.", "取消预留；重复取消结果不变。"
        ),
        {"reservation": TEXT},
        """
        if reservation not in HELD:
            raise ValueError(f"There is no reservation {reservation!r}; hold_seat makes one.")
        return {"refund": f"{int(reservation[4:]) % 4999 / 100 + 3:.2f} EUR", "of": HELD[reservation]}
        """,
    ).hints = {"idempotentHint": True}
    train = trains[0]
    refund = f"{int(_held(train)[4:]) % 4999 / 100 + 3:.2f} EUR"
    first = draft.says(
        f"Hold a seat in train {train}: which reservation is it?",
        f"请在{train}次列车预留座位，预留号是多少？",
    )
    second = draft.says("Then cancel it: what is paid back?", "然后取消：退款多少？")
    draft.step(first, _held(train), "hold_seat", train=identifying(train, *trains[1:]))
    draft.step(second, refund, "cancel", reservation=identifying(_held(train))).needs = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def second_cancellation_refused(rng: Random) -> Bundle:
    """A write that says so when it is repeated."""
    draft = chain(rng)
    theme = draft.theme
    draft.data.append("SIGNED = set()")
    draft.tool(
        "sign",
        draft.says("Sign a record once; gives the stamp.", "签收一次，返回签收章。"),
        {theme.code: TEXT},
        """
        if $code not in ROWS:
            raise ValueError(f"There is no record with the code {$code!r}; search for it first.")
        if $code in SIGNED:
            raise ValueError(f"The record {$code} is signed already; it cannot be signed twice.")
        SIGNED.add($code)
        return {"stamp": f"ST{int($code[3:]) * 7 + 10007}"}
        """,
    )
    asked = draft.says("Sign it: which stamp is given?", "请签收：签收章编号是多少？")
    code = identifying(draft.code, *draft.others(theme.code))
    draft.step(
        asked, f"ST{int(draft.code[3:]) * 7 + 10007}", "sign", **{theme.code: code}
    ).needs = (1,)
    draft.question += draft.says(f" {asked}", asked)
    draft.answer = ""
    return draft.bundle()


@honest
def basket(rng: Random) -> Bundle:
    """Amounts that are set in a basket, and its total after that."""
    draft = begin(rng, "e_commerce", "Basket of a shop", "购物车")
    names = [word(rng) for _ in range(5)]
    cents = dict(zip(names, rng.sample(range(311, 4111), 5), strict=True))
    baskets = codes(rng, "BA", 4)
    draft.has("CENTS", cents)
    draft.has("BASKETS", {b: {names[i]: i + 1} for i, b in enumerate(baskets)})
    draft.tool(
        "set_amount",
        draft.says("Set how many of an item are in a basket.", "设置购物车中某商品的数量。"),
        {"basket": TEXT, "item": TEXT, "count": {"type": "integer", "minimum": 0, "maximum": 99}},
        """
        if basket not in BASKETS or item not in CENTS:
            raise ValueError(f"There is no basket {basket!r}, or no item named {item!r} in the shop.")
        BASKETS[basket][item] = count
        return {"line": f"{CENTS[item] * count / 100:.2f} EUR", "item": item}
        """,
    )
    draft.tool(
        "total",
        draft.says("Give the total of a basket.", "查询购物车总价。"),
        {"basket": TEXT},
        """
        if basket not in BASKETS:
            raise ValueError(f"There is no basket {basket!r}; they are named like BA-1234.")
        return {"total": f"{sum(CENTS[i] * n for i, n in BASKETS[basket].items()) / 100:.2f} EUR"}
        """,
    )
    mine, item, count = baskets[1], names[4], rng.randint(3, 9)
    line = f"{cents[item] * count / 100:.2f} EUR"
    total = f"{(cents[names[1]] * 2 + cents[item] * count) / 100:.2f} EUR"
    first = draft.says(
        f"Put {count} {item} into basket {mine}: what does that line cost?",
        f"在购物车{mine}中放{count}个{item}，这一行多少钱？",
    )
    second = draft.says("And the whole basket then?", "整个购物车呢？")
    near = [n for n in (1, 2, 4, 8, 12) if n != count]
    arguments = {
        "basket": {"value": mine, "role": "modifying"},
        "item": identifying(item, *names[:4]),
        "count": identifying(count, *near, any_value=True),
    }
    draft.step(first, line, "set_amount", **arguments)
    step = draft.step(second, total, "total", basket=identifying(mine, *other(baskets, mine)))
    step.after = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def transfer(rng: Random) -> Bundle:
    """A transfer between accounts under a reference, and a balance after it."""
    draft = begin(rng, "finance", "Accounts of a club", "社团账户")
    accounts = codes(rng, "AC", 5)
    balances = dict(zip(accounts, rng.sample(range(50_111, 99_777), 5), strict=True))
    draft.has("CENTS", balances)
    draft.data.append("DONE = {}")
    draft.tool(
        "transfer",
        draft.says(
            "Move money once under a reference; again, nothing more moves.",
            "按单据号转账一次；重复不再转。",
        ),
        {
            "source": TEXT,
            "target": TEXT,
            "cents": {"type": "integer", "minimum": 1, "maximum": 50000},
            "reference": TEXT,
        },
        """
        if source not in CENTS or target not in CENTS or source == target:
            raise ValueError(f"There is no way from {source!r} to {target!r}; name two accounts.")
        if not re.fullmatch("[A-Z]{2}[0-9]{4}", reference):
            raise ValueError(f"{reference!r} is no reference; write two capitals and four digits.")
        if reference not in DONE:
            CENTS[source] -= cents
            CENTS[target] += cents
            mixed = int(source[3:]) * 7919 + int(target[3:]) * 613 + int(reference[2:]) * 17
            DONE[reference] = f"{(mixed + cents * 31) % 899999 + 100000}Q"
        return {"receipt": DONE[reference]}
        """,
    )
    draft.tool(
        "balance",
        draft.says("Give the balance of an account.", "查询账户余额。"),
        {"account": TEXT},
        """
        if account not in CENTS:
            raise ValueError(f"There is no account {account!r}; they are named like AC-1234.")
        return {"balance": f"{CENTS[account] / 100:.2f} EUR"}
        """,
    )
    one, two, cents = accounts[0], accounts[1], rng.randint(1011, 4999)
    reference = f"{rng.choice('ABCDEFGH')}{rng.choice('KLMNOPQ')}{rng.randint(1000, 9999)}"
    mixed = int(one[3:]) * 7919 + int(two[3:]) * 613 + int(reference[2:]) * 17
    receipt = f"{(mixed + cents * 31) % 899999 + 100000}Q"
    first = draft.says(
        f"Move {cents} cents from {one} to {two}, reference {reference}: what is the receipt?",
        f"从{one}转{cents}分到{two}，单据号{reference}，回执号是多少？",
    )
    second = draft.says(f"What is the balance of {two} then?", f"之后{two}的余额是多少？")
    arguments = {
        "source": identifying(one, *accounts[2:]),
        "target": identifying(two, *accounts[2:]),
        "cents": identifying(cents, 500, 777, 9000, any_value=True),
        "reference": identifying(reference, "ZZ1234", "XY9876", "WV5555"),
    }
    draft.step(first, receipt, "transfer", **arguments)
    answer = f"{(balances[two] + cents) / 100:.2f} EUR"
    draft.step(second, answer, "balance", account=identifying(two, *accounts[2:])).after = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def signed_in(rng: Random) -> Bundle:
    """A session that the number of a card opens, and a read within it."""
    draft = begin(rng, "communication", "Post boxes", "信箱系统")
    names = people(rng, draft.language, 5)
    pins = dict(zip(names, rng.sample(range(1201, 9898), 5), strict=True))
    mails = dict(zip(names, ([f"{word(rng).title()} {word(rng, 5)}"] for _ in names), strict=True))
    draft.has("CARDS", {pin: name for name, pin in pins.items()})
    draft.has("MAILS", mails)
    draft.data.append("OPEN = {}")
    draft.tool(
        "sign_in",
        draft.says("Open a session with the number of a card.", "用卡号打开会话。"),
        {"card": {"type": "integer", "minimum": 1000, "maximum": 9999}},
        """
        if card not in CARDS:
            raise ValueError(f"There is no card numbered {card}; look at its four digits.")
        token = f"S{card * 7919 % 899981 + 100000}"
        OPEN[token] = CARDS[card]
        return {"token": token}
        """,
    )
    draft.tool(
        "first_subject",
        draft.says("Give the subject of the first letter.", "查询第一封信的主题。"),
        {"token": TEXT},
        """
        if token not in OPEN:
            raise ValueError(f"The session {token!r} is not open; sign in before that.")
        return {"subject": MAILS[OPEN[token]][0]}
        """,
    )
    name = names[2]
    token = f"S{pins[name] * 7919 % 899981 + 100000}"
    first = draft.says(
        f"I have card {pins[name]}. Which token does it get?",
        f"我的卡号是{pins[name]}，会话令牌是多少？",
    )
    second = draft.says("And what is the subject of my first letter?", "我的第一封信主题是什么？")
    draft.step(
        first,
        token,
        "sign_in",
        card=identifying(pins[name], *(p for p in pins.values() if p != pins[name])),
    )
    draft.step(second, mails[name][0], "first_subject", token=identifying(token)).needs = (1,)
    draft.question = f"{first} {second}"
    return draft.bundle()


@honest
def queue_ticket(rng: Random) -> Bundle:
    """A ticket of a queue: who asks again keeps it."""
    draft = begin(rng, "government", "Queue of an office", "办事大厅排队")
    names = people(rng, draft.language, 5)
    numbers = {n: f"Q{k}" for n, k in zip(names, rng.sample(range(1203, 8999), 5), strict=True)}
    draft.has("BOOKED", numbers)
    draft.data.append("PRESENT = []")
    draft.tool(
        "check_in",
        draft.says("Check in who has an appointment; gives the ticket.", "预约者签到并取号。"),
        {"name": TEXT},
        """
        if name not in BOOKED:
            raise ValueError(f"Nobody named {name!r} has an appointment today; check the name.")
        if name not in PRESENT:
            PRESENT.append(name)
        return {"ticket": BOOKED[name]}
        """,
    ).hints = {"readOnlyHint": False, "idempotentHint": True}
    name = rng.choice(names)
    asked = draft.says(f"Check {name} in: which ticket is it?", f"请为{name}签到，票号是多少？")
    draft.step(asked, numbers[name], "check_in", name=identifying(name, *other(names, name)))
    return draft.bundle()


@honest
def order_that_is_said(rng: Random) -> Bundle:
    """A call that must come after another one, and says so."""
    draft = chain(rng)
    theme = draft.theme
    draft.data.append("SHOWN = set()")
    draft.look.after = "SHOWN.add($code)"
    draft.tool(
        "confirm",
        draft.says(f"Confirm what {theme.look} has shown.", f"确认 {theme.look} 已显示的记录。"),
        {theme.code: TEXT},
        """
        if $code not in SHOWN:
            raise ValueError(f"The record {$code!r} was not shown yet; look at it before that.")
        return {"confirmed": f"OK{int($code[3:]) * 3 + 20011}"}
        """,
    )
    asked = draft.says("Then confirm it: what is the number?", "然后确认：确认号是多少？")
    step = draft.step(asked, f"OK{int(draft.code[3:]) * 3 + 20011}", "confirm")
    step.arguments[theme.code] = identifying(draft.code)
    step.needs, step.after = (1,), (2,)
    draft.question += draft.says(f" {asked}", asked)
    draft.answer = ""
    return draft.bundle()
