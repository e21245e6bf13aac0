"""Tickets: a case is found, who could take it over is looked up, it is handed on, and what follows is asked."""

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

__all__ = ["TICKETS"]

_MAX_ATTEMPTS = 300
_Text = tuple[str, str]
"""In English and in Chinese; several choices between ``||``."""


@dataclass(frozen=True, slots=True)
class _Theme:
    """Whose cases they are, and what they are about."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of such houses end in."""
    case: _Text
    topics: tuple[_Text, ...]
    """What cases are about, as in ``about a blocked drain``."""
    staff: _Text
    """Who works on them, one person."""
    follow: _Text
    """What is agreed with the person who reported it, once somebody else has the case."""
    nouns: str
    """What code calls a case."""
    people: str
    """What code calls who reported it."""
    follows: str
    reason: _Text
    """Why a case is to be handed on."""


_THEMES = (
    _Theme(
        Domain.CUSTOMER_SUPPORT, (("Appliances", "Home Electrics", "White Goods"), ("电器", "家电", "厨电")),
        ("ticket||service ticket", "售后工单"),
        (("a leaking dishwasher", "洗碗机漏水"), ("a noisy tumble dryer", "烘干机噪音大"), ("a fridge that does not cool", "冰箱不制冷"),
         ("a cracked hob", "灶台开裂"), ("an oven door that will not shut", "烤箱门关不上"), ("a tripping kettle", "电热水壶跳闸")),
        ("agent", "客服"), ("call-back", "回访"), "ticket|service_ticket|support_ticket", "customer|caller|reported_by", "call_back|callback",
        ("The person in charge has fallen ill.", "原来负责的客服请了病假。"),
    ),
    _Theme(
        Domain.CLOUD_SERVICES, (("Hosting", "Cloud", "Data Centre"), ("云计算", "主机服务", "数据中心")),
        ("incident", "故障单"),
        (("slow database queries", "数据库查询变慢"), ("an expired certificate", "证书过期"), ("failed nightly backups", "夜间备份失败"),
         ("a full log volume", "日志盘写满"), ("dropped connections", "连接频繁中断"), ("a stuck deployment", "发布卡住")),
        ("engineer", "工程师"), ("review", "复盘会"), "incident|outage|incident_report", "opened_by|customer_contact|contact", "review|review_meeting",
        ("Nothing has happened there for days.", "已经好几天没人处理了。"),
    ),
    _Theme(
        Domain.REAL_ESTATE, (("Property Management", "Housing", "Lettings"), ("物业", "公寓管理", "房屋托管")),
        ("repair request", "报修单"),
        (("a broken lift", "电梯故障"), ("damp in the bedroom wall", "卧室墙面渗水"), ("a blocked drain", "下水道堵塞"),
         ("a cold radiator", "暖气不热"), ("a jammed front door", "入户门卡住"), ("a flickering stair light", "楼道灯闪烁")),
        ("caretaker", "维修管家"), ("site visit", "上门查看"), "repair|repair_request|defect", "tenant|resident|reported_by", "visit|site_visit",
        ("The caretaker in charge has left.", "原来的维修管家离职了。"),
    ),
    _Theme(
        Domain.INSURANCE, (("Mutual", "Assurance", "Insurance"), ("保险", "财险", "互助保险")),
        ("claim", "理赔案"),
        (("storm damage to a roof", "屋顶风灾"), ("a stolen bicycle", "自行车被盗"), ("a burst pipe", "水管爆裂"),
         ("a dented car door", "车门刮凹"), ("a lost suitcase", "行李遗失"), ("a broken shop window", "橱窗破碎")),
        ("claims handler", "理赔员"), ("inspection", "查勘"), "claim|loss_claim|damage_claim", "claimant|insured|policy_holder", "inspection|survey",
        ("The handler in charge is on leave until autumn.", "原理赔员休长假了。"),
    ),
    _Theme(
        Domain.GOVERNMENT, (("Town Hall", "City Council", "Borough Office"), ("市政服务中心", "街道办事处", "便民中心")),
        ("report||complaint", "诉求件"),
        (("a deep pothole", "路面坑洞"), ("a dark street lamp", "路灯不亮"), ("an overflowing litter bin", "垃圾桶满溢"),
         ("a fallen branch", "树枝倒伏"), ("a blocked cycle path", "自行车道被占"), ("a loose manhole cover", "井盖松动")),
        ("officer", "专员"), ("on-site meeting", "现场会"), "report|complaint|citizen_report", "citizen|resident|sent_in_by", "meeting|site_meeting",
        ("The department has been reorganised.", "科室刚刚调整过。"),
    ),
    _Theme(
        Domain.LEGAL, (("Solicitors", "Law Chambers", "Legal"), ("律师事务所", "法律咨询", "法务")),
        ("matter", "案件"),
        (("a tenancy dispute", "租赁纠纷"), ("a contested will", "遗嘱争议"), ("an unpaid invoice", "货款拖欠"),
         ("a boundary quarrel", "地界纠纷"), ("a patent licence", "专利许可"), ("a late delivery", "逾期交货")),
        ("lawyer", "律师"), ("consultation", "面谈"), "matter|legal_matter|mandate", "client|mandator|on_behalf_of", "consultation|appointment",
        ("The lawyer in charge has too much on.", "主办律师忙不过来。"),
    ),
)  # fmt: skip


