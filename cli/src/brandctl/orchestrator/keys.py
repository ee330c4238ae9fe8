"""`brandctl keys`: API keys of the orchestrator."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, Final
from urllib.parse import quote

import typer
from pydantic import BaseModel, ConfigDict

from brandctl.asking import AsJson, KeyFile, ServiceClient
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.orchestrator.client import OrchestratorClient, OrchestratorUrl
from brandctl.short_ids import parse_reference
from brandctl.terminal import note, print_json, printable

app = typer.Typer(
    name="keys",
    no_args_is_help=True,
    help=f"""Makes, lists, rotates and revokes API keys of the orchestrator. It needs the service key, or a key with the scope admin.

{OrchestratorClient.help()}

For example:

    brandctl keys create newsroom --scope read --scope submit --brand acme --expires 90d > newsroom.key
    brandctl keys rotate newsroom --grace 24h > newsroom.key
    brandctl keys revoke newsroom
""",
)

_UNITS: Final = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


class ScopeChoice(StrEnum):
    READ = "read"
    SUBMIT = "submit"
    REVIEW = "review"
    OPERATE = "operate"
    ADMIN = "admin"


class ApiKey(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    key_id: str
    name: str
    scopes: tuple[str, ...]
    brands: tuple[str, ...] | None
    former_until: datetime | None
    expires_at: datetime | None
    is_expired: bool
    revoked_at: datetime | None
    last_used_at: datetime | None
    per_minute: int | None = None

    @property
    def state(self) -> str:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.is_expired else "open"


class _NewApiKey(BaseModel):
    key: str
    about: ApiKey


class _ApiKeysClient(ServiceClient):
    service = "orchestrator"

    def create(self, wanted: dict[str, Any]) -> tuple[_NewApiKey, dict[str, Any]]:
        answer = self._ask("POST", "/v1/keys", json=wanted)
        return self._read(_NewApiKey, answer), answer

    def all(self) -> Iterator[tuple[ApiKey, dict[str, Any]]]:
        """Yields all keys page by page, each with its raw answer."""
        for page in self._pages("/v1/keys", {"limit": 200}):
            yield from ((self._read(ApiKey, item), item) for item in page["items"])

    def named(self, name: str) -> ApiKey:
        """Returns the key with that id, or the unrevoked key of that name."""
        for key, _ in self.all():
            if name == key.key_id or (name == key.name and key.revoked_at is None):
                return key
        raise CommandError(f"there is no key {name} that is not revoked; brandctl keys list lists the keys")

    def rotate(self, key: ApiKey, grace: timedelta) -> tuple[_NewApiKey, dict[str, Any]]:
        wanted = {"grace_seconds": int(grace.total_seconds())}
        answer = self._ask("POST", f"{_of(key)}/rotate", json=wanted)
        return self._read(_NewApiKey, answer), answer

    def limit(self, key: ApiKey, per_minute: int | None) -> tuple[ApiKey, dict[str, Any]]:
        answer = self._ask("PATCH", _of(key), json={"per_minute": per_minute})
        return self._read(ApiKey, answer), answer

    def revoke(self, key: ApiKey) -> None:
        self._ask("DELETE", _of(key))


def _of(key: ApiKey) -> str:
    return f"/v1/keys/{quote(key.key_id, safe='')}"


_KEYS: Final = Listing[ApiKey](
    {
        "id": lambda key: key.key_id,
        "name": lambda key: key.name,
        "state": lambda key: key.state,
        "scopes": lambda key: " ".join(key.scopes),
        "brands": lambda key: "all" if key.brands is None else " ".join(key.brands),
        "a minute": lambda key: "" if key.per_minute is None else str(key.per_minute),
        "expires": lambda key: f"{key.expires_at:%Y-%m-%d}" if key.expires_at else "never",
        "last used": lambda key: f"{key.last_used_at:%Y-%m-%d %H:%M}" if key.last_used_at else "never",
    },
    nothing="there is no key yet; make one with brandctl keys create",
    colours={"open": "green", "expired": "yellow", "revoked": "red"},
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", parser=parse_reference, help="Name of the key, or its id.")
]


@app.command()
def create(
    name: Annotated[str, typer.Argument(help="Name of the owner; the audit log shows it.")],
    scope: Annotated[
        list[ScopeChoice], typer.Option(help="A scope of the key; none includes another; repeat for more.")
    ],
    brand: Annotated[
        list[str] | None,
        typer.Option(help="Only for this brand; other brands stay invisible; repeat for more."),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(help="A day (2027-01-31), or a duration from now (90d).", show_default="never"),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(min=1, help="Requests in a minute.", show_default="the highest limit of its scopes"),
    ] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Makes a key and prints it, this once.

    For example:

        brandctl keys create newsroom --scope read --scope submit --brand acme --expires 90d > newsroom.key
    """
    wanted: dict[str, Any] = {"name": name, "scopes": [str(each) for each in scope]}
    if brand:
        wanted["brands"] = brand
    if expires is not None:
        wanted["expires_at"] = _moment(expires).isoformat()
    if limit is not None:
        wanted["per_minute"] = limit
    with _ApiKeysClient.at(orchestrator_url, key_file) as keys:
        made, answer = keys.create(wanted)
    _show(made, answer, as_json=as_json)
    note(f"Send it as “Authorization: Bearer …”. It is not shown again; its id is {made.about.key_id}.")


