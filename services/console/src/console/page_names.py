"""Sentences of services that name an address of an API or a command of `brandctl`: people read the name of a page instead."""

import re
from collections.abc import Mapping
from typing import Final

from console.texts import Texts

_ADDRESS: Final = re.compile(
    r"`?(?:\b(?:GET|POST|PUT|PATCH|DELETE) )?/v1/([\w-]+)(?:/[\w{}.-]+)*(?:\?[^\s`,;]+)?`?"
)
_COMMAND: Final = re.compile(r"`brandctl ([\w-]+)[^`]*`")
_AFTER_COMMANDS: Final = "and|are|before|does|has|in|is|lets|or|raises|shows|then|to|until|which"
_BARE_COMMAND: Final = re.compile(
    rf"\bbrandctl ([\w-]+)(?: (?!(?:{_AFTER_COMMANDS})\b)(?:'[^']*'|[^\s,;:()`'.]+))*"
)
"""A command without quotes ends at a mark or at a word that goes on with the sentence."""
PAGES: Final[Mapping[str, str]] = {
    "account-apps": "accounts",
    "accounts": "accounts",
    "alerts": "alerts",
    "articles": "articles",
    "audit-log": "audit_log",
    "audits": "audits",
    "backbone": "backbone",
    "brands": "start_here",
    "broker-users": "broker_users",
    "calendar": "calendar",
    "canary-replays": "dead_letters",
    "chain": "messages",
    "chain-calls": "messages",
    "close-missing": "ledger",
    "content": "articles",
    "cycles": "keywords",
    "dead-letter-operations": "dead_letters",
    "dead-letters": "dead_letters",
    "doctor": "doctor",
    "documents": "sources",
    "drafts": "drafts",
    "invitations": "team",
    "keys": "keys",
    "keywords": "keywords",
    "ledger": "ledger",
    "messages": "messages",
    "models": "providers",
    "newsletter": "newsletter",
    "notifications": "notifications",
    "people": "team",
    "posts": "posts",
    "providers": "providers",
    "queues": "backbone",
    "receipts": "receipts",
    "research": "keywords",
    "retries": "retries",
    "schedules": "schedules",
    "site": "site",
    "sources": "sources",
    "spend": "money",
    "submit": "keywords",
    "subscriptions": "subscriptions",
    "targets": "accounts",
    "watch": "keywords",
    "hooks": "hooks",
    "webhooks": "webhooks",
    "workflows": "keywords",
}
"""The page for a part of the API, or for a group of commands: the screen with the name in its navigation."""


def name_pages(sentence: str, t: Texts) -> str:
    """Returns a service's sentence with the page of the console in the place of each address of an API and each command."""
    if "brandctl " not in sentence and "/v1/" not in sentence:
        return sentence

    def named(screen: str) -> str:
        # A page without a place in the navigation has a title.
        key = f"{screen}.nav"
        return t("layout.named_page", page=t(key if t.catalogue.has(key) else f"{screen}.title"))

    def of_address(found: re.Match[str]) -> str:
        screen = PAGES.get(found[1])
        return t("layout.other_page") if screen is None else named(screen)

    def of_command(found: re.Match[str]) -> str:
        screen = PAGES.get(found[1])
        # What only the terminal can do stays.
        return found[0] if screen is None else named(screen)

    return _BARE_COMMAND.sub(of_command, _COMMAND.sub(of_command, _ADDRESS.sub(of_address, sentence)))
