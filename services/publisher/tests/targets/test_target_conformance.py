"""Rules for every target: written once, changed in place, gone and back.

For accounts: one article even after losses, and a person's change is kept.
"""

import asyncio
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import httpx
import pytest
from lxml import html as lxml_html
from starlette.responses import JSONResponse

from chassis.testing import eventually
from fakes.found import PLACES
from fakes.serving.fake import Fake
from fakes.serving.faults import Kind
from fakes.sites.receiver import FakeReceiver
from fakes.sites.wordpress import FakeWordPress
from integrations.sites import SITES
from messaging import Database, WaitFor
from publisher.http_api import create_app
from publisher.targets import publications
from publisher.targets.accounts import ACCOUNTS as TARGETS
from publisher.targets.settings import TargetSettings
from publisher.urls import SiteUrls

ATOM = "{http://www.w3.org/2005/Atom}"
LATER = {"updated_at": "2026-02-01T10:00:00Z"}
ADDRESS = {"updated_at": "2026-02-01T10:00:00Z", "title": "Colder brew at home"}


@dataclass
class Pages:
    """The built-in site, as its readers have it."""

    database: Database
    url = "https://example.org/news/sites/daily-grind/"

    async def shown(self) -> list[tuple[str, str]]:
        app = create_app(self.database, SiteUrls.under("https://example.org/news"), articles_per_page=9)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=self.url) as reader:
            feed = await reader.get("https://example.org/sites/daily-grind/feed.xml")
        entries = ET.fromstring(feed.text).iter(f"{ATOM}entry")
        return [(each.findtext(f"{ATOM}title", ""), each.findtext(f"{ATOM}content", "")) for each in entries]

    async def writings(self) -> object:
        async with self.database.connection() as connection:
            return await connection.fetch("select slug, updated_at, changed_at from pages, sites")

    async def made(self) -> int:
        async with self.database.connection() as connection:
            count: int = await connection.fetchval("select count(*) from pages")
            return count


@dataclass
class Folder:
    """What a site is built from."""

    path: Path
    url = "https://example.org/posts/"

    def texts(self) -> list[Path]:
        return sorted(self.path.rglob("*.md"))

    async def shown(self) -> list[tuple[str, str]]:
        texts = [each.read_text() for each in self.texts()]
        return [(re.findall('^title: "(.*)"$', text, re.MULTILINE)[0], text) for text in texts]

    async def writings(self) -> object:
        return [(each, each.stat().st_mtime_ns) for each in self.path.rglob("*")]

    async def made(self) -> int:
        return len(self.texts())


async def shown(there: Any) -> list[tuple[str, str]]:
    """What readers see there now: title and text."""
    match there:
        case Pages() | Folder():
            return await there.shown()
        case _:
            found: list[tuple[str, str]] = there.shown()
            return found


async def writings(there: Any) -> object:
    """Differs once something was written there, be it the same again."""
    return await there.writings() if isinstance(there, Pages | Folder) else len(there.requests)


async def made(there: Any) -> int:
    """How many were ever made there."""
    return await there.made() if isinstance(there, Pages | Folder) else len(there.accepted)


@pytest.fixture
async def there(kind: str, targets: Any, connect: Any, database: Database, tmp_path: Path) -> Any:
    if kind == "site":
        return Pages(database)
    if kind == "files":
        async with database.connection() as connection:
            settings = TargetSettings(address=f"{Folder.url}{{slug}}/")
            await publications.set_settings(connection, "daily-grind", kind, settings)
        return Folder(tmp_path)
    return await connect(FAKES[kind](), kind)


FAKES: Mapping[str, Callable[[], Fake]] = {
    place.account_kind: type(place.fake()) for place in PLACES if place.takes_articles
}
ACCOUNTS = tuple(FAKES)
EVERY = ("site", "files", *ACCOUNTS)
EDITED = tuple(kind for kind, fake in FAKES.items() if hasattr(fake, "edit"))
"""Those at which a person can change an article."""


def test_every_kind_of_site_is_played() -> None:
    assert {*ACCOUNTS, "files"} == {*TARGETS, "files"} == set(SITES)
    assert {"wordpress", "ghost", "devto"} <= set(EDITED)


