"""Finds the account, folder or site behind the name of a brand's target."""

from dataclasses import dataclass
from typing import Final

from messaging import Database, WaitFor
from publisher.domain import PublishRefusal
from publisher.targets import publications
from publisher.targets.accounts import ACCOUNTS
from publisher.targets.settings import TargetSettings
from receipts import AccountSummary, EffectsGateway, GatewayAway

SITE: Final = "site"
FILES: Final = "files"
KINDS: Final = (SITE, FILES, *ACCOUNTS)


@dataclass(frozen=True, slots=True)
class ResolvedTarget:
    kind: str
    account: str
    """The gateway's account; empty for a target without one."""
    settings: TargetSettings


async def resolve_target(
    database: Database, door: EffectsGateway, brand_slug: str, target: str
) -> ResolvedTarget | PublishRefusal:
    """The target, from the brand's settings and its connected accounts, or a refusal.

    Raises:
        WaitFor: the gateway is away.
    """
    async with database.connection() as connection:
        stored = await publications.settings_of(connection, brand_slug, target)
    settings = stored or TargetSettings()
    kind = settings.kind or (target if target in KINDS else None)
    if kind == FILES:
        return ResolvedTarget(kind, "", settings)
    try:
        accounts = await door.accounts(brand_slug)
    except GatewayAway as error:
        raise WaitFor("gateway", error.detail) from error
    named = settings.account or target
    account = next((each for each in accounts if each.name == named), None)
    if account is None and settings.account is None:
        of_kind = [each for each in accounts if each.kind == kind]
        if len(of_kind) > 1:
            return PublishRefusal("several_accounts", _several(brand_slug, target, of_kind))
        account = of_kind[0] if of_kind else None
    if account is None:
        known = stored is not None or kind is not None
        return _not_connected(brand_slug, target, named) if known else _unknown(brand_slug, target, accounts)
    if account.kind not in ACCOUNTS or (settings.kind is not None and settings.kind != account.kind):
        detail = f"the account '{account.name}' is of the kind {account.kind}, which cannot be this target"
        return PublishRefusal("wrong_account", detail)
    return ResolvedTarget(account.kind, account.name, settings)


def _not_connected(brand: str, target: str, account: str) -> PublishRefusal:
    detail = (
        f"no account '{account}' is connected that brand '{brand}' may use for its target '{target}':"
        " connect one (brandctl accounts connect), then brandctl content publish ID TARGET"
    )
    return PublishRefusal("not_connected", detail)


def _several(brand: str, target: str, accounts: list[AccountSummary]) -> str:
    names = ", ".join(sorted(each.name for each in accounts))
    return (
        f"brand '{brand}' has several accounts for its target '{target}': {names}. Name the target after the right one,"
        " or set it in the target's settings"
    )


def _unknown(brand: str, target: str, accounts: tuple[AccountSummary, ...]) -> PublishRefusal:
    own = sorted(each.name for each in accounts if each.kind in ACCOUNTS)
    known = ", ".join([SITE, FILES, *own])
    return PublishRefusal(
        "unknown_target", f"There is no target {target!r}; brand {brand!r} can use: {known}."
    )
