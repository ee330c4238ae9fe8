"""Sends a service's request to an account: checks that it is allowed, waits for a turn, passes the fence, and pays."""

import asyncio
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

from chassis import Connection, Connections
from gateway.accounts import fences
from gateway.accounts.domain import OPERATORS, ReceiptStep
from gateway.accounts.kind import (
    AccessRefused,
    AllowedRequest,
    NoAnswer,
    NotSent,
    RemoteRequest,
    RemoteResponse,
    refusal,
)
from gateway.accounts.rate_limiter import AccountRateLimiter, limit_problem
from gateway.accounts.registry import AccountRegistry, UnsealedAccount, identities, needs_reconnecting
from gateway.accounts.renewal import CredentialRenewal
from gateway.accounts.sender import Deadline, RequestSender
from gateway.calls import CallRequest, PaidCalls, fingerprint
from gateway.chain_calls import ChainRecorder
from gateway.limits import Permit, PermitDelay
from gateway.outcomes import AnsweredCall, FailedCall
from gateway.problems import CallProblem, CallProblemError

_MARGIN: Final = timedelta(seconds=1)
"""Time between a request's last write and the end of its row."""
_AGAIN_AFTER: Final = timedelta(seconds=30)
_HIDDEN: Final = b"***"
READ_AT_ONCE: Final = 200_000
"""Larger answers are parsed in a thread; smaller ones on the event loop. Bytes."""
_IDENTITY_AGAIN_AFTER: Final = timedelta(seconds=10)
GOOD_FOR_ALL: Final = frozenset({"accept", "accept-language", "if-match", "if-none-match", "prefer"})
"""Headers that a service may send to any kind."""
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class AccountCall:
    """A service's request to an account."""

    account: str
    brand: str | None
    request: RemoteRequest
    effect: ReceiptStep | None
    seconds: float
    identity: str | None = None
    """The identity that the account must have; None accepts any."""


@dataclass(frozen=True, slots=True)
class AccountReply:
    """The account's answer without secrets; no further request may go before `retry_at`."""

    answer: RemoteResponse
    retry_at: datetime | None


