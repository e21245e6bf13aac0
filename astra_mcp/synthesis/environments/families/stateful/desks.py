"""A desk with cases: who could take them over, and the tools that find and hand them on."""

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

from astra_mcp.domains import Domain
from astra_mcp.synthesis.environments.families.brief import Brief
from astra_mcp.synthesis.environments.families.issued import issued, source_of
from astra_mcp.synthesis.environments.families.phrases import with_article
from astra_mcp.synthesis.environments.families.stateful.house import House

__all__ = ["Case", "Desk"]

_MAX_OTHERS = 5
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
        ("One of the agents is off sick.", "原来负责的客服请了病假。"),
    ),
    _Theme(
        Domain.CLOUD_SERVICES, (("Hosting", "Cloud", "Data Centre"), ("云计算", "主机服务", "数据中心")),
        ("incident", "故障单"),
        (("slow database queries", "数据库查询变慢"), ("an expired certificate", "证书过期"), ("failed nightly backups", "夜间备份失败"),
         ("a full log volume", "日志盘写满"), ("dropped connections", "连接频繁中断"), ("a stuck deployment", "发布卡住")),
        ("engineer", "工程师"), ("review", "复盘会"), "incident|outage|incident_report", "opened_by|customer_contact|contact", "review|review_meeting",
        ("Nothing has happened for days.", "已经好几天没人处理了。"),
    ),
    _Theme(
        Domain.REAL_ESTATE, (("Property Management", "Housing", "Lettings"), ("物业", "公寓管理", "房屋托管")),
        ("repair request", "报修单"),
        (("a broken lift", "电梯故障"), ("damp in the bedroom wall", "卧室墙面渗水"), ("a blocked drain", "下水道堵塞"),
         ("a cold radiator", "暖气不热"), ("a jammed front door", "入户门卡住"), ("a flickering stair light", "楼道灯闪烁")),
        ("caretaker", "维修管家"), ("site visit", "上门查看"), "repair|repair_request|defect", "tenant|resident|reported_by", "visit|site_visit",
        ("One of the caretakers has left.", "原来的维修管家离职了。"),
    ),
    _Theme(
        Domain.INSURANCE, (("Mutual", "Assurance", "Insurance"), ("保险", "财险", "互助保险")),
        ("claim", "理赔案"),
        (("storm damage to a roof", "屋顶风灾"), ("a stolen bicycle", "自行车被盗"), ("a burst pipe", "水管爆裂"),
         ("a dented car door", "车门刮凹"), ("a lost suitcase", "行李遗失"), ("a broken shop window", "橱窗破碎")),
        ("claims handler", "理赔员"), ("inspection", "查勘"), "claim|loss_claim|damage_claim", "claimant|insured|policy_holder", "inspection|survey",
        ("One of the claims handlers is on long-term leave.", "原理赔员休长假了。"),
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
        ("case", "案件"),
        (("a tenancy dispute", "租赁纠纷"), ("a contested will", "遗嘱争议"), ("an unpaid invoice", "货款拖欠"),
         ("a boundary quarrel", "地界纠纷"), ("a patent licence", "专利许可"), ("a late delivery", "逾期交货")),
        ("lawyer", "律师"), ("consultation", "面谈"), "matter|legal_matter|mandate", "client|mandator|on_behalf_of", "consultation|appointment",
        ("One of the lawyers has too much on.", "主办律师忙不过来。"),
    ),
)  # fmt: skip


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
class Case:
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


class Desk(House[Case]):
    """One world of cases; what is asked of it is for those who derive from it."""

    def __init__(self, brief: Brief) -> None:
        """Draw it."""
        self.theme = theme = brief.draw("theme").pick(_THEMES)
        super().__init__(brief, theme.domain, theme.houses)
        self.first_day = self.calendar.today.toordinal() + 3
        self.topics = [t[self.zh] for t in theme.topics]
        self.staff = self.entities.people(60)
        self.mark = "".join(brief.draw("mark").some("BCDFGHKLMNPRSTVW", 2))
        compared = brief.layout.concludes and brief.layout.depth == 2
        self.by_start = compared or brief.draw("criterion").chance(1, 2)
        self._fill()

    def _fill(self) -> None:
        """Draw cases, and near misses of those that are asked for."""
        topics = self.draw.shuffled(self.topics)
        rows = self._rows(
            self.topics, [topics[n % len(topics)] for n in range(self.brief.subjects)]
        )
        codes = self.entities.codes(f"{self.brief.draw('letter').pick('JQXZ')}#####", len(rows))
        since = [
            self.calendar.today.toordinal() - n for n in self.draw.shuffled(range(5, 5 + len(rows)))
        ]
        self.cases = dict(zip(rows, codes, strict=True))
        self.opened = {
            c: datetime.date.fromordinal(n).isoformat() for c, n in zip(codes, since, strict=True)
        }

    def _seen(self, who: str, topic: str) -> Case:
        case, salt = self.cases[who, topic], self.salt
        able = _able(salt, case, self.staff)
        figure = {p: _start(salt, case, p) if self.by_start else _load(salt, p) for p in able}
        new = min(able, key=lambda p: figure[p])
        is_tied = len({*figure.values()}) < len(able)
        follow = f"{self.mark}-{issued(salt, case, new)}"
        return Case(
            who, topic, case, able, new, -1 if is_tied else figure[new], self.opened[case], follow,
            _moment(self.first_day, salt, case, new, "due"), _moment(self.first_day, follow),
        )  # fmt: skip

    def _others_than(self, one: Case) -> list[str]:
        """Some other cases, which that person could not take over."""
        others = (c for c in self.cases.values() if one.new not in _able(self.salt, c, self.staff))
        return [*islice(others, _MAX_OTHERS)]

    def _is_clear(self) -> bool:
        """Whether no two facts are the same, and nobody ties."""
        facts = [fact for one in self.asked for fact in one.facts]
        return len({*facts}) == len(facts) and all(one.figure >= 0 for one in self.asked)

    # --- tools --------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        say = self.draft.say
        self.case, self.one, self.follow = (
            say(*text) for text in (self.theme.case, self.theme.staff, self.theme.follow)
        )
        self.draft.title = say(f"{self.house}: open {self.case}s", f"{self.house}：在办{self.case}")
        self.draft.description = say(
            f"Open {self.case}s of {self.house}, who can take them over, and deadlines.",
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
            "$find", say(f"Find {with_article(self.case)} by person and subject.", f"按当事人和事由查询{self.case}。"),
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
            "$able", say(f"List who is available to take over {with_article(self.case)}, with how many each has open and when each could start today.",
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
            "$hand", say(f"Reassign {with_article(self.case)}. This sets a new deadline and sets up {with_article(self.follow)} with the person concerned.",
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
            "$meet", say(f"Look up the date and time of {with_article(self.follow)}.", f"查看一次{self.follow}的时间。"),
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
            "$show", say(f"Show who has {with_article(self.case)} and its deadline.", f"查看{self.case}现状：负责人和办结期限。"),
            {"$code": self.code_schema},
            """
            _known($code)
            has = HANDED.get($code, STAFF[issued(SALT, $code) % len(STAFF)])
            return {"$person": has, "$due": _moment(FIRST_DAY, SALT, $code, has, "due")}
            """,
        )  # fmt: skip

    @property
    def ends(self) -> list[str]:
        """What is asked on the last of four levels."""
        if self.brief.layout.facets > 1:
            return ["due", "met"]
        return [self.brief.draw("end").pick(["due", "met"])]
