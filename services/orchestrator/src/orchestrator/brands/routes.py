"""HTTP routes of brands, and the check of the brand in other routes' paths."""

from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from http import HTTPStatus
from typing import Annotated, Final, Protocol, TypeAlias

from fastapi import APIRouter, Header, Path, Query, Response

from chassis import Connection
from chassis.http.api import (
    ETAG,
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayOperate,
    MayRead,
    add_routes,
    conditional,
    refusal,
    router,
)
from chassis.http.callers import Caller
from chassis.http.conditional import entity_tag
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import KEY_BOUND_TO_BRANDS, RefusalError
from envelope.brand.payloads import MAX_BRAND_SLUG, SLUG_PATTERN
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.answers import LOCATION
from orchestrator.brands.domain import (
    EXAM_PAYER,
    BrandSlug,
    UnknownBrandError,
    UnusableWriterError,
    check_writer,
    is_slug,
)
from orchestrator.brands.models import (
    BrandAgentView,
    BrandDetails,
    BrandList,
    BrandListItem,
    BrandNameList,
    BrandNameView,
    BrandRequest,
)
from orchestrator.brands.store import BrandRow, brands_page, find_brand, hold_brand, names_page, upsert_brand
from orchestrator.moving import check_not_moving
from orchestrator.removal import check_not_erasing

MAX_NAMES: Final = 1_000


class AgentOf(Protocol):
    """Reads whether a brand waits for a person and, if wanted, counts its articles and keywords."""

    def __call__(
        self, connection: Connection, brand: BrandRow, *, with_counters: bool = True
    ) -> Awaitable[BrandAgentView]: ...


WaitsOf: TypeAlias = Callable[[Connection, Sequence[BrandRow]], Awaitable[Sequence[str | None]]]

Slug = Annotated[
    str,
    Path(
        description=f"Lower-case letters and digits, joined by single hyphens, at most {MAX_BRAND_SLUG} characters.",
        examples=["daily-grind"],
        json_schema_extra={"pattern": SLUG_PATTERN, "maxLength": MAX_BRAND_SLUG},
    ),
]
IfMatch = Annotated[
    str | None,
    Header(
        description="ETag of the brand as you read it; 412 if its policy is another one by now. `*`: if there is one."
    ),
]
IfNew = Annotated[
    str | None, Header(alias="If-None-Match", description="`*`: 412 if there is such a brand already.")
]


def seen_slug(slug: str, caller: Caller) -> BrandSlug:
    """The slug in a path, checked for this caller. Whether the brand exists is not checked.

    Raises:
        HTTPException: 422 if it is not a valid slug.
        UnknownBrandError: the caller's key is bound to other brands.
    """
    if not is_slug(slug):
        raise RefusalError(
            codes.INVALID_SLUG,
            f"the brand's slug must be lower-case letters and digits, joined by single hyphens, at most {MAX_BRAND_SLUG} "
            "characters, such as 'daily-grind'",
        )
    # Nothing is looked up, so not even the time that the answer takes tells whether there is one.
    if not caller.may_see(slug):
        raise UnknownBrandError(slug)
    return BrandSlug(slug)


def _own_slug(slug: str, caller: Caller) -> BrandSlug:
    if slug == EXAM_PAYER:
        raise RefusalError(
            codes.INVALID_SLUG, f"what exams of judges cost counts for '{EXAM_PAYER}': choose another slug"
        )
    try:
        return seen_slug(slug, caller)
    except UnknownBrandError:
        # The same for a brand that there is and for one that there is not.
        raise RefusalError(
            KEY_BOUND_TO_BRANDS, f"your key is for other brands than '{slug}'; use one that is bound to none"
        ) from None


def brand_routes(
    database: Database, writers: AbstractSet[str], agent_of: AgentOf, waits_of: WaitsOf
) -> APIRouter:
    """`writers` are the writers of this process; `agent_of` gives a brand's counters, `waits_of` why brands wait."""
    routes = APIRouter()
    add_routes(routes, _setting(database, writers, agent_of), _reading(database, agent_of, waits_of))
    return routes


