"""Checks an unsaved text, sentence by sentence, by the rules on words. It stores nothing and asks no model."""

import asyncio
from collections import Counter
from typing import Final
from uuid import UUID

from chassis.http.problem_codes import TOO_MANY_REQUESTS, RefusalError
from messaging import Database
from orchestrator.article_workflow.versions import MarkedVersion, find_comparable

MOST_WAITING: Final = 8
"""Texts that wait in one process until another one is checked; a further one is refused."""
MOST_OF_ONE: Final = 2
"""Texts of one caller among them."""
AGAIN_SECONDS: Final = 2


class TextChecks:
    """Checks one text at a time, as a long one takes a second of computing; create one per process."""

    def __init__(self, database: Database, *, most_waiting: int = MOST_WAITING) -> None:
        self._database = database
        self._turn = asyncio.Lock()
        self._most_waiting = most_waiting
        self._waiting: Counter[str] = Counter()
        """By caller."""

    async def check(
        self, caller: str, content_id: UUID, version: int | None, markdown: str
    ) -> MarkedVersion | None:
        """Marks a text beside what a version of the article rests on; None if there is no such version.

        Raises:
            RefusalError: too many texts wait already.
        """
        if self._waiting.total() >= self._most_waiting or self._waiting[caller] >= MOST_OF_ONE:
            raise RefusalError(
                TOO_MANY_REQUESTS,
                "many texts are being checked at this moment; send it again in a few seconds",
                {"Retry-After": str(AGAIN_SECONDS)},
            )
        self._waiting[caller] += 1
        try:
            async with self._turn:
                async with self._database.connection() as connection:
                    found = await find_comparable(connection, content_id, version)
                return None if found is None else await asyncio.to_thread(found.mark, markdown)
        finally:
            self._waiting[caller] -= 1
            if not self._waiting[caller]:
                del self._waiting[caller]
