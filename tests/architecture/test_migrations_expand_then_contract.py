"""Migrations add first and take away later: while a version is rolled out, the one before works on the same tables.

[Squawk](https://squawkhq.com) reads the SQL; which of its rules count is said here. A file that takes away what the version
before no longer needs says why, in a line of its own: `-- contract: <why>`.
"""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from chassis.database.migrations import Migration
from messaging.storage import migrations

ROOT = Path(__file__).parents[2]
PLAYED = sorted(ROOT.glob("tests/faults/src/faults/workers/next_version/migrations/*.sql"))
"""Those of the upgrade that the fault tests play."""
EXAMPLES = sorted(ROOT.glob("examples/*/src/*/migrations/*.sql"))
MIGRATIONS = sorted(
    [*ROOT.glob("services/*/migrations/*.sql"), *migrations.OWN.glob("*.sql"), *PLAYED, *EXAMPLES]
)
SQUAWK = Path(sys.executable).with_name("squawk")

CONTRACT = re.compile(r"^-- contract: \S.*$", re.MULTILINE)

BREAKS_THE_VERSION_BEFORE = {
    "adding-not-nullable-field",
    "adding-required-field",
    "ban-alter-identity",
    "ban-drop-column",
    "ban-drop-constraint",
    "ban-drop-database",
    "ban-drop-default",
    "ban-drop-domain",
    "ban-drop-extension",
    "ban-drop-function",
    "ban-drop-generated-expression",
    "ban-drop-index",
    "ban-drop-not-null",
    "ban-drop-schema",
    "ban-drop-sequence",
    "ban-drop-table",
    "ban-drop-trigger",
    "ban-drop-type",
    "ban-drop-view",
    "ban-replace-view-function",
    "ban-revoke",
    "ban-set-schema",
    "ban-truncate-cascade",
    "changing-column-type",
    "renaming-column",
    "renaming-object",
    "renaming-table",
}
STOPS_IT_FOR_AS_LONG_AS_THE_TABLE_IS_LARGE = {
    "adding-field-with-default",
    "adding-foreign-key-constraint",
    "adding-serial-primary-key-field",
    "constraint-missing-not-valid",
    "disallowed-unique-constraint",
    "require-concurrent-index-creation",
    "require-concurrent-partition-detach",
}
IS_NO_MIGRATION = {"ban-uncommitted-transaction", "syntax-error", "transaction-nesting"}
# Of what it does not look for by itself.
OPT_IN = ("ban-drop-index", "ban-drop-trigger", "ban-replace-view-function", "ban-revoke")

# It does not look into blocks, and takes a table that is made "if not exists" for a new one.
OPAQUE = re.compile(r"^\s*(do\b|create\s+table\s+if\s+not\s+exists\b)", re.MULTILINE | re.IGNORECASE)


def findings(path: Path) -> list[str]:
    """Why a migration cannot be rolled out beside the version before, one line each; empty if it can."""
    migration = Migration(path.name, path.read_text())
    if CONTRACT.search(migration.sql):
        return []
    if "squawk-" in migration.sql:
        return [f"{path.name}: no comments that silence the linter; `-- contract: <why>` says why it may"]
    if OPAQUE.search(migration.sql):
        return [f"{path.name}: the linter cannot see what a block or a table `if not exists` changes"]
    rules = BREAKS_THE_VERSION_BEFORE | STOPS_IT_FOR_AS_LONG_AS_THE_TABLE_IS_LARGE | IS_NO_MIGRATION
    arguments = ["--assume-in-transaction"]
    if migration.alone:
        # It may have run already when it runs (again), so it must be repeatable.
        rules, arguments = rules | {"prefer-robust-stmts"}, []
    return [
        f"{path.name}:{finding['line'] + 1}: {finding['rule_name']}: {finding['message']}"
        for finding in squawk(path, arguments)
        if finding["rule_name"] in rules
    ]