def _make(brief: Brief) -> Draft:
    world = _Desk(brief, brief.draw("theme").pick(_THEMES))
    for attempt in range(_MAX_ATTEMPTS):
        world.salt_with(brief.draw("salt", attempt).between(1000, 9999))
        if world.is_clear():
            return world.written()
    msg = "no cases without ties were drawn"
    raise ValueError(msg)


# What follows is also the code of the tools, which keep who works there in STAFF.


def _able(salt: str, case: str, staff: list[str]) -> list[str]:
    first = issued(salt, case, "able")
    return [staff[(first + step * 7) % len(staff)] for step in range(3)]


def _start(salt: str, case: str, person: str) -> int:
    return 9 * 60 + 40 + issued(salt, case, person, "start") % 430


def _load(salt: str, person: str) -> int:
    return 4 + issued(salt, person, "load") % 37


def _moment(first: int, *about: str) -> str:
    number = issued(*about)
    day = datetime.date.fromordinal(first + number % 70).isoformat()
    return f"{day} {9 + number // 70 % 9:02d}:{number // 630 % 12 * 5:02d}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """A case that is asked for, and what becomes of it."""

    who: str
    topic: str
    case: str
    able: list[str]
    new: str
    """Who takes it over."""
    figure: int
    """What that is decided by."""
    opened: str
    follow: str
    due: str
    met: str

    @property
    def facts(self) -> list[str]:
        """All that may be an answer."""
        return [*self.able, str(self.figure), self.opened, self.follow, self.due, self.met]


class _Desk:
    """One world of cases, and what is asked of it."""

    def __init__(self, brief: Brief, theme: _Theme) -> None:
        self.brief, self.theme, self.zh = brief, theme, brief.language == "zh"
        self.draw, self.entities = brief.draw("world"), brief.entities()
        self.calendar = Calendar.drawn(brief.draw("day"), brief.language)
        self.first_day = self.calendar.today.toordinal() + 3
        self.house = self.entities.firms(1, *theme.houses[self.zh])[0]
        self.topics = [t[self.zh] for t in theme.topics]
        self.staff = self.entities.people(44)
        self.mark = "".join(brief.draw("mark").some("BCDFGHKLMNPRSTVW", 2))
        compared = brief.layout.concludes and brief.layout.depth == 2
        self.by_start = compared or brief.draw("criterion").chance(1, 2)
        self._fill()

    def salt_with(self, number: int) -> None:
        """Draw the figures that the code of tools works out."""
        self.salt = str(number)
        self.asked = [self._seen(who, topic) for who, topic in self.chosen]

    def _fill(self) -> None:
        """Draw cases, and near misses of those that are asked for."""
        knobs, layout = self.brief.knobs, self.brief.layout
        count = max(knobs.records, 6 + layout.subjects * (1 + knobs.near_misses))
        people = self.entities.people(count // 2 + layout.subjects)
        topics = self.draw.some(self.topics, layout.subjects)
        self.chosen = [*zip(people, topics, strict=False)]
        rows = [*self.chosen]
        for who, topic in self.chosen:
            others = [t for t in self.topics if t != topic]
            rows += [
                (who, others[n // 2]) if n % 2 == 0 else (self.entities.relatives(who, 1)[0], topic)
                for n in range(knobs.near_misses)
            ]
        free = people[layout.subjects :]
        rows += [
            (free[i % len(free)], self.topics[(i + i // len(free)) % 6])
            for i in range(count - len(rows))
        ]
        rows = self.draw.shuffled(rows)
        codes = self.entities.codes(f"{self.brief.draw('letter').pick('JQXZ')}#####", len(rows))
        since = [
            self.calendar.today.toordinal() - n for n in self.draw.shuffled(range(5, 5 + len(rows)))
        ]
        self.cases = dict(zip(rows, codes, strict=True))
        self.opened = {
            c: datetime.date.fromordinal(n).isoformat() for c, n in zip(codes, since, strict=True)
        }

    def _seen(self, who: str, topic: str) -> _Asked:
        case, salt = self.cases[who, topic], self.salt
        able = _able(salt, case, self.staff)
        figure = {p: _start(salt, case, p) if self.by_start else _load(salt, p) for p in able}
        new = min(able, key=lambda p: figure[p])
        is_tied = len({*figure.values()}) < len(able)
        follow = f"{self.mark}-{issued(salt, case, new)}"
        return _Asked(
            who, topic, case, able, new, -1 if is_tied else figure[new], self.opened[case], follow,
            _moment(self.first_day, salt, case, new, "due"), _moment(self.first_day, follow),
        )  # fmt: skip

    def is_clear(self) -> bool:
        """Whether no two facts are the same, and nobody ties."""
        facts = [fact for one in self.asked for fact in one.facts]
        return len({*facts}) == len(facts) and all(one.figure >= 0 for one in self.asked)

    # --- tools --------------------------------------------------------------------------------------------------

    def written(self) -> Draft:
        """The bundle of this world."""
        self.draft = Draft(self.brief, self.theme.domain, clock=self.calendar.clock)
        say = self.draft.say
        self.case, self.one, self.follow = (
            say(*text) for text in (self.theme.case, self.theme.staff, self.theme.follow)
        )
        self.draft.title = say(f"{self.house}: open {self.case}s", f"{self.house}：在办{self.case}")
        self.draft.description = say(
            f"The {self.case}s of {self.house}, who can work on them, and what follows.",
            f"{self.house}的{self.case}、可接手的{self.one}和后续安排。",
        )
        depth, ends = self.brief.layout.depth, self.ends
        self._name()
        self._data()
        self._find_tool()
        self._able_tool()
        if depth > 2:
            self._hand_tool()
        if depth > 3 and "met" in ends:
            self._follow_tool()
        if depth > 3 and "due" in ends:
            self._show_tool()
        self._ask()
        return self.draft

    def _name(self) -> None:
        self.draft.name(
            case=self.theme.nouns, who=self.theme.people, topic="topic|about|subject_matter",
            code="${case}_number|${case}_id|case_number", since="since|opened_on|received",
            person="person|colleague|assignee", load="open_cases|workload|cases_open", starts="can_start|free_from|starts_at",
            follow=self.theme.follows, due="deadline|due|settle_by", on="on|takes_place|day",
            find="find_$case|look_up_$case|search_$case", able="list_colleagues|who_can_take|find_${person}s",
            hand="reassign_$case|hand_over_$case|assign_$case", meet="get_$follow|show_$follow|read_$follow",
            show="show_$case|get_$case|status_of_$case", details="details|with_details|full", phone="with_phone|phone|contacts",
        )  # fmt: skip

    def _data(self) -> None:
        draft = self.draft
        draft.data("SALT", self.salt)
        draft.data("FIRST_DAY", self.first_day)
        draft.data("STAFF", self.staff)
        draft.data("CASES", {c: [*row, self.opened[c]] for row, c in self.cases.items()})
        draft.data("HANDED", {})
        draft.data("FOLLOWING", {})
        draft.code(source_of(issued).replace("*parts: str) -> int", "*parts)"))
        functions: tuple[Callable[..., object], ...] = (_able, _start, _load, _moment)
        for function in functions:
            draft.code("\n\n" + source_of(function))
        unknown = draft.say(
            "There is no {code!r}; $find gives the number.", "没有编号{code}；编号由 $find 返回。"
        )
        draft.code(f"""
            def _known(code):
                if code not in CASES:
                    raise ValueError(f"{unknown}")
        """)

    def _find_tool(self) -> None:
        say, has_more = self.draft.say, self.brief.knobs.options > 0
        more = {"$details": {"type": "boolean", "default": False, "description": say("Also by which way it came in.", "同时返回受理渠道。")}}  # fmt: skip
        way = (
            '{"came_by": ["'
            + say('phone", "letter", "web form', '电话", "信函", "网页')
            + '"][issued(code) % 3]}'
        )
        self.draft.tool(
            "$find", say(f"Find the {self.case} that somebody has opened.", f"按当事人和事由查询{self.case}。"),
            {"$who": {"type": "string", "minLength": 2, "description": say("Full name.", "姓名全称。")}, "$topic": {"type": "string", "enum": self.topics}, **(more if has_more else {})},
            f"""
            for code, row in CASES.items():
                if row[:2] == [$who.strip(), $topic]:
                    found = {{"$code": code, "$since": row[2]}}
                    return {f"found | ({way} if $details else {{}})" if has_more else "found"}
            raise ValueError(f"{say("{$who!r} has nothing open about {$topic}; give the full name, and what it is about.", "{$who}没有关于“{$topic}”的记录；请核对姓名全称和事由。")}")
            """,
        )  # fmt: skip
        if has_more:
            who, topic = self.chosen[0]
            self.draft.example("$find", **{"$who": who, "$topic": topic, "$details": True})

    def _able_tool(self) -> None:
        say, has_more = self.draft.say, self.brief.knobs.options > 1
        self.code_schema = {"type": "string", "pattern": "^[A-Z][0-9]{5}$", "description": say("As $find gives it.", "由 $find 返回。")}  # fmt: skip
        more = {"$phone": {"type": "boolean", "default": False, "description": say("Also their extensions.", "同时返回分机号。")}}  # fmt: skip
        row = '"$person": p, "$load": _load(SALT, p), "$starts": f"{t // 60:02d}:{t % 60:02d}"'
        phone = '{"extension": issued(p, "phone") % 9000 + 1000}'
        self.draft.tool(
            "$able", say(f"List who could take over a {self.case}: with how many they have open, and when they could start today.",
                         f"列出可以接手某{self.case}的{self.one}，包括在办数量和今天最早可开始的时间。"),
            {"$code": self.code_schema, **(more if has_more else {})},
            f"""
            _known($code)
            starts = [(p, _start(SALT, $code, p)) for p in _able(SALT, $code, STAFF)]
            return {{"$able": [{{{row}}}{f" | ({phone} if $phone else {{}})" if has_more else ""} for p, t in starts]}}
            """,
        )  # fmt: skip
        if has_more:
            self.draft.example("$able", **{"$code": self.asked[0].case, "$phone": True})

    def _hand_tool(self) -> None:
        say, tells_due = self.draft.say, self.brief.layout.depth == 3
        due = ', "$due": _moment(FIRST_DAY, SALT, $code, $person, "due")' if tells_due else ""
        self.draft.tool(
            "$hand", say(f"Hand a {self.case} over to somebody else. That sets a new deadline, and opens a {self.follow} with the person concerned.",
                         f"把{self.case}转给他人；会重新确定办结期限，并为当事人生成一次{self.follow}。"),
            {"$code": self.code_schema, "$person": {"type": "string", "minLength": 2}},
            f"""
            _known($code)
            if $person not in _able(SALT, $code, STAFF):
                raise ValueError(f"{say(f"{{$person!r}} cannot take over this {self.case}; $able says who can.", f"{{$person}}不能接手这个{self.case}；请用 $able 查询人选。")}")
            made = f"{self.mark}-{{issued(SALT, $code, $person)}}"
            HANDED[$code], FOLLOWING[made] = $person, $code
            return {{"$follow": made{due}}}
            """,
            writes=True,
        )  # fmt: skip

    def _follow_tool(self) -> None:
        say = self.draft.say
        self.draft.tool(
            "$meet", say(f"Read a {self.follow}: when it is.", f"查看一次{self.follow}的时间。"),
            {"$follow": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{6}$"}},
            f"""
            if $follow not in FOLLOWING:
                raise ValueError(f"{say("There is no {$follow!r}; $hand gives such numbers.", "没有{$follow}；编号由 $hand 返回。")}")
            return {{"$code": FOLLOWING[$follow], "$on": _moment(FIRST_DAY, $follow)}}
            """,
        )  # fmt: skip

    def _show_tool(self) -> None:
        say = self.draft.say
        self.draft.tool(
            "$show", say(f"Show how a {self.case} stands: who has it, and by when it is to be settled.", f"查看{self.case}现状：负责人和办结期限。"),
            {"$code": self.code_schema},
            """
            _known($code)
            has = HANDED.get($code, STAFF[issued(SALT, $code) % len(STAFF)])
            return {"$person": has, "$due": _moment(FIRST_DAY, SALT, $code, has, "due")}
            """,
        )  # fmt: skip

    # --- question -----------------------------------------------------------------------------------------------

    @property
    def ends(self) -> list[str]:
        """What is asked on the last of four levels."""
        if self.brief.layout.facets > 1:
            return ["due", "met"]
        return [self.brief.draw("end").pick(["due", "met"])]

    def _ask(self) -> None:
        layout = self.brief.layout
        self.by_due = layout.concludes or self.brief.draw("third").chance(1, 2)
        followed = [self._follow(one) for one in self.asked]
        last = [ids[-1] for ids, _ in followed]
        wording = (self._first, self._second, self._third, self._fourth)[layout.depth - 1]
        self.draft.question = wording()
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
        match self.brief.layout.depth:
            case 1:
                first = min(self.asked, key=lambda one: one.opened)
                return say("Who of them has waited longest?", "其中谁等得最久？"), first.who
            case 2:
                first = min(self.asked, key=lambda one: one.figure)
                asked = say("For whom could somebody else start first?", "谁的最快有人能接手？")
                return asked, first.who
            case _:
                first = min(self.asked, key=lambda one: one.due)
                return say("Whose new deadline is the earlier one?", "谁的新期限更早？"), first.who

    def _them(self, *, either: bool = False) -> str:
        """The people with what their cases are about."""
        rows = [
            f"{one.who}（{one.topic}）" if self.zh else f"{one.who} ({one.topic})"
            for one in self.asked
        ]
        return listed(rows, self.brief.language, either=either)

    def _cases(self) -> str:
        """The cases that are asked for."""
        if len(self.asked) > 1:
            return self.draft.say(
                f"the {self.case}s of {self._them()}", f"{self._them()}的{self.case}"
            )
        one = self.asked[0]
        return self.draft.say(
            f"{one.who}'s {self.case} about {one.topic}", f"{one.who}关于{one.topic}的{self.case}"
        )

    def _first(self) -> str:
        say, house, them, case = self.draft.say, self.house, self._them(), self.case
        if self.brief.layout.concludes:
            which = self._them(either=True)
            return say(
                f"{them} each have a {case} open with {house}. Who of them has been waiting longest? || "
                f"I would like to deal with the oldest one first. Whose {case} came in first at {house}: {which}?",
                f"{them}都在{house}有{case}，谁等得最久？ || 我想先处理最早的那个：{them}，哪一位的{case}在{house}登记得最早？",
            )
        if len(self.asked) > 1:
            return say(
                f"I need the numbers that {house} gave to the {case}s of {them}. || "
                f"For our meeting: which {case} numbers do {them} have at {house}?",
                f"请查一下{house}给{them}的{case}号。 || 开会要用：{them}在{house}的{case}号分别是多少？",
            )
        who, topic = self.chosen[0]
        return say(
            f"My name is {who}. I contacted {house} about {topic} and cannot find my {case} number any more. What is it? || "
            f"{who} is on the phone and asks about {topic}. Which {case} number does that have at {house}? || "
            f"Could you look up the number of {who}'s {case} at {house}? It was about {topic}.",
            f"我是{who}，之前因为{topic}联系过{house}，{case}号找不到了，能帮我查查吗？ || {who}打电话来问{topic}的事，{house}给的{case}号是多少？ || "
            f"麻烦查一下{who}在{house}的{case}号，是{topic}那件事。",
        )

    def _best(self) -> str:
        """By what somebody is chosen of those who could take a case."""
        if self.by_start:
            return self.draft.say("can start soonest today", "今天能最早开始处理的")
        return self.draft.say("has the fewest cases open", "在办数量最少的")

    def _second(self) -> str:
        say, house, them, case, one = self.draft.say, self.house, self._them(), self.case, self.one
        if self.brief.layout.concludes:
            which = self._them(either=True)
            return say(
                f"{house} has a {case} open for each of {them}. If all of these were handed on today, for whom could somebody else start first? || "
                f"Whose {case} at {house} could get a new {one} first today: {which}?",
                f"{them}在{house}各有一个{case}，如果今天都换人接手，谁的能最早有人开始处理？ || {house}要给{them}的{case}换{one}，今天谁的能最先有人接手？",
            )
        reason, cases, best = say(*self.theme.reason), self._cases(), self._best()
        each, apiece = (", for each", "分别") if len(self.asked) > 1 else ("", "")
        return say(
            f"{reason} Of those at {house} who could take over {cases}, who {best}{each}? || "
            f"I want to pass on {cases}. Which {one} at {house} could take over and {best}{each}?",
            f"{reason}{house}能接手{cases}的{one}里，{best}{apiece}是谁？ || {cases}想换人处理，{house}能接手的{one}中{best}{apiece}是哪位？",
        )

    def _order(self) -> str:
        """The sentence by which cases are to be handed on."""
        say, house, cases, one, best = (
            self.draft.say,
            self.house,
            self._cases(),
            self.one,
            self._best(),
        )
        each, apiece = (", each", "，各自") if len(self.asked) > 1 else ("", "，")
        reason = say(*self.theme.reason)
        return say(
            f"{reason} Please have {house} pass {cases} on{each} to whichever {one} could take over and {best}. || "
            f"Please get {house} to give {cases}{each} to another {one}: of those who could take over, whoever {best}.",
            f"{reason}请让{house}把{cases}转出去{apiece}转给能接手的{one}中{best}那位。 || "
            f"麻烦让{house}给{cases}换人{apiece}交给能接手的{one}里{best}那位。",
        )

    def _joined(self, english: str, chinese: str) -> str:
        return self._order() + ("" if self.zh else " ") + self.draft.say(english, chinese)

    def _third(self) -> str:
        several = len(self.asked) > 1
        if self.brief.layout.concludes:
            return self._joined(
                "Whose new deadline is then the earlier one? || After that, whose is due first?",
                "转好之后，谁的办结期限更早？ || 之后谁的要先办结？",
            )
        if self.by_due:
            return self._joined(
                f"By when {'are they' if several else 'is it'} to be settled then? || Then tell me the new deadline{'s' if several else ''}.",
                f"转好后告诉我新的办结期限。 || 之后{'分别' if several else ''}最晚什么时候办结？",
            )
        number = f"number{'s' if several else ''} of the {self.follow}{'s' if several else ''}"
        return self._joined(
            f"I need the {number} that {'come' if several else 'comes'} of it. || Then give me the {number}.",
            f"转好后把{self.follow}编号给我。 || 之后生成的{self.follow}编号{'分别' if several else ''}是多少？",
        )

    def _fourth(self) -> str:
        say, several = self.draft.say, len(self.asked) > 1
        due = say(
            f"by when {'each is' if several else 'it is'} to be settled now",
            f"新的办结期限{'分别' if several else ''}是什么时候",
        )
        met = say(
            f"when the {self.follow} is{' for each' if several else ''}",
            f"{self.follow}{'分别' if several else ''}安排在什么时候",
        )
        wanted = [{"due": due, "met": met}[end] for end in self.ends]
        return self._joined(
            f"Then let me know {' and '.join(wanted)}. || I have to tell people {' and '.join(wanted)}; please find out.",
            f"转好后告诉我{'，以及'.join(wanted)}。 || 我要答复当事人：{'，'.join(wanted)}？",
        )

    # --- sub-tasks ----------------------------------------------------------------------------------------------

    def _follow(self, one: _Asked) -> tuple[list[int], list[str]]:
        """The sub-tasks of one case: their ids, and what the question asks for."""
        say, layout = self.draft.say, self.brief.layout
        by_day = layout.depth == 1 and layout.concludes
        names = [w for w, t in self.cases if t == one.topic] + [w for w, _ in self.cases]
        own = [t for w, t in self.cases if w == one.who]
        first = self.draft.solve(
            say(f"When did the {self.case} of {one.who} about {one.topic} come in?", f"{one.who}关于{one.topic}的{self.case}是哪天受理的？") if by_day
            else say(f"What is the number of the {self.case} of {one.who} about {one.topic}?", f"{one.who}关于{one.topic}的{self.case}号是多少？"),
            one.opened if by_day else one.case, "$find",
            {"$who": key(one.who, names), "$topic": key(one.topic, own)},
        )  # fmt: skip
        if layout.depth == 1:
            return [first], [one.opened if by_day else one.case]
        start = f"{one.figure // 60:02d}:{one.figure % 60:02d}"
        by_time = layout.depth == 2 and layout.concludes
        asked = say(
            f"Of those who could take it over, who {self._best()}?",
            f"能接手的人里{self._best()}是谁？",
        )
        second = self.draft.solve(
            say("When today could somebody else start on it at the earliest?", "今天最早几点有人能接手？") if by_time else asked,
            start if by_time else one.new, "$able", {"$code": key(one.case, self._others(one))}, needs=[first],
        )  # fmt: skip
        if layout.depth == 2:
            return [second], [start if by_time else one.new]
        return self._hand(one, first, second)

    def _others(self, one: _Asked) -> list[str]:
        return [c for c in self.cases.values() if c != one.case]

    def _hand(self, one: _Asked, first: int, second: int) -> tuple[list[int], list[str]]:
        say, depth = self.draft.say, self.brief.layout.depth
        by_due = depth == 3 and self.by_due
        answer = one.due if by_due else one.follow
        third = self.draft.solve(
            say("By when is it to be settled once that person has it?", "转给此人后办结期限是什么时候？") if by_due
            else say(f"What is the number of the {self.follow} that comes of handing it on to that person?", f"转给此人后，{self.follow}编号是多少？"),
            answer, "$hand",
            {"$code": key(one.case, self._others(one)), "$person": key(one.new, [p for p in one.able if p != one.new])},
            needs=[first, second],
        )  # fmt: skip
        if depth == 3:
            return [third], [answer]
        made = [self._end(one, end, first, third) for end in self.ends]
        return [number for number, _ in made], [answer for _, answer in made]

    def _end(self, one: _Asked, end: str, first: int, third: int) -> tuple[int, str]:
        say = self.draft.say
        if end == "met":
            asked = say(f"When is that {self.follow}?", f"{self.follow}安排在什么时候？")
            arguments = {"$follow": key(one.follow)}
            return self.draft.solve(asked, one.met, "$meet", arguments, needs=[third]), one.met
        asked = say(
            f"By when is the {self.case} to be settled now?",
            f"现在{self.case}的办结期限是什么时候？",
        )
        arguments = {"$code": key(one.case, self._others(one))}
        return self.draft.solve(asked, one.due, "$show", arguments, needs=[first, third]), one.due


TICKETS = Family(
    "tickets", "Cases that are found, handed on to whom they suit best, and followed to what comes of it.", _make,
    Bounds(subjects=4, depth=4, facets=2, facets_from=4),
)  # fmt: skip
