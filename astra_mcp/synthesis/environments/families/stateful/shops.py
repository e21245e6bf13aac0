"""A shop with baskets: goods, vouchers and delivery, and the tools that find and change them."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.phrases import with_article
from astra_mcp.synthesis.environments.families.stateful.house import House

__all__ = ["Basket", "Shop"]

_MAX_OTHERS = 5
_Text = tuple[str, str]
"""In English and in Chinese; several choices between ``||``."""


@dataclass(frozen=True, slots=True)
class _Theme:
    """What lies in baskets, and what for."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of such shops end in."""
    basket: _Text
    goods: tuple[_Text, ...]
    labels: tuple[_Text, ...]
    """What a basket is for, as people call it."""
    nouns: str
    """What code calls a basket."""
    items: str
    """What code calls that which lies in it."""
    people: str


_THEMES = (
    _Theme(
        Domain.FOOD_AND_DINING, (("Grocers", "Farm Shop", "Delicatessen"), ("超市", "生鲜", "食品店")), ("basket", "购物篮"),
        (("oat biscuits", "燕麦饼干"), ("plum jam", "李子酱"), ("goat cheese", "山羊奶酪"), ("rye bread", "黑麦面包"), ("smoked trout", "烟熏鳟鱼"),
         ("pickled beetroot", "腌甜菜"), ("apple juice", "苹果汁"), ("chestnut honey", "栗子蜜")),
        (("the picnic", "野餐"), ("the weekly shop", "每周采购"), ("Grandma", "奶奶家"), ("the barbecue", "烧烤"), ("the office", "办公室")),
        "basket|shopping_basket|grocery_basket", "item|grocery_item|product", "customer|shopper|account_holder",
    ),
    _Theme(
        Domain.MUSIC_AND_AUDIO, (("Music", "Music House", "Strings"), ("琴行", "乐器", "音乐用品")), ("cart", "购物车"),
        (("guitar strings", "吉他弦"), ("drumsticks", "鼓槌"), ("violin rosin", "小提琴松香"), ("reeds", "哨片"), ("capos", "变调夹"),
         ("music stands", "谱架"), ("shoulder straps", "背带"), ("valve oil", "活塞油")),
        (("the school band", "校乐队"), ("the tour", "巡演"), ("the rehearsal room", "排练室"), ("the summer camp", "夏令营"), ("the church choir", "合唱团")),
        "cart|music_cart|order_cart", "article|piece|item", "buyer|customer|musician",
    ),
    _Theme(
        Domain.GAMING, (("Games", "Board Game Cafe", "Hobby Shop"), ("桌游", "游戏店", "模型玩具")), ("cart", "购物车"),
        (("dice sets", "骰子套装"), ("card sleeves", "卡牌保护套"), ("jigsaw puzzles", "拼图"), ("miniature paints", "模型漆"), ("play mats", "游戏垫"),
         ("token trays", "指示物收纳盒"), ("score pads", "记分本"), ("expansion packs", "扩展包")),
        (("game night", "游戏之夜"), ("the tournament", "比赛"), ("the youth club", "青少年活动中心"), ("the lending library", "桌游借阅角"), ("the raffle", "抽奖")),
        "cart|hobby_cart|game_cart", "product|article|game_item", "member|customer|player",
    ),
    _Theme(
        Domain.SCIENCE, (("Lab Supply", "Scientific", "Glassware"), ("实验器材", "科学仪器", "玻璃仪器")), ("requisition", "申购单"),
        (("beakers", "烧杯"), ("pipette tips", "移液枪头"), ("filter papers", "滤纸"), ("petri dishes", "培养皿"), ("stir bars", "搅拌子"),
         ("test tube racks", "试管架"), ("lab labels", "实验标签"), ("cuvettes", "比色皿")),
        (("the practical course", "实验课"), ("the field trip", "野外考察"), ("the cold room", "冷藏室"), ("the open day", "开放日"), ("the new bench", "新实验台")),
        "requisition|lab_order|purchase_request", "consumable|item|lab_item", "requester|ordered_by|scientist",
    ),
    _Theme(
        Domain.E_COMMERCE, (("Stationers", "Paper", "Office Supply"), ("文具", "纸品", "办公用品")), ("order", "订单"),
        (("notebooks", "笔记本"), ("ink cartridges", "墨囊"), ("ring binders", "活页夹"), ("envelopes", "信封"), ("desk pads", "桌垫"),
         ("fountain pens", "钢笔"), ("sticky labels", "不干胶标签"), ("index cards", "索引卡")),
        (("the front desk", "前台"), ("the workshop", "工作坊"), ("the archive", "档案室"), ("the trainees", "实习生"), ("the trade fair", "展会")),
        "order|open_order|stationery_order", "article|item|product", "customer|ordered_by|contact",
    ),
    _Theme(
        Domain.SPORTS, (("Sports", "Cycles", "Athletics"), ("体育用品", "单车行", "运动器材")), ("basket", "购物篮"),
        (("shuttlecocks", "羽毛球"), ("grip tapes", "手胶"), ("cones", "标志桶"), ("training bibs", "分队背心"), ("whistles", "哨子"),
         ("skipping ropes", "跳绳"), ("bike lights", "车灯"), ("knee pads", "护膝")),
        (("the juniors", "少年队"), ("the charity run", "公益跑"), ("the holiday camp", "假日营"), ("the first team", "一队"), ("the gym hall", "体育馆")),
        "basket|kit_basket|team_basket", "item|kit_item|product", "customer|coach|ordered_by",
    ),
)  # fmt: skip


