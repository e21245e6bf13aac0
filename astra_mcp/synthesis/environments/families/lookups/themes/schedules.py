"""Who meets where: in offices, at universities, in clinics, studios and chambers; and what people ask about the rooms."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["THEMES", "Theme"]

_Text = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Theme:
    """A kind of house; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    """What the names of the houses end in."""
    room_kinds: tuple[tuple[str, ...], tuple[str, ...]]
    room: _Text
    file: _Text
    """What somebody is in charge of, by its code."""
    lead: _Text
    led: _Text
    """Who is in charge of it: of one, as code and sub-tasks say it, and of ``{x}``, as people do."""
    meet: _Text
    """What two of them do, after ``want to`` and after ``要``."""
    keeper: _Text
    keepers: str
    fee: _Text
    fees: str
    """The questions about one room, in Chinese with ``{each}``; and in English about each of several."""
    noun: _Text
    total: str
    """What is paid; and the English question for all of it."""
    code: tuple[str, str, str, str, str]
    """What code calls room, file, lead, keeper and fee."""


THEMES = (
    Theme(
        Domain.PRODUCTIVITY, (("Offices", "Business Centre", "Coworking"), ("商务中心", "联合办公", "写字楼")),
        (("Room", "Lounge"), ("会议室", "厅")), ("meeting room", "会议室"), ("project", "项目"),
        ("project lead", "负责人"), ("the lead of project {x}", "项目{x}的负责人"), ("meet", "开会"),
        ("who has the key?", "钥匙{each}找谁拿"), "who has the key to each room?",
        ("what's the rent?", "租金{each}是多少"), "what's the rent for each of them?", ("rent", "租金"), "how much is the rent in total?",
        ("room|meeting_room", "project|venture", "lead|project_lead", "key_holder|keyholder", "rent|room_rent"),
    ),
    Theme(
        Domain.EDUCATION, (("University", "College", "Academy"), ("大学", "学院", "理工大学")),
        (("Hall", "Seminar Room"), ("教室", "研讨室")), ("seminar room", "教室"), ("thesis", "论文"),
        ("supervisor", "导师"), ("the supervisor of thesis {x}", "论文{x}的导师"), ("hold a seminar", "开研讨会||开讨论课"),
        ("which technician is on duty there?", "值班技术员{each}是谁"), "which technician is on duty in each room?",
        ("how much is the equipment fee?", "设备费{each}是多少"), "how much is the equipment fee for each of them?", ("equipment fee", "设备费"), "how much are the equipment fees in total?",
        ("seminar_room|hall", "thesis|dissertation", "supervisor|adviser", "technician|duty_technician", "equipment_fee|technology_fee"),
    ),
    Theme(
        Domain.HEALTHCARE, (("Clinic", "Hospital", "Medical Centre"), ("医院", "诊疗中心", "专科医院")),
        (("Therapy Room", "Ward Room"), ("治疗室", "会诊室")), ("treatment room", "治疗室"), ("patient file", "病历"),
        ("attending doctor", "主治医生"), ("the attending doctor on patient file {x}", "病历{x}的主治医生"), ("hold a case conference", "做病例讨论"),
        ("which nurse is on duty there?", "值班护士{each}是谁"), "which nurse is on duty in each room?",
        ("how much is the room charge?", "使用费{each}是多少"), "how much is the room charge for each of them?", ("room charge", "使用费"), "how much are the room charges in total?",
        ("treatment_room|therapy_room", "patient_file|chart", "doctor|attending", "nurse|duty_nurse", "charge|usage_charge"),
    ),
    Theme(
        Domain.MUSIC_AND_AUDIO, (("Studios", "Sound Works", "Recording House"), ("录音棚", "音乐工场", "唱片")),
        (("Studio", "Stage"), ("录音室", "排练厅")), ("studio", "录音室"), ("production", "作品"),
        ("producer", "制作人"), ("the producer of production {x}", "作品{x}的制作人"), ("rehearse", "排练"),
        ("which sound engineer will be there?", "录音师{each}是谁"), "which sound engineer will be in each studio?",
        ("what does the session cost?", "场租{each}是多少"), "what does each session cost?", ("session fee", "场租"), "what do the sessions cost in total?",
        ("studio|stage", "production|album", "producer|record_producer", "engineer|sound_engineer", "session_price|studio_price"),
    ),
    Theme(
        Domain.LEGAL, (("Mediation", "Law Chambers", "Arbitration"), ("律师事务所", "调解中心", "仲裁中心")),
        (("Chamber", "Hearing Room"), ("调解室", "听证室")), ("hearing room", "调解室"), ("case", "案件"),
        ("lawyer", "代理律师"), ("the lawyer on case {x}", "案件{x}的代理律师"), ("hold talks", "谈调解||谈和解"),
        ("which clerk will be there?", "书记员{each}是谁"), "which clerk will be in each room?",
        ("how much is the room fee?", "场地费{each}是多少"), "how much is the room fee for each of them?", ("room fee", "场地费"), "how much are the room fees in total?",
        ("chamber|hearing_room", "case|matter", "counsel|attorney", "clerk|duty_clerk", "room_fee|hearing_fee"),
    ),
)  # fmt: skip
