"""Copies the rows of a brand out of a service's database, and into that of another installation: export and import of brands.

A service lists its `BrandPart`s: tables with the model of their rows, and the rows that depend on each (`Dependent`). A row of an import
is checked by its model, so that an archive can store nothing that the service could not read. The service has a table `brand_imports`:
`brand_slug text primary key, import_id uuid, begun_at timestamptz, ended_at timestamptz`.
"""

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeAlias, TypeVar
from uuid import UUID

import asyncpg
import structlog
from pydantic import BaseModel, ConfigDict, TypeAdapter

from chassis import Connection
from chassis.http.problem_codes import INVALID_CURSOR, RefusalError
from messaging import problem_codes as codes
from messaging.flow.transactions import Database

log = structlog.get_logger(__name__)

_AT_ONCE: Final = 10
PAGE_BYTES: Final = 1_000_000
"""A page of rows ends once it has so many bytes of JSON; its first row may be larger."""


class CopiedRow(BaseModel):
    """The columns of a table that are copied. Fields that name a `Dependent` hold its rows.

    Pydantic builds what checks rows at the first import: few processes ever see one, and all of it takes megabytes.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


RowT = TypeVar("RowT", bound=CopiedRow)
StoreRows: TypeAlias = Callable[[Connection], Awaitable[int]]
"""Stores rows in the caller's transaction; returns how many were new."""
PrepareRows: TypeAlias = Callable[[str, Sequence[RowT]], Awaitable[StoreRows]]
"""Prepares rows of a brand for storage, outside of a transaction: it may ask other services."""


@dataclass(frozen=True, slots=True)
class Dependent:
    """Rows that come and go with their parent's; `link` are the columns that both have, `order` sorts them."""

    table: str
    link: tuple[str, ...]
    order: str


@dataclass(frozen=True, slots=True)
class BrandPart(Generic[RowT]):
    """Rows of one table that belong to brands.

    Args:
        name: the part's name in URLs and archives.
        table: its table.
        row: the model of its rows.
        key: the columns that identify a row within the installation, besides the brand.
        order: the columns of the order in which rows are listed; by default `key`.
        brand: the column with the brand's slug.
        where: SQL condition on `t`, for rows that are copied.
        owned: SQL condition on `t` and the brand $1, for a table without a column for the brand; such a part needs `prepare`.
        dependents: by field of `row`.
        adjust: changes a row for its new installation, such as the state of something that was under way.
        constants: SQL values of further columns.
        prepare: replaces the storage of rows.
    """

    name: str
    table: str
    row: type[RowT]
    key: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    brand: str = "brand_slug"
    where: str = "true"
    owned: str = ""
    dependents: Mapping[str, Dependent] = field(default_factory=dict)
    adjust: Callable[[RowT], RowT] | None = None
    constants: Mapping[str, str] = field(default_factory=dict)
    prepare: PrepareRows[RowT] | None = None

    @property
    def columns(self) -> list[str]:
        return [name for name in self.row.model_fields if name not in self.dependents]


@dataclass(frozen=True, slots=True)
class RowsPage:
    """Rows as JSON objects, and the cursor of the next page; None: these are the last."""

    rows: list[dict[str, Any]]
    next: str | None


async def read_rows(
    connection: Connection, part: BrandPart[Any], brand: str, *, after: str | None, limit: int
) -> RowsPage:
    """Returns a page of a brand's rows.

    Raises:
        RefusalError: `after` is no cursor of this part.
    """
    order = part.order or part.key or (part.brand,)
    query = _query(part, order)
    place = None if after is None else json.dumps(dict(zip(order, _place(after, len(order)), strict=True)))
    rows: list[dict[str, Any]] = []
    size = 0
    # Few at a time: one may be large, and only the first of a page may be larger than a page.
    while len(rows) < limit and size < PAGE_BYTES:
        wanted = min(_AT_ONCE, limit - len(rows))
        try:
            found = await connection.fetch(query, brand, place, wanted)
        except asyncpg.DataError as error:
            raise _no_cursor() from error
        for each in found:
            rows.append(
                json.loads(each["whole"]) | {name: json.loads(each[name]) for name in part.dependents}
            )
            size += len(each["whole"]) + sum(len(each[name]) for name in part.dependents)
            place = json.dumps(dict(zip(order, json.loads(each["place"]), strict=True)))
            if size >= PAGE_BYTES:
                break
        else:
            if len(found) < wanted:
                return RowsPage(rows, None)
    assert place is not None
    return RowsPage(
        rows, base64.urlsafe_b64encode(json.dumps(list(json.loads(place).values())).encode()).decode()
    )


