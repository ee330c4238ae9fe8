"""`brandctl accounts`: accounts at the sites and networks that articles, posts and notifications go to."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from brandctl.commands import Group, Result, table
from brandctl.errors import CommandError, UsageError
from brandctl.gateway.loopback import LoopbackListener, SignInCallback, pasted
from brandctl.gateway.secrets import STDIN, SecretFile, read_secret
from brandctl.settings import given
from brandctl.social.parked import tell_parked
from brandctl.terminal import note, print_json, printable
from brandctl.times import to_minute, to_second
from client.services.gateway import Gateway
from client.services.social import Social
from integrations.account_kinds import ACCOUNT_KINDS, LOGIN_KINDS, AccountKindName, LoginKindName

if TYPE_CHECKING:
    from client.services.gateway import answers

app = Group(
    "accounts",
    """Connects accounts at sites and networks, for articles, posts and notifications.

Secrets are read from standard input or a file. The gateway stores them encrypted and never shows them again.

For example:

    brandctl accounts connect mastodon --brand acme --url https://mastodon.social < token
    brandctl accounts connect bluesky --brand acme --user acme.bsky.social < app-password
    brandctl accounts app x --client-id ID < client-secret
    brandctl accounts connect x --name acme-x --brand acme
    brandctl accounts list
""",
    Gateway,
)

SECRETS: Final = {kind: account.secret for kind, account in ACCOUNT_KINDS.items()}
"""Kind → the gateway's name of its secret; empty: the kind has none."""
USERS: Final = {kind: account.user for kind, account in ACCOUNT_KINDS.items() if account.user}
PLACES: Final = {
    kind: account.address_example for kind, account in ACCOUNT_KINDS.items() if account.address_example
}
"""Kinds that need an address from the user → an example."""
MAY_HAVE_NONE: Final = frozenset(kind for kind, each in ACCOUNT_KINDS.items() if not each.needs_secret)
NOT_ASKED: Final = frozenset(kind for kind, each in ACCOUNT_KINDS.items() if not each.can_be_checked)
"""Kinds that accept messages but have no request to check them with."""
LOGINS: Final = frozenset(LOGIN_KINDS)
Kind = Annotated[AccountKindName, typer.Argument(metavar="KIND", help=", ".join(ACCOUNT_KINDS))]
LoginKind = Annotated[LoginKindName, typer.Argument(metavar="|".join(LOGIN_KINDS))]
Name = Annotated[str, typer.Argument(help="Name of the account, as in `list`.")]


@app.command("list")
def list_accounts(gateway: Gateway, brand: str | None = None) -> Result:
    """Lists connected accounts with their state; exit code 1 if there are none.

    Options:
        brand: Only those that this brand may use.
    """
    found = gateway.list_accounts(brand=brand)
    if not found["items"]:
        return Result(found, error="No account is connected: `brandctl accounts connect` connects one.")
    rows = [
        (
            each["name"],
            each["kind"],
            _brands(each),
            each["label"] or "",
            each["state"],
            (each["expires_at"] or "")[:10],
            each["detail"] or "",
        )
        for each in found["items"]
    ]
    headings = ("name", "kind", "brands", "known there as", "state", "access ends", "why")
    colours = {"ok": "green", "expiring": "yellow", "needs_reconnecting": "red"}
    return Result(found, table(headings, rows, colours))


@app.command()
def show(gateway: Gateway, name: Name) -> Result:
    """Shows an account's state, permissions and expiry, but never its secret."""
    found = gateway.get_account(name)
    told = {
        "name": found["name"],
        "kind": found["kind"],
        "brands": _brands(found),
        "known there as": found["label"] or "",
        "state": found["state"],
        "why": found["detail"] or "",
        "may": ", ".join(found["scopes"]),
        "access ends": to_second(found["expires_at"]),
        "looked at": to_second(found["checked_at"]) or "never",
        "connected": to_second(found["connected_at"]),
    }
    told |= {fact: str(value) for fact, value in found["facts"].items()}
    told |= {option: str(value) for option, value in found["settings"].items() if value is not None}
    return Result(found, table(("", ""), [(label, value) for label, value in told.items() if value]))


