"""What every kind of account says of itself: where it is, how credentials are put on a request, and what may be asked.

What is not among the `asks` of a kind is not asked, whoever wants it: a key of a service that was stolen is worth that much.
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

from pydantic import BaseModel, ConfigDict, Field, SecretStr

from chassis import WebAddress
from chassis.http.client import retry_after
from gateway.accounts.domain import Account, Looked
from gateway.limits import Bounds

LISTING_BYTES: Final = 4_000_000
"""Of an answer that lists posts, at most: some servers list as many as they have, however few are asked for."""
_AFTER_429: Final = timedelta(seconds=60)
"""For whoever says "too many" and not until when."""
_ITEM: Final = re.compile(r"[\s,]*(?=[^\s,\]])")
_PLAIN: Final = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*")
_SNEAKING: Final = re.compile(r"%(?:2[eEfF]|5[cC]|0[0-9a-fA-F]|3[fF]|23|25)")
"""Dots, slashes and the like that only whoever decodes a path sees."""
_FORBIDDEN: Final = frozenset(
    {"_method", "method", "rest_route", "access_token", "batch", "oauth_token", "key"}
)
"""Names that change what is asked, or on whose behalf, at one provider or another."""


class KindSettings(BaseModel):
    """What an operator says of an account, besides its credentials."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    api_url: WebAddress | None = None
    """Another address than the provider's own: a proxy's, or that of a test."""
    per_minute: Annotated[int, Field(ge=1, le=100_000)] = 60
    """Requests, evenly."""
    together: Annotated[int, Field(ge=1, le=1000)] = 20
    """So many of them may come at the same moment."""
    at_once: Annotated[int, Field(ge=1, le=100)] = 4
    """Requests under way at a time, over all replicas."""

    def bounds(self, seconds: float) -> Bounds:
        return Bounds(
            self.per_minute, None, self.together, self.at_once, seconds, "brandctl accounts connect"
        )


class Credentials(BaseModel):
    """What is secret of an account; kept sealed, never shown."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, hide_input_in_errors=True
    )

    def secrets(self) -> tuple[str, ...]:
        """Every text that must not be seen anywhere."""
        return tuple(
            value.get_secret_value() for value in dict(self).values() if isinstance(value, SecretStr)
        )

    def plain(self) -> str:
        """As it is sealed."""
        shown = {
            name: value.get_secret_value() if isinstance(value, SecretStr) else value
            for name, value in dict(self).items()
        }
        return json.dumps(shown, default=lambda value: value.isoformat())


class TokenCredentials(Credentials):
    """One token, which does not change."""

    token: SecretStr

    @property
    def bearer(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token.get_secret_value()}"}


@dataclass(frozen=True, slots=True)
class Request:
    """What a service wants to ask; of `body`, `document` is the JSON or the form that it is."""

    method: str
    path: str
    query: Sequence[tuple[str, str]] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    media_type: str | None = None
    document: Any = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What goes over the wire."""

    method: str
    url: str
    """With the path of the provider; what is secret in it never leaves this process but by the wire."""
    shown: str
    """The same for traces and errors, without secrets."""
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back, whatever its status; `headers` by names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    truncated: bool = False

    @property
    def document(self) -> Any:
        """The JSON in the body; None if there is none. Of a list that was cut off, the items that are whole."""
        try:
            return leading_items(self.body) if self.truncated else json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def member(self, *names: str) -> Any:
        """What is found there in the JSON; None if there is nothing."""
        found = self.document
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found


def leading_items(body: bytes) -> list[Any] | None:
    """The items of a JSON list that are whole, of a body that was cut off; None: it is no list."""
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
            break  # a number may go on
        items.append(item)
    return items


class NotSent(Exception):  # noqa: N818 - an outcome, as `NoAnswer` is
    """Not a byte of the request left."""


class NoAnswer(Exception):  # noqa: N818
    """Bytes were sent, and no whole answer came: nobody knows what became of it."""


class AccessRefused(Exception):  # noqa: N818
    """The other side does not know these credentials, or not any more. The message says what to do."""


Checked = Callable[[Any, Any], str | None]
"""Of a JSON or form body and the account's settings: why it is not sent, or None."""
_SEGMENTS: Final = {
    "": "[^/]+",
    "path": ".+",
    "version": r"v[0-9]{1,2}\.[0-9]{1,2}",
    "number": "[0-9]{1,30}|me",
}


