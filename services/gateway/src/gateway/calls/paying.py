"""Making a call exactly once among all who ask for it, on any number of replicas, and paying for it once."""

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
from gateway.calls import store
from gateway.calls.counting import CallCounts
from gateway.calls.domain import AFTER_THE_CALL, KEPT, Asked, kept_answer, kept_problem
from gateway.calls.store import Call, Kept
from gateway.limits import Go, Wait
from gateway.money import Spending
from gateway.money import store as money
from gateway.outcomes import Failed, Paid
from gateway.problems import Problem, ProblemError

log = structlog.get_logger(__name__)

_TO_ITS_TURN: Final = timedelta(seconds=30)
"""From being set aside to being sent, at most; then its process is taken for dead."""
_PATIENCE: Final = timedelta(seconds=5)
"""For a turn at the provider; whoever has to wait longer comes back."""
_FOLLOWED: Final = timedelta(seconds=30)
"""That somebody else's call is waited for. If its process died, its lease may have minutes left, and whoever waits here holds
up others at home."""
_LOOK_SECONDS: Final = (0.05, 0.1, 0.2, 0.4)
"""Between two looks at a call that somebody else is making; the last one again and again."""
_SWEEP_SECONDS: Final = 5.0
_FORGET_SECONDS: Final = 3600.0
_AT_A_TIME: Final = 100
_TRIES_TO_SETTLE: Final = 30

Send = Callable[[], Awaitable[Paid]]
"""Makes the call; raises `Failed`."""
Turn = Callable[[Connection], Awaitable[Go | Wait]]
"""Whether the provider may be asked now; said in the transaction that writes down that it is, and asked again if that is rolled back."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a caller gets.

    Args:
        value: the provider's answer.
        call_id: the line of the ledger.
        spent: micro-dollars that were spent for this request: none, if it had been answered before.
        kept: whether it had been.
    """

    value: JsonValue
    call_id: UUID
    spent: int
    kept: bool


