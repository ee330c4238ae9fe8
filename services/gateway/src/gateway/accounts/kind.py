"""Base class of account kinds: addresses, credentials, and the requests that services may make.

A kind refuses every request outside its `allowed_requests`. So a stolen service key cannot do more than they allow.
"""

import base64
import hashlib
import json
import re
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Final, Protocol
from urllib.parse import unquote

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr

from chassis import WebAddress
from chassis.http.client import retry_after
from gateway.accounts.domain import AccountCheck, ConnectedAccount
from gateway.limits import RateLimits
from integrations.account import Account

LISTING_BYTES: Final = 4_000_000
"""Size limit of an answer that lists posts; some servers ignore a requested page size. Bytes."""
_AFTER_429: Final = timedelta(seconds=60)
"""The pause after a 429 that has no `Retry-After`."""
_ITEM: Final = re.compile(r"[\s,]*(?=[^\s,\]])")
_PLAIN: Final = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")
_SNEAKING: Final = re.compile(r"%(?:2[eEfF]|5[cC]|0[0-9a-fA-F]|3[fF]|23|25)")
"""Encoded dots, slashes and the like, which appear once a path is decoded."""
_FORBIDDEN: Final = frozenset(
    {"_method", "method", "rest_route", "access_token", "batch", "oauth_token", "key"}
)
"""Query names that change a request's meaning, or its user, at some provider."""


class KindSettings(BaseModel):
    """An operator's settings of an account, without its credentials."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    api_url: WebAddress | None = None
    """Replaces the provider's address: for a proxy or a test."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60
    """Requests a minute, evenly spread."""
    together: Annotated[int, Field(ge=1, le=1000)] = 20
    """The size of a burst of requests."""
    at_once: Annotated[int, Field(ge=1, le=100)] = 4
    """Concurrent requests, over all replicas."""

    def bounds(self, seconds: float) -> RateLimits:
        return RateLimits(
            self.per_minute, None, self.together, self.at_once, seconds, "brandctl accounts connect"
        )


class AddressSettings(KindSettings):
    """Settings of an account with a freely chosen provider."""

    url: WebAddress
    """Address of the site, server or receiver, with its folder: `https://example.org/blog`."""


def matching(pattern: re.Pattern[str], problem: str) -> AfterValidator:
    """A validator of secrets; `problem` says what a wrong one is not, and never quotes it."""

    def checked(secret: SecretStr) -> SecretStr:
        if not pattern.fullmatch(secret.get_secret_value()):
            raise ValueError(problem)
        return secret

    return AfterValidator(checked)


class AccountCredentials(BaseModel):
    """The secrets of an account; stored sealed, never shown."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True
    )

    @property
    def authorization(self) -> dict[str, str]:
        """The headers that the provider knows the account by."""
        return {}

    def secrets(self) -> tuple[str, ...]:
        """Every text that must not appear in logs or answers."""
        return tuple(
            value.get_secret_value() for value in dict(self).values() if isinstance(value, SecretStr)
        )

    def plain(self) -> str:
        """The JSON to seal, secrets included."""
        shown = {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in dict(self).items()
        }
        return json.dumps(shown, default=lambda value: value.isoformat())


class TokenCredentials(AccountCredentials):
    """One token that does not change."""

    token: SecretStr

    @property
    def authorization(self) -> dict[str, str]:
        return bearer(self.token)


@dataclass(frozen=True, slots=True)
class RemoteRequest:
    """A service's request; `document` is the JSON or the form in `body`."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    media_type: str | None = None
    document: Any = None