@dataclass(frozen=True, slots=True)
class Ask:
    """A request that services may make.

    Args:
        method: of HTTP.
        path: with `{name}` for one segment, `{name:path}` for several, `{name:number}` and `{name:version}`; without the
            credentials.
        query: names that may be given, with what their values look like; None: any name that changes nothing by itself.
        body: looks at JSON or form.
        origin: of the provider, where it is another than that of the account.
        most_bytes: of an answer; what is longer is cut off.
    """

    method: str
    path: str
    query: Mapping[str, str] | None = None
    body: Checked | None = None
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


def refusal(asks: Sequence[Ask], request: Request, settings: Any = None) -> str | Ask:
    """What of a kind's `asks` the request is, or why it is none."""
    if not _PLAIN.fullmatch(request.path) or _SNEAKING.search(request.path):
        return "its path has characters that a path of ours never has"
    if any(part in {".", ".."} for part in unquote(request.path).split("/")) or "//" in request.path:
        return "its path is not in its shortest form"
    why = f"{request.method} {request.path} is not among what services may ask of it"
    for ask in asks:
        if ask.method != request.method or not ask.regex.fullmatch(request.path):
            continue
        problem = _query_problem(ask, request) or _document_problem(ask, request, settings)
        if problem is None:
            return ask
        why = problem
    return why


def _query_problem(ask: Ask, request: Request) -> str | None:
    for name, value in request.query:
        if ask.query is None:
            if name.lower() in _FORBIDDEN:
                return f"{name} in a query could ask for something else"
        elif name not in ask.query or not re.fullmatch(ask.query[name], value):
            return f"{name} in a query is not among what services may ask of it"
    return None


def _document_problem(ask: Ask, request: Request, settings: Any) -> str | None:
    if isinstance(request.document, dict):
        for name in request.document:
            if name.lower() in {"_method", "method", "access_token", "batch"}:
                return f"{name} in a body could ask for something else"
    return None if ask.body is None else ask.body(request.document, settings)


class Exchange(Protocol):
    """For questions of a kind's own; nothing of them is a service's."""

    async def __call__(self, request: Outgoing) -> Answer:
        """Raises NotSent, NoAnswer."""
        ...

    async def connect(self, host: str, port: int) -> socket.socket:
        """A connection where no HTTP is spoken. Raises NotSent."""
        ...


@dataclass(frozen=True, slots=True)
class Own:
    """What a kind goes by when it asks: of its own kind, the account's settings and credentials, and what time it is."""

    settings: Any
    credentials: Any
    now: datetime


