"""The HTTP API: research results for the orchestrator and for people, corpus documents for operators."""

from collections.abc import Callable, Sequence
from datetime import date, datetime
from http import HTTPStatus
from typing import Annotated, Any, assert_never
from uuid import UUID

from fastapi import APIRouter, FastAPI, Path, Query, Response
from pydantic import ConfigDict, Field

from chassis.database.pool import kept_plans
from chassis.http.api import (
    READ,
    UNKNOWN,
    IfNoneMatch,
    MayRead,
    View,
    add_routes,
    api,
    conditional,
    needs,
    refusal,
    router,
)
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise, Caller, Scope
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.introspection import ReplicaQuotas
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from envelope.brand.payloads import SLUG_PATTERN
from messaging import Database
from messaging.backbone_routes import backbone_routes
from messaging.brand_parts import BrandPart
from messaging.doctor_routes import doctor_routes
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.part_routes import PART_BODIES, part_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.retry_routes import retry_routes
from research import problem_codes as codes
from research import store
from research.index import listing
from research.index.listing import CorpusFileState
from research.requests import SearchedText
from research.sources.routes import source_routes
from research.topics import MayQuote, may_quote_as_stated, topic_routes
from research.uploads import FILES, upload_routes


class PassageView(View):
    heading: str | None
    text: str
    score: float
    flags: list[str]


class SectionView(View):
    """A heading with the blocks up to the next one, and the sections below it."""

    title: str
    level: int
    """0: the page itself; 1 to 6: headings; 8: an entry of an API or of a list of settings; 9: a term."""
    anchor: str
    anchors: list[str]
    names: list[str]
    blocks: list[dict[str, Any]]
    """Each has one key that names its kind: `p`, `ul`, `ol`, `code`, `table`, `dl`, `note`, `label` or `gap`."""
    children: list["SectionView"]


class SourceView(View):
    n: int
    title: str
    url: str | None
    path: str | None
    licence: str | None
    published_on: date | None
    """Day of the last change, else of publication, as the source states it, or else the search or feed that lists it."""
    author: str | None = None
    """As the source states it; null if it does not."""
    quotable: bool = True
    """Whether articles may print whole paragraphs: files of the corpus, the brand's own texts, free licences."""
    work: str | None = None
    """The handbook, site or book that it is part of, as `sources.toml` states it."""
    about: float = 0
    """How much the title of the section is the keyword, from 0 to 1."""
    titles_above: list[str] = Field(default_factory=list)
    """The titles above the section, the page's first."""
    section: SectionView | None = None
    """The section about the keyword, up to 2,500 words; null if only passages treat it."""
    passages: list[PassageView]


class ResearchView(View):
    """The research on one keyword."""

    research_id: UUID
    brand_slug: str
    keyword: str
    priority: str
    provider: str
    created_at: datetime
    expires_at: datetime
    left_out: str
    """Web searches that were skipped for want of budget; empty if none was."""
    sources: list[SourceView]


class ResearchList(View):
    items: list[ResearchView]


class CorpusDocumentView(View):
    """A file of the corpus."""

    model_config = ConfigDict(from_attributes=True)

    id: int
    path: str
    """Relative to the corpus folder."""
    size: int
    """Bytes."""
    state: CorpusFileState
    """`read`: research searches it. `skipped`: it holds no usable text. `set_aside`: research stopped reading it."""
    problem: str | None
    """Why research does not search it."""
    title: str
    passages: int
    since: datetime
    """When research read it or set it aside."""


class CorpusDocumentList(View):
    items: list[CorpusDocumentView]
    next: str | None
    """Start of the next page: send it as `after`."""
    counts: dict[str, int]
    """Number of corpus files in each state; unread files are `waiting`."""


class ReleasedDocument(View):
    id: int


MAX_IDS = 50
MAX_ID = 2**63 - 1
NOTHING_TO_RELEASE = refusal(
    HTTPStatus.CONFLICT, "The document is read and searchable: there is nothing to release."
)


def create_api(
    database: Database,
    authorise: Authorise,
    *,
    look_again: Callable[[], None],
    look_for_uploads: Callable[[], None] = lambda: None,
    may_quote: MayQuote = may_quote_as_stated,
    has_gateway: bool = False,
) -> FastAPI:
    """Build the application.

    Args:
        database: the service's own.
        authorise: checks the key and returns its caller.
        look_again: starts a scan of the folder; called after the release of a file.
        may_quote: tells whether articles may print whole paragraphs of a document; by default as it states itself.
        look_for_uploads: starts a scan of uploads; called after an upload, a removal or a release.
        has_gateway: whether this process can read the web.
    """
    app = api(
        "Brand Engine: research",
        authorise,
        files=FILES,
        takes_api_keys=True,
        quotas=ReplicaQuotas(),
        codes=(*codes.ALL, *MESSAGE_CODES),
        larger_bodies=EDIT_BODIES | PART_BODIES,
        answers=database,
    )
    add_routes(
        app,
        _routes(database),
        _document_routes(database, look_again),
        upload_routes(database, look_for_uploads),
        source_routes(database, has_gateway=has_gateway),
        topic_routes(database, may_quote),
        part_routes(database, lambda _: _load_parts(), slug_pattern=SLUG_PATTERN),
        retry_routes(database),
        message_routes(database),
        doctor_routes(database),
        backbone_routes(database),
    )
    keep_audit_log(app, database)
    return app


