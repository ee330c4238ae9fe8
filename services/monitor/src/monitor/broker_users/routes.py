"""`/v1/broker-users`: users of other systems at the broker, each of an API key, whose scopes and brands it has.

Only an administrator of the broker makes users. So these routes need RABBITMQ_API_URL, which the monitor has only if an operator sets it.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Final, TypeVar

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from chassis.http.api import UNKNOWN, View, needs, refusal, router
from chassis.http.callers import Scope
from chassis.http.problem_codes import RefusalError
from messaging.topology import OUTSIDE, OUTSIDE_KEY, outside
from messaging.topology.outside import UnknownUserError, UserExistsError
from messaging.topology.users import Credentials, UsersError
from monitor import problem_codes as codes

ROTATE: Final = "/v1/broker-users/{key_id}/rotate"
SHOWN_ONCE: Final = ("/v1/broker-users", ROTATE)
"""Paths whose answers have a password."""
_AnswerT = TypeVar("_AnswerT")
_SEES: Final = needs(Scope.OPERATE, of_all_brands=True)
_CHANGES: Final = needs(Scope.ADMIN, of_all_brands=True)
_KEY: Final = "[0-9A-Za-z]{12}"

KeyId = Annotated[
    str, Path(pattern=f"^{_KEY}$", description="Id of an API key, as the orchestrator lists it.")
]


class BrokerUserRequest(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    key_id: Annotated[str, Field(pattern=f"^{_KEY}$")]
    """Id of the API key that the user belongs to. Its scopes and brands are those of the user."""


class BrokerUserView(View):
    user: str
    key_id: str


class BrokerUsersView(View):
    is_connected: bool
    """Whether the monitor has the management API of the broker (RABBITMQ_API_URL)."""
    problem: str | None
    """Why the broker did not answer; null if it did."""
    address: str | None
    """Address of the broker for other systems (BROKER_PUBLIC_URL); null if nobody has said it."""
    exchange: str
    """Where users may publish."""
    routing_key: str
    items: list[BrokerUserView]


class BrokerCredentials(View):
    user: str
    password: str
    """Is not shown again."""


class BrokerUsers:
    """The broker's users of other systems. `api_url` is an administrator's; `address` is what other systems connect to."""

    def __init__(self, api_url: SecretStr | None, vhost: str, address: str | None = None) -> None:
        self._api_url = api_url
        self._vhost = vhost
        self.address = address

    @property
    def is_connected(self) -> bool:
        return self._api_url is not None

    async def list_keys(self) -> list[str]:
        """Ids of keys with a user. Raises UsersError."""
        return await asyncio.to_thread(outside.list_keys, self._url())

    async def add(self, key_id: str) -> Credentials:
        return await self._change(lambda: outside.add(self._url(), self._vhost, key_id))

    async def renew(self, key_id: str) -> Credentials:
        return await self._change(lambda: outside.renew(self._url(), self._vhost, key_id))

    async def remove(self, key_id: str) -> bool:
        return await self._change(lambda: outside.remove(self._url(), key_id))

    def _url(self) -> str:
        assert self._api_url is not None
        return self._api_url.get_secret_value()

    async def _change(self, change: Callable[[], _AnswerT]) -> _AnswerT:
        """Raises RefusalError: the broker is not connected, does not answer, or has or lacks the user."""
        if not self.is_connected:
            raise RefusalError(
                codes.BROKER_NOT_CONNECTED,
                "this monitor has no management API of the broker: set RABBITMQ_API_URL, or use `brandctl broker-users`",
            )
        try:
            return await asyncio.to_thread(change)
        except UserExistsError as error:
            raise RefusalError(codes.BROKER_USER_EXISTS, str(error)) from error
        except UnknownUserError as error:
            raise RefusalError(codes.UNKNOWN_BROKER_USER, str(error)) from error
        except UsersError as error:
            raise RefusalError(codes.BROKER_NOT_ASKED, str(error)) from error


def broker_user_routes(users: BrokerUsers) -> APIRouter:
    routes = router("/broker-users", tags=["broker users"])

    @routes.get("", dependencies=[_SEES], summary="Users of other systems at the broker")
    async def list_broker_users() -> BrokerUsersView:
        """Lists all of them, and says where they connect. Passwords are known to nobody."""
        keys: list[str] = []
        problem = None
        if users.is_connected:
            try:
                keys = await users.list_keys()
            except UsersError as error:
                problem = str(error)
        return BrokerUsersView(
            is_connected=users.is_connected,
            problem=problem,
            address=users.address,
            exchange=OUTSIDE,
            routing_key=OUTSIDE_KEY,
            items=[BrokerUserView(user=outside.user_of(each), key_id=each) for each in keys],
        )

    @routes.post(
        "",
        dependencies=[_CHANGES],
        summary="Add the user of an API key",
        status_code=HTTPStatus.CREATED,
        responses=refusal(HTTPStatus.CONFLICT, "The key has a user already."),
    )
    async def add_broker_user(request: BrokerUserRequest) -> BrokerCredentials:
        """Adds it with a new password. It may publish to one exchange, and nothing else."""
        made = await users.add(request.key_id)
        return BrokerCredentials(user=made.user, password=made.password)

    @routes.post(
        "/{key_id}/rotate", dependencies=[_CHANGES], summary="Give a user a new password", responses=UNKNOWN
    )
    async def rotate_broker_user(key_id: KeyId) -> BrokerCredentials:
        """The former password opens no new connection; open ones stay."""
        made = await users.renew(key_id)
        return BrokerCredentials(user=made.user, password=made.password)

    @routes.delete(
        "/{key_id}",
        dependencies=[_CHANGES],
        summary="Remove a user",
        responses=UNKNOWN,
    )
    async def remove_broker_user(key_id: KeyId) -> BrokerUserView:
        """Removes it and closes its connections. Messages that wait are handled."""
        if not await users.remove(key_id):
            raise RefusalError(codes.UNKNOWN_BROKER_USER, f"the key {key_id} has no user")
        return BrokerUserView(user=outside.user_of(key_id), key_id=key_id)

    return routes
