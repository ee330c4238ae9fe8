"""Somebody who may only read goes through the whole console: no button of an act that they may not do, and each is refused."""

import re
from collections.abc import Iterable, Iterator
from html import unescape
from html.parser import HTMLParser
from typing import Any, Final
from urllib.parse import urljoin, urlsplit
from uuid import UUID

import httpx
import pytest

from tests.fixtures.console.screens import Screens, page_routes, posts_of

FREE: Final = frozenset(
    {
        # Without an account, or about the own one.
        "/sign-in",
        "/sign-in/again",
        "/sign-in/passkey",
        "/sign-in/passkey/begin",
        "/sign-out",
        "/recover",
        "/start/{token}",
        "/invitations/{token}",
        "/me",
        "/me/password",
        "/me/identity",
        "/me/identity/remove",
        "/me/recovery-codes",
        "/me/passkeys",
        "/me/passkeys/add",
        "/me/passkeys/{passkey}/rename",
        "/me/passkeys/{passkey}/remove",
        "/me/sessions/{session}/end",
        # A guest with a link, and everybody who reads drafts.
        "/p/{token}/notes",
        "/b/{brand}/drafts/{content_id}/notes",
        "/b/{brand}/drafts/{content_id}/notes/{note}/settle",
        # One's own filters, addresses of calendars, and acts that are taken back.
        "/b/{brand}/views",
        "/b/{brand}/views/{view}/rename",
        "/b/{brand}/views/{view}/remove",
        "/b/{brand}/calendar/links",
        "/b/{brand}/calendar/links/{link}/revoke",
        "/undo/{notice}",
        # They change nothing.
        "/b/{brand}/posts/{post_id}/length",
        "/b/{brand}/site/preview",
    }
)
"""What somebody who may only read may send."""
CLEAR: Final = (
    "Your role does not allow this. Ask an owner of this installation for another role.",
    "Only owners may do this. Ask one of them.",
)
_PARAMETER: Final = re.compile(r"\{(\w+)\}")


class Buttons(HTMLParser):
    """The addresses to which a page's buttons that can be pressed send something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._actions: dict[str, str] = {}
        """Of forms with an id, for buttons elsewhere on the page."""
        self._form: str | None = None
        self._disabled = 0
        """Fieldsets around that are switched off, or stand in one."""
        self._elsewhere: list[str] = []
        self.feed(text)
        self.found |= {self._actions[each] for each in self._elsewhere if each in self._actions}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._form = named.get("action", "") if named.get("method", "").lower() == "post" else None
            if self._form is not None and "id" in named:
                self._actions[named["id"]] = self._form
        elif tag == "fieldset":
            self._disabled += bool(self._disabled or "disabled" in named)
        elif self._sends(tag, named) and not self._disabled and "disabled" not in named:
            if "formaction" in named:
                self.found.add(named["formaction"])
            elif "form" in named:
                self._elsewhere.append(named["form"])
            elif self._form is not None:
                self.found.add(self._form)

    @staticmethod
    def _sends(tag: str, named: dict[str, str]) -> bool:
        kind = named.get("type", "submit" if tag == "button" else "text")
        return tag in {"button", "input"} and kind in {"submit", "image"}

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "fieldset" and self._disabled:
            self._disabled -= 1


def addresses_of(screens: Screens) -> Iterator[tuple[str, str]]:
    """Where the buttons of each page send something, beside the page."""
    for page, answer in screens.texts.items():
        if answer.headers["content-type"].startswith("text/html"):
            for action in Buttons(answer.text).found:
                to = urlsplit(urljoin(f"http://console.invalid{page}", action))
                assert to.netloc == "console.invalid", f"{page} sends something to {action}"
                yield page, to.path


def filled(route: str) -> str:
    """An address of a route with ids that nothing has."""
    known = {"brand": "acme", "document": "1"}
    return _PARAMETER.sub(lambda each: known.get(each[1], str(UUID(int=1))), route)


async def crawl(hostile_brand: Any, person: httpx.AsyncClient) -> Screens:
    found = Screens(page_routes(hostile_brand.console.pages))
    await found.crawl(person, {"brand": "acme"}, ["/", *hostile_brand.addresses])
    return found


def refused_pages(screens: Screens) -> Iterable[str]:
    """Pages that a link leads to and that are refused; the address of a form that is not sent is no link."""
    linked = {
        urlsplit(urljoin(f"http://console.invalid{page}", unescape(each))).path
        for page, answer in screens.texts.items()
        for each in re.findall(r'<a [^>]*href="([^"]+)"', answer.text)
    }
    return sorted(each for each in screens.broken if urlsplit(each.rpartition(": ")[0]).path in linked)


@pytest.mark.extended
async def test_a_viewer_sees_no_button_of_what_is_refused_and_is_refused_in_clear_words(
    hostile_brand: Any,
) -> None:
    posts = posts_of(hostile_brand.console.pages)
    assert posts >= FREE
    routes = Screens(posts)
    seen, of_owner = [
        await crawl(hostile_brand, person) for person in (hostile_brand.viewer, hostile_brand.owner)
    ]
    found = [f"a link leads to {each}" for each in refused_pages(seen)]
    for page, address in addresses_of(seen):
        if routes.route_of(address) not in FREE:
            found.append(f"{page} has a button of {address}")

    known = {routes.route_of(address): address for _, address in addresses_of(of_owner)}
    for route in sorted(posts - FREE):
        address = known.get(route) or filled(route)
        answer = await hostile_brand.viewer.post(address, data={"once": f"walk {route}"[:60]})
        if answer.status_code != 403 or not any(each in answer.text for each in CLEAR):
            words = re.sub(r"<[^>]+>|\s+", " ", answer.text.partition("<main")[2] or answer.text)
            found.append(f"{address} answers {answer.status_code}: {words[:300]}")
    assert not found, "\n".join(found)
