"""The tables of subjects can be reached by their words, and say what they promise to say."""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest

from astra_mcp.values.nouns import singular
from astra_mcp.values.patterns import matching_text
from astra_mcp.values.random_stream import RandomStream
from astra_mcp.values.subjects.finding import find_subject, telling_words

DICE = RandomStream.of_seed(1)


def sections() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The language, the name and the content of each section."""
    for file in files("astra_mcp.values").joinpath("words", "subjects").iterdir():
        language = "zh" if file.name == "zh.toml" else "en"
        for name, section in tomllib.loads(file.read_text("utf-8")).items():
            yield language, name, section


SECTIONS = sorted(sections(), key=lambda each: each[:2])
NAMES = [f"{language}-{name}" for language, name, _ in SECTIONS]
OF_MANY_TRADES = frozenset(("property", "connection"))
"""Nouns that name a thing only where others speak of it, too."""


def test_no_subject_is_told_of_twice() -> None:
    names = [(language, name) for language, name, _ in SECTIONS]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(("language", "name", "section"), SECTIONS, ids=NAMES)
def test_each_noun_leads_to_a_subject(language: str, name: str, section: dict[str, Any]) -> None:
    for noun in {*section.get("nouns", "").split()} - OF_MANY_TRADES:
        assert singular(noun) == noun, f"{name}: nobody looks for {noun}"
        around = telling_words(section.get("words", "").split(), language)
        found = find_subject(noun, language=language, around=around)
        assert found is not None, f"{name}: {noun}"
        assert found.is_thing, f"{name}: {noun}"


@pytest.mark.parametrize(("language", "name", "section"), SECTIONS, ids=NAMES)
def test_what_has_a_form_is_drawn_in_it(language: str, name: str, section: dict[str, Any]) -> None:
    forms = [*section.get("formats", {}).values(), *([section["id"]] if "id" in section else [])]
    for form in forms:
        assert re.fullmatch(form, matching_text(form, DICE)), f"{language} {name}: {form}"


@pytest.mark.parametrize(("language", "name", "section"), SECTIONS, ids=NAMES)
def test_a_known_thing_is_told_of_in_a_sentence(
    language: str, name: str, section: dict[str, Any]
) -> None:
    columns = {each.strip().rstrip("~") for each in section.get("columns", "").split("|")}
    sentences = [{*re.findall(r"\{(\w+)\}", each)} for each in section.get("about", ())]
    if section.get("rows") and sentences:
        assert any(members <= columns for members in sentences), f"{language} {name}"


@pytest.mark.parametrize(
    ("noun", "around", "subject"),
    [
        ("dns_record", (), "dns_record"),
        ("pull_request", (), "pull_request"),
        ("channel", ("slack", "workspace"), "chat_channel"),
        ("channel", ("youtube", "videos", "video"), "video"),
        ("image", ("docker", "container", "podman"), "docker_image"),
        ("image", ("photo", "unsplash"), "picture"),
        ("verse", ("bible", "scripture"), "bible"),
        ("verse", ("quran", "surah"), "surah"),
        ("package", ("npm", "pypi"), "package"),
        ("package", ("dhl", "parcel", "shipping", "courier"), "shipment"),
        ("doc", ("notion", "wiki", "obsidian"), "note"),
        ("doc", ("documentation", "readthedocs"), "doc_page"),
    ],
)
def test_the_words_around_a_noun_decide_what_it_is(
    noun: str, around: tuple[str, ...], subject: str
) -> None:
    found = find_subject(noun, around=frozenset(around), near=frozenset(around))
    assert found is not None
    assert found.subject.name == subject
