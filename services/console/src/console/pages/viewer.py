"""The signed-in person of a request: rights, texts, and the services' clients with the person's key."""

from collections.abc import Awaitable
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http import HTTPStatus
from typing import Annotated, Any, Final

from fastapi import Depends
from starlette.exceptions import HTTPException
from starlette.requests import Request

from chassis import Connections
from chassis.http.callers import Scope
from client import ClientError, RefusedError
from console.pages.brands import KnownBrands
from console.pages.parts import ConsoleParts, parts_of
from console.pages.paused_queues import PausedQueue
from console.people.domain import Person
from console.sealing import SealedError, token_hash, token_key, unseal
from console.service_clients import Away, PersonClients, Refused, is_away, sentence_of
from console.sessions import cookies, store
from console.sessions.store import Session
from console.side_by_side import side_by_side
from console.texts import Texts

NOTICE: Final = "notice"
"""Names the notice in the address of a page."""
CONFIRMED_FOR: Final = timedelta(minutes=10)
"""How long a password counts for grave acts."""
_OUTLIVES_BRANDS: Final = "/b/{brand}/settings/erase"
"""The page of an erasure, which says how far it is when the brand is no more."""


class SignInNeededError(HTTPException):
    """The request has no session; the handler sends the browser to the sign-in page."""

    def __init__(self) -> None:
        super().__init__(HTTPStatus.UNAUTHORIZED, "sign in first")


class PasswordNeededError(HTTPException):
    """The act is grave and the password was given too long ago; the handler asks for it, and repeats the form."""

    def __init__(
        self, fields: tuple[tuple[str, str], ...], error: str | None, *, offers_passkey: bool = False
    ) -> None:
        super().__init__(HTTPStatus.FORBIDDEN, "give your password again")
        self.fields = fields
        """What the form sent, without the password."""
        self.offers_passkey = offers_passkey
        self.error = error
        """Key of the text that says why the password was not taken."""


class PageViewer(PersonClients):
    """The person who looks at a page."""

    def __init__(
        self, parts: ConsoleParts, session: Session, own_key: bytes, api_key: str, session_key: bytes
    ) -> None:
        super().__init__(parts.services, lambda: api_key)
        self._parts = parts
        self.session = session
        self.person: Person = session.person
        self.own_key = own_key
        """Opens what is sealed for the person."""
        self.session_key = session_key
        """Opens what is sealed for this session alone."""
        self.notice: Any = None
        """What the page says was done."""
        self.paused_queues: tuple[PausedQueue, ...] = ()
        """For the line on every page; empty for those who may not see the backbone."""
        self.lacks_brand = False
        """Whether the brand of the address does not exist for this person: its bar is not shown."""
        self.brands = KnownBrands()
        """Brands that the person may see, by slug and name; the last known ones while the orchestrator is away."""

    @cached_property
    def t(self) -> Texts:
        return Texts(self._parts.texts, self.person.language, self.person.zone)

    @property
    def connections(self) -> Connections:
        """To the console's own database."""
        return self._parts.connections

    def may(self, scope: Scope) -> bool:
        return scope in self.person.scopes

    def may_see(self, brand: str) -> bool:
        return self.person.brands is None or brand in self.person.brands

    def check_may(self, scope: Scope) -> None:
        """Raises HTTPException 403 if the person's role lacks the scope."""
        if not self.may(scope):
            raise HTTPException(HTTPStatus.FORBIDDEN, self.t("layout.error.role"))

    def check_owner(self) -> None:
        if not self.person.is_owner:
            raise HTTPException(HTTPStatus.FORBIDDEN, self.t("layout.error.owner"))

    @property
    def is_confirmed(self) -> bool:
        """Whether the password was given lately, so that `confirm_password` does not ask for it."""
        return datetime.now(UTC) - self.session.confirmed_at <= CONFIRMED_FOR

    async def gather(self, **calls: Awaitable[Any]) -> dict[str, Any]:
        """Awaits calls of the services side by side; a part whose service is away is an `Away`.

        Raises:
            ClientError: a service refuses a call; the page shows its sentence.
        """
        answers = await side_by_side(self._answer, list(calls.values()))
        return dict(zip(calls, answers, strict=True))

    async def ask_one(self, service: str, call: Awaitable[Any]) -> Any:
        """Returns the answer of a service beside those of others: an `Away` or a `Refused` leaves theirs on the page."""
        try:
            return (await self.gather(found=call))["found"]
        except RefusedError as error:
            return Refused(service, sentence_of(error, self.t))

    async def _answer(self, call: Awaitable[Any]) -> Any:
        service = _service_of(call)
        try:
            answer = await call
        except ClientError as error:
            if isinstance(error, RefusedError) and not is_away(error):
                raise
            return self._parts.services.note_failure(service)
        self._parts.services.note_answer(service)
        return answer

    @property
    def may_see_backbone(self) -> bool:
        """Queues hold messages of all brands."""
        return self.may(Scope.OPERATE) and self.person.brands is None

    async def read_brands(self) -> None:
        self.brands = await self._parts.brand_names.of(self.person.key_id, self.orchestrator)

    async def is_unknown_brand(self, brand: str) -> bool:
        """Whether the orchestrator says that there is no such brand; False while it is away.

        It is asked about a brand alone that the list of names lacks: one made a moment ago, or behind MOST_BRANDS others.
        """
        if brand in self.brands.by_slug:
            return False
        try:
            await self.gather(about=self.orchestrator.get_brand(brand, counters=False))
        except RefusedError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return True
            raise
        return False

    async def read_paused_queues(self) -> None:
        if self.may_see_backbone:
            self.paused_queues = await self._parts.paused_queues.read(self)


