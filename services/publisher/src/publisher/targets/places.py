"""Which account, folder or site a target of a brand stands for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from messaging import Database, WaitFor
from publisher.domain import Refusal
from publisher.targets import publications
from publisher.targets.devto import DevTo
from publisher.targets.ghost import Ghost
from publisher.targets.settings import TargetSettings
from publisher.targets.target import Target
from publisher.targets.webhook import Webhook
from publisher.targets.wordpress import WordPress
from receipts import AccountSummary, EffectsGateway, GatewayAway

SITE: Final = "site"
FILES: Final = "files"
ACCOUNTS: Final[Mapping[str, Target]] = {
    each.kind: each for each in (WordPress(), Ghost(), DevTo(), Webhook())
}
"""By the kind of account; a new one is a file beside these, and its name here."""
KINDS: Final = (SITE, FILES, *ACCOUNTS)


@dataclass(frozen=True, slots=True)
class Place:
    kind: str
    account: str
    """Of the gateway; empty for what needs none."""
    settings: TargetSettings


async def find_place(
    database: Database, door: EffectsGateway, brand_slug: str, target: str
) -> Place | Refusal:
    """What the target is, as the brand's settings and its connected accounts say.

    Raises:
        WaitFor: the gateway is away.
    """
    async with database.connection() as connection:
        stored = await publications.settings_of(connection, brand_slug, target)
    settings = stored or TargetSettings()
    kind = settings.kind or (target if target in KINDS else None)
    if kind == FILES:
        return Place(kind, "", settings)
    try:
        accounts = await door.accounts(brand_slug)
    except GatewayAway as error:
        raise WaitFor("gateway", error.detail) from error
    named = settings.account or target
    account = next((each for each in accounts if each.name == named), None)
    if account is None and settings.account is None:
        of_kind = [each for each in accounts if each.kind == kind]
        if len(of_kind) > 1:
            return Refusal("several_accounts", _several(brand_slug, target, of_kind))
        account = of_kind[0] if of_kind else None
    if account is None:
        known = stored is not None or kind is not None
        return _not_connected(brand_slug, target, named) if known else _unknown(brand_slug, target, accounts)
    if account.kind not in ACCOUNTS or (settings.kind is not None and settings.kind != account.kind):
        detail = f"the account '{account.name}' is of the kind {account.kind}, to which no article can go as this target"
        return Refusal("wrong_account", detail)
    return Place(account.kind, account.name, settings)


def _not_connected(brand: str, target: str, account: str) -> Refusal:
    detail = (
        f"no account '{account}' is connected that brand '{brand}' may use for its target '{target}':"
        " connect one (brandctl accounts connect), then brandctl content publish ID TARGET"
    )
    return Refusal("not_connected", detail)


def _several(brand: str, target: str, accounts: list[AccountSummary]) -> str:
    names = ", ".join(sorted(each.name for each in accounts))
    return (
        f"brand '{brand}' has several accounts for its target '{target}': {names}. Call the target like the one that is meant,"
        " or name it in the target's settings"
    )


def _unknown(brand: str, target: str, accounts: tuple[AccountSummary, ...]) -> Refusal:
    own = sorted(each.name for each in accounts if each.kind in ACCOUNTS)
    known = ", ".join([SITE, FILES, *own])
    return Refusal("unknown_target", f"There is no target {target!r}; brand {brand!r} can use: {known}.")
