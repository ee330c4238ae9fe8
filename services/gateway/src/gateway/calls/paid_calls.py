"""Makes each call exactly once across replicas, and charges it once."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from itertools import chain, repeat
from typing import Final
from uuid import UUID

import structlog
from pydantic import JsonValue

from chassis import Connection, Connections, DatabaseUnavailableError
from chassis.http import chain_headers
from gateway.calls import store
from gateway.calls.counts import CallCounts
from gateway.calls.domain import (
    AFTER_THE_CALL,
    ANSWERS_KEPT_FOR,
    CallRequest,
    answer_outcome,
    problem_outcome,
)
from gateway.calls.store import CallOutcome, OpenCall
from gateway.limits import Permit, PermitDelay
from gateway.money import SpendingControl
from gateway.money import store as money
from gateway.outcomes import AnsweredCall, FailedCall
from gateway.problems import CallProblem, CallProblemError

log = structlog.get_logger(__name__)

_TO_ITS_TURN: Final = timedelta(seconds=30)
"""Longest time from reservation to sending; after it the process counts as dead."""
_PATIENCE: Final = timedelta(seconds=5)
"""Longest wait for the provider; after it the caller must retry."""
_FOLLOWED: Final = timedelta(seconds=30)
"""Longest wait for another process's call. If that process died, its lease may last for minutes."""
_LOOK_SECONDS: Final = (0.05, 0.1, 0.2, 0.4)
"""Pauses between looks at another process's call; the last one repeats."""
_AT_A_TIME: Final = 100
_TRIES_TO_SETTLE: Final = 30

Send = Callable[[], Awaitable[AnsweredCall]]
"""Makes the call; raises `FailedCall`."""
Turn = Callable[[Connection], Awaitable[Permit | PermitDelay]]
"""Asks the rate limiter, in the transaction that records the call as sent. A rollback takes the permit back."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The answer to a call request.

    Args:
        value: the provider's answer.
        call_id: the entry of the ledger.
        spent: micro-dollars charged for this request; zero for a kept answer.
        kept: whether the answer is from an earlier call.
    """

    value: JsonValue
    call_id: UUID
    spent: int
    kept: bool


