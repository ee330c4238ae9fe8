"""Instagram, professional accounts, https://developers.facebook.com/docs/instagram-platform/content-publishing."""

from collections.abc import Sequence
from typing import ClassVar

from gateway.accounts.kind import LISTING_BYTES, AllowedRequest
from gateway.accounts.oauth.graph import FIELDS, NODE, PAGES, USER, GraphKind


class Instagram(GraphKind):
    name: ClassVar = "instagram"
    base: ClassVar = "https://graph.instagram.com"
    authorize_url: ClassVar = "https://www.instagram.com/oauth/authorize"
    token_url: ClassVar = "https://api.instagram.com/oauth/access_token"  # noqa: S105
    scopes: ClassVar[Sequence[str]] = ("instagram_business_basic", "instagram_business_content_publish")
    short: ClassVar = "ig"
    version: ClassVar = "v23.0"
    me_fields: ClassVar = "user_id,username"
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        AllowedRequest("POST", f"{USER}/media", {}),
        AllowedRequest("POST", f"{USER}/media_publish", {"creation_id": "[0-9]+"}),
        AllowedRequest("GET", f"{USER}/media", PAGES, most_bytes=LISTING_BYTES),
        AllowedRequest("GET", f"{USER}/content_publishing_limit", {"fields": FIELDS}),
        AllowedRequest("GET", NODE, {"fields": FIELDS}),
    )