@app.command()
def connect(
    gateway: Gateway,
    social: Social,
    as_json: bool,
    kind: Kind,
    name: str | None = None,
    brand: list[str] | None = None,
    all_brands: bool = False,
    url: str | None = None,
    user: str | None = None,
    setting: Annotated[list[str] | None, typer.Option("--set", metavar="NAME=VALUE")] = None,
    secret_file: SecretFile = STDIN,
    no_secret: bool = False,
    keep: bool = False,
    token: bool = False,
    paste: bool = False,
    port: int = 8976,
    redirect_uri: str | None = None,
) -> None:
    """Connects an account, or changes the given options of one, and then checks it.

    X, LinkedIn, Instagram and Threads take a log-in by browser, which returns to http://127.0.0.1:8976/callback: register that
    address with the provider. Instagram and Threads accept only https:// addresses: give yours with --paste --redirect-uri.

    For example:

        brandctl accounts connect wordpress --brand acme --url https://acme.example --user editor < application-password
        brandctl accounts connect telegram --brand acme --set chat=@acme_coffee < token
        brandctl accounts connect linkedin --brand acme --set organization=2414183
        brandctl accounts connect mastodon --keep --brand acme --brand other

    Options:
        name: Its name. [default: its kind]
        brand: A brand that may use it; repeat for more.
        all_brands: Every brand may use it, and so may operators' notifications.
        url: Address of the site, server or receiver.
        user: User name or handle at the site.
        setting: Another setting: chat=@acme, per_minute=30.
        no_secret: The account has no secret; for a webhook: make one and show it once.
        keep: Change only brands and settings; keep the secret.
        token: Give an access token instead of logging in at the provider.
        paste: Log in with a browser elsewhere and paste the address that it ends at.
        port: Port of this machine that the browser returns to; 0: any free port.
        redirect_uri: With --paste: the redirect address registered with the provider.
    """
    name = name or kind
    listed = gateway.list_accounts()["items"]
    before = next((each for each in listed if each["name"] == name and each["kind"] == kind), None)
    brands = ["*"] if all_brands else (brand or (before["brands"] if before else []))
    if not brands:
        raise UsageError("no brand may use it: give --brand acme, or --all-brands")
    known = {each: value for each, value in before["settings"].items() if value is not None} if before else {}
    settings = known | _settings(url, setting or ())
    if kind in PLACES and "url" not in settings:
        raise UsageError(f"the address is missing: give --url, such as {PLACES[kind]}")
    body: dict[str, Any] = {"kind": kind, "brands": brands, "settings": settings}
    made = None
    if kind in LOGINS and not (token or keep):
        _log_in(gateway, name, body, port=port, paste=paste, redirect_uri=redirect_uri if paste else None)
    else:
        if not keep:
            body["credentials"] = _credentials(kind, user, secret_file, no_secret=no_secret)
        made = gateway.connect_account(name, **body)["secret"]
    found, was_asked = _checked(gateway, name)
    if as_json:
        print_json({**found, **({"secret": made} if made else {})})
    elif made:
        # Only to standard output, and only once.
        typer.echo(printable(made))
        note("The signing secret is above; the receiver checks signatures with it. It is not shown again.")
    note(_told(found, was_asked=was_asked))
    was_refused = before is not None and before["state"] == "needs_reconnecting"
    tell_parked(found, social, was_refused=was_refused)


@app.command()
def check(gateway: Gateway, name: Name, as_json: bool) -> None:
    """Checks an account now; exit code 1 if it does not work."""
    found, was_asked = _checked(gateway, name)
    if as_json:
        print_json(found)
    note(_told(found, was_asked=was_asked))


@app.command()
def disconnect(gateway: Gateway, name: Name) -> Result:
    """Removes an account and its credentials. Published posts stay where they are."""
    gateway.disconnect_account(name)
    return Result({"disconnected": name}, remark=f"{name} is no longer connected")


@app.command("erased")
def list_erased(gateway: Gateway) -> Result:
    """Lists accounts of erased brands, which can be restored for a week."""
    items = gateway.list_erased()["items"]
    rows = [
        (each["name"], each["kind"], each["brand"], each["erasure_id"], each["forgotten_at"])
        for each in items
    ]
    return Result(items, table(("ACCOUNT", "KIND", "BRAND", "ERASURE", "DELETED"), rows))


@app.command()
def restore(gateway: Gateway, erasure: str) -> Result:
    """Restores the accounts that an erasure removed.

    Options:
        erasure: Id from `brandctl accounts erased`.
    """
    done = gateway.restore_brand_accounts(erasure)
    restored, taken = done["restored"], done["name_taken"]
    remarks = [f"connected again: {', '.join(restored) or 'none'}"]
    if taken:
        remarks.append(
            f"another account has this name now: {', '.join(taken)}; disconnect it, then restore again"
        )
    return Result(done, remark=remarks)


@app.command()
def rotate(gateway: Gateway, name: Name) -> Result:
    """Gives a webhook a new signing secret, shown once. Messages carry signatures by the new and the previous secret."""
    made = gateway.rotate_account_secret(name)
    return Result(
        made,
        lambda: typer.echo(printable(made["secret"] or "")),
        remark="Give it to the receiver. Then rotate again to end the previous secret.",
    )


