"""Threads, https://developers.facebook.com/docs/threads/posts."""

from typing import ClassVar

from gateway.accounts.kind import LISTING_BYTES, AllowedRequest, RemoteRequest
from gateway.accounts.oauth.graph import FIELDS, NODE, PAGES, USER, GraphKind
from integrations.networks.threads import THREADS_ACCOUNT


class ThreadsAccount(GraphKind):
    account: ClassVar = THREADS_ACCOUNT
    short: ClassVar = "th"
    check_request: ClassVar = RemoteRequest("GET", "/v1.0/me", (("fields", "id,username"),))
    allowed_requests: ClassVar = (
        AllowedRequest("POST", f"{USER}/threads", {}),
        AllowedRequest("POST", f"{USER}/threads_publish", {"creation_id": "[0-9]+"}),
        AllowedRequest("GET", f"{USER}/threads", PAGES, most_bytes=LISTING_BYTES),
        AllowedRequest("GET", f"{USER}/replies", PAGES, most_bytes=LISTING_BYTES),
        AllowedRequest("GET", f"{USER}/threads_publishing_limit", {"fields": FIELDS}),
        AllowedRequest("GET", NODE, {"fields": FIELDS}),
    )