@app.command(name="list")
def list_keys(
    as_json: AsJson = False, orchestrator_url: OrchestratorUrl = None, key_file: KeyFile = None
) -> None:
    """Lists all keys, revoked ones included, with scopes and last use."""
    with _ApiKeysClient.at(orchestrator_url, key_file) as keys:
        found = list(keys.all())
    answers = {"items": [answer for _, answer in found]}
    _KEYS.show([key for key, _ in found], answers, as_json=as_json)


@app.command()
def rotate(
    name: Name,
    grace: Annotated[
        str, typer.Option(help="How long the old secret stays valid: 30m, 24h, 7d or 0.")
    ] = "24h",
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Gives a key a new secret and prints it, this once. A second rotation ends the oldest secret at once.

    For example:

        brandctl keys rotate newsroom --grace 24h > newsroom.key
    """
    span = _span(grace, option="--grace")
    with _ApiKeysClient.at(orchestrator_url, key_file) as keys:
        made, answer = keys.rotate(keys.named(name), span)
    _show(made, answer, as_json=as_json)
    until = made.about.former_until
    note(
        f"The old secret is valid until {until:%Y-%m-%d %H:%M} UTC."
        if until
        else "The old secret is not valid any more."
    )


@app.command(name="limit")
def limit_key(
    name: Name,
    per_minute: Annotated[
        int | None,
        typer.Argument(
            metavar="[N]",
            min=1,
            help="Requests in a minute.",
            show_default="the highest limit of its scopes",
        ),
    ] = None,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Sets how many requests a minute a key may make; requests of the present minute count.

    For example:

        brandctl keys limit newsroom 1200
    """
    with _ApiKeysClient.at(orchestrator_url, key_file) as keys:
        key, answer = keys.limit(keys.named(name), per_minute)
    if as_json:
        print_json(answer)
    note(f"{key.name} ({key.key_id}) may be used {key.per_minute:,} times a minute")


@app.command()
def revoke(
    name: Name,
    as_json: AsJson = False,
    orchestrator_url: OrchestratorUrl = None,
    key_file: KeyFile = None,
) -> None:
    """Revokes a key for good, from the next request on. Its name is free again."""
    with _ApiKeysClient.at(orchestrator_url, key_file) as keys:
        key = keys.named(name)
        keys.revoke(key)
    if as_json:
        print_json({"revoked": key.key_id})
    note(f"{key.name} ({key.key_id}) is revoked")


def _show(made: _NewApiKey, answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
    else:
        typer.echo(printable(made.key))


def _span(text: str, *, option: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,5})([mhd])|0", text, re.ASCII)
    if found is None:
        raise UsageError(f"{option} {text}: write a duration such as 30m, 24h or 7d")
    return int(found[1]) * _UNITS[found[2]] if found[1] else timedelta()


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return datetime.now(UTC) + _span(text, option="--expires")
        except (UsageError, OverflowError):
            raise UsageError(
                f"--expires {text}: write a day such as 2027-01-31, or a duration such as 90d"
            ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
