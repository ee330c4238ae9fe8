"""SQL over the facts that an audit needs, and over audits."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final
from uuid import UUID

import asyncpg

from chassis import Connection
from orchestrator.accounts import accounts_in_trouble, trouble_with_accounts
from orchestrator.audits.domain import (
    DRAFTS_WAIT,
    KEYWORDS_WITHIN,
    MOST_OF_A_KIND,
    PUBLISHING_TAKES,
    AuditFacts,
    AuditFinding,
    AuditReport,
    FindingKind,
    LostKeyword,
    ParkedSchedule,
    PublishedArticle,
    StuckArticle,
    WaitingDraft,
)
from orchestrator.links import LinkKind, broken_links, describe_trouble

COMPARED: Final = 500
"""The number of newest articles that are compared with each other; the same as for a new article."""
KEPT: Final = 100
"""The number of audits that a brand keeps."""
_BESIDE: Final = {
    FindingKind.ACCOUNT_EXPIRING: "accounts",
    FindingKind.ARTICLE_STUCK: "publications",
}
"""Kinds with findings in a separate table: a previous version of the service cannot read a row that names them."""
_COLUMNS_BESIDE: Final = "".join(
    f", {name}.findings as of_{name}, {name}.is_cut as cut_{name}" for name in _BESIDE.values()
)
_TABLES_BESIDE: Final = "".join(
    f" left join audit_findings_of_{name} as {name} using (audit_id)" for name in _BESIDE.values()
)
_AUDITS: Final = f"""
    select audits.*, notes {_COLUMNS_BESIDE} from audits left join audit_notes using (audit_id) {_TABLES_BESIDE}
"""  # noqa: S608  (constants)
_PUBLISHED: Final = "brand_slug = $1 and published_url is not null and taken_down_at is null"
_DEAD: Final = "reason like 'dead letter on %'"
"""The router's reason for a keyword that a dead letter ended."""


@dataclass(frozen=True, slots=True)
class AuditNote:
    """An audit in a list."""

    audit_id: UUID
    brand_slug: str
    made_by: str
    made_at: datetime
    counts: Mapping[str, int]
    cut: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Audit(AuditNote):
    findings: tuple[Mapping[str, Any], ...]
    """Each an `AuditFinding` as JSON."""
    notes: tuple[str, ...]


async def load_facts(connection: Connection, slug: str, stale_after: timedelta) -> AuditFacts:
    most = MOST_OF_A_KIND + 1
    stale = await connection.fetch(
        f"""
        select content_id, title, keyword, published_url, written_at(c) as created_at from content as c
        where {_PUBLISHED} and written_at(c) < now() - $2::interval order by 5, content_id limit $3
        """,  # noqa: S608  (a constant)
        slug,
        stale_after,
        most,
    )
    compared = await connection.fetch(
        f"""
        select content_id, title, published_url, created_at, fingerprint from content
        where {_PUBLISHED} and fingerprint is not null order by created_at desc, content_id desc limit $2
        """,  # noqa: S608  (a constant)
        slug,
        COMPARED,
    )
    drafts = await connection.fetch(
        """
        select c.content_id, coalesce(v.title, c.title) as title, offered_version is not null as is_correction,
               coalesce(v.made_at, c.waits_since, c.created_at) as since
        from content as c
            left join content_versions as v on v.content_id = c.content_id and v.version = c.offered_version
        where brand_slug = $1
          and ((held_for <> '{}' and decision is null) or offered_version is not null)
          and not exists (select from appointments as p where p.content_id = c.content_id and p.ended_at is null)
          and coalesce(v.made_at, c.waits_since, c.created_at) < now() - $2::interval
        order by since, content_id limit $3
        """,
        slug,
        DRAFTS_WAIT,
        most,
    )
    parked = await connection.fetch(
        """
        select name, due_at, coalesce(reason, '') as reason from schedules
        where brand_slug = $1 and state = 'parked' order by due_at, name limit $2
        """,
        slug,
        most,
    )
    stuck = await connection.fetch(
        """
        select content_id, title, updated_at as since from content
        where brand_slug = $1 and published_url is null and taken_down_at is null and held_for = '{}'
          and decision is distinct from 'rejected' and updated_at < now() - $2::interval
        order by updated_at, content_id limit $3
        """,
        slug,
        PUBLISHING_TAKES,
        most,
    )
    return AuditFacts(
        stuck=[StuckArticle(**row) for row in stuck],
        stale=[PublishedArticle(**row) for row in stale],
        pages=await broken_links(connection, slug, LinkKind.PAGE, rounds=1, limit=most),
        # Sites go away and come back: a source counts as gone after two weeks in a row.
        links=await broken_links(connection, slug, LinkKind.SOURCE, rounds=2, limit=most),
        accounts=await accounts_in_trouble(connection, slug, limit=most),
        notes=tuple(
            filter(None, [await describe_trouble(connection, slug), await trouble_with_accounts(connection)])
        ),
        compared=[
            PublishedArticle(**{**row, "fingerprint": frozenset(row["fingerprint"])}) for row in compared
        ],
        lost=await _lost(
            connection,
            f"is_unpublished and not ({_DEAD}) and ended_at >= now() - $2::interval",
            slug,
            KEYWORDS_WITHIN,
            most,
        ),
        dead=await _lost(connection, f"{_DEAD} and $2::interval is not null", slug, KEYWORDS_WITHIN, most),
        drafts=[WaitingDraft(**row) for row in drafts],
        parked=[ParkedSchedule(**row) for row in parked],
    )


