"""What the labels of sources mean in the one domain vocabulary."""

import json

import pytest

from astra_mcp.domains import Domain
from registry.documents.labels import domain_of, is_known_label
from registry.documents.sources import ServerDocument
from registry.importers import toucan

from real_documents import TOUCAN, real_data

RAPIDAPI = (
    "Advertising", "Artificial Intelligence/Machine Learning", "Business", "Business Software", "Commerce",
    "Communication", "Cryptography", "Customized", "Cybersecurity", "Data", "Database", "Devices",
    "eCommerce", "Education", "Email", "Energy", "Entertainment", "Events", "Finance", "Financial", "Food",
    "Gaming", "Health and Fitness", "Jobs", "Location", "Logistics", "Machine Learning", "Mapping", "Media",
    "Medical", "Monitoring", "Movies", "Music", "News", "News, Media", "Other", "Payments", "Reward", "SMS",
    "Science", "Search", "Social", "Sports", "Storage", "Text Analysis", "Tools", "Translation",
    "Transportation", "Travel", "Video, Images", "Visual Recognition", "Weather", "Cloud",
)  # fmt: skip
FUNCTION_CLASSES = (
    "GorillaFileSystem", "MathAPI", "MessageAPI", "TwitterAPI", "PostingAPI", "TicketAPI", "TradingBot",
    "TravelAPI", "VehicleControlAPI",
)  # fmt: skip


def test_the_labels_of_known_vocabularies_are_known_and_no_others() -> None:
    labels = [*RAPIDAPI, *FUNCTION_CLASSES, "What nobody wrote"]
    assert [label for label in labels if not is_known_label(label)] == ["What nobody wrote"]


@pytest.mark.parametrize("domain", Domain)
def test_a_domain_is_a_label_of_itself(domain: Domain) -> None:
    assert domain_of([domain.value]) is domain
    assert domain_of([domain.value.replace("_", " ").title()]) is domain


@pytest.mark.parametrize(
    ("labels", "domain"),
    [
        (["Travel & Maps"], Domain.TRAVEL),
        (["AI/ML Tools"], Domain.ARTIFICIAL_INTELLIGENCE),
        (["E-Commerce"], Domain.E_COMMERCE),
        (["News, Media"], Domain.NEWS_AND_MEDIA),
        (["API Integration", "Weather"], Domain.WEATHER),
        (["Others", "API Integration"], None),
        (["What nobody wrote"], None),
        (["在线旅游平台（OTA、行程规划）"], Domain.TRAVEL),  # noqa: RUF001
        (["天气"], Domain.WEATHER),
        ([], None),
    ],
)
def test_the_first_label_that_has_a_domain_decides(
    labels: list[str], domain: Domain | None
) -> None:
    assert domain_of(labels) is domain


def test_every_label_of_the_real_documents_is_known() -> None:
    labels = {
        label
        for document in toucan.read(real_data(TOUCAN))
        if isinstance(document, ServerDocument)
        for label in document.labels
    }

    assert len(labels) == 28
    assert [label for label in sorted(labels) if not is_known_label(label)] == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_domain_name_of_the_published_lists_is_known(language: str) -> None:
    lines = real_data(f"astra-domains.{language}.jsonl").read_text(encoding="utf-8").splitlines()
    names = [json.loads(line)["domain"] for line in lines]

    assert [name for name in names if not is_known_label(name)] == []
    assert sum(domain_of([name]) is not None for name in names) / len(names) > 0.85


def test_every_domain_of_the_published_contexts_is_known() -> None:
    names = "medicine movie school railway bank weather restaurant travel ecommerce basketball"
    assert [name for name in names.split() if domain_of([name]) is None] == []
