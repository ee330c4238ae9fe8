"""The conditions on dead letters that lists, groups and decisions about many share."""

import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Final
from uuid import UUID

import asyncpg

from chassis import Connection
from monitor.dead_letters.domain import DeadLetterState

SEARCH_SECONDS: Final = 8
"""How long one search may read error texts and bodies; shorter than the console waits for an answer. 100,000 dead letters take half a second, with bodies of 4 kB two."""

GROUP_FACTS: Final = "d.queue, d.reason, d.exception_type, d.frame"
GROUP_ID: Final = (
    "to_hex(hashtextextended(d.queue || chr(31) || d.reason || chr(31) || coalesce(d.exception_type, '') || chr(31)"
    " || coalesce(d.frame, ''), 0))"
)
"""SQL for the id of a failure group: dead letters `d` with the same queue, reason, exception type and stack frame; the index dead_messages_open_by_group has the same expression."""

_ERROR: Final = "concat_ws(chr(10), d.exception_type, d.detail, d.frame)"
_SHOWN_BODY: Final = "case when d.masking is not null then coalesce(d.masked, d.payload) end"
"""A search of what is hidden would tell it, letter by letter."""
_LIKE: Final = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})


class Table(Enum):
    """Where a condition is looked up."""

    LETTERS = "dead_messages"
    FACTS = "dead_letter_facts"
    """The few bytes of each that most searches read."""


class SearchTooSlowError(Exception):
    """A search took longer than `SEARCH_SECONDS`."""


@dataclass(frozen=True, slots=True)
class DeadLetterFilter:
    """Conditions on dead letters; None means any."""

    state: str | None = None
    queue: str | None = None
    type: str | None = None
    correlation_id: str | None = None
    replayable: bool | None = None
    group: str | None = None
    code: str | None = None
    """Hash of the source in which they failed."""
    brands: Collection[str] | None = None
    """The brands that the caller may see."""
    keyword: str | None = None
    """Matches bodies that contain this keyword, or the id `content_id`. The query scans bodies: give a correlation id, too."""
    content_id: UUID | None = None
    message_id: UUID | None = None
    """The id of the dead letter, of its message or of its replay."""
    error: str | None = None
    """Part of the exception's type, of its text, or of the place in the code; upper and lower case are the same."""
    payload: str | None = None
    """Part of the body as it is shown, without what is hidden."""
    min_attempts: int | None = None
    max_attempts: int | None = None
    failed_since: datetime | None = None
    failed_before: datetime | None = None
    """Exclusive."""

    @property
    def is_search(self) -> bool:
        """Whether no index answers it, so that it reads every dead letter that the other conditions leave."""
        return any(
            each is not None
            for each in (
                self.code,
                self.error,
                self.payload,
                self.min_attempts,
                self.max_attempts,
                self.failed_since,
                self.failed_before,
            )
        )

    @property
    def searched_table(self) -> Table:
        """The smaller table that has all that is asked for."""
        needs_letter = (self.correlation_id, self.message_id, self.keyword, self.content_id, self.payload)
        return Table.FACTS if all(each is None for each in needs_letter) else Table.LETTERS

    @property
    def is_indexed(self) -> bool:
        """Whether an index leads to the newest that match: few letters between them do not."""
        if self.is_search:
            return False
        if self.correlation_id is not None or self.message_id is not None:
            return True
        return self.type is None and self.group is None and self.replayable is None

    def condition(self, table: Table = Table.LETTERS) -> tuple[str, list[Any]]:
        """The condition of a row `d` of the table, and the values of its parameters.

        It names only the conditions that are set, and the state as a literal, so that one of the indexes fits.
        """
        conditions, values = list[str](), list[Any]()

        def add(condition: str, value: Any) -> None:
            values.append(value)
            conditions.append(condition.format(f"${len(values)}"))

        is_letter = table is Table.LETTERS
        if self.state is not None:
            conditions.append(f"d.state = '{DeadLetterState(self.state).value}'")
        for condition, wanted in (
            ("d.queue = {}", self.queue),
            ("d.type = {}", self.type),
            ("d.correlation_id = {}", self.correlation_id),
            ("d.replayable = {}", self.replayable),
            ((GROUP_ID if is_letter else "d.group_id") + " = {}", self.group),
            ("d.code = {}", self.code),
            ("(d.id = {0} or d.event_id = {0} or d.replay_event_id = {0})", self.message_id),
            ("d.attempts >= {}", self.min_attempts),
            ("d.attempts <= {}", self.max_attempts),
            ("d.failed_at >= {}", self.failed_since),
            ("d.failed_at < {}", self.failed_before),
            (
                _ERROR + " ilike {}" if is_letter else "d.error like lower({})",
                None if self.error is None else f"%{self.error.translate(_LIKE)}%",
            ),
            ("d.brand_slug = any ({}::text[])", None if self.brands is None else list(self.brands)),
        ):
            if wanted is not None:
                add(condition, wanted)
        for spellings, body in ((self._mentions(), "d.payload"), (_spellings(self.payload), _SHOWN_BODY)):
            if spellings:
                first = len(values) + 1
                values.extend(spellings)
                found = (
                    f"position(${number}::bytea in {body}) > 0" for number in range(first, len(values) + 1)
                )
                conditions.append(f"({' or '.join(found)})")
        return " and ".join(conditions) or "true", values

    def _mentions(self) -> list[bytes]:
        """Byte strings; a matching body contains one of them. A body may be any bytes, so it is not parsed as JSON."""
        mentions = [] if self.content_id is None else [str(self.content_id).encode()]
        if self.keyword is not None:
            for ascii_only in (False, True):
                value = json.dumps(self.keyword, ensure_ascii=ascii_only)
                mentions += [f'"keyword":{gap}{value}'.encode() for gap in ("", " ")]
        return list(dict.fromkeys(mentions))


@asynccontextmanager
async def bounded_search(connection: Connection, *, is_search: bool) -> AsyncIterator[None]:
    """Ends the statements in it after `SEARCH_SECONDS`, if they search; the transaction that is open then fails as a whole.

    Raises:
        SearchTooSlowError: a statement took longer.
    """
    if not is_search:
        yield
        return
    await connection.execute("select set_config('statement_timeout', $1, true)", f"{SEARCH_SECONDS}s")
    try:
        yield
    except asyncpg.QueryCanceledError as error:
        raise SearchTooSlowError from error
    await connection.execute("select set_config('statement_timeout', '0', true)")


def _spellings(text: str | None) -> list[bytes]:
    """The text as a body may have it: as it is, or in a JSON string, which may be in ASCII alone."""
    if text is None:
        return []
    in_json = (json.dumps(text, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True))
    return [each.encode() for each in dict.fromkeys((text, *in_json))]
