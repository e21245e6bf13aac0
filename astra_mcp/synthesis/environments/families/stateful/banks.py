"""A house with accounts: what belongs to each, and the tools that find them and move some."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.phrases import with_article
from astra_mcp.synthesis.environments.families.stateful.house import House

__all__ = ["Account", "Bank"]

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
    within: tuple[str, str, str]
    """English prepositions: of the house, of what is in an account, and of what is in a pot."""
    much: _Text
    """How much of it: in English with its verb, in Chinese the noun."""


_THEMES = (
    _Theme(
        Domain.FINANCE, (("Bank", "Savings Bank", "Building Society"), ("银行", "储蓄银行", "农商银行")), ("account", "账户"),
        (("household", "家庭"), ("personal", "个人"), ("club", "社团"), ("rental", "租金")), ("savings pot", "小金库"),
        (("holiday", "度假"), ("roof repairs", "修屋顶"), ("new bicycle", "买自行车"), ("presents", "礼物"), ("taxes", "缴税"), ("piano", "买钢琴")),
        None, "account|bank_account|current_account", "pot|savings_pot|space", "holder|owner|account_holder",
        ("at", "in", "in"), ("how much money is", "钱"),
    ),
    _Theme(
        Domain.TRAVEL, (("Airways", "Air", "Skyways"), ("航空", "国际航空", "通航")), ("miles account", "里程账户"),
        (("family", "家庭"), ("business", "商务"), ("personal", "个人"), ("youth", "青年")), ("miles fund", "里程包"),
        (("summer trip", "暑期出行"), ("upgrades", "升舱"), ("lounge visits", "休息室"), ("hotel nights", "酒店"), ("rental cars", "租车"), ("extra bags", "额外行李")),
        ("miles", "里程"), "miles_account|membership|frequent_flyer", "fund|miles_fund|purse", "member|traveller|passenger",
        ("with", "in", "in"), ("how many miles are", "里程"),
    ),
    _Theme(
        Domain.GAMING, (("Realms", "Arena", "Legends"), ("传奇", "竞技场", "幻境")), ("wallet", "钱包"),
        (("main", "主"), ("trading", "交易"), ("guild", "公会"), ("event", "活动")), ("chest", "宝箱"),
        (("siege", "攻城"), ("harvest", "丰收"), ("lantern festival", "灯会"), ("workshop", "工坊"), ("harbour", "港口"), ("stables", "马厩")),
        ("coins", "金币"), "wallet|coin_wallet|game_wallet", "chest|coin_chest|vault", "player|gamer|played_by",
        ("in", "in", "in"), ("how many coins are", "金币"),
    ),
    _Theme(
        Domain.COMMUNICATION, (("Mobile", "Telecom", "Wireless"), ("通信", "电信", "无线")), ("data plan", "流量套餐"),
        (("family", "家庭"), ("work", "工作"), ("travel", "旅行"), ("home", "居家")), ("extra SIM", "副卡"),
        (("tablet", "平板"), ("car", "车载"), ("watch", "手表"), ("router", "路由器"), ("camera", "摄像头"), ("laptop", "笔记本电脑")),
        ("MB", "MB"), "plan|data_plan|tariff", "sim|extra_sim|sim_card", "subscriber|customer|contract_holder",
        ("with", "on", "on"), ("how much data is", "流量"),
    ),
    _Theme(
        Domain.TRANSPORTATION, (("Transit", "Metro", "Bus Lines"), ("公交", "地铁", "城市交通")), ("travel account", "出行账户"),
        (("commuter", "通勤"), ("family", "家庭"), ("senior", "敬老"), ("student", "学生")), ("linked card", "关联卡"),
        (("night bus", "夜班车"), ("ferry", "轮渡"), ("car park", "停车场"), ("airport line", "机场线"), ("bicycle hire", "共享单车"), ("cable car", "缆车")),
        None, "travel_account|rider_account|transit_account", "card|linked_card|fare_card", "rider|cardholder|passenger",
        ("with", "in", "on"), ("how much credit is", "钱"),
    ),
    _Theme(
        Domain.ENERGY, (("Power", "Energy", "Solar"), ("电力", "能源", "光伏")), ("energy account", "电量账户"),
        (("home", "住宅"), ("workshop", "作坊"), ("farm", "农场"), ("holiday home", "度假屋")), ("prepaid meter", "预付费分表"),
        (("heat pump", "热泵"), ("charging point", "充电桩"), ("greenhouse", "温室"), ("laundry", "洗衣房"), ("sauna", "桑拿房"), ("pond pump", "水泵")),
        ("kWh", "度"), "energy_account|supply_account|credit_account", "meter|sub_meter|metering_point", "customer|household|billed_to",
        ("with", "in", "on"), ("how many kWh are", "电"),
    ),
)  # fmt: skip


# What follows is also the code of the tools. All amounts are in the smallest unit.


def _balance(salt: str, account: str) -> int:
    return 112_000 + issued(salt, account, "balance") % 780_000


def _pots(salt: str, account: str) -> list[str]:
    return [f"{account[-2:]}P{issued(str(n), salt, account) % 9000 + 1000}" for n in range(4)]


def _holds(salt: str, pot: str) -> int:
    return 3_100 + issued(salt, pot, "holds") % 62_000


def _goal(salt: str, pot: str) -> int:
    return 70_000 + issued(salt, pot, "goal") % 90 * 1_000


def _fee(salt: str, account: str, pot: str) -> int:
    return 35 + issued(salt, account, pot, "fee") % 560


def _allowed(salt: str, account: str) -> int:
    return 260_000 + issued(salt, account, "allowed") % 900 * 1_000


def _arrival(first: int, code: str) -> str:
    number = issued(code, "arrival")
    day = datetime.date.fromordinal(first + number % 9)
    return f"{day.isoformat()} {7 + number // 9 % 14:02d}:{number // 126 % 60:02d}"


@dataclass(frozen=True, slots=True)
class Account:
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


class Bank(House[Account]):
    """One world of accounts; what is asked of it is for those who derive from it."""

    def __init__(self, brief: Brief) -> None:
        """Draw it."""
        self.theme = theme = brief.draw("theme").pick(_THEMES)
        super().__init__(brief, theme.domain, theme.houses)
        self.first_day = self.calendar.today.toordinal() + 1
        self.labels = [label[self.zh] for label in theme.labels]
        self.mark = "".join(brief.draw("mark").some("BCDFGHKLMNPRSTVW", 2))
        self.by_goal = brief.draw("criterion").chance(1, 2)
        self.scale = 100 if theme.unit is None else 10
        self._fill()

    def _fill(self) -> None:
        """Draw accounts, and near misses of those that are asked for."""
        rows = self._rows(
            self.labels, [self.draw.pick(self.labels) for _ in range(self.brief.subjects)]
        )
        letter = self.brief.draw("letter").pick("JQXZ")
        self.accounts = dict(
            zip(rows, self.entities.codes(f"{letter}#####@@", len(rows)), strict=True)
        )

    def _seen(self, who: str, label: str) -> Account:
        salt, account = self.salt, self.accounts[who, label]
        pots = _pots(salt, account)
        lacks = {p: _goal(salt, p) - _holds(salt, p) for p in pots}
        pot = (
            max(lacks, key=lambda p: lacks[p])
            if self.by_goal
            else min(pots, key=lambda p: _holds(salt, p))
        )
        values = lacks.values() if self.by_goal else [_holds(salt, p) for p in pots]
        amount = 5 * self.brief.draw("amount", who, self.brief.attempt).between(8, 77)
        balance, moved = _balance(salt, account), amount * self.scale
        lefts = {(balance - _fee(salt, account, p)) * self.scale // 100 for p in pots}
        is_tied = min(len({*pots}), len({*values}), len(lefts)) < 4
        return Account(
            who, label, account, pots, pot, amount, -1 if is_tied else _holds(salt, pot), balance,
            balance - moved - _fee(salt, account, pot), _allowed(salt, account) - moved, f"{self.mark}-{issued(str(amount), account, pot)}",
        )  # fmt: skip

    def _arrives(self, one: Account) -> str:
        return _arrival(self.first_day, one.code)

    def _is_clear(self) -> bool:
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

    def _tell(self) -> None:
        say = self.draft.say
        self.account, self.pot = say(*self.theme.account), say(*self.theme.pot)
        money = "元" if self.zh else self.brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.unit = say(*self.theme.unit) if self.theme.unit else money
        self.is_mine = len(self.asked) == 1 and self.brief.draw("voice").chance(1, 2)
        self.draft.title = say(f"{self.house}: {self.account}s", f"{self.house}：{self.account}")
        self.draft.description = say(
            f"The {self.account}s of {self.house}, what belongs to them, and transfers.",
            f"{self.house}的{self.account}、名下的{self.pot}和转账。",
        )
        ends = self.ends if self.brief.layout.depth > 3 else []
        self._name()
        self._data()
        self._find_tool()
        self._pots_tool()
        if self.brief.layout.depth > 2:
            self._move_tool()
        if "left" in ends:
            self._status_tool("$balance", "_left", say(f"Tell the balance of {with_article(self.account)} now.", f"查询{self.account}当前余额。"))  # fmt: skip
        if "allowed" in ends:
            self._status_tool("$allowance", "_allowance", say("Tell how much more can be moved this month.", "查询本月还可以转多少。"))  # fmt: skip
        if "arrives" in ends:
            self._receipt_tool()

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
            "$find", say(f"Find somebody's {self.account}: its number and its balance.", f"按姓名和类型查询{self.account}的编号和余额。"),
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
            "$move", say(f"Move some from one {self.account} to one {self.pot} of it, for a fee that comes on top and depends on the {self.pot}. The same transfer again is made only once.",
                         f"从{self.account}转到名下某个{self.pot}，另收手续费（因{self.pot}而异）；重复提交同一笔只执行一次。"),
            {"$code": self.code_schema, "$pot_id": {"type": "string", "pattern": "^[A-Z]{2}P[0-9]{4}$"},
             "$amount": {"type": "integer", "minimum": 1, "maximum": 900, "description": say(f"In whole {self.unit}.", f"整数，单位：{self.unit}。")}},
            f"""
            _known($code)
            if $pot_id not in _pots(SALT, $code):
                raise ValueError(f"{say("{$pot_id!r} does not belong to {$code}; $pots lists what does.", "{$code}名下没有{$pot_id}；请用 $pots 查看。")}")
            made = f"{self.mark}-{{issued(str($amount), $code, $pot_id)}}"
            moved, fee = $amount * {self.scale}, _fee(SALT, $code, $pot_id)
            if made not in DONE:
                if moved + fee > _left($code) or moved > _allowance($code):
                    raise ValueError(f"{say("That is more than {_shown(min(_left($code), _allowance($code)))}, which is left; move less.", "超出可转的{_shown(min(_left($code), _allowance($code)))}；请减少数额。")}")
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
            "$receipt", say("Tell when a transfer arrives.", "查询一笔转账何时到账。"),
            {"$confirmation": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"}},
            f"""
            if $confirmation not in DONE:
                raise ValueError(f"{say("There is no transfer {$confirmation!r}; $move gives such codes.", "没有转账记录{$confirmation}；该编号由 $move 返回。")}")
            return {{"$pot_id": DONE[$confirmation], "$arrives": _arrival(FIRST_DAY, $confirmation)}}
            """,
        )  # fmt: skip

    @property
    def ends(self) -> list[str]:
        """What is asked on the last of four levels."""
        return self.brief.draw("ends").some(
            ["left", "allowed", "arrives"], self.brief.layout.facets
        )
