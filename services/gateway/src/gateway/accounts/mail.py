"""Handing mail in: what is taken, what is refused, and by whom, for each address apart."""

from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import EmailMessage
from email.utils import format_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from chassis import Connections
from gateway.accounts import store
from gateway.accounts.asking import CHECK_AGAIN, no_answer, not_sent
from gateway.accounts.kind import AccessRefused, NotSent
from gateway.accounts.kinds.smtp import PERMANENT, session
from gateway.accounts.registry import Opened, Registry, needs_reconnecting
from gateway.accounts.sending import Deadline, Sender
from gateway.accounts.turns import Turns
from gateway.problems import Problem, ProblemError

if TYPE_CHECKING:
    from aiosmtplib import SMTP

_KIND: Final = "smtp"


@dataclass(frozen=True, slots=True)
class Mail:
    """What is to be sent; by `message_id`, a receiver tells that the same came twice."""

    to: tuple[str, ...]
    subject: str
    text: str
    html: str | None
    message_id: str

    def message(self, sender: str) -> EmailMessage:
        made = EmailMessage()
        made["From"] = sender
        made["To"] = ", ".join(self.to)
        made["Subject"] = self.subject
        made["Message-ID"] = self.message_id
        made["Date"] = format_datetime(datetime.now(UTC))
        made["Auto-Submitted"] = "auto-generated"
        made.set_content(self.text)
        if self.html is not None:
            made.add_alternative(self.html, subtype="html")
        return made


@dataclass(frozen=True, slots=True)
class Taken:
    """Addresses whose mail was taken, and why that of others was not: `550 no such user`."""

    accepted: tuple[str, ...]
    refused: dict[str, str]


class Mailing:
    """One for the process.

    Args:
        connections: of the gateway's database.
        registry: of accounts.
        turns: of requests.
        sender: the way out.
    """

    def __init__(self, connections: Connections, registry: Registry, turns: Turns, sender: Sender) -> None:
        self._connections = connections
        self._registry = registry
        self._turns = turns
        self._sender = sender

    async def send(self, account: str, brand: str | None, mail: Mail, seconds: float) -> Taken:
        """Hands the mail in once, for those of its addresses that the server takes.

        Raises:
            ProblemError: `mail.refused`: for good; `mail.later`; `call.not_sent`, `call.no_answer`, and as for requests.
        """
        deadline = Deadline(seconds)
        opened = await self._registry.usable(account, brand)
        if opened.account.kind != _KIND:
            raise ProblemError(_no_mail_server(account))
        call = await self._turns.begin(opened, brand, None, deadline)
        try:
            async with session(
                self._sender.asking(deadline.left), opened.own, max(deadline.left, 1.0)
            ) as smtp:
                return await _hand_in(smtp, opened, mail)
        except AccessRefused as error:
            async with self._connections.connection() as connection:
                await store.found_refused(connection, opened.account, str(error), CHECK_AGAIN)
            raise ProblemError(needs_reconnecting(account, str(error))) from None
        except NotSent as error:
            raise ProblemError(not_sent(str(error))) from None
        finally:
            await self._turns.end(call)


async def _hand_in(smtp: "SMTP", opened: Opened, mail: Mail) -> Taken:
    import aiosmtplib  # noqa: PLC0415

    host = opened.settings.host
    message = mail.message(opened.settings.sender)
    try:
        refused, _ = await smtp.send_message(message, recipients=list(mail.to))
    except aiosmtplib.SMTPRecipientsRefused as error:
        told = {each.recipient: f"{each.code} {each.message}"[:300] for each in error.recipients}
        later = any(each.code < PERMANENT for each in error.recipients)
        raise ProblemError(
            _refused(host, "; ".join(f"{who}: {why}" for who, why in told.items()), later=later)
        ) from None
    except aiosmtplib.SMTPResponseException as error:
        why = f"{error.code} {error.message}"[:300]
        raise ProblemError(_refused(host, why, later=error.code < PERMANENT)) from None
    except (aiosmtplib.SMTPException, OSError) as error:
        raise ProblemError(no_answer(f"{host}: {str(error)[:200] or type(error).__name__}")) from None
    return Taken(
        tuple(each for each in mail.to if each not in refused),
        {who: f"{answer.code} {answer.message}"[:300] for who, answer in refused.items()},
    )


def _refused(host: str, why: str, *, later: bool) -> Problem:
    if later:
        return Problem(
            "mail.later",
            f"{host} does not take the mail now: {why}",
            HTTPStatus.SERVICE_UNAVAILABLE,
            transient=True,
        )
    return Problem("mail.refused", f"{host} does not take the mail: {why}", HTTPStatus.UNPROCESSABLE_ENTITY)


def _no_mail_server(account: str) -> Problem:
    return Problem(
        "account.request_not_allowed",
        f"{account} is no mail server: connect one with `brandctl accounts connect smtp`",
        HTTPStatus.UNPROCESSABLE_ENTITY,
    )
