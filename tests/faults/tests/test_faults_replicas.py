"""Figures of replicas: what the log of a database says, and which of them are wrong."""

from dataclasses import replace

from faults.playing.service_replicas import work_of
from faults.scenarios.services.replicas import ServiceFigures, judge

LOG = """\
[orders|12] LOG:  statement: BEGIN;
[orders|12] LOG:  execute __asyncpg_stmt_1__:
\t        select 1
\t        from a
[orders|12] DETAIL:  parameters: $1 = 'x'
[other|13] LOG:  statement: BEGIN;
[orders|14] LOG:  execute __asyncpg_stmt_2__: select row from audit
[orders|15] LOG:  process 15 still waiting for ExclusiveLock on advisory lock [16,1,2,1] after 50.1 ms
[orders|15] DETAIL:  Process holding the lock: 12.
[orders|16] LOG:  process 16 still waiting for ShareLock on transaction 700 after 50.0 ms
[orders|12] LOG:  execute __asyncpg_stmt_1__:
\t        select 1
\t        from a
"""

ALONE = ServiceFigures(
    replicas=1, service="orders", statements_at_rest=2.0, statements=20.0, lock_waits={}, messages=1_000, batches=800,
    shares=(1.0,), published=(1.0,), frequent={}, frequent_at_rest={},
)  # fmt: skip


def test_statements_and_waits_are_counted_by_service() -> None:
    work = work_of(LOG.splitlines(), {"orders": "orders-service"})["orders-service"]
    assert work.statements == 3
    assert work.texts == {"BEGIN;": 1, "select 1 from a": 2}
    assert work.waits == {"advisory lock": 1, "transaction": 1}


def test_replicas_that_add_something_are_right() -> None:
    assert list(judge([ALONE, replace(ALONE, replicas=2, shares=(0.4, 0.6), statements=24.0)])) == []


def test_more_statements_and_unfair_shares_are_wrong() -> None:
    slow = replace(ALONE, replicas=4, shares=(0.05, 0.35, 0.3, 0.3), statements=40.0)
    told = [str(each) for each in judge([ALONE, slow])]
    assert len(told) == 2
    assert "40.0 statements a keyword, and 20.0 with one" in told[0]
    assert "shares of" in told[1]


def test_smaller_batches_take_more_statements_until_each_message_comes_alone() -> None:
    batched = replace(ALONE, batches=400)
    assert list(judge([batched, replace(batched, replicas=4, statements=50.0, shares=(0.25,) * 4)])) == []
    (wrong,) = judge([batched, replace(batched, replicas=4, statements=52.0, shares=(0.25,) * 4)])
    assert "52.0 statements a keyword" in str(wrong)


def test_shares_of_a_few_messages_are_chance() -> None:
    assert list(judge([ALONE, replace(ALONE, replicas=2, shares=(0.0, 1.0), messages=20)])) == []
