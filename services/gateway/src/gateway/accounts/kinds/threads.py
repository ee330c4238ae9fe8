"""Threads, https://developers.facebook.com/docs/threads/posts."""

from collections.abc import Sequence
from typing import ClassVar

from gateway.accounts.kind import LISTING_BYTES, AllowedRequest
from gateway.accounts.oauth.graph import FIELDS, NODE, PAGES, USER, GraphKind


class Threads(GraphKind):
    name: ClassVar = "threads"
    base: ClassVar = "https://graph.threads.net"
    authorize_url: ClassVar = "https://threads.net/oauth/authorize"
    token_url: ClassVar = "https://graph.threads.net/oauth/access_token"  # noqa: S105
    scopes: ClassVar[Sequence[str]] = ("threads_basic", "threads_content_publish")
    short: ClassVar = "th"
    version: ClassVar = "v1.0"
    me_fields: ClassVar = "id,username"
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = (
        AllowedRequest("POST", f"{USER}/threads", {}),
        AllowedRequest("POST", f"{USER}/threads_publish", {"creation_id": "[0-9]+"}),
        AllowedRequest("GET", f"{USER}/threads", PAGES, most_bytes=LISTING_BYTES),
        AllowedRequest("GET", f"{USER}/replies", PAGES, most_bytes=LISTING_BYTES),
        AllowedRequest("GET", f"{USER}/threads_publishing_limit", {"fields": FIELDS}),
        AllowedRequest("GET", NODE, {"fields": FIELDS}),
    )
