"""`brandctl people`: the console's users and their roles."""

from http import HTTPStatus
from typing import TYPE_CHECKING, Annotated, Final

import typer

from brandctl.commands import Group, Result
from brandctl.confirming import confirm
from brandctl.errors import CommandError, UsageError
from brandctl.listing import Listing
from brandctl.options import Yes
from brandctl.terminal import printable
from brandctl.times import to_minute
from client.errors import ClientError, RefusedError
from client.pages import items_of
from client.people_keys import PER_MINUTE, SCOPES, free_name
from client.services.console import Console, Role
from client.services.orchestrator import Orchestrator

if TYPE_CHECKING:
    from client.services.console import answers
    from client.services.orchestrator import answers as of_orchestrator

app = Group(
    "people",
    """Invites, lists and removes the people of the console. It needs the service key, which the orchestrator takes too.

For example:

    brandctl people invite Ada --owner
    brandctl people invite Bob --role editor --brand acme
    brandctl people reset Ada
    brandctl people remove Bob
""",
    Console,
)

_PEOPLE: Final = Listing(
    {
        "id": lambda person: person["id"][:8],
        "name": "name",
        "role": "role",
        "brands": lambda person: "all" if person["brands"] is None else " ".join(person["brands"]),
        "key": "key_id",
        "signed in": lambda person: to_minute(person["signed_in_at"]) or "never",
    },
    nothing="nobody can use the console yet; invite somebody with brandctl people invite NAME --owner",
)
_SHORTEST_ID: Final = 8
PersonName = Annotated[
    str, typer.Argument(metavar="PERSON", help="Name of the person, or the beginning of the id.")
]


@app.command()
def invite(
    console: Console,
    orchestrator: Orchestrator,
    name: Annotated[str, typer.Argument(metavar="NAME")],
    role: Role | None = None,
    owner: bool = False,
    brand: list[str] | None = None,
) -> Result:
    """Makes a person's API key and prints a link, this once. It works once, within an hour; its recipient chooses a password.

    Options:
        name: Name to sign in with; audit logs name the person's API key after it.
        role: The person's rights: viewer reads, author submits too, editor reviews too, operator changes brands too, owner does everything. [default: viewer]
        owner: The same as --role owner.
        brand: Only this brand; repeat for more. [default: all brands]
    """
    if owner and role not in {None, "owner"}:
        raise UsageError(f"--owner and --role {role}: give only one of the two")
    chosen: Role = "owner" if owner else role or "viewer"
    if chosen == "owner" and brand:
        raise UsageError("an owner sees all brands: leave out --brand")
    people = console.list_people()["items"]
    if any(person["name"].casefold() == name.casefold() for person in people):
        raise CommandError(f"another person is called {name}; brandctl people reset gives them a new link")
    return _link(console, orchestrator, name, chosen, brand or None)


@app.command("list")
def list_people(console: Console) -> Result:
    """Lists people, with role and last sign-in."""
    return _PEOPLE.of(console.list_people())


@app.command()
def reset(console: Console, orchestrator: Orchestrator, person: PersonName) -> Result:
    """Revokes a person's API key, which locks them out at once, and prints a link to choose another password, this once."""
    people = console.list_people()["items"]
    found = _named(people, person)
    _revoke(orchestrator, found["key_id"])
    return _link(console, orchestrator, found["name"], found["role"], found["brands"], reset=True)


@app.command()
def remove(console: Console, orchestrator: Orchestrator, person: PersonName, yes: Yes = False) -> Result:
    """Removes a person: ends all sessions and revokes the API key."""
    found = _named(console.list_people()["items"], person)
    if not yes:
        confirm(f"{found['name']} cannot sign in any more then. Remove {found['name']}?")
    _revoke(orchestrator, found["key_id"])
    console.remove_person(found["id"])
    return Result({"removed": found["id"]}, remark=f"{found['name']} ({found['id']}) is removed")


def _link(
    console: Console,
    orchestrator: Orchestrator,
    name: str,
    role: Role,
    brands: list[str] | None,
    *,
    reset: bool = False,
) -> Result:
    made = orchestrator.create_key(
        name=free_name(name, _names(orchestrator)),
        scopes=SCOPES[role],  # type: ignore[arg-type]
        brands=brands,
        per_minute=PER_MINUTE,
    )
    try:
        link = console.invite_person(name=name, role=role, brands=brands, key=made["key"], reset=reset)
    except ClientError:
        _revoke(orchestrator, made["about"]["key_id"])
        raise
    until = to_minute(link["expires_at"])
    return Result(
        link,
        lambda: typer.echo(printable(link["url"])),
        remark=f"Give {name} this link. It works once, until {until} UTC, and is not shown again.",
    )


def _names(orchestrator: Orchestrator) -> set[str]:
    """Returns the names of all keys that are not revoked."""
    key: of_orchestrator.KeyView
    names = set()
    for key in items_of(orchestrator.list_keys, limit=200):
        if key["revoked_at"] is None:
            names.add(key["name"])
    return names


def _revoke(orchestrator: Orchestrator, key_id: str) -> None:
    """Revokes a key, unless it is gone already."""
    try:
        orchestrator.revoke_key(key_id)
    except RefusedError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise


def _named(people: "list[answers.PersonView]", person: str) -> "answers.PersonView":
    """Returns the person by name, or by the beginning of the id."""
    found = [each for each in people if each["name"].casefold() == person.casefold()]
    found = found or [
        each for each in people if len(person) >= _SHORTEST_ID and each["id"].startswith(person.lower())
    ]
    if not found:
        raise CommandError(f"nobody is called {person}; brandctl people list lists the people")
    return found[0]
