"""What the pages about accounts and targets show, and what their forms ask for. Pure: no I/O."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from console.pages import Form
from integrations.account import Account
from integrations.account_kinds import ACCOUNT_KINDS
from integrations.networks import NETWORKS
from integrations.sites import SITES

ALL_BRANDS: Final = "*"
BUILT_IN: Final = "site"
"""The target whose settings are those of the brand's own site."""
WITHOUT_ACCOUNT: Final = frozenset({"feed"})
TONES: Final = {"ok": "good", "expiring": "warn", "needs_reconnecting": "bad", "unchecked": "warn"}
PROFILES: Final = ("hugo", "astro", "jekyll", "eleventy")
_DOCUMENTATION: Final = {"smtp": "README.md"}
_LISTS: Final = ("categories", "tags")
_LONGEST: Final = 4_000


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting that a form asks for."""

    name: str
    example: str
    is_needed: bool


@dataclass(frozen=True, slots=True)
class AccountKind:
    """A kind of account, and the fields of the form that connects one."""

    name: str
    title: str
    documentation: str
    """Its page in `docs/connect`."""
    secret: str
    needs_secret: bool
    user: str
    settings: tuple[SettingField, ...]
    has_login: bool
    can_be_checked: bool

    @classmethod
    def of(cls, account: Account) -> Self:
        name = account.kind
        known = NETWORKS.get(name) or SITES.get(name)
        needed = {"url": account.address_example} if account.address_example else {}
        return cls(
            name=name,
            title=known.title if known else {"smtp": "SMTP", "indexnow": "IndexNow"}.get(name, name),
            documentation=known.documentation if known else _DOCUMENTATION.get(name, f"{name}.md"),
            secret=account.secret,
            needs_secret=account.needs_secret and bool(account.secret),
            user=account.user,
            settings=(
                *(
                    SettingField(key, each, True)
                    for key, each in (needed | dict(account.needed_settings)).items()
                ),
                *(SettingField(key, each, False) for key, each in account.further_settings.items()),
            ),
            has_login=account.login is not None,
            can_be_checked=account.can_be_checked,
        )


KINDS: Final[Mapping[str, AccountKind]] = {
    name: AccountKind.of(ACCOUNT_KINDS[name])
    for name in sorted(
        ACCOUNT_KINDS,
        key=lambda each: (
            each not in NETWORKS,
            each not in SITES,
            (NETWORKS.get(each) or SITES.get(each) or NETWORKS["x"]).position,
        ),
    )
}
"""Networks first, then sites, then the rest."""


def settings_of(kind: AccountKind, form: Form) -> dict[str, Any]:
    """Returns the settings that a person typed; empty fields are left out."""
    return {each.name: typed for each in kind.settings if (typed := form.text(f"setting-{each.name}"))}


def credentials_of(kind: AccountKind, form: Form) -> dict[str, str]:
    """Returns what is secret, for the gateway alone."""
    user, secret = form.text("user"), form.raw("secret").strip()
    given = {kind.user: user} if kind.user and user else {}
    return given | ({kind.secret: secret} if kind.secret and secret else {})


def missing_field(kind: AccountKind, form: Form, *, secret: bool = True) -> str | None:
    """Returns the first needed field that is empty: the name of a setting, `user` or `secret`; None: all are there."""
    settings = settings_of(kind, form)
    for each in kind.settings:
        if each.is_needed and each.name not in settings:
            return each.name
    if not secret:
        return None
    if kind.user and kind.needs_secret and not form.text("user"):
        return "user"
    return "secret" if kind.needs_secret and not form.raw("secret").strip() else None


def free_name(kind: str, brand: str, taken: Iterable[str]) -> str:
    """Suggests a name: the kind, or with the brand if another account has that."""
    used = set(taken)
    wished = (kind, f"{brand}-{kind}", *(f"{brand}-{kind}-{number}" for number in range(2, 100)))
    return next((each for each in wished if each not in used), "")


@dataclass(frozen=True, slots=True)
class LastFailure:
    """The last thing that an account or target did not take."""

    at: str
    detail: str
    """In the words of the network, as the service stored them."""
    step: str
    """What to do, in plain words; empty: the detail says it."""
    title: str = ""
    post_id: str | None = None


@dataclass(frozen=True, slots=True)
class AccountLine:
    name: str
    kind: AccountKind
    label: str
    state: str
    tone: str
    detail: str
    step: str
    expires_at: str | None
    checked_at: str | None
    connected_at: str
    others: tuple[str, ...]
    """Other brands that may use it; `*`: all."""
    failure: LastFailure | None


def account_line(account: Mapping[str, Any], brand: str, posts: Sequence[Mapping[str, Any]]) -> AccountLine:
    """What one line says about an account; `posts` are the brand's failed ones, the newest first."""
    name, kind = account["name"], kind_named(account["kind"])
    network = NETWORKS.get(kind.name)
    errors = network.errors if network else {}
    refused = account["state"] == "needs_reconnecting"
    failed = next((each for each in posts if name in {each["account"], _own_account(each, kind.name)}), None)
    return AccountLine(
        name=name,
        kind=kind,
        label=account["label"] or "",
        state=account["state"],
        tone=TONES.get(account["state"], "quiet"),
        detail=account["detail"] or "",
        step=errors.get("needs_reconnecting", "") if refused else "",
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


def _own_account(post: Mapping[str, Any], kind: str) -> str | None:
    """A post without an account went to that of its channel."""
    return kind if post["account"] is None and post["channel"] == kind else None


def kind_named(name: str) -> AccountKind:
    """Returns a kind; one that this program does not know has no form."""
    return KINDS.get(name) or AccountKind(name, name, "README.md", "", False, "", (), False, False)


@dataclass(frozen=True, slots=True)
class ChannelLine:
    """A channel of the brand, and whether posts can leave on it."""

    name: str
    title: str
    state: str
    """That of its account; `missing`: none is connected; `built_in`: it needs none."""
    account: str


def channel_lines(channels: Iterable[str], accounts: Sequence[Mapping[str, Any]]) -> tuple[ChannelLine, ...]:
    """The brand's channels in their order; a channel is a network's name or an account's."""
    found: list[ChannelLine] = []
    for channel in channels:
        network = NETWORKS.get(channel)
        if network is None and channel in WITHOUT_ACCOUNT:
            found.append(ChannelLine(channel, channel, "built_in", ""))
            continue
        account = _account_for(channel, accounts)
        found.append(
            ChannelLine(
                channel,
                network.title if network else channel,
                account["state"] if account else "missing",
                account["name"] if account else "",
            )
        )
    return tuple(found)


def _account_for(name: str, accounts: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The account of this name, or the only one of this kind."""
    named = next((each for each in accounts if each["name"] == name), None)
    if named is not None:
        return named
    kinds = [each for each in accounts if each["kind"] == name]
    return kinds[0] if len(kinds) == 1 else None


@dataclass(frozen=True, slots=True)
class TargetLine:
    name: str
    title: str
    kind: str
    state: str
    """That of its account; `missing`: none is connected; `built_in`: it needs none."""
    account: str
    documentation: str
    is_used: bool
    """Whether the brand's articles go there."""
    is_set: bool
    """Whether it has settings."""
    settings: Mapping[str, Any]
    failure: LastFailure | None


def target_lines(
    used: Sequence[str],
    configured: Sequence[Mapping[str, Any]],
    accounts: Sequence[Mapping[str, Any]],
    receipts: Sequence[Mapping[str, Any]],
) -> tuple[TargetLine, ...]:
    """The brand's targets, then those that only have settings; `receipts` are of refused articles, the newest first."""
    settings = {each["target"]: each["settings"] for each in configured}
    names = [*dict.fromkeys([*used, *settings])]
    return tuple(_target_line(name, name in used, settings.get(name), accounts, receipts) for name in names)


def _target_line(
    name: str,
    used: bool,
    settings: Mapping[str, Any] | None,
    accounts: Sequence[Mapping[str, Any]],
    receipts: Sequence[Mapping[str, Any]],
) -> TargetLine:
    given = settings or {}
    account = _account_for(given.get("account") or name, accounts)
    kind = given.get("kind") or (name if name in SITES else account["kind"] if account else name)
    if account is None and not given.get("account"):
        account = _account_for(kind, accounts)
    site = SITES.get(kind)
    needs_account = kind in ACCOUNT_KINDS
    state = account["state"] if account and needs_account else "missing" if needs_account else "built_in"
    if site is None and name != BUILT_IN:
        state = "missing"
    refused = next(
        (each for each in receipts if account is not None and each["account"] == account["name"]), None
    )
    return TargetLine(
        name=name,
        title=site.title if site else name,
        kind=kind,
        state=state,
        account=account["name"] if account and needs_account else "",
        documentation=site.documentation if site else "",
        is_used=used,
        is_set=settings is not None,
        settings=given,
        failure=LastFailure(refused["changed_at"], refused["detail"], "") if refused else None,
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


@dataclass(frozen=True, slots=True)
class PastedLogin:
    """What the address says that a log-in ended at."""

    code: str
    """Empty: there is none."""
    refusal: str
    """The provider's own words, if it refused."""


def pasted_login(address: str, state: str) -> PastedLogin:
    """Reads the address that a person pastes; one of another log-in has neither code nor refusal."""
    try:
        query = parse_qs(urlsplit(address.strip()[:_LONGEST]).query)
    except ValueError:
        query = {}
    found = {name: values[0] for name, values in query.items()}
    if "error" in found:
        return PastedLogin("", (found.get("error_description") or found["error"])[:300])
    return PastedLogin(found.get("code", "") if found.get("state") == state else "", "")
