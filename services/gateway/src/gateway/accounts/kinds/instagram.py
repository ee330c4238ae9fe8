"""Instagram, professional accounts, https://developers.facebook.com/docs/instagram-platform/content-publishing."""

from typing import ClassVar

from gateway.accounts.kind import LISTING_BYTES, AllowedRequest, RemoteRequest
from gateway.accounts.oauth.graph import FIELDS, NODE, PAGES, USER, GraphKind
from integrations.networks.instagram import INSTAGRAM_ACCOUNT


class InstagramAccount(GraphKind):
    account: ClassVar = INSTAGRAM_ACCOUNT
    short: ClassVar = "ig"
    check_request: ClassVar = RemoteRequest("GET", "/v23.0/me", (("fields", "user_id,username"),))
    allowed_requests: ClassVar = (
        AllowedRequest("POST", f"{USER}/media", {}),
        AllowedRequest("POST", f"{USER}/media_publish", {"creation_id": "[0-9]+"}),
        AllowedRequest("GET", f"{USER}/media", PAGES, most_bytes=LISTING_BYTES),
        AllowedRequest("GET", f"{USER}/content_publishing_limit", {"fields": FIELDS}),
        AllowedRequest("GET", NODE, {"fields": FIELDS}),
    )
