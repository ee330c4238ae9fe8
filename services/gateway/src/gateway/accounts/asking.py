"""Asking an account on behalf of a service: whether it may be asked this, in its turn, fenced, and paid for where it costs something."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

import structlog

from chassis import Connection, Connections
from gateway.accounts import fences, store
from gateway.accounts.domain import OPERATORS, Effect
from gateway.accounts.kind import AccessRefused, Answer, Ask, NoAnswer, NotSent, Request, refusal
from gateway.accounts.registry import Opened, Registry, identities, needs_reconnecting
from gateway.accounts.renewing import Renewing
from gateway.accounts.sending import Deadline, Sender
from gateway.accounts.turns import Turns, waits
from gateway.calls import Asked, Paying, fingerprint
from gateway.limits import Go, Wait
from gateway.outcomes import Failed, Paid
from gateway.problems import Problem, ProblemError

log = structlog.get_logger(__name__)

_PATIENCE: Final = timedelta(seconds=5)
"""For a turn; whoever has to wait longer comes back."""
_MARGIN: Final = timedelta(seconds=1)
"""From when a request writes nothing any more until nobody waits for it."""
_AGAIN_AFTER: Final = timedelta(seconds=30)
CHECK_AGAIN: Final = timedelta(days=1)
_HIDDEN: Final = b"***"
READ_AT_ONCE: Final = 200_000
"""Bytes of an answer that are read where everything else waits; what is longer is read in a thread."""
_IDENTITY_AGAIN_AFTER: Final = timedelta(seconds=10)
GOOD_FOR_ALL: Final = frozenset({"accept", "accept-language", "if-match", "if-none-match", "prefer"})
"""Headers that a service may send to any kind."""
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a service asks, and on whose behalf."""

    account: str
    brand: str | None
    request: Request
    effect: Effect | None
    seconds: float
    identity: str | None = None
    """As whom the account has to be connected; None: as anybody."""


@dataclass(frozen=True, slots=True)
class Told:
    """What was answered, without anything secret; `pause`: how long nothing more is to be asked."""

    answer: Answer
    retry_at: datetime | None


class AskingAccounts:
    """One for the process.

    Args:
        connections: of the gateway's database.
        registry: of accounts.
        renewing: of credentials that end by themselves.
        turns: of requests.
        paying: for what costs something.
        sender: the way out.
    """

    def __init__(
        self,
        connections: Connections,
        registry: Registry,
        renewing: Renewing,
        turns: Turns,
        paying: Paying,
        sender: Sender,
    ) -> None:
        self._connections = connections
        self._registry = registry
        self._renewing = renewing
        self._turns = turns
        self._paying = paying
        self._sender = sender
        self._in_hand: set[asyncio.Task[Any]] = set()

    async def ask(self, wanted: Wanted) -> Told:
        """The answer of the account's own side, whatever its status.

        Whoever asked may go away: what has begun is carried to its end, so that it is known when nothing of it is under way.

        Raises:
            ProblemError: why there is none.
        """
        # From now on, so that whoever asks knows by when he is told.
        deadline = Deadline(wanted.seconds)
        opened = await self._registry.usable(wanted.account, wanted.brand)
        ask = _permitted(opened, wanted.request)
        return await self._in_peace(self._ask(opened, ask, wanted, deadline))

    async def close(self, account: str, brand: str | None, receipt_id: UUID, fence: int) -> None:
        """From now on, nothing is sent for the receipt that comes with a lower fence.

        Raises:
            ProblemError: `call.fenced`, `call.under_way`, `account.not_connected`.
        """
        await self._registry.known(account, brand)
        async with self._connections.connection() as connection, connection.transaction():
            await fences.pass_fence(connection, Effect(receipt_id, "", fence, sends=False))

    async def finish(self, within: float) -> None:
        """Waits for requests in hand."""
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=within)

    async def _in_peace(self, work: Awaitable[_Result]) -> _Result:
        task = asyncio.ensure_future(work)
        self._in_hand.add(task)
        task.add_done_callback(self._put_down)
        return await asyncio.shield(task)

    def _put_down(self, task: asyncio.Task[Any]) -> None:
        self._in_hand.discard(task)
        if not task.cancelled():
            task.exception()  # looked at: whoever asked may have gone

    async def _ask(self, opened: Opened, ask: Ask, wanted: Wanted, deadline: Deadline) -> Told:
        opened = await self._renewing.fresh(opened)
        cost = opened.kind.cost(opened.own, wanted.request)
        if not cost:
            call = await self._turns.begin(opened, wanted.brand, wanted.effect, deadline)
            return await self._carry_out(call, opened, ask, wanted, deadline)
        return await self._pay(opened, ask, wanted, deadline, cost)

    async def _pay(self, opened: Opened, ask: Ask, wanted: Wanted, deadline: Deadline, cost: int) -> Told:
        begun: list[UUID] = []
        told: list[Told] = []

        async def turn(connection: Connection) -> Go | Wait:
            decided = await self._turns.turn(connection, opened, wanted.brand, wanted.effect, deadline)
            if isinstance(decided, UUID):
                begun.append(decided)
                return Go(datetime.now(UTC), datetime.now(UTC), None)
            return replace(decided, problem=waits(decided))

        async def send() -> Paid:
            try:
                found = await self._carry_out(begun[-1], opened, ask, wanted, deadline)
            except ProblemError as error:
                raise Failed(
                    error.problem, spent=None if error.problem.type == "call.no_answer" else 0
                ) from None
            told.append(found)
            status = found.answer.status
            # A refusal costs nothing; after a failure of theirs nobody knows.
            spent = 0 if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR else cost
            return Paid({"status": status}, spent)

        asked = Asked(
            brand=wanted.brand or OPERATORS,
            provider=f"{fences.GATE}{opened.account.name}",
            subject=f"{wanted.request.method} {ask.path}",
            # Never the same as another: receipts say which may be sent again.
            fingerprint=fingerprint("account", str(uuid4())),
            maximum=cost,
            within=timedelta(seconds=wanted.seconds) + 2 * _MARGIN,
            fresh=timedelta(),
        )
        await self._paying.once(asked, send, turn)
        return told[-1]

    async def _carry_out(
        self, call: UUID, opened: Opened, ask: Ask, wanted: Wanted, deadline: Deadline
    ) -> Told:
        try:
            return await self._send(opened, ask, wanted, deadline)
        finally:
            await self._turns.end(call)

    async def _send(self, opened: Opened, ask: Ask, wanted: Wanted, deadline: Deadline) -> Told:
        answer = await self._exchange(opened, ask, wanted, deadline)
        if opened.kind.says_stale(answer) and (renewed := await self._renewing.again(opened)) is not None:
            # It was refused, so nothing was done.
            opened = renewed
            answer = await self._exchange(opened, ask, wanted, deadline)
        now = datetime.now(UTC)
        if (pause := opened.kind.pause(answer, now)) is not None:
            await self._turns.rest(opened, pause)
        await self._look_at_refusal(opened, answer)
        shown = await self._shown(opened, wanted.request, answer)
        return Told(without_secrets(shown, opened), None if pause is None else now + pause)

    async def _shown(self, opened: Opened, request: Request, answer: Answer) -> Answer:
        if len(answer.body) <= READ_AT_ONCE:
            return opened.kind.shown(request, answer)
        return await asyncio.to_thread(opened.kind.shown, request, answer)

    async def _exchange(self, opened: Opened, ask: Ask, wanted: Wanted, deadline: Deadline) -> Answer:
        # With the very credentials that are sent: somebody may connect the account as another user at any moment.
        if wanted.identity is not None and wanted.identity not in identities(opened.account):
            raise ProblemError(_other_identity(opened))
        outgoing = opened.kind.outgoing(opened.own, wanted.request, ask)
        try:
            return await self._sender.send(outgoing, deadline, ask.most_bytes)
        except NotSent as error:
            raise ProblemError(not_sent(str(error))) from None
        except NoAnswer as error:
            raise ProblemError(no_answer(str(error))) from None

    async def _look_at_refusal(self, opened: Opened, answer: Answer) -> None:
        """Where the answer says that the account is of no use any more, everybody is told so from now on."""
        why = opened.kind.refused(answer)
        if why is None and answer.status == HTTPStatus.UNAUTHORIZED:
            # It may be about this request alone.
            try:
                await opened.kind.look(self._sender.asking(opened.kind.seconds), opened.own)
            except AccessRefused as error:
                why = str(error)
            except (NotSent, NoAnswer):
                return
        if why is None:
            return
        log.warning("account_refused", account=opened.account.name, kind=opened.account.kind, why=why)
        async with self._connections.connection() as connection:
            await store.found_refused(connection, opened.account, why, CHECK_AGAIN)
        raise ProblemError(needs_reconnecting(opened.account.name, why))


