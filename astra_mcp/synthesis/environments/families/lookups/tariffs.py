"""Tariffs: from a place to its zone, from circumstances to the class that applies, and what that costs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Bounds, Brief
from astra_mcp.synthesis.environments.families.conclusions import (
    Conclusion,
    Found,
    conclusion_of,
    tell,
)
from astra_mcp.synthesis.environments.families.draft import Draft, key, shaping
from astra_mcp.synthesis.environments.families.family import Family
from astra_mcp.synthesis.environments.families.times import money

__all__ = ["TARIFFS"]

_Text = tuple[str, str]
_COUNTED = {"parcels": "件", "months": "个月", "days": "天"}


@dataclass(frozen=True, slots=True)
class _Theme:
    """What is charged for; each text in English and in Chinese, several choices between ``||``.

    Texts hold ``{count}`` and ``{value}`` (the circumstances), ``{at}`` (where), and ``{cls}`` (the class).
    """

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of those who charge end in."""
    values: tuple[int, int, int]
    """The least and the greatest value by which classes differ, and the step between two."""
    unit: _Text
    counts: tuple[int, int]
    zone: _Text
    file: _Text
    at_zone: _Text
    at_place: _Text
    at_file: _Text
    """Where, with ``{x}``."""
    known: _Text
    plan: _Text
    short_known: _Text
    short: _Text
    fee: _Text
    fee_extra: _Text
    form: _Text
    """The questions: what it costs, what it costs with the extra, and which form goes with it."""
    extra: _Text
    """The same extra for several people, after the question."""
    form_noun: _Text
    code: tuple[str, str, str, str, str, str]
    """What code calls zone, file, class, form, count and extra."""