class PaidCalls:
    """Reserves money, makes the call, charges its price, and keeps the answer.

    Args:
        connections: of the gateway's database.
        spending: admits calls within the caps.
        ledger: how long entries of the ledger are stored.
    """

    def __init__(self, connections: Connections, spending: SpendingControl, *, ledger: timedelta) -> None:
        self._connections = connections
        self._spending = spending
        self._ledger = ledger
        self.counts = CallCounts()
        self._in_hand: set[asyncio.Task[CallAnswer | UUID | None]] = set()

    async def execute(self, call_request: CallRequest, send: Send, turn: Turn) -> CallAnswer:
        """Returns a kept answer, waits for an identical call under way, or makes the call.

        A call runs to its end even if the caller disconnects; its answer is kept for the next request.

        Raises:
            CallProblemError: there is no answer; `problem` says why.
        """
        deadline = asyncio.get_running_loop().time() + _FOLLOWED.total_seconds()
        while True:
            making = asyncio.create_task(self._find_or_make(call_request, send, turn))
            self._in_hand.add(making)
            making.add_done_callback(self._discard)
            match await asyncio.shield(making):
                case CallAnswer() as answer:
                    return answer
                case UUID() as other:
                    if (found := await self._follow(other, deadline)) is not None:
                        return _answer(found)
                    # That call ended without an answer.
                case None:
                    # Answered in the meantime, or open in a dead process that no sweep has ended.
                    await self.sweep()

    async def finish(self, within: float) -> None:
        """Waits up to `within` seconds for running calls, so that paid answers are stored."""
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=within)

    async def forget_old(self) -> None:
        """Deletes old answers and entries of the ledger."""
        async with self._connections.connection() as connection:
            await store.forget(connection, ANSWERS_KEPT_FOR, self._ledger)

    async def sweep(self) -> None:
        """Ends calls of dead processes: unsent ones are released, sent ones count at their maximum."""
        while True:
            async with self._connections.connection() as connection:
                overdue = await store.list_overdue(connection, _AT_A_TIME)
            for call in overdue:
                await self._give_up(call)
            if len(overdue) < _AT_A_TIME:
                return

    # -- one call ------------------------------------------------------------------------------------------------------

    async def _find_or_make(
        self, call_request: CallRequest, send: Send, turn: Turn
    ) -> CallAnswer | UUID | None:
        """Returns a kept or new answer, the id of an identical call under way, or None if the caller must look again."""
        async with self._connections.connection() as connection:
            known = await store.find_earlier(connection, call_request)
            if call_request.key is not None and known.first_asked_at is None:
                raise CallProblemError(_key_used())
            match known.found:
                case CallOutcome() as kept:
                    return _answer(kept)
                case UUID() as other:
                    return other
            try:
                call, decided = await self._set_aside(connection, call_request, known.first_asked_at, turn)
            except _AnsweredMeanwhileError:
                return None
            except CallProblemError as error:
                self.counts.refused.labels(call_request.provider, error.problem.type).inc()
                raise
        if isinstance(decided, PermitDelay):
            await self._wait_or_release(call, call_request, turn, decided)
        return await self._make(call, call_request, send)

    async def _set_aside(
        self, connection: Connection, call_request: CallRequest, first_asked_at: datetime | None, turn: Turn
    ) -> tuple[OpenCall, Permit | PermitDelay]:
        """Reserves money for a call; it counts as sent if its turn has come.

        One transaction locks the budget, then the rate limiter, then writes the call.
        """
        async with connection.transaction():
            charge = await self._spending.admit(
                connection, call_request.brand, call_request.maximum, chain_headers.current()
            )
            decided = await turn(connection)
            sent = isinstance(decided, Permit)
            lease = call_request.within + AFTER_THE_CALL if sent else _TO_ITS_TURN
            call = await store.begin(connection, call_request, charge, first_asked_at, sent=sent, lease=lease)
            if call is None:
                raise _AnsweredMeanwhileError
        return OpenCall(call, call_request.provider, charge), decided

    async def _follow(self, call: UUID, deadline: float) -> CallOutcome | None:
        """Waits for another process's call; returns None if it ended without an answer.

        Raises:
            CallProblemError: `call.under_way`: the call takes too long.
        """
        for pause in chain(_LOOK_SECONDS, repeat(_LOOK_SECONDS[-1])):
            async with self._connections.connection() as connection:
                ended = await store.find_outcome(connection, call)
            if ended is not None:
                return None if ended.outcome is None else ended
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(pause)
        raise CallProblemError(
            CallProblem(
                "call.under_way",
                "an identical call is under way and takes long; retry later to get its answer",
                HTTPStatus.SERVICE_UNAVAILABLE,
                transient=True,
                after=AFTER_THE_CALL,
            )
        )

    async def _make(self, call: OpenCall, call_request: CallRequest, send: Send) -> CallAnswer:
        try:
            async with asyncio.timeout(call_request.within.total_seconds()):
                paid = await send()
        except FailedCall as failed:
            spent = call.charge.amount if failed.spent is None else failed.spent
            state = "settled" if spent else "released"
            await self._end(call, state, spent, {}, problem_outcome(failed.problem))
            raise CallProblemError(failed.problem) from failed
        except TimeoutError as error:
            problem = _too_slow(call_request)
            await self._end(call, "settled", call.charge.amount, {}, problem_outcome(problem))
            raise CallProblemError(problem) from error
        except Exception:
            # The call was sent; its outcome is unknown.
            await self._end(call, "settled", call.charge.amount, {}, problem_outcome(_our_fault()))
            raise
        if paid.spent > call.charge.amount:
            log.warning("call_cost_more_than_set_aside", call_id=str(call.id), provider=call_request.provider)
        await self._end(call, "settled", paid.spent, dict(paid.usage), answer_outcome(paid))
        return CallAnswer(paid.answer, call.id, paid.spent, kept=False)

    async def _wait_or_release(
        self, call: OpenCall, call_request: CallRequest, turn: Turn, waits: PermitDelay
    ) -> None:
        try:
            await self._wait_for_turn(call, call_request, turn, waits)
        except CallProblemError as error:
            await self._end(call, "released", 0, {}, problem_outcome(error.problem))
            raise
        except Exception:
            await self._end(call, "released", 0, {}, problem_outcome(_our_fault()))
            raise

    async def _wait_for_turn(
        self, call: OpenCall, call_request: CallRequest, turn: Turn, waits: PermitDelay
    ) -> None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE.total_seconds()
        decided: Permit | PermitDelay = waits
        while not isinstance(decided, Permit):
            seconds = decided.time.total_seconds()
            if clock() + seconds > deadline:
                raise CallProblemError(decided.problem)
            # A random extra delay, so that waiters do not block each other's locks.
            await asyncio.sleep(seconds * random.uniform(1.0, 1.2))  # noqa: S311  (no secret)
            async with self._connections.connection() as connection, connection.transaction():
                decided = await turn(connection)
                sent = call_request.within + AFTER_THE_CALL
                if isinstance(decided, Permit) and not await store.mark_sent(connection, call.id, sent):
                    raise CallProblemError(_waited_too_long())

    async def _end(
        self, call: OpenCall, state: str, spent: int, usage: dict[str, int], outcome: dict[str, object]
    ) -> None:
        """Records the end of a call. Waits out database outages: a paid answer must not be lost."""
        self.counts.note_end(call.provider, outcome, spent)
        for _ in range(_TRIES_TO_SETTLE):
            try:
                async with self._connections.connection() as connection:
                    await store.end(connection, call, state, spent, usage, outcome)
            except DatabaseUnavailableError as error:
                log.warning("settling_waits", call_id=str(call.id), error=str(error))
                await asyncio.sleep(1)
            else:
                return
        log.error("call_not_settled", call_id=str(call.id), state=state, spent_micros=spent)

    async def _give_up(self, call: OpenCall) -> None:
        async with self._connections.connection() as connection, connection.transaction():
            await money.lock_again(connection, call.charge)
            amount = call.charge.amount
            match await store.give_up(connection, call.id):
                case "released":
                    await money.add(connection, call.charge, reserved=-amount, spent=0)
                case "presumed":
                    await money.add(connection, call.charge, reserved=-amount, spent=amount)
                    self.counts.note_presumed(call.provider, amount)
                    log.warning("call_presumed_spent", call_id=str(call.id), brand=call.charge.brand)
                case _:
                    pass

    def _discard(self, making: asyncio.Task[CallAnswer | UUID | None]) -> None:
        self._in_hand.discard(making)
        if not making.cancelled():
            making.exception()  # Retrieved here, because the caller may have disconnected.


