"""College admission lines: the lowest score and rank that a major took, by province, year and plan.

The lines of one major are written by hand, the others are generated under a fixed seed. Universities
and figures are invented; the rules that change by province and year are real.
"""

from random import Random
from typing import NamedTuple

TRACKS_OLD = ("理科", "文科")
TRACKS_NEW = ("物理类", "历史类")
FIRST_NEW_YEAR = {"41": 2025, "42": 2021, "43": 2021, "44": 2021, "51": 2025, "34": 2024}  # by province code
PROVINCES = {"34": "安徽", "41": "河南", "42": "湖北", "43": "湖南", "44": "广东", "51": "四川"}
YEARS = (2023, 2024, 2025)


class _Key(NamedTuple):
    university: str
    major: str
    province_code: str
    year: int
    track: str
    plan_type: str
    supplementary_round: int


class _Line(NamedTuple):
    group_no: int  # 0 before majors were grouped
    min_score: int
    min_rank: int
    enrolled: int


_UNIVERSITY, _MAJOR = "楚云农林大学", "土地资源管理"
_SPECIAL = "国家专项计划"
_WRITTEN = {
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "物理类", "普通类", 0): _Line(104, 586, 42_871, 6),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "物理类", "普通类", 1): _Line(104, 583, 45_706, 1),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "物理类", _SPECIAL, 0): _Line(302, 578, 49_934, 3),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "物理类", _SPECIAL, 1): _Line(302, 571, 56_347, 2),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "物理类", _SPECIAL, 2): _Line(302, 566, 61_015, 1),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "物理类", "地方专项计划", 0): _Line(331, 574, 53_128, 2),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "物理类", "地方专项计划", 1): _Line(331, 569, 58_562, 1),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "历史类", "普通类", 0): _Line(101, 572, 11_690, 4),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "历史类", _SPECIAL, 0): _Line(301, 565, 13_283, 2),
    _Key(_UNIVERSITY, _MAJOR, "34", 2025, "历史类", _SPECIAL, 1): _Line(301, 560, 14_476, 1),
    _Key(_UNIVERSITY, _MAJOR, "34", 2024, "物理类", "普通类", 0): _Line(106, 574, 47_220, 6),
    _Key(_UNIVERSITY, _MAJOR, "34", 2024, "物理类", _SPECIAL, 0): _Line(305, 563, 56_918, 3),
    _Key(_UNIVERSITY, _MAJOR, "34", 2024, "物理类", _SPECIAL, 1): _Line(305, 558, 61_744, 1),
    _Key(_UNIVERSITY, _MAJOR, "34", 2023, "理科", _SPECIAL, 1): _Line(0, 531, 63_405, 2),
    _Key(_UNIVERSITY, _MAJOR, "41", 2025, "物理类", _SPECIAL, 1): _Line(308, 577, 69_772, 1),
    _Key(_UNIVERSITY, _MAJOR, "42", 2025, "物理类", _SPECIAL, 1): _Line(315, 562, 35_940, 3),
    _Key(_UNIVERSITY, _MAJOR, "43", 2025, "物理类", _SPECIAL, 1): _Line(309, 557, 38_511, 2),
    _Key(_UNIVERSITY, "农林经济管理", "34", 2025, "物理类", _SPECIAL, 1): _Line(302, 568, 59_183, 1),
    _Key(_UNIVERSITY, "地理信息科学", "34", 2025, "物理类", _SPECIAL, 1): _Line(303, 573, 54_320, 1),
    _Key("楚云科技大学", _MAJOR, "34", 2025, "物理类", _SPECIAL, 1): _Line(312, 552, 75_866, 2),
    _Key("江洲师范大学", _MAJOR, "34", 2025, "物理类", _SPECIAL, 1): _Line(307, 559, 68_041, 1),
}
_STEMS = ("北川", "江洲", "岭南", "华岳", "东陵", "沧海", "云梦", "关中", "钱江", "赤水", "松辽", "长渡")
_KINDS = ("理工大学", "师范大学", "财经大学")
_MAJORS = ("土地资源管理", "会计学", "临床药学", "软件工程", "汉语言文学", "环境工程", "金融学", "机械电子工程", "应用心理学", "农学")
_PLANS = ("普通类", _SPECIAL, "地方专项计划", "高校专项计划", "中外合作办学")


def _generated() -> dict[_Key, _Line]:
    rng = Random(20250625)
    lines: dict[_Key, _Line] = {}
    for university in (_UNIVERSITY, *(stem + kind for stem in _STEMS for kind in _KINDS)):
        for major in rng.sample(_MAJORS[1:] if university == _UNIVERSITY else _MAJORS, 4):
            for province_code in rng.sample(tuple(PROVINCES), 3):
                for year in YEARS:
                    is_new = year >= FIRST_NEW_YEAR[province_code]
                    track = rng.choice(TRACKS_NEW if is_new else TRACKS_OLD)
                    score = rng.randint(498, 655)
                    for round_no in range(rng.randint(1, 2)):
                        plan = rng.choice(_PLANS)
                        rank = (700 - score - 6 * round_no) * rng.randint(340, 520)
                        group_no = rng.randrange(401, 699) if is_new else 0
                        key = _Key(university, major, province_code, year, track, plan, round_no)
                        lines[key] = _Line(group_no, score - 6 * round_no, rank, rng.randint(1, 9))
    return lines


_LINES = {**_generated(), **_WRITTEN}
_UNIVERSITIES = {key.university for key in _LINES}


def query_admission_line(
    university: str,
    major: str,
    province_code: str,
    year: int,
    track: str,
    plan_type: str = "普通类",
    supplementary_round: int = 0,
) -> dict[str, object]:
    """Look up the lowest score and rank that a major admitted in one round of filling."""
    if university not in _UNIVERSITIES:
        raise LookupError("未收录该院校，请填写院校全称")
    first_new_year = FIRST_NEW_YEAR.get(province_code)
    if first_new_year is None:
        raise LookupError(f"省份代码 {province_code} 的数据尚未收录")
    allowed = TRACKS_NEW if year >= first_new_year else TRACKS_OLD
    if track not in allowed:
        province = PROVINCES[province_code]
        raise ValueError(f"{province} {year} 年的科类是{'、'.join(allowed)}，没有{track}")
    key = _Key(university, major, province_code, year, track, plan_type, supplementary_round)
    line = _LINES.get(key)
    if line is None:
        raise LookupError("没有符合全部条件的录取数据，请核对专业全称、计划类型和投档轮次")
    return {
        "university": university,
        "major": major,
        "province": PROVINCES[province_code],
        "year": year,
        "track": track,
        "plan_type": plan_type,
        "round": f"第 {supplementary_round} 次征集志愿" if supplementary_round else "正式投档",
        "major_group": f"第 {line.group_no} 组" if line.group_no else None,
        "enrolled": f"{line.enrolled} 人",
        "min_score": f"{line.min_score} 分",
        "min_rank": f"{line.min_rank:,} 位",
    }
