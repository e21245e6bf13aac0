"""What is searched: sites of six trades on which people advertise."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["THEMES", "Theme"]

_Texts = tuple[str, str]
_Lists = tuple[tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Theme:
    """A site and what is advertised there; each text in English and in Chinese."""

    domain: Domain
    site: _Lists
    """What the name of the site ends in."""
    kinds: _Lists
    offers: _Texts
    """What somebody does with it there, as in ``that she advertises``."""
    low: int
    """Prices in whole units, from here to five times as much."""
    cheapest: _Texts
    listing: _Texts
    item: str
    """What code calls one of them."""
    poster: str
    query: str


THEMES = (
    Theme(
        Domain.E_COMMERCE, (("Marketplace", "Classifieds", "Resale"), ("二手市场", "闲置集市", "旧货网")),
        (("folding bike", "cargo bike", "balance bike", "standing desk", "corner desk", "school desk", "rocking chair", "office chair"),
         ("折叠自行车", "载货自行车", "儿童平衡车", "升降书桌", "转角书桌", "课桌", "摇椅", "办公椅")),
        ("is selling", "出售"), 40, ("cheapest", "最便宜"), ("listing", "商品"), "listing|offer|advert", "seller|seller_account|vendor",
        "query|search_for|words",
    ),
    Theme(
        Domain.REAL_ESTATE, (("Rooms", "Lettings", "Flat Finder"), ("租房网", "房源网", "安居网")),
        (("studio flat", "attic flat", "garden flat", "shared room", "guest room", "garden shed", "workshop space", "roof terrace"),
         ("单间公寓", "阁楼公寓", "带院公寓", "合租卧室", "客房", "花园储物间", "工坊", "屋顶露台")),
        ("is renting out", "出租"), 190, ("cheapest", "最便宜"), ("listing", "房源"), "home|rental|flat_ad", "landlord|landlord_account|letter",
        "wanted|looking_for|property_type",
    ),
    Theme(
        Domain.AUTOMOTIVE, (("Wheels", "Autos", "Car Finder"), ("二手车网", "车市", "车源网")),
        (("electric van", "diesel van", "camper van", "sports car", "estate car", "vintage car", "racing motorbike", "touring motorbike"),
         ("电动面包车", "柴油面包车", "露营车", "跑车", "旅行轿车", "老爷车", "赛道摩托车", "旅行摩托车")),
        ("is selling", "出售"), 1900, ("cheapest", "最便宜"), ("listing", "车源"), "vehicle|vehicle_ad|car_offer", "owner|keeper|owner_account",
        "vehicle_words|model_words|keywords",
    ),
    Theme(
        Domain.EDUCATION, (("Courses", "Learning", "Class Finder"), ("课程网", "学艺网", "研习社")),
        (("pottery class", "watercolour class", "welding class", "piano course", "cello course", "Arabic course", "sewing course", "baking course"),
         ("陶艺课", "水彩课", "焊接课", "钢琴课", "大提琴课", "阿拉伯语课", "缝纫课", "面包烘焙课")),
        ("teaches", "教"), 35, ("cheapest", "最便宜"), ("course", "课程"), "course|class_offer|course_ad", "teacher|tutor|instructor",
        "subject|course_words|topic",
    ),
    Theme(
        Domain.TRAVEL, (("Stays", "Holiday Homes", "Getaways"), ("民宿网", "度假网", "短租网")),
        (("tree house", "houseboat", "mountain hut", "circus wagon", "fishing cabin", "beach bungalow", "vineyard cottage", "lighthouse apartment"),
         ("树屋", "船屋", "山间木屋", "大篷车", "渔家小屋", "海滩平房", "酒庄小院", "灯塔客房")),
        ("rents out", "出租"), 55, ("cheapest", "最便宜"), ("listing", "民宿"), "stay|lodging|holiday_home", "host|host_account|innkeeper",
        "stay_type|kind_of_stay|search_text",
    ),
    Theme(
        Domain.ENTERTAINMENT, (("Party Hire", "Party Finder", "Live Acts"), ("演艺网", "派对网", "庆典网")),
        (("brass band", "wedding band", "magic show", "fire show", "puppet show", "shadow play", "bouncy castle", "photo booth"),
         ("铜管乐队", "婚礼乐队", "魔术表演", "火舞表演", "木偶戏", "皮影戏", "充气城堡", "拍照亭")),
        ("offers", "提供"), 110, ("cheapest", "最便宜"), ("listing", "服务"), "act|event_offer|show_act", "agent|booker|provider",
        "act_type|show_words|looking_for",
    ),
)  # fmt: skip
