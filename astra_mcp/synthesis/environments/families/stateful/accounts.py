"""Accounts: one is found, what belongs to it is looked up, some is moved there, and what is left or arrives is asked."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.dates import Calendar
from astra_mcp.synthesis.environments.families.draft import Draft, key
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.phrases import listed

__all__ = ["ACCOUNTS"]

_MAX_ATTEMPTS = 300
_Text = tuple[str, str]
"""In English and in Chinese; several choices between ``||``."""


@dataclass(frozen=True, slots=True)
class _Theme:
    """Whose accounts they are, and what they hold."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of such houses end in."""
    account: _Text
    labels: tuple[_Text, ...]
    """Which of somebody's accounts, before the word for it."""
    pot: _Text
    """What belongs to an account and holds some of the same."""
    uses: tuple[_Text, ...]
    """What pots are for."""
    unit: _Text | None
    """What they hold; None for money."""
    nouns: str
    """What code calls an account."""
    pots: str
    people: str


_THEMES = (
    _Theme(
        Domain.FINANCE, (("Bank", "Savings Bank", "Building Society"), ("银行", "储蓄银行", "农商银行")), ("account", "账户"),
        (("household", "家庭"), ("private", "个人"), ("club", "社团"), ("rental", "租金")), ("pot||savings pot", "小金库"),
        (("holiday", "度假"), ("roof repairs", "修屋顶"), ("new bicycle", "买自行车"), ("presents", "礼物"), ("taxes", "缴税"), ("piano", "买钢琴")),
        None, "account|bank_account|current_account", "pot|savings_pot|space", "holder|owner|account_holder",
    ),
    _Theme(
        Domain.TRAVEL, (("Airways", "Air", "Skyways"), ("航空", "国际航空", "通航")), ("miles account", "里程账户"),
        (("family", "家庭"), ("business", "商务"), ("private", "个人"), ("youth", "青年")), ("miles fund", "里程包"),
        (("summer trip", "暑期出行"), ("upgrades", "升舱"), ("lounge visits", "休息室"), ("hotel nights", "酒店"), ("rental cars", "租车"), ("extra bags", "额外行李")),
        ("miles", "里程"), "miles_account|membership|frequent_flyer", "fund|miles_fund|purse", "member|traveller|passenger",
    ),
    _Theme(
        Domain.GAMING, (("Realms", "Arena", "Legends"), ("传奇", "竞技场", "幻境")), ("wallet", "钱包"),
        (("main", "主"), ("trading", "交易"), ("guild", "公会"), ("event", "活动")), ("chest", "宝箱"),
        (("siege", "攻城"), ("harvest", "丰收"), ("lantern festival", "灯会"), ("workshop", "工坊"), ("harbour", "港口"), ("stables", "马厩")),
        ("coins", "金币"), "wallet|coin_wallet|game_wallet", "chest|coin_chest|vault", "player|gamer|played_by",
    ),
    _Theme(
        Domain.COMMUNICATION, (("Mobile", "Telecom", "Wireless"), ("通信", "电信", "无线")), ("data plan", "流量套餐"),
        (("family", "家庭"), ("work", "工作"), ("travel", "旅行"), ("home", "居家")), ("extra SIM", "副卡"),
        (("tablet", "平板"), ("car", "车载"), ("watch", "手表"), ("router", "路由器"), ("camera", "摄像头"), ("laptop", "笔记本电脑")),
        ("MB", "MB"), "plan|data_plan|tariff", "sim|extra_sim|sim_card", "subscriber|customer|contract_holder",
    ),
    _Theme(
        Domain.TRANSPORTATION, (("Transit", "Metro", "Bus Lines"), ("公交", "地铁", "城市交通")), ("travel account", "出行账户"),
        (("commuter", "通勤"), ("family", "家庭"), ("senior", "敬老"), ("student", "学生")), ("linked card", "关联卡"),
        (("night bus", "夜班车"), ("ferry", "轮渡"), ("car park", "停车场"), ("airport line", "机场线"), ("bicycle hire", "共享单车"), ("cable car", "缆车")),
        None, "travel_account|rider_account|transit_account", "card|linked_card|fare_card", "rider|cardholder|passenger",
    ),
    _Theme(
        Domain.ENERGY, (("Power", "Energy", "Solar"), ("电力", "能源", "光伏")), ("energy account", "电量账户"),
        (("house", "住宅"), ("workshop", "作坊"), ("farm", "农场"), ("holiday home", "度假屋")), ("meter", "分表"),
        (("heat pump", "热泵"), ("charging point", "充电桩"), ("greenhouse", "温室"), ("laundry", "洗衣房"), ("sauna", "桑拿房"), ("pond pump", "水泵")),
        ("kWh", "度"), "energy_account|supply_account|credit_account", "meter|sub_meter|metering_point", "customer|household|billed_to",
    ),
)  # fmt: skip


