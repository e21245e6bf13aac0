"""Themes of the family ``permissions``: who may do what."""

from dataclasses import dataclass

from astra_mcp.domains import Domain

__all__ = ["PERMISSION_THEMES", "PermissionTheme"]

Words = tuple[str, str]


@dataclass(frozen=True, slots=True)
class PermissionTheme:
    """Who may do what; each text in English and in Chinese, several choices between ``||``."""

    domain: Domain
    houses: tuple[tuple[str, ...], tuple[str, ...]]
    units: tuple[tuple[str, ...], tuple[str, ...]]
    """Where people work."""
    zones: tuple[tuple[str, ...], tuple[str, ...]]
    """What a right is for."""
    group: Words
    act: Words
    """What one is allowed to do with ``{zone}``, as part of a sentence."""
    bounds: tuple[Words, Words, Words]
    """Questions about the bound of a right, of ``{who}`` and ``{zone}``: of one, of several, and whose is widest.

    The last may hold ``{more}``, ``{the}`` and ``{er}``.
    """
    bound: Words
    """What bounds a right."""
    scope: tuple[int, int, int]
    """The smallest and the largest bound, and the step between them."""
    sign: Words | None
    """The unit of the bound, as it stands behind a number; None for a time of day."""
    members: str
    """What code calls a person."""
    groups: str
    """What code calls a group."""
    places: str
    """What code calls what a right is for."""
    limits: str
    """What code calls the bound."""