async def _lost(
    connection: Connection, condition: str, slug: str, within: timedelta, most: int
) -> list[LostKeyword]:
    rows = await connection.fetch(
        f"""
        select keyword, cycle_id, state = 'refused' as is_refused, {_DEAD} as is_dead_letter, reason, ended_at
        from (
            select k.keyword, k.cycle_id, k.position, k.state, coalesce(k.reason, '') as reason, k.moved_at as ended_at,
                   k.published_url is null as is_unpublished, c.created_at
            from cycles as c cross join lateral (
                -- `offset 0`: cycle by cycle, and the states that count alone.
                select * from keywords as k where k.cycle_id = c.cycle_id and k.state in ('failed', 'refused') offset 0
            ) as k
            where c.brand_slug = $1
        ) as lost
        where {condition}
          -- Of a repeated keyword the latest result counts, unless it was published once.
          and not exists (
            select from keywords as other join cycles as c using (cycle_id)
            where lower(other.keyword) = lower(lost.keyword) and c.brand_slug = $1
              and (other.published_url is not null, c.created_at, other.cycle_id, other.position)
                > (not is_unpublished, lost.created_at, lost.cycle_id, lost.position))
        order by ended_at desc, keyword limit $3
        """,  # noqa: S608  (constants)
        slug,
        within,
        most,
    )
    return [LostKeyword(**row) for row in rows]


async def lock_auditing(connection: Connection, slug: str) -> None:
    """Blocks other audits of the brand until the transaction ends."""
    await connection.execute(
        "select pg_advisory_xact_lock(hashtextextended('orchestrator.audits.' || $1::text, 0))", slug
    )


async def find_recent(connection: Connection, slug: str, within: timedelta) -> Audit | None:
    """Returns the newest audit if it is at most `within` old."""
    row = await connection.fetchrow(
        _AUDITS
        + """
        where brand_slug = $1 and made_at > clock_timestamp() - $2::interval order by audit_id desc limit 1
        """,
        slug,
        within,
    )
    return _audit(row) if row else None


async def insert_audit(
    connection: Connection, audit_id: UUID, slug: str, report: AuditReport, *, by: str
) -> Audit:
    """Stores an audit, and deletes the brand's oldest ones."""
    counts = {kind: count for kind, count in report.counts.items() if kind not in _BESIDE}
    row = await connection.fetchrow(
        """
        with made as (
            insert into audits (audit_id, brand_slug, made_by, made_at, findings, counts, cut)
            values ($1, $2, $3, clock_timestamp(), $4::text::jsonb, $5::text::jsonb, $6) returning *),
        noted as (insert into audit_notes (audit_id, notes) select $1, $7 where $7 <> '{}'::text[]),
        accounts as (insert into audit_findings_of_accounts (audit_id, findings, is_cut) values ($1, $8::text::jsonb, $9) returning *),
        publications as (
            insert into audit_findings_of_publications (audit_id, findings, is_cut) values ($1, $10::text::jsonb, $11) returning *)
        select made.*, $7::text[] as notes, accounts.findings as of_accounts, accounts.is_cut as cut_accounts,
               publications.findings as of_publications, publications.is_cut as cut_publications
        from made, accounts, publications
        """,
        audit_id,
        slug,
        by,
        _as_json(each for each in report.findings if each.kind not in _BESIDE),
        json.dumps(counts),
        [kind for kind in report.cut if kind not in _BESIDE],
        list(report.notes),
        *(
            value
            for kind in _BESIDE
            for value in (
                _as_json(each for each in report.findings if each.kind is kind),
                kind in report.cut,
            )
        ),
    )
    await connection.execute(
        """
        delete from audits where brand_slug = $1 and audit_id < (
            select audit_id from audits where brand_slug = $1 order by audit_id desc offset $2 limit 1)
        """,
        slug,
        KEPT - 1,
    )
    assert row is not None
    return _audit(row)


async def find_audit(connection: Connection, slug: str, audit_id: UUID) -> Audit | None:
    row = await connection.fetchrow(
        _AUDITS + "where audit_id = $1 and brand_slug = $2",
        audit_id,
        slug,
    )
    return _audit(row) if row else None


async def find_audits(
    connection: Connection, slug: str, *, after: UUID | None, limit: int
) -> list[AuditNote]:
    """Returns a page of audits, the latest first; only those before `after`, if given."""
    rows = await connection.fetch(
        f"""
        select audit_id, brand_slug, made_by, made_at, counts, cut {_COLUMNS_BESIDE}
        from audits {_TABLES_BESIDE}
        where brand_slug = $1 and ($2::uuid is null or audit_id < $2) order by audit_id desc limit $3
        """,  # noqa: S608  (constants)
        slug,
        after,
        limit,
    )
    return [AuditNote(**_values(row)) for row in rows]


def _as_json(findings: Iterable[AuditFinding]) -> str:
    return json.dumps([{**asdict(finding), "since": finding.since.isoformat()} for finding in findings])


def _audit(row: asyncpg.Record) -> Audit:
    values = _values(row)
    beside = (json.loads(row[f"of_{name}"] or "[]") for name in _BESIDE.values())
    findings = (*json.loads(values.pop("findings")), *chain.from_iterable(beside))
    return Audit(**{**values, "findings": findings, "notes": tuple(row["notes"] or ())})


def _values(row: asyncpg.Record) -> dict[str, Any]:
    """Returns a row's columns, with the findings of the separate tables merged in."""
    values = dict(row)
    counts, cut = json.loads(row["counts"]), list(row["cut"])
    for kind, name in _BESIDE.items():
        beside, is_cut = values.pop(f"of_{name}"), values.pop(f"cut_{name}")
        # An audit of a version before has none.
        if beside is not None:
            counts[kind.value] = len(json.loads(beside))
            cut += [kind.value] if is_cut else []
    return values | {"counts": counts, "cut": tuple(cut)}
