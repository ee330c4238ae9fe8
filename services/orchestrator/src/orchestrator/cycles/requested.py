"""Makes the cycle that a request for keywords asks for."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from envelope import new_event_id
from envelope.brand.payloads import Priority
from orchestrator.brands import ApprovalPolicy, BrandSlug
from orchestrator.cycles.domain import CycleId
from orchestrator.cycles.models import RequestLimits, ResearchRequest
from orchestrator.cycles.store import NewCycle, RequestedLimits

NOTHING_BESIDE: Final = RequestLimits.model_construct()


def requested_cycle(
    brand_slug: BrandSlug,
    request: ResearchRequest,
    *,
    by: str,
    beside: RequestLimits = NOTHING_BESIDE,
    priority: Priority | None = None,
    refresh: bool = False,
    distinct: bool = False,
    idempotency_key: str | None = None,
) -> NewCycle:
    """Returns a new cycle with the keywords of a request. Further arguments were given beside its body.

    Raises:
        RefusalError: its deadline has passed, or is too far away.
    """
    limits = request.limits(beside)
    asked = request.asked(priority)
    own = request.distinct_ones(distinct=distinct)
    return NewCycle(
        cycle_id=CycleId(new_event_id()),
        correlation_id=str(new_event_id()),
        brand_slug=brand_slug,
        priority=priority or request.priority,
        keywords=tuple(asked),
        idempotency_key=idempotency_key,
        request_digest=_digest(
            priority or request.priority,
            asked,
            refresh=refresh or request.refresh,
            distinct=own,
            limits=limits,
            approval=request.approval,
        ),
        priorities=asked,
        refresh=refresh or request.refresh,
        distinct=own,
        submitted_by=by,
        limits=limits,
        approval=request.approval,
    )


def _digest(
    priority: Priority,
    asked: Mapping[str, Priority],
    *,
    refresh: bool,
    distinct: frozenset[str],
    limits: RequestedLimits,
    approval: ApprovalPolicy | None,
) -> bytes:
    told: list[object] = [priority, list(asked)]
    if any(each is not priority for each in asked.values()):
        told.append(list(asked.values()))
    if refresh:
        told.append("refresh")
    if distinct:
        told.append({"distinct": sorted(distinct)})
    if limits != RequestedLimits():
        told.append({"limits": {name: str(value) for name, value in asdict(limits).items()}})
    if approval is not None:
        told.append({"approval": approval})
    return hashlib.sha256(json.dumps(told).encode()).digest()
