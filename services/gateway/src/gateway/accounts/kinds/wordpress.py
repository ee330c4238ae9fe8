"""WordPress with an application password, https://developer.wordpress.org/rest-api/reference/posts/."""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from pydantic import SecretStr

from chassis import WebAddress
from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    AllowedRequest,
    KindContext,
    KindSettings,
    RemoteRequest,
    WireRequest,
    ask_account,
    basic_authorization,
    with_headers,
)

_API: Final = "/wp-json"


class WordPressSettings(KindSettings):
    url: WebAddress
    """Address of the site with its folder: `https://example.org/blog`."""
    plain_addresses: bool = False
    """The site has plain permalinks, so the API is called with `?rest_route=`."""


class WordPressCredentials(AccountCredentials):
    user: str
    password: SecretStr
    """An application password, from Users → Profile; spaces do not matter."""

    def secrets(self) -> tuple[str, ...]:
        password = self.password.get_secret_value()
        sent = basic_authorization(self.user, password)["Authorization"].removeprefix("Basic ")
        return (password, password.replace(" ", ""), sent)


class WordPress(AccountKind):
    name: ClassVar = "wordpress"
    user_facts: ClassVar = ("user_id",)
    settings: ClassVar = WordPressSettings
    credentials: ClassVar = WordPressCredentials
    headers: ClassVar = frozenset({"content-disposition"})
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        *(
            AllowedRequest(method, f"{_API}/wp/v2/{things}{one}", most_bytes=LISTING_BYTES)
            for things in ("posts", "media", "categories", "tags")
            for method in ("GET", "POST")
            for one in ("", "/{id}")
        ),
        AllowedRequest("GET", f"{_API}/wp/v2/users/me", {"context": "edit|view"}),
        AllowedRequest(
            "GET",
            f"{_API}/wp/v2/users",
            {"slug": ".+", "search": ".+", "who": "authors", "per_page": "[0-9]+"},
        ),
        AllowedRequest("GET", f"{_API}/wp/v2/types/post", {}),
    )

    def outgoing(
        self, context: KindContext, request: RemoteRequest, ask: AllowedRequest | None
    ) -> WireRequest:
        given = super().outgoing(context, request, ask)
        if not context.settings.plain_addresses:
            return given
        url = f"{self.url(context)}/index.php"
        route = ("rest_route", request.path.removeprefix(_API))
        return replace(given, url=url, shown=url, query=(route, *request.query))

    def authorise(self, given: WireRequest, context: KindContext) -> WireRequest:
        password = context.credentials.password.get_secret_value()
        return with_headers(given, basic_authorization(context.credentials.user, password))

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        # Other addresses answer without a log-in, even with a wrong password.
        request = RemoteRequest("GET", f"{_API}/wp/v2/users/me", (("context", "edit"),))
        answer = await ask_account(self, transport, context, request)
        roles = answer.member("roles")
        scopes = [str(role) for role in roles] if isinstance(roles, list) else None
        name = str(answer.member("name") or context.credentials.user)
        return AccountCheck(
            name, {"user_id": str(answer.member("id") or ""), "url": context.settings.url}, scopes
        )