def _setting(database: Database, writers: AbstractSet[str], agent_of: AgentOf) -> APIRouter:
    routes = router(tags=["brands"])

    @routes.put(
        "/brands/{slug}",
        summary="Create or replace a brand",
        responses={
            200: {"headers": ETAG, "description": "The brand existed and is now as given."},
            201: {"model": BrandDetails, "headers": LOCATION | ETAG, "description": "The brand is new."},
            **refusal(HTTPStatus.CONFLICT, "A brand of this name is being erased."),
            **refusal(
                HTTPStatus.PRECONDITION_FAILED,
                "Its policy is another one than If-Match names, or If-None-Match is `*` and there is such a brand.",
            ),
        },
    )
    async def set_brand(
        caller: MayOperate,
        slug: Slug,
        request: BrandRequest,
        response: Response,
        if_match: IfMatch = None,
        if_none_match: IfNew = None,
    ) -> BrandDetails:
        """Creates or changes a brand. The same request again changes nothing. Running cycles keep their channels and target.

        To change a part of it, read the brand, change its `policy`, and send that with the ETag in `If-Match`.
        If another request changed the brand meanwhile, the answer is 412 and nothing changes.
        """
        checked = _own_slug(slug, caller)
        try:
            check_writer(request.writer, request.language, writers)
        except UnusableWriterError as error:
            raise RefusalError(codes.WRITER_NOT_AVAILABLE, str(error)) from error
        async with database.transaction() as tx:
            if if_match is not None:
                _check_unchanged(slug, await hold_brand(tx.connection, checked), if_match)
            brand, is_new = await upsert_brand(tx.connection, checked, request)
            if if_none_match == "*" and not is_new:
                raise RefusalError(
                    codes.BRAND_EXISTS,
                    f"there is a brand '{slug}' already; read it, and send its ETag in If-Match to change it",
                )
            # Checked after the upsert: a concurrent erasure has removed the brand by now.
            await check_not_erasing(tx.connection, checked)
            await check_not_moving(tx.connection, checked)
            view = _details(brand, await agent_of(tx.connection, brand))
        if is_new:
            response.status_code = HTTPStatus.CREATED
            response.headers["Location"] = f"/v1/brands/{slug}"
        response.headers["ETag"] = _tag(view)
        return view

    return routes


def _reading(database: Database, agent_of: AgentOf, waits_of: WaitsOf) -> APIRouter:
    routes = router(tags=["brands"])

    @routes.get("/brands", summary="List brands", response_model=BrandList, responses=READ)
    async def list_brands(
        caller: MayRead,
        after: Annotated[
            str,
            Query(pattern=SLUG_PATTERN, max_length=MAX_BRAND_SLUG, description="`next` of the page before."),
        ] = "",
        limit: PageLimit = DEFAULT_PAGE,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """All brands, by slug."""
        async with database.connection() as connection:
            found = await brands_page(connection, slugs=caller.brands, after=after, limit=limit + 1)
            page = found[:limit]
            waits = await waits_of(connection, page)
        answer = BrandList(
            items=tuple(BrandListItem.of(brand, waits=why) for brand, why in zip(page, waits, strict=True)),
            next=page[-1].slug if len(found) > limit else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    @routes.get("/brand-names", summary="List names of brands", response_model=BrandNameList, responses=READ)
    async def list_brand_names(
        caller: MayRead,
        after: Annotated[
            str,
            Query(pattern=SLUG_PATTERN, max_length=MAX_BRAND_SLUG, description="`next` of the page before."),
        ] = "",
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """Slugs and names of all brands, by slug, 1,000 at a time: for choices, where `GET /v1/brands` would say more than is shown."""
        async with database.connection() as connection:
            found = await names_page(connection, slugs=caller.brands, after=after, limit=MAX_NAMES + 1)
        page = found[:MAX_NAMES]
        answer = BrandNameList(
            items=tuple(BrandNameView(slug=slug, name=name) for slug, name in page),
            next=page[-1][0] if len(found) > MAX_NAMES else None,
        )
        return conditional(answer.model_dump_json(), if_none_match)

    @routes.get(
        "/brands/{slug}",
        summary="Read a brand",
        response_model=BrandDetails,
        responses={**READ, **UNKNOWN},
    )
    async def get_brand(
        caller: MayRead,
        slug: Slug,
        counters: Annotated[
            bool,
            Query(
                description="Whether to count; false is quick for a brand with many articles, whose rows are not looked at."
            ),
        ] = True,
        if_none_match: IfNoneMatch = None,
    ) -> Response:
        """The settings of a brand, with what it does."""
        async with database.connection() as connection:
            brand = await find_brand(connection, seen_slug(slug, caller))
            if brand is None:
                raise UnknownBrandError(slug)
            view = _details(brand, await agent_of(connection, brand, with_counters=counters))
        return conditional(view.model_dump_json(), if_none_match, etag=_tag(view))

    return routes


def _details(brand: BrandRow, agent: BrandAgentView) -> BrandDetails:
    return BrandDetails.of(brand, policy=BrandRequest.of(brand), agent=agent)


def _tag(view: BrandDetails) -> str:
    """The ETag of the whole answer. Its first part stands for the policy alone, as the counters change all the time."""
    return f'"{_policy_tag(view.policy)}.{entity_tag(view.model_dump_json()).strip(chr(34))}"'


def _policy_tag(policy: BrandRequest) -> str:
    return entity_tag(policy.model_dump_json()).strip('"')


def _check_unchanged(slug: str, brand: BrandRow | None, if_match: str) -> None:
    """Raises HTTPException: 412 if the policy's ETag is not in If-Match."""
    if brand is None:
        raise RefusalError(
            codes.BRAND_MISSING,
            f"there is no brand '{slug}' to change; leave If-Match out to make it",
        )
    tags = (tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(","))
    known = {tag.partition(".")[0] for tag in tags}
    if known.isdisjoint({"*", _policy_tag(BrandRequest.of(brand))}):
        raise RefusalError(
            codes.BRAND_CHANGED,
            f"'{slug}' has changed since you read it, on {brand.updated_at:%Y-%m-%d at %H:%M:%S} UTC:"
            " read it again, and send your change with the ETag that it has now",
        )
