"""`GET /v1/audit-log`, and the function that adds the audit log to an application."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final, Self

from fastapi import APIRouter, FastAPI, Query
from pydantic import Field
from starlette.middleware import Middleware

from chassis.http.api import MayOperate, Moment, View, add_routes, router
from chassis.http.audit import log
from chassis.http.audit.change_queues import SerialChanges
from chassis.http.audit.operations import Operations
from chassis.http.audit.recording import Audited
from chassis.http.conventions.pages import DEFAULT_PAGE, FormerlyLargerLimit
from chassis.http.guard import Guard

_TEXT: Final = 500


class AuditEntry(View):
    """A change over the API."""

    id: int
    at: datetime
    caller: Annotated[str, Field(examples=["newsroom"])]
    """The name of the caller's key."""
    key_id: Annotated[str, Field(examples=["4fX0w8QbVn2L"])]
    """Public id of the key: the characters between `be_` and the second `_`; `service` for the service key."""
    operation: Annotated[str, Field(examples=["PUT /v1/brands/{slug}"])]
    path: Annotated[str, Field(examples=["/v1/brands/daily-grind"])]
    address: str | None
    """Address of the client, from the connection or a trusted proxy."""
    brand: str | None
    """Null: the change concerns no brand, or several."""
    correlation_id: str | None
    """Id of the chain of messages that the change caused."""
    before: dict[str, Any] | None
    """The changed fields before; null if there was nothing. Long values are replaced by SHA-256 and size."""
    after: dict[str, Any] | None
    """The same fields afterwards; null after a removal."""

    @classmethod
    def of(cls, entry: log.AuditLogEntry) -> Self:
        told = {name: getattr(entry.change, name) for name in log.Change.__slots__}
        return cls(id=entry.id, at=entry.at, **told)


class AuditLog(View):
    items: tuple[AuditEntry, ...]
    next: int | None
    """Start of the next page: send it as `after`."""


def keep_audit_log(
    app: FastAPI,
    database: log.AuditDatabase,
    *,
    changes_nothing: Iterable[str] = (),
    shown_once: Iterable[str] = (),
) -> None:
    """Record every change over the API in its transaction, and add the route `/v1/audit-log`.

    Args:
        app: made by `chassis.http.api.api`.
        database: the process's database.
        changes_nothing: route paths without changes despite their method, such as those that only call other services.
        shown_once: route paths with secret answers.
    """
    operations = Operations(app.router.routes, changes_nothing)
    # Innermost, as replayed answers of idempotent requests change nothing.
    app.user_middleware.append(
        Middleware(Audited, operations=operations, database=database, shown_once=shown_once)
    )
    # Next to the guard, outside of the transaction that stores an answer.
    guard = next(
        place
        for place, each in enumerate(app.user_middleware)
        if isinstance(each.cls, type) and issubclass(each.cls, Guard)
    )
    app.user_middleware.insert(guard + 1, Middleware(SerialChanges, operations=operations))
    add_routes(app, _routes(database))


def _routes(database: log.AuditDatabase) -> APIRouter:
    routes = router("/audit-log", tags=["audit log"])

    @routes.get("", summary="Who has changed what")
    async def list_audit_log(
        caller: MayOperate,
        brand: Annotated[
            str | None, Query(description="Only changes of this brand.", max_length=_TEXT)
        ] = None,
        caller_name: Annotated[
            str | None,
            Query(alias="caller", description="Only changes with keys of this name.", max_length=_TEXT),
        ] = None,
        operation: Annotated[
            str | None,
            Query(description="Only this operation: method and path as in the entries.", max_length=_TEXT),
        ] = None,
        since: Annotated[Moment | None, Query(description="Only changes from this time on.")] = None,
        until: Annotated[Moment | None, Query(description="Only changes before this time.")] = None,
        after: Annotated[
            int | None, Query(description="`next` of the page before.", ge=1, le=2**63 - 1)
        ] = None,
        limit: FormerlyLargerLimit = DEFAULT_PAGE,
    ) -> AuditLog:
        """Returns every request that changed something, latest first."""
        brands = caller.brands
        if brand is not None:
            brands = frozenset({brand}) if caller.may_see(brand) else frozenset()
        # PostgreSQL stores no NUL; and without any visible brand there is nothing to query.
        if brands == frozenset() or any("\0" in (text or "") for text in (brand, caller_name, operation)):
            return AuditLog(items=(), next=None)
        async with database.connection() as connection:
            found = await log.page(
                connection,
                brands=brands,
                caller=caller_name,
                operation=operation,
                since=since,
                until=until,
                before=after,
                limit=limit + 1,
            )
        return AuditLog(
            items=tuple(map(AuditEntry.of, found[:limit])),
            next=found[limit - 1].id if len(found) > limit else None,
        )

    return routes
