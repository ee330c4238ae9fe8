"""The log line of a keyword's end."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

import structlog

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 200
"""Lines written before other tasks run: a cancelled cycle may end 10,000 keywords at once."""


@dataclass(frozen=True, slots=True)
class EndedKeyword:
    """A keyword that has just ended."""

    brand_slug: str
    keyword: str
    cycle_id: UUID
    correlation_id: str
    content_id: UUID | None
    """The keyword's article, or the existing article on its subject."""
    state: str
    reason: str | None
    url: str | None


async def log_ended_keywords(ended: Iterable[EndedKeyword]) -> None:
    """Logs each keyword, within the transaction that ends them."""
    for number, each in enumerate(ended, start=1):
        log.info(
            "keyword_ended",
            brand=each.brand_slug,
            keyword=each.keyword,
            cycle_id=str(each.cycle_id),
            correlation_id=each.correlation_id,
            content_id=None if each.content_id is None else str(each.content_id),
            state=each.state,
            reason=each.reason,
            url=each.url,
        )
        if number % _AT_ONCE == 0:
            await asyncio.sleep(0)
