"""The table every handled message leaves one row in, and what can be read from it.

It has no unique constraint, which would hide effects that happened twice. Times are those of the commits, as the database
recorded them: no client library's code takes part in the clock.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from benchmarks.servers.sql import Sql

_CREATE = "create table effects (event_id uuid not null, keyword text not null, made_at timestamptz)"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the effects say about a run with duplicates and a killed worker."""

    wanted: int
    effects: int
    distinct: int
    foreign: int
    """Effects of messages that nobody sent."""

    @property
    def lost(self) -> int:
        return self.wanted - (self.distinct - self.foreign)

    @property
    def doubled(self) -> int:
        return self.effects - self.distinct

    @property
    def arrived(self) -> bool:
        """Nothing lost, whatever was doubled: all that durable queues promise without an inbox."""
        return self.lost == 0 and self.foreign == 0

    @property
    def passed(self) -> bool:
        return self.lost == 0 and self.doubled == 0 and self.foreign == 0

    def __str__(self) -> str:
        if self.passed:
            return "passed"
        return f"failed: {self.lost} lost, {self.doubled} doubled, {self.foreign} foreign of {self.wanted}"


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of a run by commit times: from the commit of one message, which does not count, to the last."""

    begin: datetime
    end: datetime
    messages: int

    @property
    def seconds(self) -> float:
        return (self.end - self.begin).total_seconds()


def create(sql: Sql) -> None:
    sql.execute(_CREATE)


@contextmanager
def held(database_url: str) -> Iterator[None]:
    """The start line: while the block runs nobody can add an effect; when it ends, everybody may at once.

    Workers come up inside: the slower start of one does not count, nor does the processor time of starting.
    """
    with Sql(database_url) as sql:
        sql.execute("begin; lock table effects in share mode")
        yield
        sql.execute("commit")


def count(sql: Sql) -> int:
    total: int = sql.value("select count(*) from effects")
    return total


def judge(sql: Sql, wanted: Sequence[str]) -> Verdict:
    """Compares the effects with the ids that were sent."""
    row = sql.row(
        """
        select (select count(*) from effects) as effects,
               (select count(distinct event_id) from effects) as distinct_ids,
               (select count(*) from (select event_id from effects except select unnest($1::uuid[])) as f) as foreign_ids
        """,
        wanted,
    )
    return Verdict(len(set(wanted)), row["effects"], row["distinct_ids"], row["foreign_ids"])


def window(sql: Sql, *, skip: int, up_to: int | None = None) -> Window:
    """The stretch from the commit of effect number `skip` to that of the last, or of effect number `up_to`."""
    row = sql.row(
        """
        with times as (select pg_xact_commit_timestamp(xmin) as at from effects),
             counted as (select at from times order by at limit $2),
             bounds as (select (select at from counted order by at offset $1 limit 1) as first, max(at) as last from counted)
        select first, last, (select count(*) from times where at > first and at <= last) as messages from bounds
        """,
        max(skip - 1, 0),
        up_to,
    )
    return Window(row["first"], row["last"], row["messages"])


@dataclass(frozen=True, slots=True)
class Latency:
    """From the moment a message was to be sent until its effect was committed, in milliseconds."""

    p50: float
    p90: float
    p99: float
    p999: float
    worst: float
    messages: int

    def __str__(self) -> str:
        return f"p50 {self.p50:.2f} ms, p99 {self.p99:.2f} ms, worst {self.worst:.1f} ms over {self.messages:,} messages"


def latency(sql: Sql, *, sent_from: datetime) -> Latency:
    """Over the messages that were to be sent from a moment on: the earlier ones were the warm-up."""
    row = sql.row(
        """
        select percentile_cont(array[0.5, 0.9, 0.99, 0.999]) within group (order by extract(epoch from at - made_at) * 1000) as p,
               max(extract(epoch from at - made_at) * 1000)::float8 as worst, count(*) as messages
        from (select pg_xact_commit_timestamp(xmin) as at, made_at from effects) as times where made_at >= $1
        """,
        sent_from,
    )
    p50, p90, p99, p999 = map(float, row["p"])
    return Latency(p50, p90, p99, p999, row["worst"], row["messages"])
