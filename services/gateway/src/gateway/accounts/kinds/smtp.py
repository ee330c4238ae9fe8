"""A mail server for submission (RFC 5321, 6409). Services use it through `POST …/mail`, not through requests."""

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, Self

import httpx
from pydantic import AfterValidator, Field, SecretStr, StringConstraints, model_validator

from gateway.accounts.domain import AccountCheck
from gateway.accounts.kind import (
    AccessRefused,
    AccountCredentials,
    AccountKind,
    AccountTransport,
    KindContext,
    KindSettings,
    NotSent,
)
from integrations.notices.smtp import SMTP_ACCOUNT

if TYPE_CHECKING:
    from aiosmtplib import SMTP

_SENDER: Final = re.compile(r"(?:[^<>\r\n\"@]{1,100} <)?[^\s<>@\"]{1,64}@[A-Za-z0-9.-]{1,253}>?")


def _sender(text: str) -> str:
    if not _SENDER.fullmatch(text) or ("<" in text) != text.endswith(">"):
        raise ValueError("is no sender: write it like Acme <news@acme.example>")
    return text


def _authority(text: str) -> str:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError):
        raise ValueError(
            "is no certificate: give what stands in the authority's PEM file, from -----BEGIN CERTIFICATE----- on"
        ) from None
    return text


class SmtpSettings(KindSettings):
    host: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9.-]{1,253}$")]
    port: Annotated[int, Field(ge=1, le=65_535)] = 587
    security: Literal["starttls", "tls", "plain"] = "starttls"
    """Without `starttls` or `tls`, mail and password travel unencrypted."""
    sender: Annotated[str, AfterValidator(_sender)]
    """`Acme <news@acme.example>`"""
    authority: Annotated[str, StringConstraints(max_length=20_000), AfterValidator(_authority)] | None = None
    """PEM certificate of an additional trusted authority, for a private mail server."""


class SmtpCredentials(AccountCredentials):
    user: str | None = None
    password: SecretStr | None = None

    @model_validator(mode="after")
    def _both_or_none(self) -> Self:
        if (self.user is None) != (self.password is None):
            raise ValueError("give user and password, or neither")
        return self


class SmtpAccount(AccountKind):
    account: ClassVar = SMTP_ACCOUNT
    settings: ClassVar = SmtpSettings
    credentials: ClassVar = SmtpCredentials

    async def check(self, transport: AccountTransport, context: KindContext) -> AccountCheck:
        async with smtp_session(transport, context, self.seconds):
            return AccountCheck(context.settings.sender, {"host": context.settings.host})


@asynccontextmanager
async def smtp_session(
    transport: AccountTransport, context: KindContext, seconds: float
) -> "AsyncIterator[SMTP]":
    """Opens a logged-in connection, encrypted unless the settings say `plain`.

    Raises:
        AccessRefused: the server rejects user or password.
        NotSent: the connection cannot be opened now.
    """
    # Rarely needed, and large.
    import aiosmtplib  # noqa: PLC0415

    settings, credentials = context.settings, context.credentials
    made = await transport.connect(settings.host, settings.port)
    smtp = aiosmtplib.SMTP(
        hostname=settings.host,
        sock=made,
        use_tls=settings.security == "tls",
        start_tls=settings.security == "starttls",
        tls_context=await asyncio.to_thread(_trust, settings.authority),
        timeout=seconds,
    )
    try:
        await smtp.connect()
        if credentials.user is not None and credentials.password is not None:
            await smtp.login(credentials.user, credentials.password.get_secret_value())
    except aiosmtplib.SMTPAuthenticationError as error:
        smtp.close()
        if error.code < PERMANENT:
            raise NotSent(f"{settings.host} takes no log-ins now ({error.code})") from None
        raise AccessRefused(
            f"{settings.host} does not take user and password ({error.code}): connect again"
        ) from None
    except (aiosmtplib.SMTPException, OSError, ssl.SSLError) as error:
        smtp.close()
        raise NotSent(f"{settings.host}:{settings.port}: {_reason(error)}") from None
    try:
        yield smtp
    finally:
        smtp.close()


PERMANENT: Final = 500
"""Status codes from here on are final; lower ones may change on a retry."""


def _trust(authority: str | None) -> ssl.SSLContext:
    context = httpx.create_ssl_context()
    if authority is not None:
        context.load_verify_locations(cadata=authority)
    return context


def _reason(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    if "certificate" in text.lower():
        return f"its certificate is not to be trusted: {text[:200]}"
    return text[:200]
