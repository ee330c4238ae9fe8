"""Routes that hand the accounts of a moving brand over to another installation. Credentials leave only encrypted."""

import base64
import binascii
from http import HTTPStatus
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from chassis.http.api import UNKNOWN, View, needs, refusal, router
from chassis.http.callers import Scope
from gateway.accounts.handovers import AccountHandovers
from gateway.requests import Brand

_BODY: Final = "/v1/account-moves/{move_id}/accounts"
HANDOVER_BODIES: Final = {_BODY: 8_000_000}
_REFUSED: Final = refusal(
    HTTPStatus.FAILED_DEPENDENCY, "The installation has no MOVES_KEY, or no GATEWAY_KEYS."
) | refusal(HTTPStatus.CONFLICT, "The move is another brand's, a token is being renewed, or it is too late.")


def _bytes(text: object) -> object:
    if not isinstance(text, str):
        raise ValueError("must be a text in base64")  # noqa: TRY004 - pydantic's
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise ValueError("is no base64") from None


_Base64 = Annotated[bytes, BeforeValidator(_bytes, json_schema_input_type=str)]


class MovingBrand(BaseModel):
    """The brand whose accounts come."""

    model_config = ConfigDict(extra="forbid")

    brand: Brand


class HandOverRequest(BaseModel):
    """For whom the accounts are encrypted."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    brand: Brand
    public_key: Annotated[_Base64, Field(min_length=32, max_length=32)]
    """The one-time key of the other installation, in base64."""


class HandedAccountsRequest(BaseModel):
    """Accounts as the former installation encrypted them."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    brand: Brand
    sealed: Annotated[_Base64, Field(min_length=49, max_length=5_000_000)]
    """In base64."""


class AccountArrivalView(View):
    """The key with which accounts are encrypted for this installation."""

    move_id: UUID
    brand: str
    public_key: str
    """In base64; for this move alone."""
    arrived: list[str]
    has_ended: bool
    """The accounts have arrived, and the key is gone."""


class HandedAccounts(View):
    """The brand's own accounts, encrypted for the other installation."""

    sealed: str
    """In base64."""
    accounts: list[str]
    """Their names."""


class ArrivedAccounts(View):
    """The accounts that were taken over."""

    accounts: list[str]
    name_taken: list[str]
    """Names that other accounts have here; then none was taken over. Disconnect those, and repeat the request."""


def handover_routes(handovers: AccountHandovers) -> APIRouter:
    """Routes for administrators of all brands."""
    routes = router("/account-moves/{move_id}", tags=["Accounts"])
    administrators = [needs(Scope.ADMIN, of_all_brands=True)]

    @routes.put(
        "",
        dependencies=administrators,
        summary="Expect the accounts of a brand that moves here",
        responses=_REFUSED,
    )
    async def begin_account_move(move_id: UUID, request: MovingBrand) -> AccountArrivalView:
        """Makes the one-time key that the other installation encrypts with. A repeated request returns the same key."""
        found = await handovers.expect(move_id, request.brand)
        return AccountArrivalView(
            move_id=found.move_id,
            brand=found.brand,
            public_key=base64.b64encode(found.public_key).decode(),
            arrived=list(found.arrived),
            has_ended=found.has_ended,
        )

    @routes.post(
        "/handover",
        dependencies=administrators,
        summary="Take the accounts of a brand out of use, and encrypt them for another installation",
        responses=_REFUSED,
    )
    async def export_accounts(move_id: UUID, request: HandOverRequest) -> HandedAccounts:
        """The brand's own accounts are used here no more. A repeated request gives the same ones; shared accounts lose only the brand."""
        sealed, names = await handovers.hand_over(move_id, request.brand, request.public_key)
        return HandedAccounts(sealed=base64.b64encode(sealed).decode(), accounts=names)

    @routes.post(
        "/accounts",
        dependencies=administrators,
        summary="Take the accounts over that another installation has encrypted",
        responses={**UNKNOWN, **_REFUSED},
    )
    async def import_accounts(move_id: UUID, request: HandedAccountsRequest) -> ArrivedAccounts:
        """Decrypts and stores them, once. A repeated request changes nothing."""
        names, taken = await handovers.receive(move_id, request.brand, request.sealed)
        return ArrivedAccounts(accounts=names, name_taken=taken)

    return routes