@dataclass(frozen=True, slots=True)
class WireRequest:
    """A request with credentials, ready to send."""

    method: str
    url: str
    """May contain secrets; never logged."""
    shown: str
    """The address without secrets, for traces and errors."""
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class RemoteResponse:
    """A response of any status; header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False

    @property
    def document(self) -> Any:
        """The JSON in the body, or None. For a truncated list, its complete items."""
        try:
            return leading_items(self.body) if self.truncated else json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def member(self, *names: str) -> Any:
        """The value at this path in the JSON, or None."""
        found = self.document
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found

    def text(self, *names: str) -> str:
        """The value at this path as text, or empty."""
        return str(self.member(*names) or "")


def leading_items(body: bytes) -> list[Any] | None:
    """The complete items of a truncated JSON list; None if the body is no list."""
    text = body.decode(errors="replace").lstrip()
    if not text.startswith("["):
        return None
    items: list[Any] = []
    place, decoder = 1, json.JSONDecoder()
    while (begin := _ITEM.match(text, place)) is not None:
        try:
            item, place = decoder.raw_decode(text, begin.end())
        except ValueError:
            break
        if place == len(text):
            break  # A number may be cut off.
        items.append(item)
    return items


class NotSent(Exception):  # noqa: N818 - an outcome, as `NoAnswer` is
    """No byte of the request was sent."""


class NoAnswer(Exception):  # noqa: N818
    """Bytes were sent without a complete answer, so the outcome is unknown."""


class AccessRefused(Exception):  # noqa: N818
    """The provider rejects the credentials. The message says what to do."""


BodyCheck = Callable[[Any, Any], str | None]
"""Takes a JSON or form body and the account's settings; returns why the body is refused, or None."""
_SEGMENTS: Final = {
    "": "[^/]+",
    "path": ".+",
    "version": r"v[0-9]{1,2}\.[0-9]{1,2}",
    "number": "[0-9]{1,30}|me",
}


@dataclass(frozen=True, slots=True)
class AllowedRequest:
    """A request that services may make.

    Args:
        method: HTTP method.
        path: without credentials; `{name}` matches one segment, `{name:path}` several, also `{name:number}` and
            `{name:version}`.
        query: allowed names with patterns of their values; None allows every name that is harmless.
        body: checks the JSON or form.
        origin: the provider's address, if it is not the account's.
        most_bytes: size limit of the answer; the rest is cut off.
    """

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: BodyCheck | None = None
    origin: str | None = None
    most_bytes: int = 1_000_000

    @property
    def regex(self) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+(?::\w+)?)\}", self.path)
        return re.compile(
            "".join(
                f"(?:{_SEGMENTS[part.partition(':')[2]]})" if place % 2 else re.escape(part)
                for place, part in enumerate(parts)
            )
        )


def refusal(
    allowed_requests: Sequence[AllowedRequest], request: RemoteRequest, settings: Any = None
) -> str | AllowedRequest:
    """Returns the allowed request that matches, or why none does."""
    if not _PLAIN.fullmatch(request.path) or _SNEAKING.search(request.path):
        return "its path has characters that a path of ours never has"
    if any(part in {".", ".."} for part in unquote(request.path).split("/")) or "//" in request.path:
        return "its path is not in its shortest form"
    why = f"{request.method} {request.path} is not among what services may ask of it"
    for ask in allowed_requests:
        if ask.method != request.method or not ask.regex.fullmatch(request.path):
            continue
        problem = _query_problem(ask, request) or _document_problem(ask, request, settings)
        if problem is None:
            return ask
        why = problem
    return why


def _query_problem(ask: AllowedRequest, request: RemoteRequest) -> str | None:
    for name, value in request.query:
        if ask.query is None:
            if name.lower() in _FORBIDDEN:
                return f"{name} in a query could ask for something else"
        elif name not in ask.query or not re.fullmatch(ask.query[name], value):
            return f"{name} in a query is not among what services may ask of it"
    return None


def _document_problem(ask: AllowedRequest, request: RemoteRequest, settings: Any) -> str | None:
    if isinstance(request.document, dict):
        for name in request.document:
            if name.lower() in {"_method", "method", "access_token", "batch"}:
                return f"{name} in a body could ask for something else"
    return None if ask.body is None else ask.body(request.document, settings)


class AccountTransport(Protocol):
    """Sends a kind's own requests, such as checks and log-ins."""

    async def __call__(self, request: WireRequest) -> RemoteResponse:
        """Raises NotSent, NoAnswer."""
        ...

    async def connect(self, host: str, port: int) -> socket.socket:
        """Opens a TCP connection for a protocol other than HTTP. Raises NotSent."""
        ...


@dataclass(frozen=True, slots=True)
class KindContext:
    """The account's settings and credentials, and the current time."""

    settings: Any
    credentials: Any
    now: datetime