# What follows is also the code of the tools.


def _filled(salt: str, basket: str, items: list[str]) -> dict[str, int]:
    numbers = [issued(str(step), salt, basket) for step in range(5)]
    count = 3 + numbers[0] % 3
    return {items[n // 7 % len(items)]: 1 + n % 4 for n in numbers[:count]}


def _sum(lines: dict[str, int], cents: dict[str, int]) -> int:
    return sum(cents[item] * count for item, count in lines.items())


def _slot(first: int, basket: str, total: int) -> str:
    number = issued(str(total), basket, "slot")
    day = datetime.date.fromordinal(first + number % 6)
    return f"{day.isoformat()} {8 + number // 6 % 11:02d}:{number // 66 % 12 * 5:02d}"


@dataclass(frozen=True, slots=True)
class Basket:
    """A basket that is asked for, and what becomes of it."""

    who: str
    label: str
    basket: str
    lines: dict[str, int]
    line: str
    """The one that is to be changed."""
    total: int
    changed: int
    """The total after that."""


class Shop(House[Basket]):
    """One world of baskets; what is asked of it is for those who derive from it."""

    def __init__(self, brief: Brief) -> None:
        """Draw it."""
        self.theme = theme = brief.draw("theme").pick(_THEMES)
        super().__init__(brief, theme.domain, theme.houses)
        self.first_day = self.calendar.today.toordinal() + 2
        self.labels = [label[self.zh] for label in theme.labels]
        self.removes = brief.draw("mode").chance(1, 2)
        self.count = brief.draw("count").between(6, 15)
        self.extra = self.draw.between(2, 5)
        self.fee = self.draw.between(50, 119) * 5
        self._fill()
        most = max(self._seen(*row).total for row in self.chosen)
        self.free_from = (most // 500 + self.extra) * 500
        self.vouchers = self._vouchers()

    def _fill(self) -> None:
        """Draw goods and baskets, and near misses of those that are asked for."""
        join = "" if self.zh else " "
        names = [
            f"{m}{join}{g[self.zh]}" for m in self.entities.places(12) for g in self.theme.goods
        ]
        codes = self.entities.codes(f"{self.brief.draw('item').pick('JQXZ')}####", len(names))
        cents = self.draw.some(range(90, 900), len(names))
        self.names, self.cents = (
            dict(zip(codes, names, strict=True)),
            dict(zip(codes, cents, strict=True)),
        )
        rows = self._rows(
            self.labels, [self.draw.pick(self.labels) for _ in range(self.brief.subjects)]
        )
        mark = "".join(self.brief.draw("mark").some("BCDFGHKLMNPRSTVW", 2))
        self.baskets = dict(zip(rows, self.entities.codes(f"{mark}-#####", len(rows)), strict=True))

    def _seen(self, who: str, label: str) -> Basket:
        basket = self.baskets[who, label]
        lines = _filled(self.salt, basket, [*self.cents])
        by_price = sorted(lines, key=lambda item: self.cents[item])
        line = by_price[-1] if self.removes else by_price[0]
        after = {i: n for i, n in lines.items() if i != line} | (
            {} if self.removes else {line: self.count}
        )
        return Basket(
            who, label, basket, lines, line, _sum(lines, self.cents), _sum(after, self.cents)
        )

    def _vouchers(self) -> dict[str, tuple[int, int]]:
        """What each takes off, and from which total on it takes off twice that."""
        codes = self.entities.codes(f"{self.brief.draw('voucher').pick('DFHKMR')}@@##", 6)
        off = self.draw.some(range(110, 440), 6)
        return {c: (o, self.draw.between(20, 60) * 100) for c, o in zip(codes, off, strict=True)}

    def _to_pay(self, total: int) -> int:
        off, twice_from = next(iter(self.vouchers.values()))
        fee = 0 if total >= self.free_from else self.fee
        return max(total - (2 * off if total >= twice_from else off), 0) + fee

    def _window(self, one: Basket) -> str:
        return _slot(self.first_day, one.basket, one.changed)

    def _others_than(self, one: Basket) -> list[str]:
        """Some other baskets, in which nothing lies that matters here."""
        dearest = max(one.lines, key=lambda item: self.cents[item])
        items = [*self.cents]
        others = (
            code
            for code in self.baskets.values()
            if {one.line, dearest}.isdisjoint(_filled(self.salt, code, items))
        )
        return [*islice(others, _MAX_OTHERS)]

    def _is_clear(self) -> bool:
        """Whether no two amounts that matter are the same, and no item that matters lies in two of the baskets."""
        amounts = [
            n
            for one in self.asked
            for n in (
                one.total, one.changed, self._to_pay(one.changed), self.free_from - one.total,
                self.free_from - one.changed, self.cents[one.line], max(self.cents[i] for i in one.lines),
            )
        ]  # fmt: skip
        repeated = len(self.asked) if self.removes else 0
        windows = {self._window(one) for one in self.asked}
        goods = [item for one in self.asked for item in one.lines]
        answers = [
            i for one in self.asked for i in (one.line, max(one.lines, key=lambda i: self.cents[i]))
        ]
        return (
            len({*amounts}) == len(amounts) - repeated
            and len(windows) == len(self.asked)
            and all(goods.count(item) == 1 for item in answers)
            and all(len(one.lines) > 2 for one in self.asked)
        )

    # --- tools --------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        say = self.draft.say
        self.basket = say(*self.theme.basket)
        self.money = "元" if self.zh else " " + self.brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.draft.title = say(
            f"{self.house}: open {self.basket}s", f"{self.house}：未结算的{self.basket}"
        )
        self.draft.description = say(
            f"What customers have in their {self.basket}s at {self.house}, vouchers and delivery.",
            f"{self.house}顾客的{self.basket}、优惠券和送货。",
        )
        layout = self.brief.layout
        self.voucher = next(iter(self.vouchers))
        self._name()
        self._data()
        self._find_tool()
        self._show_tool()
        if layout.depth > 2:
            self._change_tool()
        if layout.depth > 3 and "pay" in self.ends:
            self._voucher_tool()
        if layout.depth > 3 and "slot" in self.ends:
            self._slot_tool()

    def _name(self) -> None:
        self.draft.name(
            basket=self.theme.nouns, who=self.theme.people, item=self.theme.items, label="label|purpose|meant_for",
            code="${basket}_number|${basket}_id|number", total="total|sum_of_goods|subtotal", count="quantity|amount|pieces",
            each="price|unit_price|each", missing="to_free_delivery|missing_for_free_delivery|until_free_delivery",
            item_id="${item}_code|${item}_id", voucher="voucher|coupon|promo_code", pay="to_pay|amount_due|payable",
            begins="window_begins|earliest|from_time", find="find_$basket|look_up_$basket|search_$basket",
            show="show_$basket|get_$basket|list_${item}s",
            change=("remove_$item|drop_$item|take_out_$item" if self.removes else "set_${count}|change_$count|update_$count"),
            redeem="redeem_$voucher|apply_$voucher|use_$voucher", slot="delivery_window|next_delivery|get_delivery",
            order="sort|order|sorted_by", details="details|with_details|full",
        )  # fmt: skip

    def _data(self) -> None:
        draft = self.draft
        draft.data("SALT", self.salt)
        draft.data("FIRST_DAY", self.first_day)
        draft.data("NAMES", self.names)
        draft.data("CENTS", self.cents)
        draft.data("BASKETS", {c: [*row] for row, c in self.baskets.items()})
        draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        functions: tuple[Callable[..., object], ...] = (_filled, _sum, _slot)
        for function in functions:
            draft.code("\n\n" + source_of(function))
        unknown = draft.say(
            "There is no {code!r}; $find gives the number.", "没有编号{code}；编号由 $find 返回。"
        )
        draft.code(f"""


            LINES = {{b: _filled(SALT, b, [*CENTS]) for b in BASKETS}}


            def _lines(code):
                if code not in BASKETS:
                    raise ValueError(f"{unknown}")
                return LINES[code]


            def _money(cents):
                return f"{{cents / 100:.2f}}{self.money}"
        """)

    def _find_tool(self) -> None:
        say, has_more = self.draft.say, self.brief.knobs.options > 0
        more = {"$details": {"type": "boolean", "default": False, "description": say("Also how many pieces it holds.", "同时返回件数。")}}  # fmt: skip
        self.draft.tool(
            "$find", say(f"Find an open {self.basket} by person and purpose.", f"按姓名和用途查询未结算的{self.basket}。"),
            {"$who": {"type": "string", "minLength": 2, "description": say("Full name.", "姓名全称。")},
             "$label": {"type": "string", "enum": self.labels}, **(more if has_more else {})},
            f"""
            for code, row in BASKETS.items():
                if row == [$who.strip(), $label]:
                    found = {{"$code": code, "$total": _money(_sum(LINES[code], CENTS))}}
                    return {'found | ({"pieces": sum(LINES[code].values())} if $details else {})' if has_more else "found"}
            raise ValueError(f"{say("{$who!r} has nothing open for {$label}; give the full name, and what it is for.", "{$who}没有用于“{$label}”的记录；请核对姓名全称和用途。")}")
            """,
        )  # fmt: skip
        if has_more:
            who, label = self.chosen[0]
            self.draft.example("$find", **{"$who": who, "$label": label, "$details": True})

    def _show_tool(self) -> None:
        say, has_more = self.draft.say, self.brief.knobs.options > 1
        self.code_schema = {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{5}$", "description": say("As $find gives it.", "由 $find 返回。")}  # fmt: skip
        more = {
            "$order": {"type": "string", "enum": ["added", "name", "price"], "default": "added"}
        }
        lines = 'sorted(lines, key={"name": NAMES.get, "price": CENTS.get}.get($order, lambda i: 0))' if has_more else "lines"  # fmt: skip
        self.draft.tool(
            "$show", say(f"Show the items in {with_article(self.basket)}, their unit prices, and how much is missing for free delivery.",
                         f"查看{self.basket}里的商品、单价，以及还差多少免运费。"),
            {"$code": self.code_schema, **(more if has_more else {})},
            f"""
            lines = _lines($code)
            rows = [{{"$item_id": i, "name": NAMES[i], "$count": lines[i], "$each": _money(CENTS[i])}} for i in {lines}]
            return {{"lines": rows, "$missing": _money(max({self.free_from} - _sum(lines, CENTS), 0))}}
            """,
        )  # fmt: skip
        if has_more:
            for order in ("name", "price"):
                self.draft.example("$show", **{"$code": self.asked[0].basket, "$order": order})

    def _change_tool(self) -> None:
        say, item = self.draft.say, {"type": "string", "pattern": "^[A-Z][0-9]{4}$"}
        count = {"$count": {"type": "integer", "minimum": 1, "maximum": 40}}
        about = (
            say(f"Remove an item from {with_article(self.basket)}; returns the new total.", f"从{self.basket}中移除某商品，返回新的总额。")
            if self.removes
            else say(f"Set the quantity of an item in {with_article(self.basket)}; returns the new total.", f"设置{self.basket}中某商品的件数，返回新的总额。")
        )  # fmt: skip
        self.draft.tool(
            "$change", about, {"$code": self.code_schema, "$item_id": item, **({} if self.removes else count)},
            f"""
            lines = _lines($code)
            if $item_id not in lines:
                raise ValueError(f"{say("{$item_id!r} is not in {$code}; $show lists what is.", "{$code}中没有{$item_id}；请用 $show 查看。")}")
            {"del lines[$item_id]" if self.removes else "lines[$item_id] = $count"}
            return {{"$total": _money(_sum(lines, CENTS))}}
            """,
            writes=True,
        )  # fmt: skip

    def _voucher_tool(self) -> None:
        say = self.draft.say
        self.draft.data("VOUCHERS", {c: [*v] for c, v in self.vouchers.items()})
        self.draft.data("REDEEMED", {})
        self.draft.tool(
            "$redeem", say(f"Apply a voucher to {with_article(self.basket)}; returns the amount to pay, including delivery. It replaces one applied before.",
                           f"在{self.basket}上使用优惠券，返回含运费的应付金额；新券会替换之前用的券。"),
            {"$code": self.code_schema, "$voucher": {"type": "string", "minLength": 3}},
            f"""
            total = _sum(_lines($code), CENTS)
            if $voucher not in VOUCHERS:
                raise ValueError(f"{say("There is no voucher {$voucher!r}; check its letters and digits.", "没有优惠券{$voucher}；请核对字母和数字。")}")
            REDEEMED[$code] = $voucher
            off, twice_from = VOUCHERS[$voucher]
            fee = 0 if total >= {self.free_from} else {self.fee}
            return {{"$pay": _money(max(total - (2 * off if total >= twice_from else off), 0) + fee)}}
            """,
            writes=True,
        )  # fmt: skip

    def _slot_tool(self) -> None:
        self.draft.tool(
            "$slot", self.draft.say(f"Look up the next delivery window for {with_article(self.basket)} as it is now.", f"按{self.basket}当前内容查询最近的送货时段。"),
            {"$code": self.code_schema},
            """
            return {"$begins": _slot(FIRST_DAY, $code, _sum(_lines($code), CENTS)), "minutes": 60}
            """,
        )  # fmt: skip

    @property
    def ends(self) -> list[str]:
        """What is asked on the last of four levels."""
        if self.brief.layout.facets > 1:
            return ["pay", "slot"]
        return [self.brief.draw("end").pick(["pay", "slot"])]