class Kind:
    """One for each kind; what is not overridden is what most of them do."""

    name: ClassVar[str]
    settings: ClassVar[type[KindSettings]] = KindSettings
    credentials: ClassVar[type[Credentials]] = TokenCredentials
    base: ClassVar[str | None] = None
    """The provider's own address; None: the settings have it."""
    asks: ClassVar[Sequence[Ask]] = ()
    headers: ClassVar[frozenset[str]] = frozenset()
    """Names in lower case that services may send beside those that are good for all."""
    needed_headers: ClassVar[frozenset[str]] = frozenset()
    """Of these, those that must be there."""
    user_facts: ClassVar[tuple[str, ...]] = ("id",)
    """Names of what the other side says of an account that tell one user there from another."""
    user_settings: ClassVar[tuple[str, ...]] = ("url",)
    """Names of settings that do, such as the address of the server that the user is on."""
    seconds: ClassVar[float] = 20.0
    """For a look at the account."""

    def url(self, own: Own, ask: Ask | None = None) -> str:
        """Where requests go, without a slash at the end."""
        found = own.settings.api_url or (ask.origin if ask else None) or self.base or own.settings.url
        return str(found).rstrip("/")

    def outgoing(self, own: Own, request: Request, ask: Ask | None) -> Outgoing:
        """The request with the account's credentials on it."""
        origin = self.url(own, ask)
        given = Outgoing(
            request.method,
            f"{origin}{request.path}",
            f"{origin}{request.path}",
            request.query,
            headers_of(request),
            request.body,
        )
        return self.authorised(given, own)

    def authorised(self, given: Outgoing, own: Own) -> Outgoing:
        """By default a bearer token."""
        return with_headers(given, own.credentials.bearer)

    def pause(self, answer: Answer, now: datetime) -> timedelta | None:
        """How long nothing more may be asked; None if something may."""
        if answer.status != HTTPStatus.TOO_MANY_REQUESTS:
            return None
        return retry_after(answer.headers.get("retry-after"), now) or _AFTER_429

    def user(self, account: Account) -> str | None:
        """What stands for the user as whom an account is connected, the same after each reconnection; None: nobody knows (yet).

        Services keep it. So whoever changes how it is made has every effect that is under way looked at by a person.
        """
        given = [str(account.settings.get(name) or "").rstrip("/") for name in self.user_settings]
        said = [account.facts.get(name, "") for name in self.user_facts]
        if not all(said) or not any((*given, *said)):
            return None
        told = json.dumps([self.name, given, said])
        return hashlib.sha256(told.encode()).hexdigest()[:32]

    def refused(self, answer: Answer) -> str | None:
        """Why this answer says for sure that the credentials are good for nothing any more; None: it does not say so."""
        return None

    def cost(self, own: Own, request: Request) -> int:
        """Micro-dollars that the request costs if it is carried out."""
        return 0

    def shown(self, request: Request, answer: Answer) -> Answer:
        """What of an answer services get to see."""
        return answer

    async def look(self, exchange: Exchange, own: Own) -> Looked:
        """What the other side says of the account.

        Raises:
            AccessRefused: it refuses the credentials.
            NotSent, NoAnswer: it cannot be asked now.
        """
        raise NotImplementedError

    # -- those whose credentials end by themselves, and are renewed ------------------------------------------------------

    def is_stale(self, own: Own) -> bool:
        """Whether they are to be renewed before anything is asked."""
        return False

    def says_stale(self, answer: Answer) -> bool:
        """Whether the answer says so: then nothing was done, and the same may be asked again with new ones."""
        return False

    async def renewed(self, exchange: Exchange, own: Own, app: Any) -> Credentials:
        """New ones.

        Raises:
            AccessRefused: there are none: somebody has to connect the account again.
            NotSent, NoAnswer: it cannot be asked now.
        """
        raise NotImplementedError


async def asked(kind: Kind, exchange: Exchange, own: Own, request: Request) -> Answer:
    """The answer to a question of the kind's own, such as who one is.

    Raises:
        AccessRefused, NoAnswer: as `good` does; NotSent.
    """
    return good(kind, await exchange(kind.outgoing(own, request, None)))


def good(kind: Kind, answer: Answer) -> Answer:
    """The same answer, if it is one.

    Raises:
        AccessRefused: 401, or what the kind takes for it.
        NoAnswer: any other that is none: what it says passes, for all that is known.
    """
    if (why := kind.refused(answer)) is not None:
        raise AccessRefused(why)
    if answer.status == HTTPStatus.UNAUTHORIZED:
        raise AccessRefused("the access was refused or has expired: connect again")
    if not HTTPStatus.OK <= answer.status < HTTPStatus.MULTIPLE_CHOICES:
        raise NoAnswer(f"it answered {answer.status}")
    return answer


def headers_of(request: Request) -> dict[str, str]:
    """What was given, and what the body is."""
    type_ = {} if request.media_type is None else {"Content-Type": request.media_type}
    return {**request.headers, **type_}


def with_headers(given: Outgoing, headers: Mapping[str, str]) -> Outgoing:
    return replace(given, headers={**given.headers, **headers})


def json_headers() -> dict[str, str]:
    return {"Content-Type": "application/json", "Accept": "application/json"}


def basic(user: str, password: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


def until(seconds_since_1970: str | None, now: datetime) -> timedelta | None:
    """From now to such a moment, of which some providers' headers speak."""
    if seconds_since_1970 is None or not re.fullmatch(r"[0-9]{1,12}", seconds_since_1970):
        return None
    return max(datetime.fromtimestamp(int(seconds_since_1970), UTC) - now, timedelta(seconds=1))


def without(answer: Answer, hidden: Callable[[Any], bool]) -> Answer:
    """The answer without the entries that are hidden; where it is one itself, as if it were not there."""
    document = answer.document
    if hidden(document):
        return replace(answer, status=HTTPStatus.NOT_FOUND, body=b'{"error":"not found"}')
    if isinstance(document, list):
        return replace(answer, body=json.dumps([each for each in document if not hidden(each)]).encode())
    return answer
