"""What tariffs charge for: parcels, insurance, road toll, waste and energy; and how people say what they need."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["THEMES", "Situation", "Theme"]

_Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Situation:
    """What somebody needs, in English and in Chinese: with how much of it, and without where only the form is asked for.

    Texts hold ``{count}`` and ``{value}`` (the circumstances), ``{at}`` (where), ``{cls}`` (the class), ``{name}``.
    """

    known: _Text
    known_bare: _Text
    """Where the class is known."""
    plan: _Text
    plan_bare: _Text
    """Where it follows from the circumstances."""

    def text(self, *, is_known: bool, is_bare: bool) -> _Text:
        """The one of them."""
        if is_known:
            return self.known_bare if is_bare else self.known
        return self.plan_bare if is_bare else self.plan


@dataclass(frozen=True, slots=True)
class Theme:
    """What is charged for; each text in English and in Chinese."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of those who charge end in."""
    values: tuple[int, int, int]
    """The least and the greatest value by which classes differ, and the step between two."""
    unit: _Text
    """Of these values; in Chinese with what they are."""
    counted: _Text
    zone: _Text
    file: _Text
    at: tuple[_Text, _Text, _Text]
    """Wherewith ``{x}``: by zone, by place, by file."""
    mine: Situation
    """Said by the one who asks."""
    theirs: Situation
    """Said of others, by ``{name}``."""
    who: str
    """Who asks, as the object of an English sentence: ``me`` or ``us``."""
    fee: str
    """What is paid, in Chinese."""
    extra: _Text
    """What may be added to it."""
    form: _Text
    """What belongs to a class, by its code."""
    needed: str
    """The Chinese question for itwith ``{of}``."""
    code: tuple[str, str, str, str, str, str]
    """What code calls zone, file, class, form, count and extra."""