class AccountCaller:
    """Calls accounts for services; the process has one.

    Args:
        connections: of the gateway's database.
        registry: of accounts.
        renewal: renews credentials that expire.
        rate_limiter: of requests to accounts.
        paid_calls: for requests that cost money.
        sender: sends the requests.
    """

    def __init__(
        self,
        connections: Connections,
        registry: AccountRegistry,
        renewal: CredentialRenewal,
        rate_limiter: AccountRateLimiter,
        paid_calls: PaidCalls,
        sender: RequestSender,
    ) -> None:
        self._connections = connections
        self._registry = registry
        self._renewal = renewal
        self._rate_limiter = rate_limiter
        self._paid_calls = paid_calls
        self._sender = sender
        self._recorder = ChainRecorder(connections)
        self._in_hand: set[asyncio.Task[Any]] = set()

    async def ask(self, wanted: AccountCall) -> AccountReply:
        """Returns the account's answer, including error statuses.

        A request that has begun runs to its end, even if the caller disconnects.

        Raises:
            CallProblemError: there is no answer; `problem` says why.
        """
        # The clock starts here: the caller's own deadline then covers everything below.
        deadline = Deadline(wanted.seconds)
        unsealed = await self._registry.usable(wanted.account, wanted.brand)
        ask = _permitted(unsealed, wanted.request)
        return await self._run_shielded(self._ask(unsealed, ask, wanted, deadline))

    async def close(self, account: str, brand: str | None, receipt_id: UUID, fence: int) -> None:
        """Refuses all later requests for the receipt that have a lower fence.

        Raises:
            CallProblemError: `call.fenced`, `call.under_way`, `account.not_connected`.
        """
        await self._registry.known(account, brand)
        async with self._connections.connection() as connection, connection.transaction():
            await fences.pass_fence(connection, ReceiptStep(receipt_id, "", fence, sends=False))

    async def finish(self, within: float) -> None:
        """Waits up to `within` seconds for running requests."""
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=within)

    async def _run_shielded(self, work: Awaitable[_Result]) -> _Result:
        task = asyncio.ensure_future(work)
        self._in_hand.add(task)
        task.add_done_callback(self._put_down)
        return await asyncio.shield(task)

    def _put_down(self, task: asyncio.Task[Any]) -> None:
        self._in_hand.discard(task)
        if not task.cancelled():
            task.exception()  # Retrieved here, because the caller may have disconnected.

    async def _ask(
        self, unsealed: UnsealedAccount, ask: AllowedRequest, wanted: AccountCall, deadline: Deadline
    ) -> AccountReply:
        unsealed = await self._renewal.fresh(unsealed)
        cost = unsealed.kind.cost(unsealed.context, wanted.request)
        if not cost:
            call = await self._rate_limiter.begin(unsealed, wanted.brand, wanted.effect, deadline)
            name, subject = unsealed.account.name, f"{wanted.request.method} {ask.path}"
            async with self._recorder.recorded("account", name, subject, brand=wanted.brand):
                return await self._carry_out(call, unsealed, ask, wanted, deadline)
        return await self._pay(unsealed, ask, wanted, deadline, cost)

    async def _pay(
        self,
        unsealed: UnsealedAccount,
        ask: AllowedRequest,
        wanted: AccountCall,
        deadline: Deadline,
        cost: int,
    ) -> AccountReply:
        begun: list[UUID] = []
        told: list[AccountReply] = []

        async def turn(connection: Connection) -> Permit | PermitDelay:
            decided = await self._rate_limiter.turn(
                connection, unsealed, wanted.brand, wanted.effect, deadline
            )
            if isinstance(decided, UUID):
                begun.append(decided)
                return Permit(datetime.now(UTC), datetime.now(UTC), None)
            return replace(decided, problem=limit_problem(decided))

        async def send() -> AnsweredCall:
            try:
                found = await self._carry_out(begun[-1], unsealed, ask, wanted, deadline)
            except CallProblemError as error:
                raise FailedCall(
                    error.problem, spent=None if error.problem.type == "call.no_answer" else 0
                ) from None
            told.append(found)
            status = found.answer.status
            # A refusal costs nothing; after a server error the cost is unknown and counts in full.
            spent = 0 if HTTPStatus.BAD_REQUEST <= status < HTTPStatus.INTERNAL_SERVER_ERROR else cost
            return AnsweredCall({"status": status}, spent)

        asked = CallRequest(
            brand=wanted.brand or OPERATORS,
            provider=f"{fences.GATE}{unsealed.account.name}",
            subject=f"{wanted.request.method} {ask.path}",
            # Unique, so no kept answer is reused: receipts decide what may be sent again.
            fingerprint=fingerprint("account", str(uuid4())),
            maximum=cost,
            within=timedelta(seconds=wanted.seconds) + 2 * _MARGIN,
            fresh=timedelta(),
            kind="account",
        )
        await self._paid_calls.execute(asked, send, turn)
        return told[-1]

    async def _carry_out(
        self,
        call: UUID,
        unsealed: UnsealedAccount,
        ask: AllowedRequest,
        wanted: AccountCall,
        deadline: Deadline,
    ) -> AccountReply:
        try:
            return await self._send(unsealed, ask, wanted, deadline)
        finally:
            await self._rate_limiter.end(call)

    async def _send(
        self, unsealed: UnsealedAccount, ask: AllowedRequest, wanted: AccountCall, deadline: Deadline
    ) -> AccountReply:
        answer = await self._exchange(unsealed, ask, wanted, deadline)
        if unsealed.kind.says_stale(answer) and (renewed := await self._renewal.again(unsealed)) is not None:
            # The account refused the request, so it changed nothing.
            unsealed = renewed
            answer = await self._exchange(unsealed, ask, wanted, deadline)
        now = datetime.now(UTC)
        if (pause := unsealed.kind.pause(answer, now)) is not None:
            await self._rate_limiter.pause_account(unsealed, pause)
        await self._handle_refusal(unsealed, answer)
        shown = await self._shown(unsealed, wanted.request, answer)
        return AccountReply(without_secrets(shown, unsealed), None if pause is None else now + pause)

    async def _shown(
        self, unsealed: UnsealedAccount, request: RemoteRequest, answer: RemoteResponse
    ) -> RemoteResponse:
        if len(answer.body) <= READ_AT_ONCE:
            return unsealed.kind.shown(request, answer)
        return await asyncio.to_thread(unsealed.kind.shown, request, answer)

    async def _exchange(
        self, unsealed: UnsealedAccount, ask: AllowedRequest, wanted: AccountCall, deadline: Deadline
    ) -> RemoteResponse:
        # Checked with the credentials that are sent: the account may be reconnected as another user at any moment.
        if wanted.identity is not None and wanted.identity not in identities(unsealed.account):
            raise CallProblemError(_other_identity(unsealed))
        outgoing = unsealed.kind.outgoing(unsealed.context, wanted.request, ask)
        try:
            return await self._sender.send(outgoing, deadline, ask.most_bytes)
        except NotSent as error:
            raise CallProblemError(not_sent(str(error))) from None
        except NoAnswer as error:
            raise CallProblemError(no_answer(str(error))) from None

    async def _handle_refusal(self, unsealed: UnsealedAccount, answer: RemoteResponse) -> None:
        """Marks the account as `needs_reconnecting` if the answer shows that its credentials are void."""
        why = unsealed.kind.refusal_reason(answer)
        if why is None and answer.status == HTTPStatus.UNAUTHORIZED:
            # The refusal may concern this request alone.
            try:
                await unsealed.kind.check(self._sender.asking(unsealed.kind.seconds), unsealed.context)
            except AccessRefused as error:
                why = str(error)
            except (NotSent, NoAnswer):
                return
        if why is None:
            return
        await self._registry.mark_refused(unsealed.account, why)
        raise CallProblemError(needs_reconnecting(unsealed.account.name, why))


