"""A brand's addresses, feeds and the web, through the real gateway, on sites of a test's own."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import date
from uuid import uuid4

import pytest
from starlette.responses import Response

from chassis.testing import eventually
from messaging import Dependency, RetryLater, Unprocessable, WaitFor
from reading.pool import ReaderPool
from reading.ranking.sources import Findings, ResearchResult
from research.clients.provider import ResearchQuery
from research.sources.domain import SourceSettings, WebSearchSettings
from research.web.web_search import SourcesProvider
from tests.fixtures.gateways import gateway_before
from tests.fixtures.sites import Request, answer, redirect
from tests.fixtures.web_research import BRAVE_KEY, SEARCHED, TEXTS, World, behind, page


@pytest.mark.extended
async def test_what_searches_find_is_read_and_becomes_sources_with_all_they_say(world: World) -> None:
    head = (
        '<meta name="author" content="Ada Lovelace"><meta name="date" content="2024-05-01">'
        '<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">'
        '<link rel="canonical" href="http://one.example/a-guide">'
    )
    world.write("http://one.example/a?utm_source=x", page(TEXTS["a"], head=head))
    world.write(
        "http://www.two.example/b", page(TEXTS["b"]).replace(b"turns bitter", b"turns \x93bitter\x94")
    )
    world.site.pages["/b"] = answer(
        page(TEXTS["b"]).replace(b"bitter", b"\x93bitter\x94"), media_type="text/html; charset=ISO-8859-1"
    )
    world.write("http://three.example/c")
    found = await world.look()
    assert isinstance(found, ResearchResult)
    first, second, third = sorted(found.sources, key=lambda each: str(each.url))
    assert (first.url, first.title, first.path) == ("http://one.example/a-guide", "Cold brew", None)
    assert (first.author, first.published_on) == ("Ada Lovelace", date(2024, 5, 1))
    assert first.licence == "https://creativecommons.org/licenses/by/4.0/"
    assert first.passages[0].text == TEXTS["a"]
    # Of a page that does not say when it was written, the search may know.
    assert (second.url, second.published_on, second.licence) == (
        "http://three.example/c",
        date(2026, 3, 4),
        None,
    )
    assert third.url == "http://www.two.example/b"
    assert "“bitter”" in third.passages[0].text
    assert [request.query_params["q"] for request in world.brave.requests] == [
        "cold brew",
        "what is cold brew",
    ]


async def test_pages_and_the_folder_are_ranked_together_and_only_files_have_the_folders_licence(
    world: World,
) -> None:
    (world.folder / "d.md").write_text(f"# Cold brew\n\n{TEXTS['d']}\n")
    (world.folder / "same.md").write_text(f"# Cold brew\n\n{TEXTS['a']}\n")
    (world.folder / "LICENSE").write_text("MIT License\n")
    await world.corpus.refresh()
    world.write("http://one.example/a")
    world.write("http://two.example/b")
    found = await world.look(SourceSettings(web=WebSearchSettings(queries=1)))
    assert isinstance(found, ResearchResult)
    # The file and the page that say the same in the same words are one.
    assert len(found.sources) == 3
    assert {each.licence for each in found.sources if each.path} == {"MIT License"}
    assert {each.licence for each in found.sources if not each.path} == {None}
    # Without the folder there is too little.
    assert "The web search has too little" in await world.refusal()


async def test_hosts_are_blocked_preferred_and_varied(world: World) -> None:
    world.write("http://bad.example/a")
    world.write("http://cdn.bad.example/b")
    world.write("http://turn.example/away")
    world.site.pages["/away"] = redirect("http://bad.example/a")
    for path in "abcde":
        world.write(f"http://one.example/{path}")
    blocking = SEARCHED.model_copy(update={"blocked_hosts": ("bad.example",)})
    detail = await world.refusal(blocking)
    assert "only 2 documents treat it" in detail  # more would be one site's article
    assert "On blocked hosts: 4." in detail  # two leads in each of two searches
    assert "turn.example (it leads to a blocked host)" in detail
    assert all(request.host == "turn.example" for request in world.site.asked if request.path == "/away")
    preferring = blocking.model_copy(update={"preferred_hosts": ("one.example",)})
    assert sorted(map(str, await world.addresses(preferring))) == [
        f"http://one.example/{path}" for path in "abcde"
    ]


async def test_only_pages_of_ones_own_and_free_ones_may_be_printed_by_the_paragraph(world: World) -> None:
    free = '<link rel="license" href="https://creativecommons.org/licenses/by/4.0/">'
    world.write("http://free.example/a", page(TEXTS["a"], head=free))
    world.write("http://www.own.example/b")
    world.write("http://other.example/c")
    found = await world.look(SEARCHED.model_copy(update={"own_hosts": ("own.example",)}))
    assert isinstance(found, ResearchResult)
    assert {each.url: each.quotable for each in found.sources} == {
        "http://free.example/a": True,
        "http://www.own.example/b": True,
        "http://other.example/c": False,
    }


async def test_one_page_of_ones_own_is_enough_if_it_is_about_the_keyword(world: World) -> None:
    steps = "".join(
        f"<p>Step {n} of it takes cold water, coarse coffee and a good hour.</p>" for n in range(15)
    )
    content = f"<title>Recipes</title><h1>Recipes</h1><h2 id=cold>Cold brew</h2>{steps}"
    world.write("http://www.own.example/a", content.encode())
    assert "“Cold brew” (http://www.own.example/a#cold) may only be quoted in short" in await world.refusal()
    found = await world.look(SEARCHED.model_copy(update={"own_hosts": ("own.example",)}))
    assert isinstance(found, ResearchResult)
    assert [(each.url, each.titles_above, each.about) for each in found.sources] == [
        ("http://www.own.example/a#cold", ("Recipes",), 1.0),
        # A short section brings its page.
        ("http://www.own.example/a", (), 0.8),
    ]


async def test_of_one_text_at_several_addresses_one_is_a_source(world: World) -> None:
    world.write("http://one.example/a")
    world.write("http://one.example/a?utm_campaign=x#top")
    world.write("http://copy.example/aa", page(f"{TEXTS['a']} Read on."))
    world.write("http://two.example/b")
    assert "only 2 documents treat it" in await world.refusal()
    assert world.paths_read.count("/a") == 1


@pytest.mark.extended
async def test_what_asks_not_to_be_used_is_not_and_a_refusal_says_what_was_tried(world: World) -> None:
    world.write("http://one.example/a", x_robots_tag="otherbot: all, brandengine: noindex")
    world.write("http://two.example/b", page(TEXTS["b"], head='<meta name="robots" content="follow, NOAI">'))
    world.write("http://three.example/c", x_robots_tag="otherbot: noindex, nofollow")
    world.write("http://four.example/gone", b"")
    world.site.pages["/gone"] = answer(status="404 Not Found")
    world.write("http://five.example/picture", b"GIF89a", media_type="image/gif")
    world.write("http://six.example/empty", b"<html><body></body></html>")
    assert world.brave.found is not None
    world.brave.found += [
        "http://seven.example:8080/",
        "http://me:secret@eight.example/",
        "http://ni\x01ne.example/",
    ]
    detail = await world.refusal()
    assert detail.startswith("The web search has too little about “cold brew”: only 1 document treats it")
    assert "Searched the web for “cold brew”, “what is cold brew”. Pages read: 1." in detail
    for reason in (
        "one.example (it asks robots not to use it (noindex))",
        "two.example (it asks robots not to use it (noai))",
        "four.example (four.example answered 404: there is no page to read)",
        "five.example (",
        "six.example (",
    ):
        assert reason in detail
    assert "secret" not in detail
    assert "nine" not in detail


async def test_addresses_and_feeds_of_a_brand_need_no_search(world: World) -> None:
    world.write("http://one.example/a")
    world.write("http://two.example/b")
    world.write("http://three.example/c")
    world.write(
        "http://three.example/tea", page("Tea is made of leaves that are steeped in hot water.", title="Tea")
    )
    feed = """<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom"><title>Three</title>
        <entry><title>Keeping cold brews</title><link rel="self" href="/self"/><link href="/c"/>
        <updated>2026-01-02T03:04:05Z</updated></entry>
        <entry><title>Tea for two</title><link href="/tea"/></entry>
        <entry><title>Cold brew, elsewhere</title><link href="javascript:alert(1)"/></entry></feed>"""
    world.write("http://three.example/feed", feed.encode(), media_type="application/atom+xml")
    sources = SourceSettings(
        folder=False,
        urls=("http://one.example/a", "http://two.example/b"),
        feeds=("http://three.example/feed",),
    )
    found = await world.look(sources)
    assert isinstance(found, ResearchResult)
    dated = {each.url: each.published_on for each in found.sources}
    assert dated == {
        "http://one.example/a": None,
        "http://two.example/b": None,
        "http://three.example/c": date(2026, 1, 2),
    }
    assert world.brave.requests == []
    assert not {"/tea", "/self"} & set(world.paths_read)


@pytest.mark.extended
@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "application/feed+json"])
async def test_a_json_feed_is_read_by_whatever_name_it_is_sent(world: World, media_type: str) -> None:
    urls = tuple(world.write(f"http://{path}.example/{path}") for path in "ab")
    world.write("http://three.example/c")
    feed = (
        b'{"version": "https://jsonfeed.org/version/1.1", "title": "Three", "items": [{"id": "1", "url": "/c",'
        b' "content_text": "How long a cold brew keeps", "date_published": "2026-01-02T03:04:05Z"}]}'
    )
    world.write("http://three.example/feed", feed, media_type=media_type)
    sources = SourceSettings(folder=False, urls=urls, feeds=("http://three.example/feed",))
    found = await world.look(sources)
    assert isinstance(found, ResearchResult), found
    assert {each.url: each.published_on for each in found.sources} == {
        "http://a.example/a": None,
        "http://b.example/b": None,
        "http://three.example/c": date(2026, 1, 2),
    }


@pytest.mark.extended
async def test_the_same_command_pays_once_and_another_brand_for_itself(world: World) -> None:
    for path, host in zip("abc", ("one", "two", "three"), strict=True):
        world.write(f"http://{host}.example/{path}")
    command = uuid4()
    first = await world.addresses(command=command)
    assert await world.addresses(command=command) == first
    assert len(world.brave.requests) == 2
    assert len(world.paths_read) == 3
    (spent,) = (await world.api.get("/v1/spend", params={"brand": "acme"})).json()["scopes"]
    assert (spent["day"]["spent"], spent["day"]["reserved"]) == (2 * 5000, 0)


@pytest.mark.extended
async def test_a_site_that_fails_now_is_waited_for_as_long_as_there_is_patience(world: World) -> None:
    for path, host in zip("abc", ("one", "two", "three"), strict=True):
        world.write(f"http://{host}.example/{path}")
    world.site.pages["/c"] = answer(status="503 Service Unavailable", retry_after="120")
    with pytest.raises(RetryLater, match=r"three\.example answered 503") as raised:
        await world.look(patient=True)
    assert not isinstance(raised.value, WaitFor)
    assert raised.value.after is not None
    assert 100 < raised.value.after.total_seconds() <= 120
    assert "only 2 documents treat it" in await world.refusal()
    # What is enough without it does not wait.
    world.write("http://four.example/d")
    more = SEARCHED.model_copy(update={"urls": ("http://four.example/d",)})
    assert len(await world.addresses(more, patient=True)) == 3


@pytest.mark.extended
async def test_a_site_that_never_answers_costs_its_own_page_alone(world: World) -> None:
    for path in "abcd":
        world.write(f"http://{path}.example/{path}")
    gone = asyncio.Event()

    async def never(_: Request, __: asyncio.StreamWriter) -> None:
        await gone.wait()

    world.site.pages["/d"] = never
    async with behind(str(world.api.base_url), world.corpus, ReaderPool(), timeout_seconds=20) as research:
        found = await research.search(ResearchQuery("cold brew", "acme", SEARCHED, command=uuid4()))
    gone.set()
    assert isinstance(found, ResearchResult)
    assert len(found.sources) == 3


@pytest.mark.extended
async def test_money_is_waited_for_and_costs_no_attempt(world: World) -> None:
    world.write("http://one.example/a")
    await world.api.put("/v1/spend/caps/acme", json={"day": 0.006, "month": 1})
    with pytest.raises(WaitFor, match=r"budget.exhausted") as raised:
        await world.look()
    assert raised.value.after is not None
    assert 0 < raised.value.after.total_seconds() <= 3600
    assert len(world.brave.requests) == 1
    await world.api.post("/v1/spend/stop", json={"scope": "acme", "why": "holidays"})
    with pytest.raises(WaitFor, match=r"spending.stopped"):
        await world.look()
    # Nobody else has to wait, and what costs nothing goes on.
    assert "Pages read: 1." in await world.refusal(
        SourceSettings(folder=False, urls=("http://one.example/a",))
    )


async def test_a_search_that_was_paid_for_in_vain_is_a_failed_attempt(world: World) -> None:
    world.brave.next_answers = [Response("cut off", headers={"Content-Length": "100"})]
    with pytest.raises(RetryLater, match=r"provider.no_answer") as raised:
        await world.look()
    assert not isinstance(raised.value, WaitFor)


async def test_what_somebody_has_to_see_to_is_said_at_once(world: World) -> None:
    world.brave.keys.clear()
    with pytest.raises(Unprocessable, match=r"provider.key_refused: .*; then replay"):
        await world.look()
    assert (await world.api.delete("/v1/providers/brave")).status_code == 204
    with pytest.raises(Unprocessable, match=r"provider.not_connected: .*; then replay"):
        await world.look()


async def test_a_gateway_that_is_away_is_waited_for_and_none_at_all_is_said(
    world: World, free_port: Callable[[], int]
) -> None:
    async with behind(f"http://127.0.0.1:{free_port()}", world.corpus, ReaderPool()) as research:
        for _ in range(2):
            with pytest.raises(WaitFor, match="gateway does not answer"):
                await research.search(ResearchQuery("cold brew", "acme", SEARCHED, command=uuid4()))
    without = SourcesProvider(world.corpus, Dependency("local_corpus", outages=()), None)
    with pytest.raises(Unprocessable, match="GATEWAY_URL"):
        await without.search(ResearchQuery("cold brew", "acme", SEARCHED, command=uuid4()))


@pytest.mark.extended
async def test_a_gateway_that_comes_back_is_found_by_whoever_asks_for_pages_alone(
    world: World,
    free_port: Callable[[], int],
    make_database: Callable[[str], Awaitable[str]],
) -> None:
    urls = tuple(world.write(f"http://{path}.example/{path}") for path in "abcde")
    wanted = ResearchQuery("cold brew", "acme", SourceSettings(folder=False, urls=urls), command=uuid4())
    port = free_port()
    async with behind(f"http://127.0.0.1:{port}", world.corpus, ReaderPool()) as research:
        with pytest.raises(WaitFor):
            await research.search(wanted)
        async with gateway_before(world.names, await make_database("gateway"), http_port=port):

            async def found() -> Findings | None:
                try:
                    return await research.search(wanted)
                except WaitFor:
                    return None

            assert isinstance(await eventually(found), ResearchResult)


@pytest.mark.extended
async def test_where_no_page_may_be_read_no_search_is_paid_for(
    world: World, make_database: Callable[[str], Awaitable[str]]
) -> None:
    brave = (await world.api.get("/v1/providers")).json()["items"][0]
    async with gateway_before(world.names, await make_database("gateway"), robot_about=None) as api:
        body = {"kind": "brave", "settings": brave["settings"], "key": BRAVE_KEY}
        assert (await api.put("/v1/providers/brave", json=body)).status_code == 204
        async with behind(str(api.base_url), world.corpus, ReaderPool()) as research:
            with pytest.raises(Unprocessable, match="ROBOT_ABOUT"):
                await research.search(ResearchQuery("cold brew", "acme", SEARCHED, command=uuid4()))
    assert world.brave.requests == []


async def test_a_keyword_without_a_word_to_look_for_costs_nothing(world: World) -> None:
    world.write("http://one.example/a")
    assert "no searchable words" in await world.refusal(keyword="the of and")
    assert world.brave.requests == []


@pytest.mark.extended
async def test_a_page_that_takes_its_reader_along_is_left_out(world: World) -> None:
    for path, host in zip("abc", ("one", "two", "three"), strict=True):
        world.write(f"http://{host}.example/{path}")
    world.write("http://four.example/bomb", b"<b></b>" * 600_000)
    assert len(await world.addresses()) == 3
    assert "160 MB of memory" in await world.refusal(keyword="nothing of the kind")
