"""The broker's users, one per service, with the permissions of `messaging.topology.permissions` only.

This module uses the management HTTP API, because AMQP cannot create users. It does not change other users, or permissions on other
vhosts.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final, NamedTuple, Self
from urllib.parse import quote, unquote

from chassis import addresses, secret_files
from chassis.secret_files import SecretFileError
from envelope import Catalogue
from messaging.topology import permissions
from messaging.topology.permissions import NOTHING, Permissions

_TIMEOUT_SECONDS: Final = 15.0
_MAX_REASON: Final = 300
_API_URL: Final = "RABBITMQ_API_URL"
_API_URL_EXAMPLE: Final = "http://user:password@host:15672, an administrator's"


class UsersError(Exception):
    """The users could not be created or renewed; the message is for people and contains no password."""


class Credentials(NamedTuple):
    user: str
    password: str


@dataclass(frozen=True, slots=True)
class ManagementApi:
    """The management HTTP API of a broker."""

    connection: HTTPConnection
    user: str
    address: str
    prefix: str
    headers: Mapping[str, str]

    @classmethod
    def at(cls, url: str) -> Self:
        """A client for the API at `http://user:password@host:15672`; it sends nothing yet.

        Raises:
            UsersError: the URL is invalid.
        """
        try:
            parts = addresses.parse(url, schemes={"http", "https"}, example=_API_URL_EXAMPLE)
            port = parts.port
        except ValueError as error:
            raise UsersError(f"{_API_URL} {error}") from None
        if not parts.hostname or not parts.username:
            raise UsersError(f"{_API_URL} lacks a part: expected {_API_URL_EXAMPLE}")
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname, port, timeout=_TIMEOUT_SECONDS)
        user, password = unquote(parts.username), unquote(parts.password or "")
        token = base64.b64encode(f"{user}:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {token}", "Content-Type": "application/json"}
        address = f"{parts.hostname}:{connection.port}"
        return cls(connection, user, address, parts.path.rstrip("/"), headers)

    def ask(self, method: str, *path: str, body: Mapping[str, Any] | None = None) -> bool:
        """Sends one request; returns False if its subject does not exist.

        Raises:
            UsersError: the broker cannot be reached, or refuses.
        """
        return self._send(method, path, body) is not None

    def read(self, *path: str) -> Any:
        """Reads a JSON value; None if it does not exist.

        Raises:
            UsersError: the broker cannot be reached, or refuses.
        """
        text = self._send("GET", path, None)
        return None if text is None else json.loads(text)

    def _send(self, method: str, path: Sequence[str], body: Mapping[str, Any] | None) -> bytes | None:
        target = "/".join((f"{self.prefix}/api", *(quote(part, safe="") for part in path)))
        content = None if body is None else json.dumps(body)
        try:
            self.connection.request(method, target, content, dict(self.headers))
            answer = self.connection.getresponse()
            text = answer.read()
        except (OSError, HTTPException) as error:
            raise UsersError(
                f"the management API at {self.address} cannot be reached: {str(error) or type(error).__name__}"
            ) from error
        match answer.status:
            case HTTPStatus.OK | HTTPStatus.CREATED | HTTPStatus.NO_CONTENT:
                return text
            case HTTPStatus.NOT_FOUND if body is None:
                return None
            case HTTPStatus.UNAUTHORIZED | HTTPStatus.FORBIDDEN:
                raise UsersError(
                    f"the broker at {self.address} refuses {self.user}: {_reason(text)}. "
                    "Its password must be right, and it must be an administrator"
                )
            case status:
                raise UsersError(f"{self.address} answers {method} {target} with {status}: {_reason(text)}")


def renew_from(catalogue: Catalogue, environment: Mapping[str, str]) -> list[str]:
    """Creates or renews the users of all services, named like the services; returns their names.

    Args:
        catalogue: names the services and the messages they send and take.
        environment: `RABBITMQ_API_URL`, `RABBITMQ_VHOST` (`/` if missing) and the password of each service,
            `<SERVICE>_BROKER_PASSWORD`; a secret may be in the file that `<VARIABLE>_FILE` names.

    Raises:
        UsersError: a variable is missing, or as `renew`.
    """
    variables = {service: f"{service.upper()}_BROKER_PASSWORD" for service in catalogue.services}
    try:
        given = {name: secret_files.read(environment, name) for name in (_API_URL, *variables.values())}
    except SecretFileError as error:
        raise UsersError(str(error)) from None
    known = {name: secret for name, secret in given.items() if secret is not None}
    if missing := given.keys() - known.keys():
        raise UsersError(f"not set: {', '.join(sorted(missing))}. {_API_URL} is {_API_URL_EXAMPLE}")
    credentials = {service: Credentials(service, known[variable]) for service, variable in variables.items()}
    renew(catalogue, known[_API_URL], environment.get("RABBITMQ_VHOST") or "/", credentials)
    return [each.user for each in credentials.values()]


def renew(catalogue: Catalogue, api_url: str, vhost: str, credentials: Mapping[str, Credentials]) -> None:
    """Creates or renews the users of some services on one vhost; safe to repeat while the services run.

    It replaces a user's permissions on the vhost, and removes its tags.

    Args:
        catalogue: says what each service needs.
        api_url: an administrator's, `http://user:password@host:15672`.
        vhost: must exist already.
        credentials: by service.

    Raises:
        UsersError: the broker cannot be reached, refuses, or has no such vhost.
    """
    api = ManagementApi.at(api_url)
    try:
        if not api.ask("GET", "vhosts", vhost):
            raise UsersError(f"no vhost {vhost!r} at {api.address}: create it, or correct the address")
        for service, (user, password) in credentials.items():
            api.ask("PUT", "users", user, body={"password": password, "tags": ""})
            _permit(api, vhost, user, permissions.service_permissions(catalogue, service))
    finally:
        api.connection.close()


def _permit(api: ManagementApi, vhost: str, user: str, allowed: Permissions) -> None:
    # Routing keys before exchanges: without topic permissions for an exchange, a user may use any routing key there.
    for exchange, routing_keys in allowed.topics.items():
        body = {"exchange": exchange, "write": routing_keys, "read": NOTHING}
        api.ask("PUT", "topic-permissions", vhost, user, body=body)
    body = {"configure": allowed.configure, "write": allowed.write, "read": allowed.read}
    api.ask("PUT", "permissions", vhost, user, body=body)


def remove(api_url: str, credentials: Mapping[str, Credentials]) -> None:
    """Deletes users with their permissions; ignores users that do not exist.

    Raises:
        UsersError: the broker cannot be reached, or refuses.
    """
    api = ManagementApi.at(api_url)
    try:
        for user, _ in credentials.values():
            api.ask("DELETE", "users", user)
    finally:
        api.connection.close()


def _reason(answer: bytes) -> str:
    """The reason in the broker's answer: the JSON member `reason`, or the text."""
    try:
        said = json.loads(answer)
    except ValueError:
        said = answer.decode(errors="replace")
    return (
        str(said.get("reason", said) if isinstance(said, dict) else said)[:_MAX_REASON].strip()
        or "no reason given"
    )
