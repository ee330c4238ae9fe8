"""The database's own account of its statements, by pg_stat_statements: calls, planning, execution, log written.

The module is loaded with the server and counts nothing until it is asked to, so that other scenarios do not pay for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self
from urllib.parse import urlsplit

from benchmarks.errors import MeasurementError
from benchmarks.servers.sql import Sql
from brandctl.local import postgres

_MODULE: Final = "pg_stat_statements"
_FIGURES: Final = ("calls", "plans", "exec_ms", "plan_ms", "rows", "wal_bytes")
_COMMIT: Final = frozenset({"commit", "end"})
# Statements of one text differ by the types of their parameters, or by the role that calls them.
_ACCOUNT: Final = """
    select d.datname, s.query, sum(s.calls)::bigint as calls, sum(s.plans)::bigint as plans,
           sum(s.total_exec_time) as exec_ms, sum(s.total_plan_time) as plan_ms,
           sum(s.rows)::bigint as rows, sum(s.wal_bytes)::bigint as wal_bytes
    from pg_stat_statements as s join pg_database as d on d.oid = s.dbid
    group by d.datname, s.query
"""


@dataclass(frozen=True, slots=True)
class StatementCost:
    """A statement's calls and their sum; times are by the clock, with waits for a processor, a lock or the disk."""

    text: str
    calls: float
    plans: float
    exec_ms: float
    plan_ms: float
    rows: float
    wal_bytes: float

    @property
    def is_commit(self) -> bool:
        return self.text.rstrip("; ").lower() in _COMMIT

    @property
    def figures(self) -> tuple[float, ...]:
        return tuple(getattr(self, name) for name in _FIGURES)

    def per(self, number: int) -> "StatementCost":
        """The cost of each of so many keywords."""
        return StatementCost(self.text, *(each / number for each in self.figures))


def sum_of(costs: Sequence[StatementCost], text: str) -> StatementCost:
    nothing = (0.0,) * len(_FIGURES)
    return StatementCost(text, *map(sum, zip(nothing, *(each.figures for each in costs), strict=True)))


@dataclass(frozen=True, slots=True)
class DatabaseAccount:
    """What the statements of each database cost since the account began."""

    by_database: Mapping[str, list[StatementCost]]
    """By the name of the database, the most expensive statement first."""
    wal_bytes: int
    """Of the whole server, its background work included."""
    writing_transactions: int
    """Transactions of the whole server that changed something."""

    def of(self, url: str) -> list[StatementCost]:
        """The statements of the database with this URL."""
        return self.by_database.get(urlsplit(url).path[1:], [])


class StatementAccount:
    """Switches the account on for the whole server, and reads it."""

    def __init__(self, url: str) -> None:
        if not settings():
            raise MeasurementError(
                "pg_stat_statements is not installed; on Debian, postgresql or postgresql-contrib has it"
            )
        self._admin = Sql(url)
        self._began = (0, 0)

    def __enter__(self) -> Self:
        self._admin.execute(f"create extension if not exists {_MODULE}")
        self._track("top")
        return self

    def __exit__(self, *_: object) -> None:
        self._track("none")
        self._admin.close()

    def begin(self) -> None:
        """Forgets what was counted before."""
        self._admin.execute("select pg_stat_statements_reset()")
        self._began = self._position()

    def read(self) -> DatabaseAccount:
        end = self._position()
        found: dict[str, list[StatementCost]] = {}
        for row in self._admin.rows(_ACCOUNT):
            _, query, *figures = row.values()
            cost = StatementCost(" ".join(query.split()), *map(float, figures))
            found.setdefault(row["datname"], []).append(cost)
        for costs in found.values():
            costs.sort(key=lambda each: -(each.exec_ms + each.plan_ms))
        return DatabaseAccount(found, end[0] - self._began[0], end[1] - self._began[1])

    def _track(self, which: str) -> None:
        self._admin.execute(f"alter system set {_MODULE}.track = '{which}'")
        self._admin.execute(
            f"alter system set {_MODULE}.track_planning = '{'off' if which == 'none' else 'on'}'"
        )
        self._admin.execute("select pg_reload_conf()")

    def _position(self) -> tuple[int, int]:
        """The bytes of the log so far, and the next transaction's number."""
        row = self._admin.row(
            "select pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint as bytes,"
            " pg_snapshot_xmax(pg_current_snapshot())::text::bigint as next"
        )
        return row["bytes"], row["next"]


def settings() -> dict[str, str]:
    """The settings that load the module; empty if it is not installed."""
    programs = postgres.find_binaries()
    folders = (programs.parent / "lib", programs.parent / "lib" / "postgresql", Path("/usr/lib/postgresql"))
    if not any((folder / f"{_MODULE}.so").exists() for folder in folders):
        return {}
    return {
        "shared_preload_libraries": _MODULE,
        f"{_MODULE}.track": "none",
        f"{_MODULE}.max": "10000",
    }
