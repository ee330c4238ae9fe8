"""Version N+1 of the probes (`python -m faults.workers.next_version`): what version N has never heard of.

A column and an index, by migrations of its own; an optional field of `research.requested`; a new type of message, which
it answers with a `research.requested` for later.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from envelope import Catalogue, DeadLetterEdited, DeadLetterResolved, DomainMessage, Payload, command
from envelope.brand import CATALOGUE, payloads
from envelope.catalogue import MessageSpec
from faults.workers.worker import ProbeHandlers, WorkerSettings, service_of
from messaging import Service, Transaction

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


class NextProbe(ProbeHandlers):
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
                # In the name of the only one who may ask that of research, in this version as in the one before.
                row = tx.outgoing.pop()
                body = json.loads(row.body) | {"source": "orchestrator"}
                tx.outgoing.append(replace(row, body=json.dumps(body).encode()))


def _catalogue() -> Catalogue:
    """That of version N+1."""
    before = [
        entry for entry in CATALOGUE.values() if entry.payload not in (DeadLetterResolved, DeadLetterEdited)
    ]
    return Catalogue(
        title=CATALOGUE.title,
        system=CATALOGUE.system,
        services=CATALOGUE.services,
        events=CATALOGUE.events,
        router=CATALOGUE.router,
        events_queue=CATALOGUE.events_queue,
        identity=CATALOGUE.identity,
        recorder=CATALOGUE.recorder,
        types=(
            *(
                MessageSpec(
                    entry.name,
                    entry.kind,
                    ResearchRequested if entry.payload is payloads.ResearchRequested else entry.payload,
                    entry.producers,
                    entry.consumers[0],
                )
                for entry in before
            ),
            command(SCHEDULED, ResearchScheduled, to="research", producers=("orchestrator",)),
        ),
    )


def build(settings: WorkerSettings) -> Service:
    return service_of(settings, NextProbe, ResearchRequested, ResearchScheduled, catalogue=_catalogue())
