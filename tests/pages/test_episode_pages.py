"""What was recorded: the list and its index, and one episode."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from astra_mcp.compose.episodes import digest_of
from astra_mcp.serving.pages import episodes
from astra_mcp.testing import InMemoryCatalog, InMemoryServer, Question
from gateway.api.wire import EpisodeRequest
from registry.store.records import EpisodeDigest, EpisodeFilter, store_digests

from shown_gateway import ShownGateway, make_catalog, open_shown_gateway, words_of


async def played(
    shown: ShownGateway, name: str, tool: str, *, times: int = 1, **arguments: object
) -> str:
    """Run an episode to its end; its id."""
    source = {"kind": "environment", "name": name}
    request = EpisodeRequest.model_validate({"source": source, "labels": {"run": "<i>x</i>"}})
    episode = await shown.episodes.create(request)
    for _ in range(times):
        await episode.call(tool, arguments)  # pyright: ignore[reportArgumentType]
    await shown.episodes.close(episode.id)
    return episode.id


def ids_in(page: str) -> list[str]:
    """The episodes that a list shows."""
    return re.findall(r'<a href="/episodes/([0-9a-f]{32})">', page)


async def test_the_list_says_at_once_what_a_record_says(tmp_path: Path, migrated: Path) -> None:
    async with open_shown_gateway(make_catalog(), tmp_path / "home", migrated) as shown:
        assert "No episode was recorded yet" in await shown.page("/episodes")
        good = await played(shown, "harbour", "weigh", ship="Alma")
        bad = await played(shown, "awful", "curse", times=3, text="x")
        source = EpisodeRequest.model_validate(
            {"source": {"kind": "environment", "name": "harbour"}}
        )
        live = await shown.episodes.create(source)
        await live.call("weigh", {"ship": "Bo"})
        assert ids_in(await shown.page("/episodes")) == [live.id, bad, good]
        assert ids_in(await shown.page("/")) == [live.id, bad, good]
        found = await shown.index.page(EpisodeFilter(), limit=9)
        told = {each.id: each.digest for each in found.episodes}
        for id_ in (good, bad):
            assert told[id_] == digest_of(tmp_path / "home" / "records" / f"{id_}.jsonl")
        assert (told[live.id].status, told[live.id].calls) == ("open", 1)
        for query, wanted in {
            "source=harb": [live.id, good],
            "min_reward=0.9": [good],
            "min_reward=1": [good],
            "min_reward=1.001": [],
            "max_reward=0.1": [bad],
            "status=open": [live.id],
            "status=closed&source=awful": [bad],
        }.items():
            assert ids_in(await shown.page(f"/episodes?{query}")) == wanted, query
        for wrong in ("status=shut", "min_reward=much"):
            assert 'role="alert"' in await shown.page(f"/episodes?{wrong}")
        await shown.page("/episodes?after=nonsense&source=%27%22%3E")


async def test_the_list_names_who_played_and_leads_to_the_run(
    tmp_path: Path, migrated: Path
) -> None:
    home, run, none = tmp_path / "home", "r0123456789ab", "\u2013"
    labels: Sequence[Mapping[str, str]] = (
        {"agent": "<b>oracle</b>", "run": run},
        {"played": "by hand"},
        {"run": "tasks of today"},
        {},
    )
    for is_heard in (True, False):
        async with open_shown_gateway(make_catalog(), home, migrated) as shown:
            for given in labels if is_heard else ():
                source = {"kind": "environment", "name": "harbour"}
                request = EpisodeRequest.model_validate({"source": source, "labels": given})
                await shown.episodes.close((await shown.episodes.create(request)).id)
            page = await shown.page("/episodes")
        cells = re.findall(r'<td data-name="(?:played by|run)"[^>]*>(.*?)</td>', page, re.S)
        link = f'<a href="/runs/{run}"><code>{run}</code></a>'
        shown_player = "&lt;b&gt;oracle&lt;/b&gt;"
        expected = [none, none, none, "tasks of today", "by hand", none, shown_player, link]
        assert cells == expected
        (home / "registry.db").unlink()  # and all is read from the records


async def test_what_an_earlier_life_recorded_is_found(tmp_path: Path, migrated: Path) -> None:
    home = tmp_path / "home"
    async with open_shown_gateway(make_catalog(), home, migrated) as before:
        ended = await played(before, "harbour", "weigh", ship="Alma")
        source = {"kind": "environment", "name": "harbour"}
        open_one = await before.episodes.create(EpisodeRequest.model_validate({"source": source}))
        await open_one.call("weigh", {"ship": "Bo"})
    async with open_shown_gateway(make_catalog(), home, migrated) as shown:
        assert set(ids_in(await shown.page("/episodes"))) == {ended, open_one.id}
        await shown.episodes.close(open_one.id)
        page = await shown.index.page(EpisodeFilter(), limit=9)
        told = {each.id: each.digest for each in page.episodes}
        assert (told[open_one.id].status, told[open_one.id].calls) == ("closed", 1)


async def test_what_another_worker_records_is_seen_as_far_as_a_moment_goes(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    async with open_shown_gateway(make_catalog(), home, migrated) as before:
        source = {"kind": "environment", "name": "harbour"}
        one = await before.episodes.create(EpisodeRequest.model_validate({"source": source}))
        record = home / "records" / f"{one.id}.jsonl"
        await one.call("weigh", {"ship": "Bo"})
        early = record.read_bytes()
        await one.call("weigh", {"ship": "Bo"})
    late = record.read_bytes()
    record.write_bytes(early)
    async with open_shown_gateway(make_catalog(), home, migrated) as shown:

        async def calls() -> int:
            page = await shown.index.page(EpisodeFilter(), limit=9)
            return page.episodes[0].digest.calls

        assert await calls() == 1
        record.write_bytes(late)
        assert await calls() == 2
        monkeypatch.setattr("astra_mcp.serving.pages.episode_index._LOAD_SECONDS", -1.0)
        assert await calls() == 1


async def test_a_list_is_read_a_page_at_a_time_and_without_records_of_other_homes(
    tmp_path: Path, migrated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episodes, "_PAGE", 5)
    async with open_shown_gateway(make_catalog(), tmp_path / "home", migrated) as shown:
        made = [await played(shown, "harbour", "weigh", ship="Alma") for _ in range(8)]
        first = await shown.page("/episodes")
        assert ids_in(first) == made[:2:-1]
        following = re.search(r'rel="next" href="([^"]*)"', first)
        assert following is not None
        second = await shown.page(following[1].replace("&amp;", "&"))
        assert ids_in(second) == made[2::-1]
        assert 'rel="next"' not in second
        (tmp_path / "home" / "records" / f"{made[-1]}.jsonl").unlink()
        assert made[-1] not in ids_in(await shown.page("/episodes"))


async def test_one_episode_is_shown_call_by_call_and_its_record_is_handed_over(
    shown: ShownGateway,
) -> None:
    id_ = await played(shown, "harbour", "weigh", ship="Alma")
    page = await shown.page(f"/episodes/{id_}")
    assert "The Alma weighs 300 tons." in page
    assert "solves 1" in page
    assert re.search(r"\d+\.\d ms", page)
    assert "<i>x</i>" not in page
    assert (
        "<i>x</i>" in words_of(page.replace("&lt;", "<").replace("&gt;", ">"))
        or "&lt;i&gt;" in page
    )
    raw = await shown.browser.get(f"/episodes/{id_}/record")
    assert raw.content == (shown.home / "records" / f"{id_}.jsonl").read_bytes()
    assert raw.headers["Content-Disposition"].startswith("attachment")
    call = await shown.browser.get(f"/episodes/{id_}/calls/0")
    assert call.json()["arguments"] == {"ship": "Alma"}
    assert (await shown.browser.get(f"/episodes/{id_}/calls/1")).status_code == 404
    for wrong in ("..%2Fcontrol.key", id_[1:12], id_.upper(), f"{id_}.jsonl"):
        assert (await shown.browser.get(f"/episodes/{wrong}")).status_code == 404


async def test_a_damaged_record_is_told_in_one_line_of_the_log(
    shown: ShownGateway, caplog: pytest.LogCaptureFixture
) -> None:
    id_ = "d" * 32
    record = shown.home / "records" / f"{id_}.jsonl"
    record.write_bytes(b"null\n")
    for path in (f"/episodes/{id_}", f"/episodes/{id_}/trajectory", f"/episodes/{id_}/beside"):
        caplog.clear()
        assert "cannot be read" in await shown.page(path, code=422)
        assert not [each for each in caplog.records if each.exc_info]
    record.unlink()


async def test_a_huge_result_is_cut_and_leads_to_the_whole(shown: ShownGateway) -> None:
    limits = {"result_bytes": 16 << 20}
    request = EpisodeRequest.model_validate(
        {"source": {"kind": "environment", "name": "harbour"}, "limits": limits}
    )
    episode = await shown.episodes.create(request)
    await episode.call("flood", {"size": 10_000_000})
    page = await shown.page(f"/episodes/{episode.id}")
    assert len(page) < 30_000
    assert "characters more" in page
    whole = await shown.browser.get(f"/episodes/{episode.id}/calls/0")
    assert len(whole.content) > 10_000_000
    assert whole.headers["Content-Type"] == "application/json"
    await shown.episodes.close(episode.id)


async def test_many_calls_are_shown_a_page_at_a_time(shown: ShownGateway) -> None:
    source = {"kind": "environment", "name": "harbour"}
    limits = {"calls": 1000}
    request = EpisodeRequest.model_validate({"source": source, "limits": limits})
    episode = await shown.episodes.create(request)
    for _ in range(210):
        await episode.call("weigh", {"ship": "Bo"})
    first = await shown.page(f"/episodes/{episode.id}")
    assert first.count('<li class="call') == 200
    second = await shown.page(f"/episodes/{episode.id}?from=200")
    assert second.count('<li class="call') == 10
    assert 'id="call-209"' in second
    await shown.episodes.close(episode.id)


@pytest.mark.parametrize("at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "never"])
async def test_a_place_that_no_page_wrote_is_the_first_page(shown: ShownGateway, at: str) -> None:
    answer = await shown.browser.get("/episodes", params={"after": f"{at}~x"})
    assert answer.status_code == 200


async def test_a_source_that_is_markup_is_text_in_the_list(tmp_path: Path, migrated: Path) -> None:
    name = '"><script>alert(1)</script>\u202e'
    question = Question("?", "300 tons", gold=[("weigh", {})])

    def weigh() -> str:
        """Weigh."""
        return "300 tons"

    catalog = InMemoryCatalog(InMemoryServer(name, weigh), questions={name: question})
    async with open_shown_gateway(catalog, tmp_path / "home", migrated) as shown:
        id_ = await played(shown, name, "weigh")
        for path in ("/", "/episodes", f"/episodes/{id_}", "/environments"):
            page = await shown.page(path)
            assert "<script>alert" not in page, path
            assert "\u202e" not in page


def test_the_index_keeps_what_a_list_shows() -> None:
    assert set(EpisodeDigest.__dataclass_fields__) == {
        *("opened_at", "source", "endpoint", "status", "calls", "reward", "failure"),
        *("player", "run"),
    }


async def test_the_beginning_of_an_id_leads_to_the_one_episode_or_to_a_choice(
    tmp_path: Path, migrated: Path
) -> None:
    async with open_shown_gateway(make_catalog(), tmp_path / "home", migrated) as shown:
        source = {"kind": "environment", "name": "harbour"}
        live = await shown.episodes.create(EpisodeRequest.model_validate({"source": source}))
        for below in ("", "/trajectory", "/calls/0", "/beside?with=gold&from=100"):
            answer = await shown.browser.get(f"/episodes/{live.id[:12]}{below}")
            assert answer.status_code == 303
            assert answer.headers["location"] == f"/episodes/{live.id}{below}"
        for wrong in (live.id[:5], live.id[:12].upper() + "A", f"{live.id}0", "0" * 12):
            await shown.page(f"/episodes/{wrong}", code=404)
        answer = await shown.send(f"/episodes/{live.id[:12]}/replay")
        assert answer.status_code == 404, "a form is sent to the whole id"

        done = await played(shown, "harbour", "weigh", ship="Alma")
        records = tmp_path / "home" / "records"
        digest = digest_of(records / f"{done}.jsonl")
        last = int(done[-1], 16)
        alike, elsewhere = (f"{done[:-1]}{(last + n) % 16:x}" for n in (1, 2))
        (records / f"{alike}.jsonl").write_bytes((records / f"{done}.jsonl").read_bytes())
        sizes = dict.fromkeys((alike, elsewhere), 1)
        digests = dict.fromkeys(sizes, digest)
        await shown.database.write(partial(store_digests, digests=digests, sizes=sizes))
        page = await shown.page(f"/episodes/{done[:12]}/trajectory", code=404)
        shown_ids = re.findall(r'href="/episodes/([0-9a-f]{32})/trajectory"', page)
        assert shown_ids == sorted((done, alike)), "the third has no record here"
