"""`brandctl accounts`: accounts at the sites and networks that articles, posts and notifications go to."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer

from brandctl.asking import AsJson, KeyFile
from brandctl.errors import CommandError, UsageError
from brandctl.gateway.client import GatewayClient, GatewayUrl
from brandctl.gateway.loopback import LoopbackListener, SignInCallback, pasted
from brandctl.social.client import SocialUrl
from brandctl.social.parked import tell_parked
from brandctl.tables import show_table
from brandctl.terminal import note, print_json, printable
from integrations.account_kinds import ACCOUNT_KINDS, LOGIN_KINDS, AccountKindName, LoginKindName

app = typer.Typer(
    name="accounts",
    no_args_is_help=True,
    help=f"""Connects accounts at sites and networks, for articles, posts and notifications.

Secrets are read from standard input or a file. The gateway stores them encrypted and never shows them again.

{GatewayClient.help()}

For example:

    brandctl accounts connect mastodon --brand acme --url https://mastodon.social < token
    brandctl accounts connect bluesky --brand acme --user acme.bsky.social < app-password
    brandctl accounts app x --client-id ID < client-secret
    brandctl accounts connect x --name acme-x --brand acme
    brandctl accounts list
""",
)

_STDIN: Final = Path("-")
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
SecretFile = Annotated[Path, typer.Option(help="File with the secret; - is standard input.", allow_dash=True)]


@app.command("list")
def list_accounts(
    brand: Annotated[str | None, typer.Option(help="Only those that this brand may use.")] = None,
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Lists connected accounts with their state; exit code 1 if there are none."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        found = gateway.call("GET", "/accounts", brand=brand)
    if as_json:
        print_json(found)
    elif found["items"]:
        show_table(
            ("name", "kind", "brands", "known there as", "state", "access ends", "why"),
            [
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
            ],
            colours={"ok": "green", "expiring": "yellow", "needs_reconnecting": "red"},
        )
    if not found["items"]:
        raise CommandError("No account is connected: `brandctl accounts connect` connects one.")


@app.command()
def show(
    name: Name, as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None
) -> None:
    """Shows an account's state, permissions and expiry, but never its secret."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        found = gateway.call("GET", _path(name))
    _show(found, as_json=as_json)


@app.command()
def connect(
    kind: Kind,
    name: Annotated[str | None, typer.Option(help="What it is called.", show_default="its kind")] = None,
    brand: Annotated[list[str] | None, typer.Option(help="A brand that may use it; repeat for more.")] = None,
    all_brands: Annotated[
        bool,
        typer.Option("--all-brands", help="Every brand may use it, and so may operators' notifications."),
    ] = False,
    url: Annotated[str | None, typer.Option(help="Address of the site, server or receiver.")] = None,
    user: Annotated[str | None, typer.Option(help="User name or handle at the site.")] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another setting: chat=@acme, per_minute=30."),
    ] = None,
    secret_file: SecretFile = _STDIN,
    no_secret: Annotated[
        bool,
        typer.Option(
            "--no-secret", help="The account has no secret; for a webhook: make one and show it once."
        ),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Change only brands and settings; keep the secret.")
    ] = False,
    token: Annotated[
        bool, typer.Option("--token", help="Give an access token instead of logging in at the provider.")
    ] = False,
    paste: Annotated[
        bool,
        typer.Option(
            "--paste", help="Log in with a browser elsewhere and paste the address that it ends at."
        ),
    ] = False,
    port: Annotated[
        int, typer.Option(help="Port of this machine that the browser returns to; 0: any free port.")
    ] = 8976,
    redirect_uri: Annotated[
        str | None,
        typer.Option(help="With --paste: the redirect address registered with the provider."),
    ] = None,
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    social_url: SocialUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Connects an account, or changes the given options of one, and then checks it.

    X, LinkedIn, Instagram and Threads take a log-in by browser, which returns to http://127.0.0.1:8976/callback: register that
    address with the provider. Instagram and Threads accept only https:// addresses: give yours with --paste --redirect-uri.

    For example:

        brandctl accounts connect wordpress --brand acme --url https://acme.example --user editor < application-password
        brandctl accounts connect telegram --brand acme --set chat=@acme_coffee < token
        brandctl accounts connect linkedin --brand acme --set organization=2414183
        brandctl accounts connect mastodon --keep --brand acme --brand other
    """
    name = name or kind
    with GatewayClient.at(gateway_url, key_file) as gateway:
        listed = gateway.call("GET", "/accounts")["items"]
        before = next((each for each in listed if each["name"] == name and each["kind"] == kind), None)
        brands = ["*"] if all_brands else (brand or (before["brands"] if before else []))
        if not brands:
            raise UsageError("no brand may use it: give --brand acme, or --all-brands")
        known = (
            {each: value for each, value in before["settings"].items() if value is not None} if before else {}
        )
        settings = known | _settings(url, setting or ())
        if kind in PLACES and "url" not in settings:
            raise UsageError(f"the address is missing: give --url, such as {PLACES[kind]}")
        body: dict[str, Any] = {"kind": kind, "brands": brands, "settings": settings}
        made = None
        if kind in LOGINS and not (token or keep):
            redirect = redirect_uri if paste else None
            _log_in(gateway, name, body, port=port, paste=paste, redirect_uri=redirect)
        else:
            if not keep:
                body["credentials"] = _credentials(kind, user, secret_file, no_secret=no_secret)
            made = gateway.call("PUT", _path(name), body)["secret"]
        found, was_asked = _checked(gateway, name)
    if as_json:
        print_json(found | ({"secret": made} if made else {}))
    elif made:
        # Only to standard output, and only once.
        typer.echo(printable(made))
        note("The signing secret is above; the receiver checks signatures with it. It is not shown again.")
    _tell(found, was_asked=was_asked)
    was_refused = before is not None and before["state"] == "needs_reconnecting"
    tell_parked(found, social_url, key_file, was_refused=was_refused)


@app.command()
def check(
    name: Name, as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None
) -> None:
    """Checks an account now; exit code 1 if it does not work."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        found, was_asked = _checked(gateway, name)
    if as_json:
        print_json(found)
    _tell(found, was_asked=was_asked)