def _make(brief: Brief) -> Draft:
    world = _Bank(brief, brief.draw("theme").pick(_THEMES))
    for attempt in range(_MAX_ATTEMPTS):
        world.salt_with(brief.draw("salt", attempt).between(1000, 9999))
        if world.is_clear():
            return world.written()
    msg = "no accounts without ties were drawn"
    raise ValueError(msg)


# What follows is also the code of the tools. All amounts are in the smallest unit.


def _balance(salt: str, account: str) -> int:
    return 112_000 + issued(salt, account, "balance") % 780_000


def _pots(salt: str, account: str) -> list[str]:
    return [f"{account[-2:]}P{issued(str(n), salt, account) % 9000 + 1000}" for n in range(4)]


def _holds(salt: str, pot: str) -> int:
    return 3_100 + issued(salt, pot, "holds") % 62_000


def _goal(salt: str, pot: str) -> int:
    return 70_000 + issued(salt, pot, "goal") % 90 * 1_000


def _fee(salt: str, account: str) -> int:
    return 35 + issued(salt, account, "fee") % 560


def _allowed(salt: str, account: str) -> int:
    return 260_000 + issued(salt, account, "allowed") % 900 * 1_000


def _arrival(first: int, code: str) -> str:
    number = issued(code, "arrival")
    day = datetime.date.fromordinal(first + number % 9)
    return f"{day.isoformat()} {7 + number // 9 % 14:02d}:{number // 126 % 60:02d}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """An account that is asked for, and what becomes of it."""

    who: str
    label: str
    account: str
    pots: list[str]
    pot: str
    """Where some is to be moved."""
    amount: int
    """How much of it, in whole units."""
    holds: int
    balance: int
    left: int
    allowed: int
    code: str


class _Bank:
    """One world of accounts, and what is asked of it."""

    def __init__(self, brief: Brief, theme: _Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.calendar = Calendar.drawn(brief.draw("day"), brief.language)
        self.first_day = self.calendar.today.toordinal() + 1
        self.house = self.entities.firms(1, *theme.houses[self.zh])[0]
        self.labels = [label[self.zh] for label in theme.labels]
        self.mark = "".join(brief.draw("mark").some("BCDFGHKLMNPRSTVW", 2))
        self.by_goal = brief.draw("criterion").chance(1, 2)
        self.scale = 100 if theme.unit is None else 10
        self._fill()

    def salt_with(self, number: int) -> None:
        """Draw the figures that the code of tools works out."""
        self.salt = str(number)
        self.asked = [self._seen(who, label) for who, label in self.chosen]

    def _fill(self) -> None:
        """Draw accounts, and near misses of those that are asked for."""
        knobs, layout = self.brief.knobs, self.brief.layout
        count = max(knobs.records, 6 + layout.subjects * (1 + knobs.near_misses))
        people = self.entities.people(count // 2 + layout.subjects)
        self.chosen = [(people[i], self.draw.pick(self.labels)) for i in range(layout.subjects)]
        rows = [*self.chosen]
        for who, label in self.chosen:
            others = [other for other in self.labels if other != label]
            rows += [
                (who, others[n // 2]) if n % 2 == 0 else (self.entities.relatives(who, 1)[0], label)
                for n in range(knobs.near_misses)
            ]
        free = people[layout.subjects :]
        rows += [
            (free[i % len(free)], self.labels[(i + i // len(free)) % 4])
            for i in range(count - len(rows))
        ]
        rows = self.draw.shuffled(rows)
        letter = self.brief.draw("letter").pick("JQXZ")
        self.accounts = dict(zip(rows, self.entities.codes(f"{letter}#####@@", count), strict=True))

    def _seen(self, who: str, label: str) -> _Asked:
        salt, account = self.salt, self.accounts[who, label]
        pots = _pots(salt, account)
        lacks = {p: _goal(salt, p) - _holds(salt, p) for p in pots}
        pot = (
            max(lacks, key=lambda p: lacks[p])
            if self.by_goal
            else min(pots, key=lambda p: _holds(salt, p))
        )
        values = lacks.values() if self.by_goal else [_holds(salt, p) for p in pots]
        amount = self.draw.between(4, 38) * 10 + self.draw.pick([0, 5])
        balance, moved = _balance(salt, account), amount * self.scale
        is_tied = len({*pots}) < 4 or len({*values}) < 4
        return _Asked(
            who, label, account, pots, pot, amount, -1 if is_tied else _holds(salt, pot), balance,
            balance - moved - _fee(salt, account), _allowed(salt, account) - moved, f"{self.mark}-{issued(str(amount), account, pot)}",
        )  # fmt: skip

    def is_clear(self) -> bool:
        """Whether no two amounts that matter are the same."""
        numbers = [
            n
            for one in self.asked
            for n in (one.holds, one.balance, one.left, one.allowed, one.amount)
        ]
        arrivals = {_arrival(self.first_day, one.code) for one in self.asked}
        return (
            len({*numbers}) == len(numbers)
            and len(arrivals) == len(self.asked)
            and all(one.holds > 0 for one in self.asked)
        )

    # --- tools --------------------------------------------------------------------------------------------------

    def written(self) -> Draft:
        """The bundle of this world."""
        self.draft = Draft(self.brief, self.theme.domain, clock=self.calendar.clock)
        say = self.draft.say
        self.account, self.pot = say(*self.theme.account), say(*self.theme.pot)
        money = "元" if self.zh else self.brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.unit = say(*self.theme.unit) if self.theme.unit else money
        self.is_mine = len(self.asked) == 1 and self.brief.draw("voice").chance(1, 2)
        self.draft.title = say(f"{self.house}: {self.account}s", f"{self.house}：{self.account}")
        self.draft.description = say(
            f"The {self.account}s of {self.house}, what belongs to them, and transfers.",
            f"{self.house}的{self.account}、名下的{self.pot}和划转。",
        )
        ends = self.ends if self.brief.layout.depth > 3 else []
        self._name()
        self._data()
        self._find_tool()
        self._pots_tool()
        if self.brief.layout.depth > 2:
            self._move_tool()
        if "left" in ends:
            self._status_tool("$balance", "_left", say(f"Say how much is on an {self.account} now." if self.account[0] in "aeiou" else f"Say how much is on a {self.account} now.", f"查询{self.account}当前余额。"))  # fmt: skip
        if "allowed" in ends:
            self._status_tool("$allowance", "_allowance", say("Say how much may still be moved this month.", "查询本月还可以划转多少。"))  # fmt: skip
        if "arrives" in ends:
            self._receipt_tool()
        self._ask()
        return self.draft

    def _name(self) -> None:
        self.draft.name(
            account=self.theme.nouns, pot=self.theme.pots, who=self.theme.people, label="kind|label|called",
            code="${account}_number|${account}_id|number", pot_id="${pot}_id|${pot}_number", amount="amount|how_much|sum",
            holds="holds|filled_with|content", goal="goal|target|aim", use="used_for|purpose|meant_for",
            confirmation="confirmation|receipt|transfer_code", arrives="arrives|credited_on|there_by", left="left|remaining|still_there",
            find="find_$account|look_up_$account|search_$account", pots="list_${pot}s|show_${pot}s|get_${pot}s",
            move="transfer_to_$pot|move_to_$pot|top_up_$pot", balance="get_balance|current_balance|show_balance",
            allowance="get_allowance|remaining_limit|transfer_limit", receipt="read_$confirmation|show_$confirmation|get_$confirmation",
            details="details|with_details|full", least="no_goals|only_content|brief_form",
        )  # fmt: skip

    def _data(self) -> None:
        draft = self.draft
        draft.data("SALT", self.salt)
        draft.data("FIRST_DAY", self.first_day)
        draft.data("ACCOUNTS", {c: [*row] for row, c in self.accounts.items()})
        draft.data("USES", [use[self.zh] for use in self.theme.uses])
        draft.data("SPENT", {})
        draft.data("MOVED", {})
        draft.data("ADDED", {})
        draft.data("DONE", {})
        draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        functions: tuple[Callable[..., object], ...] = (
            _balance,
            _pots,
            _holds,
            _goal,
            _fee,
            _allowed,
            _arrival,
        )
        for function in functions:
            draft.code("\n\n" + source_of(function))
        unknown = draft.say(
            "There is no {code!r}; $find gives the number.", "没有编号{code}；编号由 $find 返回。"
        )
        shown = 'f"{n // 100}.{n % 100:02d}' if self.scale == 100 else 'f"{n // 10}'
        draft.code(f"""


            def _known(code):
                if code not in ACCOUNTS:
                    raise ValueError(f"{unknown}")


            def _left(code):
                return _balance(SALT, code) - SPENT.get(code, 0)


            def _allowance(code):
                return _allowed(SALT, code) - MOVED.get(code, 0)


            def _shown(n):
                return {shown}{self._gap}{self.unit}"
        """)

    def _said(self, number: int) -> str:
        if self.scale == 100:
            return f"{number // 100}.{number % 100:02d}{self._gap}{self.unit}"
        return self._whole(number // 10)

    def _whole(self, number: int) -> str:
        return f"{number}{self._gap}{self.unit}"

    @property
    def _gap(self) -> str:
        return " " if self.unit.isascii() else ""

    def _find_tool(self) -> None:
        say, has_more = self.draft.say, self.brief.knobs.options > 0
        more = {"$details": {"type": "boolean", "default": False, "description": say("Also since which year it has been open.", "同时返回开通年份。")}}  # fmt: skip
        self.draft.tool(
            "$find", say(f"Find the {self.account} of somebody.", f"按姓名和类型查询{self.account}。"),
            {"$who": {"type": "string", "minLength": 2, "description": say("Full name.", "姓名全称。")},
             "$label": {"type": "string", "enum": self.labels}, **(more if has_more else {})},
            f"""
            for code, row in ACCOUNTS.items():
                if row == [$who.strip(), $label]:
                    found = {{"$code": code, "balance": _shown(_left(code))}}
                    return {'found | ({"since": 1998 + issued(code) % 27} if $details else {})' if has_more else "found"}
            raise ValueError(f"{say("{$who!r} has none of the kind {$label}; give the full name, and the right kind.", "{$who}没有“{$label}”类型的记录；请核对姓名全称和类型。")}")
            """,
        )  # fmt: skip
        if has_more:
            who, label = self.chosen[0]
            self.draft.example("$find", **{"$who": who, "$label": label, "$details": True})

    def _pots_tool(self) -> None:
        say, has_more = self.draft.say, self.brief.knobs.options > 1
        self.code_schema = {"type": "string", "pattern": "^[A-Z][0-9]{5}[A-Z]{2}$", "description": say("As $find gives it.", "由 $find 返回。")}  # fmt: skip
        more = {
            "$least": {
                "type": "boolean",
                "default": False,
                "description": say("Leave the goals out.", "不返回目标值。"),
            }
        }
        goal = "{} if $least else " if has_more else ""
        self.draft.tool(
            "$pots", say(f"List each {self.pot} that belongs to one {self.account}: what it holds, and what it should hold.",
                         f"列出某{self.account}名下的{self.pot}，包括现有量和目标量。"),
            {"$code": self.code_schema, **(more if has_more else {})},
            f"""
            _known($code)
            rows = []
            for n, p in enumerate(_pots(SALT, $code)):
                row = {{"$pot_id": p, "$use": USES[(issued($code) + n) % len(USES)], "$holds": _shown(_holds(SALT, p) + ADDED.get(p, 0))}}
                rows.append(row | ({goal}{{"$goal": _shown(_goal(SALT, p))}}))
            return {{"${{pot}}s": rows}}
            """.replace("${pot}", "$pot"),
        )  # fmt: skip
        if has_more:
            self.draft.example("$pots", **{"$code": self.asked[0].account, "$least": True})

    def _move_tool(self) -> None:
        say = self.draft.say
        tells_left = self.brief.layout.depth == 3
        left = ', "$left": _shown(_left($code))' if tells_left else ""
        self.draft.tool(
            "$move", say(f"Move some from an account to one {self.pot} of it, for a fee that comes on top. The same transfer again is made only once.",
                         f"从{self.account}向名下某个{self.pot}划转，另收手续费；重复提交同一笔只执行一次。"),
            {"$code": self.code_schema, "$pot_id": {"type": "string", "pattern": "^[A-Z]{2}P[0-9]{4}$"},
             "$amount": {"type": "integer", "minimum": 1, "maximum": 900, "description": say(f"In whole {self.unit}.", f"整数，单位：{self.unit}。")}},
            f"""
            _known($code)
            if $pot_id not in _pots(SALT, $code):
                raise ValueError(f"{say("{$pot_id!r} does not belong to {$code}; $pots lists what does.", "{$code}名下没有{$pot_id}；请用 $pots 查看。")}")
            made = f"{self.mark}-{{issued(str($amount), $code, $pot_id)}}"
            moved, fee = $amount * {self.scale}, _fee(SALT, $code)
            if made not in DONE:
                if moved + fee > _left($code) or moved > _allowance($code):
                    raise ValueError(f"{say("That is more than {_shown(min(_left($code), _allowance($code)))}, which is left; move less.", "超出可划转的{_shown(min(_left($code), _allowance($code)))}；请减少数额。")}")
                SPENT[$code] = SPENT.get($code, 0) + moved + fee
                MOVED[$code] = MOVED.get($code, 0) + moved
                ADDED[$pot_id] = ADDED.get($pot_id, 0) + moved
                DONE[made] = $pot_id
            return {{"$confirmation": made{left}}}
            """,
            writes=True,
        )  # fmt: skip

    def _status_tool(self, name: str, function: str, about: str) -> None:
        self.draft.tool(
            name, about, {"$code": self.code_schema},
            f"""
            _known($code)
            return {{"$code": $code, "$left": _shown({function}($code))}}
            """,
        )  # fmt: skip

    def _receipt_tool(self) -> None:
        say = self.draft.say
        self.draft.tool(
            "$receipt", say("Say when a transfer arrives.", "查询划转何时到账。"),
            {"$confirmation": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"}},
            f"""
            if $confirmation not in DONE:
                raise ValueError(f"{say("There is no transfer {$confirmation!r}; $move gives such codes.", "没有划转{$confirmation}；该编号由 $move 返回。")}")
            return {{"$pot_id": DONE[$confirmation], "$arrives": _arrival(FIRST_DAY, $confirmation)}}
            """,
        )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    @property
    def ends(self) -> list[str]:
        """What is asked on the last of four levels."""
        return self.brief.draw("ends").some(
            ["left", "allowed", "arrives"], self.brief.layout.facets
        )

    def _ask(self) -> None:
        layout = self.brief.layout
        self.by_amount = layout.concludes or self.brief.draw("first").chance(1, 2)
        followed = [self._follow(one) for one in self.asked]
        last = [ids[-1] for ids, _ in followed]
        wording = (self._first, self._second, self._third, self._fourth)[layout.depth - 1]
        self.draft.question = self._opening() + wording()
        mark, end = ("：", "；") if self.zh else (": ", "; ")
        answers = [
            one.who + mark + listed(found, self.brief.language)
            for one, (_, found) in zip(self.asked, followed, strict=True)
        ]
        if layout.concludes:
            asked, answer = self._conclusion()
            self.draft.conclude(asked, answer, last)
            answers = [answer]
        self.draft.answer = end.join(answers)

    def _conclusion(self) -> tuple[str, str]:
        say = self.draft.say
        if self.brief.layout.depth == 2:
            least = min(self.asked, key=lambda one: one.holds)
            return say("Whose holds the least of these?", "其中谁的最少？"), least.who
        total = sum(one.balance if self.brief.layout.depth == 1 else one.left for one in self.asked)
        return say("How much is that altogether?", "加起来一共是多少？"), self._said(total)

    def _opening(self) -> str:
        if not self.is_mine:
            return ""
        who = self.asked[0].who
        return self.draft.say(
            f"My name is {who}. || {who} here. || This is {who}.", f"我是{who}。 || 我叫{who}。"
        ) + " " * (not self.zh)

    def _accounts(self) -> str:
        """The accounts that are asked for."""
        if len(self.asked) > 1:
            rows = [
                f"{o.who}（{o.label}）" if self.zh else f"{o.who} ({o.label})" for o in self.asked
            ]
            them = listed(rows, self.brief.language)
            return self.draft.say(
                f"the {self.account}s of {them} at {self.house}",
                f"{them}在{self.house}的{self.account}",
            )
        one = self.asked[0]
        whose = (
            self.draft.say("my", "我") if self.is_mine else self.draft.say(f"{one.who}'s", one.who)
        )
        return self.draft.say(
            f"{whose} {one.label} {self.account} at {self.house}",
            f"{whose}在{self.house}的{one.label}{self.account}",
        )

    def _first(self) -> str:
        say, accounts, several = self.draft.say, self._accounts(), len(self.asked) > 1
        if self.brief.layout.concludes:
            return say(
                f"How much is there altogether on {accounts}? || If we put {accounts} together, how much would that be right now?",
                f"{accounts}，现在加起来一共有多少{self._word()}？ || 把{accounts}合在一起，目前总共有多少{self._word()}？",
            )
        if self.by_amount:
            return say(
                f"How much is there on {accounts} right now{', each' if several else ''}? || What do {accounts} hold at the moment? || How much is left on {accounts}?"
                if several else f"How much is there on {accounts} right now? || What does {accounts} hold at the moment? || How much is left on {accounts}?",
                f"{accounts}现在{'分别' if several else ''}还有多少{self._word()}？ || 帮我看看{accounts}，目前{'各' if several else ''}剩多少{self._word()}？",
            )  # fmt: skip
        number = f"number{'s' if several else ''}"
        return say(
            f"I need the {number} of {accounts} for a form. What {'are they' if several else 'is it'}? || Could you look up the {number} of {accounts}?",
            f"填表要用{accounts}的编号，{'分别' if several else ''}是多少？ || 麻烦查一下{accounts}，编号{'各' if several else ''}是多少？",
        )

    def _word(self) -> str:
        """What accounts hold, in words of a question."""
        return "钱" if self.scale == 100 else {"MB": "流量", "度": "电"}.get(self.unit, self.unit)

    def _which(self) -> str:
        """The pot that is meant."""
        if self.by_goal:
            return self.draft.say(
                f"the {self.pot} that is furthest below its goal", f"离目标差得最多的{self.pot}"
            )
        return self.draft.say(f"the {self.pot} with the least in it", f"现有量最少的{self.pot}")

    def _second(self) -> str:
        say, accounts, which, several = (
            self.draft.say,
            self._accounts(),
            self._which(),
            len(self.asked) > 1,
        )
        if self.brief.layout.concludes:
            return say(
                f"Look at {which} on each of {accounts}. Whose holds the least? || "
                f"Take {which} on each of {accounts}: who of them has the least in that one?",
                f"{accounts}，各取{which}来比，谁的里面最少？ || 比较一下{accounts}名下{which}，谁的那个现有量最低？",
            )
        each, apiece = ("each of ", "分别") if several else ("", "")
        have = "each have" if several else "has"
        return say(
            f"How much is in {which} on {each}{accounts}? || "
            f"{accounts[0].upper()}{accounts[1:]} {have} several {self.pot}s. How much is in {which}? || "
            f"I wonder about {each}{accounts}: how much does {which} hold?",
            f"{accounts}名下，{which}里{apiece}有多少{self._word()}？ || 想知道{accounts}名下{which}，里面{apiece}还有多少{self._word()}。",
        )

    def _order(self) -> str:
        """The sentence by which some is to be moved."""
        say, accounts, which = self.draft.say, self._accounts(), self._which()
        if len(self.asked) > 1:
            amounts = listed([self._whole(one.amount) for one in self.asked], self.brief.language)
            return say(
                f"Please move {amounts}, in this order, from {accounts}, each time to {which}.",
                f"请从{accounts}依次划转{amounts}到各自{which}。",
            )
        amount = self._whole(self.asked[0].amount)
        return say(
            f"Please move {amount} from {accounts} to {which}. || I want {amount} to go from {accounts} into {which}.",
            f"请从{accounts}划转{amount}到{which}。 || 麻烦把{accounts}里的{amount}转进{which}。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        several = len(self.asked) > 1
        if self.brief.layout.concludes:
            return self._joined(
                f"How much is then left on both {self.account}s, added up? || What remains on both {self.account}s together?",
                f"转完之后两边一共还剩多少{self._word()}？ || 划转后两边加起来还剩多少？",
            )
        if self.by_amount:
            return self._joined(
                f"What is left on {'each of them' if several else 'it'} after that? || How much remains there{' each time' if several else ''}, after the fee?",
                f"转完后{'分别' if several else ''}还剩多少{self._word()}？ || 扣掉手续费，转完{'各' if several else ''}剩多少？",
            )
        return self._joined(
            f"I need the confirmation code{'s' if several else ''}. || Tell me the code{'s' if several else ''} by which {'they are' if several else 'it is'} confirmed.",
            f"转好后把确认编号{'分别' if several else ''}告诉我。 || 划转的确认编号{'分别' if several else ''}是多少？",
        )

    def _fourth(self) -> str:
        say, several = self.draft.say, len(self.asked) > 1
        each, apiece = (" each time", "分别") if several else ("", "")
        wanted = {
            "left": say(f"what is left on the {self.account} after that{each}", f"转完后{self.account}里{apiece}还剩多少{self._word()}"),
            "allowed": say(f"how much I may still move from there this month{each}" if self.is_mine else f"how much may still be moved from there this month{each}", f"这个月{apiece}还可以再划转多少"),
            "arrives": say(f"when it arrives{each}", f"{apiece}什么时候到账"),
        }  # fmt: skip
        asked = [wanted[end] for end in self.ends]
        return self._joined(
            f"Then tell me {' and '.join(asked)}. || I would like to know {' and '.join(asked)}.",
            f"办好后告诉我{'，以及'.join(asked)}。 || 然后我想知道{'，还有'.join(asked)}。",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: _Asked) -> tuple[list[int], list[str]]:
        """The sub-tasks of one account: their ids, and what the question asks for."""
        say, depth = self.draft.say, self.brief.layout.depth
        by_amount = depth == 1 and self.by_amount
        whose = say(
            f"the {one.label} {self.account} of {one.who}", f"{one.who}的{one.label}{self.account}"
        )
        answer = self._said(one.balance) if by_amount else one.account
        names = [w for w, label in self.accounts if label == one.label] + [
            w for w, _ in self.accounts
        ]
        own = [label for w, label in self.accounts if w == one.who]
        first = self.draft.solve(
            say(f"How much is on {whose}?", f"{whose}有多少{self._word()}？") if by_amount
            else say(f"What is the number of {whose}?", f"{whose}的编号是多少？"),
            answer, "$find", {"$who": key(one.who, names), "$label": key(one.label, own)},
        )  # fmt: skip
        if depth == 1:
            return [first], [answer]
        holds, which = self._said(one.holds), self._which()
        code = key(one.account, [c for c in self.accounts.values() if c != one.account])
        second = self.draft.solve(
            say(f"How much is in {which}?", f"{which}里有多少？"), holds, "$pots", {"$code": code}, needs=[first]
        )  # fmt: skip
        if depth == 2:
            return [second], [holds]
        left = depth == 3 and self.by_amount
        answer = self._said(one.left) if left else one.code
        amount = self._whole(one.amount)
        amounts = [one.amount + 5, one.amount - 15, one.amount + 80, 20]
        third = self.draft.solve(
            say(f"What is left once {amount} are moved there?", f"转入{amount}之后还剩多少？") if left
            else say(f"What is the confirmation code once {amount} are moved there?", f"转入{amount}的确认编号是多少？"),
            answer, "$move",
            {"$code": code, "$pot_id": key(one.pot, [p for p in one.pots if p != one.pot]), "$amount": key(one.amount, amounts, any_value=True)},
            needs=[first, second],
        )  # fmt: skip
        if depth == 3:
            return [third], [answer]
        made = [self._end(one, end, first, third) for end in self.ends]
        return [number for number, _ in made], [answer for _, answer in made]

    def _end(self, one: _Asked, end: str, first: int, third: int) -> tuple[int, str]:
        say = self.draft.say
        if end == "arrives":
            answer, asked = (
                _arrival(self.first_day, one.code),
                say("When does it arrive?", "什么时候到账？"),
            )
            return self.draft.solve(
                asked, answer, "$receipt", {"$confirmation": key(one.code)}, needs=[third]
            ), answer
        code = {"$code": key(one.account, [c for c in self.accounts.values() if c != one.account])}
        if end == "left":
            answer, asked = (
                self._said(one.left),
                say(f"What is left on the {self.account} then?", f"之后{self.account}里还剩多少？"),
            )
            return self.draft.solve(asked, answer, "$balance", code, needs=[first, third]), answer
        answer, asked = (
            self._said(one.allowed),
            say("How much may still be moved this month?", "这个月还可以划转多少？"),
        )
        return self.draft.solve(asked, answer, "$allowance", code, needs=[first, third]), answer


ACCOUNTS = Family(
    "accounts", "Accounts that are found, from which some is moved, and what is left or arrives then.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
