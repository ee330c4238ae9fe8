"""From the command to the page and the event, on a real broker and database and over real HTTP."""

import asyncio
import json
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import httpx
import pytest
from lxml import etree, html

from envelope.brand.payloads import SocialCreate

NewCommand = Callable[..., SocialCreate]
ATOM = {"a": "http://www.w3.org/2005/Atom"}
HOSTILE = '"><script>alert(1)</script><img src=x onerror=alert(2)>\u202egnp.exe'


def page(response: httpx.Response) -> Any:
    assert response.status_code == httpx.codes.OK, response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    return html.fromstring(response.text)


def texts(document: Any, path: str) -> list[str]:
    return [" ".join("".join(element.itertext()).split()) for element in document.xpath(path)]


async def test_a_post_can_be_read_where_the_event_says(social: Any, new_command: NewCommand) -> None:
    address = await social.post(new_command())
    assert address.startswith(f"{social.url}/feeds/daily-grind/")
    document = page(await social.http.get(address))
    assert texts(document, "//h1") == ["Pour-over coffee: a sourced overview"]
    assert document.xpath("//a[text()='Read the article']/@href") == [new_command().published_url]
    assert texts(document, "//h3") == [
        "X", "Bluesky", "Mastodon", "LinkedIn", "Threads", "Discord", "Instagram", "Telegram",
    ]  # fmt: skip
    x = document.xpath("//section[@aria-labelledby='draft-x']//*[@class='copy']")[0].text_content()
    assert x.splitlines()[-3:] == [new_command().published_url, "", "#Coffee"]


async def test_how_a_post_reads_elsewhere_is_composed_when_somebody_looks(
    social: Any, social_database: Any, new_command: NewCommand
) -> None:
    command = new_command()
    address = await social.post(command)
    [row] = await social_database.fetch("select story::text, drafts::text from posts")
    assert (json.loads(row["story"])["keyword"], row["drafts"]) == (command.article_context.keyword, "[]")
    shown = texts(page(await social.http.get(address)), "//*[@class='copy']")
    assert len(shown) == 8

    # As the version before stored it.
    x = {"channel": "x", "text": "As it was.", "counts": [], "facets": [], "api_text": None}
    await social_database.execute("update posts set story = null, drafts = $1", json.dumps([x]))
    assert texts(page(await social.http.get(address)), "//*[@class='copy']") == ["As it was."]


async def test_repeating_a_command_changes_nothing_and_announces_the_same_address(
    social: Any, new_command: NewCommand
) -> None:
    content_id = uuid4()
    first = await social.post(new_command(content_id))
    again = await social.post(new_command(content_id, title="Another title"))
    assert first == again
    assert texts(page(await social.http.get(first)), "//h1") == ["Pour-over coffee: a sourced overview"]
    assert len(page(await social.http.get("/feeds/daily-grind")).xpath("//article")) == 1


async def test_a_command_in_the_name_of_another_brand_announces_nothing(
    social: Any, new_command: NewCommand
) -> None:
    content_id = uuid4()
    await social.post(new_command(content_id))
    await social.send(new_command(content_id, brand_slug="other-brand"))
    reason, detail = await social.dead_letter()
    assert reason == "permanent"
    assert "belongs to brand 'daily-grind'" in detail
    assert (await social.http.get("/feeds/other-brand")).status_code == httpx.codes.NOT_FOUND


async def test_many_commands_for_one_article_at_once_make_one_post(
    social: Any, new_command: NewCommand
) -> None:
    content_id = uuid4()
    await social.send(*(new_command(content_id) for _ in range(20)))
    assert len({event["post_url"] for event in await social.events(20)}) == 1
    assert len(page(await social.http.get("/feeds/daily-grind")).xpath("//article")) == 1


async def test_a_duplicate_delivery_is_announced_once(social: Any, new_command: NewCommand) -> None:
    event_id = uuid4()
    first, last = new_command(), new_command()
    await social.send(first, first, event_id=event_id)
    await social.send(last)
    announced = [event["content_id"] for event in await social.events(2)]
    assert sorted(announced) == sorted([str(first.content_id), str(last.content_id)])


async def test_each_channel_that_cannot_be_posted_to_is_reported_with_its_reason(
    social: Any, new_command: NewCommand
) -> None:
    await social.send(new_command(channels=("feed", "x", "myspace")))
    outcomes = {event["platform"]: event for event in await social.events(3)}
    assert outcomes["feed"]["type"] == "social.posted"
    assert (outcomes["x"]["type"], outcomes["x"]["reason"]) == ("social.failed", "channel_not_connected")
    assert "no X account is connected" in outcomes["x"]["detail"]
    assert (outcomes["myspace"]["type"], outcomes["myspace"]["reason"]) == (
        "social.failed",
        "unknown_channel",
    )
    assert "choose among: feed, x," in outcomes["myspace"]["detail"]