_THEMES = (
    _Theme(
        Domain.LOGISTICS, (("Parcel Service", "Post", "Express"), ("快递", "邮政", "速运")),
        (1, 60, 1), ("kg", "公斤"), (2, 24), ("delivery zone", "投递区"), ("order", "订单"),
        ("to zone {x}", "寄到{x}区"), ("to {x}", "寄到{x}"), ("to the address of order {x}", "寄到订单{x}的收件地"),
        ("I am sending {count} parcels of class {cls}.", "我要寄{count}件{cls}类包裹。"),
        ("I am sending {count} parcels of {value} kg each {at}. || {count} parcels have to go {at}; each weighs {value} kg.", "我有{count}件包裹要{at}，每件{value}公斤。 || {count}件包裹，每件重{value}公斤，要{at}。"),
        ("{count} parcels of class {cls}", "{count}件{cls}类包裹"), ("{count} parcels of {value} kg each {at}", "{count}件包裹{at}，每件{value}公斤"),
        ("What does the postage come to? || How much do I pay for all of them together?", "邮费一共多少？ || 总共要付多少邮费？"),
        ("What does the postage come to, insured? || How much do I pay for all of them together with insurance?", "加保价的话，邮费一共多少？ || 都要保价，总共多少钱？"),
        ("Which label do I have to use? || Which label belongs on them?", "要贴哪种面单？ || 用哪个编号的面单？"), (" Everything is to be insured.", "全部要保价。"), ("label", "面单"),
        ("zone|delivery_zone", "order|shipment", "parcel_class|rate_class", "label|label_code", "parcels|pieces", "insured|with_insurance"),
    ),
    _Theme(
        Domain.INSURANCE, (("Insurance", "Mutual", "Assurance"), ("保险", "互助保险", "财产保险")),
        (18, 89, 1), ("years", "岁"), (2, 24), ("risk zone", "风险区"), ("file", "客户档案"),
        ("in zone {x}", "住在{x}区"), ("in {x}", "住在{x}"), ("at the address in file {x}", "住在客户档案{x}登记的地址"),
        ("I have been put into class {cls} and want cover for {count} months.", "我被归为{cls}类，想投保{count}个月。"),
        ("I am {value}, live {at} and want cover for {count} months. || At {value}, and living {at}, I would like to be covered for {count} months.", "我今年{value}岁，{at}，想投保{count}个月。 || 我{value}岁，{at}，打算买{count}个月的保险。"),
        ("class {cls}, {count} months", "{cls}类，{count}个月"), ("aged {value}, living {at}, {count} months", "{value}岁，{at}，{count}个月"),
        ("What is the premium in all? || How much do I pay for that whole time?", "保费一共多少？ || 整段时间要交多少保费？"),
        ("What is the premium in all, with legal aid? || How much do I pay for that whole time if legal aid is included?", "加上法律援助，保费一共多少？ || 含法律援助的话，总共要交多少保费？"),
        ("Which application form do I fill in? || Which form is it for me?", "要填哪份投保单？ || 我该用哪个编号的投保单？"), (" All of them want legal aid as well.", "都要附加法律援助。"), ("application form", "投保单"),
        ("zone|risk_zone", "file|customer_file", "risk_class|premium_class", "form|application_form", "months|term", "legal_aid|with_legal_aid"),
    ),
    _Theme(
        Domain.AUTOMOTIVE, (("Road Toll", "Toll Office", "Motorways"), ("高速", "路桥", "收费公路")),
        (3, 60, 1), ("t", "吨"), (2, 24), ("toll zone", "收费区"), ("permit", "通行证"),
        ("in zone {x}", "在{x}区"), ("around {x}", "在{x}一带"), ("in the area of permit {x}", "在通行证{x}的区域"),
        ("My lorry is in class {cls} and will be on the road for {count} days.", "我的货车属于{cls}类，要跑{count}天。"),
        ("My lorry weighs {value} t and is to drive {at} for {count} days. || For {count} days a lorry of {value} t will be on the road {at}.", "我的货车重{value}吨，要{at}跑{count}天。 || 一辆{value}吨的货车要{at}开{count}天。"),
        ("class {cls}, {count} days", "{cls}类，{count}天"), ("a lorry of {value} t {at}, {count} days", "{value}吨货车{at}跑{count}天"),
        ("What is the toll in all? || How much toll is due?", "通行费一共多少？ || 总共要交多少通行费？"),
        ("What is the toll in all, with a trailer? || How much toll is due if it pulls a trailer?", "带挂车的话，通行费一共多少？ || 加上挂车，总共要交多少通行费？"),
        ("Which sticker does it need? || Which sticker goes on the windscreen?", "要贴哪种通行标？ || 挡风玻璃上贴哪个编号的通行标？"), (" Each of them pulls a trailer.", "都带挂车。"), ("sticker", "通行标"),
        ("zone|toll_zone", "permit|road_permit", "toll_class|vehicle_class", "sticker|vignette", "days|num_days", "trailer|with_trailer"),
    ),
    _Theme(
        Domain.GOVERNMENT, (("Waste Office", "City Services", "Refuse Board"), ("环卫局", "市政服务", "垃圾处理中心")),
        (60, 1200, 20), ("l", "升"), (2, 24), ("collection district", "清运区"), ("account", "缴费户"),
        ("in district {x}", "在{x}区"), ("in {x}", "在{x}"), ("at the address of account {x}", "在缴费户{x}的登记地址"),
        ("Our bins are in class {cls}, and we pay for {count} months.", "我们的垃圾桶属于{cls}类，要缴{count}个月。"),
        ("Our house {at} has bins of {value} l, and we pay for {count} months. || We have {value} l of bins {at} and want to settle {count} months.", "我们的房子{at}，垃圾桶共{value}升，要缴{count}个月的费。 || 我们{at}，垃圾桶容量{value}升，想一次缴{count}个月。"),
        ("class {cls}, {count} months", "{cls}类，{count}个月"), ("bins of {value} l {at}, {count} months", "垃圾桶{value}升，{at}，{count}个月"),
        ("What is the charge in all? || How much is that altogether?", "清运费一共多少？ || 总共要缴多少钱？"),
        ("What is the charge in all, with garden waste? || How much is that altogether if garden waste is collected too?", "加上园林垃圾，清运费一共多少？ || 含园林垃圾清运的话，总共要缴多少钱？"),
        ("Which notice will we get? || What is the number of the notice for it?", "对应哪份缴费通知？ || 缴费通知是哪个编号？"), (" Garden waste is collected everywhere as well.", "都要加收园林垃圾。"), ("notice", "缴费通知"),
        ("district|collection_district", "account|payer_account", "bin_class|charge_class", "notice|notice_code", "months|num_months", "garden_waste|with_garden_waste"),
    ),
    _Theme(
        Domain.ENERGY, (("Power Supply", "Electricity", "Gas and Power"), ("供电", "燃气", "能源服务")),
        (800, 19000, 100), ("kWh", "千瓦时"), (2, 24), ("network area", "供电区"), ("meter", "电表"),
        ("in area {x}", "在{x}区"), ("in {x}", "在{x}"), ("where meter {x} hangs", "在电表{x}的安装地"),
        ("We are in class {cls} and want to pay for {count} months.", "我家属于{cls}类，想预缴{count}个月。"),
        ("We use {value} kWh a year {at} and want to pay for {count} months. || {value} kWh a year is what we need {at}; the bill is for {count} months.", "我家{at}，一年用电{value}千瓦时，想预缴{count}个月。 || 我们{at}，年用电量{value}千瓦时，账单按{count}个月算。"),
        ("class {cls}, {count} months", "{cls}类，{count}个月"), ("{value} kWh a year {at}, {count} months", "{at}，年用电{value}千瓦时，{count}个月"),
        ("What does the standing charge come to? || How much is the standing charge in all?", "基本费一共多少？ || 总共要缴多少基本费？"),
        ("What does the standing charge come to with green power? || How much is the standing charge in all if we take green power?", "选绿电的话，基本费一共多少？ || 用绿电的话，总共要缴多少基本费？"),
        ("Which tariff sheet applies to us? || Which tariff sheet do we get?", "适用哪份电价表？ || 我们对应哪个编号的电价表？"), (" All of them take green power.", "都选绿电。"), ("tariff sheet", "电价表"),
        ("area|network_area", "meter|meter_point", "supply_class|load_class", "tariff_sheet|sheet", "months|num_months", "green|green_power"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Asked:
    """One subject: who asks, by which file, for which place and zone, and what class that is."""

    name: str
    file: str
    place: str
    zone: str
    cls: str
    value: int
    count: int


def _make(brief: Brief) -> Draft:
    return _Tariffs(brief, brief.draw("theme").pick(_THEMES)).draft


class _Tariffs:
    """One tariff, and what is asked of it."""

    def __init__(self, brief: Brief, theme: _Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.draft = Draft(brief, theme.domain)
        self.house = self.entities.firms(1, *theme.kinds[self.zh])[0]
        self.zone, self.file, self.form = (
            self.draft.say(*t) for t in (theme.zone, theme.file, theme.form_noun)
        )
        self.currency = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])
        both = brief.layout.facets == 2
        is_fee = brief.layout.concludes or brief.draw("facet").chance(2, 3)
        self.facets = ["fee", "form"] if both else ["fee" if is_fee else "form"]
        has_option = brief.knobs.options > 0 and "fee" in self.facets
        self.is_extra = has_option and brief.draw("extra").chance(1, 2)
        """Whether the question asks for the extra, else an example shows it."""
        self._name()
        self._fill()
        self._tools()
        self._ask()

    def _name(self) -> None:
        zone, file, cls, form, count, extra = self.theme.code
        self.draft.title = f"{self.house}{'：收费标准' if self.zh else ': tariff'}"
        self.draft.description = self.draft.say(
            f"The tariff of {self.house}: {self.zone}s, classes and what they cost.",
            f"{self.house}的收费标准：{self.zone}、类别和费用。",
        )
        self.draft.name(
            zone=zone, file=file, cls=cls, form=form, count=count, extra=extra,
            ref="${file}_number|${file}_id|${file}_ref", place="place|town|location", least="from|at_least", most="up_to|to|at_most",
            open="open_$file|read_$file|get_$file", find="${zone}_of|find_$zone|which_$zone", classes="${cls}es|list_${cls}es|show_${cls}es",
            price="price_of_$cls|quote_$cls|amount_due", which="${form}_for|find_$form|get_$form", names="with_names|named|show_names",
        )  # fmt: skip

    # --- world --------------------------------------------------------------------------------------------------

    def _fill(self) -> None:
        records, subjects = self.brief.knobs.records, self.brief.layout.subjects
        zones = self.entities.codes("@##", max(subjects + 3, min(36, records // 5)))
        places = self.entities.places(max(2 * len(zones), min(records, 80)))
        self.zones = {p: zones[i % len(zones)] for i, p in enumerate(places)}
        files = self.entities.codes(f"{self._letters()}#####", max(records, subjects + 6))
        self.files = {f: places[i % len(places)] for i, f in enumerate(self.draw.shuffled(files))}
        spans = {z: self._spans() for z in zones}
        codes = iter(
            self.entities.codes(f"{self._letters()}-####", sum(len(s) for s in spans.values()))
        )
        self.classes = {z: [(next(codes), *span) for span in spans[z]] for z in zones}
        self._price()
        self.asked = [self._subject(z) for z in self.draw.some(zones, subjects)]
        self._facts()

    def _letters(self) -> str:
        return "".join(self.draw.pick("BCDFGHKLMNPRSTVWX") for _ in range(2))

    def _spans(self) -> list[tuple[int, int]]:
        """The values of the classes of one zone: without gaps, and in each zone others."""
        low, high, step = self.theme.values
        marks = range(low + 3 * step, high - 3 * step, step)
        ends = sorted(self.draw.some(marks[:: max(1, len(marks) // 40)], self.draw.between(3, 5)))
        return [*zip([low, *(e + step for e in ends)], [*ends, high], strict=True)]

    def _price(self) -> None:
        """What classes cost: a base and so much for each unit; and the form of each."""
        codes = [c for rows in self.classes.values() for c, _, _ in rows]
        bases = self.draw.some(range(60, 60 + 7 * len(codes)), len(codes))
        rates = self.draw.some(range(17, 17 + 7 * len(codes)), len(codes))
        self.prices = {c: (50 * b, 5 * r) for c, b, r in zip(codes, bases, rates, strict=True)}
        forms = self.entities.codes(f"{self._letters()}/####", len(codes))
        self.forms = dict(zip(codes, forms, strict=True))

    def _subject(self, zone: str) -> _Asked:
        low, high, step = self.theme.values
        rows = self.classes[zone]
        code, least, most = rows[self.draw.below(len(rows))]
        edges = [v for v in (least, most) if v not in {low, high}]
        middle = least + self.draw.between(0, (most - least) // step) * step
        value = self.draw.pick(edges) if self.brief.knobs.near_misses else middle
        file = self.draw.pick([f for f, p in self.files.items() if self.zones[p] == zone])
        name = "" if self.brief.layout.subjects == 1 else self.entities.people(1)[0]
        count = self.draw.between(*self.theme.counts)
        return _Asked(name, file, self.files[file], zone, code, value, count)

    def _facts(self) -> None:
        draft, depth = self.draft, self.brief.layout.depth
        if depth > 3:
            draft.data("FILES", self.files)
        if depth > 2:
            draft.data("ZONES", self.zones)
        if depth > 1:
            draft.data("CLASSES", self.classes)
        if "fee" in self.facets:
            draft.data("CENTS", self.prices)
        if "form" in self.facets:
            draft.data("FORMS", self.forms)

    def _due(self, asked: _Asked) -> int:
        base, rate = self.prices[asked.cls]
        due = base + rate * asked.count
        return due * 6 // 5 if self.is_extra else due

    # --- tools --------------------------------------------------------------------------------------------------

    def _tools(self) -> None:
        say, depth, self.options = self.draft.say, self.brief.layout.depth, self.brief.knobs.options
        if depth > 3:
            some = next(iter(self.files))[:2]
            pattern = {"type": "string", "pattern": f"^{some}[0-9]{{5}}$"}
            unknown = say(f"There is no {self.file} {{$ref!r}}; numbers look like {some}00000.", f"没有编号为{{$ref}}的{self.file}；编号形如{some}00000。")  # fmt: skip
            self.open = self._plain("$open", say(f"Tell which place a {self.file} belongs to.", f"查询{self.file}所在的地方。"), {"$ref": pattern}, ("FILES", "$place", unknown))  # fmt: skip
        if depth > 2:
            text = {"type": "string", "minLength": 2}
            unknown = say("{$place!r} is not in the tariff; check how it is spelled.", "收费标准里没有{$place}；请核对地名。")  # fmt: skip
            self.find = self._plain("$find", say(f"Tell in which {self.zone} a place lies.", f"查询某地属于哪个{self.zone}。"), {"$place": text}, ("ZONES", "$zone", unknown))  # fmt: skip
        if "fee" in self.facets:
            self._fee()
        if "form" in self.facets:
            unknown = self._no_class()
            self.which = self._plain("$which", say(f"Tell the {self.form} of a class.", f"查询类别对应的{self.form}。"), {"$cls": self._class()}, ("FORMS", "$form", unknown))  # fmt: skip
        if depth > 1:
            self._classes()

    def _plain(self, name: str, about: str, given: Mapping[str, Mapping[str, Any]], told: tuple[str, str, str]) -> str:  # fmt: skip
        """A tool that tells one thing of another: from a table, under a name, or why not."""
        (asked,), (table, member, unknown) = given, told
        return self.draft.tool(
            name, about, given,
            f"""
            if {asked} not in {table}:
                raise ValueError(f"{unknown}")
            return {{"{asked}": {asked}, "{member}": {table}[{asked}]}}
            """,
        )  # fmt: skip

    def _class(self) -> dict[str, str]:
        return {"type": "string", "pattern": f"^{next(iter(self.prices))[:3]}[0-9]{{4}}$"}

    def _no_class(self) -> str:
        some = next(iter(self.prices))[:3]
        return self.draft.say(f"There is no class {{$cls!r}}; classes look like {some}0000.", f"没有类别{{$cls}}；类别形如{some}0000。")  # fmt: skip

    def _fee(self) -> None:
        say, gap = self.draft.say, "" if self.zh else " "
        more, factor = dict[str, dict[str, object]](), ""
        if self.options > 0:
            self.options -= 1
            more, factor = {"$extra": {"type": "boolean", "default": False}}, " * (6 if $extra else 5) // 5"  # fmt: skip
        count = {"type": "integer", "minimum": 1, "maximum": 60}
        self.price = self.draft.tool(
            "$price", say("Compute what is due in a class.||The amount due in a class.", "计算某类别应付的费用。||某类别应付多少。"), {"$cls": self._class(), "$count": count, **more},
            f"""
            if $cls not in CENTS:
                raise ValueError(f"{self._no_class()}")
            base, rate = CENTS[$cls]
            cents = (base + rate * $count){factor}
            return {{"$cls": $cls, "due": f"{{cents // 100}}.{{cents % 100:02d}}{gap}{self.currency}"}}
            """,
        )  # fmt: skip
        if more and not self.is_extra:
            asked = self.asked[0]
            self.draft.example("$price", **{"$cls": asked.cls, "$count": asked.count, "$extra": True})  # fmt: skip

    def _classes(self) -> None:
        say, some = self.draft.say, self.asked[0]
        more, named = dict[str, dict[str, object]](), ""
        if self.options > 0:
            self.options -= 1
            more = {"$names": {"type": "boolean", "default": False}}
            named = ', **({"name": "ABCDEFGH"[n]} if $names else {})'
        self.find_classes = self.draft.tool(
            "$classes", say(f"List the classes of a {self.zone}, each with its range in {self.theme.unit[0]}.", f"列出某个{self.zone}的类别及各自适用的范围（{self.theme.unit[1]}）。"),
            {"$zone": {"type": "string", "pattern": "^[A-Z][0-9]{2}$"}, **more},
            f"""
            if $zone not in CLASSES:
                raise ValueError(f"{say(f"There is no {self.zone} {{$zone!r}}; they look like {some.zone[0]}00.", f"没有{self.zone}{{$zone}}；编号形如{some.zone[0]}00。")}")
            rows = enumerate(CLASSES[$zone])
            return {{"classes": [{{"$cls": c, "$least": a, "$most": b{named}}} for n, (c, a, b) in rows]}}
            """,
        )  # fmt: skip
        if more:
            self.draft.example("$classes", **{"$zone": some.zone, "$names": True})

    # --- question -----------------------------------------------------------------------------------------------

    def _ask(self) -> None:
        found, say = [self._follow(a) for a in self.asked], self.draft.say
        kind = conclusion_of(self.brief)
        concluded = ("What do they come to together?", "加起来一共多少？") if kind is Conclusion.SUM else ("Which of them is it?", "是其中哪一位？")  # fmt: skip
        tell(self.draft, found, say(*concluded), lambda cents: money(cents, self.currency))
        gap = "" if self.zh else " "
        if len(self.asked) == 1:
            opening = say(f"A question for {self.house}. || Hello {self.house}!", f"请教一下{self.house}。 || {self.house}你好！")  # fmt: skip
            theme = self.theme.known if self.brief.layout.depth == 1 else self.theme.plan
            parts = [opening, self._said(theme, self.asked[0]), self._wanted()]
            self.draft.question = gap.join(parts)
            return
        theme = self.theme.short_known if self.brief.layout.depth == 1 else self.theme.short
        clauses = [f"{a.name}{'：' if self.zh else ': '}{self._said(theme, a)}" for a in self.asked]
        opening = say(f"{self.house} has these requests. || These people have written to {self.house}.", f"{self.house}收到这几份申请。 || 有几位客户来问{self.house}。")  # fmt: skip
        listed = ("；" if self.zh else "; ").join(clauses) + ("。" if self.zh else ".")
        extra = self.theme.extra[self.zh] if self.is_extra else ""
        self.draft.question = f"{opening}{gap}{listed}{extra}{gap}{self._wanted_of_all(kind)}"

    def _said(self, text: _Text, asked: _Asked) -> str:
        """A text of the theme about one subject."""
        at = [self.theme.at_zone, self.theme.at_zone, self.theme.at_place, self.theme.at_file]
        depth = self.brief.layout.depth
        x = [asked.zone, asked.zone, asked.place, asked.file][depth - 1]
        where = self.draft.say(*at[depth - 1]).replace("{x}", x)
        words = {
            "count": str(asked.count),
            "value": str(asked.value),
            "at": where,
            "cls": asked.cls,
        }
        said = self.draft.say(*text)
        for word, stands_for in words.items():
            said = said.replace(f"{{{word}}}", stands_for)
        return said

    def _wanted(self) -> str:
        asks = {"fee": self.theme.fee_extra if self.is_extra else self.theme.fee, "form": self.theme.form}  # fmt: skip
        return ("" if self.zh else " ").join(self.draft.say(*asks[f]) for f in self.facets)

    def _wanted_of_all(self, kind: Conclusion) -> str:
        say, least = self.draft.say, kind is Conclusion.LEAST
        if kind is Conclusion.SUM:
            return say("What do they pay altogether? || How much is that for all of them together?", "加起来一共要付多少？ || 总共应收多少钱？")  # fmt: skip
        if kind is not Conclusion.NONE:
            return say(f"Who of them pays {'least' if least else 'most'}?", f"其中谁付得最{'少' if least else '多'}？ || 谁要付的钱最{'少' if least else '多'}？")  # fmt: skip
        if self.facets == ["fee"]:
            return say(
                "What does each of them have to pay?", "每个人各要付多少？ || 各自应付多少钱？"
            )
        if self.facets == ["form"]:
            return say(
                f"Which {self.form} does each of them get?", f"各自对应哪个编号的{self.form}？"
            )
        return say(f"What does each of them have to pay, and which {self.form} do they get?", f"各自要付多少，对应哪个编号的{self.form}？")  # fmt: skip

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, asked: _Asked) -> Found:
        say, depth, needs = self.draft.say, self.brief.layout.depth, list[int]()
        if depth > 3:
            others = [f for f, p in self.files.items() if p != asked.place]
            about = say(f"Which place does {self.file} {asked.file} belong to?", f"{self.file}{asked.file}在哪里？")  # fmt: skip
            needs = [self.draft.solve(about, asked.place, self.open, {"$ref": key(asked.file, others)})]  # fmt: skip
        if depth > 2:
            others = [p for p, z in self.zones.items() if z != asked.zone]
            place = say("that place", "该地") if needs else asked.place
            about = say(f"In which {self.zone} does {place} lie?", f"{place}属于哪个{self.zone}？")
            needs = [self.draft.solve(about, asked.zone, self.find, {"$place": key(asked.place, others)}, needs=needs)]  # fmt: skip
        if depth > 1:
            zone = say("there", "那里") if needs else asked.zone
            about = say(f"Which class applies to {asked.value} {self.theme.unit[0]} {'' if needs else 'in '}{zone}?", f"{zone}{'' if needs else '区'}{asked.value}{self.theme.unit[1]}适用哪个类别？")  # fmt: skip
            needs = [self.draft.solve(about, asked.cls, self.find_classes, {"$zone": key(asked.zone, self.classes)}, needs=needs)]  # fmt: skip
        return self._facet_steps(asked, needs)

    def _facet_steps(self, asked: _Asked, needs: list[int]) -> Found:
        say, answers, step = self.draft.say, list[str](), 0
        cls = say("that class", "该类别") if needs else say(f"class {asked.cls}", f"{asked.cls}类")
        own = key(asked.cls, [c for c in self.prices if c != asked.cls])
        if "fee" in self.facets:
            arguments = {"$cls": own, "$count": key(asked.count, any_value=True)}
            if self.is_extra:
                arguments["$extra"] = shaping(value=True)
            unit = self.theme.code[4].partition("|")[0]
            counted = f"{asked.count}{_COUNTED[unit]}" if self.zh else f"{asked.count} {unit}"
            with_extra = say(", with the extra", "（含附加项）") if self.is_extra else ""
            about = say(f"What is due in {cls} for {counted}{with_extra}?", f"{cls}，{counted}，应付多少{with_extra}？")  # fmt: skip
            answers.append(money(self._due(asked), self.currency))
            step = self.draft.solve(about, answers[-1], self.price, arguments, needs=needs)
        if "form" in self.facets:
            answers.append(self.forms[asked.cls])
            step = self.draft.solve(say(f"Which {self.form} goes with {cls}?", f"{cls}对应哪个编号的{self.form}？"), answers[-1], self.which, {"$cls": own}, needs=needs)  # fmt: skip
        return Found(asked.name, tuple(answers), step, self._due(asked))


TARIFFS = Family(
    "tariffs", "Tariffs: the zone of a place, the class that applies to circumstances, and what is due.", _make,
    Bounds(subjects=4, depth=4, facets=2),
)  # fmt: skip