@app.command()
def disconnect(
    name: Name, as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None
) -> None:
    """Removes an account and its credentials. Published posts stay where they are."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        gateway.call("DELETE", _path(name))
    if as_json:
        print_json({"disconnected": name})
    note(f"{name} is no longer connected")


@app.command("erased")
def list_erased(as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None) -> None:
    """Lists accounts of erased brands, which can be restored for a week."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        items = gateway.call("GET", "/erasures")["items"]
    if as_json:
        print_json(items)
        return
    show_table(
        ("ACCOUNT", "KIND", "BRAND", "ERASURE", "DELETED"),
        [
            (each["name"], each["kind"], each["brand"], each["erasure_id"], each["forgotten_at"])
            for each in items
        ],
    )


@app.command()
def restore(
    erasure: Annotated[str, typer.Argument(metavar="ERASURE", help="Id from `brandctl accounts erased`.")],
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Restores the accounts that an erasure removed."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        done = gateway.call("POST", f"/erasures/{quote(erasure, safe='')}/restore")
    if as_json:
        print_json(done)
    restored, taken = done["restored"], done["name_taken"]
    note(f"connected again: {', '.join(restored) or 'none'}")
    if taken:
        note(f"another account has this name now: {', '.join(taken)}; disconnect it, then restore again")


@app.command()
def rotate(
    name: Name, as_json: AsJson = False, gateway_url: GatewayUrl = None, key_file: KeyFile = None
) -> None:
    """Gives a webhook a new signing secret, shown once. Messages carry signatures by the new and the previous secret."""
    with GatewayClient.at(gateway_url, key_file) as gateway:
        made = gateway.call("POST", f"{_path(name)}/rotate")
    if as_json:
        print_json(made)
    else:
        typer.echo(printable(made["secret"]))
    note("Give it to the receiver. Then rotate again to end the previous secret.")


@app.command("app")
def set_app(
    kind: LoginKind,
    client_id: Annotated[
        str | None, typer.Option(help="Id at the provider; without it, the command shows the app.")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="A permission to request; repeat for more.", show_default="what posting takes"),
    ] = None,
    secret_file: SecretFile = _STDIN,
    no_secret: Annotated[
        bool, typer.Option("--no-secret", help="The app is a public client without a secret.")
    ] = False,
    authorize_url: Annotated[str | None, typer.Option(hidden=True)] = None,
    token_url: Annotated[str | None, typer.Option(hidden=True)] = None,
    as_json: AsJson = False,
    gateway_url: GatewayUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sets the app that this installation is registered as at a provider: its client id, and its secret on standard input.

    For example:

        brandctl accounts app x --client-id ID < client-secret
        brandctl accounts app linkedin --client-id ID --scope w_organization_social --scope w_member_social < client-secret
        brandctl accounts app x
    """
    if client_id is None:
        if scope or no_secret or secret_file != _STDIN:
            raise UsageError("--client-id is missing: an app is set as a whole")
        with GatewayClient.at(gateway_url, key_file) as gateway:
            _show_app(gateway.call("GET", f"/account-apps/{kind}"), as_json=as_json)
        return
    body: dict[str, Any] = {"client_id": client_id}
    if not no_secret:
        body["client_secret"] = _read(secret_file, "client secret")
    body |= {"scopes": scope} if scope else {}
    body |= {"authorize_url": authorize_url} if authorize_url else {}
    body |= {"token_url": token_url} if token_url else {}
    with GatewayClient.at(gateway_url, key_file) as gateway:
        gateway.call("PUT", f"/account-apps/{kind}", body)
    if as_json:
        print_json({"kind": kind, "client_id": client_id})
    note(f"the app {client_id} is set for {kind}; now `brandctl accounts connect {kind}`")


def _show_app(found: dict[str, Any], *, as_json: bool) -> None:
    """Prints the app; raises CommandError if there is none."""
    if as_json:
        print_json(found)
    if found["client_id"] is None:
        raise CommandError(
            f"no app is set for {found['kind']}: brandctl accounts app {found['kind']} --client-id ID"
        )
    if as_json:
        return
    told = {
        "kind": found["kind"],
        "client id": found["client_id"],
        "secret": "kept" if found["has_secret"] else "none",
        "asks for": ", ".join(found["scopes"] or ()) or "what posting takes",
        "set": (found["connected_at"] or "")[:19].replace("T", " "),
    }
    show_table(("", ""), [*told.items()])


def _log_in(
    gateway: GatewayClient,
    name: str,
    body: dict[str, Any],
    *,
    port: int,
    paste: bool,
    redirect_uri: str | None,
) -> None:
    with LoopbackListener(0 if redirect_uri else port) as loopback:
        home = redirect_uri or loopback.redirect_uri
        begun = gateway.call("POST", f"{_path(name)}/authorizations", body | {"redirect_uri": home})
        note("Log in here, with a browser:")
        typer.echo(printable(begun["authorize_url"]), err=True)
        state: str = begun["state"]
        back: SignInCallback = pasted(state) if paste else loopback.wait(state)
    gateway.call("POST", f"{_path(name)}/authorizations/complete", {"code": back.code, "state": back.state})


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
        return who | {SECRETS[kind]: _read(file, SECRETS[kind])}
    if kind not in MAY_HAVE_NONE:
        raise UsageError(f"{kind} needs its {SECRETS[kind]}: give it on standard input or with --secret-file")
    return who


def _read(file: Path, what: str) -> str:
    if file != _STDIN:
        try:
            secret = file.read_text().strip()
        except (OSError, ValueError) as error:
            raise UsageError(f"{file} cannot be read: {error}") from error
    elif sys.stdin.isatty():
        secret = str(typer.prompt(what.capitalize(), hide_input=True, err=True)).strip()
    else:
        secret = sys.stdin.read().strip()
    if not secret:
        raise UsageError(f"no {what} was given: give it on standard input or with --secret-file")
    return secret


def _show(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    told = {
        "name": found["name"],
        "kind": found["kind"],
        "brands": _brands(found),
        "known there as": found["label"] or "",
        "state": found["state"],
        "why": found["detail"] or "",
        "may": ", ".join(found["scopes"]),
        "access ends": (found["expires_at"] or "")[:19].replace("T", " "),
        "looked at": (found["checked_at"] or "never")[:19].replace("T", " "),
        "connected": found["connected_at"][:19].replace("T", " "),
    }
    told |= {fact: str(value) for fact, value in found["facts"].items()}
    told |= {option: str(value) for option, value in found["settings"].items() if value is not None}
    show_table(("", ""), [(label, value) for label, value in told.items() if value])


def _checked(gateway: GatewayClient, name: str) -> tuple[dict[str, Any], bool]:
    """Checks an account; returns it, and whether its site answered. Without an answer its state stays."""
    before = gateway.call("GET", _path(name))["checked_at"]
    found = gateway.call("POST", f"{_path(name)}/check")
    return found, found["checked_at"] != before


def _tell(found: dict[str, Any], *, was_asked: bool) -> None:
    """Prints the result of a check; raises CommandError if the account does not work or its state is unknown."""
    who = f" as {found['label']}" if found["label"] else ""
    match found["state"]:
        case "ok" | "expiring" if not was_asked:
            seen = found["checked_at"][:16].replace("T", " ")
            raise CommandError(
                f"{found['name']} is connected{who}, but did not answer now; it did at {seen} UTC"
            )
        case "ok" if found["kind"] in NOT_ASKED:
            note(f"{found['name']} is connected; the first message will show whether it works")
        case "ok":
            note(f"{found['name']} is connected{who}, and works")
        case "expiring":
            note(f"{found['name']} is connected{who}; its access ends on {(found['expires_at'] or '')[:10]}")
        case _:
            raise CommandError(f"{found['name']}: {found['detail'] or found['state']}")


def _brands(account: dict[str, Any]) -> str:
    return "all" if account["brands"] == ["*"] else ", ".join(account["brands"])


def _path(name: str) -> str:
    return f"/accounts/{quote(name, safe='')}"