def _document_routes(database: Database, look_again: Callable[[], None]) -> APIRouter:
    routes = router("/documents")

    # Only operators of all brands see the folder: file names may reveal any brand's business.
    @routes.get(
        "",
        dependencies=[needs(Scope.READ, of_all_brands=True)],
        summary="Files of the corpus, by path",
    )
    async def list_corpus_documents(
        state: CorpusFileState | None = None,
        q: SearchedText = None,
        after: Annotated[str, Query(description="`next` of the page before.", max_length=2000)] = "",
        limit: PageLimit = DEFAULT_PAGE,
    ) -> CorpusDocumentList:
        async with database.connection() as connection:
            # PostgreSQL takes no NUL, and no path has one.
            found = await listing.list_documents(
                connection, state=state, after=after.replace("\0", ""), limit=limit + 1, text=q
            )
            counts = await listing.count_by_state(connection)
        return CorpusDocumentList(
            items=[CorpusDocumentView.model_validate(each) for each in found[:limit]],
            next=found[limit - 1].path if len(found) > limit else None,
            counts=counts,
        )

    @routes.post(
        "/{document_id}/release",
        dependencies=[needs(Scope.OPERATE, of_all_brands=True)],
        status_code=HTTPStatus.ACCEPTED,
        summary="Read a file again that was set aside or skipped",
        responses={**UNKNOWN, **NOTHING_TO_RELEASE},
    )
    async def release_corpus_document(
        document_id: Annotated[int, Path(ge=1, le=MAX_ID)],
    ) -> ReleasedDocument:
        async with database.transaction() as tx:
            state = await listing.release_document(tx.connection, document_id)
        match state:
            case None:
                raise RefusalError(
                    codes.UNKNOWN_DOCUMENT,
                    f"There is no document {document_id}; perhaps it was released or changed meanwhile. "
                    "Take the id from the list of documents.",
                )
            case CorpusFileState.READ:
                raise RefusalError(
                    codes.NOTHING_TO_RELEASE,
                    f"Document {document_id} is read and searchable: there is nothing to release.",
                )
            case CorpusFileState.SKIPPED | CorpusFileState.SET_ASIDE:
                database.once_committed(look_again)
                return ReleasedDocument(id=document_id)
            case _:
                assert_never(state)

    return routes


def _routes(database: Database) -> APIRouter:
    routes = router("/research")

    @routes.get(
        "/{research_id}",
        response_model=ResearchView,
        responses={**READ, **UNKNOWN},
    )
    async def get_research(caller: MayRead, research_id: str, if_none_match: IfNoneMatch = None) -> Response:
        research = await _find(database, research_id, caller)
        return conditional(research.as_json(), if_none_match)

    @routes.get("", response_model=ResearchList)
    async def get_researches(
        caller: MayRead,
        research_id: Annotated[list[UUID], Query(alias="id", default_factory=list)],
    ) -> Response:
        """Up to 50 ids; unknown ones are left out."""
        if not 1 <= len(research_id) <= MAX_IDS:
            raise RefusalError(
                INVALID_REQUEST,
                f"You sent {len(research_id)} ids; send 1 to {MAX_IDS}, each as a parameter “id”.",
            )
        with kept_plans():
            async with database.connection() as connection:
                found = await store.get_researches(connection, research_id, caller.brands)
        items = b",".join(each.as_json() for each in found)
        return Response(b'{"items":[' + items + b"]}", media_type="application/json")

    return routes


async def _find(database: Database, research_id: str, caller: Caller) -> store.StoredResearch:
    identity = _identity(research_id)
    async with database.connection() as connection:
        research = await store.get_research(connection, identity, caller.brands)
    if research is None:
        raise RefusalError(
            codes.UNKNOWN_RESEARCH, f"There is no research {identity}; take the id from research.completed."
        )
    return research


def _identity(research_id: str) -> UUID:
    try:
        return UUID(research_id)
    except ValueError:
        raise RefusalError(
            codes.UNKNOWN_RESEARCH,
            f"“{research_id}” is not a research id; take the UUID from research.completed.",
        ) from None


def _load_parts() -> Sequence[BrandPart[Any]]:
    # Loaded on demand: exports and imports are rare.
    from research.brand_parts import PARTS  # noqa: PLC0415

    return PARTS
