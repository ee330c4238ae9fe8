"""HTTP routes for receipts: lists them, and takes people's decisions about those in doubt."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, Final, Self
from uuid import UUID

from fastapi import APIRouter, FastAPI, Query
from pydantic import BaseModel, ConfigDict, Field

from chassis.http.api import (
    UNKNOWN,
    MayOperate,
    MayRead,
    MayReview,
    View,
    add_routes,
    list_codes,
    refusal,
    refuse_with,
    router,
)
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, FORMER_AFTER, PageLimit
from chassis.http.problem_codes import conflict, not_found
from receipts import store
from receipts.domain.decisions import ReceiptDecidedError
from receipts.domain.receipt import ReceiptState
from receipts.performing import Receipts, UnknownReceiptError
from receipts.store import ReceiptAttempt, StoredReceipt

UNKNOWN_RECEIPT: Final = not_found("unknown_receipt", "There is no such receipt.")
NOT_IN_DOUBT: Final = conflict("not_in_doubt", "The receipt is not in doubt, or not any more.")
_MAX_ATTEMPTS: Final = 200
_BRAND: Final = "^[a-z0-9]+(-[a-z0-9]+)*$"
_DECIDED: Final = refusal(
    HTTPStatus.CONFLICT, "It is not in doubt (any more): `detail` says what it is instead."
)


class ReceiptView(View):
    """An effect on an outside server, and its progress."""

    receipt_id: UUID
    kind: str
    """The adapter, such as `mastodon` or `wordpress`."""
    account: str
    """Its name at the gateway."""
    brand_slug: str
    subject: str
    """The effect's description for people."""
    state: ReceiptState
    step: str | None
    """The current step; null between two steps and at the end."""
    done: tuple[str, ...]
    steps: tuple[str, ...]
    remote: dict[str, Any]
    """Known facts from the other side: `url`, `id`."""
    reason: str
    detail: str
    """Why it does not proceed; empty if it does."""
    created_at: datetime
    changed_at: datetime

    @classmethod
    def of(cls, kept: StoredReceipt) -> Self:
        receipt = kept.receipt
        return cls(
            receipt_id=receipt.receipt_id,
            kind=receipt.kind,
            account=receipt.account,
            brand_slug=receipt.brand_slug,
            subject=receipt.subject,
            state=receipt.state,
            step=receipt.step,
            done=receipt.done,
            steps=receipt.steps,
            remote=dict(receipt.remote),
            reason=receipt.reason,
            detail=receipt.detail,
            created_at=kept.created_at,
            changed_at=kept.changed_at,
        )


class AttemptView(View):
    """A request, a look-up or a decision for a receipt."""

    step: str
    event: str
    """One of `send`, `lost`, `look`, `seen there` …"""
    detail: str
    made_by: str
    """Who decided; empty for events without a person."""
    made_at: datetime

    @classmethod
    def of(cls, attempt: ReceiptAttempt) -> Self:
        return cls(
            step=attempt.step,
            event=attempt.event,
            detail=attempt.detail,
            made_by=attempt.made_by,
            made_at=attempt.made_at,
        )


class FullReceiptView(ReceiptView):
    prepared: dict[str, Any]
    """The texts, ids and times of its requests."""
    attempts: tuple[AttemptView, ...]
    """The latest two hundred, in order."""


class ReceiptList(View):
    items: tuple[ReceiptView, ...]
    next: int | None
    """The start of the next page: send it as `after`; null on the last page."""


_Name = Annotated[str, Field(pattern="^[a-z][a-z0-9_]{0,39}$", examples=["id"])]
_Value = Annotated[str, Field(min_length=1, max_length=2_000, pattern=r"^[^\x00-\x1f\x7f]+$")]


class ConfirmRequest(BaseModel):
    """The effect's facts, as the other side shows them."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True, extra="forbid")

    remote: Annotated[
        dict[_Name, _Value],
        Field(
            min_length=1,
            max_length=20,
            examples=[{"url": "https://mastodon.social/@acme/112233", "id": "112233"}],
        ),
    ]
    """The facts that the answer would have had. Later steps may need its `id`."""


def serve_receipts(app: FastAPI, receipts: Receipts) -> None:
    """Adds `/v1/receipts` to a service's application."""
    add_routes(app, receipt_routes(receipts))
    list_codes(app, (UNKNOWN_RECEIPT, NOT_IN_DOUBT))
    refuse_with(app, {UnknownReceiptError: UNKNOWN_RECEIPT, ReceiptDecidedError: NOT_IN_DOUBT})


def receipt_routes(receipts: Receipts) -> APIRouter:
    routes = router("/receipts", tags=["receipts"])
    database = receipts.database

    @routes.get("", summary="List receipts", response_model=ReceiptList)
    async def list_receipts(
        caller: MayRead,
        brand: Annotated[
            str | None, Query(description="Of this brand alone.", pattern=_BRAND, max_length=63)
        ] = None,
        state: Annotated[
            ReceiptState | None, Query(description="Left out: all that are not confirmed.")
        ] = None,
        after: Annotated[int | None, Query(description=AFTER, ge=0, lt=2**63)] = None,
        limit: PageLimit = DEFAULT_PAGE,
        before: Annotated[
            int | None, Query(description=FORMER_AFTER, deprecated=True, ge=0, lt=2**63)
        ] = None,
    ) -> ReceiptList:
        """Effects on outside servers, the newest first."""
        brands = caller.visible_brands(brand)
        async with database.connection() as connection:
            found = await store.page(
                connection,
                brands=brands,
                state=state,
                before=before if after is None else after,
                limit=limit + 1,
            )
        return ReceiptList(
            items=tuple(map(ReceiptView.of, found[:limit])),
            next=found[limit - 1].number if len(found) > limit else None,
        )

    @routes.get("/{receipt_id}", summary="Read a receipt", response_model=FullReceiptView, responses=UNKNOWN)
    async def get_receipt(caller: MayRead, receipt_id: UUID) -> FullReceiptView:
        """A receipt with all attempts."""
        async with database.connection() as connection:
            kept = await store.find(connection, receipt_id)
            if kept is None or not caller.may_see(kept.receipt.brand_slug):
                raise UnknownReceiptError(f"there is no receipt {receipt_id}")
            attempts = await store.attempts_of(connection, receipt_id, _MAX_ATTEMPTS)
        return FullReceiptView(
            **dict(ReceiptView.of(kept)),
            prepared=dict(kept.receipt.prepared),
            attempts=tuple(map(AttemptView.of, attempts)),
        )

    @routes.post(
        "/{receipt_id}/confirm",
        summary="Say that it is there",
        response_model=ReceiptView,
        responses={**UNKNOWN, **_DECIDED},
    )
    async def confirm_receipt(caller: MayReview, receipt_id: UUID, request: ConfirmRequest) -> ReceiptView:
        """Confirms a receipt in doubt: a person has seen the effect at the other side. It is not sent again; later steps follow."""
        return ReceiptView.of(
            await receipts.confirm(receipt_id, request.remote, by=caller.name, brands=caller.brands)
        )

    @routes.post(
        "/{receipt_id}/repeat",
        summary="Have it sent again",
        response_model=ReceiptView,
        responses={**UNKNOWN, **_DECIDED},
    )
    async def repeat_receipt(caller: MayOperate, receipt_id: UUID) -> ReceiptView:
        """Repeats a receipt in doubt: a person has seen that there is no effect. If there is one after all, there will be two."""
        return ReceiptView.of(await receipts.repeat(receipt_id, by=caller.name, brands=caller.brands))

    return routes
