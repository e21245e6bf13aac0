"""What archives keep: documents of six kinds, and what they are about."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["THEMES", "Theme"]

_Texts = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Theme:
    """A kind of documents; each text in English and in Chinese."""

    domain: Domain
    house: tuple[tuple[str, ...], tuple[str, ...]]
    """What the name of the archive ends in."""
    document: _Texts
    plural: str
    counter: str
    """The Chinese measure word of documents."""
    subjects: tuple[_Texts, ...]
    """What they are about; ``PLACE`` stands for where."""
    made: _Texts
    """What their authors did, as in ``that she wrote``."""
    cites: _Texts
    """What documents do with others."""
    on: str
    """The English preposition before the subject."""
    documents: str
    """What code calls one of them."""
    mark: str
    author: str


THEMES = (
    Theme(
        Domain.SCIENCE, (("Institute", "Research Station", "Observatory"), ("研究所", "观测站", "科学院")), ("report", "报告"), "reports", "份",
        (("groundwater around PLACE", "PLACE地下水"), ("the mosses of PLACE", "PLACE苔藓"), ("bat colonies near PLACE", "PLACE蝙蝠种群"),
         ("soil erosion at PLACE", "PLACE水土流失"), ("spring frosts in PLACE", "PLACE春季霜冻"), ("river fish at PLACE", "PLACE河鱼"),
         ("the limestone caves of PLACE", "PLACE溶洞"), ("the peat bogs of PLACE", "PLACE泥炭沼泽")),
        ("wrote", "写"), ("cites", "引用"), "on", "report|field_report|study_report", "report_number|signature|report_code", "author|scientist|written_by",
    ),
    Theme(
        Domain.LEGAL, (("Law Library", "Court Archive", "Legal Archive"), ("法律图书馆", "法律档案馆", "法院档案馆")), ("opinion", "法律意见书"), "opinions", "份",
        (("fishing rights at PLACE", "PLACE捕鱼权"), ("the mill leases of PLACE", "PLACE磨坊租约"), ("church land in PLACE", "PLACE寺院用地"),
         ("market tolls of PLACE", "PLACE集市税费"), ("water rights in PLACE", "PLACE用水权"), ("the boundary of PLACE", "PLACE地界"),
         ("grazing on PLACE common", "PLACE公共牧场"), ("the harbour dues of PLACE", "PLACE港口规费")),
        ("gave", "出具"), ("cites", "引用"), "on", "opinion|legal_opinion|expert_opinion", "file_number|docket|opinion_number", "lawyer|counsel|jurist",
    ),
    Theme(
        Domain.EDUCATION, (("University Library", "College Library", "Folklore Archive"), ("大学图书馆", "学院图书馆", "民俗资料馆")), ("survey", "调查报告"), "surveys", "份",
        (("the dialect of PLACE", "PLACE方言"), ("the potters of PLACE", "PLACE陶工"), ("folk songs from PLACE", "PLACE民歌"),
         ("the weavers of PLACE", "PLACE织工"), ("place names around PLACE", "PLACE地名"), ("wedding customs in PLACE", "PLACE婚俗"),
         ("farmhouses near PLACE", "PLACE农舍"), ("the fairs of PLACE", "PLACE庙会")),
        ("wrote", "写"), ("cites", "引用"), "of", "survey|field_survey|survey_volume", "call_number|shelfmark|survey_number", "author|scholar|compiled_by",
    ),
    Theme(
        Domain.MAPS_AND_GEOLOCATION, (("Map Room", "Survey Office", "Map Collection"), ("地图馆", "测绘院", "舆图室")), ("atlas", "地图集"), "atlases", "本",
        (("the tram lines of PLACE", "PLACE电车线路"), ("hiking trails around PLACE", "PLACE登山步道"), ("the flood zones of PLACE", "PLACE洪泛区"),
         ("the vineyards of PLACE", "PLACE葡萄园"), ("the old walls of PLACE", "PLACE古城墙"), ("the canals of PLACE", "PLACE运河"),
         ("the wells of PLACE", "PLACE水井"), ("the coal pits near PLACE", "PLACE煤矿")),
        ("drew", "编绘"), ("draws on", "参考"), "of", "atlas|map_volume|map_book", "volume_number|atlas_number|map_code", "cartographer|drawn_by|surveyor",
    ),
    Theme(
        Domain.TRANSPORTATION, (("Transport Museum", "Railway Archive", "Transport Library"), ("交通博物馆", "铁路档案馆", "交通资料馆")), ("study", "研究报告"), "studies", "份",
        (("commuters to PLACE", "PLACE通勤"), ("the ring road of PLACE", "PLACE环路"), ("cycle paths in PLACE", "PLACE自行车道"),
         ("freight trains through PLACE", "PLACE货运列车"), ("night buses in PLACE", "PLACE夜班公交"), ("parking in PLACE", "PLACE停车"),
         ("the ferries of PLACE", "PLACE渡轮"), ("level crossings near PLACE", "PLACE铁路道口")),
        ("wrote", "写"), ("cites", "引用"), "on", "study|traffic_study|transport_study", "study_number|study_code|inventory_number", "author|planner|researcher",
    ),
    Theme(
        Domain.GOVERNMENT, (("Record Office", "City Archive", "County Archive"), ("档案馆", "市政档案室", "城建档案馆")), ("plan", "规划方案"), "plans", "份",
        (("school sites in PLACE", "PLACE校舍"), ("flood protection at PLACE", "PLACE防洪"), ("green spaces in PLACE", "PLACE绿地"),
         ("housing in PLACE", "PLACE住房"), ("waste treatment in PLACE", "PLACE垃圾处理"), ("street markets in PLACE", "PLACE街市"),
         ("the waterfront of PLACE", "PLACE滨水区"), ("public baths in PLACE", "PLACE公共浴室")),
        ("drew up", "编制"), ("refers to", "引用"), "for", "plan|planning_file|city_plan", "plan_number|record_number|reference_code", "planner|official|drawn_up_by",
    ),
)  # fmt: skip
