"""The first page, and the environments: a list to choose from, and one of them."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from astra_mcp.compose.verdicts import Judged, JudgedBundle
from astra_mcp.environments.acceptance.verdict import Check, FailedCheck, Spent, Verdict
from astra_mcp.environments.bundle import SubTask
from astra_mcp.environments.judging.judgement import Question
from astra_mcp.environments.loading import load_bundle
from astra_mcp.serving.pages.graph import draw
from astra_mcp.testing import InMemoryCatalog
from registry.bundles.digest import BundleDigest
from servers.bundled import bundled_folder

from shown_gateway import BUNDLED, SCRIPT, ShownGateway, make_catalog, open_shown_gateway, words_of


def names_in(page: str) -> list[str]:
    """The environments that a list shows."""
    return re.findall(r'<a href="/environments/([^"/?]+)">', page)


async def test_the_first_page_says_what_runs_and_how_each_client_is_connected(
    shown: ShownGateway,
) -> None:
    page = await shown.page("/")
    assert "Gateway at http://127.0.0.1:8420" in page
    entry = re.search(r'<pre id="config-cursor"[^>]*>(.*?)</pre>', page, re.S)
    assert entry is not None
    config = json.loads(words_of(entry[1]))
    url = config["mcpServers"]["astra-mcp"]["url"]
    assert re.fullmatch(r"http://127\.0\.0\.1:8420/mcp\?caller=[\w-]{16}", url)
    assert "astra-mcp connect claude-desktop --write" in page
    assert 'data-copy="config-goose"' in page


async def test_a_list_takes_filters_that_hold_at_once(shown: ShownGateway) -> None:
    assert names_in(await shown.page("/environments")) == ["awful", "harbour", BUNDLED]
    assert names_in(await shown.page("/environments?q=HARB")) == ["harbour"]
    assert names_in(await shown.page("/environments?language=zh")) == []
    assert names_in(await shown.page("/environments?verified=yes&domain=other&q=aw")) == ["awful"]
    assert names_in(await shown.page("/environments?verified=no")) == []
    for wrong in ("hops=two", "verified=perhaps"):
        assert 'role="alert"' in await shown.page(f"/environments?{wrong}")
    assert names_in(await shown.page("/environments?page=7&domain=")) != []
    hostile = await shown.page("/environments?domain=%22%3E%3Cscript%3E&q=%22%3E%3Cscript%3E")
    assert "<script>" not in hostile


async def test_what_a_judge_said_of_an_environment_is_shown_and_chosen_by(
    shown: ShownGateway,
) -> None:
    before = await shown.page("/environments")
    assert "judged" not in before
    assert "No model has judged it" in await shown.page(f"/environments/{BUNDLED}")
    said = JudgedBundle(
        content_hash=make_catalog().environment(BUNDLED).content_hash,
        judged=Judged.UNSOUND,
        against=(Question.SAME_SUBJECT,),
        at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    (shown.home / "judgements.jsonl").write_text(said.model_dump_json())
    for path in ("/environments", "/environments?judged=unsound"):
        page = await shown.page(path)
        assert BUNDLED in names_in(page)
        assert page.count("judged unsound") == 1
    assert names_in(await shown.page("/environments?judged=no")) == ["awful", "harbour"]
    assert names_in(await shown.page("/environments?judged=sound")) == []
    assert "judged is sound, unsound" in await shown.page("/environments?judged=perhaps")
    one = await shown.page(f"/environments/{BUNDLED}")
    assert "judged unsound" in one
    assert "<code>same_subject</code>" in one


async def test_the_list_says_how_many_questions_each_has(
    tmp_path: Path, migrated: Path, many: tuple[BundleDigest, ...]
) -> None:
    outlines = (replace(many[0], num_questions=7),)
    catalog = ManyCatalog(outlines)
    async with open_shown_gateway(catalog, tmp_path / "home", migrated) as shown:
        assert 'data-name="questions">7<' in await shown.page("/environments")


@pytest.fixture(scope="module")
def many() -> tuple[BundleDigest, ...]:
    """The outlines of ten thousand environments."""
    one = BundleDigest.of(load_bundle(bundled_folder() / BUNDLED))
    domains = ("travel", "finance", "weather")
    return tuple(
        replace(one, name=f"made-{n:05}", title=f"Number {n}", domain=domains[n % 3], hops=n % 7)
        for n in range(10_000)
    )


class ManyCatalog(InMemoryCatalog):
    """Says that it publishes them."""

    def __init__(self, many: Sequence[BundleDigest]) -> None:
        super().__init__()
        self._many = many

    def summaries(self) -> Any:
        return self._many


async def test_ten_thousand_are_shown_a_page_at_a_time_in_little_time(
    tmp_path: Path, migrated: Path, many: tuple[BundleDigest, ...]
) -> None:
    async with open_shown_gateway(ManyCatalog(many), tmp_path / "home", migrated) as shown:
        first = await shown.page("/environments")
        assert names_in(first) == [f"made-{n:05}" for n in range(50)]
        assert "1 to 50 of 10,000" in first
        assert len(first) < 100_000
        spent: list[float] = []
        for path in (
            "/environments?page=200",
            "/environments?hops=3&domain=travel&verified=yes&q=9",
        ):
            began = time.process_time()
            page = await shown.page(path)
            spent.append(time.process_time() - began)
            assert "Before" in page or "that fit, of 10,000" in page
        assert names_in(await shown.page("/environments?page=200"))[-1] == "made-09999"
        assert min(spent) < 0.05


async def test_an_environment_shows_its_graph_its_tools_and_its_gold_behind_a_click(
    shown: ShownGateway,
) -> None:
    page = await shown.page(f"/environments/{BUNDLED}")
    bundle = load_bundle(bundled_folder() / BUNDLED)
    drawn = re.findall(r'<g class="node[^"]*"><title>([^<]*)</title>', page)
    assert len(drawn) == len(bundle.document.sub_tasks)
    assert page.count("marker-end") == sum(len(s.dependencies) for s in bundle.document.sub_tasks)
    assert "Say how heavy a ship is." in page
    open_parts = re.sub(r"<details>.*?</details>", "", page, flags=re.S)
    for sub in bundle.document.sub_tasks:
        assert sub.answer in words_of(page)
        assert sub.answer not in words_of(open_parts)
    assert "astra-mcp environments verify" in page


async def test_what_the_acceptance_said_is_shown(tmp_path: Path, migrated: Path) -> None:
    bundle = load_bundle(bundled_folder() / BUNDLED)
    failed = FailedCheck.of(Check.LEAKED_ANSWER, f"the answer stands in {SCRIPT}")
    verdict = Verdict.of(BUNDLED, [failed], Spent(12, 900, 0.1, 9.0))
    async with open_shown_gateway(
        make_catalog(),
        tmp_path / "home",
        migrated,
        bundles={BUNDLED: bundle},
        verdict_of=lambda asked: verdict if asked is bundle else None,
    ) as shown:
        page = await shown.page(f"/environments/{BUNDLED}")
    assert "1 failed" in page
    assert "leaked_answer" in page
    assert SCRIPT in words_of(page)
    assert SCRIPT not in page


async def test_what_others_wrote_is_text_and_steers_nothing(shown: ShownGateway) -> None:
    page = await shown.page("/environments/awful")
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<b>" not in page
    assert "javascript:alert(1)" in page  # as text
    assert 'href="javascript' not in page
    assert "\\x1b[31mred\\u202egnp\\u2066" in page
    assert not set(page) & {"\x1b", "\u202e", "\u2066"}
    assert "北京市" in page


async def test_an_unknown_name_is_answered_with_the_closest(shown: ShownGateway) -> None:
    assert "harbour" in await shown.page("/environments/harbor", code=404)


def test_a_graph_has_a_column_for_each_hop_level_and_no_two_nodes_in_one_place() -> None:
    def sub(id_: int, *needs: int) -> SubTask:
        return SubTask(id=id_, answer="a", dependencies=needs, tool="t" * 40)

    drawing = draw([sub(1), sub(2), sub(3, 1), sub(4, 1, 2), sub(5, 3, 1)])
    assert drawing is not None
    places = {node.key: (node.x, node.y) for node in drawing.nodes}
    assert len(set(places.values())) == 5
    assert places[1][0] == places[2][0] < places[3][0] == places[4][0] < places[5][0]
    assert all(x + drawing.node_width <= drawing.width for x, _ in places.values())
    assert all(y + drawing.node_height <= drawing.height for _, y in places.values())
    assert len(drawing.arrows) == 5
    assert all(len(node.label) < 25 for node in drawing.nodes)
    assert draw([sub(1, 2), sub(2, 1)]) is None
