"""What operators ask about dead letters: look at them, replay them, discard them, restore them."""

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Annotated, Final, NoReturn
from uuid import UUID

from fastapi import APIRouter, Query

from chassis.http.api import UNKNOWN, MayOperate, MayRead, MayRepair, Moment, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, FORMER_AFTER, PageLimit
from chassis.http.problem_codes import INVALID_CURSOR, INVALID_REQUEST, RefusalError
from envelope.brand import CATALOGUE
from messaging import Database
from monitor import problem_codes as codes
from monitor.dead_letters import api_models as models
from monitor.dead_letters import queries
from monitor.dead_letters.api_models import (
    AttemptCount,
    BulkDiscarded,
    BulkDiscardRequest,
    BulkReplayRequest,
    BulkReplayStarted,
    BulkRestored,
    BulkRestoreRequest,
    DeadLetterOutcomes,
    DeadLetterPage,
    DeadLetterSummary,
    DeadLetterView,
    DiscardRequest,
    FullDeadLetterView,
    OutcomesRequest,
    ReplayRequest,
    ReplayStarted,
    RestoreRequest,
    StoredText,
)
from monitor.dead_letters.day_routes import day_routes
from monitor.dead_letters.decision_store import DeadLetterSelection
from monitor.dead_letters.domain import DeadLetterRefusal, DeadLetterState, RefusalKind
from monitor.dead_letters.filtering import SEARCH_SECONDS, DeadLetterFilter, SearchTooSlowError
from monitor.dead_letters.groups import failure_groups
from monitor.dead_letters.operations import DeadLetterOperations, ReplayResult, UnknownDeadLetter

CONFLICT: Final = refusal(HTTPStatus.CONFLICT, "The state of the dead letter does not allow this.")

REVEAL: Final = "/v1/dead-letters/{dead_letter_id}/reveal"
OUTCOMES: Final = "/v1/dead-letters/outcomes"
"""A POST, since a URL has no room for 500 ids; it changes nothing."""
_MAX_GROUPS: Final = 200
_CODES: Final = {
    RefusalKind.CONFLICT: codes.DEAD_LETTER_NOT_READY,
    RefusalKind.UNPROCESSABLE: codes.DEAD_LETTER_UNSUITABLE,
}


def routes(database: Database, operations: DeadLetterOperations) -> list[APIRouter]:
    return [
        day_routes(database),
        _reading_routes(database),
        _operating_routes(database, operations),
        _bulk_routes(database, operations),
    ]


