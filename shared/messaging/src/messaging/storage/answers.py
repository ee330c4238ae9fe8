"""SQL over answers that are kept for requests which are sent again."""

import json
from datetime import timedelta

from chassis.database.pool import Connection
from chassis.http.idempotency import KEPT, IdempotentRequest, StoredAnswer


async def claim(connection: Connection, asked: IdempotentRequest) -> bool:
    """Whether nobody else is at the same request; nobody else will be until the transaction ends."""
    mine: bool = await connection.fetchval(
        "select pg_try_advisory_xact_lock(hashtextextended($1, 0))",
        f"answer\n{asked.caller}\n{asked.path}\n{asked.key}",
    )
    return mine


async def find(connection: Connection, asked: IdempotentRequest) -> tuple[bytes, StoredAnswer] | None:
    """The fingerprint of what was asked, and the answer."""
    row = await connection.fetchrow(
        """
        select fingerprint, status, headers::text as headers, body from kept_answers
        where caller = $1 and path = $2 and key = $3 and answered_at > now() - $4::interval
        """,
        asked.caller,
        asked.path,
        asked.key,
        KEPT,
    )
    if row is None:
        return None
    headers = tuple((name, value) for name, value in json.loads(row["headers"]))
    return row["fingerprint"], StoredAnswer(row["status"], headers, row["body"])


async def keep(connection: Connection, asked: IdempotentRequest, answer: StoredAnswer) -> bool:
    """False if there is one already that has not expired; two that claim the same at once still cannot both keep theirs."""
    kept = await connection.fetchval(
        """
        insert into kept_answers as kept (caller, path, key, fingerprint, status, headers, body)
        values ($1, $2, $3, $4, $5, $6::text::jsonb, $7)
        on conflict (caller, path, key) do update
        set fingerprint = excluded.fingerprint, status = excluded.status, headers = excluded.headers,
            body = excluded.body, answered_at = excluded.answered_at
        where kept.answered_at <= now() - $8::interval
        returning true
        """,
        asked.caller,
        asked.path,
        asked.key,
        asked.fingerprint,
        answer.status,
        json.dumps(answer.headers),
        answer.body,
        KEPT,
    )
    return bool(kept)


async def delete_expired(connection: Connection, limit: int = 1000) -> int:
    """One batch of those that no request is answered with any more; returns how many."""
    done: str = await connection.execute(
        """
        delete from kept_answers where ctid = any (array(
            select ctid from kept_answers where answered_at <= now() - $1::interval limit $2 for update skip locked
        ))
        """,
        KEPT + timedelta(minutes=1),
        limit,
    )
    return int(done.rpartition(" ")[2])
