"""Stock over several places: articles, their amounts, and the tools that find, move and count them."""

from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.errors import DrawError
from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.phrases import with_article
from astra_mcp.synthesis.environments.families.stateful.house import House

__all__ = ["Article", "Stock"]

_Text = tuple[str, str]
"""In English and in Chinese; several choices between ``||``."""


@dataclass(frozen=True, slots=True)
class _Theme:
    """What is in stock, and where."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of such firms end in."""
    articles: tuple[_Text, ...]
    variants: tuple[_Text, ...]
    named: _Text
    """An article with its variant."""
    amount: _Text
    unit: _Text
    one: _Text
    stores: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of its places end in."""
    store: _Text
    stores_word: _Text
    slip: _Text
    nouns: str
    """What code calls an article."""
    errand: _Text
    """Why somebody asks."""


_COLOURS = (
    ("red", "红色"),
    ("black", "黑色"),
    ("olive", "橄榄绿"),
    ("navy", "藏青色"),
    ("sand", "沙色"),
)
_SIZES = (("S", "S"), ("M", "M"), ("L", "L"), ("XL", "XL"))
_THEMES = (
    _Theme(
        Domain.E_COMMERCE, (("Outdoor", "Trail Shop", "Camping"), ("户外", "露营用品", "登山装备")),
        (("head torches", "头灯"), ("rucksacks", "登山包"), ("sleeping mats", "防潮垫"), ("trekking poles", "登山杖"),
         ("water bottles", "水壶"), ("rain jackets", "冲锋衣"), ("folding stools", "折叠凳")),
        _COLOURS, ("{x} in {v}", "{x}（{v}）"), ("{n} {x}", "{n}件{x}"), ("pcs", "件"), ("piece", "件"),
        (("Arcade", "High Street", "Retail Park"), ("店", "广场店", "路店")), ("shop", "门店"), ("shops", "门店"),
        ("pick list", "拣货单"), "product|article|stock_item",
        ("I'm kitting out a school hike. || I'm getting the equipment together for a mountain trip on Saturday.",
         "我在给学校的徒步活动备装备。 || 周末有个团要进山，装备由我来配。"),
    ),
    _Theme(
        Domain.HEALTHCARE, (("Medical Supply", "Care Supplies", "Clinic Supply"), ("医疗用品", "医用耗材", "康护用品")),
        (("nitrile gloves", "丁腈手套"), ("surgical gowns", "手术衣"), ("compression stockings", "弹力袜"),
         ("overshoes", "鞋套"), ("wrist supports", "护腕"), ("arm slings", "手臂吊带"), ("knee braces", "护膝")),
        _SIZES, ("{x} in size {v}", "{v}码{x}"), ("{n} boxes of {x}", "{n}盒{x}"), ("boxes", "盒"), ("box", "盒"),
        (("Stockroom", "Supply Centre", "Supply Hub"), ("库房", "供应站", "配送站")), ("stockroom", "库房"), ("stockrooms", "库房"),
        ("issue slip", "领料单"), "supply|consumable|supply_item",
        ("I run a day clinic and we're low on supplies. || Our outpatient rooms need restocking before the weekend.",
         "我是日间病房的护士长，科里的耗材快用完了。 || 门诊的耗材周末前要补齐。"),
    ),
    _Theme(
        Domain.AUTOMOTIVE, (("Motor Parts", "Auto Factors", "Garage Supply"), ("汽配", "汽车零件", "车辆配件")),
        (("brake pads", "刹车片"), ("shock absorbers", "减震器"), ("wheel bearings", "轮毂轴承"), ("mud flaps", "挡泥板"),
         ("coil springs", "螺旋弹簧"), ("door seals", "车门密封条"), ("brake hoses", "制动软管")),
        (("front left", "左前"), ("front right", "右前"), ("rear left", "左后"), ("rear right", "右后")),
        ("{x} ({v})", "{x}（{v}）"), ("{n} {x}", "{n}件{x}"), ("units", "件"), ("unit", "件"),
        (("Depot", "Yard", "Trade Park"), ("仓", "配件仓", "分仓")), ("depot", "仓库"), ("depots", "仓库"),
        ("pick ticket", "出库单"), "part|spare_part|component",
        ("Our garage has a fleet of vans in this week. || I look after the buses of a small operator and am planning the next service.",
         "这周有一批面包车要进厂保养。 || 我负责一家小客运公司的车辆，正在安排下次保养。"),
    ),
    _Theme(
        Domain.EDUCATION, (("School Supplies", "Lab Supplies", "Teaching Aids"), ("教学仪器", "教育装备", "实验器材")),
        (("microscopes", "显微镜"), ("tablets", "平板电脑"), ("graphing calculators", "图形计算器"), ("headsets", "头戴耳机"),
         ("sensor kits", "传感器套件"), ("document cameras", "实物展台"), ("robot kits", "机器人套件")),
        (("basic", "基础"), ("standard", "标准"), ("advanced", "进阶"), ("compact", "便携")),
        ("{x} ({v} model)", "{v}款{x}"), ("{n} {x}", "{n}套{x}"), ("units", "套"), ("unit", "套"),
        (("Warehouse", "Showroom", "Loft"), ("周转库", "展厅", "库")), ("warehouse", "周转库"), ("warehouses", "周转库"),
        ("delivery slip", "发货单"), "device|equipment|teaching_aid",
        ("I'm buying equipment for our summer courses. || Our school is starting three new classes after the break.",
         "我在给暑期班采购设备。 || 下学期学校要开新班，设备由我来采购。"),
    ),
    _Theme(
        Domain.FOOD_AND_DINING, (("Provisions", "Wine Merchants", "Larder"), ("食品批发", "酒庄", "粮油")),
        (("cider", "苹果酒"), ("olive oil", "橄榄油"), ("elderflower cordial", "接骨木糖浆"), ("pear juice", "梨汁"),
         ("wine vinegar", "葡萄酒醋"), ("ginger beer", "姜汁啤酒"), ("walnut oil", "核桃油")),
        (("classic", "经典款"), ("organic", "有机"), ("unfiltered", "未过滤"), ("small-batch", "小批酿造"), ("reserve", "珍藏")),
        ("{x} ({v})", "{x}（{v}）"), ("{n} cases of {x}", "{n}箱{x}"), ("cases", "箱"), ("case", "箱"),
        (("Cellar", "Vaults", "Cold Store"), ("酒窖", "冷库", "货栈")), ("cellar", "仓库"), ("cellars", "仓库"),
        ("collection note", "提货单"), "drink|grocery|product_line",
        ("I'm catering a wedding next month. || Our restaurant is stocking up for the summer.",
         "我在承办一场婚宴，正在备货。 || 我们餐厅要为夏季备货。"),
    ),
    _Theme(
        Domain.ENTERTAINMENT, (("Event Supply", "Stage Supply", "Party Supply"), ("会展用品", "舞美器材", "活动器材")),
        (("folding chairs", "折叠椅"), ("stage lights", "舞台灯"), ("bar tables", "吧台桌"), ("cable ramps", "过线槽"),
         ("loudspeakers", "音箱"), ("crowd barriers", "隔离栏"), ("parasols", "遮阳伞")),
        (("white", "白色"), ("black", "黑色"), ("silver", "银色"), ("grey", "灰色"), ("yellow", "黄色")),
        ("{x} in {v}", "{v}{x}"), ("{n} {x}", "{n}个{x}"), ("items", "个"), ("item", "个"),
        (("Yard", "Hangar", "Shed"), ("场站", "器材库", "堆场")), ("yard", "器材库"), ("yards", "器材库"),
        ("loading list", "装车单"), "event_item|gear|stage_item",
        ("I'm organising a street festival. || I'm getting things ready for a village fair.",
         "我在筹办一场街区活动。 || 我在为镇上的集市准备器材。"),
    ),
)  # fmt: skip


def _free(salt: str, item: str, place: str) -> int:
    return 310 + issued(salt, item, place) % 4700


def _price(salt: str, item: str) -> int:
    return 240 + issued(salt, item, "price") % 940 * 5


def _pack(salt: str, item: str) -> int:
    return (4, 5, 6, 8)[issued(salt, item, "pack") % 4]


def _fee(slip: str) -> int:
    return 350 + issued(slip, "fee") % 2100


def _bay(slip: str) -> str:
    number = issued(slip, "bay")
    return "ABCDEFGHKLMN"[number % 12] + str(number // 12 % 89 + 10)


@dataclass(frozen=True, slots=True)
class Article:
    """An article that is asked for, and what becomes of it."""

    product: str
    variant: str
    item: str
    said: str
    count: int
    taken: int
    stock: dict[str, int]
    most: str


class Stock(House[Article]):
    """One world of articles and places; what is asked of it is for those who derive from it."""

    def __init__(self, brief: Brief) -> None:
        """Draw it."""
        self.theme = theme = brief.draw("theme").pick(_THEMES)
        super().__init__(brief, theme.domain, theme.houses)
        self.places = self.entities.places(4, *theme.stores[self.zh])
        self.here = self.places[3]
        self.is_transfer = brief.draw("mode").chance(1, 2)
        self.mark = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        self._fill()

    def _fill(self) -> None:
        """Draw articles, and near misses of those that are asked for."""
        knobs, subjects = self.brief.knobs, self.brief.subjects
        nouns = [article[self.zh] for article in self.theme.articles]
        self.variants = [variant[self.zh] for variant in self.theme.variants]
        count = max(knobs.records, 6 + subjects * (1 + knobs.near_misses))
        makers = self.entities.places(12 + count // 12)
        all_rows = [(m, n, v) for m in makers for n in nouns for v in self.variants]
        drawn = self.draw.shuffled(all_rows)
        asked = drawn[:subjects]
        near = [row for one in asked for row in self._near(one, makers, nouns)]
        kept = [*dict.fromkeys([*asked, *near, *drawn])][:count]
        rows = self.draw.shuffled(kept)
        codes = self.entities.codes(f"{self.draw.pick('JQXZ')}@-####", len(rows) + subjects)
        # What is asked about must have a reason to be moved: there is more of it elsewhere.
        movable = [c for c in codes if self._most(self._stock_of(c)) != self.here][:subjects]
        if len(movable) < subjects:
            raise DrawError("too few articles are kept elsewhere")
        others = iter([c for c in codes if c not in {*movable}])
        given = dict(zip(asked, movable, strict=True))
        join = "" if self.zh else " "
        self.items = {
            (f"{m}{join}{n}", v): given.get((m, n, v)) or next(others) for m, n, v in rows
        }
        self.chosen = [(f"{m}{join}{n}", v) for m, n, v in asked]

    def _stock_of(self, item: str) -> dict[str, int]:
        return {p: _free(self.salt, item, p) for p in self.places}

    @staticmethod
    def _most(stock: dict[str, int]) -> str:
        return max(stock, key=lambda place: stock[place])

    def _near(
        self, row: tuple[str, str, str], makers: list[str], nouns: list[str]
    ) -> list[tuple[str, str, str]]:
        maker, noun, variant = row
        near: list[tuple[str, str, str]] = []
        for number in range(self.brief.knobs.near_misses):
            match number % 3:
                case 0:
                    others = [v for v in self.variants if v != variant]
                    near.append((maker, noun, others[number // 3]))
                case 1:
                    near.append((self.draw.pick([m for m in makers if m != maker]), noun, variant))
                case _:
                    near.append((maker, self.draw.pick([n for n in nouns if n != noun]), variant))
        return near

    def _seen(self, product: str, variant: str) -> Article:
        item = self.items[product, variant]
        pack = _pack(self.salt, item)
        draw = self.brief.draw("count", product, variant, self.brief.attempt)
        count = pack * draw.between(1, 5) + draw.between(1, pack - 1)
        stock = self._stock_of(item)
        said = self.theme.named[self.zh].format(x=product, v=variant)
        return Article(
            product, variant, item, said, count, -(-count // pack) * pack, stock, self._most(stock)
        )  # fmt: skip

    def _slip(self, one: Article) -> str:
        target = [self.here] if self.is_transfer else []
        return f"{self.mark}-{issued(str(one.count), one.item, one.most, *target)}"

    def _after(self, one: Article) -> int:
        """How many are at the place that the question asks for, at the end."""
        if self.is_transfer:
            return one.stock[self.here] + one.taken
        return one.stock[one.most] - one.taken

    def _price_of(self, one: Article) -> int:
        return _price(self.salt, one.item)

    def _fee_of(self, one: Article) -> int:
        return _fee(self._slip(one))

    def _bay_of(self, one: Article) -> str:
        return f"{self.draft.say('bay', '交接区')} {_bay(self._slip(one))}"

    def _is_clear(self) -> bool:
        """Whether no two numbers that matter are the same."""
        numbers = [
            n
            for one in self.asked
            for n in (*one.stock.values(), self._after(one), one.stock[one.most] - one.taken)
        ]
        repeated = 0 if self.is_transfer else len(self.asked)
        prices = {self._price_of(one) for one in self.asked}
        return (
            len({*numbers}) == len(numbers) - repeated
            and len(prices) == len(self.asked)
            and len({one.count for one in self.asked}) == len(self.asked)
        )

    # --- tools --------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        say = self.draft.say
        self.unit, self.one = say(*self.theme.unit), say(*self.theme.one)
        self.store, self.stores = say(*self.theme.store), say(*self.theme.stores_word)
        self.slip = say(*self.theme.slip)
        self.money = "元" if self.zh else " " + self.brief.draw("money").pick(["EUR", "GBP", "USD"])
        self.draft.title = say(f"Stock of {self.house}", f"{self.house}库存")
        self.draft.description = say(
            f"What {self.house} has in stock at its {self.stores}, and transfers and reservations.",
            f"{self.house}各{self.stores}的存货与调拨。",
        )
        self._name()
        self._data()
        self._reading_tools()
        if self.brief.layout.depth > 2:
            self._moving_tool()

    def _name(self) -> None:
        self.draft.name(
            item=self.theme.nouns, product="name|title|label", variant="variant|kind|version",
            code="${item}_code|${item}_number|${item}_id", place="place|site|location|kept_at", free="free|available|in_stock",
            count="quantity|amount|how_many", source="from_place|source|taken_from", target="to_place|destination|brought_to",
            slip="slip|document|order_number", find="find_$item|look_up_$item|search_$item",
            stock="get_stock|stock_of_$item|where_is_$item|list_stock",
            move=("transfer_$item|move_$item|relocate_$item" if self.is_transfer else "reserve_$item|set_aside_$item|hold_$item"),
            dispatch="get_$slip|show_$slip|read_$slip", details="details|with_details|full",
        )  # fmt: skip

    def _data(self) -> None:
        draft = self.draft
        draft.data("SALT", self.salt)
        draft.data("ITEMS", {c: [*row] for row, c in self.items.items()})
        draft.data("PLACES", self.places)
        draft.data("MOVED", {})
        draft.data("SLIPS", {})
        draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        for function in (_free, _price, _pack, _fee, _bay):
            draft.code("\n\n" + source_of(function))
        unknown = draft.say(
            "There is no {$code!r}; $find gives the number.", "没有编号{$code}；编号由 $find 返回。"
        )
        draft.code(f"""
            def _known($code):
                if $code not in ITEMS:
                    raise ValueError(f"{unknown}")


            def _left(code, place):
                return _free(SALT, code, place) + MOVED.get((code, place), 0)
        """)

    def _reading_tools(self) -> None:
        say, options = self.draft.say, self.brief.knobs.options
        self.code_schema = {
            "type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$", "description": say("As $find gives it.", "由 $find 返回。"),
        }  # fmt: skip
        more = {"$details": {"type": "boolean", "default": False, "description": say("Also how much is in a pack, and its weight.", "同时返回每包数量和重量。")}}  # fmt: skip
        self.find = self.draft.tool(
            "$find", say("Find an article in the catalogue by name and variant.", "按名称和款式在目录中查询。"),
            {
                "$product": {"type": "string", "minLength": 2, "description": say("Maker and kind, in full.||Full name with its maker.", "含品牌的全称。")},
                "$variant": {"type": "string", "enum": self.variants},
                **(more if options > 1 else {}),
            },
            f"""
            wanted = [$product.strip().casefold(), $variant]
            for code, row in ITEMS.items():
                if [row[0].casefold(), row[1]] == wanted:
                    found = {{"$code": code, "price": f"{{_price(SALT, code) / 100:.2f}}{self.money}"}}
                    {'return found | ({"pack": _pack(SALT, code), "grams": issued(code, "grams") % 900 + 80} if $details else {})' if options > 1 else "return found"}
            raise ValueError(f"{say("There is no {$product!r} as {$variant}; give the name in full, with the maker.", "目录里没有{$variant}的{$product}；请写含品牌的全称。")}")
            """,
        )  # fmt: skip
        self._stock_tool()
        if options > 1:
            product, variant = self.chosen[0]
            self.draft.example(
                "$find", **{"$product": product, "$variant": variant, "$details": True}
            )

    def _stock_tool(self) -> None:
        say, has_place = self.draft.say, self.brief.knobs.options > 0
        place = {
            "$place": {
                "type": "string",
                "enum": self.places,
                "description": say("Only this one.", "只看此处。"),
            }
        }
        self.draft.tool(
            "$stock", say(f"List how much of an article is available at each of the {self.stores}.", f"查询某物在各{self.stores}的可用数量。"),
            {"$code": self.code_schema, **(place if has_place else {})},
            f"""
            _known($code)
            places = {"[$place] if $place else PLACES" if has_place else "PLACES"}
            return {{"$free": [{{"$place": p, "$count": f"{{_left($code, p)}}{self._gap}{self.unit}"}} for p in places]}}
            """,
            optional=["$place"] if has_place else [],
        )  # fmt: skip
        if has_place:
            self.draft.example("$stock", **{"$code": self.asked[0].item, "$place": self.places[1]})

    @property
    def _gap(self) -> str:
        return "" if self.zh else " "

    def _moving_tool(self) -> None:
        say = self.draft.say
        place = {"type": "string", "enum": self.places}
        count = {"type": "integer", "minimum": 1, "maximum": 60}
        both = {"$source": place, "$target": place} if self.is_transfer else {"$place": place}
        source = "$source" if self.is_transfer else "$place"
        same = say(
            "$source and $target must be two different places.",
            "$source 和 $target 不能相同。",
        )
        self.draft.tool(
            "$move", self._about_move(), {"$code": self.code_schema, **both, "$count": count},
            f"""
            _known($code)
            {f'if $source == $target: raise ValueError("{same}")' if self.is_transfer else ""}
            slip = f"{self.mark}-{{issued(str($count), $code, {", ".join(both)})}}"
            if slip not in SLIPS:
                taken = -(-$count // _pack(SALT, $code)) * _pack(SALT, $code)
                if _left($code, {source}) < taken:
                    raise ValueError(f"{say(f"Only {{_left($code, {source})}} are free at {{{source}}}; take fewer.", f"{{{source}}}只剩{{_left($code, {source})}}{self.unit}；请减少数量。")}")
                MOVED[$code, {source}] = MOVED.get(($code, {source}), 0) - taken
                {"MOVED[$code, $target] = MOVED.get(($code, $target), 0) + taken" if self.is_transfer else ""}
                SLIPS[slip] = $code
            return {{"$slip": slip, "fee": f"{{_fee(slip) / 100:.2f}}{self.money}"}}
            """,
            writes=True,
        )  # fmt: skip
        if self.brief.layout.depth > 3 and self.ends != ["left"]:
            self._dispatch_tool()

    def _about_move(self) -> str:
        say = self.draft.say
        if self.is_transfer:
            return say(
                f"Transfer an article from one {self.store} to another. Only whole packs are sent, so the "
                f"amount is rounded up; the same request again gives the same {self.slip}.",
                f"把某物从一处{self.store}调到另一处，返回{self.slip}号。只整包调拨，数量向上取整；重复同一请求返回同一单号。",
            )
        return say(
            f"Reserve an article at one {self.store}. Only whole packs are reserved, so the amount is rounded "
            f"up; the same request again gives the same {self.slip}.",
            f"在某处{self.store}预留某物，返回{self.slip}号。只整包预留，数量向上取整；重复同一请求返回同一单号。",
        )

    def _dispatch_tool(self) -> None:
        say = self.draft.say
        self.draft.tool(
            "$dispatch", say(f"Look up {with_article(self.slip)}: at which bay the goods will be ready.", f"查看{self.slip}：货物在哪里交接。"),
            {"$slip": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"}},
            f"""
            if $slip not in SLIPS:
                raise ValueError(f"{say("There is no {$slip!r}; $move gives such numbers.", "没有单号{$slip}；单号由 $move 返回。")}")
            return {{"$item": SLIPS[$slip], "bay": f"{say("bay", "交接区")} {{_bay($slip)}}"}}
            """,
        )  # fmt: skip

    @property
    def ends(self) -> list[str]:
        """What is asked on the last of four levels."""
        if self.brief.layout.facets > 1:
            return ["left", "bay"]
        return [self.brief.draw("end").pick(["left", "left", "bay"])]
