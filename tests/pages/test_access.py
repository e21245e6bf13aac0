"""Who is let into the pages, and what their answers allow a browser."""

import re
from pathlib import Path

import httpx
import pytest

from astra_mcp.serving.pages.access import LINK_SECONDS, SESSION_SECONDS, LoginLinks, Sessions
from astra_mcp.testing.gateway import CONTROL_KEY
from gateway.edge.security import loggable_path
from gateway.edge.workers import OwnWorkerInfo

from shown_gateway import BASE, KEY, ShownGateway, form_token, make_catalog, open_shown_gateway

NOWHERE = Path("/nowhere")
WORKERS = ("http://127.0.0.1:8420", "http://127.0.0.1:8421")


def addresses(shown: ShownGateway) -> list[tuple[str, str]]:
    """Every method and address, with something in the place of names."""
    return [
        (method, re.sub(r"\{[^}]*\}", "0", route.path))
        for route in shown.app.routes
        for method in route.methods or ()
    ]


async def test_every_address_answers_401_without_a_session(shown: ShownGateway) -> None:
    for method, path in [*addresses(shown), ("GET", "/environments/x/y"), ("GET", "/login")]:
        answer = await shown.stranger.request(method, path)
        assert answer.status_code == 401, (method, path)
        assert "WWW-Authenticate" in answer.headers
        assert (method == "HEAD") or "astra-mcp open" in answer.text
        assert "harbour" not in answer.text
    forged = "9999999999.00000000000000000000000000000000.00"
    for cookie in (forged, Sessions("another key", NOWHERE).begin(), "", "..", "\xe9.1.2"):
        kept = [(b"Cookie", f"astra_mcp_8420={cookie}".encode("latin-1"))]
        assert (await shown.stranger.get("/environments", headers=kept)).status_code == 401
    assert len(addresses(shown)) > 15
    assert {method for method, _ in addresses(shown)} == {"GET", "HEAD", "POST"}
    wrong = await shown.browser.put("/environments")
    assert (wrong.status_code, wrong.headers["Allow"]) == (405, "GET, HEAD")


async def test_every_answer_forbids_frames_foreign_content_and_keeping(shown: ShownGateway) -> None:
    for client in (shown.stranger, shown.browser):
        for path in (
            *("/", "/environments", "/environments/none", "/servers/harbour", "/registry"),
            *("/episodes", "/login/wrong"),
        ):
            answer = await client.get(path)
            policy = dict(
                part.split(" ", 1) for part in answer.headers["Content-Security-Policy"].split("; ")
            )
            assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
            assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert answer.headers["Cache-Control"] == "no-store"
            is_inside = client is shown.browser and not path.startswith("/login")
            wanted = "same-origin" if is_inside else "no-referrer"
            assert answer.headers["Referrer-Policy"] == wanted, path
            assert " style=" not in answer.text
            assert not re.search(r"<script(?! defer src=\")|\son\w+=|<style", answer.text)


async def test_a_link_lets_in_once_and_leads_where_it_was_made_for(shown: ShownGateway) -> None:
    path = shown.app.mint_link("/environments?domain=other").path
    assert (await shown.stranger.head(path)).status_code == 405
    first = await shown.stranger.get(path)
    assert first.status_code == 200
    assert 'content="0; url=/environments?domain=other"' in first.text
    assert (await shown.stranger.get("/environments")).status_code == 200
    shown.stranger.cookies.clear()
    again = await shown.stranger.get(path)
    assert again.status_code == 401
    assert "used before" in again.text
    assert "set-cookie" not in again.headers


async def test_a_browser_lands_on_the_pages_and_a_program_is_told_what_it_was(
    shown: ShownGateway,
) -> None:
    assert (await shown.stranger.get("/")).status_code == 401
    program = await shown.stranger.get("/", headers={"Accept": "*/*"})
    assert program.status_code == 404
    assert program.json()["error"]["code"] == "http_error"


async def test_the_cookie_is_kept_from_scripts_other_sites_and_other_gateways(
    shown: ShownGateway, tmp_path: Path, migrated: Path
) -> None:
    answer = await shown.stranger.get(shown.app.mint_link("/").path)
    shown.stranger.cookies.clear()
    name, *attributes = re.split("; |=", answer.headers["set-cookie"].lower())
    assert name == "astra_mcp_8420"
    assert {"httponly", "samesite", "strict", "max-age", "path", "/"} <= set(attributes)
    assert "secure" not in attributes
    behind = OwnWorkerInfo(inner_urls=WORKERS[:1], public_url="https://tools.example/astra")
    async with open_shown_gateway(
        make_catalog(), tmp_path / "home", migrated, worker_info=behind
    ) as proxied:
        safe = await proxied.stranger.get(proxied.app.mint_link("/").path)
    assert safe.headers["set-cookie"].startswith("__Host-astra_mcp_8420=")
    assert "; Secure" in safe.headers["set-cookie"]
    assert 'url=/astra/"' in safe.text


