"""A request as it came and a reply as it goes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from email import message_from_bytes
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Part:
    """One of a multipart form."""

    name: str
    filename: str | None
    media_type: str
    data: bytes

    @property
    def text(self) -> str:
        return self.data.decode()


@dataclass(frozen=True, slots=True)
class Request:
    """`path` is decoded and without its query; names of headers are in lower case; of what comes twice the last counts."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    @classmethod
    def of(cls, method: str, target: str, headers: Mapping[str, str], body: bytes) -> "Request":
        parts = urlsplit(target)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        return cls(method, unquote(parts.path), query, headers, body)

    @property
    def media_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()

    @property
    def bearer(self) -> str | None:
        scheme, _, token = self.headers.get("authorization", "").partition(" ")
        return token if scheme.lower() == "bearer" else None

    def json(self) -> Any:
        """Raises ValueError if the body is none."""
        return json.loads(self.body)

    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))

    def parts(self) -> list[Part]:
        """Of `multipart/form-data`; empty if the body is something else."""
        if self.media_type != "multipart/form-data":
            return []
        head = f"Content-Type: {self.headers['content-type']}\r\n\r\n".encode()
        whole = message_from_bytes(head + self.body, policy=HTTP)
        return [
            Part(
                str(part.get_param("name", "", "content-disposition")),
                part.get_filename(),
                part.get_content_type(),
                bytes(part.get_payload(decode=True) or b""),
            )
            for part in whole.iter_parts()
        ]


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


def as_json(data: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(
        status, json.dumps(data).encode(), {"content-type": "application/json"} | dict(headers or {})
    )


def as_text(text: str, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    kind = {"content-type": "text/plain; charset=utf-8"}
    return Reply(status, text.encode(), kind | dict(headers or {}))


def empty(status: int = 204, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, b"", dict(headers or {}))