def _reading_routes(database: Database) -> APIRouter:
    routes = router("/dead-letters")

    @routes.get("", summary="Dead letters, newest first")
    async def list_dead_letters(
        caller: MayRead,
        state: DeadLetterState | None = None,
        queue: Annotated[
            StoredText | None, Query(description="The queue in which they died, without -dlq.")
        ] = None,
        type: Annotated[StoredText | None, Query(description="Message type.")] = None,  # noqa: A002 - the wire name
        correlation_id: StoredText | None = None,
        replayable: bool | None = None,
        group: Annotated[
            StoredText | None, Query(description="Only this failure group: `group` of the summary.")
        ] = None,
        code: Annotated[StoredText | None, Query(description=models.CODE)] = None,
        keyword: Annotated[
            StoredText | None,
            Query(
                description="Only messages that name this keyword, or the article `content_id`; needs `correlation_id`."
            ),
        ] = None,
        content_id: Annotated[
            UUID | None, Query(description="Only messages that name this article; needs `correlation_id`.")
        ] = None,
        message_id: Annotated[UUID | None, Query(description=models.MESSAGE_ID)] = None,
        error: Annotated[StoredText | None, Query(description=models.ERROR)] = None,
        payload: Annotated[StoredText | None, Query(description=models.PAYLOAD)] = None,
        min_attempts: AttemptCount | None = None,
        max_attempts: AttemptCount | None = None,
        failed_since: Annotated[Moment | None, Query(description=models.FAILED_SINCE)] = None,
        failed_before: Annotated[Moment | None, Query(description=models.FAILED_BEFORE)] = None,
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
        before: Annotated[UUID | None, Query(description=FORMER_AFTER, deprecated=True)] = None,
    ) -> DeadLetterPage:
        if correlation_id is None and (keyword is not None or content_id is not None):
            name = "content_id" if keyword is None else "keyword"
            raise RefusalError(
                INVALID_REQUEST,
                f"{name}: searches the messages of one chain only; give its correlation_id",
            )
        wanted = DeadLetterFilter(
            state=state,
            queue=_source_queue(queue),
            type=type,
            correlation_id=correlation_id,
            replayable=replayable,
            group=group,
            code=code,
            brands=caller.brands,
            keyword=keyword,
            content_id=content_id,
            message_id=message_id,
            error=error,
            payload=payload,
            min_attempts=min_attempts,
            max_attempts=max_attempts,
            failed_since=failed_since,
            failed_before=failed_before,
        )
        with refusing_slow_searches():
            async with database.connection() as connection:
                page = await queries.fetch_page(connection, wanted, limit=limit + 1, before=after or before)
        if page is None:
            raise RefusalError(
                INVALID_CURSOR,
                f"after: there is no dead letter {after or before}; request the first page, without `after`",
            )
        items = [DeadLetterView.model_validate(item) for item in page.items[:limit]]
        following = items[-1].id if len(page.items) > limit else None
        return DeadLetterPage(
            items=items, next=following, matching=page.matching, open=page.open, now=page.now
        )

    @routes.get("/summary", summary="Dead letters grouped by failure")
    async def summarize_dead_letters(
        caller: MayRead,
        state: DeadLetterState | None = DeadLetterState.OPEN,
        queue: StoredText | None = None,
        group: Annotated[StoredText | None, Query(description="Only this group.")] = None,
    ) -> DeadLetterSummary:
        async with database.connection() as connection:
            found = await failure_groups(
                connection,
                state=state,
                queue=_source_queue(queue),
                group=group,
                brands=caller.brands,
                limit=_MAX_GROUPS,
            )
        return DeadLetterSummary.model_validate({"groups": found})

    @routes.get(
        "/{dead_letter_id}",
        summary="One dead letter in full",
        responses=UNKNOWN,
    )
    async def get_dead_letter(caller: MayRead, dead_letter_id: str) -> FullDeadLetterView:
        return await _read(database, _identity(dead_letter_id), caller)

    return routes


def _operating_routes(database: Database, operations: DeadLetterOperations) -> APIRouter:
    routes = router("/dead-letters")

    @routes.post(
        "/{dead_letter_id}/replay",
        status_code=202,
        summary="Replay a dead letter to its queue",
        responses={**UNKNOWN, **CONFLICT},
    )
    async def replay_dead_letter(
        caller: MayOperate, dead_letter_id: str, request: ReplayRequest | None = None
    ) -> FullDeadLetterView:
        dead = _identity(dead_letter_id)
        asked = request or ReplayRequest()
        outcome = await operations.replay(
            dead, asked.decision(asked.reason, caller), caller.brands, asked.limits(), asked.redirect_to
        )
        return await _decided(database, dead, caller, "replayed", outcome)

    @routes.post(
        "/{dead_letter_id}/reveal",
        summary="One dead letter with what is hidden elsewhere",
        responses=UNKNOWN,
    )
    async def reveal_dead_letter(caller: MayRepair, dead_letter_id: str) -> FullDeadLetterView:
        """Returns the body in full. It changes nothing; as a POST, it leaves an entry in the audit log."""
        return await _read(database, _identity(dead_letter_id), caller, in_full=True)

    @routes.post(
        "/{dead_letter_id}/discard",
        summary="Discard a dead letter",
        responses={**UNKNOWN, **CONFLICT},
    )
    async def discard_dead_letter(
        caller: MayOperate, dead_letter_id: str, request: DiscardRequest
    ) -> FullDeadLetterView:
        dead = _identity(dead_letter_id)
        outcome = await operations.discard(dead, request.decision(request.reason, caller), caller.brands)
        return await _decided(database, dead, caller, "discarded", outcome)

    @routes.post(
        "/{dead_letter_id}/restore",
        summary="Open a discarded dead letter again",
        responses={**UNKNOWN, **CONFLICT},
    )
    async def restore_dead_letter(
        caller: MayOperate, dead_letter_id: str, request: RestoreRequest
    ) -> FullDeadLetterView:
        """Opens it again, or resolves it if its work was done since; an open one stays as it is."""
        dead = _identity(dead_letter_id)
        outcome = await operations.restore(dead, request.decision(request.reason, caller), caller.brands)
        return await _decided(database, dead, caller, "restored", outcome)

    return routes


