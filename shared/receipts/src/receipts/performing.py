"""Performs effects: stores the receipt before each request, and each outcome before the next step."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar, assert_never
from uuid import UUID

import structlog

from chassis import Connection
from chassis.database.pool import DatabaseUnavailableError
from messaging import Database, Service, Transaction, Unprocessable, WaitFor, is_loss_unnoticed
from receipts import store
from receipts.accounts import Clock, Fence
from receipts.domain import decisions, events, moves
from receipts.domain.events import ReceiptEvent
from receipts.domain.moves import AskPerson, Close, Finish, Identify, LookUp, Send, Wait
from receipts.domain.receipt import (
    Receipt,
    ReceiptState,
    StepTraits,
    has_settled,
    mark_in_doubt,
    mark_suspected,
    renew_request,
)
from receipts.effects import (
    Effect,
    EffectAbsent,
    EffectFound,
    EffectInDoubt,
    EffectPerformed,
    EffectUnclear,
    Step,
    StepInHand,
)
from receipts.errors import (
    DoubtfulOutcome,
    EffectRefused,
    FencedOffError,
    GatewayAway,
    NotSent,
    NotSentYet,
    Refused,
    UnderWay,
    UnknownOutcome,
)
from receipts.gateway import ReceiptsGateway
from receipts.storable import as_json_object, clean_text, describe_error

log = structlog.get_logger(__name__)

MARGIN_SECONDS: Final = 5.0
"""Lease time beyond a step's own limit, for the database and the gateway."""
_LOSS_PAUSE: Final = timedelta(seconds=15)
_INTERRUPTED_SECONDS: Final = 3.0
"""Limit for storing, at the end of a process, that an answer was not awaited."""

OnSettled: TypeAlias = Callable[[Receipt, Mapping[str, Any] | None, Transaction], Awaitable[None]]
"""(receipt, the results of its steps or None, the transaction) → None; see `Receipts`."""
_T = TypeVar("_T")


class UnknownReceiptError(Exception):
    """There is no such receipt."""


async def _ignore_settled(_: Receipt, __: Mapping[str, Any] | None, ___: Transaction) -> None:
    """Does nothing: the requester of the effect repeats its request anyway."""


