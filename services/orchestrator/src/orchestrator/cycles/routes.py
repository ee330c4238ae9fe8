"""HTTP routes of cycles: submit keywords, follow and control them."""

from collections.abc import Collection
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Header, Path, Query, Response

from chassis.http.api import (
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayOperate,
    MayRead,
    MaySubmit,
    Moment,
    add_routes,
    conditional,
    refusal,
    router,
)
from chassis.http.callers import SERVICE, Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, FormerlyLargerLimit, PageLimit
from chassis.http.idempotency import DESCRIPTION
from chassis.http.problem_codes import RefusalError
from chassis.observing import chains
from envelope.brand import CATALOGUE
from envelope.brand.payloads import Priority
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.answers import LOCATION
from orchestrator.brands import BrandView, Slug, UnknownBrandError, find_brand, seen_slug
from orchestrator.cycles import control
from orchestrator.cycles.begin import begin_cycle
from orchestrator.cycles.dispatch import DEFAULT_LIMITS, BrandLimits
from orchestrator.cycles.facts import CycleState, KeywordState
from orchestrator.cycles.found_keywords import (
    FoundKeywordsView,
    FoundKeywordView,
    KeywordCount,
    KeywordSpellings,
)
from orchestrator.cycles.keyword_rows import PAGE, keywords_of
from orchestrator.cycles.keyword_search import (
    KeywordFilter,
    count_keywords,
    find_few,
    newest_spellings,
    search_and_count,
)
from orchestrator.cycles.list_routes import LISTS, KeywordListRoute
from orchestrator.cycles.models import (
    CycleAccepted,
    CycleSummary,
    CyclesView,
    CycleView,
    KeywordsView,
    PriorityRequest,
    RequestLimits,
    ResearchRequest,
)
from orchestrator.cycles.requested import requested_cycle
from orchestrator.cycles.store import Cycle, cycles_page, find_cycle
from orchestrator.requests import WITHOUT_NUL

CYCLE_ID: Final = f"{CATALOGUE.system}.cycle_id"
"""Attribute of the request's span; it finds the cycle's trace."""
LARGER_BODIES: Final = {"/v1/brands/{slug}/research": 12_500_000}
"""10,000 keywords of 200 characters, each written as a JSON escape, come to 12.1 MB."""

MAX_SPELLINGS: Final = 500
"""Newest keywords of a brand that a form need not suggest again."""
_AFTER_KEYWORD: Final = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\.[0-9]{1,9}$"

IdempotencyKey = Annotated[str | None, Header(description=DESCRIPTION, examples=["campaign-2026-07"])]
OfBrand = Annotated[
    str | None, Query(description="Those of this brand.", max_length=200, pattern=WITHOUT_NUL)
]
SpelledSo = Annotated[
    str | None,
    Query(
        description="Spelled so, in upper or lower case.", min_length=1, max_length=200, pattern=WITHOUT_NUL
    ),
]
WithText = Annotated[
    str | None,
    Query(description="With this in their spelling.", min_length=1, max_length=200, pattern=WITHOUT_NUL),
]
InState = Annotated[KeywordState | None, Query(description="Those in this state.")]
SubmittedSince = Annotated[
    Moment | None, Query(description="Those of cycles that were submitted from this time on.")
]
OfChain = Annotated[
    str | None,
    Query(description="Those with this `correlation_id`.", max_length=200, pattern=WITHOUT_NUL),
]
WithArticle = Annotated[UUID | None, Query(description="The one with this article of its own.")]
OfList = Annotated[
    Priority | None,
    Query(
        description="Of the keywords that have none of their own; for lists, which have no other place for it."
    ),
]
Refresh = Annotated[
    bool,
    Query(description="As the field of that name, for lists, which have no other place for it."),
]
Distinct = Annotated[
    bool,
    Query(description="As the field of that name, for lists whose table has no such column."),
]
_BESIDE_A_LIST: Final = "As the field of that name, for lists, which have no other place for it."
Deadline = Annotated[Moment | None, Query(description=_BESIDE_A_LIST)]
DeadlineHours = Annotated[int | None, Query(description=_BESIDE_A_LIST, ge=1, le=8760)]
MostCost = Annotated[float | None, Query(description=_BESIDE_A_LIST, ge=0.01, le=1_000_000)]
UNDER_WAY: Final = refusal(
    HTTPStatus.CONFLICT, "The same request, with the same Idempotency-Key, is under way."
)


def cycle_routes(database: Database, limits: BrandLimits = DEFAULT_LIMITS) -> APIRouter:
    """All routes of cycles; those about a whole brand are tagged with the brand in the API reference."""
    routes = APIRouter()
    add_routes(routes, _handing_in(database, limits), _watching(database), _controlling(database, limits))
    return routes