async def test_a_command_without_channels_is_a_dead_letter_and_harms_no_neighbour(
    social: Any, new_command: NewCommand
) -> None:
    good = new_command()
    await social.send(new_command(channels=()), good)
    [event] = await social.events(1)
    assert (event["type"], event["content_id"]) == ("social.posted", str(good.content_id))


async def test_hostile_text_stays_text_everywhere(social: Any, new_command: NewCommand) -> None:
    address = await social.post(
        new_command(
            title=HOSTILE,
            keyword=HOSTILE[:200],
            meta_description=HOSTILE,
            key_points=(HOSTILE, "]]>&amp;<b>"),
        )
    )
    for path in (address, "/feeds/daily-grind", "/"):
        response = await social.http.get(path)
        document = page(response)
        assert not document.xpath("//script | //img | //*[@onerror] | //@style | //style")
        assert "\u202e" not in response.text
        assert "script-src 'none'" in response.headers["content-security-policy"]
        assert response.headers["x-content-type-options"] == "nosniff"
    assert (
        '"><script>alert(1)</script>' in page(await social.http.get(address)).xpath("//h1")[0].text_content()
    )
    entry = etree.fromstring((await social.http.get("/feeds/daily-grind/feed.xml")).content).find(
        "a:entry", ATOM
    )
    assert entry is not None
    content = html.fromstring(entry.findtext("a:content", namespaces=ATOM) or "")
    assert not content.xpath("//script | //img")


async def test_the_atom_feed_names_every_post(social: Any, new_command: NewCommand) -> None:
    addresses = [await social.post(new_command()) for _ in range(3)]
    response = await social.http.get("/feeds/daily-grind/feed.xml")
    assert response.headers["content-type"] == "application/atom+xml; charset=utf-8"
    feed = etree.fromstring(response.content)
    assert [link.get("href") for link in feed.findall("a:entry/a:link[@rel='alternate']", ATOM)] == addresses[
        ::-1
    ]
    [identity, *_] = [entry.findtext("a:id", namespaces=ATOM) for entry in feed.findall("a:entry", ATOM)]
    assert identity == f"urn:uuid:{addresses[-1].rpartition('/')[2]}"


async def test_older_posts_follow_page_by_page(social: Any, new_command: NewCommand) -> None:
    for number in range(12):
        await social.post(new_command(title=f"Post {number}"))
    seen: list[str] = []
    path: str | None = "/feeds/daily-grind"
    while path is not None:
        document = page(await social.http.get(path))
        seen += texts(document, "//h2")
        path = next(iter(document.xpath("//a[@rel='next']/@href")), None)
    assert seen == [f"Post {number}" for number in reversed(range(12))]


async def test_the_front_page_lists_the_brands(social: Any, new_command: NewCommand) -> None:
    assert "Nothing is posted yet" in (await social.http.get("/")).text
    await social.post(new_command())
    await social.post(new_command(brand_slug="postgres-notes"))
    assert texts(page(await social.http.get("/")), "//h2") == ["Postgres Notes", "Daily Grind"]


async def test_what_is_not_there_is_said_politely(social: Any, new_command: NewCommand) -> None:
    address = await social.post(new_command())
    for path in (
        "/feeds/nobody",
        "/feeds/Bad%20Slug",
        "/feeds/daily-grind/no-uuid",
        f"/feeds/daily-grind/{uuid4()}",
        f"/feeds/other/{address.rpartition('/')[2]}",
        "/feeds/daily-grind?before=nonsense",
        f"/feeds/daily-grind?before={uuid4()}",
        "/assets/base.html.j2",
        "/feeds/%2f%2fevil.example/",
    ):
        response = await social.http.get(path)
        assert response.status_code == httpx.codes.NOT_FOUND, path
        assert "There is no page here" in response.text


async def test_an_unchanged_page_is_not_sent_again(social: Any, new_command: NewCommand) -> None:
    address = await social.post(new_command())
    first = await social.http.get(address)
    again = await social.http.get(address, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (httpx.codes.NOT_MODIFIED, b"")
    style = page(first).xpath("//link[@rel='stylesheet']/@href")[0]
    response = await social.http.get(style)
    assert response.headers["content-type"] == "text/css; charset=utf-8"
    assert "immutable" in response.headers["cache-control"]


@pytest.mark.extended
async def test_pages_are_read_while_posts_are_made(social: Any, new_command: NewCommand) -> None:
    await social.post(new_command())
    await social.send(*(new_command() for _ in range(30)))
    reads = [social.http.get("/feeds/daily-grind") for _ in range(10)]
    assert {response.status_code for response in await asyncio.gather(*reads)} == {httpx.codes.OK}
    assert len(await social.events(30)) == 30


async def test_the_feed_bears_the_brands_name_as_the_newest_command_gives_it(
    social: Any, new_command: NewCommand
) -> None:
    await social.post(new_command(brand_name="The Daily Grind"))
    assert texts(page(await social.http.get("/")), "//h2") == ["The Daily Grind"]
    await social.post(new_command(brand_name="Grind & Co."))
    assert texts(page(await social.http.get("/")), "//h2") == ["Grind & Co."]
