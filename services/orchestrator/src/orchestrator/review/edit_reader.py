"""Has a judge read what people changed, after they have saved it. Every replica does; a stored answer is not asked for again."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Final, TypeVar

import structlog
from pydantic import TypeAdapter

from messaging import Database, RetryLater, Unprocessable, WaitFor
from orchestrator.article_workflow import find_comparable
from orchestrator.review import edit_readings
from orchestrator.review.edit_readings import EditReading
from writing.edited_sentences import EditedSentences, sentences_to_read
from writing.marked_article import ReadSentence
from writing.model.chat import ChatModel
from writing.model.session import ModelSession

ResultT = TypeVar("ResultT")

MOST_ATTEMPTS: Final = 5
_PAUSE: Final = timedelta(seconds=30)
"""After a failed attempt; it doubles with each."""
_MAX_PROBLEM: Final = 1000

log = structlog.get_logger(__name__)


class _ReadingSteps:
    """The judge's answers about one version; `writing.context.PaidSteps`."""

    def __init__(self, database: Database, reading: EditReading) -> None:
        self._database = database
        self._reading = reading
        self.brand_slug = reading.brand_slug

    async def step(
        self, name: str, result_type: TypeAdapter[ResultT], work: Callable[[str], Awaitable[ResultT]]
    ) -> ResultT:
        stored = self._reading.answers
        if name not in stored:
            key = f"edit:{self._reading.content_id}:{self._reading.version}:{name}"
            stored[name] = result_type.dump_json(await work(key)).decode()
            async with self._database.transaction() as tx:
                await edit_readings.store_answer(tx.connection, self._reading, name, stored[name])
        return result_type.validate_json(stored[name])


class EditReader:
    """Reads the versions that people stored; create one per process.

    Args:
        judges: the judging models, one or two, in the order in which they read.
        max_tokens: of an answer.
        room: characters of passages in one question.
        lease: longer than the questions of one version take. After that another replica continues.
    """

    def __init__(
        self,
        database: Database,
        judges: Sequence[ChatModel],
        *,
        max_tokens: int,
        room: int,
        lease: timedelta,
    ) -> None:
        self._database = database
        self._judges = judges
        self._max_tokens = max_tokens
        self._room = room
        self._lease = lease

    async def read_next(self) -> timedelta | None:
        """Reads the version that is next. Returns when to go on; None if nothing is due."""
        async with self._database.transaction() as tx:
            reading = await edit_readings.claim(tx.connection, self._lease)
        if reading is None:
            return None
        try:
            found = await self._read(reading)
        except WaitFor as wait:
            await self._release(reading, wait.after or _PAUSE, 0, f"{wait.dependency}: {wait}")
        except RetryLater as error:
            await self._retry(reading, str(error), error.after)
        except Unprocessable as error:
            await self._end(reading, problem=str(error))
        else:
            await self._end(reading, found)
        return timedelta()

    async def _read(self, reading: EditReading) -> list[ReadSentence]:
        async with self._database.connection() as connection:
            version = await find_comparable(connection, reading.content_id, reading.version)
        if version is None:
            return []
        marked = await asyncio.to_thread(version.mark)
        changed = sentences_to_read(marked.blocks, version.evidence, version.read)
        if not changed or not version.evidence.passages:
            return []
        steps = _ReadingSteps(self._database, reading)
        first, *others = [ModelSession(each, steps, self._max_tokens) for each in self._judges]
        return await EditedSentences(version.evidence).read(
            changed, first, then=others[0] if others else None, room=self._room
        )

    async def _retry(self, reading: EditReading, problem: str, after: timedelta | None) -> None:
        attempts = reading.attempts + 1
        if attempts >= MOST_ATTEMPTS:
            await self._end(reading, problem=f"the judge was asked {attempts} times in vain: {problem}")
            return
        await self._release(reading, after or _PAUSE * 2**reading.attempts, attempts, problem)

    async def _release(self, reading: EditReading, after: timedelta, attempts: int, waits_for: str) -> None:
        async with self._database.transaction() as tx:
            await edit_readings.release(
                tx.connection, reading, after=after, attempts=attempts, waits_for=waits_for[:_MAX_PROBLEM]
            )

    async def _end(
        self, reading: EditReading, found: Sequence[ReadSentence] = (), *, problem: str | None = None
    ) -> None:
        told = problem and problem[:_MAX_PROBLEM]
        async with self._database.transaction() as tx:
            await edit_readings.end(tx.connection, reading, found, problem=told)
        log.info(
            "edit_read",
            content_id=str(reading.content_id),
            version=reading.version,
            sentences=len(found),
            problem=told,
        )