def _permitted(opened: Opened, request: Request) -> Ask:
    allowed = GOOD_FOR_ALL | opened.kind.headers
    if strange := sorted(name for name in request.headers if name.lower() not in allowed):
        raise ProblemError(
            _not_allowed(opened, f"the header {strange[0]} is not among those that may be sent to it")
        )
    given = {name.lower() for name in request.headers}
    if missing := sorted(opened.kind.needed_headers - given):
        raise ProblemError(_not_allowed(opened, f"the header {missing[0]} is missing"))
    found = refusal(opened.kind.asks, request, opened.settings)
    if isinstance(found, str):
        raise ProblemError(_not_allowed(opened, found))
    return found


def without_secrets(answer: Answer, opened: Opened) -> Answer:
    """The answer with the account's secrets hidden: some providers repeat what they were given."""
    body, headers = answer.body, dict(answer.headers)
    for secret in opened.credentials.secrets():
        if len(secret) < 8:  # noqa: PLR2004  (it would be hidden where it means something else)
            continue
        body = body.replace(secret.encode(), _HIDDEN)
        headers = {name: value.replace(secret, _HIDDEN.decode()) for name, value in headers.items()}
    return replace(answer, body=body, headers=_told_headers(headers))


_TOLD: Final = frozenset(
    {"age", "content-type", "date", "etag", "last-modified", "link", "location", "retry-after"}
)


def _told_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in headers.items()
        if name in _TOLD or name.startswith(("x-", "ratelimit-", "webhook-"))
    }


def _not_allowed(opened: Opened, why: str) -> Problem:
    return Problem(
        "account.request_not_allowed",
        f"{opened.account.name} ({opened.account.kind}) is not asked this: {why}",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _other_identity(opened: Opened) -> Problem:
    who = f" as {opened.account.label}" if opened.account.label else ""
    return Problem(
        "account.other_identity",
        f"nothing was sent: {opened.account.name} is connected{who}, which is another user than this was begun for, or not"
        f" known yet (`brandctl accounts check {opened.account.name}`)",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=True,
        after=_IDENTITY_AGAIN_AFTER,
    )


def not_sent(why: str) -> Problem:
    return Problem(
        "call.not_sent",
        f"nothing was sent to {why}",
        HTTPStatus.SERVICE_UNAVAILABLE,
        transient=True,
        after=_AGAIN_AFTER,
    )


def no_answer(why: str) -> Problem:
    return Problem(
        "call.no_answer",
        f"nobody knows what became of what was sent to {why}",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=False,
    )
