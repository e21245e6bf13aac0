"""What directories are of: six houses, and the matters that people bring to them."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["THEMES", "Matter", "Theme"]

_Texts = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Matter:
    """A matter as the directory calls it, and as somebody tells it; ``PLACE`` stands for where."""

    name: _Texts
    told: _Texts


@dataclass(frozen=True, slots=True)
class Theme:
    """Who is responsible for what; each text in English and in Chinese."""

    domain: Domain
    house: tuple[tuple[str, ...], tuple[str, ...]]
    """What the name of the house ends in."""
    places: tuple[tuple[str, ...], tuple[str, ...]]
    unit: _Texts
    """What a part of the house is called."""
    matters: tuple[Matter, ...]
    units: str
    """What code calls a unit."""
    place: str
    matter: str
    person: str
    is_own: bool = True
    """Whether one person may have two such matters at different places."""


def _matters(*rows: tuple[str, str, str, str]) -> tuple[Matter, ...]:
    return tuple(Matter((en, zh), (told_en, told_zh)) for en, zh, told_en, told_zh in rows)


THEMES = (
    Theme(
        Domain.GOVERNMENT, (("Town Hall", "City Council", "Borough Council"), ("市政服务中心", "街道办事处", "区政府")),
        (("Street", "Lane", "Road", "Crescent"), ("路", "街", "巷", "大道")), ("office", "科室"),
        _matters(
            ("street lighting", "路灯", "The street lamps in PLACE have gone out", "PLACE的路灯不亮了"),
            ("trees and verges", "绿化树木", "A tree in PLACE is about to fall over", "PLACE有棵树快倒了"),
            ("residents' parking", "居民停车", "I've just moved to PLACE and need a resident's parking permit", "我刚搬到PLACE，想给车办居民停车证"),
            ("waste collection", "垃圾清运", "The bins in PLACE haven't been emptied for two weeks", "PLACE的垃圾桶两周没人清了"),
            ("noise", "噪声", "Building work in PLACE goes on all night", "PLACE有工地整夜施工，吵得睡不着"),
            ("road surface", "路面维修", "There's a deep pothole in PLACE", "PLACE的路面有个大坑"),
        ), "office|office_code|bureau", "street|street_name|road", "topic|concern|subject", "clerk|official|officer",
    ),
    Theme(
        Domain.INSURANCE, (("Mutual", "Insurance", "Assurance"), ("保险", "财险", "互助保险")),
        ((), ()), ("claims team", "理赔组"),
        _matters(
            ("burst pipes", "水管爆裂", "A pipe burst in my flat in PLACE", "我在PLACE的房子水管爆了"),
            ("storm damage", "风灾", "A storm blew tiles off my roof in PLACE", "大风掀掉了我在PLACE那套房子屋顶的瓦"),
            ("burglary", "入室盗窃", "Somebody broke into our house in PLACE and took the silver", "我们在PLACE的家进了小偷，丢了首饰"),
            ("car glass", "车窗玻璃", "A stone cracked my windscreen near PLACE", "我的车在PLACE被石子打裂了挡风玻璃"),
            ("pets", "宠物", "I want to claim for our dog's operation in PLACE", "我家的狗在PLACE做了手术，想申请理赔"),
            ("lost luggage", "行李丢失", "My suitcase never arrived in PLACE", "我坐飞机到PLACE，托运的行李一直没到"),
        ), "team|claims_team|team_code", "town|region|place_of_damage", "damage|claim_type|kind_of_claim", "handler|claims_handler|adjuster",
    ),
    Theme(
        Domain.EDUCATION, (("University", "Polytechnic", "College"), ("大学", "学院", "理工大学")),
        (("Campus", "Hall", "School"), ("校区", "书院", "分院")), ("desk", "窗口"),
        _matters(
            ("exam registration", "考试报名", "I'm studying at PLACE and forgot to sign up for an exam", "我在PLACE读书，错过了考试报名"),
            ("grants", "助学金", "I'm a student at PLACE and can't pay my fees any more", "我是PLACE的学生，交不起学费，想申请助学金"),
            ("dormitories", "宿舍", "The heating in my student room at PLACE is broken", "我在PLACE的宿舍暖气坏了"),
            ("study abroad", "出国交流", "I'm a student at PLACE and want to spend a semester abroad", "我在PLACE上学，想出国交换一学期"),
            ("library cards", "图书证", "I lost my library card at PLACE", "我在PLACE把图书证弄丢了"),
            ("certificates", "毕业证明", "I graduated from PLACE and need a copy of my degree certificate", "我是PLACE毕业的，学位证丢了，想补办证明"),
        ), "desk|desk_code|service_desk", "campus|site|part_of_university", "matter|student_matter|request", "adviser|counsellor|advisor", is_own=False,
    ),
    Theme(
        Domain.CUSTOMER_SUPPORT, (("Machines", "Engineering", "Industrial Service"), ("机械", "重工", "设备服务")),
        (("Works", "Plant", "Depot"), ("工厂", "车间", "仓库")), ("service team", "服务组"),
        _matters(
            ("conveyors", "输送机", "The conveyor belt at PLACE keeps stopping", "PLACE的传送带老是停"),
            ("compressors", "空压机", "The compressor at PLACE is losing pressure", "PLACE的空压机掉压"),
            ("forklifts", "叉车", "One of the forklifts at PLACE won't lift any more", "PLACE有台叉车升不起来了"),
            ("label printers", "标签打印机", "The label printer at PLACE prints blank labels", "PLACE的标签打印机打出来全是白的"),
            ("cooling", "制冷", "The cold room at PLACE is getting warm", "PLACE的冷库温度降不下来"),
            ("scales", "地磅", "The lorry scale at PLACE shows the wrong weight", "PLACE的地磅称重不准"),
        ), "group|service_group|crew", "site|works|location", "machine|machine_type|equipment", "technician|engineer|fitter",
    ),
    Theme(
        Domain.REAL_ESTATE, (("Homes", "Housing", "Property Management"), ("物业", "置业", "公寓管理")),
        (("Court", "House", "Gardens"), ("花园", "公寓", "小区")), ("department", "部门"),
        _matters(
            ("heating", "供暖", "My radiators at PLACE stay cold", "我住PLACE，家里暖气不热"),
            ("lifts", "电梯", "The lift at PLACE is stuck again", "PLACE的电梯又停了"),
            ("keys and locks", "钥匙门锁", "I've lost the key to my flat at PLACE", "我把PLACE家里的钥匙弄丢了"),
            ("deposits", "押金", "I've moved out of PLACE and haven't got my deposit back", "我已经从PLACE搬走，押金还没退"),
            ("pest control", "虫害防治", "There are mice in the cellar of PLACE", "PLACE的地下室有老鼠"),
            ("broken windows", "门窗维修", "A window in the stairwell of PLACE is broken", "PLACE楼道的窗户玻璃碎了"),
        ), "department|department_code|section", "estate|building|house", "issue|tenant_issue|defect", "caretaker|manager|contact", is_own=False,
    ),
    Theme(
        Domain.HEALTHCARE, (("Hospitals", "Clinics", "Health Trust"), ("医院集团", "医疗集团", "健康集团")),
        (("Hospital", "Clinic", "Infirmary"), ("医院", "分院", "门诊部")), (("desk", "服务台")),
        _matters(
            ("invoices", "账单", "I don't understand the bill PLACE sent me", "PLACE寄来的账单我看不懂"),
            ("medical records", "病历复印", "My new doctor needs my medical records from PLACE", "我换了医生，需要复印我在PLACE的病历"),
            ("blood donation", "献血", "I'd like to give blood at PLACE", "我想去PLACE献血"),
            ("lost property", "失物招领", "I left my glasses at PLACE", "我把眼镜落在PLACE了"),
            ("interpreters", "翻译服务", "My mother has an appointment at PLACE and needs an interpreter", "我妈妈要去PLACE看病，需要有人翻译"),
            ("vaccinations", "疫苗接种", "I need travel vaccinations at PLACE", "我出国前想在PLACE打疫苗"),
        ), "station|station_code|service_point", "hospital|clinic|hospital_name", "service|service_type|patient_service", "nurse|coordinator|staff_member",
    ),
)  # fmt: skip
