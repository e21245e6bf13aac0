"""What runs by a timetable, with people or with goods; and how people tell where they are going."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["CLAUSES", "KNOWN", "PLANS", "RULES", "THEMES", "Theme"]

_Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Theme:
    """What runs; each text in English and in Chinese."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of those who run it end in."""
    run: _Text
    stand: _Text
    """Where it is boarded or loaded."""
    cargo: _Text | None
    """What travels, or None for people."""
    code_run: str
    code_stand: str
    code_fare: str


THEMES = (
    Theme(
        Domain.TRANSPORTATION, (("Coaches", "Coach Lines", "Express Coaches"), ("长途客运", "快速客运", "城际客运")),
        ("coach", "长途车"), ("bay", "发车位"), None,
        "coach|service", "bay|coach_bay", "fare|ticket_price",
    ),
    Theme(
        Domain.TRAVEL, (("Boats", "Lake Line", "Waterways"), ("水上巴士", "航运", "客轮公司")),
        ("boat", "客船"), ("pier", "泊位"), None,
        "boat|sailing", "pier|landing", "passage_fare|fare_per_person",
    ),
    Theme(
        Domain.SPORTS, (("Ski Shuttle", "Trail Shuttle", "Mountain Shuttle"), ("滑雪班车", "登山接驳", "山地接驳车")),
        ("shuttle", "班车"), ("bay", "候车位"), None,
        "shuttle|shuttle_run", "bay|boarding_bay", "seat_price|shuttle_fare",
    ),
    Theme(
        Domain.LOGISTICS, (("Freight", "Haulage", "Cargo"), ("货运", "物流", "快运")),
        ("truck", "货车"), ("dock", "装卸口"), ("pallets", "托盘货"),
        "truck|line_haul", "dock|loading_dock", "freight_rate|charge",
    ),
    Theme(
        Domain.HEALTHCARE, (("Medical Couriers", "Lab Couriers", "Sample Transport"), ("医学物流", "检验冷链", "样本运输")),
        ("courier van", "专车"), ("handover hatch", "交接窗口"), ("samples", "检验样本"),
        "courier|round", "hatch|handover_hatch", "transport_fee|fee",
    ),
    Theme(
        Domain.FOOD_AND_DINING, (("Cold Chain", "Fresh Lines", "Market Haulage"), ("生鲜冷链", "冷藏运输", "鲜货配送")),
        ("refrigerated truck", "冷藏车"), ("ramp", "装卸台"), ("crates", "生鲜货"),
        "reefer|cold_run", "ramp|cold_ramp", "haulage_cost|cost",
    ),
)  # fmt: skip

KNOWN = {
    False: ("I'm taking {run} {number} with {house} today. || I want to take {run} {number} with {house}.", "我今天要坐{house}的{number}次{run}， || 我打算坐{house}的{number}次{run}，"),
    True: ("Our {goods} are going on {run} {number} with {house} today. || We're sending our {goods} with {house} on {run} {number}.", "我们有一批{goods}今天走{house}的{number}次{run}， || 我们想用{house}的{number}次{run}运一批{goods}，"),
}  # fmt: skip
"""What one tells who knows the run, by whether goods travel."""

_CHANGE = ("I need at least {minutes} minutes to change.", "换乘至少要{minutes}分钟。")
_RELOAD = ("Reloading takes {minutes} minutes.", "中转装卸要{minutes}分钟。")
PLANS = {
    (False, False): (
        (f"I get to {{joint}} at {{there}} and then want to take a direct {{run}} with {{house}} to {{other}}. {_CHANGE[0]}", f"我{{there}}到{{joint}}，要换{{house}}的直达{{run}}去{{other}}，{_CHANGE[1]}"),
        (f"I'm taking {{run}} {{number}} with {{house}} to its last stop, and then a direct {{run}} on to {{other}}. {_CHANGE[0]}", f"我坐{{house}}的{{number}}次{{run}}到终点，再换直达{{other}}的{{run}}，{_CHANGE[1]}"),
        (f"I'm taking the {{at}} {{run}} from {{place}} with {{house}} to its last stop, and then a direct {{run}} on to {{other}}. {_CHANGE[0]}", f"我坐{{house}}{{at}}从{{place}}出发的{{run}}到终点，再换直达{{other}}的{{run}}，{_CHANGE[1]}"),
    ),
    (False, True): (
        ("I have to be at {joint} by {there} and want to take a direct {run} there from {other} with {house}. || I'm going from {other} to {joint} on a direct {run} with {house} and have to be there by {there}.", "我要坐{house}的直达{run}从{other}去{joint}，{there}之前必须到。 || 我{there}之前要赶到{joint}，打算从{other}坐{house}的直达{run}。"),
        ("I'm booked on {run} {number} with {house}, and I'm coming to its check-in point from {other} on one of their direct {runs}.", "我订了{house}的{number}次{run}，要从{other}坐他们的直达{run}去检票处。"),
        ("I'm booked on the {at} {run} from {place} with {house}, and I'm coming to its check-in point from {other} on one of their direct {runs}.", "我订了{house}{at}从{place}出发的{run}，要从{other}坐他们的直达{run}去检票处。"),
    ),
    (True, False): (
        (f"Our {{goods}} get to {{joint}} at {{there}} and then go on to {{other}} on a direct {{run}} with {{house}}. {_RELOAD[0]}", f"我们的{{goods}}{{there}}到{{joint}}，再由{{house}}直接运到{{other}}，{_RELOAD[1]}"),
        (f"Our {{goods}} are going on {{run}} {{number}} with {{house}} to its last stop, and from there on a direct {{run}} to {{other}}. {_RELOAD[0]}", f"我们的{{goods}}走{{house}}的{{number}}次{{run}}到终点，再换直达{{other}}的{{run}}，{_RELOAD[1]}"),
        (f"Our {{goods}} are going on the {{at}} {{run}} from {{place}} with {{house}} to its last stop, and from there on a direct {{run}} to {{other}}. {_RELOAD[0]}", f"我们的{{goods}}走{{house}}{{at}}从{{place}}出发的{{run}}到终点，再换直达{{other}}的{{run}}，{_RELOAD[1]}"),
    ),
    (True, True): (
        ("Our {goods} have to be at {joint} by {there}, and {house} is taking them there from {other} on a direct {run}. || We're sending our {goods} from {other} to {joint} on a direct {run} with {house}, and they have to be there by {there}.", "{house}要把我们的{goods}从{other}直接运到{joint}，{there}之前必须送到。 || 我们的{goods}{there}之前要运到{joint}，由{house}从{other}直接运过去。"),
        ("Our {goods} are booked on {run} {number} with {house}, and we're sending them to its drop-off point from {other} on one of their direct {runs}.", "我们的{goods}要赶{house}的{number}次{run}，得先从{other}用他们的直达{run}送到收货处。"),
        ("Our {goods} are booked on the {at} {run} from {place} with {house}, and we're sending them to its drop-off point from {other} on one of their direct {runs}.", "我们的{goods}要赶{house}{at}从{place}出发的{run}，得先从{other}用他们的直达{run}送到收货处。"),
    ),
}  # fmt: skip
"""What one tells of a journey, by whether goods travel and whether a run is to be caught; from the second depth on."""

