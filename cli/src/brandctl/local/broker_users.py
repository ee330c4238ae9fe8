"""One broker user for each service, with the permissions that it needs and no more."""

from collections.abc import Callable, Mapping
from urllib.parse import quote, unquote, urlsplit

from envelope.brand import CATALOGUE
from messaging.topology import users
from messaging.topology.users import Credentials


def create(
    server: str, api: str, names: Mapping[str, str], password_of: Callable[[str], str]
) -> dict[str, str]:
    """Makes or updates the users on the vhost of `server`; returns the AMQP URL of each service.

    Args:
        server: an administrator's AMQP URL.
        api: an administrator's URL of the management API.
        names: the user of each service.
        password_of: the password of a user.

    Raises:
        UsersError: the broker cannot be reached, or refuses.
    """
    credentials = {service: Credentials(user, password_of(user)) for service, user in names.items()}
    users.renew(CATALOGUE, api, vhost_of(server), credentials)
    return {service: url_of(server, each) for service, each in credentials.items()}


def vhost_of(server: str) -> str:
    """The vhost that an AMQP URL names; `/` if none."""
    return unquote(urlsplit(server).path.removeprefix("/")) or "/"


def url_of(server: str, credentials: Credentials) -> str:
    """The same server and vhost for another user."""
    parts = urlsplit(server)
    user, password = (quote(part, safe="") for part in credentials)
    address = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{user}:{password}@{address}").geturl()
