"""HTTP routes of proposals: edits and publications that a person accepts or dismisses."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import AfterValidator, AwareDatetime, Field

from chassis.http.api import UNKNOWN, MayRead, MayReview, MaySubmit, View, in_utc, refusal, router
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit, page_of
from envelope.brand.article import ArticleEdit
from envelope.brand.payloads import BrandSlug
from messaging import Database
from orchestrator.cycles import BrandLimits
from orchestrator.requests import RequestBody
from orchestrator.review import deciding, proposals
from orchestrator.review.models import Comment, DraftView, EditedVersion, Reason, VersionNumber
from orchestrator.review.proposals import NewProposal, Proposal

_FOUND: Any = {
    **UNKNOWN,
    **refusal(HTTPStatus.GONE, "It was deleted; `detail` says when and by whom."),
}
_DECIDED: Any = {
    **_FOUND,
    **refusal(
        HTTPStatus.CONFLICT, "The draft or the proposal has changed since you read it; `detail` says how."
    ),
}


class ProposeEditBody(ArticleEdit, EditedVersion):
    """The fields that should change; those left out stay as they are."""

    comment: Reason
    """What changes, and why."""


class ProposePublicationBody(RequestBody):
    version: VersionNumber
    """The version that should be published; it must be the newest."""
    publish_at: Annotated[
        Annotated[AwareDatetime, AfterValidator(in_utc)] | None,
        Field(examples=["2027-03-01T09:00:00+01:00"]),
    ] = None
    """When, with its UTC offset; left out: as soon as a person accepts."""
    comment: Reason
    """Why it can be published."""


class DismissProposalBody(RequestBody):
    reason: Comment = ""
    """Shown to who proposed it."""


class ProposalView(View):
    """A proposed edit, or a proposed publication."""

    id: UUID
    content_id: UUID
    brand_slug: str
    title: str
    """Of the article."""
    kind: Literal["edit", "publication"]
    version: int
    """The version that it was made for."""
    is_outdated: bool
    """Whether the article has a newer version, so that it cannot be accepted."""
    proposed_by: Annotated[str, Field(examples=["assistant"])]
    proposed_at: datetime
    comment: str
    diff: str
    """What an edit changes, as a unified diff."""
    publish_at: datetime | None
    """When to publish; null for an edit, or if at once."""
    outcome: Literal["accepted", "dismissed"] | None
    """Null while it is open."""
    decided_by: str | None
    decided_at: datetime | None
    reason: str
    """Why it was dismissed."""

    @classmethod
    def of(cls, proposal: Proposal) -> Self:
        given = {name: getattr(proposal, name) for name in cls.model_fields if name != "kind"}
        return cls(kind="publication" if proposal.change is None else "edit", **given)


class ProposalList(View):
    items: tuple[ProposalView, ...]
    next: UUID | None
    """The `after` of the next page; null on the last page."""


class ArticleProposals(View):
    items: tuple[ProposalView, ...]
    """Open ones first, then the latest others; up to a hundred."""


def proposal_routes(database: Database, limits: BrandLimits, *, has_judge: bool) -> APIRouter:
    routes = router(tags=["proposals"])

    @routes.get("/proposals", summary="List open proposals")
    async def list_open_proposals(
        caller: MayRead,
        brand: Annotated[BrandSlug | None, Query(description="Of this brand alone.")] = None,
        after: Annotated[UUID | None, Query(description="`next` of the page before.")] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> ProposalList:
        """Proposals that wait for a person, of all articles."""
        async with database.connection() as connection:
            found = await proposals.open_ones(
                connection, caller.visible_brands(brand), after=after, limit=limit + 1
            )
        page = page_of(found, limit, lambda each: each.id)
        return ProposalList(items=tuple(map(ProposalView.of, page.items)), next=page.next)

    @routes.get("/drafts/{content_id}/proposals", summary="List proposals", responses=_FOUND)
    async def list_proposals(caller: MayRead, content_id: UUID) -> ArticleProposals:
        """What was proposed about an article, and what became of it."""
        await deciding.get_draft(database, content_id, caller.brands)
        async with database.connection() as connection:
            found = await proposals.of_article(connection, content_id)
        return ArticleProposals(items=tuple(map(ProposalView.of, found)))

    @routes.post("/drafts/{content_id}/proposals/edits", summary="Propose an edit", responses=_DECIDED)
    async def propose_edit(caller: MaySubmit, content_id: UUID, request: ProposeEditBody) -> ProposalView:
        """Stores a changed text that a person may accept; nothing of the article changes until then.

        The same proposal again stores nothing, and returns what became of the first.
        """
        change = ArticleEdit.model_validate(request.changes())
        proposal = NewProposal(request.version, request.comment, change)
        return ProposalView.of(await proposals.propose(database, content_id, caller, proposal))

    @routes.post(
        "/drafts/{content_id}/proposals/publications", summary="Propose a publication", responses=_DECIDED
    )
    async def propose_publication(
        caller: MaySubmit, content_id: UUID, request: ProposePublicationBody
    ) -> ProposalView:
        """Proposes to publish a version, at once or at a time. The same proposal again stores nothing."""
        proposal = NewProposal(request.version, request.comment, None, request.publish_at)
        return ProposalView.of(await proposals.propose(database, content_id, caller, proposal))

    @routes.post(
        "/drafts/{content_id}/proposals/{proposal_id}/accept", summary="Accept a proposal", responses=_DECIDED
    )
    async def accept_proposal(caller: MayReview, content_id: UUID, proposal_id: UUID) -> DraftView:
        """Edits or approves the draft as proposed, in the name of the caller. A repeated request changes nothing."""
        draft = await proposals.accept(database, content_id, proposal_id, caller, limits, has_judge=has_judge)
        return DraftView.from_row(draft)

    @routes.post(
        "/drafts/{content_id}/proposals/{proposal_id}/dismiss",
        summary="Dismiss a proposal",
        responses=_DECIDED,
    )
    async def dismiss_proposal(
        caller: MayReview, content_id: UUID, proposal_id: UUID, request: DismissProposalBody
    ) -> ProposalView:
        """Closes a proposal; the draft stays as it is. A repeated request changes nothing."""
        found = await proposals.dismiss(database, content_id, proposal_id, caller, request.reason)
        return ProposalView.of(found)

    return routes