def squawk(path: Path, arguments: Sequence[str]) -> list[dict]:
    command = [SQUAWK, "--reporter", "json", "--pg-version", "15", "--include", ",".join(OPT_IN), *arguments]
    done = subprocess.run([*command, path], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.extended
@pytest.mark.parametrize("path", MIGRATIONS, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_migration_can_be_rolled_out_beside_the_version_before(path: Path) -> None:
    assert findings(path) == []


def test_all_migrations_are_looked_at() -> None:
    assert {path.parent.parent.name for path in MIGRATIONS} >= {
        "orchestrator",
        "research",
        "publisher",
        "social",
    }
    assert any(path.is_relative_to(migrations.OWN) for path in MIGRATIONS)
    assert PLAYED
    assert EXAMPLES


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("alter table pages drop column label", "ban-drop-column"),
        ("drop table pages", "ban-drop-table"),
        ("alter table pages rename column label to badge", "renaming-column"),
        ("alter table pages rename to articles", "renaming-table"),
        ("alter index pages_newest_first rename to pages_newest", "renaming-object"),
        ("alter table pages add column author text not null", "adding-required-field"),
        ("alter table pages alter column label set not null", "adding-not-nullable-field"),
        ("alter table pages alter column label drop not null", "ban-drop-not-null"),
        ("alter table pages alter column published_at drop default", "ban-drop-default"),
        ("alter table pages alter column word_count type bigint", "changing-column-type"),
        ("alter table pages drop constraint pages_brand_slug_slug_key", "ban-drop-constraint"),
        ("alter table pages set schema archive", "ban-set-schema"),
        ("drop index concurrently pages_newest_first", "ban-drop-index"),
        ("drop view overview", "ban-drop-view"),
        ("drop function searchable(text)", "ban-drop-function"),
        ("drop type mood", "ban-drop-type"),
        ("drop schema archive", "ban-drop-schema"),
        ("drop trigger noted on pages", "ban-drop-trigger"),
        ("truncate pages cascade", "ban-truncate-cascade"),
        ("revoke select on pages from reader", "ban-revoke"),
        (
            "create or replace function f() returns int language sql return 1",
            "ban-replace-view-function",
        ),
        ("alter table pages add constraint short check (length(label) < 9)", "constraint-missing-not-valid"),
        (
            "alter table pages add constraint of_site foreign key (brand_slug) references sites",
            "adding-foreign-key-constraint",
        ),
        ("alter table pages add constraint one unique (keyword)", "disallowed-unique-constraint"),
        (
            "alter table pages add column made_at timestamptz default clock_timestamp()",
            "adding-field-with-default",
        ),
        ("create index pages_by_keyword on pages (keyword)", "require-concurrent-index-creation"),
        ("alter table pages add colum label text", "syntax-error"),
        ("begin; alter table pages add column label text; commit", "transaction-nesting"),
    ],
)
def test_what_would_break_the_version_before_is_refused(tmp_path: Path, statement: str, rule: str) -> None:
    path = tmp_path / "0002_change.sql"
    path.write_text(f"-- A change.\n{statement};\n")

    assert any(finding.startswith(f"{path.name}:2: {rule}: ") for finding in findings(path)), findings(path)

    path.write_text(f"-- contract: since 0.4 nobody asks for it\n{statement};\n")
    assert findings(path) == []


@pytest.mark.parametrize("reason", ["-- contract:", "-- contract: ", "select '-- contract: no comment'"])
def test_what_is_taken_away_needs_a_reason(tmp_path: Path, reason: str) -> None:
    path = tmp_path / "0002_change.sql"
    path.write_text(f"{reason};\n" if reason.startswith("select") else f"{reason}\n")
    path.write_text(path.read_text() + "drop table pages;\n")

    assert findings(path) != []


@pytest.mark.parametrize(
    "sql",
    [
        "-- squawk-ignore ban-drop-table\ndrop table pages;",
        "/* squawk-ignore-file */ drop table pages;",
        "do $$ begin drop table pages; end $$;",
        "create table if not exists pages (n int); create index pages_by_n on pages (n);",
    ],
)
def test_the_linter_cannot_be_silenced_in_another_way(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "0002_change.sql"
    path.write_text(f"{sql}\n")

    assert findings(path) != []


@pytest.mark.parametrize(
    "sql",
    [
        """
        create table notes (id uuid primary key, page uuid not null references pages);
        create index notes_by_page on notes (page);
        alter table notes add constraint once unique (page);
        """,
        "alter table pages add column author text;",
        "alter table pages add column pinned boolean not null default false;",
        "alter table pages add constraint short check (length(label) < 9) not valid;",
        "alter table pages validate constraint short;",
        "alter table pages add constraint of_site foreign key (brand_slug) references sites not valid;",
        "-- outside a transaction\ncreate index concurrently if not exists pages_by_keyword on pages (keyword);",
        "update pages set label = 'drop table pages' where label is null;  -- alter table pages drop column label",
        "create function f() returns int language sql return 1;",
        "comment on table pages is 'rename to articles one day';",
    ],
)
def test_what_only_adds_is_allowed(tmp_path: Path, sql: str) -> None:
    path = tmp_path / "0002_change.sql"
    path.write_text(f"{sql}\n")

    assert findings(path) == []


def test_what_runs_outside_a_transaction_can_be_repeated(tmp_path: Path) -> None:
    path = tmp_path / "0002_change.sql"
    path.write_text(
        "-- outside a transaction\ncreate index concurrently pages_by_keyword on pages (keyword);\n"
    )

    assert any("prefer-robust-stmts" in finding for finding in findings(path))
