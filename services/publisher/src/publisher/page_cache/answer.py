"""A page as it is sent: compressed, and with its headers, once for all who ask for it."""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from starlette.requests import Request
from starlette.responses import Response

from chassis.http.conditional import is_fresh, validators

_LEAST_BYTES: Final = 1024
"""Less than this is not worth packing."""


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    etag: str
    last_modified: datetime
    headers: Mapping[str, str]
    """Of every answer, whether it has a body or not."""
    media_type: str
    body: bytes
    is_packed: bool
    """Whether `body` is gzip; who does not take that is rare, and has it unpacked."""

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
        """Bytes that it takes in memory, nearly."""
        return len(self.body) + sum(len(name) + len(value) for name, value in self.headers.items())

    def respond(self, request: Request) -> Response:
        """200 with the body, or 304 without it if the client has it already."""
        headers = dict(self.headers)
        if is_fresh(request, self.etag, self.last_modified):
            return Response(status_code=304, headers=headers)
        if not self.is_packed:
            return Response(self.body, media_type=self.media_type, headers=headers)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            # Whoever packs what was not made before says of this, too, that it varies.
            return Response(gzip.decompress(self.body), media_type=self.media_type, headers=headers)
        headers |= {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
        return Response(self.body, media_type=self.media_type, headers=headers)
