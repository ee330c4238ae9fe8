"""`GET /v1/audit-log`, and having an application keep the log that it shows."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Any, Final, Self

from fastapi import APIRouter, FastAPI, Query
from pydantic import Field
from starlette.middleware import Middleware

from chassis.http.api import MayOperate, View, add_routes, router
from chassis.http.audit import log
from chassis.http.audit.operations import Operations
from chassis.http.audit.recording import Audited
from chassis.http.audit.turns import InTurn
from chassis.http.guard import Guard

MAX_PAGE: Final = 500
_TEXT: Final = 500


class AuditEntry(View):
    """A change that was made over the API."""

    id: int
    at: datetime
    caller: Annotated[str, Field(examples=["newsroom"])]
    """The name of the caller's key."""
    key_id: Annotated[str, Field(examples=["4fX0w8QbVn2L"])]
    """Of the key: the characters between `be_` and the second `_`; `service` for the service key."""
    operation: Annotated[str, Field(examples=["PUT /v1/brands/{slug}"])]
    path: Annotated[str, Field(examples=["/v1/brands/daily-grind"])]
    address: str | None
    """Where the request came from, as the connection says, or a proxy that is trusted."""
    brand: str | None
    """Null: it concerns none, or several."""
    correlation_id: str | None
    """Of the messages that it has caused."""
    before: dict[str, Any] | None
    """The fields that were changed, as they were; null if there was nothing. A long one is told by its SHA-256 and size."""
    after: dict[str, Any] | None
    """The same as they are since; null if there is nothing any more."""

    @classmethod
    def of(cls, entry: log.Entry) -> Self:
        told = {name: getattr(entry.change, name) for name in log.Change.__slots__}
        return cls(id=entry.id, at=entry.at, **told)


class AuditLog(View):
    items: tuple[AuditEntry, ...]
    next: int | None
    """Where the next page begins: send it as `after`."""


def keep_audit_log(
    app: FastAPI,
    database: log.Storing,
    *,
    changes_nothing: Iterable[str] = (),
    shown_once: Iterable[str] = (),
) -> None:
    """Has every change over the API noted in the transaction in which it is made, and shown at `/v1/audit-log`.

    Args:
        app: made by `chassis.http.api.api`.
        database: of the process, in which the changes are made.
        changes_nothing: paths of routes that change nothing, though they are no GET; those that ask others over the network.
        shown_once: paths of routes whose answers nobody is to see again.
    """
    operations = Operations(app.router.routes, changes_nothing)
    # Innermost: a request that is answered as it was before makes no change.
    app.user_middleware.append(
        Middleware(Audited, operations=operations, database=database, shown_once=shown_once)
    )
    # Next to the guard, outside of the transaction that an answer is kept in.
    guard = next(
        place
        for place, each in enumerate(app.user_middleware)
        if isinstance(each.cls, type) and issubclass(each.cls, Guard)
    )
    app.user_middleware.insert(guard + 1, Middleware(InTurn, operations=operations))
    add_routes(app, _routes(database))


def _routes(database: log.Storing) -> APIRouter:
    routes = router("/audit-log", tags=["audit log"])

    @routes.get("", summary="Who has changed what")
    async def get_audit_log(
        caller: MayOperate,
        brand: Annotated[str | None, Query(description="What concerns this brand.", max_length=_TEXT)] = None,
        caller_name: Annotated[
            str | None,
            Query(alias="caller", description="What was done with keys of this name.", max_length=_TEXT),
        ] = None,
        operation: Annotated[
            str | None,
            Query(description="Method and path, as entries have them.", max_length=_TEXT),
        ] = None,
        after: Annotated[
            int | None, Query(description="`next` of the page before.", ge=1, le=2**63 - 1)
        ] = None,
        limit: Annotated[int, Query(description="At most so many.", ge=1, le=MAX_PAGE)] = 50,
    ) -> AuditLog:
        """Every request over the API that has changed something, the latest first."""
        brands = caller.brands
        if brand is not None:
            brands = frozenset({brand}) if caller.may_see(brand) else frozenset()
        # Such a text is kept by no database, and of no brand nothing is to be looked up.
        if brands == frozenset() or any("\0" in (text or "") for text in (brand, caller_name, operation)):
            return AuditLog(items=(), next=None)
        async with database.connection() as connection:
            found = await log.page(
                connection,
                brands=brands,
                caller=caller_name,
                operation=operation,
                before=after,
                limit=limit + 1,
            )
        return AuditLog(
            items=tuple(map(AuditEntry.of, found[:limit])),
            next=found[limit - 1].id if len(found) > limit else None,
        )

    return routes
