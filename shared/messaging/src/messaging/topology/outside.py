"""Users of other systems at the broker, and the exchange and queue for their commands.

Such a user belongs to an API key, whose id is in its name. It may publish to one exchange, and nothing else: it declares, binds and
consumes nothing. The broker checks the property `user_id` of its messages, so that the consumer knows the key.
"""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from messaging.topology.permissions import NOTHING, pattern
from messaging.topology.queues import DEAD_LETTER_DELIVERY_LIMIT, OUTSIDE, OUTSIDE_KEY, OUTSIDE_QUEUE
from messaging.topology.users import Credentials, ManagementApi, UsersError

PREFIX: Final = "outside-"
"""Of the names of such users; the id of the key follows."""
_QUEUE: Final = {
    "durable": True,
    "arguments": {
        "x-queue-type": "quorum",
        # Never reached: a message stays until it is handled.
        "x-delivery-limit": DEAD_LETTER_DELIVERY_LIMIT,
        # While nobody consumes, senders get negative confirms, and the disk does not fill.
        "x-overflow": "reject-publish",
        "x-max-length": 100_000,
        "x-max-length-bytes": 500_000_000,
    },
}
_LIMITS: Final = {"max-connections": 20, "max-channels": 100}


class UserExistsError(UsersError):
    """The key has a user already."""


class UnknownUserError(UsersError):
    """The key has no user."""


def user_of(key_id: str) -> str:
    return f"{PREFIX}{key_id}"


def key_of(user: str | None) -> str | None:
    """The id of the API key of a user; None for other users."""
    return user.removeprefix(PREFIX) if user is not None and user.startswith(PREFIX) else None


def add(api_url: str, vhost: str, key_id: str) -> Credentials:
    """Makes a key's user with a new password, and before the first one the exchange and the queue.

    Args:
        api_url: an administrator's, `http://user:password@host:15672`.
        vhost: must exist already.
        key_id: id of the API key.

    Raises:
        UserExistsError: the key has a user.
        UsersError: the broker cannot be reached, or refuses.
    """
    with _api(api_url) as api:
        _declare(api, vhost)
        user = user_of(key_id)
        if api.ask("GET", "users", user):
            raise UserExistsError(f"the key has the user {user} already; renew its password instead")
        return _put(api, vhost, user)


def renew(api_url: str, vhost: str, key_id: str) -> Credentials:
    """Gives a key's user a new password. Open connections stay, until the broker or the client closes them.

    Raises:
        UnknownUserError: the key has no user.
        UsersError: the broker cannot be reached, or refuses.
    """
    with _api(api_url) as api:
        user = user_of(key_id)
        if not api.ask("GET", "users", user):
            raise UnknownUserError(f"there is no user {user}; add one first")
        return _put(api, vhost, user)


def remove(api_url: str, key_id: str) -> bool:
    """Deletes a key's user and closes its connections; False if there is none. Messages in the queue stay.

    Raises:
        UsersError: the broker cannot be reached, or refuses.
    """
    with _api(api_url) as api:
        user = user_of(key_id)
        removed = api.ask("DELETE", "users", user)
        api.ask("DELETE", "connections", "username", user)
        return removed


def list_keys(api_url: str) -> list[str]:
    """Ids of the keys that have a user.

    Raises:
        UsersError: the broker cannot be reached, or refuses.
    """
    with _api(api_url) as api:
        users: list[dict[str, Any]] = api.read("users") or []
    return sorted(key for each in users if (key := key_of(each["name"])) is not None)


@contextmanager
def _api(url: str) -> Iterator[ManagementApi]:
    api = ManagementApi.at(url)
    try:
        yield api
    finally:
        api.connection.close()


def _declare(api: ManagementApi, vhost: str) -> None:
    if not api.ask("GET", "vhosts", vhost):
        raise UsersError(f"no vhost {vhost!r} at {api.address}: create it, or correct the address")
    api.ask("PUT", "exchanges", vhost, OUTSIDE, body={"type": "direct", "durable": True})
    api.ask("PUT", "queues", vhost, OUTSIDE_QUEUE, body=_QUEUE)
    api.ask("POST", "bindings", vhost, "e", OUTSIDE, "q", OUTSIDE_QUEUE, body={"routing_key": OUTSIDE_KEY})


def _put(api: ManagementApi, vhost: str, user: str) -> Credentials:
    password = secrets.token_urlsafe(32)
    # Limits and permissions before the user could connect would be best; the broker wants the user first.
    api.ask("PUT", "users", user, body={"password": password, "tags": ""})
    for limit, value in _LIMITS.items():
        api.ask("PUT", "user-limits", user, limit, body={"value": value})
    allowed = {"configure": NOTHING, "write": pattern([OUTSIDE]), "read": NOTHING}
    api.ask("PUT", "permissions", vhost, user, body=allowed)
    return Credentials(user, password)
