"""Texts of invitations, in the language of the invited person. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Final
from uuid import uuid4

from monitor.notifications.channels import Mail


class Language(StrEnum):
    ENGLISH = "en"
    GERMAN = "de"


@dataclass(frozen=True, slots=True)
class _MailText:
    subject: str
    paragraphs: tuple[str, str, str]
    """Before the link, about the link, and for whoever did not expect the mail."""


_WORDS: Final = {
    Language.ENGLISH: _MailText(
        "{inviter} invites you to {installation}",
        (
            "Hello {name}, {inviter} has invited you to {installation}. Open this page to begin:",
            "The link works once, for {hours} hours. Whoever has it can use it, so do not pass it on.",
            "If you do not know {inviter}, you need not do anything.",
        ),
    ),
    Language.GERMAN: _MailText(
        "{inviter} lädt Sie zu {installation} ein",
        (
            "Guten Tag {name}, {inviter} hat Sie zu {installation} eingeladen. Öffnen Sie diese Seite, um zu beginnen:",
            "Der Link gilt einmal, {hours} Stunden lang. Wer ihn hat, kann ihn benutzen; geben Sie ihn also nicht weiter.",
            "Wenn Sie {inviter} nicht kennen, brauchen Sie nichts zu tun.",
        ),
    ),
}


@dataclass(frozen=True, slots=True)
class Invitation:
    address: str
    language: Language
    url: str
    name: str
    inviter: str
    installation: str
    hours: int

    def mail(self) -> Mail:
        words = _WORDS[self.language]
        told = {"inviter": self.inviter, "installation": self.installation, "name": self.name}
        before, about, unexpected = (each.format(**told, hours=self.hours) for each in words.paragraphs)
        html = (
            f'<!doctype html><html lang="{self.language}"><body style="font-family:sans-serif;max-width:40em">'
            f'<p>{escape(before)}</p><p><a href="{escape(self.url)}">{escape(self.url)}</a></p>'
            f"<p>{escape(about)}</p><p>{escape(unexpected)}</p></body></html>"
        )
        return Mail(
            to=(self.address,),
            subject=words.subject.format(**told),
            text=f"{before}\n\n{self.url}\n\n{about}\n\n{unexpected}\n",
            html=html,
            message_id=f"<{uuid4()}@brand-engine.invalid>",
        )
