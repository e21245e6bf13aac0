"""Sources: what files and people say becomes prompts, without anybody's address."""

import gzip
import json
import re
from pathlib import Path

import pytest

from astra_mcp.errors import ConfigError
from astra_mcp.pipeline import Item, Made, Rejected
from astra_mcp.synthesis.environments.questions.decomposition import Decomposition
from astra_mcp.synthesis.environments.questions.instance import Instance
from astra_mcp.synthesis.environments.questions.source import Source, make_source, read_sources
from astra_mcp.synthesis.environments.questions.topology import Wanted

from real_documents import real_data
from scripted_synthesis import ScriptedAsks, draft

CONTEXTS = "astra-context.dev.jsonl.gz"
ADDRESS = re.compile(r"[\w.+-]+[@\uff20][\w-]+\.[\w.-]*\w")


async def decomposed(
    source: Source, model: ScriptedAsks, samples: int = 1, hops: tuple[int, int] = (1, 8)
) -> Made[Instance] | Rejected:
    """Let a model decompose a source."""
    stage = Decomposition(model, "m 1", "m", Wanted(hops=hops), samples)
    return await stage.run(Item(id=source.id, value=source))


@pytest.mark.parametrize(
    ("name", "content", "domains"),
    [
        ("a.jsonl", '{"domain": "weather", "knowledge_corpus": "Rain."}\n\n', ["weather"]),
        ("a.jsonl", '{"question": "Which?", "domain": "shops"}', ["shops"]),
        ("a.json", '[{"domain": "a"}, {"domain": "b"}, {"domain": "a"}]', ["a", "b"]),
    ],
)
def test_each_content_of_a_file_is_one_source(
    tmp_path: Path, name: str, content: str, domains: list[str]
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert [s.domain for s in read_sources(tmp_path / name)] == domains
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    assert [s.domain for s in read_sources(tmp_path / f"{name}.gz")] == domains


def test_a_leaf_of_a_taxonomy_tells_its_path_and_what_it_says_and_no_facts(tmp_path: Path) -> None:
    leaf = {"description": "Look up rain", "examples": [{"query": "Rain in Ghent?"}]}
    path = tmp_path / "taxonomy.json"
    path.write_text(json.dumps({"weather": {"rain": leaf, "wind": {"description": ""}}}))
    rain, wind = read_sources(path)
    assert rain.domain.splitlines()[0] == "weather > rain"
    assert "Look up rain" in rain.domain
    assert "Rain in Ghent?" in rain.domain
    assert (rain.corpus, wind.domain) == ("", "weather > wind")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.jsonl", '{"domain": "a"}\n{"domain"', "line 2 is no JSON"),
        ("a.jsonl", '{"domain": "a"}\n[1]', "line 2 is no object"),
        ("a.jsonl", '{"domain": "a"}\n{"corpus": "b"}', "line 2: a source needs"),
        ("a.jsonl", '{"domain": 5}', "line 1: domain is no text"),
        ("a.json", '{"weather": 5}', "weather is no object"),
        ("a.jsonl.gz", "plain", "cannot read"),
        ("a.json", "[1]", "a.json, item 1 is no object"),
        ("a.jsonl", '{"domain": "\\ud800"}', "line 1: its text holds half"),
        ("a.jsonl", "\n", "holds no source"),
    ],
)
def test_a_file_that_holds_something_else_is_refused_with_the_place(
    tmp_path: Path, name: str, content: str, words: str
) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=words):
        read_sources(tmp_path / name)


def test_the_same_content_in_another_language_is_another_source() -> None:
    own, same, other = (make_source(domain="trains", language=each) for each in (None, "en", "zh"))
    assert own == same
    assert (own.id == other.id, other.language) == (False, "zh")


@pytest.mark.parametrize(
    "address",
    [
        "zoë.o+x@mail.firm.co.uk",
        "jan\uff20firm.cn",
        "a@example.attacker.de",
        "a@example.com.evil.de",
        "A_B-1@X-Y.org",
        '"zoë lee"@firm.de',
        "o'neil/x@firm.de",
        "jan\ufe6bfirm\u3002cn",
    ],
)
def test_addresses_of_people_become_one_that_nobody_has(address: str) -> None:
    source = make_source(domain=f"of {address}", corpus=f"<{address}>.", question=f"{address}?")
    told = (source.domain, source.corpus, source.question)
    assert told == ("of someone@example.com", "<someone@example.com>.", "someone@example.com?")
    assert make_source(corpus="ann@example.org").corpus == "ann@example.org"


def test_a_text_without_spaces_and_addresses_is_read_in_no_time() -> None:
    make_source(corpus="a" * 100_000)  # takes minutes where each letter may begin an address


def test_the_language_is_that_of_the_text_unless_it_is_said() -> None:
    told = (
        "\u5317\u4eac\u660e\u5929\u7684\u5929\u6c14 in Beijing",
        "Weather in \u5317\u4eac tomorrow",
    )
    assert [make_source(corpus=text).language for text in told] == ["zh", "en"]
    assert make_source(corpus=told[1], language="zh").language == "zh"
    with pytest.raises(ConfigError, match="language"):
        make_source(corpus="Rain", language="fr")


@pytest.mark.claim("P32")
async def test_the_model_is_told_the_source_the_hops_and_the_question_if_there_is_one() -> None:
    model = ScriptedAsks(decompose={"instances": [draft().model_dump()]})
    given = make_source(domain="trains", corpus="EC 87 leaves at 9.", question="When?")
    await decomposed(given, model, hops=(2, 5))
    await decomposed(make_source(domain="\u5929\u6c14\u9884\u62a5"), model, hops=(1, 3))
    first, second = (user for _, user, _ in model.asked)
    assert "from 2 to 5" in first
    assert "<text>\nEC 87 leaves at 9.\n</text>" in first
    assert "<question>\nWhen?\n</question>" in first
    assert "from 1 to 3" in second
    assert "Chinese" in second
    assert "<question>" not in second
    assert "<text>" not in second


async def test_no_more_instances_are_taken_than_asked_for_and_none_is_a_rejection() -> None:
    many = ScriptedAsks(decompose={"instances": [draft().model_dump()] * 4})
    source = make_source(domain="trains", corpus="EC 87")
    made = await decomposed(source, many, 3)
    assert isinstance(made, Made)
    assert [item.id for item in made.outputs] == [f"{source.id}/{n}" for n in (1, 2, 3)]
    assert {(i.value.corpus, i.value.writer) for i in made.outputs} == {("EC 87", "m")}
    none = await decomposed(source, ScriptedAsks(decompose={"instances": []}))
    assert none == Rejected("nothing_written", "the model wrote no instance of this source")


async def test_all_real_contexts_become_prompts_and_no_address_stands_in_any() -> None:
    sources = read_sources(real_data(CONTEXTS))
    model = ScriptedAsks(decompose={"instances": []})
    for source in sources:
        await decomposed(source, model)
    told = [user for _, user, _ in model.asked]
    assert len(told) == len(sources) == 2853
    assert all(source.domain in text for source, text in zip(sources, told, strict=True))
    strangers = {a for text in told for a in ADDRESS.findall(text)}
    assert all(re.search(r"[@.]example\.(com|org|net)$", address) for address in strangers)