def test_a_session_ends_with_its_time_and_with_the_key() -> None:
    at = 1000.0
    sessions = Sessions(CONTROL_KEY, NOWHERE, now=lambda: at)
    value = sessions.begin()
    found = sessions.find(value)
    assert found is not None
    assert found == Sessions(CONTROL_KEY, NOWHERE, now=lambda: at).find(value)  # any worker's
    assert Sessions("another control key", NOWHERE, now=lambda: at).find(value) is None
    until, id_, signature = value.split(".")
    assert sessions.find(f"{int(until) + 1}.{id_}.{signature}") is None
    at += SESSION_SECONDS
    assert sessions.find(value) is None


def test_a_session_that_was_ended_is_known_nowhere_and_forgotten_after_its_time(
    tmp_path: Path,
) -> None:
    at, place = 1000.0, tmp_path / "ended"
    sessions = Sessions(CONTROL_KEY, place, now=lambda: at)
    value, other = sessions.begin(), sessions.begin()
    ended = sessions.find(value)
    assert ended
    sessions.end(ended)
    another_worker = Sessions(CONTROL_KEY, place, now=lambda: at)
    assert another_worker.find(value) is None
    assert another_worker.find(other)
    at += SESSION_SECONDS
    (place / ".keep").touch()
    later = sessions.find(sessions.begin())
    assert later
    sessions.end(later)
    assert {path.suffix for path in place.iterdir()} == {"", f".{later.id}"}


def test_a_link_is_for_minutes_and_few_are_remembered() -> None:
    at = 0.0
    links = LoginLinks(now=lambda: at)
    old = links.mint("/")
    at = LINK_SECONDS
    assert links.redeem(old) is None
    first, *rest = (links.mint(f"/{n}") for n in range(65))
    assert links.redeem(first) is None
    assert links.redeem(rest[-1]) == "/64"


async def test_wrong_links_are_looked_at_at_a_bounded_rate(tmp_path: Path, migrated: Path) -> None:
    at = 0.0
    links = LoginLinks(now=lambda: at)
    async with open_shown_gateway(
        make_catalog(), tmp_path / "home", migrated, links=links
    ) as shown:
        early, late = (shown.app.mint_link("/").path for _ in range(2))
        codes = [(await shown.stranger.get(f"/login/{n}")).status_code for n in range(12)]
        assert codes == [401] * 10 + [429] * 2
        assert (await shown.stranger.get(early)).status_code == 200  # a right one is not kept out
        refused = await shown.stranger.get(early)
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        at += 1.0
        assert (await shown.stranger.get("/login/13")).status_code == 401
        assert (await shown.stranger.get(late)).status_code == 200


async def test_a_form_of_nobody_or_of_another_session_does_nothing(shown: ShownGateway) -> None:
    await shown.log_in(shown.stranger)
    other = form_token((await shown.stranger.get("/")).text)
    shown.stranger.cookies.clear()
    before = shown.episodes.count_open()
    path = "/environments/harbour/play"
    for sent in (
        b"",
        f"form_token={other}".encode(),
        b"form_token=",
        b"form_token=%ED%B0%80",
        b"\xff",
    ):
        answer = await shown.browser.post(path, content=sent)
        assert answer.status_code == 403
        assert answer.headers["Content-Security-Policy"]
    assert (await shown.browser.put(path)).status_code == 405
    assert shown.episodes.count_open() == before
    foreign = {"Origin": "http://localhost:3000"}
    token = form_token(await shown.page("/"))
    sent = await shown.browser.post(path, data={"form_token": token}, headers=foreign)
    assert sent.status_code == 403
    assert (await shown.send(path)).status_code == 303


async def test_who_logs_out_is_out(shown: ShownGateway) -> None:
    await shown.log_in(shown.stranger)
    token = form_token((await shown.stranger.get("/")).text)
    kept = dict(shown.stranger.cookies)
    answer = await shown.stranger.post("/logout", data={"form_token": token})
    assert answer.status_code == 303
    assert (await shown.stranger.get("/")).status_code == 401
    copy = "; ".join(f"{name}={value}" for name, value in kept.items())
    assert (await shown.stranger.get("/", headers={"Cookie": copy})).status_code == 401