class Receipts:
    """Effects of one service on outside servers, each at most once.

    Args:
        database: with the tables of this package (`stands_on.txt` beside the service's migrations).
        gateway: sends the effects' requests.
        on_settled: called when a person has decided about a receipt in doubt, in the transaction of that decision. It gets the results
            of the steps if the effect is complete, else None; then it must send the command again that performs the effect.
        margin_seconds: lease time beyond a step's own limit.
    """

    def __init__(
        self,
        database: Database,
        gateway: ReceiptsGateway,
        on_settled: OnSettled = _ignore_settled,
        *,
        margin_seconds: float = MARGIN_SECONDS,
    ) -> None:
        self.database = database
        self._gateway = gateway
        self._on_settled = on_settled
        self._margin = margin_seconds
        self._writing: set[asyncio.Task[None]] = set()

    def add_metrics(self, service: Service) -> None:
        """Adds a gauge of unconfirmed receipts by state to the service's metrics."""
        service.gauge(
            "receipts",
            "Effects on servers of others that are not confirmed, by state.",
            "state",
            store.counts,
        )

    async def perform(self, effect: Effect, steps: Sequence[Step]) -> EffectPerformed | EffectInDoubt:
        """Performs an effect, or finds that it has happened or is in doubt. For handlers of single messages (`on_each`).

        The queue's `handler_timeout` must exceed the sum of the steps; after a timeout, the last request is looked up.

        Raises:
            NotSentYet: no effect yet; a `RetryLater`.
            WaitFor: it is too early: another worker has the receipt, a limit is reached, a request may still take effect, or the
                gateway is unavailable. No attempt is counted.
            EffectRefused: for good; an `Unprocessable`.
            DatabaseUnavailableError: the service's own database is unavailable.
        """
        by_name = {step.name: step for step in steps}
        traits = [self._traits(step) for step in steps]
        first = True
        identities: Sequence[str] | None = None
        while True:
            began = monotonic()
            receipt, move, clock = await self._next_move(effect, traits, identities, first=first)
            first = False
            match move:
                case Identify():
                    identities = await self._identities(receipt)
                case Finish():
                    return EffectPerformed(receipt.remote)
                case AskPerson():
                    return EffectInDoubt(receipt.detail)
                case Wait():
                    raise WaitFor("receipt", f"{receipt.subject}: {move.why}", after=move.after)
                case Send():
                    await self._send(receipt, by_name[move.step], began, clock)
                case Close():
                    await self._close(receipt, by_name[move.step])
                case LookUp():
                    await self._look(receipt, by_name[move.step], began, clock)
                case _:
                    assert_never(move)

    async def give_up(self, effect: Effect, steps: Sequence[Step]) -> EffectInDoubt | None:
        """Ends attempts at an effect. Returns the doubt if it may have happened: a person must decide then."""
        async with self.database.transaction() as tx:
            found = await store.lock(tx.connection, effect.receipt_id)
            if found is None:
                return None
            before, _ = found
            if before.state is ReceiptState.IN_DOUBT:
                return EffectInDoubt(before.detail)
            after = decisions.give_up(before, [self._traits(step) for step in steps])
            if after is None:
                return None
            await _save_given_up(tx, after)
            return EffectInDoubt(after.detail)

    async def give_up_all(self, brand_slug: str, about: Mapping[str, Any], detail: str) -> bool:
        """Ends attempts at effects that cannot be performed any more, such as those of a removed account.

        It puts the brand's receipts with these members in `prepared` in doubt if they may have had an effect; returns whether there are any.
        """
        async with self.database.transaction() as tx:
            found = await store.lock_unanswered(tx.connection, brand_slug, about)
            for receipt in found:
                await _save_given_up(tx, mark_in_doubt(receipt, detail))
        return bool(found)

    async def _identities(self, receipt: Receipt) -> Sequence[str]:
        """Raises WaitFor: the gateway does not answer."""
        try:
            return await self._gateway.identities(receipt.account, receipt.brand_slug)
        except GatewayAway as error:
            raise WaitFor("gateway", error.detail, after=_time_until(error.retry_at)) from error

    def _traits(self, step: Step) -> StepTraits:
        return StepTraits(
            name=step.name,
            looks=step.detect is not None,
            repeatable=step.repeatable,
            settles=timedelta(seconds=step.settles_seconds),
            lease=timedelta(seconds=step.seconds + self._margin),
            first_look=timedelta(seconds=step.first_look_seconds),
            unseen=step.unseen,
        )

    # -- taking up -------------------------------------------------------------------------------------------------------

    async def _next_move(
        self, effect: Effect, steps: Sequence[StepTraits], identities: Sequence[str] | None, *, first: bool
    ) -> tuple[Receipt, moves.Move, Clock]:
        async with self.database.transaction() as tx:
            found = await store.lock(tx.connection, effect.receipt_id)
            if found is None:
                if not first:
                    raise Unprocessable(f"{effect.subject}: brand {effect.brand_slug} was erased meanwhile")
                await _check_history(tx.connection, effect)
                new = _new_receipt(effect, steps)
                if await store.insert(tx.connection, new) and new.state is not ReceiptState.READY:
                    await store.save(tx.connection, new)
                found = await store.lock(tx.connection, effect.receipt_id)
                assert found is not None
            receipt, now = found
            clock = _clock_from(now)
            if receipt.brand_slug != effect.brand_slug:
                raise Unprocessable(
                    f"receipt {effect.receipt_id} belongs to another brand than {effect.brand_slug}; nothing was sent"
                )
            taken, move = moves.next_move(_renewed(receipt, effect), steps, now, identities)
            if taken != receipt:
                await store.save(tx.connection, taken)
            if isinstance(move, Send | Close | LookUp):
                what = move.recorded_as
                await store.note(tx.connection, taken.receipt_id, move.step, taken.fence, what)
        return taken, move, clock

    # -- sending ---------------------------------------------------------------------------------------------------------

    async def _send(self, receipt: Receipt, step: Step, began: float, clock: Clock) -> None:
        """Sends a step; returns when it is confirmed or must be looked up."""
        fence = receipt.fence
        try:
            remote = await self._limit_time(step, step.send(self._step_in_hand(receipt, step, began, clock)))
            event: ReceiptEvent = events.StepAccepted(step.name, fence, as_json_object(remote))
        except FencedOffError as error:
            await self._write(receipt, events.FenceOvertaken(step.name, fence, error.detail, error.known))
            return
        except NotSent as error:
            held_back = events.StepNotSent(
                step.name, fence, error.reason, clean_text(error.detail), _time_until(error.retry_at)
            )
            await self._write(receipt, held_back)
            if isinstance(error, GatewayAway):
                raise WaitFor("gateway", error.detail, after=held_back.after) from error
            if held_back.after is not None:
                raise WaitFor(
                    error.reason, f"{receipt.subject}: {error.detail}", after=held_back.after
                ) from error
            raise NotSentYet(error.reason, error.detail) from error
        except DoubtfulOutcome as error:
            await self._write(receipt, events.StepDoubtful(step.name, fence, clean_text(error.detail)))
            return
        except Refused as error:
            await self._write_refusal(receipt, step, error)
            return
        except asyncio.CancelledError:
            await self._write_quickly(
                receipt, events.OutcomeUnknown(step.name, fence, "its process ended, or its time was over")
            )
            raise
        except Exception as error:
            log.warning(
                "effect_unknown",
                receipt_id=str(receipt.receipt_id),
                step=step.name,
                error=describe_error(error),
            )
            await self._write(receipt, events.OutcomeUnknown(step.name, fence, describe_error(error)))
            if step.repeatable:
                raise NotSentYet("no_answer", describe_error(error)) from error
            return
        await self._write_durably(receipt, event)

    async def _write_refusal(self, receipt: Receipt, step: Step, error: Refused) -> None:
        """Stores a refusal; returns if an earlier attempt may have had its effect. Raises EffectRefused: nothing has happened."""
        event = events.StepRefused(step.name, receipt.fence, error.reason, clean_text(error.detail))
        if await self._write(receipt, event) is not ReceiptState.IN_DOUBT:
            raise EffectRefused(error.reason, error.detail, receipt.remote) from error

    # -- looking up ------------------------------------------------------------------------------------------------------

    async def _close(self, receipt: Receipt, step: Step) -> None:
        """Makes the gateway refuse requests of earlier sends, so that none can arrive any more."""
        try:
            async with asyncio.timeout(step.seconds):
                await self._gateway.close(
                    receipt.receipt_id, receipt.fence, account=receipt.account, brand=receipt.brand_slug
                )
        except (NotSent, TimeoutError) as error:
            await self._write_failed_look_up(receipt, step, error)
        else:
            await self._write(receipt, events.EarlierSendsClosed(step.name, receipt.fence))

    async def _look(self, receipt: Receipt, step: Step, began: float, clock: Clock) -> None:
        """Looks the effect up and stores the result."""
        assert step.detect is not None
        name, fence = step.name, receipt.fence
        settled = has_settled(receipt, timedelta(seconds=step.settles_seconds), clock())
        try:
            seen = await self._limit_time(step, step.detect(self._step_in_hand(receipt, step, began, clock)))
        except Exception as error:  # noqa: BLE001  (whatever hinders looking, it is tried again)
            await self._write_failed_look_up(receipt, step, error)
            return
        match seen:
            case EffectFound():
                await self._write_durably(
                    receipt, events.EffectSeen(name, fence, as_json_object(seen.remote))
                )
            case EffectAbsent():
                absent = events.EffectNotSeen(name, fence, settled, seen.is_certain)
                after = await self._write(receipt, absent, step)
                if receipt.detail and after is ReceiptState.READY:
                    # It has failed, and that was an attempt.
                    raise NotSentYet("came_to_nothing", f"{receipt.detail}; nothing of it is there")
            case EffectUnclear():
                await self._write(
                    receipt, events.LookUpUnclear(name, fence, clean_text(seen.detail), settled), step
                )
            case _:
                assert_never(seen)

    async def _write_failed_look_up(self, receipt: Receipt, step: Step, error: Exception) -> None:
        name, fence = step.name, receipt.fence
        if isinstance(error, FencedOffError):
            await self._write(receipt, events.FenceOvertaken(name, fence, error.detail, error.known))
            return
        ours = isinstance(error, UnderWay | GatewayAway)
        after = _time_until(error.retry_at) if isinstance(error, NotSent) else None
        await self._write(
            receipt, events.LookUpFailed(name, fence, describe_error(error), after, counts=not ours), step
        )

    # -- writing down ----------------------------------------------------------------------------------------------------

    async def _write(
        self, receipt: Receipt, event: ReceiptEvent, step: Step | None = None
    ) -> ReceiptState | None:
        """Stores an event; returns the state after it, or None if it came too late because another worker has continued.

        `step`: of a look-up, for its times.
        """
        times = {} if step is None else _times(step)
        async with self.database.transaction() as tx:
            found = await store.lock(tx.connection, receipt.receipt_id)
            if found is None:
                return None  # erased meanwhile, with its brand
            before, now = found
            after = events.decide(before, event, now, **times)
            kind = event.recorded_as
            detail = getattr(event, "detail", "")
            if after is None:
                if _has_happened(before, event):
                    return before.state
                log.warning(
                    "effect_answered_late", receipt_id=str(receipt.receipt_id), what=kind, state=before.state
                )
                kind, detail = f"{kind}, too late to matter", detail or str(getattr(event, "remote", ""))
            else:
                await store.save(tx.connection, after)
            await store.note(
                tx.connection,
                receipt.receipt_id,
                event.step,
                event.fence,
                kind,
                detail=clean_text(detail),
            )
            if after is not None and before.state is ReceiptState.IN_DOUBT:
                await self._notify_settled(after, tx)
        return None if after is None else after.state

    async def _write_durably(self, receipt: Receipt, event: ReceiptEvent) -> None:
        """Stores a certain outcome, even after a database outage or the handler's timeout: it must not get lost."""
        writing = asyncio.create_task(
            self._write_until_stored(receipt, event), name=f"receipt {receipt.receipt_id}"
        )
        self._writing.add(writing)
        writing.add_done_callback(self._writing.discard)
        await asyncio.shield(writing)

    async def _write_until_stored(self, receipt: Receipt, event: ReceiptEvent) -> None:
        while True:
            try:
                await self._write(receipt, event)
            except DatabaseUnavailableError as error:
                log.warning("effect_not_written_yet", receipt_id=str(receipt.receipt_id), error=str(error))
                await self.database.wait_until_available()
            else:
                return

    async def _write_quickly(self, receipt: Receipt, event: ReceiptEvent) -> None:
        """Stores the event if the database answers now; the next worker then need not wait for the end of the lease."""
        try:
            async with asyncio.timeout(_INTERRUPTED_SECONDS):
                await self._write(receipt, event)
        except (DatabaseUnavailableError, TimeoutError):
            log.debug("effect_not_put_down", receipt_id=str(receipt.receipt_id))

    async def _notify_settled(self, receipt: Receipt, tx: Transaction) -> None:
        complete = receipt.state is ReceiptState.CONFIRMED
        await self._on_settled(receipt, receipt.remote if complete else None, tx)

    # -- what a person decides -------------------------------------------------------------------------------------------

    async def confirm(
        self, receipt_id: UUID, remote: Mapping[str, Any], *, by: str, brands: frozenset[str] | None = None
    ) -> store.StoredReceipt:
        """Confirms a receipt in doubt: a person has seen the effect.

        Args:
            receipt_id: of one in doubt.
            remote: facts that the answer would have had: `url`, `id`.
            by: the person's name.
            brands: the caller's brands; None: all.

        Raises:
            UnknownReceiptError: no such receipt, or it belongs to another brand.
            ReceiptDecidedError: it is not in doubt.
        """
        told = ", ".join(f"{key} {value}" for key, value in remote.items())
        return await self._store_decision(
            receipt_id,
            lambda receipt: decisions.confirm(receipt, remote),
            "confirmed by a person",
            told,
            by,
            brands,
        )

    async def repeat(
        self, receipt_id: UUID, *, by: str, brands: frozenset[str] | None = None
    ) -> store.StoredReceipt:
        """Repeats a receipt in doubt: a person has seen that there is no effect. Raises as `confirm` does."""
        return await self._store_decision(
            receipt_id, decisions.repeat, "to be repeated, says a person", "", by, brands
        )

    async def _store_decision(
        self,
        receipt_id: UUID,
        decision: Callable[[Receipt], Receipt],
        what: str,
        detail: str,
        by: str,
        brands: frozenset[str] | None,
    ) -> store.StoredReceipt:
        async with self.database.transaction() as tx:
            found = await store.lock(tx.connection, receipt_id)
            if found is None or (brands is not None and found[0].brand_slug not in brands):
                raise UnknownReceiptError(f"there is no receipt {receipt_id}")
            before, _ = found
            after = decision(before)
            await store.save(tx.connection, after)
            assert before.step is not None
            await store.note(
                tx.connection,
                receipt_id,
                before.step,
                before.fence,
                what,
                detail=clean_text(detail),
                made_by=by,
            )
            await self._notify_settled(after, tx)
            kept = await store.find(tx.connection, receipt_id)
            assert kept is not None
            return kept

    # ------------------------------------------------------------------------------------------------------------------

    def _step_in_hand(self, receipt: Receipt, step: Step, began: float, clock: Clock) -> StepInHand:
        account = self._gateway.account(receipt.account, receipt.brand_slug)
        account = replace(account, identity=receipt.identity, clock=clock)
        # Counted from before the lease began: whoever comes after finds the time of this one over.
        fence = Fence(receipt.receipt_id, step.name, receipt.fence, began + step.seconds)
        effect = Effect(
            receipt_id=receipt.receipt_id,
            kind=receipt.kind,
            account=receipt.account,
            brand_slug=receipt.brand_slug,
            subject=receipt.subject,
            prepared=receipt.prepared,
        )
        return StepInHand(effect, account.fenced(fence), receipt.remote)

    async def _limit_time(self, step: Step, work: Awaitable[_T]) -> _T:
        try:
            async with asyncio.timeout(step.seconds):
                return await work
        except TimeoutError as error:
            raise UnknownOutcome(f"no answer within {step.seconds:g} s") from error