PERMISSION_THEMES = (
    PermissionTheme(
        Domain.SECURITY,
        (("Laboratories", "Foundry", "Archives"), ("研究院", "铸造厂", "档案馆")),
        (("accounting", "stores", "design", "reception"), ("财务部", "仓储部", "设计部", "前台")),
        (("the vault", "the cold store", "the greenhouse", "the test hall", "the map room"), ("金库", "冷库", "温室", "试验大厅", "图纸室")),
        ("access group", "门禁组"), ("enter {zone}", "进入{zone}"),
        (
            ("How late in the evening can {who} stay in {zone}?||Until what time in the evening is {who} allowed in {zone}?", "{who}晚上最晚可以在{zone}待到几点？"),
            ("How late in the evening can {who} each stay in {zone}?||Until what time in the evening are {who} each allowed in {zone}?", "{who}晚上最晚各能在{zone}待到几点？"),
            ("Who can stay in {zone} lat{er} in the evening, {who}?", "{who}，谁晚上可以在{zone}待得{more}晚？"),
        ),
        ("closing time", "最晚时间"), (18 * 60, 23 * 60 + 50, 5), None,
        "employee|badge_holder|staff_member", "access_group|door_group|badge_group", "area|zone|room", "until|leave_by|latest_time",
    ),
    PermissionTheme(
        Domain.FILE_MANAGEMENT,
        (("Architects", "Publishing", "Studios"), ("建筑事务所", "出版社", "影像工作室")),
        (("marketing", "legal", "production", "sales"), ("市场部", "法务部", "制作部", "销售部")),
        (("the contracts folder", "the press photo library", "the tender drawings folder", "the video archive", "the scanned letters folder"), ("合同文件夹", "新闻图片库", "投标图纸库", "视频母带库", "信函扫描库")),
        ("sharing group", "共享组"), ("upload to {zone}", "往{zone}传文件"),
        (
            ("How large a file can {who} upload to {zone}?", "{who}最大能往{zone}传多大的文件？"),
            ("How large a file can {who} each upload to {zone}?", "{who}最大各能往{zone}传多大的文件？"),
            ("Who can upload {the}larg{er} files to {zone}, {who}?", "{who}，谁能往{zone}传的文件{more}大？"),
        ),
        ("largest file", "单个文件上限"), (110, 4900, 10), (" MB", "MB"),
        "member|colleague|user", "sharing_group|team|share_group", "folder|library|shared_folder", "largest_file|max_file|size_cap",
    ),
    PermissionTheme(
        Domain.CLOUD_SERVICES,
        (("Robotics", "Games", "Analytics"), ("机器人公司", "游戏公司", "数据公司")),
        (("the platform team", "the research team", "the support team", "the mobile team"), ("平台组", "研究组", "支持组", "移动组")),
        (("the staging cluster", "the render farm", "the training cluster", "the archive cluster", "the build farm"), ("预发布集群", "渲染农场", "训练集群", "归档集群", "构建集群")),
        ("user group", "用户组"), ("book machines on {zone}", "在{zone}上申请机器"),
        (
            ("How many machine hours a month can {who} book on {zone}?", "{who}每月可以在{zone}上申请多少机时？"),
            ("How many machine hours a month can {who} each book on {zone}?", "{who}每月各能在{zone}上申请多少机时？"),
            ("Who can book {more} machine hours a month on {zone}, {who}?", "{who}，谁每月可以在{zone}上申请的机时{more}多？"),
        ),
        ("monthly quota", "每月额度"), (120, 5900, 10), (" machine hours", "机时"),
        "engineer|account_holder|developer", "user_group|team_group|cloud_group", "resource|cluster|target", "quota|monthly_quota|hours",
    ),
    PermissionTheme(
        Domain.DATABASES,
        (("Insurance Mutual", "Assurance", "Health Insurance"), ("保险社", "保险公司", "健康保险公司")),
        (("claims", "planning", "audit", "billing"), ("理赔科", "规划科", "审计科", "账务科")),
        (("the policy view", "the payroll view", "the premium view", "the address view", "the damage view"), ("保单视图", "薪资视图", "保费视图", "地址视图", "定损视图")),
        ("database group", "数据库用户组"), ("query {zone}", "查询{zone}"),
        (
            ("How many rows can {who} fetch from {zone} at once?", "{who}一次最多能从{zone}取多少行？"),
            ("How many rows can {who} each fetch from {zone} at once?", "{who}一次最多各能从{zone}取多少行？"),
            ("Who can fetch {more} rows from {zone} at once, {who}?", "{who}，谁一次能从{zone}取的行数{more}多？"),
        ),
        ("row limit", "行数上限"), (1500, 98_500, 100), (" rows", "行"),
        "analyst|login_owner|clerk", "database_group|db_group|login_group", "view|data_view|source_view", "row_limit|max_rows|rows",
    ),
    PermissionTheme(
        Domain.HEALTHCARE,
        (("Hospital", "Infirmary", "Medical Centre"), ("医院", "中心医院", "医疗中心")),
        (("surgery", "paediatrics", "oncology", "intensive care"), ("外科", "儿科", "肿瘤科", "急诊科")),
        (("the narcotics cabinet", "the blood fridge", "the vaccine store", "the infusion store", "the implant store"), ("麻醉药柜", "血液冷柜", "疫苗库", "输液库", "植入物库")),
        ("dispensing group", "领用组"), ("take stock from {zone}", "从{zone}领用物品"),
        (
            ("How many packs a week can {who} take from {zone}?", "{who}每周最多可以从{zone}领多少盒？"),
            ("How many packs a week can {who} each take from {zone}?", "{who}每周最多各能从{zone}领多少盒？"),
            ("Who can take {more} packs a week from {zone}, {who}?", "{who}，谁每周可以从{zone}领的盒数{more}多？"),
        ),
        ("weekly allowance", "每周限额"), (11, 480, 1), (" packs", "盒"),
        "nurse|ward_staff|carer", "dispensing_group|ward_group|duty_group", "store|cabinet|stock_room", "allowance|packs_a_week|weekly_limit",
    ),
    PermissionTheme(
        Domain.EDUCATION,
        (("College", "Art School", "Technical School"), ("学院", "美术学院", "职业学校")),
        (("sculpture", "graphics", "carpentry", "photography"), ("雕塑系", "平面设计系", "木工系", "摄影系")),
        (("the kiln room", "the darkroom", "the wood workshop", "the print room", "the metal workshop"), ("窑炉间", "暗房", "木工车间", "印刷室", "金工车间")),
        ("course group", "课程组"), ("work in {zone}", "使用{zone}"),
        (
            ("How late in the evening can {who} work in {zone}?||Until what time in the evening can {who} use {zone}?", "{who}晚上最晚可以用{zone}到几点？"),
            ("How late in the evening can {who} each work in {zone}?||Until what time in the evening can {who} each use {zone}?", "{who}晚上最晚各能用{zone}到几点？"),
            ("Who can work in {zone} lat{er} in the evening, {who}?", "{who}，谁晚上可以用{zone}用到{more}晚？"),
        ),
        ("closing time", "最晚时间"), (17 * 60, 22 * 60 + 50, 5), None,
        "student|pupil|trainee", "course_group|class_group|cohort", "workshop|studio_room|workplace", "open_until|leave_at|end_time",
    ),
    PermissionTheme(
        Domain.AUTOMOTIVE,
        (("Waterworks", "Forestry", "Parcels"), ("自来水公司", "林场", "快递公司")),
        (("maintenance", "surveying", "delivery", "training"), ("维修队", "勘测队", "配送队", "培训中心")),
        (("the vans", "the lorries", "the minibuses", "the tractors", "the trailers"), ("厢式车", "货车", "中巴车", "拖拉机", "挂车")),
        ("driver group", "驾驶组"), ("drive {zone}", "驾驶{zone}"),
        (
            ("How far can {who} drive {zone} in a day?", "{who}一天最多可以开{zone}跑多远？"),
            ("How far can {who} each drive {zone} in a day?", "{who}一天最多各能开{zone}跑多远？"),
            ("Who can drive {zone} furth{er} in a day, {who}?", "{who}，谁一天可以开{zone}跑得{more}远？"),
        ),
        ("daily range", "每日里程"), (45, 940, 1), (" km", "公里"),
        "driver|fleet_user|operator", "driver_group|licence_group|fleet_group", "vehicle_pool|vehicles|pool", "daily_range|max_distance|range",
    ),
)  # fmt: skip