def _answer(kept: CallOutcome) -> CallAnswer:
    assert kept.outcome is not None
    if (problem := kept.outcome.get("problem")) is not None:
        raise CallProblemError(CallProblem.from_json(problem))
    return CallAnswer(kept.outcome["answer"], kept.call_id, 0, kept=True)


class _AnsweredMeanwhileError(Exception):
    """The same call is open or answered already; no money is set aside."""


def _key_used() -> CallProblem:
    return CallProblem(
        "key.used",
        "this Idempotency-Key was used for another request before; use a key of its own for each, and the same request when it"
        " is sent again",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _waited_too_long() -> CallProblem:
    return CallProblem(
        "limit.reached",
        "its turn at the provider did not come in time; try again later",
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        after=_TO_ITS_TURN,
    )


def _too_slow(call_request: CallRequest) -> CallProblem:
    return CallProblem(
        "provider.no_answer",
        f"{call_request.provider} did not answer within {call_request.within.total_seconds():g} seconds; the call counts as spent,"
        " because its outcome is unknown",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=True,
        after=timedelta(seconds=60),
    )


def _our_fault() -> CallProblem:
    return CallProblem(
        "gateway.failed",
        "this failed for a reason of ours, which is in the log; try again later",
        HTTPStatus.INTERNAL_SERVER_ERROR,
        transient=True,
        after=timedelta(seconds=60),
    )
