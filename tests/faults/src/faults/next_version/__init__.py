"""Version N+1 of the probes (`python -m faults.next_version`): what version N, `faults.worker`, has never heard of.

A column and an index, by migrations of its own; an optional field of `research.requested`; a new type of message, which
it answers with a `research.requested` for later.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

from envelope import DomainMessage, Payload, catalogue
from envelope.brand import CATALOGUE, payloads
from faults.worker import Probe, WorkerSettings, service_of
from messaging import Service, Transaction
from messaging.flow import codec

SCHEDULED: Final = "research.scheduled"


class ResearchRequested(payloads.ResearchRequested):
    language: str | None = None
    """New, and optional: the version before ignores it, and passes it on with a retry."""


class ResearchScheduled(Payload):
    """New: request research later. The request's id is given, so that who asked for it can tell what became of it."""

    brand_slug: payloads.BrandSlug
    keyword: payloads.Keyword
    language: str | None = None
    request_id: UUID
    in_seconds: float


class NextProbe(Probe):
    async def write(self, messages: Sequence[DomainMessage[Any]], tx: Transaction) -> None:
        await super().write(messages, tx)
        await tx.connection.execute(
            """
            update effects set language = new.language from unnest($1::uuid[], $2::text[]) as new (event_id, language)
            where effects.event_id = new.event_id
            """,
            [message.event_id for message in messages],
            [message.payload.language for message in messages],
        )
        for message in messages:
            if isinstance(asked := message.payload, ResearchScheduled):
                request = ResearchRequested(
                    brand_slug=asked.brand_slug, keyword=asked.keyword, language=asked.language
                )
                delay = timedelta(seconds=asked.in_seconds)
                tx.send(request, caused_by=message, event_id=asked.request_id, delay=delay)


def learn() -> None:
    """Makes the catalogue of this process that of version N+1."""
    before = CATALOGUE["research.requested"]
    known = {
        before.name: replace(before, payload=ResearchRequested, envelope=DomainMessage[ResearchRequested]),
        SCHEDULED: replace(
            before, name=SCHEDULED, payload=ResearchScheduled, envelope=DomainMessage[ResearchScheduled]
        ),
    }
    codec.CATALOGUE = MappingProxyType({**CATALOGUE, **known})  # type: ignore[attr-defined]
    catalogue._BY_PAYLOAD.update({entry.payload: entry for entry in known.values()})


def build(settings: WorkerSettings) -> Service:
    learn()
    return service_of(settings, NextProbe, ResearchRequested, ResearchScheduled)