def _query(part: BrandPart[Any], order: Sequence[str]) -> str:
    """SQL for rows of the brand $1 after the place $2, at most $3."""
    dependents = [
        f"(select coalesce(jsonb_agg({_as_object('d', _row_model(part.row, name).model_fields)} order by d.{each.order}), '[]')"  # noqa: S608
        f" from {each.table} as d where {' and '.join(f'd.{column} = t.{column}' for column in each.link)})::text as {name}"
        for name, each in part.dependents.items()
    ]
    listed = ", ".join(f"t.{column}" for column in order)
    started = ", ".join(f"s.{column}" for column in order)
    selected = ", ".join(
        [
            f"{_as_object('t', part.columns)}::text as whole",
            f"jsonb_build_array({listed})::text as place",
            *dependents,
        ]
    )
    return f"""
        select {selected} from {part.table} as t
        where {part.owned or f"t.{part.brand} = $1"} and {part.where} and ($2::text is null or ({listed}) > (
            select {started} from jsonb_populate_record(null::{part.table}, $2::text::jsonb) as s))
        order by {listed} limit $3
    """  # noqa: S608 - names of tables and columns


def _as_object(table: str, columns: Iterable[str]) -> str:
    """SQL for these columns of a row as a JSON object."""
    return f"(select to_jsonb(c) from (select {', '.join(f'{table}.{column}' for column in columns)}) as c)"  # noqa: S608


def _place(after: str, count: int) -> list[Any]:
    try:
        place = json.loads(base64.urlsafe_b64decode(after.encode("ascii")))
    except (ValueError, binascii.Error, RecursionError) as error:
        raise _no_cursor() from error
    if (
        not isinstance(place, list)
        or len(place) != count
        or any(isinstance(one, (list, dict)) for one in place)
    ):
        raise _no_cursor()
    return place


def _no_cursor() -> RefusalError:
    return RefusalError(INVALID_CURSOR, "after is not the `next` of a page of this list")


def _row_model(row: type[CopiedRow], dependent: str) -> type[CopiedRow]:
    """The model of a dependent's rows: its field is a tuple of them."""
    annotation: Any = row.model_fields[dependent].annotation
    model: type[CopiedRow] = annotation.__args__[0]
    return model


@dataclass(frozen=True, slots=True)
class ImportedRows:
    """`added` are new here; `known` were here already, from the same import."""

    added: int
    known: int
    had_ended: bool = False
    """The import had ended before, so that nothing was stored."""


async def import_rows(
    database: Database,
    parts: Sequence[BrandPart[Any]],
    part: BrandPart[RowT],
    brand: str,
    import_id: UUID,
    rows: Sequence[RowT],
    *,
    ends_import: bool = False,
) -> ImportedRows:
    """Stores rows of an import, each once: the same request again changes nothing, and neither does one after the import's end.

    Raises:
        RefusalError: the brand has other data in this service, a row collides with one of another brand, or cannot be stored.
    """
    if part.adjust is not None:
        rows = [part.adjust(row) for row in rows]
    # Outside of the transaction, as it may ask another service.
    store = (
        await part.prepare(brand, rows)
        if part.prepare is not None and rows
        else lambda connection: insert_rows(connection, part, brand, rows)
    )
    try:
        async with database.transaction() as tx:
            if not rows and not ends_import:
                return ImportedRows(0, 0)
            if await _has_ended(tx.connection, parts, brand, import_id):
                return ImportedRows(0, len(rows), had_ended=True)
            added = await store(tx.connection) if rows else 0
            if ends_import:
                await tx.connection.execute(
                    "update brand_imports set ended_at = clock_timestamp() where brand_slug = $1", brand
                )
                log.info("brand_imported", brand=brand, import_id=str(import_id))
    except (asyncpg.DataError, asyncpg.IntegrityConstraintViolationError) as error:
        raise RefusalError(
            codes.ROWS_NOT_STORABLE, f"rows of {part.name} cannot be stored, and none was: {_told(error)}"
        ) from error
    return ImportedRows(added, len(rows) - added)


def _told(error: asyncpg.PostgresError) -> str:
    """What the database says, without the values, which may be long."""
    return " ".join(str(error).split())[:300]


