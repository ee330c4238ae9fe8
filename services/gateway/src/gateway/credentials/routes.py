"""Routes that connect providers. No route returns a key."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, SecretStr, StringConstraints, ValidationError

from chassis.http.api import UNKNOWN, MayAdminister, View, needs, router
from chassis.http.callers import SERVICE, Scope
from chassis.http.problem_codes import INVALID_REQUEST, RefusalError
from gateway.credentials.accounts import ProviderAccounts, not_connected
from gateway.problems import NO_KEYS, CallProblemError
from integrations.providers import ProviderKind

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=63)]


class ProviderView(View):
    model_config = ConfigDict(from_attributes=True)

    name: str
    kind: str
    settings: dict[str, Any]
    """Address, prices and limits."""
    has_key: bool
    key_end: str | None
    """The last four characters of a long key."""
    key_set_at: datetime | None
    from_environment: bool
    """From environment variables, until an account of the same name is connected."""


class ProviderList(View):
    items: list[ProviderView]


class ConnectProvider(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    kind: ProviderKind
    settings: dict[str, Any] = {}
    key: SecretStr | None = None
    """If left out, the present key stays, provided kind and address do not change."""


class KeyRotationView(View):
    sealed_anew: int


def provider_routes(
    accounts: ProviderAccounts,
    kinds: Mapping[str, Callable[[Mapping[str, Any]], BaseModel]],
    check_address: Callable[[str], Awaitable[None]],
    others: Sequence[Callable[[], Awaitable[int]]] = (),
) -> APIRouter:
    """Creates the routes.

    Args:
        accounts: provider accounts.
        kinds: check settings, by kind of provider.
        check_address: raises CallProblemError for an address that only the operator may give.
        others: re-encrypt further secrets with the same keys, and return their numbers.
    """
    routes = router("/providers", tags=["Providers"])

    @routes.get("", dependencies=[needs(Scope.OPERATE)], summary="What is connected")
    async def list_providers() -> ProviderList:
        found = await accounts.described()
        return ProviderList(items=[ProviderView.model_validate(each) for each in found])

    @routes.get("/{name}", dependencies=[needs(Scope.OPERATE)], summary="One of them", responses=UNKNOWN)
    async def get_provider(name: Annotated[Name, Path()]) -> ProviderView:
        for each in await accounts.described():
            if each.name == name:
                return ProviderView.model_validate(each)
        raise CallProblemError(not_connected(name, HTTPStatus.NOT_FOUND))

    @routes.put(
        "/{name}",
        status_code=HTTPStatus.NO_CONTENT,
        summary="Connect a provider, or change it",
        responses=NO_KEYS,
    )
    async def connect_provider(
        caller: MayAdminister, name: Annotated[Name, Path()], request: ConnectProvider
    ) -> None:
        """An API key connects no private address, unless EGRESS_REACHABLE_NETWORKS names it."""
        _check_key(request.key)
        settings = _checked(kinds[request.kind], request.settings)
        by_operator = caller is SERVICE or await accounts.is_of_operator(name, settings["url"])
        if not by_operator:
            await check_address(settings["url"])
        await accounts.connect(name, request.kind, settings, request.key, by_operator=by_operator)

    @routes.delete(
        "/{name}",
        dependencies=[needs(Scope.ADMIN)],
        status_code=HTTPStatus.NO_CONTENT,
        summary="Forget a provider and its key",
        responses=UNKNOWN,
    )
    async def disconnect_provider(name: Annotated[Name, Path()]) -> None:
        await accounts.disconnect(name)

    @routes.post(
        "/rotate",
        dependencies=[needs(Scope.ADMIN)],
        summary="Seal every key, and the credentials of every account, with the first of GATEWAY_KEYS",
        responses=NO_KEYS,
    )
    async def rotate_provider_keys() -> KeyRotationView:
        sealed = await accounts.reseal()
        for reseal in others:
            sealed += await reseal()
        return KeyRotationView(sealed_anew=sealed)

    return routes


_LONGEST = 4000


def _check_key(key: SecretStr | None) -> None:
    if key is not None and not _is_visible(key.get_secret_value()):
        # A header carries nothing else, and the error must not quote the key.
        raise RefusalError(INVALID_REQUEST, "key: must be 1 to 4,000 visible ASCII characters")


def _is_visible(key: str) -> bool:
    return 1 <= len(key) <= _LONGEST and all("!" <= char <= "~" for char in key)


def _checked(kind: Callable[[Mapping[str, Any]], BaseModel], settings: dict[str, Any]) -> dict[str, Any]:
    try:
        return kind(settings).model_dump(mode="json")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise RefusalError(INVALID_REQUEST, f"settings.{place}: {first['msg']}") from None
