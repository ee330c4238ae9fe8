"""What the pages about accounts and targets show. Pure: no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from console.pages import Form
from integrations.account import Account
from integrations.account_kinds import ACCOUNT_KINDS
from integrations.networks import NETWORKS
from integrations.sites import SITES

BUILT_IN: Final = "site"
"""The target whose settings are those of the brand's own site."""
WITHOUT_ACCOUNT: Final = frozenset({"feed"})
PROFILES: Final = ("hugo", "astro", "jekyll", "eleventy")
NOT_CONNECTED: Final = frozenset({"needs_reconnecting", "not_connected", "channel_not_connected"})
"""Reasons of failures that a new connection mends."""
_LISTS: Final = ("categories", "tags")
_GENERAL: Final = "README.md"


@dataclass(frozen=True, slots=True)
class Connection:
    """How an account of a kind is connected."""

    kind: str
    title: str
    command: str
    documentation: str
    """Its page in `docs/connect`."""


def connection_of(kind: str, brand: str) -> Connection | None:
    """Writes the command that connects an account of a kind to a brand; None for a kind without accounts."""
    account = ACCOUNT_KINDS.get(kind)
    if account is None:
        return None
    known = NETWORKS.get(kind) or SITES.get(kind)
    return Connection(
        kind,
        known.title if known else kind,
        " ".join(_command(account, brand)),
        known.documentation if known else _GENERAL,
    )


def _command(account: Account, brand: str) -> Iterable[str]:
    yield from ("brandctl", "accounts", "connect", account.kind, "--brand", brand)
    if account.address_example:
        yield from ("--url", account.address_example)
    if account.user:
        yield from ("--user", account.user.upper())
    for name, example in account.needed_settings.items():
        yield from ("--set", f"{name}={example}")
    if account.secret and account.login is None:
        yield from ("<", account.secret)


@dataclass(frozen=True, slots=True)
class LastFailure:
    """The last thing that a channel or target did not take."""

    at: str
    detail: str
    """In the words of the network, as the service stored them."""
    step: str = ""
    """What to do, in plain words; empty: the detail says it."""
    title: str = ""
    post_id: str | None = None


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A channel of the brand, and how its last posts went."""

    name: str
    title: str
    state: str
    """`works`, `failed`, `not_connected`, `unknown` (nothing was sent yet), or `built_in` (it needs no account)."""
    posted_at: str | None
    failure: LastFailure | None
    connection: Connection | None


CHANNEL_TONES: Final = {"works": "good", "built_in": "good", "failed": "bad", "not_connected": "bad"}


def channel_line(
    channel: str,
    brand: str,
    posted: Sequence[Mapping[str, Any]],
    failed: Sequence[Mapping[str, Any]],
) -> ChannelLine:
    """Says how a channel is, from its newest posts that went out and that failed."""
    network = NETWORKS.get(channel)
    newest = max(failed, key=lambda each: each["since"], default=None)
    out = max((each["posted_at"] or each["since"] for each in posted), default=None)
    if newest is not None and (out is None or newest["since"] > out):
        state = "not_connected" if newest["reason"] in NOT_CONNECTED else "failed"
    elif channel in WITHOUT_ACCOUNT:
        state = "built_in"
    else:
        state = "unknown" if out is None else "works"
    errors = network.errors if network else {}
    return ChannelLine(
        channel,
        network.title if network else channel,
        state,
        out,
        None
        if newest is None
        else LastFailure(
            newest["since"],
            newest["detail"],
            errors.get(newest["reason"], ""),
            newest["title"],
            newest["post_id"],
        ),
        connection_of(channel, brand),
    )


@dataclass(frozen=True, slots=True)
class TargetLine:
    """A place where articles go, or that has settings."""

    name: str
    title: str
    is_used: bool
    """Whether the brand's articles go there."""
    is_set: bool
    """Whether it has settings."""
    account: str
    documentation: str
    failure: LastFailure | None
    connection: Connection | None


def target_lines(
    brand: str,
    used: Sequence[str],
    configured: Sequence[Mapping[str, Any]],
    failed: Sequence[Mapping[str, Any]],
) -> tuple[TargetLine, ...]:
    """The brand's targets, then those that only have settings; `failed` are publications that were not taken."""
    settings = {each["target"]: each["settings"] for each in configured}
    return tuple(
        _target_line(name, brand, name in used, settings.get(name), failed)
        for name in dict.fromkeys([*used, *settings])
    )


def _target_line(
    name: str,
    brand: str,
    is_used: bool,
    settings: Mapping[str, Any] | None,
    failed: Sequence[Mapping[str, Any]],
) -> TargetLine:
    given = settings or {}
    mine = [each for each in failed if each["target"] == name]
    newest = max(mine, key=lambda each: each["changed_at"], default=None)
    kind = given.get("kind") or (name if name in SITES else newest["kind"] if newest else name)
    site = SITES.get(kind)
    return TargetLine(
        name=name,
        title=site.title if site else "",
        is_used=is_used,
        is_set=settings is not None,
        account=given.get("account") or "",
        documentation=site.documentation if site else "" if name == BUILT_IN else _GENERAL,
        failure=LastFailure(newest["changed_at"], newest["detail"] or newest["reason"]) if newest else None,
        connection=connection_of(kind, brand) if kind in SITES else None,
    )


def target_settings(form: Form) -> dict[str, Any]:
    """Returns the settings that a person chose for a target; what is empty gets its default."""
    told: dict[str, Any] = {
        name: value
        for name in ("kind", "account", "author", "address", "folder", "profile")
        if (value := form.text(name))
    }
    for name in _LISTS:
        if lines := [line.strip() for line in form.text(name).splitlines() if line.strip()]:
            told[name] = lines
    return told | {"cover": "cover" in form, "git": "git" in form}