def _handing_in(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router(tags=["brands"])
    routes.route_class = KeywordListRoute

    @routes.post(
        "/brands/{slug}/research",
        summary="Turn keywords into articles",
        status_code=HTTPStatus.ACCEPTED,
        responses={
            202: {"headers": LOCATION, "description": "Accepted; watch the cycle at `Location`."},
            **UNKNOWN,
            **UNDER_WAY,
        },
        openapi_extra=LISTS,
    )
    async def submit_keywords(
        caller: MaySubmit,
        slug: Slug,
        request: ResearchRequest,
        response: Response,
        priority: OfList = None,
        refresh: Refresh = False,
        distinct: Distinct = False,
        deadline: Deadline = None,
        deadline_hours: DeadlineHours = None,
        max_cost: MostCost = None,
        idempotency_key: IdempotencyKey = None,
    ) -> CycleAccepted:
        """Accepts the keywords as one cycle. Each is researched, written, published and promoted independently.

        They come as JSON; as `text/plain`, one a line; or as `text/csv`, under a header with the column `keyword` and, if they
        differ, `priority` and `distinct`. A brand has a limited number under way at a time; others wait, those of a higher priority go
        first.

        With a `deadline`, no keyword is worked on any longer; with a `max_cost`, no call is paid for that could pass it. A keyword
        without an article is then `refused`, with the reason. What is already published or posted is still reported.
        """
        beside = RequestLimits.model_construct(
            deadline=deadline, deadline_hours=deadline_hours, max_cost=max_cost
        )
        wanted = requested_cycle(
            seen_slug(slug, caller),
            request,
            by=caller.name,
            beside=beside,
            priority=priority,
            refresh=refresh,
            distinct=distinct,
            idempotency_key=idempotency_key if caller == SERVICE else None,
        )
        cycle = await begin_cycle(database, wanted, limits)
        chains.name_chain(cycle.correlation_id, also={CYCLE_ID: str(cycle.cycle_id)})
        response.headers["Location"] = f"/v1/cycles/{cycle.cycle_id}"
        return CycleAccepted.of(cycle)

    return routes


def _watching(database: Database) -> APIRouter:
    routes = router(tags=["cycles"])

    @routes.get("/cycles", summary="List cycles")
    async def list_cycles(
        caller: MayRead,
        brand: Annotated[str | None, Query(description="Those of this brand.", max_length=200)] = None,
        state: Annotated[
            list[CycleState] | None,
            Query(
                description="Those in this state; several times: in one of these.", max_length=len(CycleState)
            ),
        ] = None,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: FormerlyLargerLimit = DEFAULT_PAGE,
    ) -> CyclesView:
        """All cycles, latest first."""
        async with database.connection() as connection:
            cycles = await cycles_page(
                connection,
                brands=caller.brands if brand is None else {seen_slug(brand, caller)},
                states=state or (),
                after=after,
                limit=limit + 1,
            )
        return CyclesView.of(cycles, limit)

    @routes.get(
        "/cycles/{cycle_id}",
        summary="Watch a cycle",
        response_model=CycleView,
        responses={**READ, **UNKNOWN},
    )
    async def get_cycle(caller: MayRead, cycle_id: UUID, if_none_match: IfNoneMatch = None) -> Response:
        """Progress, and its first keywords in submission order."""
        async with database.connection() as connection:
            cycle = await find_cycle(connection, cycle_id, caller.brands)
            rows = await keywords_of(connection, cycle_id, limit=PAGE + 1) if cycle else []
        return conditional(CycleView.of(_known(cycle, cycle_id), rows).model_dump_json(), if_none_match)

    @routes.get("/keywords", summary="Search keywords")
    async def search_for_keywords(
        caller: MayRead,
        brand: OfBrand = None,
        keyword: SpelledSo = None,
        q: WithText = None,
        state: InState = None,
        since: SubmittedSince = None,
        correlation_id: OfChain = None,
        content_id: WithArticle = None,
        after: Annotated[
            str | None, Query(description="`next` of the page before.", pattern=_AFTER_KEYWORD)
        ] = None,
        counted: Annotated[
            bool, Query(description="With the number of all that the filters let through.")
        ] = False,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> FoundKeywordsView:
        """Keywords of all stored cycles, latest cycle first."""
        wanted = KeywordFilter(_brands(brand, caller), keyword, q, state, since, correlation_id, content_id)
        cycle_id, _, position = (after or "").partition(".")
        last = (UUID(cycle_id), int(position)) if after else None
        rows, count = await search_and_count(database, wanted, after=last, limit=limit + 1, counted=counted)
        return FoundKeywordsView.of(rows, limit, None if count is None else KeywordCount.of(count, wanted))

    @routes.get("/keyword-counts", summary="Number of keywords")
    async def get_keyword_count(
        caller: MayRead,
        brand: OfBrand = None,
        keyword: SpelledSo = None,
        q: WithText = None,
        state: InState = None,
        since: SubmittedSince = None,
        correlation_id: OfChain = None,
        content_id: WithArticle = None,
    ) -> KeywordCount:
        """The number of keywords that the same filters list; at most 10,000 are counted, and with a text 1,000."""
        wanted = KeywordFilter(_brands(brand, caller), keyword, q, state, since, correlation_id, content_id)
        async with database.connection() as connection:
            few = await find_few(connection, wanted)
            return KeywordCount.of(await count_keywords(connection, wanted, few), wanted)

    @routes.get("/brands/{slug}/keyword-spellings", summary="List spellings of keywords", responses=UNKNOWN)
    async def list_keyword_spellings(
        caller: MayRead,
        slug: Slug,
    ) -> KeywordSpellings:
        """A brand's newest keywords, in any state, by their spelling alone; 500 at most."""
        checked = seen_slug(slug, caller)
        async with database.connection() as connection:
            if await find_brand(connection, checked) is None:
                raise UnknownBrandError(slug)
            return KeywordSpellings(
                spellings=tuple(await newest_spellings(connection, checked, MAX_SPELLINGS))
            )

    @routes.get("/cycles/{cycle_id}/keywords", summary="List the keywords of a cycle", responses=UNKNOWN)
    async def list_cycle_keywords(
        caller: MayRead,
        cycle_id: UUID,
        state: Annotated[KeywordState | None, Query(description="Those in this state.")] = None,
        after: Annotated[int, Query(description="`next` of the page before.", ge=0, le=2**31 - 1)] = 0,
        limit: FormerlyLargerLimit = PAGE,
    ) -> KeywordsView:
        """A cycle's keywords, in submission order."""
        async with database.connection() as connection:
            _known(await find_cycle(connection, cycle_id, caller.brands), cycle_id)
            rows = await keywords_of(connection, cycle_id, after=after, limit=limit + 1, state=state)
        return KeywordsView.of(rows, limit)

    return routes


def _controlling(database: Database, limits: BrandLimits) -> APIRouter:
    routes = router()

    @routes.post("/cycles/{cycle_id}/pause", tags=["cycles"], summary="Pause a cycle", responses=UNKNOWN)
    async def pause_cycle(caller: MayOperate, cycle_id: UUID) -> CycleSummary:
        """Sends no more of the cycle's keywords until it is resumed. Running work finishes."""
        return _summary(await control.pause_cycle(database, cycle_id, caller.brands), cycle_id)

    @routes.post("/cycles/{cycle_id}/resume", tags=["cycles"], summary="Resume a cycle", responses=UNKNOWN)
    async def resume_cycle(caller: MayOperate, cycle_id: UUID) -> CycleSummary:
        """Resumes a paused cycle."""
        return _summary(await control.resume_cycle(database, cycle_id, caller.brands, limits), cycle_id)

    @routes.post("/cycles/{cycle_id}/cancel", tags=["cycles"], summary="Cancel a cycle", responses=UNKNOWN)
    async def cancel_cycle(caller: MayOperate, cycle_id: UUID) -> CycleSummary:
        """Cancels all keywords that are not being written yet, for good.

        Keywords at research end with its answer; articles that are written, published or promoted continue.
        """
        return _summary(await control.cancel_cycle(database, cycle_id, caller.brands, limits), cycle_id)

    @routes.put(
        "/cycles/{cycle_id}/keywords/{position}/priority",
        tags=["cycles"],
        summary="Set the priority of a keyword",
        responses={
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "Its turn has come, so that the priority counts no more."),
        },
    )
    async def set_keyword_priority(
        caller: MaySubmit,
        cycle_id: UUID,
        position: Annotated[int, Path(description="Its place in its cycle.", ge=0, le=2**31 - 1)],
        request: PriorityRequest,
    ) -> FoundKeywordView:
        """For a keyword that waits for its turn: those of a higher priority of its brand go first."""
        found = await control.set_priority(database, cycle_id, position, request.priority, caller.brands)
        return FoundKeywordView.of_row(found)

    @routes.post("/brands/{slug}/pause", tags=["brands"], summary="Pause a brand", responses=UNKNOWN)
    async def pause_brand(caller: MayOperate, slug: Slug) -> BrandView:
        """Sends no more of the brand's keywords until it is resumed; new ones are accepted, and wait.

        Running work finishes.
        """
        return BrandView.of(await control.pause_brand(database, seen_slug(slug, caller)))

    @routes.post("/brands/{slug}/resume", tags=["brands"], summary="Resume a brand", responses=UNKNOWN)
    async def resume_brand(caller: MayOperate, slug: Slug) -> BrandView:
        """Resumes a paused brand."""
        return BrandView.of(await control.resume_brand(database, seen_slug(slug, caller), limits))

    return routes


def _brands(brand: str | None, caller: Caller) -> Collection[str] | None:
    return caller.brands if brand is None else {seen_slug(brand, caller)}


def _known(cycle: Cycle | None, cycle_id: UUID) -> Cycle:
    if cycle is None:
        raise RefusalError(
            codes.UNKNOWN_CYCLE,
            f"there is no cycle {cycle_id}; cycles are kept for a limited time after they end",
        )
    return cycle


def _summary(cycle: Cycle | None, cycle_id: UUID) -> CycleSummary:
    return CycleSummary.of_cycle(_known(cycle, cycle_id))
