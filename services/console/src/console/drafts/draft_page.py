"""The page of a version as the publisher makes it: other people's words, shown in a frame in which nothing runs."""

from typing import Final

PAGE_HEADERS: Final = {
    # The page is made of other people's words: nothing in it runs, is fetched or leads away from the frame.
    "Content-Security-Policy": (
        "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'"
    ),
    "X-Frame-Options": "SAMEORIGIN",
    "Cache-Control": "private, no-store",
}
