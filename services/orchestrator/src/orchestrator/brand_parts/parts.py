"""The parts of a brand at this service, and how a brand itself arrives: paused, until a person resumes it."""

import json
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from chassis import Connection
from chassis.http.problem_codes import RefusalError
from envelope.brand.settings import BrandSettings
from messaging.brand_parts import BrandPart, Dependent, StoreRows
from orchestrator import problem_codes as codes
from orchestrator.brand_parts.arriving import (
    arriving_content,
    arriving_keyword,
    arriving_schedule,
    moving_keyword,
)
from orchestrator.brand_parts.rows import (
    BrandPartRow,
    ContentPartRow,
    CyclePartRow,
    DeletedArticlePartRow,
    FormerAddressPartRow,
    KeywordPartRow,
    SchedulePartRow,
    SubjectDecisionPartRow,
)
from orchestrator.brands import EXAM_PAYER, UnusableWriterError, check_writer, upsert_brand
from orchestrator.removal import check_not_erasing

_OF_ARTICLE: Final = ("content_id",)


def build_parts(writers: AbstractSet[str], *, goes_on: bool = False) -> tuple[BrandPart[Any], ...]:
    """In the order in which an import stores them. `writers` are those that a brand may have here.

    With `goes_on`, the brand moves: its keywords and schedules go on here once it is resumed.
    """

    async def prepare_brand(slug: str, rows: Sequence[BrandPartRow]) -> StoreRows:
        settings = _settings(rows[0])
        if slug == EXAM_PAYER:
            raise RefusalError(codes.INVALID_SLUG, f"'{EXAM_PAYER}' is no brand's name: it pays for exams")
        try:
            check_writer(settings.writer, settings.language, writers)
        except UnusableWriterError as error:
            raise RefusalError(codes.WRITER_NOT_AVAILABLE, str(error)) from error

        async def store(connection: Connection) -> int:
            await check_not_erasing(connection, slug)
            known = await connection.fetchval("select true from brands where slug = $1 for update", slug)
            if known:
                return 0
            await upsert_brand(connection, slug, settings)
            await connection.execute(
                "update brands set paused_at = clock_timestamp(), created_at = $2 where slug = $1",
                slug,
                rows[0].created_at,
            )
            return 1

        return store

    return (
        BrandPart("settings", "brands", BrandPartRow, brand="slug", prepare=prepare_brand),
        BrandPart("subject-decisions", "subject_decisions", SubjectDecisionPartRow, key=("kind", "spelling")),
        _CYCLES,
        _keywords(goes_on=goes_on),
        BrandPart(
            "articles",
            "content",
            ContentPartRow,
            key=_OF_ARTICLE,
            dependents={
                "content_versions": Dependent("content_versions", _OF_ARTICLE, "version"),
                "decisions": Dependent("decisions", _OF_ARTICLE, "decision_id"),
                "appointments": Dependent("appointments", _OF_ARTICLE, "appointment_id"),
                "placements": Dependent("placements", _OF_ARTICLE, "target"),
            },
            adjust=arriving_content,
        ),
        BrandPart("former-addresses", "former_addresses", FormerAddressPartRow, key=("slug",)),
        BrandPart("deleted-articles", "deleted_articles", DeletedArticlePartRow, key=_OF_ARTICLE),
        BrandPart(
            "schedules",
            "schedules",
            SchedulePartRow,
            key=("schedule_id",),
            adjust=None if goes_on else arriving_schedule,
        ),
    )


def _settings(row: BrandPartRow) -> BrandSettings:
    """Checks the settings as the API does.

    Raises:
        RequestValidationError: a setting is none that a brand can have.
    """
    given = row.model_dump(exclude={"created_at", "further_targets"})
    try:
        return BrandSettings.model_validate({**given, "targets": (row.target, *row.further_targets)})
    except ValidationError as error:
        raise RequestValidationError(
            [{**one, "loc": ("body", "rows", 0, *one["loc"])} for one in error.errors(include_url=False)]
        ) from error


def _keywords(*, goes_on: bool) -> BrandPart[KeywordPartRow]:
    async def prepare_keywords(slug: str, rows: Sequence[KeywordPartRow]) -> StoreRows:
        return lambda connection: _store_keywords(connection, slug, rows, goes_on=goes_on)

    return BrandPart(
        "keywords",
        "keywords",
        KeywordPartRow,
        key=("cycle_id", "position"),
        owned="t.cycle_id in (select cycle_id from cycles where brand_slug = $1)",
        prepare=prepare_keywords,
    )


async def _store_keywords(
    connection: Connection, slug: str, rows: Sequence[KeywordPartRow], *, goes_on: bool
) -> int:
    cycles = {
        row["cycle_id"]: row
        for row in await connection.fetch(
            "select cycle_id, channels, ended_at from cycles where brand_slug = $1 and cycle_id = any ($2::uuid[]) for update",
            slug,
            list({row.cycle_id for row in rows}),
        )
    }
    if missing := {row.cycle_id for row in rows} - cycles.keys():
        raise RefusalError(
            codes.UNKNOWN_CYCLE, f"keywords: {slug} has no cycle {min(missing)}; import its cycles first"
        )
    arriving: list[dict[str, Any]] = []
    for row in rows:
        channels = cycles[row.cycle_id]["channels"]
        keyword, awaits_turn = (
            moving_keyword(row, channels) if goes_on else (arriving_keyword(row, channels), False)
        )
        arriving.append({**keyword.model_dump(mode="json", exclude_unset=True), "awaits_turn": awaits_turn})
    columns = ", ".join([*KeywordPartRow.model_fields, "awaits_turn"])
    added = await connection.fetch(
        f"insert into keywords ({columns}) select {columns} from jsonb_populate_recordset(null::keywords, $1::text::jsonb)"  # noqa: S608
        " on conflict (cycle_id, position) do nothing returning true",
        json.dumps(arriving, ensure_ascii=False),
    )
    # The trigger that counts keywords takes the time of their insertion for the end. Nobody is told of ends of long ago.
    await connection.execute(
        """
        update cycles as c set ended_at = case when c.ended_at is not null then coalesce(n.ended_at, c.ended_at) end,
                               told_at = case when c.ended_at is not null then clock_timestamp() end
        from unnest($1::uuid[], $2::timestamptz[]) as n (cycle_id, ended_at) where c.cycle_id = n.cycle_id
        """,
        list(cycles),
        [row["ended_at"] for row in cycles.values()],
    )
    return len(added)


_CYCLES: Final = BrandPart(
    "cycles",
    "cycles",
    CyclePartRow,
    key=("cycle_id",),
    # Whoever sends the same request here makes a new cycle. Its end is long told, or comes with its keywords.
    constants={"request_digest": "'\\x'::bytea", "told_at": "clock_timestamp()"},
)
