"""`POST /v1/invitation-mails`: mails the link of an invitation to the console, which has no way to the mail server itself."""

import re
from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, SecretStr, StringConstraints, field_validator

from chassis.http.api import View, needs, router
from chassis.http.callers import Scope
from chassis.http.client import PassingError, UnusableAnswerError
from chassis.http.problem_codes import RefusalError
from messaging import Database
from monitor import problem_codes as codes
from monitor.invitations.text import Invitation, Language
from monitor.notifications.channels import CHANNELS
from monitor.notifications.gateway import (
    DeliveryFailedError,
    DeliveryPostponedError,
    NotificationRefusedError,
    NotifierAccount,
    NotifierGateway,
)

MAILS: Final = "/v1/invitation-mails"
SECONDS: Final = 7.0
"""Time for the mail server: a person waits for the answer."""
_KIND: Final = "smtp"
_HOUR: Final = timedelta(hours=1)
_LINK: Final = re.compile(r"https?://[!-~]{1,300}/(start|invitations)/[A-Za-z0-9_-]{43}")
_USABLE: Final = frozenset({"ok", "expiring", "unchecked"})

OneLine = Annotated[str, StringConstraints(min_length=1, max_length=80, pattern=r"^[^\x00-\x1f\x7f]+$")]


class InvitationMailRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    address: Annotated[str, StringConstraints(pattern=r"^[^\s<>@\",;:\\()\[\]]{1,64}@[A-Za-z0-9.-]{1,189}$")]
    """Where the mail goes; kept nowhere."""
    language: Language = Language.ENGLISH
    url: Annotated[SecretStr, Field(max_length=400)]
    """The link of the console; kept nowhere."""
    name: OneLine
    """Of the invited person."""
    inviter: OneLine
    installation: OneLine = "Brand Engine"
    hours: Annotated[int, Field(ge=1, le=168)] = 24
    """For which the link is good."""

    @field_validator("url")
    @classmethod
    def _is_invitation(cls, url: SecretStr) -> SecretStr:
        # Nothing but invitations is mailed here, whoever asks.
        if not _LINK.fullmatch(url.get_secret_value()):
            raise ValueError("is no link of an invitation: https://…/invitations/…")
        return url

    def invitation(self) -> Invitation:
        return Invitation(
            self.address,
            self.language,
            self.url.get_secret_value(),
            self.name,
            self.inviter,
            self.installation,
            self.hours,
        )


class InvitationMailView(View):
    account: str
    """The account of the gateway whose mail server has taken the mail."""


def invitation_routes(database: Database, gateway: NotifierGateway | None, *, per_hour: int) -> APIRouter:
    routes = router("/invitation-mails", tags=["invitations"])

    @routes.post(
        "",
        dependencies=[needs(Scope.ADMIN, of_all_brands=True)],
        summary="Mail the link of an invitation",
        status_code=HTTPStatus.CREATED,
    )
    async def send_invitation_mail(request: InvitationMailRequest) -> InvitationMailView:
        """Hands the mail in at the first connected mail server that operators may use. The text is fixed; nothing of it is kept."""
        if gateway is None:
            raise RefusalError(codes.GATEWAY_NOT_CONFIGURED, "this monitor has no gateway: set GATEWAY_URL")
        account = await _mail_account(gateway)
        async with database.connection() as connection:
            # One at a time over all replicas, so that the bound holds.
            await connection.execute("select pg_advisory_xact_lock(hashtext('invitation mails'))")
            await connection.execute(
                "delete from invitation_mails where sent_at < now() - $1::interval", _HOUR
            )
            if await connection.fetchval("select count(*) from invitation_mails") >= per_hour:
                raise RefusalError(
                    codes.TOO_MANY_INVITATION_MAILS,
                    f"{per_hour} invitations were mailed within an hour, which is the limit: give the link yourself, or wait",
                    {"Retry-After": "600"},
                )
            await connection.execute("insert into invitation_mails default values")
            await _send(gateway, account, request)
        return InvitationMailView(account=account.name)

    return routes


async def _mail_account(gateway: NotifierGateway) -> NotifierAccount:
    try:
        accounts = await gateway.accounts()
    except (PassingError, UnusableAnswerError) as error:
        raise RefusalError(codes.INVITATION_NOT_MAILED, f"the mail was not sent: {error}") from error
    usable = [
        each
        for each in accounts.values()
        if each.kind == _KIND and each.state in _USABLE and each.may_be_used_by(None)
    ]
    if not usable:
        raise RefusalError(
            codes.MAIL_NOT_CONNECTED,
            "no mail server is connected that all brands may use: connect one with `brandctl accounts connect smtp --all-brands`",
        )
    return min(usable, key=lambda each: each.name)


async def _send(gateway: NotifierGateway, account: NotifierAccount, request: InvitationMailRequest) -> None:
    try:
        refused = await gateway.send(
            CHANNELS[_KIND], account, None, request.invitation().mail(), seconds=SECONDS
        )
    except NotificationRefusedError as error:
        raise RefusalError(codes.INVITATION_MAIL_REFUSED, str(error)) from error
    except (DeliveryPostponedError, DeliveryFailedError) as error:
        raise RefusalError(codes.INVITATION_NOT_MAILED, f"the mail was not sent: {error}") from error
    if refused is not None:
        raise RefusalError(codes.INVITATION_MAIL_REFUSED, refused)
