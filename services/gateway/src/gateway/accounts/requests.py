"""Bodies of `POST /v1/accounts/{name}/requests` and its answers."""

import base64
import binascii
import json
import secrets
from datetime import datetime
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlencode
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from chassis.http.api import View
from gateway.accounts.domain import ReceiptStep
from gateway.accounts.kind import RemoteRequest
from gateway.accounts.mail import MailMessage
from gateway.requests import Brand

_HeaderText = Annotated[str, StringConstraints(pattern=r"^[ -~]*$", max_length=1000)]
_Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]{1,60}$")]
_MediaType = Annotated[
    str, StringConstraints(pattern=r"^[a-z]+/[a-z0-9.+-]+(; ?charset=[a-zA-Z0-9-]+)?$", max_length=100)
]
_Text = Annotated[str, StringConstraints(max_length=1_000_000)]


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise ValueError("is no base64") from None


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_\[\].-]{1,100}$")]
    filename: Annotated[str, StringConstraints(pattern=r'^[^"\r\n\\]{1,200}$')] | None = None
    type: _MediaType | None = None
    text: _Text | None = None
    base64: str | None = None
    """The bytes of a file; this or `text`."""

    @model_validator(mode="after")
    def _has_one_value(self) -> Self:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("give text or base64, and not both")
        if self.base64 is not None:
            _bytes(self.base64)
        return self

    def written(self) -> bytes:
        filename = "" if self.filename is None else f'; filename="{self.filename}"'
        head = f'Content-Disposition: form-data; name="{self.name}"{filename}\r\n'
        if self.type is not None:
            head += f"Content-Type: {self.type}\r\n"
        value = (self.text or "").encode() if self.base64 is None else _bytes(self.base64)
        return head.encode() + b"\r\n" + value


class RequestContent(BaseModel):
    """Bytes to send unchanged."""

    model_config = ConfigDict(extra="forbid")

    type: _MediaType
    base64: str

    @model_validator(mode="after")
    def _is_base64(self) -> Self:
        _bytes(self.base64)
        return self


class EffectOfRequest(BaseModel):
    """The receipt that the request belongs to."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    receipt_id: UUID
    step: Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[ -~]+$")]
    fence: Annotated[int, Field(ge=0, le=2**62)]
    sends: bool
    """False: the request only reads."""


class AccountRequest(BaseModel):
    """A request to the account's provider; at most one of `json`, `form`, `content`, `parts`."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    brand: Brand | None = None
    """The brand that sends; left out for an operator."""
    method: Literal["GET", "POST", "PUT", "PATCH"]
    path: Annotated[str, StringConstraints(pattern=r"^/[!-~]*$", max_length=2000)]
    query: dict[
        Annotated[str, StringConstraints(max_length=100)], Annotated[str, StringConstraints(max_length=4000)]
    ] = {}
    headers: dict[_Name, _HeaderText] = {}
    json_body: Annotated[JsonValue, Field(alias="json")] = None
    form: dict[Annotated[str, StringConstraints(max_length=100)], _Text] | None = None
    content: RequestContent | None = None
    parts: Annotated[list[_Part], Field(min_length=1, max_length=20)] | None = None
    effect: EffectOfRequest | None = None
    seconds: Annotated[float, Field(ge=0.1, le=120)] = 20.0
    """Time limit up to the last byte of the answer; nothing is sent later."""

    @model_validator(mode="after")
    def _has_one_body(self) -> Self:
        bodies = [self.json_body, self.form, self.content, self.parts]
        if sum(each is not None for each in bodies) > 1:
            raise ValueError("give at most one of json, form, content and parts")
        if self.method == "GET" and any(each is not None for each in bodies):
            raise ValueError("a GET has no body")
        return self

    def request(self) -> RemoteRequest:
        """The request as sent, without credentials."""
        body, type_ = b"", None
        document: Any = None
        if self.json_body is not None:
            body = json.dumps(self.json_body, ensure_ascii=False, separators=(",", ":")).encode()
            type_, document = "application/json", self.json_body
        elif self.form is not None:
            body = urlencode(self.form).encode()
            type_, document = "application/x-www-form-urlencoded", self.form
        elif self.content is not None:
            body, type_ = _bytes(self.content.base64), self.content.type
        elif self.parts is not None:
            boundary = secrets.token_hex(16)
            body = b"".join(b"--%b\r\n%b\r\n" % (boundary.encode(), each.written()) for each in self.parts)
            body += b"--%b--\r\n" % boundary.encode()
            type_ = f"multipart/form-data; boundary={boundary}"
            document = {each.name: each.text or "" for each in self.parts}
        return RemoteRequest(
            self.method, self.path, tuple(self.query.items()), self.headers, body, type_, document
        )

    def about(self) -> ReceiptStep | None:
        if self.effect is None:
            return None
        return ReceiptStep(self.effect.receipt_id, self.effect.step, self.effect.fence, self.effect.sends)


class FenceRequest(BaseModel):
    """Refuses later requests of a receipt that was taken over or settled."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    brand: Brand | None = None
    receipt_id: UUID
    fence: Annotated[int, Field(ge=0, le=2**62)]
    """Requests with a lower fence are refused from now on."""


class AccountAnswer(View):
    """The provider's answer, including error statuses."""

    model_config = ConfigDict(serialize_by_alias=True)

    status: int
    headers: dict[str, str]
    """Selected headers, by names in lower case."""
    json_body: Annotated[Any, Field(alias="json")] = None
    """The JSON in the body; null if there is none."""
    text: str | None = None
    """The body, if it is no JSON."""
    truncated: bool = False
    """The body was too long and is cut off."""
    whole_items: list[Any] | None = None
    """The complete items of a truncated JSON list; then `json` and `text` are null."""
    retry_at: datetime | None = None
    """No further request may go to the account before."""


_Address = Annotated[str, StringConstraints(pattern=r"^[^\s<>@,;:\"()\[\]\\]{1,64}@[A-Za-z0-9.-]{1,253}$")]
_Line = Annotated[str, StringConstraints(pattern=r"^[^\r\n\x00]*$", min_length=1, max_length=500)]


class MailRequest(BaseModel):
    """A mail to submit."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    brand: Brand | None = None
    to: Annotated[list[_Address], Field(min_length=1, max_length=50)]
    subject: _Line
    text: Annotated[str, StringConstraints(min_length=1, max_length=200_000)]
    html: Annotated[str, StringConstraints(max_length=500_000)] | None = None
    message_id: Annotated[str, StringConstraints(pattern=r"^<[A-Za-z0-9._+-]{1,100}@[A-Za-z0-9.-]{1,100}>$")]
    """The same for every attempt: `<…@acme.example>`."""
    unsubscribe_url: (
        Annotated[str, StringConstraints(pattern=r"^https?://[!-;=?-~]+$", max_length=500)] | None
    ) = None
    """Where a reader leaves a list: sent as `List-Unsubscribe`, and over https as one click (RFC 8058)."""
    seconds: Annotated[float, Field(ge=1, le=120)] = 30.0

    def mail(self) -> MailMessage:
        return MailMessage(
            tuple(dict.fromkeys(self.to)),
            self.subject,
            self.text,
            self.html,
            self.message_id,
            self.unsubscribe_url,
        )


class MailAnswer(View):
    accepted: list[str]
    """Addresses that the server accepted."""
    refused: dict[str, str]
    """Refused addresses, with the server's reasons."""