@app.command("app")
def set_app(
    gateway: Gateway,
    kind: LoginKind,
    client_id: str | None = None,
    scope: list[str] | None = None,
    secret_file: SecretFile = STDIN,
    no_secret: bool = False,
    authorize_url: Annotated[str | None, typer.Option(hidden=True)] = None,
    token_url: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> Result:
    """Sets the app that this installation is registered as at a provider: its client id, and its secret on standard input.

    For example:

        brandctl accounts app x --client-id ID < client-secret
        brandctl accounts app linkedin --client-id ID --scope w_organization_social --scope w_member_social < client-secret
        brandctl accounts app x

    Options:
        client_id: Id at the provider; without it, the command shows the app.
        scope: A permission to request; repeat for more. [default: what posting takes]
        no_secret: The app is a public client without a secret.
    """
    provider: Any = kind  # the registry has its names, as the API does
    if client_id is None:
        if scope or no_secret or secret_file != STDIN:
            raise UsageError("--client-id is missing: an app is set as a whole")
        return _shown_app(gateway.get_account_app(provider))
    secret = None if no_secret else read_secret(secret_file, "client secret", "--secret-file")
    fields = given(
        client_secret=secret,
        scopes=scope or None,
        authorize_url=authorize_url or None,
        token_url=token_url or None,
    )
    gateway.set_account_app(provider, client_id=client_id, **fields)
    return Result(
        {"kind": kind, "client_id": client_id},
        remark=f"the app {client_id} is set for {kind}; now `brandctl accounts connect {kind}`",
    )


def _shown_app(found: "answers.AppView") -> Result:
    if found["client_id"] is None:
        missing = f"no app is set for {found['kind']}: brandctl accounts app {found['kind']} --client-id ID"
        return Result(found, error=missing)
    told = {
        "kind": found["kind"],
        "client id": found["client_id"],
        "secret": "kept" if found["has_secret"] else "none",
        "asks for": ", ".join(found["scopes"] or ()) or "what posting takes",
        "set": to_second(found["connected_at"]),
    }
    return Result(found, table(("", ""), told.items()))


def _log_in(
    gateway: Gateway, name: str, body: dict[str, Any], *, port: int, paste: bool, redirect_uri: str | None
) -> None:
    with LoopbackListener(0 if redirect_uri else port) as loopback:
        home = redirect_uri or loopback.redirect_uri
        begun = gateway.begin_account_login(name, redirect_uri=home, **body)
        note("Log in here, with a browser:")
        typer.echo(printable(begun["authorize_url"]), err=True)
        state = begun["state"]
        back: SignInCallback = pasted(state) if paste else loopback.wait(state)
    gateway.complete_account_login(name, code=back.code, state=back.state)


def _settings(url: str | None, given: Sequence[str]) -> dict[str, Any]:
    settings: dict[str, Any] = {} if url is None else {"url": url}
    for each in given:
        option, equals, text = each.partition("=")
        if not equals or not option:
            raise UsageError(f"--set {each}: write NAME=VALUE, such as chat=@acme")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        # Ids of chats and pages are texts, even if they are digits.
        settings[option] = text if isinstance(value, int) and option in {"chat", "organization"} else value
    return settings


def _credentials(kind: str, user: str | None, file: Path, *, no_secret: bool) -> dict[str, str]:
    if (user is None) != (kind not in USERS) and not (kind == "smtp" and no_secret):
        told = (
            f"the {USERS[kind]} is missing: give --user"
            if user is None
            else f"{kind} has no user: leave out --user"
        )
        raise UsageError(told)
    who = {} if user is None else {USERS[kind]: user}
    if not SECRETS[kind]:
        return who
    if not no_secret:
        return who | {SECRETS[kind]: read_secret(file, SECRETS[kind], "--secret-file")}
    if kind not in MAY_HAVE_NONE:
        raise UsageError(f"{kind} needs its {SECRETS[kind]}: give it on standard input or with --secret-file")
    return who


def _checked(gateway: Gateway, name: str) -> tuple["answers.AccountView", bool]:
    """Checks an account; returns it, and whether its site answered. Without an answer its state stays."""
    before = gateway.get_account(name)["checked_at"]
    found = gateway.check_account(name)
    return found, found["checked_at"] != before


def _told(found: "answers.AccountView", *, was_asked: bool) -> str:
    """Returns the result of a check; raises CommandError if the account does not work or its state is unknown."""
    who = f" as {found['label']}" if found["label"] else ""
    match found["state"]:
        case "ok" | "expiring" if not was_asked:
            seen = to_minute(found["checked_at"])
            raise CommandError(
                f"{found['name']} is connected{who}, but did not answer now; it did at {seen} UTC"
            )
        case "ok" if found["kind"] in NOT_ASKED:
            return f"{found['name']} is connected; the first message will show whether it works"
        case "ok":
            return f"{found['name']} is connected{who}, and works"
        case "expiring":
            return f"{found['name']} is connected{who}; its access ends on {(found['expires_at'] or '')[:10]}"
        case _:
            raise CommandError(f"{found['name']}: {found['detail'] or found['state']}")


def _brands(account: Mapping[str, Any]) -> str:
    return "all" if account["brands"] == ["*"] else ", ".join(account["brands"])