async def test_the_address_of_an_episode_shows_an_agent_nothing(shown: ShownGateway) -> None:
    opened = await shown.send("/environments/harbour/play")
    path = opened.headers["location"].removesuffix("/play")
    for below in ("", "/play", "/record", "/calls", "/calls/0", "/x"):
        answer = await shown.stranger.get(path + below)
        assert answer.status_code == 401, below
        assert "300 tons" not in answer.text


async def test_the_control_plane_makes_links_for_who_has_its_key(shown: ShownGateway) -> None:
    refused = await shown.stranger.post("/v1/login-links", json={})
    assert refused.status_code == 401
    made = await shown.stranger.post("/v1/login-links", json={"page": "/episodes"}, headers=KEY)
    assert made.status_code == 201
    entered = await shown.stranger.get(made.json()["url"].removeprefix(BASE))
    shown.stranger.cookies.clear()
    assert 'url=/episodes"' in entered.text
    for path in ("//evil.example", "https://evil.example", "/\\evil", "/a b", "/a\nb", "episodes"):
        wrong = await shown.stranger.post("/v1/login-links", json={"page": path}, headers=KEY)
        assert wrong.status_code == 422, path


async def test_other_workers_send_logins_to_the_first_and_take_its_sessions(
    tmp_path: Path, migrated: Path
) -> None:
    second = OwnWorkerInfo(index=1, inner_urls=WORKERS)
    async with open_shown_gateway(
        make_catalog(), tmp_path / "home", migrated, worker_info=second
    ) as shown:
        sent_on = await shown.stranger.get(f"{WORKERS[1]}/login/abc")
        assert (sent_on.status_code, sent_on.headers["location"]) == (
            303,
            f"{WORKERS[0]}/login/abc",
        )
        odd = await shown.stranger.get(f"{WORKERS[1]}/login/%E6%BC%A2")
        assert odd.headers["location"] == f"{WORKERS[0]}/login/%E6%BC%A2"
        asked = await shown.stranger.post(f"{WORKERS[1]}/v1/login-links", json={}, headers=KEY)
        assert asked.headers["location"] == f"{WORKERS[0]}/v1/login-links"
        cookie = {"Cookie": f"astra_mcp_8420={Sessions(CONTROL_KEY, NOWHERE).begin()}"}
        page = await shown.stranger.get(f"{WORKERS[1]}/environments", headers=cookie)
        assert page.status_code == 200


async def test_a_session_is_enough_where_clients_need_an_api_key(
    tmp_path: Path, migrated: Path
) -> None:
    async with open_shown_gateway(
        make_catalog(), tmp_path / "home", migrated, api_keys=["a-long-api-key-of-a-test"]
    ) as shown:
        assert "YOUR-API-KEY" in await shown.page("/")
        assert "a-long-api-key" not in await shown.page("/")
        assert (await shown.stranger.get("/environments")).status_code == 401
        program = await shown.stranger.get("/", headers={"Accept": "*/*"})
        assert program.json()["error"]["code"] == "wrong_key"


async def test_assets_are_kept_for_a_year_and_packed_where_that_is_taken(
    shown: ShownGateway,
) -> None:
    page = await shown.page("/")
    found = re.findall(r'(?:src|href)="(/static/[^"]*)"', page)
    assert len(found) == 3
    for path in found:
        assert re.fullmatch(r"/static/\w+\.[0-9a-f]{12}\.\w+", path)
        packed = await shown.stranger.get(path, headers={"Accept-Encoding": "gzip"})
        plain = await shown.stranger.get(path, headers={"Accept-Encoding": "identity"})
        assert packed.headers["Content-Encoding"] == "gzip"
        assert packed.content == plain.content  # as the client unpacks it
        assert int(packed.headers["Content-Length"]) <= len(plain.content) + 20
        assert plain.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert (await shown.stranger.get("/static/pages.css")).status_code == 404
    assert (await shown.stranger.get("/static/../app.py")).status_code in (401, 404)


def test_no_log_shows_a_link() -> None:
    assert loggable_path("/login/0123456789abcdef") == "/login/…"
    assert loggable_path("/astra/login/short") == "/astra/login/…"


@pytest.mark.parametrize(
    "path",
    [
        "/nothing",
        "/environments/none",
        "/episodes/none",
        f"/episodes/{'0' * 32}",
        f"/servers/harbour/tools/{'9' * 5000}",
    ],
)
async def test_what_is_not_there_is_said_in_a_page(shown: ShownGateway, path: str) -> None:
    answer: httpx.Response = await shown.browser.get(path)
    assert answer.status_code == 404
