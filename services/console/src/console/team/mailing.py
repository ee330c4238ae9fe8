"""Mails the link of an invitation, by the monitor, which has the way to the mail server."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Final, Literal

from client import ClientError, RefusedError
from console.pages import PageViewer
from console.service_clients import is_away, sentence_of

_ADDRESS: Final = re.compile(r"[^\s<>@\",;:\\()\[\]]{1,64}@[A-Za-z0-9.-]{1,189}")
_NOT_CONNECTED: Final = "mail_not_connected"


def is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class MadeInvitation:
    """A new invitation, for its page."""

    link: str
    good_until: datetime
    mailed_to: str = ""
    """Empty: the link is shown."""
    problem: str | None = None
    """Why it was not mailed."""


async def mail_link(
    viewer: PageViewer,
    link: str,
    good_until: datetime,
    *,
    address: str,
    name: str,
    language: str,
    installation: str,
) -> MadeInvitation:
    """Mails a link; if that fails, the link is to be shown, with the reason."""
    wanted: Literal["en", "de"] = "de" if language == "de" else "en"
    hours = max(1, int((good_until - datetime.now(UTC)).total_seconds()) // 3600)
    try:
        await viewer.monitor.send_invitation_mail(
            address=address,
            url=link,
            name=name,
            inviter=viewer.person.name,
            language=wanted,
            installation=installation,
            hours=hours,
        )
    except ClientError as error:
        return MadeInvitation(link, good_until, problem=_why(viewer, error))
    return MadeInvitation(link, good_until, mailed_to=address)


def _why(viewer: PageViewer, error: ClientError) -> str:
    if not isinstance(error, RefusedError) or is_away(error):
        return viewer.t("team.mail_away")
    if error.status == HTTPStatus.TOO_MANY_REQUESTS:
        return viewer.t("team.mail_too_many")
    if error.problem.get("code") in {_NOT_CONNECTED, "gateway_not_configured"}:
        return viewer.t("team.mail_not_connected")
    return viewer.t("team.mail_refused", reason=sentence_of(error, viewer.t))