THEMES = (
    Theme(
        Domain.LOGISTICS, (("Parcel Service", "Post", "Express"), ("快递", "邮政", "速运")),
        (1, 60, 1), ("kg", "公斤"), ("parcels", "件"), ("delivery zone", "投递区"), ("order", "订单"),
        (("to zone {x}", "寄到{x}区"), ("to {x}", "寄到{x}"), ("to the address on order {x}", "寄到订单{x}的收件地址")),
        Situation(
            ("I'm sending {count} parcels of class {cls}.", "我要寄{count}件{cls}类包裹"),
            ("I'm sending a class {cls} parcel.", "我要寄一件{cls}类包裹"),
            ("I'm sending {count} parcels {at}, each weighing {value} kg.", "我有{count}件包裹要{at}，每件{value}公斤"),
            ("I'm sending a parcel {at}. It weighs {value} kg.", "我有一件{value}公斤的包裹要{at}"),
        ),
        Situation(
            ("{name} is sending {count} parcels of class {cls}", "{name}要寄{count}件{cls}类包裹"),
            ("{name} is sending a class {cls} parcel", "{name}要寄一件{cls}类包裹"),
            ("{name} is sending {count} parcels of {value} kg each {at}", "{name}有{count}件包裹要{at}，每件{value}公斤"),
            ("{name} is sending a parcel of {value} kg {at}", "{name}有一件{value}公斤的包裹要{at}"),
        ),
        "me", "邮费", ("with insurance", "要保价"), ("label", "面单"), "要贴{of}哪种面单",
        ("zone|delivery_zone", "order|shipment", "parcel_class|rate_class", "label|label_code", "parcels|pieces", "insured|with_insurance"),
    ),
    Theme(
        Domain.INSURANCE, (("Insurance", "Mutual", "Assurance"), ("保险", "互助保险", "财产保险")),
        (18, 89, 1), ("years of age", "岁"), ("months", "个月"), ("risk zone", "风险区"), ("customer file", "客户档案"),
        (("in zone {x}", "住在{x}区"), ("in {x}", "住在{x}"), ("at the address in customer file {x}", "住在客户档案{x}登记的地址")),
        Situation(
            ("I'm in class {cls} and want {count} months of cover.", "我属于{cls}类，想投保{count}个月"),
            ("I'm in class {cls} and want to take out a policy.", "我属于{cls}类，想买一份保险"),
            ("I'm {value}, live {at} and want {count} months of cover.", "我{value}岁，{at}，想投保{count}个月"),
            ("I'm {value} and live {at}.", "我{value}岁，{at}，想买一份保险"),
        ),
        Situation(
            ("{name} is in class {cls} and wants {count} months of cover", "{name}属于{cls}类，想投保{count}个月"),
            ("{name} is in class {cls}", "{name}属于{cls}类"),
            ("{name}, who is {value}, lives {at} and wants {count} months of cover", "{name}{value}岁，{at}，想投保{count}个月"),
            ("{name} is {value} and lives {at}", "{name}{value}岁，{at}"),
        ),
        "me", "保费", ("with legal aid", "要含法律援助"), ("application form", "投保单"), "要填{of}哪种投保单",
        ("zone|risk_zone", "file|customer_file", "risk_class|premium_class", "form|application_form", "months|term", "legal_aid|with_legal_aid"),
    ),
    Theme(
        Domain.AUTOMOTIVE, (("Road Toll", "Toll Office", "Motorways"), ("高速", "路桥", "收费公路")),
        (3, 60, 1), ("tonnes", "吨"), ("days", "天"), ("toll zone", "收费区"), ("haulage order", "运输单"),
        (("in zone {x}", "在{x}区"), ("around {x}", "在{x}一带"), ("in the area named on haulage order {x}", "在运输单{x}上写的地区")),
        Situation(
            ("My lorry is in class {cls}, and I'll be driving it for {count} days.", "我的货车属于{cls}类，要跑{count}天"),
            ("My lorry is in class {cls}.", "我的货车属于{cls}类"),
            ("My lorry weighs {value} tonnes, and I'll be driving it {at} for {count} days.", "我的货车重{value}吨，要{at}跑{count}天"),
            ("My lorry weighs {value} tonnes, and I'll be driving it {at}.", "我的货车重{value}吨，要{at}跑运输"),
        ),
        Situation(
            ("{name} is driving a class {cls} lorry for {count} days", "{name}的货车属于{cls}类，要跑{count}天"),
            ("{name} is driving a class {cls} lorry", "{name}的货车属于{cls}类"),
            ("{name} is driving a lorry of {value} tonnes {at} for {count} days", "{name}的货车重{value}吨，要{at}跑{count}天"),
            ("{name} is driving a lorry of {value} tonnes {at}", "{name}的货车重{value}吨，要{at}跑运输"),
        ),
        "me", "通行费", ("with a trailer", "带挂车"), ("permit", "通行证"), "要办{of}哪种通行证",
        ("zone|toll_zone", "order|haulage_order", "toll_class|vehicle_class", "permit|permit_type", "days|num_days", "trailer|with_trailer"),
    ),
    Theme(
        Domain.GOVERNMENT, (("Waste Office", "City Services", "Refuse Board"), ("环卫局", "市政服务", "垃圾处理中心")),
        (60, 1200, 20), ("litres", "升"), ("months", "个月"), ("collection district", "清运区"), ("account", "缴费户"),
        (("in district {x}", "在{x}区"), ("in {x}", "在{x}"), ("at the address of account {x}", "的缴费户是{x}")),
        Situation(
            ("Our bins are in class {cls}, and we'd like to pay for {count} months up front.", "我家的垃圾桶属于{cls}类，想缴{count}个月的清运费"),
            ("Our bins are in class {cls}.", "我家的垃圾桶属于{cls}类"),
            ("Our bins {at} hold {value} litres altogether, and we'd like to pay for {count} months up front.", "我家{at}，垃圾桶一共{value}升，想缴{count}个月的清运费"),
            ("Our bins {at} hold {value} litres altogether.", "我家{at}，垃圾桶一共{value}升"),
        ),
        Situation(
            ("{name} has bins of class {cls} and wants to pay for {count} months up front", "{name}家的垃圾桶属于{cls}类，想缴{count}个月的清运费"),
            ("{name} has bins of class {cls}", "{name}家的垃圾桶属于{cls}类"),
            ("{name} has {value} litres of bin space {at} and wants to pay for {count} months up front", "{name}家{at}，垃圾桶一共{value}升，想缴{count}个月的清运费"),
            ("{name} has {value} litres of bin space {at}", "{name}家{at}，垃圾桶一共{value}升"),
        ),
        "us", "钱", ("with garden waste", "要含园林垃圾"), ("collection calendar", "清运日历"), "该看{of}哪份清运日历",
        ("district|collection_district", "account|payer_account", "bin_class|charge_class", "calendar|collection_calendar", "months|num_months", "garden_waste|with_garden_waste"),
    ),
    Theme(
        Domain.ENERGY, (("Power Supply", "Electricity", "Gas and Power"), ("供电", "电力", "能源服务")),
        (800, 19000, 100), ("kWh a year", "千瓦时"), ("months", "个月"), ("network area", "供电区"), ("meter", "电表"),
        (("in network area {x}", "在{x}供电区"), ("in {x}", "在{x}"), ("on meter {x}", "的电表号是{x}")),
        Situation(
            ("We're in class {cls} and want to pay the standing charge for {count} months.", "我家属于{cls}类，想预缴{count}个月的基本费"),
            ("We're in class {cls}.", "我家属于{cls}类"),
            ("We use {value} kWh a year {at} and want to pay the standing charge for {count} months.", "我家{at}，一年用电{value}千瓦时，想预缴{count}个月的基本费"),
            ("We use {value} kWh a year {at}.", "我家{at}，一年用电{value}千瓦时"),
        ),
        Situation(
            ("{name} is in class {cls} and wants to pay the standing charge for {count} months", "{name}家属于{cls}类，想预缴{count}个月的基本费"),
            ("{name} is in class {cls}", "{name}家属于{cls}类"),
            ("{name} uses {value} kWh a year {at} and wants to pay the standing charge for {count} months", "{name}家{at}，一年用电{value}千瓦时，想预缴{count}个月的基本费"),
            ("{name} uses {value} kWh a year {at}", "{name}家{at}，一年用电{value}千瓦时"),
        ),
        "us", "钱", ("with green power", "选用绿电"), ("tariff sheet", "电价表"), "适用{of}哪份电价表",
        ("area|network_area", "meter|meter_point", "supply_class|load_class", "tariff_sheet|sheet", "months|num_months", "green|green_power"),
    ),
)  # fmt: skip
