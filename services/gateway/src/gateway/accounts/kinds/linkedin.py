"""LinkedIn, https://learn.microsoft.com/en-us/linkedin/marketing/community-management/shares/posts-api.

Access tokens last 60 days. Only partners get refresh tokens; all others must reconnect before the end.
"""

from http import HTTPStatus
from typing import Annotated, ClassVar, Final

from pydantic import Field

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AccountTransport,
    AllowedRequest,
    KindContext,
    KindSettings,
    RemoteRequest,
    RemoteResponse,
    check_response,
)
from gateway.accounts.oauth.login import OAuthKind
from integrations.networks.linkedin import LINKEDIN_ACCOUNT

_UPLOADS: Final = "https://www.linkedin.com"
_WORD: Final = r"[A-Za-z0-9_-]+"


class LinkedInSettings(KindSettings):
    organization: Annotated[str, Field(pattern=r"^[0-9]{1,20}$")] | None = None
    """Number of the page that posts; left out: the person who logs in."""


class LinkedInAccount(OAuthKind):
    account: ClassVar = LINKEDIN_ACCOUNT
    user_facts: ClassVar = ("author",)
    user_settings: ClassVar = ("organization",)
    settings: ClassVar = LinkedInSettings
    headers: ClassVar = frozenset({"linkedin-version", "x-restli-protocol-version", "x-restli-method"})
    allowed_requests: ClassVar = (
        AllowedRequest("POST", "/rest/posts", {}),
        AllowedRequest(
            "GET",
            "/rest/posts",
            {"q": "author", "author": ".+", "count": "[0-9]+", "start": "[0-9]+", "sortBy": _WORD},
            most_bytes=LISTING_BYTES,
        ),
        AllowedRequest("GET", "/rest/posts/{urn}", {"viewContext": _WORD}),
        AllowedRequest("POST", "/rest/images", {"action": "initializeUpload"}),
        AllowedRequest("GET", "/rest/images/{urn}", {}),
        AllowedRequest("PUT", "/dms-uploads/{place:path}", origin=_UPLOADS),
        AllowedRequest("POST", "/rest/socialActions/{urn}/comments", {}),
        AllowedRequest("GET", "/rest/socialActions/{urn}/comments", {"start": "[0-9]+", "count": "[0-9]+"}),
        AllowedRequest("GET", "/v2/userinfo", {}),
    )

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        answer = await transport(self.outgoing(context, RemoteRequest("GET", "/v2/userinfo"), None))
        # A token for a page may lack access to the profile: 403. A void token gets 401.
        if context.settings.organization is None or answer.status != HTTPStatus.FORBIDDEN:
            answer = check_response(self, answer)
        return self.until_end_of_access(self.describe(answer, context), context)

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        organization, person = context.settings.organization, answer.member("sub")
        urn = f"urn:li:organization:{organization}" if organization else f"urn:li:person:{person}"
        return AccountCheck(answer.text("name") or None, {"id": str(person or ""), "author": urn})
