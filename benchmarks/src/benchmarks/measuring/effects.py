"""The table with one row per handled message, and the figures derived from it.

It has no unique constraint, which would hide doubled effects. Times are commit times of the database, so no client
library influences the clock.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from benchmarks.servers.sql import Sql

_CREATE = "create table effects (event_id uuid not null, keyword text not null, made_at timestamptz)"


@dataclass(frozen=True, slots=True)
class EffectCheck:
    """The result of a run with duplicates and a killed worker."""

    wanted: int
    effects: int
    distinct: int
    foreign: int
    """Effects of messages that were never sent."""

    @property
    def lost(self) -> int:
        return self.wanted - (self.distinct - self.foreign)

    @property
    def doubled(self) -> int:
        return self.effects - self.distinct

    @property
    def arrived(self) -> bool:
        """Whether no effect is missing; doubled ones are allowed, as in durable queues without an inbox."""
        return self.lost == 0 and self.foreign == 0

    @property
    def passed(self) -> bool:
        return self.lost == 0 and self.doubled == 0 and self.foreign == 0

    def __str__(self) -> str:
        if self.passed:
            return "passed"
        return f"failed: {self.lost} lost, {self.doubled} doubled, {self.foreign} foreign of {self.wanted}"


@dataclass(frozen=True, slots=True)
class MeasuringWindow:
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
    """The start line: the block stops all inserts of effects; its end releases them at once.

    Workers start inside the block, so neither their start-up time nor its processor time counts.
    """
    with Sql(database_url) as sql:
        sql.execute("begin; lock table effects in share mode")
        yield
        sql.execute("commit")


def count(sql: Sql) -> int:
    total: int = sql.value("select count(*) from effects")
    return total


def judge(sql: Sql, wanted: Sequence[str]) -> EffectCheck:
    """Compares the effects with the ids that were sent."""
    row = sql.row(
        """
        select (select count(*) from effects) as effects,
               (select count(distinct event_id) from effects) as distinct_ids,
               (select count(*) from (select event_id from effects except select unnest($1::uuid[])) as f) as foreign_ids
        """,
        wanted,
    )
    return EffectCheck(len(set(wanted)), row["effects"], row["distinct_ids"], row["foreign_ids"])


def window(sql: Sql, *, skip: int, up_to: int | None = None) -> MeasuringWindow:
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
    return MeasuringWindow(row["first"], row["last"], row["messages"])


@dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from a message's scheduled time to the commit of its effect."""

    p50: float
    p90: float
    p99: float
    p999: float
    worst: float
    messages: int

    def __str__(self) -> str:
        return f"p50 {self.p50:.2f} ms, p99 {self.p99:.2f} ms, worst {self.worst:.1f} ms over {self.messages:,} messages"


def latency(sql: Sql, *, sent_from: datetime) -> Latency:
    """Latencies of the messages scheduled after a moment; earlier ones are the warm-up."""
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