async def _has_ended(
    connection: Connection, parts: Sequence[BrandPart[Any]], brand: str, import_id: UUID
) -> bool:
    """Begins the import if the brand has nothing here; returns whether it has ended. Other imports of the brand wait."""
    await connection.execute("select pg_advisory_xact_lock(hashtextextended($1, 0))", f"import of {brand}")
    found = await connection.fetchrow(
        "select import_id, ended_at from brand_imports where brand_slug = $1", brand
    )
    if found is not None and found["import_id"] == import_id:
        return found["ended_at"] is not None
    tables = {(each.table, each.brand) for each in parts if not each.owned}
    has_rows = " or ".join(
        f"exists (select from {table} where {column} = $1)" for table, column in sorted(tables)
    )
    if found is not None or await connection.fetchval(f"select {has_rows}", brand):
        raise RefusalError(
            codes.BRAND_HAS_DATA,
            f"'{brand}' has data here that are not of this import: export and erase the brand first, or import into another"
            " installation",
        )
    await connection.execute(
        "insert into brand_imports (brand_slug, import_id) values ($1, $2)", brand, import_id
    )
    return False


async def insert_rows(connection: Connection, part: BrandPart[RowT], brand: str, rows: Sequence[RowT]) -> int:
    """Stores those of the rows that are not here yet, with their dependents; returns how many.

    Raises:
        RefusalError: a row is here already, and belongs to another brand.
    """
    columns = part.columns
    known = ", ".join([part.brand, *columns, *part.constants])
    values = ", ".join(["$2", *(f"n.{column}" for column in columns), *part.constants.values()])
    key = part.key or (part.brand,)
    # As it came: a document in a column gets no fields that it did not have.
    listed = [row.model_dump(mode="json", exclude_unset=True) for row in rows]
    inserted = await connection.fetch(
        f"insert into {part.table} as t ({known}) select {values}"  # noqa: S608 - names of tables and columns
        f" from jsonb_populate_recordset(null::{part.table}, $1::text::jsonb) as n"
        f" on conflict do nothing returning {', '.join(f't.{column}::text' for column in key)}",
        json.dumps([{column: row.get(column) for column in columns} for row in listed], ensure_ascii=False),
        brand,
    )
    new = {tuple(row) for row in inserted}
    await _check_known(connection, part, brand, [row for row in listed if _key(row, key) not in new])
    for name, each in part.dependents.items():
        await _insert_dependents(
            connection,
            _row_model(part.row, name),
            each,
            name,
            [row for row in listed if _key(row, key) in new],
        )
    return len(new)


def _key(row: Mapping[str, Any], key: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(row.get(column)) for column in key)


async def _check_known(
    connection: Connection, part: BrandPart[Any], brand: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Raises RefusalError: one of these rows is not the brand's own."""
    if not rows or not part.key:
        return
    listed = ", ".join(part.key)
    missing = await connection.fetchval(
        f"select {part.key[0]}::text from jsonb_populate_recordset(null::{part.table}, $1::text::jsonb) as n"  # noqa: S608
        f" where not exists (select from {part.table} as t where t.{part.brand} = $2"
        f" and ({', '.join(f't.{column}' for column in part.key)}) = ({', '.join(f'n.{column}' for column in part.key)}))"
        f" order by {listed} limit 1",
        json.dumps([{column: row[column] for column in part.key} for row in rows]),
        brand,
    )
    if missing is not None:
        raise RefusalError(
            codes.ROWS_COLLIDE,
            f"{part.name}: {missing} collides with a row that is here already, of another brand or of the same archive;"
            " nothing of this request was stored",
        )


async def _insert_dependents(
    connection: Connection,
    model: type[CopiedRow],
    dependent: Dependent,
    name: str,
    parents: Sequence[Mapping[str, Any]],
) -> None:
    if not parents:
        return
    link = dependent.link
    linked = [{column: parent[column] for column in link} for parent in parents]
    # Triggers may have made some with their parent.
    await connection.execute(
        f"delete from {dependent.table} as d using jsonb_populate_recordset(null::{dependent.table}, $1::text::jsonb) as n"  # noqa: S608
        f" where ({', '.join(f'd.{column}' for column in link)}) = ({', '.join(f'n.{column}' for column in link)})",
        json.dumps(linked),
    )
    columns = ", ".join([*link, *(column for column in model.model_fields if column not in link)])
    await connection.execute(
        f"insert into {dependent.table} ({columns}) select {columns}"  # noqa: S608 - names of tables and columns
        f" from jsonb_populate_recordset(null::{dependent.table}, $1::text::jsonb)",
        json.dumps(
            [
                {**row, **of}
                for parent, of in zip(parents, linked, strict=True)
                for row in parent.get(name, ())
            ],
            ensure_ascii=False,
        ),
    )


def rows_of(part: BrandPart[RowT]) -> TypeAdapter[tuple[RowT, ...]]:
    """What checks the rows of a request."""
    model: Any = part.row
    return TypeAdapter(tuple[model, ...])
