"""The one domain vocabulary: 41 labels that every source of tools maps its own labels to.

The paper counts 41 domains (ASTRA sec. 2.1.1) without naming them all; these cover the domains it names
and the labels of the public registries. A tool without a label is never a same-band distractor.
"""

from enum import StrEnum

__all__ = ["Domain"]


class Domain(StrEnum):
    """What an environment or a server is about."""

    REAL_ESTATE = "real_estate"
    E_COMMERCE = "e_commerce"
    HEALTHCARE = "healthcare"
    TRAVEL = "travel"
    FINANCE = "finance"
    WEATHER = "weather"
    EDUCATION = "education"
    LOGISTICS = "logistics"
    TRANSPORTATION = "transportation"
    FOOD_AND_DINING = "food_and_dining"
    ENTERTAINMENT = "entertainment"
    SPORTS = "sports"
    INSURANCE = "insurance"
    LEGAL = "legal"
    GOVERNMENT = "government"
    HUMAN_RESOURCES = "human_resources"
    CUSTOMER_SUPPORT = "customer_support"
    MARKETING = "marketing"
    SOCIAL_MEDIA = "social_media"
    COMMUNICATION = "communication"
    PRODUCTIVITY = "productivity"
    PROJECT_MANAGEMENT = "project_management"
    DEVELOPER_TOOLS = "developer_tools"
    DATABASES = "databases"
    DATA_ANALYSIS = "data_analysis"
    WEB_SEARCH = "web_search"
    NEWS_AND_MEDIA = "news_and_media"
    CONTENT_CREATION = "content_creation"
    ARTIFICIAL_INTELLIGENCE = "artificial_intelligence"
    CLOUD_SERVICES = "cloud_services"
    OPERATING_SYSTEMS = "operating_systems"
    FILE_MANAGEMENT = "file_management"
    SECURITY = "security"
    BROWSER_AUTOMATION = "browser_automation"
    CRYPTOCURRENCY = "cryptocurrency"
    GAMING = "gaming"
    MUSIC_AND_AUDIO = "music_and_audio"
    AUTOMOTIVE = "automotive"
    ENERGY = "energy"
    SCIENCE = "science"
    MAPS_AND_GEOLOCATION = "maps_and_geolocation"