def _service_of(call: Awaitable[Any]) -> str:
    """Returns the service that a method of a generated client asks; a coroutine's frame has the client."""
    frame = getattr(call, "cr_frame", None)
    client = None if frame is None else frame.f_locals.get("self")
    return str(getattr(client, "service", "a service"))


async def find_viewer(request: Request, *, touch: bool = True) -> PageViewer | None:
    """Finds the person who is signed in with the request's cookie; None without a session.

    With `touch`, the request counts as activity of the person and prolongs the session.
    """
    parts = parts_of(request)
    token = cookies.read(request, parts.urls)
    if token is None:
        return None
    async with parts.connections.connection() as connection:
        session = await store.find_session(
            connection,
            token_hash(token),
            idle=parts.settings.session_idle,
            age=parts.settings.session_age,
            touch=touch,
        )
    if session is None:
        return None
    try:
        own_key = unseal(session.sealed, token_key(token), "session")
        api_key = unseal(session.sealed_key, own_key, f"api key of {session.person.id}").decode()
    except SealedError:  # the password was reset meanwhile
        return None
    return PageViewer(parts, session, own_key, api_key, token_key(token))


def _has_paused_queues(request: Request) -> bool:
    """Returns whether the answer has the line of paused queues: a whole page, or that line alone."""
    target = request.headers.get("hx-target", "").rpartition("#")[2]
    return request.headers.get("hx-request") != "true" or target == "paused-queues"


def _unknown_brand(viewer: PageViewer, brand: str) -> HTTPException:
    viewer.lacks_brand = True
    return HTTPException(HTTPStatus.NOT_FOUND, viewer.t("layout.error.brand", brand=brand))


async def current_viewer(request: Request) -> PageViewer:
    # A page that renews itself says nothing about whether anyone looks at it.
    viewer = await find_viewer(request, touch="console-live" not in request.headers)
    if viewer is None:
        raise SignInNeededError
    request.state.viewer = viewer
    brand = request.path_params.get("brand")
    if brand is not None and not viewer.may_see(brand):
        raise _unknown_brand(viewer, brand)
    await viewer.read_brands()
    if (
        brand is not None
        and request.method == "GET"
        and request.scope["route"].path != _OUTLIVES_BRANDS
        and await viewer.is_unknown_brand(brand)
    ):
        raise _unknown_brand(viewer, brand)
    if _has_paused_queues(request):
        await viewer.read_paused_queues()
    if request.method == "GET" and NOTICE in request.query_params:
        viewer.notice = await parts_of(request).find_notice(request, viewer, request.query_params[NOTICE])
    return viewer


Viewer = Annotated[PageViewer, Depends(current_viewer)]
"""The annotation of a route's argument: the signed-in person, or the sign-in page."""
__all__ = ["Away", "PageViewer", "Viewer", "current_viewer", "find_viewer"]