def _bulk_routes(database: Database, operations: DeadLetterOperations) -> APIRouter:
    routes = router("/dead-letters")

    @routes.post(
        "/replay",
        status_code=202,
        summary="Replay open dead letters, oldest first",
    )
    async def replay_dead_letters(caller: MayOperate, request: BulkReplayRequest) -> BulkReplayStarted:
        decision = request.decision(request.reason, caller)
        with refusing_slow_searches():
            done = await operations.replay_all(
                _selection(request, caller), request.limit, decision, request.limits(), request.redirect_to
            )
        replays = [ReplayStarted(id=dead, replay_event_id=replay) for dead, replay in done.replays.items()]
        return BulkReplayStarted(replayed=len(replays), replays=replays, next=done.last)

    @routes.post(
        "/discard",
        summary="Discard open dead letters, oldest first",
    )
    async def discard_dead_letters(caller: MayOperate, request: BulkDiscardRequest) -> BulkDiscarded:
        decision = request.decision(request.reason, caller)
        with refusing_slow_searches():
            done = await operations.discard_all(_selection(request, caller), request.limit, decision)
        return BulkDiscarded(discarded=len(done.ids), ids=done.ids, next=done.last)

    @routes.post(
        "/restore",
        summary="Open discarded dead letters again, oldest first",
    )
    async def restore_dead_letters(caller: MayOperate, request: BulkRestoreRequest) -> BulkRestored:
        """Opens those that match again, and resolves those of them whose work was done since.

        Those that were replayed before their discard stay discarded.
        """
        decision = request.decision(request.reason, caller)
        with refusing_slow_searches():
            done = await operations.restore_all(_selection(request, caller), request.limit, decision)
        return BulkRestored(restored=len(done.ids), resolved=done.resolved, ids=done.ids, next=done.last)

    @routes.post("/outcomes", summary="States of several dead letters")
    async def get_dead_letter_outcomes(caller: MayRead, request: OutcomesRequest) -> DeadLetterOutcomes:
        async with database.connection() as connection:
            rows = await queries.fetch_outcomes(connection, request.ids, caller.brands)
        return DeadLetterOutcomes.model_validate({"outcomes": rows})

    return routes


async def _read(
    database: Database, dead: UUID, caller: Caller, *, in_full: bool = False
) -> FullDeadLetterView:
    async with database.connection() as connection:
        row = await queries.fetch_dead_letter(connection, dead, caller.brands)
    if row is None:
        raise _not_found(str(dead))
    return FullDeadLetterView.of(row, in_full=in_full)


async def _decided(
    database: Database,
    dead: UUID,
    caller: Caller,
    wish: str,
    outcome: ReplayResult | DeadLetterRefusal | UnknownDeadLetter | None,
) -> FullDeadLetterView:
    """The dead letter after an operator's decision, or the refusal of the decision."""
    if isinstance(outcome, DeadLetterRefusal):
        _refuse(dead, wish, outcome)
    if isinstance(outcome, UnknownDeadLetter):
        raise _not_found(str(dead))
    return await _read(database, dead, caller)


def _identity(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise _not_found(text) from None


def _selection(
    request: BulkReplayRequest | BulkDiscardRequest | BulkRestoreRequest,
    caller: Caller,
) -> DeadLetterSelection:
    wanted = request.to_filter(caller.brands)
    return DeadLetterSelection(
        wanted,
        ids=None if request.ids is None else tuple(request.ids),
        until=request.until,
        after=request.after,
    )


@contextmanager
def refusing_slow_searches() -> Iterator[None]:
    """Answers a search that took too long with a refusal."""
    try:
        yield
    except SearchTooSlowError:
        raise RefusalError(
            codes.DEAD_LETTER_SEARCH_TOO_SLOW,
            f"the search took longer than {SEARCH_SECONDS} seconds, so nothing was found or done; "
            "also name a state, a queue, a type or a correlation_id",
        ) from None


def _source_queue(queue: str | None) -> str | None:
    """The current name of a queue; callers may give a former name, or that of its dead-letter queue."""
    return None if queue is None else CATALOGUE.name_today(queue.removesuffix("-dlq"))


def _not_found(dead: str) -> RefusalError:
    return RefusalError(
        codes.UNKNOWN_DEAD_LETTER,
        f"there is no dead letter {dead[:100]}; GET /v1/dead-letters lists their ids",
    )


def _refuse(dead: UUID, wish: str, refusal: DeadLetterRefusal) -> NoReturn:
    raise RefusalError(_CODES[refusal.problem], f"dead letter {dead} cannot be {wish}: {refusal.reason}")