async def _save_given_up(tx: Transaction, receipt: Receipt) -> None:
    assert receipt.step is not None
    await store.save(tx.connection, receipt)
    await store.note(
        tx.connection, receipt.receipt_id, receipt.step, receipt.fence, "given up", detail=receipt.detail
    )


async def _check_history(connection: Connection, effect: Effect) -> None:
    """Raises WaitFor: the database may have lost this receipt, and the service has not determined its losses yet."""
    if await is_loss_unnoticed(connection):
        raise WaitFor(
            "database",
            f"{effect.subject}: another server has taken the place of the database's, and what it lacks is not known yet",
            after=_LOSS_PAUSE,
        )


def _clock_from(now: datetime) -> Clock:
    """A clock that continues from the database's time."""
    read_at = monotonic()
    return lambda: now + timedelta(seconds=monotonic() - read_at)


def _times(step: Step) -> dict[str, timedelta]:
    return {
        "settles": timedelta(seconds=step.settles_seconds),
        "first_look": timedelta(seconds=step.first_look_seconds),
    }


def _new_receipt(effect: Effect, steps: Sequence[StepTraits]) -> Receipt:
    receipt = Receipt(
        receipt_id=effect.receipt_id,
        kind=effect.kind,
        account=effect.account,
        brand_slug=effect.brand_slug,
        subject=effect.subject,
        prepared=effect.prepared,
        steps=tuple(step.name for step in steps),
    )
    return mark_suspected(receipt, steps) if effect.may_be_there else receipt


def _renewed(receipt: Receipt, effect: Effect) -> Receipt:
    """The receipt with the effect's new texts, if it was refused before any effect."""
    if receipt.state is not ReceiptState.REFUSED or receipt.done:
        return receipt
    return renew_request(
        receipt, kind=effect.kind, account=effect.account, subject=effect.subject, prepared=effect.prepared
    )


def _has_happened(receipt: Receipt, event: ReceiptEvent) -> bool:
    """Whether the event is stored already, and only its confirmation got lost."""
    return (
        isinstance(event, events.StepAccepted | events.EffectSeen)
        and event.step in receipt.done
        and all(receipt.remote.get(key) == value for key, value in event.remote.items())
    )


def _time_until(moment: datetime | None) -> timedelta | None:
    return None if moment is None else max(moment - datetime.now(UTC), timedelta())