@pytest.mark.extended
@pytest.mark.parametrize("kind", EVERY)
async def test_an_article_is_written_once_and_then_changed_in_place(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    first = await targets.publish(content_id, kind)
    assert first["type"] == "content.published", first
    assert first["published_url"].startswith(there.url)
    assert (first["target"], first["as_of"]) == (kind, "2026-01-01T10:00:00Z")
    assert first["short_link"].startswith("https://example.org/news/s/")
    before = await writings(there)
    assert await targets.publish(content_id, kind) == first
    assert await writings(there) == before

    targets.change(content_id, **ADDRESS)
    second = await targets.publish(content_id, kind)
    assert (second["published_url"], second["as_of"]) == (first["published_url"], ADDRESS["updated_at"])
    ((title, text),) = await shown(there)
    assert (title, "Twelve hours" in text) == ("Colder brew at home", True)
    # Back to the text before that: an edition that was written already is written again.
    targets.change(content_id, title="Cold brew at home", updated_at="2026-03-01T10:00:00Z")
    await targets.publish(content_id, kind)
    assert [title for title, _ in await shown(there)] == ["Cold brew at home"]
    assert await made(there) == 1


@pytest.mark.extended
@pytest.mark.parametrize("kind", EVERY)
async def test_an_article_that_was_taken_down_or_deleted_goes_and_comes_back(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    home = None if kind == "site" else "https://acme.example/cold-brew"
    first = await targets.publish(content_id, kind, canonical_url=home)
    targets.change(content_id, **LATER, taken_down_at="2026-02-01T10:00:00Z", held_for=["wrong"])
    for _ in range(2):
        assert await targets.publish(content_id, kind) == {}
        assert await shown(there) == []
    targets.change(content_id, taken_down_at=None, held_for=[], updated_at="2026-03-01T10:00:00Z")
    again = await targets.publish(content_id, kind)
    assert (again["type"], again["published_url"]) == ("content.published", first["published_url"])
    assert len(await shown(there)) == 1
    targets.orchestrator.answer = lambda _: JSONResponse({"detail": "it was deleted"}, 410)
    if kind == "site":
        # By a command of its own, as its addresses are to answer that it is gone.
        await targets.delete(content_id)
    else:
        assert await targets.publish(content_id, kind) == {}
    assert await shown(there) == []


class LostError(Exception):
    pass


@pytest.mark.extended
@pytest.mark.parametrize("kind", EVERY)
async def test_a_process_that_ends_before_it_has_noted_what_it_did_leaves_one_article(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    command = targets.command(content_id, kind)
    for _ in range(2):
        with pytest.raises(LostError):
            await targets.once(command, loses=LostError())
    (answer,) = await targets.once(command)
    assert answer["type"] == "content.published"
    assert len(await shown(there)) == await made(there) == 1


@pytest.mark.extended
@pytest.mark.parametrize("kind", EVERY)
async def test_what_was_never_there_is_not_made_to_be_taken_down(targets: Any, there: Any, kind: str) -> None:
    content_id = targets.orchestrator.add(taken_down_at="2026-02-01T10:00:00Z", held_for=["wrong"])
    answer = await targets.publish(content_id, kind)
    assert (answer["type"], answer["reason"]) == ("content.publish_failed", "taken_down")
    assert await made(there) == 0


@pytest.mark.extended
@pytest.mark.parametrize("kind", EDITED)
async def test_what_a_person_changed_there_is_overwritten_only_when_told(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    await targets.publish(content_id, kind)
    there.edit(title="Ann's title")
    targets.change(content_id, **ADDRESS)
    for _ in range(2):
        refused = await targets.publish(content_id, kind)
        assert (refused["type"], refused["reason"]) == ("content.publish_failed", "changed_elsewhere")
        assert [title for title, _ in await shown(there)] == ["Ann's title"]
    done = await targets.publish(content_id, kind, overwrite=True)
    assert done["type"] == "content.published"
    assert [title for title, _ in await shown(there)] == ["Colder brew at home"]
    targets.change(content_id, title="Coldest brew", updated_at="2026-04-01T10:00:00Z")
    assert (await targets.publish(content_id, kind))["type"] == "content.published"
    assert await made(there) == 1


@pytest.mark.extended
@pytest.mark.parametrize("kind", EDITED)
async def test_what_a_person_deleted_there_is_made_anew_only_when_told(
    targets: Any, there: Any, kind: str
) -> None:
    content_id = targets.orchestrator.add()
    await targets.publish(content_id, kind)
    (there.articles if kind == "devto" else there.posts).clear()
    targets.change(content_id, **ADDRESS)
    assert (await targets.publish(content_id, kind))["reason"] == "gone_elsewhere"
    assert (await targets.publish(content_id, kind, overwrite=True))["type"] == "content.published"
    assert [title for title, _ in await shown(there)] == ["Colder brew at home"]


FAULTS: tuple[Kind, ...] = ("reset_after", "error_before", "error_after")


@pytest.mark.extended
@pytest.mark.parametrize("kind", ACCOUNTS)
@pytest.mark.parametrize("fault", FAULTS)
async def test_whatever_goes_wrong_at_whichever_request_one_article_is_there(
    targets: Any, there: Any, kind: str, fault: Kind
) -> None:
    await targets.publish(targets.orchestrator.add(slug="first"), kind)
    requests = len(there.requests)
    for place in range(requests):
        title = f"Brew number {place}"
        content_id = targets.orchestrator.add(slug=f"brew-{place}", title=title)
        there.faults.inject(fault, skip=place)
        answer = await targets.publish(content_id, kind)
        assert answer["type"] == "content.published", (place, answer)
        there.faults.clear()
        assert [each for each, _ in await shown(there)].count(title) == 1, place
        assert [each.more["title"] for each in there.accepted].count(title) == 1, place
    assert targets.waits >= requests - 1
    if kind == "wordpress":
        assert {each["status"] for each in there.posts.values()} == {"publish"}


@pytest.mark.extended
@pytest.mark.parametrize("kind", ACCOUNTS)
async def test_who_is_asked_too_often_is_asked_again_when_it_says(
    targets: Any, there: Any, kind: str
) -> None:
    there.faults.inject("limited")
    content_id = targets.orchestrator.add()
    with pytest.raises(WaitFor) as waits:
        await targets.once(targets.command(content_id, kind))
    assert waits.value.after > timedelta(0)
    await targets.let_time_pass()
    assert (await targets.publish(content_id, kind))["type"] == "content.published"
    assert await made(there) == 1


@pytest.mark.parametrize("kind", EDITED)
async def test_an_account_that_is_known_no_more_is_to_be_connected_again(
    targets: Any, there: Any, kind: str
) -> None:
    there.faults.inject("expired", times=None)
    refused = await targets.publish(targets.orchestrator.add(), kind)
    assert (refused["type"], refused["reason"]) == ("content.publish_failed", "needs_reconnecting")
    assert "connect the account again" in refused["detail"]
    there.faults.clear()
    assert (await targets.publish(next(iter(targets.orchestrator.documents)), kind))[
        "type"
    ] == "content.published"


@pytest.mark.extended
@pytest.mark.parametrize("kind", ACCOUNTS)
async def test_two_states_of_an_article_do_not_overtake_each_other(
    targets: Any, there: Any, kind: str
) -> None:
    """The first command is gone in the midst of it; the second one waits for its time to be over."""
    content_id = targets.orchestrator.add()
    first = targets.command(content_id, kind)
    hangs = there.faults.inject("hang_before")
    begun = asyncio.create_task(targets.once(first))
    await eventually(lambda: hangs.fired)
    begun.cancel()
    with pytest.raises(asyncio.CancelledError):
        await begun
    targets.change(content_id, **ADDRESS)
    with pytest.raises(Exception, match="another command publishes it"):
        await targets.once(targets.command(content_id, kind))
    assert (await targets.publish(content_id, kind))["as_of"] == ADDRESS["updated_at"]
    await targets.let_time_pass()
    late = await targets.once(first)
    assert late[0]["payload"]["as_of"] == ADDRESS["updated_at"]
    assert [title for title, _ in await shown(there)] == ["Colder brew at home"]
    assert await made(there) == 1


async def test_a_post_at_wordpress_names_its_home_where_that_is_elsewhere(targets: Any, connect: Any) -> None:
    there = await connect(FakeWordPress(), "wordpress")
    home = "https://example.org/news/cold-brew?a=1&b=2"
    content_id = targets.orchestrator.add()
    await targets.publish(content_id, "wordpress", canonical_url=home)
    [post] = there.posts.values()
    tree = lxml_html.fragment_fromstring(post["content"], create_parent="div")
    assert tree.xpath("p[last()]")[0].text_content() == f"First published at {home}."
    assert tree.xpath("p[last()]//a/@href") == [home]
    # Moved to WordPress, it is at home there.
    targets.change(content_id, **LATER)
    await targets.publish(content_id, "wordpress")
    assert "First published" not in post["content"]


async def test_titles_and_excerpts_are_no_html_at_wordpress(targets: Any, connect: Any) -> None:
    there = await connect(FakeWordPress(), "wordpress")
    hostile = "Less <script>alert(1)</script> & more"
    content_id = targets.orchestrator.add(title=hostile, meta_description=hostile)
    await targets.publish(content_id, "wordpress")
    [post] = there.posts.values()
    shown = "Less &lt;script&gt;alert(1)&lt;/script&gt; &amp; more"
    assert (post["title"], post["excerpt"]) == (shown, shown)
    targets.change(content_id, title="Other", **LATER)
    assert (await targets.publish(content_id, "wordpress"))["type"] == "content.published"
    assert post["title"] == "Other"


@pytest.mark.parametrize("label", ["Extractive digest – no AI model configured", None])  # noqa: RUF001  (of before)
async def test_no_reader_hears_of_how_the_installation_is_configured(
    targets: Any, connect: Any, label: str | None
) -> None:
    there = await connect(FakeReceiver(), "webhook")
    content_id = targets.orchestrator.add(label=label)
    await targets.publish(content_id, "webhook")
    await targets.publish(content_id, "site")
    [(_, elsewhere)] = await shown(there)
    [(_, here)] = await shown(Pages(targets.database))
    for text in (elsewhere, here):
        assert "configured" not in text
        assert ("How this was made: a digest" in text) is (label is not None)
