"""Mail servers for submission (RFC 5321, 6409)."""

from typing import Final

from integrations.account import Account

SMTP_ACCOUNT: Final = Account(
    kind="smtp",
    secret="password",
    needs_secret=False,
    user="user",
    needed_settings={"host": "mail.acme.example", "sender": "Acme <news@acme.example>"},
    further_settings={"port": "587", "security": "starttls"},
)
