"""A real WordPress and a real Ghost: what holds of the fakes holds there, with every answer lost in its turn.

They are set up by deploy/local/servers, from Debian's and npm's packages: `make test ARGS="-m real services/publisher"`.
"""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from fakes.sites.ghost import FakeGhost, ghost_token
from fakes.sites.wordpress import FakeWordPress
from receipts import AccountSummary
from tests.fixtures.real_servers import real_server

pytestmark = pytest.mark.real

LATER = {"updated_at": "2026-02-01T10:00:00Z", "title": "Colder brew & more"}


@pytest.fixture(scope="module")
def wordpress() -> Iterator[dict[str, Any]]:
    yield from real_server("wordpress")


@pytest.fixture(scope="module")
def ghost() -> Iterator[dict[str, Any]]:
    yield from real_server("ghost")


class Site:
    """A real one, as its editors and its readers see it."""

    def __init__(self, kind: str, credentials: dict[str, Any], user: str = "editor") -> None:
        self.kind = kind
        if kind == "wordpress":
            known = credentials["users"][user]
            self.account: Any = FakeWordPress(known["user"], known["password"])
            self._http = httpx.Client(auth=(known["user"], known["password"]), trust_env=False, timeout=60)
        else:
            self.account = FakeGhost(credentials["key"])
            self._http = httpx.Client(
                headers={"Authorization": f"Ghost {ghost_token(credentials['key'])}"},
                trust_env=False,
                timeout=60,
            )
        self.account.url = self.url = credentials["url"]

    def close(self) -> None:
        self._http.close()

    def posts(self) -> list[dict[str, Any]]:
        """Of any state."""
        if self.kind == "wordpress":
            query = {"status": "any", "context": "edit", "per_page": "100"}
            found = self._http.get(f"{self.url}/wp-json/wp/v2/posts", params=query).json()
            return [{**each, "title": each["title"]["raw"]} for each in found]
        return self._http.get(f"{self.url}/ghost/api/admin/posts/", params={"limit": "100"}).json()["posts"]

    def called(self, title: str) -> list[dict[str, Any]]:
        return [each for each in self.posts() if each["title"].replace("&amp;", "&") == title]

    def edit(self, post: dict[str, Any], title: str) -> None:
        if self.kind == "wordpress":
            self._http.post(
                f"{self.url}/wp-json/wp/v2/posts/{post['id']}", json={"title": title}
            ).raise_for_status()
            return
        change = {"posts": [{"title": title, "updated_at": post["updated_at"]}]}
        self._http.put(f"{self.url}/ghost/api/admin/posts/{post['id']}/", json=change).raise_for_status()

    def read(self, url: str) -> httpx.Response:
        return httpx.get(url, trust_env=False, timeout=60, follow_redirects=True)


@pytest.fixture(params=["wordpress editor", "wordpress author", "ghost editor"])
def site(request: pytest.FixtureRequest, targets: Any) -> Iterator[Site]:
    kind, user = request.param.split()
    made = Site(kind, request.getfixturevalue(kind), user)
    targets.fakes["blog"] = made.account
    targets.connected.append(AccountSummary("blog", kind, label=kind, state="ok"))
    yield made
    made.close()


async def test_an_article_lives_there_from_its_first_version_to_its_end(targets: Any, site: Site) -> None:
    before = len(site.posts())
    content_id = targets.orchestrator.add(title="Cold brew & more", slug=f"brew-{os.getpid()}-{before}")
    first = await targets.publish(content_id, "blog")
    assert first["type"] == "content.published", first
    page = await asyncio.to_thread(site.read, first["published_url"])
    assert (page.status_code, "Twelve hours are enough" in page.text) == (200, True)
    # Ghost says in links of whose they are: `?ref=…`.
    assert 'href="https://example.org/steeping' in page.text
    assert await targets.publish(content_id, "blog") == first

    targets.change(content_id, **LATER)
    assert (await targets.publish(content_id, "blog"))["published_url"] == first["published_url"]
    ((post,), count) = site.called("Colder brew & more"), len(site.posts())
    assert count == before + 1

    site.edit(post, "Ann's title")
    targets.change(content_id, title="Coldest brew", updated_at="2026-03-01T10:00:00Z")
    assert (await targets.publish(content_id, "blog"))["reason"] == "changed_elsewhere"
    assert len(site.called("Ann's title")) == 1
    assert (await targets.publish(content_id, "blog", overwrite=True))["type"] == "content.published"
    assert len(site.called("Coldest brew")) == 1

    targets.change(content_id, taken_down_at="2026-04-01T10:00:00Z", updated_at="2026-04-01T10:00:00Z")
    assert await targets.publish(content_id, "blog") == {}
    assert (await asyncio.to_thread(site.read, first["published_url"])).status_code == 404
    assert len(site.posts()) == before + 1


async def test_whichever_answer_is_lost_one_article_is_there(targets: Any, site: Site) -> None:
    before, place, asked = len(site.posts()), 0, 1
    while place < asked:
        slug = f"lost-{os.getpid()}-{before}-{place}"
        content_id = targets.orchestrator.add(title=f"Lost {slug}", slug=slug)
        door = targets.door
        door.lost = place
        answer = await targets.publish(content_id, "blog", door=door)
        assert answer["type"] == "content.published", (place, answer)
        (post,) = site.called(f"Lost {slug}")
        assert (post["slug"], post["status"]) == (
            slug,
            "publish" if site.kind == "wordpress" else "published",
        )
        place, asked = place + 1, door.asked - 1
    assert len(site.posts()) == before + place
    assert place > 3