class Paying:
    """Sets money aside, makes the call, settles, and keeps the answer.

    Args:
        connections: of the gateway's database.
        spending: whether there is money.
        ledger: how long lines of the ledger are kept.
    """

    def __init__(self, connections: Connections, spending: Spending, *, ledger: timedelta) -> None:
        self._connections = connections
        self._spending = spending
        self._ledger = ledger
        self.counts = CallCounts()
        self._in_hand: set[asyncio.Task[Answer | UUID | None]] = set()

    async def once(self, asked: Asked, send: Send, turn: Turn) -> Answer:
        """The answer: a kept one, that of the same call under way somewhere, or that of a call made now.

        Whoever asked may go away: the call is made to its end, and its answer kept for when he asks again.

        Raises:
            ProblemError: why there is none.
        """
        deadline = asyncio.get_running_loop().time() + _FOLLOWED.total_seconds()
        while True:
            making = asyncio.create_task(self._find_or_make(asked, send, turn))
            self._in_hand.add(making)
            making.add_done_callback(self._put_down)
            match await asyncio.shield(making):
                case Answer() as answer:
                    return answer
                case UUID() as other:
                    if (found := await self._follow(other, deadline)) is not None:
                        return _answer(found)
                    # Nobody heard how that one ended.
                case None:
                    # Answered meanwhile; or it is open, and its process dead: nobody has said so yet.
                    await self.sweep()

    async def finish(self, within: float) -> None:
        """Waits for calls in hand, so that what is being paid for is heard."""
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=within)

    async def keep_sweeping(self) -> None:
        """Ends calls of processes that died, on time, and forgets what is old."""
        forget_at = 0.0
        while True:
            await self.sweep()
            now = asyncio.get_running_loop().time()
            if now >= forget_at:
                async with self._connections.connection() as connection:
                    await store.forget(connection, KEPT, self._ledger)
                forget_at = now + _FORGET_SECONDS
            await asyncio.sleep(_SWEEP_SECONDS)

    async def sweep(self) -> None:
        """Ends every call whose process is taken for dead: what was never sent is released, the rest counts in full."""
        while True:
            async with self._connections.connection() as connection:
                overdue = await store.overdue(connection, _AT_A_TIME)
            for call in overdue:
                await self._give_up(call)
            if len(overdue) < _AT_A_TIME:
                return

    # -- one call ------------------------------------------------------------------------------------------------------

    async def _find_or_make(self, asked: Asked, send: Send, turn: Turn) -> Answer | UUID | None:
        """The answer, kept or of a call made now; the same call under way somewhere; None if there is no telling yet."""
        async with self._connections.connection() as connection:
            known = await store.look(connection, asked)
            if asked.key is not None and known.first_asked_at is None:
                raise ProblemError(_key_used())
            match known.found:
                case Kept() as kept:
                    return _answer(kept)
                case UUID() as other:
                    return other
            try:
                call, decided = await self._set_aside(connection, asked, known.first_asked_at, turn)
            except _KnownError:
                return None
            except ProblemError as error:
                self.counts.refused[asked.provider, error.problem.type] += 1
                raise
        if isinstance(decided, Wait):
            await self._wait_or_release(call, asked, turn, decided)
        return await self._make(call, asked, send)

    async def _set_aside(
        self, connection: Connection, asked: Asked, first_asked_at: datetime | None, turn: Turn
    ) -> tuple[Call, Go | Wait]:
        """Sets money aside for a call, which counts as sent if its turn has come.

        One transaction for both: the accounts are locked first, then the gate, then the call is written.
        """
        async with connection.transaction():
            charge = await self._spending.admit(connection, asked.brand, asked.maximum)
            decided = await turn(connection)
            sent = isinstance(decided, Go)
            lease = asked.within + AFTER_THE_CALL if sent else _TO_ITS_TURN
            call = await store.begin(connection, asked, charge, first_asked_at, sent=sent, lease=lease)
            if call is None:
                raise _KnownError
        return Call(call, asked.provider, charge), decided

    async def _follow(self, call: UUID, deadline: float) -> Kept | None:
        """How a call ends that another is making; None if nobody heard.

        Raises:
            ProblemError: `call.under_way`: it takes longer than one may wait.
        """
        for pause in chain(_LOOK_SECONDS, repeat(_LOOK_SECONDS[-1])):
            async with self._connections.connection() as connection:
                ended = await store.ended(connection, call)
            if ended is not None:
                return None if ended.outcome is None else ended
            if asyncio.get_running_loop().time() > deadline:
                break
            await asyncio.sleep(pause)
        raise ProblemError(
            Problem(
                "call.under_way",
                "the same call is being made already and takes long; ask again later for its answer",
                HTTPStatus.SERVICE_UNAVAILABLE,
                transient=True,
                after=AFTER_THE_CALL,
            )
        )

    async def _make(self, call: Call, asked: Asked, send: Send) -> Answer:
        try:
            async with asyncio.timeout(asked.within.total_seconds()):
                paid = await send()
        except Failed as failed:
            spent = call.charge.amount if failed.spent is None else failed.spent
            state = "settled" if spent else "released"
            await self._end(call, state, spent, {}, kept_problem(failed.problem))
            raise ProblemError(failed.problem) from failed
        except TimeoutError as error:
            problem = _too_slow(asked)
            await self._end(call, "settled", call.charge.amount, {}, kept_problem(problem))
            raise ProblemError(problem) from error
        except Exception:
            # It was sent, and whether it was answered is not known.
            await self._end(call, "settled", call.charge.amount, {}, kept_problem(_our_fault()))
            raise
        if paid.spent > call.charge.amount:
            log.warning("call_cost_more_than_set_aside", call_id=str(call.id), provider=asked.provider)
        await self._end(call, "settled", paid.spent, dict(paid.usage), kept_answer(paid))
        return Answer(paid.answer, call.id, paid.spent, kept=False)

    async def _wait_or_release(self, call: Call, asked: Asked, turn: Turn, waits: Wait) -> None:
        try:
            await self._wait_for_turn(call, asked, turn, waits)
        except ProblemError as error:
            await self._end(call, "released", 0, {}, kept_problem(error.problem))
            raise
        except Exception:
            await self._end(call, "released", 0, {}, kept_problem(_our_fault()))
            raise

    async def _wait_for_turn(self, call: Call, asked: Asked, turn: Turn, waits: Wait) -> None:
        clock = asyncio.get_running_loop().time
        deadline = clock() + _PATIENCE.total_seconds()
        decided: Go | Wait = waits
        while not isinstance(decided, Go):
            seconds = decided.time.total_seconds()
            if clock() + seconds > deadline:
                raise ProblemError(decided.problem)
            # Not all at the same moment: they would wait for each other's locks.
            await asyncio.sleep(seconds * random.uniform(1.0, 1.2))  # noqa: S311  (no secret)
            async with self._connections.connection() as connection, connection.transaction():
                decided = await turn(connection)
                sent = asked.within + AFTER_THE_CALL
                if isinstance(decided, Go) and not await store.mark_sent(connection, call.id, sent):
                    raise ProblemError(_waited_too_long())

    async def _end(
        self, call: Call, state: str, spent: int, usage: dict[str, int], outcome: dict[str, object]
    ) -> None:
        """Settles; an outage of the database is waited out, for what was paid for must not be lost."""
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

    async def _give_up(self, call: Call) -> None:
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

    def _put_down(self, making: asyncio.Task[Answer | UUID | None]) -> None:
        self._in_hand.discard(making)
        if not making.cancelled():
            making.exception()  # looked at: whoever asked may have gone


def _answer(kept: Kept) -> Answer:
    assert kept.outcome is not None
    if (problem := kept.outcome.get("problem")) is not None:
        raise ProblemError(Problem.from_json(problem))
    return Answer(kept.outcome["answer"], kept.call_id, 0, kept=True)


class _KnownError(Exception):
    """The same call is open already, or has been answered: nothing is set aside, and no turn taken."""


def _key_used() -> Problem:
    return Problem(
        "key.used",
        "this Idempotency-Key was used for another request before; use a key of its own for each, and the same request when it"
        " is sent again",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )


def _waited_too_long() -> Problem:
    return Problem(
        "limit.reached",
        "its turn at the provider did not come in time; try again later",
        HTTPStatus.TOO_MANY_REQUESTS,
        transient=True,
        after=_TO_ITS_TURN,
    )


def _too_slow(asked: Asked) -> Problem:
    return Problem(
        "provider.no_answer",
        f"{asked.provider} did not answer within {asked.within.total_seconds():g} seconds; the call counts as spent,"
        " because nobody knows whether it was answered",
        HTTPStatus.FAILED_DEPENDENCY,
        transient=True,
        after=timedelta(seconds=60),
    )


def _our_fault() -> Problem:
    return Problem(
        "gateway.failed",
        "this failed for a reason of ours, which is in the log; try again later",
        HTTPStatus.INTERNAL_SERVER_ERROR,
        transient=True,
        after=timedelta(seconds=60),
    )
