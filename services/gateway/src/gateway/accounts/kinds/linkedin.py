"""LinkedIn, https://learn.microsoft.com/en-us/linkedin/marketing/community-management/shares/posts-api.

Access tokens are good for 60 days. Refresh tokens are given to partners alone: everybody else connects again before they end.
"""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field

from gateway.accounts.domain import Looked
from gateway.accounts.kind import LISTING_BYTES, Ask, Exchange, KindSettings, Own, Request, good
from gateway.accounts.oauth.login import OAuthKind

_UPLOADS: Final = "https://www.linkedin.com"
_WORD: Final = r"[A-Za-z0-9_-]+"


class LinkedInSettings(KindSettings):
    organization: Annotated[str, Field(pattern=r"^[0-9]{1,20}$")] | None = None
    """Number of the page that posts; left out: the person who logs in."""


class LinkedIn(OAuthKind):
    name: ClassVar = "linkedin"
    user_facts: ClassVar = ("author",)
    user_settings: ClassVar = ("organization",)
    settings: ClassVar = LinkedInSettings
    base: ClassVar = "https://api.linkedin.com"
    authorize_url: ClassVar = "https://www.linkedin.com/oauth/v2/authorization"
    token_url: ClassVar = "https://www.linkedin.com/oauth/v2/accessToken"  # noqa: S105
    scopes: ClassVar[Sequence[str]] = ("openid", "profile", "w_member_social")
    has_pkce: ClassVar = False  # for native clients alone, at an address of their own
    headers: ClassVar = frozenset({"linkedin-version", "x-restli-protocol-version", "x-restli-method"})
    asks: ClassVar[Sequence[Ask]] = (
        Ask("POST", "/rest/posts", {}),
        Ask(
            "GET",
            "/rest/posts",
            {"q": "author", "author": ".+", "count": "[0-9]+", "start": "[0-9]+", "sortBy": _WORD},
            most_bytes=LISTING_BYTES,
        ),
        Ask("GET", "/rest/posts/{urn}", {"viewContext": _WORD}),
        Ask("POST", "/rest/images", {"action": "initializeUpload"}),
        Ask("GET", "/rest/images/{urn}", {}),
        Ask("PUT", "/dms-uploads/{place:path}", origin=_UPLOADS),
        Ask("POST", "/rest/socialActions/{urn}/comments", {}),
        Ask("GET", "/rest/socialActions/{urn}/comments", {"start": "[0-9]+", "count": "[0-9]+"}),
        Ask("GET", "/v2/userinfo", {}),
    )

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        organization = own.settings.organization
        answer = await exchange(self.outgoing(own, Request("GET", "/v2/userinfo"), None))
        # A token that posts for a page may know nothing of who has it: 403. One that is good for nothing is 401.
        if organization is None or answer.status != HTTPStatus.FORBIDDEN:
            answer = good(self, answer)
        person: Any = answer.member("sub")
        urn = f"urn:li:organization:{organization}" if organization else f"urn:li:person:{person}"
        name = answer.member("name")
        facts = {"id": str(person or ""), "author": urn}
        return Looked(
            str(name) if name else None, facts, own.credentials.scopes or None, own.credentials.ends_at
        )
