"""Pinterest, https://developers.pinterest.com/docs/api/v5/. Access tokens last 30 days; the refresh token renews them."""

from typing import Annotated, Any, ClassVar

from integrations.networks.pinterest import PINTEREST_ACCOUNT
from pydantic import Field

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    LISTING_BYTES,
    AllowedRequest,
    KindContext,
    KindSettings,
    RemoteRequest,
    RemoteResponse,
)
from gateway.accounts.oauth.login import OAuthKind


class PinterestSettings(KindSettings):
    board: Annotated[str, Field(pattern=r"^[0-9]{1,30}$")]
    """Number of the board that posts go to."""


def _to_its_board(body: Any, settings: Any) -> str | None:
    board = body.get("board_id") if isinstance(body, dict) else None
    # Without settings, any board is as good as another: a check of the list of requests alone.
    return (
        None if settings is None or board == settings.board else "board_id is not the board of this account"
    )


class PinterestAccount(OAuthKind):
    account: ClassVar = PINTEREST_ACCOUNT
    user_facts: ClassVar = ("username",)
    user_settings: ClassVar = ("board",)
    settings: ClassVar = PinterestSettings
    check_request: ClassVar = RemoteRequest("GET", "/v5/user_account")
    allowed_requests: ClassVar = (
        AllowedRequest("POST", "/v5/pins", {}, _to_its_board),
        AllowedRequest(
            "GET",
            "/v5/boards/{board}/pins",
            {"page_size": "[0-9]+", "bookmark": r"[\w=+/-]+"},
            most_bytes=LISTING_BYTES,
        ),
        AllowedRequest("GET", "/v5/user_account", {}),
    )

    def describe(self, answer: RemoteResponse, context: KindContext) -> AccountCheck:
        facts = {"username": answer.text("username"), "board": context.settings.board}
        return AccountCheck.of_handle(facts["username"], facts)
