"""The address of a local run's console: until it has an owner, a link that makes the owner's account."""

from typing import Final

from brandctl.local.stack import LocalStack
from client.connections import Address
from client.pages import items_of
from client.services.console import Console
from client.services.orchestrator import Orchestrator

OWNER: Final = "Owner"
"""Name of the first person."""
_KEY: Final = "owner"
"""Name of their API key: by it the audit logs know who did something."""
_PER_MINUTE: Final = 6000


def console_address(stack: LocalStack) -> str:
    """Returns the console's address, or a new start link while the console has no owner.

    The link is good once and for an hour. It belongs on the terminal, in no log and no file.

    Raises:
        ClientError: the console or the orchestrator refused, or did not answer.
    """
    with (
        Console(Address(stack.addresses.url("console"), stack.service_key)) as console,
        Orchestrator(Address(stack.addresses.url("orchestrator"), stack.service_key)) as orchestrator,
    ):
        people = console.list_people()["items"]
        if any(person["role"] == "owner" for person in people):
            return stack.environments["console"]["CONSOLE_URL"].rstrip("/") + "/"
        _revoke_unused(orchestrator, {person["key_id"] for person in people})
        made = orchestrator.create_key(
            name=_KEY,
            scopes=["read", "submit", "review", "operate", "repair", "admin"],
            per_minute=_PER_MINUTE,
        )
        return console.invite_person(name=OWNER, role="owner", key=made["key"])["url"]


def _revoke_unused(orchestrator: Orchestrator, of_people: set[str]) -> None:
    """Revokes the keys of unopened links."""
    for key in items_of(orchestrator.list_keys, limit=200):
        unused = key["last_used_at"] is None and key["revoked_at"] is None
        if key["name"] == _KEY and unused and key["key_id"] not in of_people:
            orchestrator.revoke_key(key["key_id"])
