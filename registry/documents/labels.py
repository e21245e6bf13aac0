"""What the labels of sources mean in the one domain vocabulary.

Each label of a vocabulary that is known here has a domain or is named as saying none; a label that is in
neither list is no label. Chinese labels are sentences of topics, and are known by the words in them.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping

from astra_mcp.domains import Domain

__all__ = ["domain_of", "is_known_label"]

_WORDS = re.compile(r"[^\W_]+")

_LABELS: Mapping[Domain, tuple[str, ...]] = {
    Domain.REAL_ESTATE: ("housing", "housing services", "property", "real estate transactions"),
    Domain.E_COMMERCE: (
        "commerce", "cross border retail", "ecommerce", "retail", "shopping", "social commerce",
        "social e commerce",
    ),
    Domain.HEALTHCARE: ("health", "health and fitness", "medical", "medicine", "wellness"),
    Domain.TRAVEL: (
        "hospitality marketplace", "hotels", "online travel agency ota", "tourism", "travel and maps",
        "travel booking", "travelapi", "vacation rentals",
    ),
    Domain.FINANCE: (
        "bank", "banking", "digital payments", "financial", "financial services", "fintech", "payment",
        "payments", "stocks", "tradingbot",
    ),
    Domain.WEATHER: ("climate",),
    Domain.EDUCATION: ("education technology", "school"),
    Domain.LOGISTICS: (
        "delivery", "local delivery", "on demand delivery", "shipping", "supply chain",
        "supply chain logistics",
    ),
    Domain.TRANSPORTATION: ("railway", "ride hailing", "transport"),
    Domain.FOOD_AND_DINING: (
        "food", "food and drink", "food delivery", "recipes", "restaurant", "restaurants",
    ),
    Domain.ENTERTAINMENT: (
        "events", "movie", "movies", "short form video", "video", "video images", "video streaming",
    ),
    Domain.SPORTS: ("basketball", "football"),
    Domain.LEGAL: ("law",),
    Domain.GOVERNMENT: ("public sector",),
    Domain.HUMAN_RESOURCES: ("hr", "jobs", "recruiting"),
    Domain.CUSTOMER_SUPPORT: ("crm", "customer service", "ticketapi"),
    Domain.MARKETING: (
        "advertising", "digital advertising", "online advertising", "reward", "sales",
    ),
    Domain.SOCIAL_MEDIA: ("postingapi", "social", "social networking", "twitterapi"),
    Domain.COMMUNICATION: ("communication tools", "email", "messageapi", "messaging", "sms"),
    Domain.PRODUCTIVITY: (
        "business software", "calendar", "daily productivity", "enterprise software", "time and calendar",
    ),
    Domain.DEVELOPER_TOOLS: (
        "coding", "development tools", "devops", "monitoring", "programming", "software development",
    ),
    Domain.DATABASES: ("database", "database operations"),
    Domain.DATA_ANALYSIS: (
        "analytics", "data analysis and processing", "data science", "text analysis",
    ),
    Domain.WEB_SEARCH: ("search", "search engine", "web search and research"),
    Domain.NEWS_AND_MEDIA: ("media", "news", "news media"),
    Domain.CONTENT_CREATION: (
        "content recommendation", "design", "digital content", "original content production",
    ),
    Domain.ARTIFICIAL_INTELLIGENCE: (
        "ai", "ai ml tools", "artificial intelligence machine learning", "machine learning",
        "memory management", "translation", "visual recognition",
    ),
    Domain.CLOUD_SERVICES: ("cloud", "cloud computing"),
    Domain.OPERATING_SYSTEMS: ("operating system",),
    Domain.FILE_MANAGEMENT: ("files", "gorillafilesystem", "storage"),
    Domain.SECURITY: ("cryptography", "cybersecurity", "security and authentication"),
    Domain.BROWSER_AUTOMATION: ("web scraping",),
    Domain.CRYPTOCURRENCY: ("blockchain", "crypto", "cryptocurrency and blockchain"),
    Domain.GAMING: ("games", "metaverse", "online gaming"),
    Domain.MUSIC_AND_AUDIO: ("audio", "music", "music streaming"),
    Domain.AUTOMOTIVE: ("autonomous driving", "cars", "vehiclecontrolapi"),
    Domain.ENERGY: ("utilities",),
    Domain.SCIENCE: ("math", "mathapi", "mathematics", "research"),
    Domain.MAPS_AND_GEOLOCATION: ("geolocation", "location", "mapping", "maps"),
}  # fmt: skip
"""By words without case and marks, where ``&`` is ``and``; the name of a domain is a label of it too."""

_UNLABELLED = frozenset(
    {
        "api integration", "business", "consumer electronics", "customized", "data", "devices",
        "digital services ecosystem", "iot", "lifestyle", "lifestyle trends", "local life services",
        "miscellaneous", "other", "others", "tools", "uncategorized", "unknown",
    }
)  # fmt: skip
"""Labels that say nothing of what a server is about."""

_CHINESE: tuple[tuple[str, Domain | None], ...] = (
    ("保险", Domain.INSURANCE),
    ("区块链|数字货币|加密货币", Domain.CRYPTOCURRENCY),
    ("供应链金融|支付|金融|银行|证券|财务|投顾|风控", Domain.FINANCE),
    ("教育|培训|学习|考试|知识付费|课程|测评|在线实验室|学校", Domain.EDUCATION),
    ("问诊|医|药|病历|健康|疫苗|临床|护理", Domain.HEALTHCARE),
    ("电网|电厂|能源|燃气|水务|照明", Domain.ENERGY),
    ("环保|科研|科学", Domain.SCIENCE),
    ("天气|气象", Domain.WEATHER),
    ("公证|法律|律师", Domain.LEGAL),
    ("政务|社保|税务|户籍|出入境|违章|不动产登记|社区治理", Domain.GOVERNMENT),
    ("房屋|房产|装修|物业|社区服务", Domain.REAL_ESTATE),
    ("网约车|共享单车|共享经济|交通|铁路|地铁", Domain.TRANSPORTATION),
    ("汽车", Domain.AUTOMOTIVE),
    ("旅游|旅行|酒店|民宿|景区|导游|签证|目的地|在线预订|机票", Domain.TRAVEL),
    ("搬家|物流|快递|供应链", Domain.LOGISTICS),
    ("外卖|餐饮|美食", Domain.FOOD_AND_DINING),
    ("电子商务|电商|零售|团购|购物", Domain.E_COMMERCE),
    ("搜索引擎", Domain.WEB_SEARCH),
    ("客户服务|客服", Domain.CUSTOMER_SUPPORT),
    ("人力资源|招聘", Domain.HUMAN_RESOURCES),
    ("营销|广告", Domain.MARKETING),
    ("社交", Domain.SOCIAL_MEDIA),
    ("内容创作|内容审核|网络文学|出版", Domain.CONTENT_CREATION),
    ("在线媒体|新闻", Domain.NEWS_AND_MEDIA),
    ("音乐|视频|影视|娱乐", Domain.ENTERTAINMENT),
    ("游戏|AR/VR|虚拟现实", Domain.GAMING),
    ("体育", Domain.SPORTS),
    ("网络安全|信息安全", Domain.SECURITY),
    ("协同办公|SaaS", Domain.PRODUCTIVITY),
    ("数据管理|大数据|生产数据", Domain.DATA_ANALYSIS),
    ("云服务|云计算|边缘计算", Domain.CLOUD_SERVICES),
    ("人工智能|机器学习", Domain.ARTIFICIAL_INTELLIGENCE),
    ("软件开发|运维", Domain.DEVELOPER_TOOLS),
    ("家政|美容|宠物|维修|管道|API服务|物联网|渗透|工厂|维护|质检", None),
)
"""Words in labels, the most telling first; None where no domain of the vocabulary fits."""

_DOMAINS: Mapping[str, Domain] = {
    label: domain for domain, labels in _LABELS.items() for label in labels
} | {domain.value.replace("_", " "): domain for domain in Domain}


def domain_of(labels: Iterable[str]) -> Domain | None:
    """The domain of a document by its labels.

    Args:
        labels: The most telling first; the first that has a domain decides.

    Returns:
        None where none of them says one: the document is unlabelled, not of some other domain.
    """
    for label in labels:
        domain = _DOMAINS.get(_plain(label)) or _chinese(label)[1]
        if domain is not None:
            return domain
    return None


def is_known_label(label: str) -> bool:
    """Say whether a label has a domain, or is known to say none."""
    plain = _plain(label)
    return plain in _DOMAINS or plain in _UNLABELLED or _chinese(label)[0]


def _plain(label: str) -> str:
    text = unicodedata.normalize("NFKC", label).casefold().replace("&", " and ")
    return " ".join(_WORDS.findall(text))


def _chinese(label: str) -> tuple[bool, Domain | None]:
    """Whether a Chinese label is known, and its domain; what stands in brackets are examples."""
    topic = unicodedata.normalize("NFKC", label).partition("(")[0].replace(" ", "")
    for words, domain in _CHINESE:
        if re.search(words, topic):
            return True, domain
    return False, None
