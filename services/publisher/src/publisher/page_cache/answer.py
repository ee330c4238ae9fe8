"""A rendered page with its headers, compressed once for all requests."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from starlette.requests import Request
from starlette.responses import Response

from chassis.http.conditional import is_fresh, validators

_LEAST_BYTES: Final = 1024
"""Smaller bodies are not compressed."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    etag: str
    last_modified: datetime
    headers: Mapping[str, str]
    """Headers of answers with and without a body."""
    media_type: str
    body: bytes
    is_packed: bool
    """Whether `body` is gzip; it is decompressed for the rare client without gzip."""

    @classmethod
    def build(
        cls, text: str, *, media_type: str, last_modified: datetime, headers: Mapping[str, str]
    ) -> Self:
        content = text.encode()
        is_packed = len(content) >= _LEAST_BYTES
        etag, validating = validators(content, last_modified)
        return cls(
            etag,
            last_modified,
            {**validating, **headers},
            media_type,
            gzip.compress(content, mtime=0) if is_packed else content,
            is_packed,
        )

    @property
    def size(self) -> int:
        """Approximate size in memory, in bytes."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers.items())

    def respond(self, request: Request) -> Response:
        """200 with the body, or 304 without it if the client's copy is current."""
        headers = dict(self.headers)
        if is_fresh(request, self.etag, self.last_modified):
            return Response(status_code=304, headers=headers)
        if not self.is_packed:
            return Response(self.body, media_type=self.media_type, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            # The middleware that compresses bodies adds `Vary` here, too.
            return Response(gzip.decompress(self.body), media_type=self.media_type, headers=headers)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(self.body, media_type=self.media_type, headers=headers)
