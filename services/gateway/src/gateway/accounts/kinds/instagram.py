"""Instagram, professional accounts, https://developers.facebook.com/docs/instagram-platform/content-publishing."""

from collections.abc import Sequence
from typing import ClassVar

from gateway.accounts.kind import LISTING_BYTES, Ask
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
    asks: ClassVar[Sequence[Ask]] = (
        Ask("POST", f"{USER}/media", {}),
        Ask("POST", f"{USER}/media_publish", {"creation_id": "[0-9]+"}),
        Ask("GET", f"{USER}/media", PAGES, most_bytes=LISTING_BYTES),
        Ask("GET", f"{USER}/content_publishing_limit", {"fields": FIELDS}),
        Ask("GET", NODE, {"fields": FIELDS}),
    )