CLAUSES = {
    (False, False): (
        ("{name} is taking {run} {number}", "{name}坐{number}次"),
        ("{name} gets to {joint} at {there} and is going on to {other}", "{name}{there}到{joint}，要去{other}"),
        ("{name} is taking {run} {number} to its last stop and going on to {other}", "{name}坐{number}次{run}到终点，再去{other}"),
        ("{name} is taking the {at} {run} from {place} to its last stop and going on to {other}", "{name}坐{at}从{place}出发的{run}到终点，再去{other}"),
    ),
    (False, True): (
        ("{name} is taking {run} {number}", "{name}坐{number}次"),
        ("{name} is coming from {other} and has to be at {joint} by {there}", "{name}从{other}出发，{there}前要到{joint}"),
        ("{name} is booked on {run} {number} and is coming from {other}", "{name}订了{number}次{run}，从{other}出发"),
        ("{name} is booked on the {at} {run} from {place} and is coming from {other}", "{name}订了{at}从{place}出发的{run}，人在{other}"),
    ),
    (True, False): (
        ("{name's} {goods} on {run} {number}", "{name}的{goods}走{number}次"),
        ("{name's} {goods} get to {joint} at {there} and are going on to {other}", "{name}的{goods}{there}到{joint}，要运到{other}"),
        ("{name's} {goods} are going on {run} {number} to its last stop and then on to {other}", "{name}的{goods}走{number}次{run}到终点，再运到{other}"),
        ("{name's} {goods} are going on the {at} {run} from {place} to its last stop and then on to {other}", "{name}的{goods}走{at}从{place}出发的{run}到终点，再运到{other}"),
    ),
    (True, True): (
        ("{name's} {goods} on {run} {number}", "{name}的{goods}走{number}次"),
        ("{name's} {goods} are coming from {other} and have to be at {joint} by {there}", "{name}的{goods}在{other}，{there}前要运到{joint}"),
        ("{name's} {goods} are booked on {run} {number} and coming from {other}", "{name}的{goods}要赶{number}次{run}，现在在{other}"),
        ("{name's} {goods} are booked on the {at} {run} from {place} and coming from {other}", "{name}的{goods}要赶{at}从{place}出发的{run}，现在在{other}"),
    ),
}  # fmt: skip
"""The journey of one of several, at each depth."""

RULES = {
    (False, False): (
        ("Each of them needs at least {minutes} minutes to change and takes the first direct {run} they can catch with {house}.", "他们都换乘{house}的直达{run}，换乘至少要{minutes}分钟，坐能赶上的最早一趟。"),
        ("Each of them needs at least {minutes} minutes to change and takes the first direct {run} they can catch.", "他们都换乘{house}的直达{run}，换乘至少要{minutes}分钟，坐能赶上的最早一趟。"),
    ),
    (False, True): (
        ("Each of them takes the last direct {run} with {house} that gets there in time.", "他们都坐{house}的直达{run}，选来得及的最后一趟。"),
        ("Each of them has to check in for that {run} at its check-in point, and takes the last direct {run} that gets there before check-in closes.", "他们都坐{house}的直达{run}去检票处，选停止检票前能到的最后一趟。"),
    ),
    (True, False): (
        ("Reloading takes {minutes} minutes, and each delivery goes on with the first direct {run} it can make with {house}.", "都转{house}的直达{run}，中转装卸要{minutes}分钟，走能赶上的最早一趟。"),
        ("Reloading takes {minutes} minutes, and each delivery goes on with the first direct {run} it can make.", "都转{house}的直达{run}，中转装卸要{minutes}分钟，走能赶上的最早一趟。"),
    ),
    (True, True): (
        ("Each delivery takes the last direct {run} with {house} that gets there in time.", "都由{house}直接运，选来得及的最后一趟{run}。"),
        ("Each delivery takes the last direct {run} that gets to the drop-off point before drop-off closes.", "都用{house}的直达{run}送到收货处，选停止收货前能到的最后一趟。"),
    ),
}  # fmt: skip
"""What goes for all of several: at the second depth, and from the third on."""