class AccountKind:
    """A kind of account; subclasses override the defaults."""

    account: ClassVar[Account]
    settings: ClassVar[type[KindSettings]] = KindSettings
    credentials: ClassVar[type[AccountCredentials]] = TokenCredentials
    allowed_requests: ClassVar[Sequence[AllowedRequest]] = ()
    headers: ClassVar[frozenset[str]] = frozenset()
    """Header names in lower case that services may send, besides `GOOD_FOR_ALL`."""
    needed_headers: ClassVar[frozenset[str]] = frozenset()
    """The required ones among `headers`."""
    user_facts: ClassVar[tuple[str, ...]] = ("id",)
    """Names of facts that identify the user at the provider."""
    user_settings: ClassVar[tuple[str, ...]] = ("url",)
    """Names of settings that identify the user, such as the server's address."""
    seconds: ClassVar[float] = 20.0
    """Time limit of an account check."""
    check_request: ClassVar[RemoteRequest | None] = None
    """Its answer says who the account is; None: the provider has no such request."""
    remaining_header: ClassVar[str | None] = None
    """The header, in lower case, with the number of requests that the provider still takes."""
    reset_header: ClassVar[str | None] = None
    """The header with the time from which it takes more: seconds since 1970, or ISO 8601."""

    @property
    def name(self) -> str:
        return self.account.kind

    def url(self, context: KindContext, ask: AllowedRequest | None = None) -> str:
        """The base address for requests, without a final slash."""
        settings = context.settings
        found = settings.api_url or (ask.origin if ask else None) or self.account.api or settings.url
        return str(found).rstrip("/")

    def secret_path(self, context: KindContext) -> tuple[str, str]:
        """What precedes every path, and how it is shown; both empty unless the credentials are a part of it."""
        return "", ""

    def outgoing(
        self, context: KindContext, request: RemoteRequest, ask: AllowedRequest | None
    ) -> WireRequest:
        """Adds the account's address and credentials to the request."""
        origin, (path, shown) = self.url(context, ask), self.secret_path(context)
        below = "" if request.path == "/" else request.path
        given = WireRequest(
            request.method,
            f"{origin}{path}{below}",
            f"{origin}{shown}{below}",
            request.query,
            headers_of(request),
            request.body,
        )
        return self.authorise(given, context)

    def authorise(self, given: WireRequest, context: KindContext) -> WireRequest:
        """Adds the credentials."""
        return with_headers(given, context.credentials.authorization)

    def pause(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        """How long the account wants no requests; None if it has no limit now."""
        is_limited = answer.status == HTTPStatus.TOO_MANY_REQUESTS
        if not is_limited and answer.headers.get(self.remaining_header or "") != "0":
            return None
        if (reset := self.time_until_reset(answer, now)) is not None or not is_limited:
            return reset
        return retry_after(answer.headers.get("retry-after"), now) or _AFTER_429

    def time_until_reset(self, answer: RemoteResponse, now: datetime) -> timedelta | None:
        """How long until the provider takes more, if the answer says so."""
        return time_until(answer.headers.get(self.reset_header or ""), now)

    def user(self, account: ConnectedAccount) -> str | None:
        """Returns a hash that identifies the user at the provider and survives reconnection; None if unknown.

        Receipts store it. If its computation changes, a person must review every effect under way.
        """
        given = [str(account.settings.get(name) or "").rstrip("/") for name in self.user_settings]
        said = [account.facts.get(name, "") for name in self.user_facts]
        if not all(said) or not any((*given, *said)):
            return None
        told = json.dumps([self.name, given, said])
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def refusal_reason(self, answer: RemoteResponse) -> str | None:
        """Returns why the answer proves the credentials void; None if it does not."""
        return None

    def cost(self, context: KindContext, request: RemoteRequest) -> int:
        """The request's price in micro-dollars if it succeeds."""
        return 0

    def shown(self, request: RemoteRequest, answer: RemoteResponse) -> RemoteResponse:
        """The part of the answer that services may see."""
        return answer

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        """Asks the provider who the account is; asks nothing if there is no request for that.

        Raises:
            AccessRefused: the provider rejects the credentials.
            NotSent, NoAnswer: the provider cannot be reached now.
        """
        if self.check_request is None:
            return AccountCheck(None)
        answer = await transport(self.outgoing(context, self.check_request, None))
        if (why := self.check_refusal(answer)) is not None:
            raise AccessRefused(f"{why}{words_of(answer)}")
        return self.describe(check_response(self, answer), context)

    def check_refusal(self, answer: RemoteResponse) -> str | None:
        """Like `refusal_reason`, of the answer to `check_request`, which proves more."""
        return self.refusal_reason(answer)

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        """Reads the answer to `check_request`."""
        raise NotImplementedError

    # -- those whose credentials end by themselves, and are renewed ------------------------------------------------------

    def is_stale(self, context: KindContext) -> bool:
        """Whether the credentials must be renewed before the next request."""
        return False

    def says_stale(self, answer: RemoteResponse) -> bool:
        """Whether the answer reports expired credentials; the request had no effect and may be repeated after a renewal."""
        return False

    async def renew_credentials(
        self, transport: AccountTransport, context: KindContext, app: Any
    ) -> AccountCredentials:
        """Fetches new credentials.

        Raises:
            AccessRefused: the provider gives none; the account must be connected again.
            NotSent, NoAnswer: the provider cannot be reached now.
        """
        raise NotImplementedError


_SENTENCES: Final = (
    ("error_description",),
    ("error", "message"),
    ("detail",),
    ("message",),
    ("description",),
    ("error",),
    ("title",),
)
"""Where providers say in JSON why they refuse, the plainest first."""
_LONGEST_SENTENCE: Final = 200


def check_response(kind: AccountKind, answer: RemoteResponse) -> RemoteResponse:
    """Returns the response if its status is 2xx.

    Raises:
        AccessRefused: status 401, or the kind's own sign of void credentials.
        NoAnswer: any other status; it may be temporary.
    """
    if (why := kind.refusal_reason(answer)) is not None:
        raise AccessRefused(f"{why}{words_of(answer)}")
    if answer.status == HTTPStatus.UNAUTHORIZED:
        raise AccessRefused(f"the access was refused or has expired{words_of(answer)}: connect again")
    if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        raise NoAnswer(f"it answered {answer.status}{words_of(answer)}")
    return answer


def words_of(answer: RemoteResponse) -> str:
    """Returns the provider's own sentence about a failure, in brackets; empty if its answer has none.

    Mask the account's secrets before storing it: some providers echo them.
    """
    for names in _SENTENCES:
        told = answer.member(*names)
        if isinstance(told, str) and told.strip():
            return f" (“{' '.join(told.split())[:_LONGEST_SENTENCE]}”)"
    return ""


def headers_of(request: RemoteRequest) -> dict[str, str]:
    """The request's headers, with its `Content-Type`."""
    type_ = {} if request.media_type is None else {"Content-Type": request.media_type}
    return {**request.headers, **type_}


def with_headers(given: WireRequest, headers: Mapping[str, str]) -> WireRequest:
    return replace(given, headers={**given.headers, **headers})


def bearer(token: SecretStr) -> dict[str, str]:
    return {"Authorization": f"Bearer {token.get_secret_value()}"}


def basic_authorization(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def time_until(moment: str | None, now: datetime) -> timedelta | None:
    """Time from `now` to a Unix timestamp or ISO 8601 in a header; at least one second, None if it is neither."""
    try:
        is_timestamp = re.fullmatch(r"[0-9]{1,12}", moment or "")
        until = (
            datetime.fromtimestamp(int(moment or ""), UTC)
            if is_timestamp
            else datetime.fromisoformat(moment or "")
        )
    except ValueError:
        return None
    return max(until.astimezone(UTC) - now, timedelta(seconds=1))


def hide_entries(answer: RemoteResponse, hidden: Callable[[Any], bool]) -> RemoteResponse:
    """Removes hidden entries from a list; turns a hidden single entry into a 404."""
    document = answer.document
    if hidden(document):
        return replace(answer, status=HTTPStatus.NOT_FOUND, body=b'{"error":"not found"}')
    if isinstance(document, list):
        return replace(answer, body=json.dumps([each for each in document if not hidden(each)]).encode())
    return answer
