"""Erases a brand: here at once, in other services by commands that they confirm with receipts.

The monitor erases first: without the brand's dead letters, no operator can replay one. The other services follow. Their
commands are newer than every message about the brand, so they recognise late messages.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final
from uuid import UUID

import structlog

from envelope import DomainMessage, new_event_id
from envelope.brand.payloads import (
    BrandErased,
    BrandErasure,
    ContentErase,
    DatabaseFellBack,
    DeadLettersErase,
    EventsErase,
    ResearchErase,
    SocialErase,
)
from messaging import Database, Transaction
from orchestrator.brands import UnknownBrandError
from orchestrator.cycles import MARGIN
from orchestrator.erasure import store
from orchestrator.erasure.store import OWN, Erasure
from orchestrator.moving import check_not_under_way

log = structlog.get_logger(__name__)

FIRST: Final = frozenset({"monitor"})
THEN: Final = frozenset({"events", "publisher", "research", "social"})
EVERYBODY: Final = FIRST | THEN
"""The gateway, if there is one, follows after these."""
ELSEWHERE_FOR: Final = timedelta(days=30)
"""How long an erased brand's external URLs stay listed."""


async def erase(database: Database, slug: str, *, by: str) -> Erasure:
    """Erases a brand here and sends commands to the other services. A repeated call returns the existing erasure.

    Raises:
        UnknownBrandError: there is no such brand, and none of this name was erased.
    """
    async with database.transaction() as tx:
        exists = await store.lock_brand_for_good(tx.connection, slug)
        if not exists:
            before = await store.find_erasure(tx.connection, slug)
            if before is None:
                raise UnknownBrandError(slug)
            return before
        await check_not_under_way(tx.connection, slug)
        erasure_id = new_event_id()
        await store.insert_erasure(tx.connection, erasure_id, slug, by=by)
        removed = await store.remove_own(tx.connection, slug)
        await store.insert_receipt(tx.connection, erasure_id, OWN, removed)
        begun = await store.lock_erasure(tx.connection, erasure_id)
        assert begun is not None
        _ask(tx, begun)
    log.warning("brand_erasing", brand=slug, erasure_id=str(erasure_id), by=by, removed=removed)
    return begun


async def note_receipts(
    events: Sequence[DomainMessage[BrandErased]], tx: Transaction, *, has_gateway: bool = False
) -> None:
    """Stores receipts, sends the next commands, and ends complete erasures. A repeated receipt changes nothing."""
    for event in sorted(events, key=lambda event: event.payload.erasure_id):
        payload = event.payload
        before = await store.lock_erasure(tx.connection, payload.erasure_id)
        if before is None or payload.service not in FIRST | THEN:
            log.info("receipt_changed_nothing", erasure_id=str(payload.erasure_id), service=payload.service)
            continue
        await store.insert_receipt(
            tx.connection,
            payload.erasure_id,
            payload.service,
            payload.removed,
            elsewhere=payload.elsewhere,
            elsewhere_count=payload.elsewhere_count,
        )
        after = await store.lock_erasure(tx.connection, payload.erasure_id)
        assert after is not None
        if before.ended_at is not None:
            continue
        if payload.service in FIRST and payload.service not in before.answered:
            _ask(tx, after)
        if after.answered >= EVERYBODY and not has_gateway:
            await store.end_erasure(tx.connection, payload.erasure_id)
            log.warning("brand_erased", brand=after.brand_slug, erasure_id=str(payload.erasure_id))


async def erase_again(events: Sequence[DomainMessage[DatabaseFellBack]], tx: Transaction) -> None:
    """Repeats commands to services that lost commits. Their erasures are open again until they confirm.

    A brand created anew under the same name is left alone.
    """
    for event in events:
        service = event.payload.service
        if service not in EVERYBODY or service != event.source:
            continue
        for erasure_id in await store.reopen(tx.connection, service, event.payload.kept_until - MARGIN):
            erasure = await store.lock_erasure(tx.connection, erasure_id)
            assert erasure is not None
            tx.send(_command(service, erasure), correlation_id=str(erasure_id))
            log.warning("erasure_asked_again", brand=erasure.brand_slug, services=[service])


class ErasureRetrier:
    """Repeats commands to services that have not confirmed for `after`: a command may have become a dead letter."""

    def __init__(self, database: Database, *, after: timedelta) -> None:
        self._database = database
        self._after = after

    async def remind(self) -> int:
        """Repeats overdue commands once; returns the number of erasures concerned."""
        async with self._database.transaction() as tx:
            overdue = await store.overdue(tx.connection, self._after)
            for erasure_id in overdue:
                await self._ask_again(tx, erasure_id)
            await store.forget_elsewhere(tx.connection, ELSEWHERE_FOR)
        return len(overdue)

    async def _ask_again(self, tx: Transaction, erasure_id: UUID) -> None:
        erasure = await store.lock_erasure(tx.connection, erasure_id)
        assert erasure is not None
        # An open erasure with all receipts was reopened after a loss of commits.
        missing = _ask(tx, erasure) or _ask_everybody(tx, erasure)
        if missing:
            log.warning("erasure_asked_again", brand=erasure.brand_slug, services=missing)


def _ask_everybody(tx: Transaction, erasure: Erasure) -> list[str]:
    for service in sorted(EVERYBODY):
        tx.send(_command(service, erasure), correlation_id=str(erasure.erasure_id))
    return sorted(EVERYBODY)


def _ask(tx: Transaction, erasure: Erasure) -> list[str]:
    """Sends commands to the services that are next and have not confirmed; returns their names."""
    stage = THEN if erasure.answered >= FIRST else FIRST
    missing = sorted(stage - erasure.answered)
    for service in missing:
        tx.send(_command(service, erasure), correlation_id=str(erasure.erasure_id))
    return missing


def _command(service: str, erasure: Erasure) -> BrandErasure:
    brand, erasure_id = erasure.brand_slug, erasure.erasure_id
    match service:
        case "monitor":
            return DeadLettersErase(brand_slug=brand, erasure_id=erasure_id)
        case "events":
            return EventsErase(brand_slug=brand, erasure_id=erasure_id)
        case "publisher":
            return ContentErase(brand_slug=brand, erasure_id=erasure_id)
        case "research":
            return ResearchErase(brand_slug=brand, erasure_id=erasure_id)
        case "social":
            return SocialErase(brand_slug=brand, erasure_id=erasure_id)
        case _:
            raise AssertionError(f"{service} has no part of brands")
