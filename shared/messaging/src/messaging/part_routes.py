"""`/v1/brands/{slug}/parts/{part}`: reads a brand's rows for an archive, and stores those of an archive.

The application needs `PART_BODIES` among its `larger_bodies`, and the codes of `messaging.problem_codes`.
"""

from collections.abc import Callable, Sequence
from functools import cache
from http import HTTPStatus
from typing import Annotated, Any, Final
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from chassis.http.api import UNKNOWN, MayAdminister, View, needs, refusal, router
from chassis.http.callers import Caller, Scope
from chassis.http.conventions.pages import PageLimit
from chassis.http.problem_codes import RefusalError
from messaging import problem_codes as codes
from messaging.brand_parts import BrandPart, import_rows, read_rows, rows_of
from messaging.flow.transactions import Database

PARTS: Final = "/v1/brands/{slug}/parts/{part}"
PART_BODIES: Final = {PARTS: 8_000_000}
MOST_ROWS: Final = 200
_MAX_SLUG: Final = 63


class ImportPartRequest(BaseModel):
    """Rows of a part, as `GET` of the same path lists them at the former installation."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    import_id: UUID
    """The archive's id: the same rows of the same import are stored once."""
    rows: Annotated[list[dict[str, Any]], Field(max_length=MOST_ROWS)] = []
    """Each with all fields of the part; none is stored if one is refused."""
    goes_on: bool = False
    """The brand moves, and has stopped at the former installation: what waits for its time there goes on here once the brand is resumed."""
    ends_import: bool = False
    """These are the last rows of the import at this service: later ones change nothing."""


class BrandPartRows(View):
    """Rows of a part, with the fields that the service stores of them."""

    items: list[dict[str, Any]]
    next: str | None
    """Send it as `after` to get the next page."""


class ImportedPart(View):
    added: int
    """Rows that are new here."""
    known: int
    """Rows that were here already, from the same import."""
    had_ended: bool
    """The import ended here before this request, which changed nothing."""


def part_routes(
    database: Database, load: Callable[[bool], Sequence[BrandPart[Any]]], *, slug_pattern: str
) -> APIRouter:
    """Builds the routes of a service's parts; `slug_pattern` is that of brands' slugs.

    `load` gives the parts at the first request: exports and imports are rare, and all models of rows take megabytes. Its argument says whether
    the brand moves, so that its work goes on.
    """
    load_once = cache(load)
    routes = router("/brands/{slug}/parts", tags=["brands"])
    Slug = Annotated[str, Path(pattern=slug_pattern, max_length=_MAX_SLUG)]  # noqa: N806 - a type
    Part = Annotated[str, Path(description="Such as `articles`.", max_length=40)]  # noqa: N806

    def find(name: str, *, goes_on: bool = False) -> BrandPart[Any]:
        parts = load_once(goes_on)
        found = next((each for each in parts if each.name == name), None)
        if found is None:
            names = ", ".join(each.name for each in parts)
            raise RefusalError(
                codes.UNKNOWN_PART, f"there is no such part of a brand here; take one of {names}"
            )
        return found

    @routes.get("/{part}", summary="List the rows of a part of a brand, for an archive", responses=UNKNOWN)
    async def list_brand_part(
        caller: MayAdminister,
        slug: Slug,
        part: Part,
        after: Annotated[str | None, Query(description="`next` of the page before.", max_length=2000)] = None,
        limit: PageLimit = 20,
    ) -> BrandPartRows:
        """Lists what another installation needs to have the brand as it is here. A page may have fewer rows than `limit`."""
        caller.check_visible(slug)
        found = find(part)
        async with database.connection() as connection:
            page = await read_rows(connection, found, slug, after=after, limit=limit)
        return BrandPartRows(items=page.rows, next=page.next)

    @routes.post(
        "/{part}",
        summary="Store rows of a part of a brand, from an archive",
        responses={
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "The brand has other data here, or a row collides with another."),
        },
    )
    async def import_brand_part(
        caller: Annotated[Caller, needs(Scope.ADMIN, of_all_brands=True)],
        slug: Slug,
        part: Part,
        request: ImportPartRequest,
    ) -> ImportedPart:
        """Stores rows of an import, each once. What was under way at the former installation does not go on, except with `goes_on`."""
        caller.check_visible(slug)
        found = find(part, goes_on=request.goes_on)
        try:
            rows = rows_of(found).validate_python(request.rows)
        except ValidationError as error:
            raise RequestValidationError(
                [{**one, "loc": ("body", "rows", *one["loc"])} for one in error.errors(include_url=False)]
            ) from error
        stored = await import_rows(
            database,
            load_once(request.goes_on),
            found,
            slug,
            request.import_id,
            rows,
            ends_import=request.ends_import,
        )
        return ImportedPart(added=stored.added, known=stored.known, had_ended=stored.had_ended)

    return routes
