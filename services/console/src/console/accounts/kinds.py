"""The kinds of accounts, what the form of each asks for, and what a person typed there. Pure: no I/O."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self
from urllib.parse import parse_qs, urlsplit

from console.pages import Form
from integrations.account import Account
from integrations.account_kinds import ACCOUNT_KINDS
from integrations.networks import NETWORKS
from integrations.sites import SITES

_GENERAL: Final = "README.md"
_TITLES: Final = {"smtp": "SMTP", "indexnow": "IndexNow"}
_GUIDES: Final = {"indexnow": "indexnow.md"}
_LAST: Final = 1_000
_LONGEST_ADDRESS: Final = 4_000
_LONGEST_REFUSAL: Final = 300
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "localhost", "::1"})


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
    secret: str = ""
    needs_secret: bool = False
    user: str = ""
    settings: tuple[SettingField, ...] = ()
    has_login: bool = False
    can_be_checked: bool = False

    @classmethod
    def of(cls, account: Account) -> Self:
        name = account.kind
        known = NETWORKS.get(name) or SITES.get(name)
        needed = {"url": account.address_example} if account.address_example else {}
        return cls(
            name=name,
            title=known.title if known else _TITLES.get(name, name),
            documentation=known.documentation if known else _GUIDES.get(name, _GENERAL),
            secret=account.secret,
            needs_secret=account.needs_secret and bool(account.secret),
            user=account.user,
            settings=(
                *(
                    SettingField(key, each, True)
                    for key, each in {**needed, **account.needed_settings}.items()
                ),
                *(SettingField(key, each, False) for key, each in account.further_settings.items()),
            ),
            has_login=account.login is not None,
            can_be_checked=account.can_be_checked,
        )


def _place(name: str) -> tuple[bool, bool, int]:
    known = NETWORKS.get(name) or SITES.get(name)
    return name not in NETWORKS, name not in SITES, known.position if known else _LAST


KINDS: Final[Mapping[str, AccountKind]] = {
    name: AccountKind.of(ACCOUNT_KINDS[name]) for name in sorted(ACCOUNT_KINDS, key=_place)
}
"""Networks first, then sites, then the rest."""


def kind_named(name: str) -> AccountKind:
    """Returns a kind; one that this program does not know has no form."""
    return KINDS.get(name) or AccountKind(name, name, _GENERAL)


def settings_of(kind: AccountKind, form: Form) -> dict[str, Any]:
    """Returns the settings that a person typed; empty fields are left out."""
    return {each.name: typed for each in kind.settings if (typed := form.text(f"setting-{each.name}"))}


def credentials_of(kind: AccountKind, form: Form) -> dict[str, str]:
    """Returns what is secret, for the gateway alone."""
    user, secret = form.text("user"), form.raw("secret").strip()
    given = {kind.user: user} if kind.user and user else {}
    return given | ({kind.secret: secret} if kind.secret and secret else {})


def missing_field(kind: AccountKind, form: Form, *, secret: bool) -> str | None:
    """Returns the first needed field that is empty: the name of a setting, `user` or `secret`; None: all are there."""
    settings = settings_of(kind, form)
    for each in kind.settings:
        if each.is_needed and each.name not in settings:
            return each.name
    if not secret or not kind.needs_secret:
        return None
    if kind.user and not form.text("user"):
        return "user"
    return None if form.raw("secret").strip() else "secret"


def free_name(kind: str, brand: str, taken: Iterable[str]) -> str:
    """Suggests a name: the brand with the kind, then with a number."""
    used = set(taken)
    wished = (f"{brand}-{kind}", *(f"{brand}-{kind}-{number}" for number in range(2, 100)))
    return next((each for each in wished if each not in used), "")


def can_return_to(address: str) -> bool:
    """Returns whether networks may send a browser to an address: over HTTPS, or to a port of the reader's machine."""
    parts = urlsplit(address)
    return parts.scheme == "https" or (parts.hostname in _THIS_MACHINE and parts.port is not None)


@dataclass(frozen=True, slots=True)
class LoginResult:
    """The outcome of a log-in, read from the address that it ended at."""

    code: str
    """Empty: there is none."""
    refusal: str
    """The network's own words, if it refused."""


def login_result(address: str, state: str) -> LoginResult:
    """Reads the address that a log-in ended at; one of another log-in has neither code nor refusal."""
    try:
        query = parse_qs(urlsplit(address.strip()[:_LONGEST_ADDRESS]).query)
    except ValueError:
        query = {}
    found = {name: values[0] for name, values in query.items()}
    if "error" in found:
        told = found.get("error_description") or found["error"]
        return LoginResult("", told[:_LONGEST_REFUSAL])
    is_ours = bool(state) and found.get("state") == state
    return LoginResult(found.get("code", "") if is_ours else "", "")
