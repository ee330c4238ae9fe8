"""WordPress with an application password, https://developer.wordpress.org/rest-api/reference/posts/."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from pydantic import SecretStr

from chassis import WebAddress
from gateway.accounts.domain import Looked
from gateway.accounts.kind import (
    LISTING_BYTES,
    Ask,
    Credentials,
    Exchange,
    Kind,
    KindSettings,
    Outgoing,
    Own,
    Request,
    asked,
    basic,
    with_headers,
)

_API: Final = "/wp-json"


class WordPressSettings(KindSettings):
    url: WebAddress
    """Of the site, with the folder it is in: `https://example.org/blog`."""
    plain_addresses: bool = False
    """The site has plain permalinks: its API is asked by `?rest_route=`."""


class WordPressCredentials(Credentials):
    user: str
    password: SecretStr
    """An application password, of Users → Profile; spaces in it mean nothing."""

    def secrets(self) -> tuple[str, ...]:
        password = self.password.get_secret_value()
        sent = basic(self.user, password)["Authorization"].removeprefix("Basic ")
        return (password, password.replace(" ", ""), sent)


class WordPress(Kind):
    name: ClassVar = "wordpress"
    user_facts: ClassVar = ("user_id",)
    settings: ClassVar = WordPressSettings
    credentials: ClassVar = WordPressCredentials
    headers: ClassVar = frozenset({"content-disposition"})
    asks: ClassVar[Sequence[Ask]] = (
        *(
            Ask(method, f"{_API}/wp/v2/{things}{one}", most_bytes=LISTING_BYTES)
            for things in ("posts", "media", "categories", "tags")
            for method in ("GET", "POST")
            for one in ("", "/{id}")
        ),
        Ask("GET", f"{_API}/wp/v2/users/me", {"context": "edit|view"}),
        Ask(
            "GET",
            f"{_API}/wp/v2/users",
            {"slug": ".+", "search": ".+", "who": "authors", "per_page": "[0-9]+"},
        ),
        Ask("GET", f"{_API}/wp/v2/types/post", {}),
    )

    def outgoing(self, own: Own, request: Request, ask: Ask | None) -> Outgoing:
        given = super().outgoing(own, request, ask)
        if not own.settings.plain_addresses:
            return given
        url = f"{self.url(own)}/index.php"
        route = ("rest_route", request.path.removeprefix(_API))
        return replace(given, url=url, shown=url, query=(route, *request.query))

    def authorised(self, given: Outgoing, own: Own) -> Outgoing:
        password = own.credentials.password.get_secret_value()
        return with_headers(given, basic(own.credentials.user, password))

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        # Another address would answer everybody: with a wrong password, as to a stranger.
        request = Request("GET", f"{_API}/wp/v2/users/me", (("context", "edit"),))
        answer = await asked(self, exchange, own, request)
        roles = answer.member("roles")
        scopes = [str(role) for role in roles] if isinstance(roles, list) else None
        name = str(answer.member("name") or own.credentials.user)
        return Looked(name, {"user_id": str(answer.member("id") or ""), "url": own.settings.url}, scopes)
