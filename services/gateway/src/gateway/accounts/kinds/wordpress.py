"""WordPress with an application password, https://developer.wordpress.org/rest-api/reference/posts/."""

from dataclasses import replace
from typing import ClassVar, Final

from pydantic import SecretStr

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccountCredentials,
    AccountKind,
    AddressSettings,
    AllowedRequest,
    KindContext,
    RemoteRequest,
    RemoteResponse,
    WireRequest,
    basic_authorization,
)
from integrations.sites.wordpress import WORDPRESS_ACCOUNT

_API: Final = "/wp-json"


class WordPressSettings(AddressSettings):
    plain_addresses: bool = False
    """The site has plain permalinks, so the API is called with `?rest_route=`."""


class WordPressCredentials(AccountCredentials):
    user: str
    password: SecretStr
    """An application password, from Users → Profile; spaces do not matter."""

    @property
    def authorization(self) -> dict[str, str]:
        return basic_authorization(self.user, self.password.get_secret_value())

    def secrets(self) -> tuple[str, ...]:
        password = self.password.get_secret_value()
        sent = self.authorization["Authorization"].removeprefix("Basic ")
        return (password, password.replace(" ", ""), sent)


class WordPressAccount(AccountKind):
    account: ClassVar = WORDPRESS_ACCOUNT
    user_facts: ClassVar = ("user_id",)
    settings: ClassVar = WordPressSettings
    credentials: ClassVar = WordPressCredentials
    headers: ClassVar = frozenset({"content-disposition"})
    # Other addresses answer without a log-in, even with a wrong password.
    check_request: ClassVar = RemoteRequest("GET", f"{_API}/wp/v2/users/me", (("context", "edit"),))
    allowed_requests: ClassVar = (
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

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        roles = answer.member("roles")
        scopes = [str(role) for role in roles] if isinstance(roles, list) else None
        name = answer.text("name") or context.credentials.user
        return AccountCheck(name, {"user_id": answer.text("id"), "url": context.settings.url}, scopes)
