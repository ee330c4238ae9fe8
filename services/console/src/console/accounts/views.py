"""Contents of the pages about accounts and targets. Pure: no I/O."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from console.accounts.kinds import KINDS, AccountKind, kind_named
from console.pages import Form
from console.texts import Texts
from integrations.networks import NETWORKS
from integrations.sites import SITES

BUILT_IN: Final = "site"
"""The target whose settings are those of the brand's own site."""
WITHOUT_ACCOUNT: Final = frozenset({"feed"})
PROFILES: Final = ("hugo", "astro", "jekyll", "eleventy")
NOT_CONNECTED: Final = frozenset({"needs_reconnecting", "not_connected", "channel_not_connected"})
"""Reasons of failures that a new connection mends."""
TARGET_FIELDS: Final = (
    "kind",
    "account",
    "categories",
    "tags",
    "author",
    "cover",
    "address",
    "folder",
    "profile",
    "git",
)
"""Settings of a target, in the order of their form."""
_LISTS: Final = ("categories", "tags")
_GENERAL: Final = "README.md"


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
    kind: AccountKind | None
    """Of the account that it takes; None: it takes none."""


CHANNEL_TONES: Final = {"works": "good", "built_in": "good", "failed": "bad", "not_connected": "bad"}


def channel_line(
    channel: str,
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
        KINDS.get(channel),
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
    kind: AccountKind | None
    """Of the account that it takes; None: it takes none."""


def target_lines(
    used: Sequence[str],
    configured: Sequence[Mapping[str, Any]],
    failed: Sequence[Mapping[str, Any]],
) -> tuple[TargetLine, ...]:
    """The brand's targets, then those that only have settings; `failed` are publications that were not taken."""
    settings = {each["target"]: each["settings"] for each in configured}
    return tuple(
        _target_line(name, name in used, settings.get(name), failed)
        for name in dict.fromkeys([*used, *settings])
    )


def _target_line(
    name: str,
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
        kind=KINDS.get(kind) if kind in SITES else None,
    )


TONES: Final = {"ok": "good", "expiring": "warn", "needs_reconnecting": "bad", "unchecked": "warn"}


@dataclass(frozen=True, slots=True)
class AccountLine:
    """An account that a brand may use."""

    name: str
    kind: AccountKind
    label: str
    state: str
    tone: str
    detail: str
    """Why, in the words of the network."""
    step: str
    """What to do, in plain words; empty: the texts of the console say it."""
    expires_at: str | None
    checked_at: str | None
    connected_at: str
    others: tuple[str, ...]
    """Other brands that may use it; `*`: all."""
    failure: LastFailure | None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def account_line(
    account: Mapping[str, Any], brand: str, posts: Sequence[Mapping[str, Any]] = ()
) -> AccountLine:
    """Says how an account is; `posts` are the brand's failed ones, the newest first."""
    name, kind = account["name"], kind_named(account["kind"])
    network = NETWORKS.get(kind.name)
    errors = network.errors if network else {}
    failed = next((each for each in posts if name in {each["account"], each["channel"]}), None)
    return AccountLine(
        name=name,
        kind=kind,
        label=account["label"] or "",
        state=account["state"],
        tone=TONES.get(account["state"], "quiet"),
        detail=_sentence(account["detail"] or ""),
        step=_sentence(errors.get("needs_reconnecting", ""))
        if account["state"] == "needs_reconnecting"
        else "",
        expires_at=account["expires_at"],
        checked_at=account["checked_at"],
        connected_at=account["connected_at"],
        others=tuple(each for each in account["brands"] if each != brand),
        failure=None
        if failed is None
        else LastFailure(
            failed["since"],
            failed["detail"],
            errors.get(failed["reason"], ""),
            failed["title"],
            failed["post_id"],
        ),
    )


def use_of(account: Mapping[str, Any], channels: Sequence[str], targets: Sequence[str]) -> str:
    """Returns whether the brand sends posts or articles there: `used`, `no_channel` or `no_target`; empty: it takes neither."""
    name, kind = account["name"], account["kind"]
    if {name, kind} & {*channels, *targets}:
        return "used"
    if kind in NETWORKS:
        return "no_channel"
    return "no_target" if kind in SITES else ""


def policy_with(policy: Mapping[str, Any], account: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the settings of a brand that sends its articles or posts to the account, too."""
    wanted, name = dict(policy), account["name"]
    if account["kind"] in NETWORKS:
        wanted["channels"] = list(dict.fromkeys([*policy["channels"], name]))
    elif account["kind"] in SITES:
        wanted["targets"] = list(dict.fromkeys([*(policy["targets"] or [policy["target"]]), name]))
    return wanted


def target_settings(form: Form) -> dict[str, Any]:
    """Returns the settings that a person chose for a target; without empty fields, which get their defaults."""
    told: dict[str, Any] = {
        name: value
        for name in ("kind", "account", "author", "address", "folder", "profile")
        if (value := form.text(name))
    }
    for name in _LISTS:
        if lines := [line.strip() for line in form.text(name).splitlines() if line.strip()]:
            told[name] = lines
    return told | {"cover": "cover" in form, "git": "git" in form}


def target_words(settings: Mapping[str, Any], t: Texts) -> dict[str, str]:
    """The settings of a target as words, by field; empty without a value."""
    whole = {**settings, "profile": settings.get("profile") or PROFILES[0]}
    return {name: _in_words(whole.get(name), t) for name in TARGET_FIELDS}


def _in_words(value: Any, t: Texts) -> str:
    match value:
        case True:
            return t("accounts.target.yes")
        case None | False:
            return ""
        case list():
            return ", ".join(value)
    return str(value)