def _permitted(unsealed: UnsealedAccount, request: RemoteRequest) -> AllowedRequest:
    allowed = GOOD_FOR_ALL | unsealed.kind.headers
    if strange := sorted(name for name in request.headers if name.lower() not in allowed):
        raise CallProblemError(
            _not_allowed(unsealed, f"the header {strange[0]} is not among those that may be sent to it")
        )
    given = {name.lower() for name in request.headers}
    if missing := sorted(unsealed.kind.needed_headers - given):
        raise CallProblemError(_not_allowed(unsealed, f"the header {missing[0]} is missing"))
    found = refusal(unsealed.kind.allowed_requests, request, unsealed.settings)
    if isinstance(found, str):
        raise CallProblemError(_not_allowed(unsealed, found))
    return found


def without_secrets(answer: RemoteResponse, unsealed: UnsealedAccount) -> RemoteResponse:
    """Returns the answer with the account's secrets masked: some providers echo them."""
    body, headers = answer.body, dict(answer.headers)
    for secret in unsealed.credentials.secrets():
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


def _not_allowed(unsealed: UnsealedAccount, why: str) -> CallProblem:
    return CallProblem(
        "account.request_not_allowed",
        f"{unsealed.account.name} ({unsealed.account.kind}) does not allow this request: {why}",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _other_identity(unsealed: UnsealedAccount) -> CallProblem:
    who = f" as {unsealed.account.label}" if unsealed.account.label else ""
    return CallProblem(
        "account.other_identity",
        f"nothing was sent: {unsealed.account.name} is connected{who}, which is another user than at the beginning, or not"
        f" known yet (`brandctl accounts check {unsealed.account.name}`)",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=True,
        after=_IDENTITY_AGAIN_AFTER,
    )


def not_sent(why: str) -> CallProblem:
    return CallProblem(
        "call.not_sent",
        f"nothing was sent to {why}",
        HTTPStatus.SERVICE_UNAVAILABLE,
        transient=True,
        after=_AGAIN_AFTER,
    )


def no_answer(why: str) -> CallProblem:
    return CallProblem(
        "call.no_answer",
        f"the outcome is unknown of a request to {why}",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=False,
    )
