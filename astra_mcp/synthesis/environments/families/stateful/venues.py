"""A venue with bookings: what each can be changed to, and the tools that find and change them."""

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.stateful.house import House

__all__ = ["Booking", "Venue"]

_Text = tuple[str, str]
"""In English and in Chinese."""


@dataclass(frozen=True, slots=True)
class _Theme:
    """What is booked."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of such houses end in."""
    item: _Text
    """What somebody gets."""
    items: str
    """Several of them in English."""
    booking: _Text
    """What one has then."""
    preposition: str
    """By which English books it of a house."""
    booked: str
    """The Chinese verb for it."""
    reference: _Text
    time: _Text
    """What one may choose between on a day."""
    room: _Text
    """Where one goes with the new voucher."""
    move: str
    """The Chinese verb for a change."""
    nouns: str
    """What code calls a booking."""
    slots: str
    """What code calls that to which it may be changed."""


_THEMES = (
    _Theme(
        Domain.SPORTS, (("Sports Centre", "Tennis Club", "Racquet Hall"), ("体育中心", "网球俱乐部", "羽毛球馆")),
        ("court", "场地"), "courts", ("court booking", "场地预订"), "at", "订", ("booking reference", "预订号"),
        ("time", "时段"), ("court", "场地"), "改到", "booking|court_booking|court_reservation", "slot|court_slot|free_slot",
    ),
    _Theme(
        Domain.TRAVEL, (("Ferries", "Island Line", "Sea Line"), ("轮渡", "海上客运", "航运")),
        ("crossing", "船票"), "crossings", ("ferry booking", "船票"), "with", "买", ("booking reference", "订单号"),
        ("sailing", "班次"), ("gate", "登船口"), "改签到", "crossing|ferry_booking|passage", "sailing|departure|free_sailing",
    ),
    _Theme(
        Domain.FOOD_AND_DINING, (("Cookery School", "Kitchen Studio", "Baking School"), ("厨艺学校", "烹饪教室", "烘焙学校")),
        ("class", "体验课"), "classes", ("class booking", "体验课"), "at", "约", ("booking reference", "预约号"),
        ("class", "场次"), ("kitchen", "操作间"), "改到", "class_booking|course_booking|reservation", "session|class_time|free_class",
    ),
    _Theme(
        Domain.TRANSPORTATION, (("Coaches", "Coachways", "Express Coaches"), ("长途客运", "快客", "城际客运")),
        ("coach seat", "车票"), "coach seats", ("coach booking", "车票"), "with", "买", ("booking reference", "订单号"),
        ("coach", "班次"), ("bay", "检票口"), "改签到", "ticket|coach_booking|seat_booking", "coach|departure|free_coach",
    ),
    _Theme(
        Domain.MUSIC_AND_AUDIO, (("Rehearsal Studios", "Music Rooms", "Sound Studios"), ("排练中心", "音乐工场", "琴房")),
        ("practice room", "排练室"), "practice rooms", ("room booking", "排练室预订"), "at", "订", ("booking reference", "预订号"),
        ("time", "时段"), ("room", "房间"), "改到", "room_booking|studio_booking|rehearsal", "slot|room_slot|free_room",
    ),
    _Theme(
        Domain.ENTERTAINMENT, (("Escape Games", "Puzzle House", "Mystery House"), ("密室逃脱", "推理馆", "谜屋")),
        ("escape game", "密室"), "escape games", ("escape game booking", "密室预订"), "at", "订", ("booking reference", "预订号"),
        ("slot", "场次"), ("entrance", "入口"), "改到", "game_booking|booking|group_booking", "game_slot|start|free_game",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Booking:
    """A booking that is asked for, and what becomes of it."""

    who: str
    day: dt.date
    ref: str
    slot: str
    """The cheapest on the day that is asked for."""
    cents: int
    offered: tuple[int, ...]
    """What it and the others on that day cost."""
    voucher: str
    where: str
    until: str


class Venue(House[Booking]):
    """One world of bookings; what is asked of it is for those who derive from it."""

    def __init__(self, brief: Brief) -> None:
        """Draw it."""
        self.theme = theme = brief.draw("theme").pick(_THEMES)
        super().__init__(brief, theme.domain, theme.houses)
        days = self.calendar.ahead(self.draw, 12)
        self.days, free = days[:8], days[8:]
        self.target = brief.draw("target", brief.turn).pick(free)
        rows = self._rows(
            [day.isoformat() for day in self.days],
            [self.draw.pick(self.days).isoformat() for _ in range(brief.subjects)],
        )
        letters = "".join(self.draw.pick("BCDFGHKLMNPRSTVW") for _ in range(2))
        refs = self.entities.codes(f"{letters}-#####", len(rows))
        self.refs = dict(zip(rows, refs, strict=True))
        self.slots = self._offered(days)
        self.money = "元" if self.zh else brief.draw("money").pick(["EUR", "GBP", "USD"])

    def _offered(self, days: list[dt.date]) -> dict[str, tuple[str, str, int]]:
        """Draw what may be had instead: some on each day, at different hours."""
        draw = self.brief.draw("slots", self.brief.attempt)
        codes = iter(self.entities.codes(f"{draw.pick('JQXZ')}##@", 3 * len(days)))
        return {
            next(codes): (day.isoformat(), f"{half // 2:02d}:{half % 2 * 30:02d}", draw.between(36, 130) * 25)
            for day in days
            for half in sorted(draw.some(range(18, 40), 3))
        }  # fmt: skip

    def _seen(self, who: str, day: str) -> Booking:
        ref = self.refs[who, day]
        prices = {
            slot: base + issued(ref, slot) % 1009
            for slot, (on, _, base) in self.slots.items()
            if on == self.target.isoformat()
        }
        slot = min(prices, key=lambda s: prices[s])
        voucher = f"PV-{issued(ref, slot)}"
        number = issued(voucher, "where")
        code, room = f"{'ABCDEFGHKLMN'[number % 12]}{number // 12 % 89 + 10}", self.theme.room
        hour, minute = map(int, self.slots[slot][1].split(":"))
        at = hour * 60 + minute - 4 - issued(voucher, "until") % 26
        return Booking(
            who, dt.date.fromisoformat(day), ref, slot, prices[slot], (*prices.values(),),
            voucher, f"{code}{room[1]}" if self.zh else f"{room[0]} {code}", f"{at // 60:02d}:{at % 60:02d}",
        )  # fmt: skip

    def _is_clear(self) -> bool:
        """Whether what the cheapest costs is said once, and no two vouchers or places are the same."""
        offered = [cents for one in self.asked for cents in one.offered]
        found = [*{(one.voucher, one.where) for one in self.asked}]
        are_apart = all(len({*part}) == len(self.asked) for part in zip(*found, strict=True))
        return are_apart and all(offered.count(one.cents) == 1 for one in self.asked)

    # --- tools --------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        booking, mark = self.theme.booking[self.zh], "：" if self.zh else ": "
        self.draft.title = f"{self.house}{mark}{booking}{'' if self.zh else 's'}"
        self.draft.description = self.draft.say(
            f"The desk of {self.house}: bookings, what they can be changed to, and vouchers.",
            f"{self.house}的前台：预订、改期和凭证。",
        )
        self._name()
        self.draft.data("BOOKINGS", {ref: [*row] for row, ref in self.refs.items()})
        self.draft.data("SLOTS", self.slots)
        self.draft.data("CHANGED", {})
        self.draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        self.draft.code("""
            def _price(ref, slot):
                return SLOTS[slot][2] + issued(ref, slot) % 1009
        """)
        self._reading_tools()
        if self.brief.layout.depth > 2:
            self._change_tool()
        if self.brief.layout.depth > 3:
            self._last_tools()

    def _name(self) -> None:
        self.draft.name(
            booking=self.theme.nouns, slot=self.theme.slots, who="name|holder|booked_by|guest", day="day|date|on_day",
            ref="reference|booking_reference|ref", voucher="voucher|new_pass|confirmation", price="price|change_fee|charge|to_pay",
            find="find_$booking|look_up_$booking|search_$booking", offers="list_${slot}_options|show_${slot}_options|get_${slot}_options",
            change="change_$booking|move_$booking|switch_$booking",
            desk="check_in_for_$voucher|where_to_go|meeting_point|find_check_in", until="latest_arrival|arrival_time|be_there_by",
        )  # fmt: skip

    def _reading_tools(self) -> None:
        say, booking = self.draft.say, self.theme.booking
        text = {"type": "string", "minLength": 2, "description": say("Full name. || Name in full, as it was given.", "姓名全称。")}  # fmt: skip
        day = {"type": "string", "format": "date", "description": say("YYYY-MM-DD", "日期，如 2026-03-12")}  # fmt: skip
        self.ref_schema = {
            "type": "string", "pattern": f"^{next(iter(self.refs.values()))[:3]}[0-9]{{5}}$", "description": say("From $find.", "由 $find 查得。"),
        }  # fmt: skip
        self.unknown = self.draft.refusal(
            "There is no booking {$ref!r}; look it up by name and day.", "没有{$ref}；请先按姓名和日期查询。"
        )  # fmt: skip
        self.draft.tool(
            "$find", say(f"Find the {booking[0]} that somebody has on a day.", f"按姓名和日期查询{booking[1]}。"),
            {"$who": text, "$day": day},
            f"""
            found = [{{"$ref": r, "$who": b[0]}} for r, b in BOOKINGS.items() if b == [$who.strip(), $day]]
            if not found:
                {self.draft.refusal("Nothing is booked by {$who!r} on {$day}; give the full name and the day as YYYY-MM-DD.", "{$who}在{$day}没有预订；请提供姓名全称和正确的日期。")}
            return {{"found": found}}
            """,
        )  # fmt: skip
        self.draft.tool(
            "$offers", say("List what a booking can be changed to on a day, and what each change costs.", f"查询改到某天可选的{self.theme.time[1]}，以及各需补多少钱。"),
            {"$ref": self.ref_schema, "$day": day},
            f"""
            if $ref not in BOOKINGS:
                {self.unknown}
            found = [{{"$slot": s, "at": v[1], "$price": f"{{_price($ref, s) / 100:.2f}}{self._gap}{self.money}"}} for s, v in SLOTS.items() if v[0] == $day]
            if not found:
                {self.draft.refusal("Nothing is free on {$day}; try another day.", "{$day}没有空余；请换一天。")}
            return {{"$ref": $ref, "free": found}}
            """,
        )  # fmt: skip

    @property
    def _gap(self) -> str:
        return "" if self.zh else " "

    def _change_tool(self) -> None:
        self.draft.tool(
            "$change", self.draft.say("Change a booking to something else that is free; the answer holds the new voucher.", "办理改期，返回新的凭证号。"),
            {"$ref": self.ref_schema, "$slot": {"type": "string", "pattern": "^[A-Z][0-9]{2}[A-Z]$"}},
            f"""
            if $ref not in BOOKINGS:
                {self.unknown}
            if $slot not in SLOTS:
                {self.draft.refusal("{$slot!r} is not free; take one of $offers.", "没有{$slot}；请从 $offers 中选择。")}
            made = f"PV-{{issued($ref, $slot)}}"
            CHANGED[made] = $slot
            return {{"$voucher": made, "at": SLOTS[$slot][1]}}
            """,
            writes=True,
        )  # fmt: skip

    def _last_tools(self) -> None:
        say, (room, zh_room) = self.draft.say, self.theme.room
        voucher: Mapping[str, str] = {"type": "string", "pattern": "^PV-[0-9]{6}$"}
        unknown = self.draft.refusal(
            "There is no voucher {$voucher!r}; vouchers come from $change.",
            "没有凭证{$voucher}；凭证由 $change 返回。",
        )
        self.draft.tool(
            "$desk", say(f"Tell which {room} to go to with a voucher.", f"查询凭证对应的{zh_room}。"), {"$voucher": voucher},
            f"""
            if $voucher not in CHANGED:
                {unknown}
            number = issued($voucher, "where")
            code = "ABCDEFGHKLMN"[number % 12] + str(number // 12 % 89 + 10)
            return {{"where": {f'code + "{zh_room}"' if self.zh else f'"{room} " + code'}}}
            """,
        )  # fmt: skip
        if self.brief.layout.facets > 1:
            self.draft.tool(
                "$until", say("Tell until when to be there with a voucher.", "查询凭证要求的最晚到达时间。"), {"$voucher": voucher},
                f"""
                if $voucher not in CHANGED:
                    {unknown}
                hour, minute = map(int, SLOTS[CHANGED[$voucher]][1].split(":"))
                at = hour * 60 + minute - 4 - issued($voucher, "until") % 26
                return {{"until": f"{{at // 60:02d}}:{{at % 60:02d}}"}}
                """,
            )  # fmt: skip
