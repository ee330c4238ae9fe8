"""Submits mail to a mail server and reports each accepted and refused address."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from gateway.accounts.caller import no_answer, not_sent
from gateway.accounts.kind import AccessRefused, NotSent
from gateway.accounts.kinds.smtp import PERMANENT, smtp_session
from gateway.accounts.rate_limiter import AccountRateLimiter
from gateway.accounts.registry import AccountRegistry, UnsealedAccount, needs_reconnecting
from gateway.accounts.sender import Deadline, RequestSender
from gateway.problems import CallProblem, CallProblemError

if TYPE_CHECKING:
    from aiosmtplib import SMTP

_KIND: Final = "smtp"


@dataclass(frozen=True, slots=True)
class MailMessage:
    """A mail to send; receivers detect duplicates by `message_id`."""

    to: tuple[str, ...]
    subject: str
    text: str
    html: str | None
    message_id: str
    unsubscribe_url: str | None = None
    """Where a reader leaves by one request (RFC 8058)."""

    def message(self, sender: str) -> EmailMessage:
        made = EmailMessage()
        made["From"] = sender
        made["To"] = ", ".join(self.to)
        made["Subject"] = self.subject
        made["Message-ID"] = self.message_id
        made["Date"] = format_datetime(datetime.now(UTC))
        made["Auto-Submitted"] = "auto-generated"
        if self.unsubscribe_url is not None:
            made["List-Unsubscribe"] = f"<{self.unsubscribe_url}>"
            if self.unsubscribe_url.startswith("https://"):
                made["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        made.set_content(self.text)
        if self.html is not None:
            made.add_alternative(self.html, subtype="html")
        return made


@dataclass(frozen=True, slots=True)
class MailResult:
    """Accepted addresses, and refused ones with the server's reason: `550 no such user`."""

    accepted: tuple[str, ...]
    refused: dict[str, str]


class AccountMailer:
    """Sends mail through accounts of the kind `smtp`; the process has one.

    Args:
        registry: of accounts.
        rate_limiter: of requests to accounts.
        sender: opens the connections.
    """

    def __init__(
        self,
        registry: AccountRegistry,
        rate_limiter: AccountRateLimiter,
        sender: RequestSender,
    ) -> None:
        self._registry = registry
        self._rate_limiter = rate_limiter
        self._sender = sender

    async def send(self, account: str, brand: str | None, mail: MailMessage, seconds: float) -> MailResult:
        """Submits the mail once; the server may accept some addresses only.

        Raises:
            CallProblemError: `mail.no_recipient`: no address takes mail; `mail.refused`: permanently; `mail.later`; `call.not_sent`, `call.no_answer`, and
                those of requests.
        """
        deadline = Deadline(seconds)
        unsealed = await self._registry.usable(account, brand)
        if unsealed.account.kind != _KIND:
            raise CallProblemError(_no_mail_server(account))
        call = await self._rate_limiter.begin(unsealed, brand, None, deadline)
        try:
            async with smtp_session(
                self._sender.asking(deadline.left), unsealed.context, max(deadline.left, 1.0)
            ) as smtp:
                return await _submit(smtp, unsealed, mail)
        except AccessRefused as error:
            await self._registry.mark_refused(unsealed.account, str(error))
            raise CallProblemError(needs_reconnecting(account, str(error))) from None
        except NotSent as error:
            raise CallProblemError(not_sent(str(error))) from None
        finally:
            await self._rate_limiter.end(call)


async def _submit(smtp: "SMTP", unsealed: UnsealedAccount, mail: MailMessage) -> MailResult:
    import aiosmtplib  # noqa: PLC0415

    host = unsealed.settings.host
    message = mail.message(unsealed.settings.sender)
    try:
        refused, _ = await smtp.send_message(message, recipients=list(mail.to))
    except aiosmtplib.SMTPRecipientsRefused as error:
        told = {each.recipient: f"{each.code} {each.message}"[:300] for each in error.recipients}
        later = any(each.code < PERMANENT for each in error.recipients)
        if not later and not any(_is_policy(each.message) for each in error.recipients):
            raise CallProblemError(_unknown_recipients(host, told)) from None
        raise CallProblemError(
            _refused(host, "; ".join(f"{who}: {why}" for who, why in told.items()), later=later)
        ) from None
    except aiosmtplib.SMTPResponseException as error:
        why = f"{error.code} {error.message}"[:300]
        raise CallProblemError(_refused(host, why, later=error.code < PERMANENT)) from None
    except (aiosmtplib.SMTPException, OSError) as error:
        raise CallProblemError(no_answer(f"{host}: {str(error)[:200] or type(error).__name__}")) from None
    return MailResult(
        tuple(each for each in mail.to if each not in refused),
        {who: f"{answer.code} {answer.message}"[:300] for who, answer in refused.items()},
    )


def _refused(host: str, why: str, *, later: bool) -> CallProblem:
    if later:
        return CallProblem(
            "mail.later",
            f"{host} does not take the mail now: {why}",
            HTTPStatus.SERVICE_UNAVAILABLE,
            transient=True,
        )
    return CallProblem(
        "mail.refused", f"{host} does not take the mail: {why}", HTTPStatus.UNPROCESSABLE_ENTITY
    )


_POLICY: Final = re.compile(r"\b5\.7\.\d")
"""Enhanced status codes (RFC 3463) that refuse whoever sends; the address may be right."""


def _is_policy(message: str) -> bool:
    return _POLICY.search(message) is not None


def _unknown_recipients(host: str, told: Mapping[str, str]) -> CallProblem:
    why = "; ".join(f"{who}: {word}" for who, word in told.items())
    return CallProblem(
        "mail.no_recipient", f"{host} does not take the mail: {why}", HTTPStatus.UNPROCESSABLE_ENTITY
    )


def _no_mail_server(account: str) -> CallProblem:
    return CallProblem(
        "account.request_not_allowed",
        f"{account} is no mail server: connect one with `brandctl accounts connect smtp`",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
