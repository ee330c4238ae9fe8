"""What every provider of this package is made of: routes, what was accepted, and a door for who watches."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar, Final, TypeAlias, TypeVar

from fakes.serving.exchange import Reply, Request, as_json, empty
from fakes.serving.faults import Faults

Handler: TypeAlias = Callable[..., Reply]
_Handler = TypeVar("_Handler", bound=Handler)

# A path of no provider's: what a watcher asks, which is neither recorded nor struck by a fault.
WATCHING: Final = "/_"


def route(method: str, path: str) -> Callable[[_Handler], _Handler]:
    """The method of a fake answers there; `{name}` in the path is one segment, handed over under that name."""

    def mark(handler: _Handler) -> _Handler:
        handler.__dict__.setdefault("routes", []).append((method, _pattern(path)))
        return handler

    return mark


def _pattern(path: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(path)))


@dataclass(frozen=True, slots=True)
class AcceptedItem:
    """Something that the public would see.

    `kind`: "post", "comment", "article" …; `by`: the account; `url`: where it is seen, if it has an address; `more`: what else
    was given with it, such as pictures and their alternative texts.
    """

    id: str
    by: str
    text: str
    kind: str = "post"
    url: str | None = None
    more: Mapping[str, Any] = field(default_factory=dict)


class Fake:
    """A provider. `accepted` has accepted items, `requests` all requests, and `faults` the faults to inject.

    A subclass has its routes and, if documented, its own answers for `limited`, `expired` and `failed`. Its handlers finish before they
    return, without waiting, so that no request sees partial work.
    """

    _routes: ClassVar[Sequence[tuple[str, re.Pattern[str], str]]] = ()

    def __init__(self) -> None:
        self.url = ""
        """Where it answers, while it does: `http://127.0.0.1:40123`."""
        self.faults = Faults()
        self.requests: list[Request] = []
        self.now: Callable[[], datetime] = lambda: datetime.now(UTC)
        self.tells_time = True
        """Whether answers have the header `Date`."""
        self._accepted: list[AcceptedItem] = []

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        routes = [
            (method, pattern, name)
            for name in dir(cls)
            if callable(handler := getattr(cls, name))
            for method, pattern in getattr(handler, "routes", ())
        ]
        # `/posts/latest` before `/posts/{id}`.
        cls._routes = sorted(routes, key=lambda each: each[1].groups)

    @property
    def accepted(self) -> Sequence[AcceptedItem]:
        """The public items, in order of arrival."""
        return tuple(self._accepted)

    def set_clock(self, ahead: timedelta) -> None:
        """Has the provider's clock be so far ahead of this machine's, or behind it: negative."""
        self.now = lambda: datetime.now(UTC) + ahead

    def accept(self, accepted: AcceptedItem) -> None:
        self._accepted.append(accepted)

    def answer(self, request: Request) -> Reply:
        """As the provider does; `Fault`s are the server's to play."""
        allowed = False
        for method, pattern, name in self._routes:
            if found := pattern.fullmatch(request.path):
                if method == request.method:
                    reply: Reply = getattr(self, name)(request, **found.groupdict())
                    return reply
                allowed = True
        return self.not_allowed(request) if allowed else self.unknown(request)

    # --- as this provider says it; general words here ---------------------------------------------------------------

    def limited(self, request: Request) -> Reply:
        return as_json({"error": "Too many requests"}, 429, {"retry-after": "1"})

    def expired(self, request: Request) -> Reply:
        return as_json({"error": "Unauthorized"}, 401)

    def failed(self, request: Request, status: int) -> Reply:
        return as_json({"error": "Internal server error"}, status)

    def unknown(self, request: Request) -> Reply:
        return as_json({"error": "Not found"}, 404)

    def not_allowed(self, request: Request) -> Reply:
        return as_json({"error": "Method not allowed"}, 405)

    # --- for who watches --------------------------------------------------------------------------------------------

    def watched(self, request: Request) -> Reply:
        """`GET /_accepted` and `/_requests` tell what came; `GET`, `POST`, `DELETE /_faults` tell, inject, take away.

        `POST /_clock` sets the provider's clock: {"ahead": seconds}.
        """
        match request.method, request.path:
            case "GET", "/_accepted":
                return _listed([asdict(each) for each in self.accepted])
            case "GET", "/_requests":
                return _listed([f"{each.method} {each.path}" for each in self.requests])
            case "GET", "/_faults":
                return _listed(self.faults.told())
            case "POST", "/_faults":
                return self._inject(request)
            case "POST", "/_clock":
                self.set_clock(timedelta(seconds=request.json()["ahead"]))
                return empty()
            case "DELETE", "/_faults":
                self.faults.clear()
                return empty()
        return as_json({"error": "Not found"}, 404)

    def _inject(self, request: Request) -> Reply:
        try:
            self.faults.inject(**request.json())
        except (TypeError, ValueError) as error:
            return as_json({"error": str(error)}, 422)
        return empty()


def _listed(items: Sequence[Any]) -> Reply:
    return as_json({"count": len(items), "items": items})
