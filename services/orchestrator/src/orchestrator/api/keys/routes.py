"""`/v1/keys`: for callers with the scope `admin` that are bound to no brand."""

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Query, Response

from chassis.api_keys import ApiKey
from chassis.http.api import UNKNOWN, MayAdminister, MayRead, add_routes, refusal, router
from chassis.http.callers import Caller
from chassis.http.conventions.pages import DEFAULT_PAGE, PageLimit
from chassis.http.introspection import KEY_HASH
from chassis.http.problem_codes import KEY_BOUND_TO_BRANDS, RefusalError
from messaging import Database
from orchestrator import problem_codes as codes
from orchestrator.answers import LOCATION
from orchestrator.api.keys import store
from orchestrator.api.keys.callers import ClosedKeyError, KeyHolders
from orchestrator.api.keys.models import (
    Introspection,
    KeyLimitRequest,
    KeyList,
    KeyRequest,
    KeyRotationRequest,
    KeyView,
    NewKeyView,
    OwnKeyView,
)
from orchestrator.api.keys.store import TakenNameError
from orchestrator.brands import find_brand

SHOWN_ONCE: Final = ("/v1/keys", "/v1/keys/{key_id}/rotate")
"""Routes that answer with a secret."""
_TAKEN: Final = refusal(HTTPStatus.CONFLICT, "Another key has the name.")
_OVER: Final = refusal(HTTPStatus.CONFLICT, "The key was revoked.")

KeyId = Annotated[str, Path(pattern="^[0-9A-Za-z]{12}$", examples=["4fX0w8QbVn2L"])]


def key_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _making(database), _telling(database), _looking_after(database))
    return routes


def _making(database: Database) -> APIRouter:
    """Routes that answer with a secret."""
    routes = router("/keys", tags=["keys"])

    @routes.post(
        "",
        summary="Make an API key",
        status_code=HTTPStatus.CREATED,
        responses={
            201: {"headers": LOCATION, "description": "The only answer in which the key is."},
            **_TAKEN,
        },
    )
    async def create_key(caller: MayAdminister, request: KeyRequest, response: Response) -> NewKeyView:
        """Creates a key and shows its secret once. If the answer is lost, rotate the key, which the list shows by name."""
        _of_no_brand(caller)
        key = ApiKey.make()
        async with database.transaction() as tx:
            for slug in request.brands or ():
                if await find_brand(tx.connection, slug) is None:
                    raise RefusalError(
                        codes.UNKNOWN_KEYS_BRAND,
                        f"brands: there is no brand '{slug}'; create it first: brandctl brands set {slug} --name NAME, or PUT /v1/brands/{slug}",
                    )
            try:
                made = await store.insert_key(
                    tx.connection,
                    key,
                    name=request.name,
                    scopes=request.scopes,
                    brands=request.brands,
                    expires_at=request.expires_at,
                    per_minute=request.per_minute,
                    by=caller.name,
                )
            except TakenNameError as error:
                raise RefusalError(codes.KEY_NAME_TAKEN, str(error)) from error
        response.headers["Location"] = f"/v1/keys/{key.id}"
        return NewKeyView(key=key.written(), about=KeyView.of(made))

    @routes.post("/{key_id}/rotate", summary="Give an API key another secret", responses={**UNKNOWN, **_OVER})
    async def rotate_key(
        caller: MayAdminister, key_id: KeyId, request: KeyRotationRequest | None = None
    ) -> NewKeyView:
        """Replaces the secret. The former one stays valid for the grace period; a second rotation ends the oldest at once."""
        _of_no_brand(caller)
        key = ApiKey.make(key_id)
        grace = timedelta(seconds=(request or KeyRotationRequest()).grace_seconds)
        async with database.transaction() as tx:
            rotated = await store.rotate_key(tx.connection, key, grace)
            if rotated is None and await store.find_key(tx.connection, key_id) is None:
                raise _unknown(key_id)
        if rotated is None:
            raise RefusalError(
                codes.KEY_REVOKED, f"the key {key_id} was revoked; make another with POST /v1/keys"
            )
        return NewKeyView(key=key.written(), about=KeyView.of(rotated))

    return routes


def _looking_after(database: Database) -> APIRouter:
    routes = router("/keys", tags=["keys"])

    @routes.get("", summary="List API keys")
    async def list_keys(
        caller: MayAdminister,
        after: Annotated[str, Query(description="`next` of the page before.", pattern="^[0-9A-Za-z]*$")] = "",
        limit: PageLimit = DEFAULT_PAGE,
    ) -> KeyList:
        """All keys, revoked ones included, without their secrets."""
        _of_no_brand(caller)
        async with database.connection() as connection:
            found = await store.list_keys(connection, after=after, limit=limit + 1)
        return KeyList(
            items=tuple(map(KeyView.of, found[:limit])),
            next=found[limit - 1].key_id if len(found) > limit else None,
        )

    @routes.get("/{key_id}", summary="Read about an API key", responses=UNKNOWN)
    async def get_key(caller: MayAdminister, key_id: KeyId) -> KeyView:
        _of_no_brand(caller)
        async with database.connection() as connection:
            found = await store.find_key(connection, key_id)
        if found is None:
            raise _unknown(key_id)
        return KeyView.of(found)

    @routes.patch("/{key_id}", summary="Change how often an API key may be used", responses=UNKNOWN)
    async def update_key(caller: MayAdminister, key_id: KeyId, request: KeyLimitRequest) -> KeyView:
        """Changes the limit on every replica, within a minute."""
        _of_no_brand(caller)
        async with database.transaction() as tx:
            changed = await store.set_limit(tx.connection, key_id, request.per_minute)
        if changed is None:
            raise _unknown(key_id)
        return KeyView.of(changed)

    @routes.delete(
        "/{key_id}",
        summary="Revoke an API key",
        status_code=HTTPStatus.NO_CONTENT,
        responses=UNKNOWN,
    )
    async def revoke_key(caller: MayAdminister, key_id: KeyId) -> None:
        """Revokes the key on every replica from the next request on. A second call changes nothing."""
        _of_no_brand(caller)
        async with database.transaction() as tx:
            revoked = await store.revoke_key(tx.connection, key_id, by=caller.name)
        if revoked is None:
            raise _unknown(key_id)

    return routes


def _telling(database: Database) -> APIRouter:
    routes = router("/keys", tags=["keys"])
    holders = KeyHolders(database)

    # Before the routes whose path has an id.
    @routes.get("/own", summary="What your key may do")
    async def get_own_key(caller: MayRead) -> OwnKeyView:
        """Name, scopes and brands of the key that asks."""
        return OwnKeyView.of(caller)

    @routes.get("/{key_id}/introspection", summary="Whose an API key is")
    async def introspect_key(
        caller: MayRead,
        key_id: KeyId,
        hashed: Annotated[
            str,
            Header(
                alias=KEY_HASH,
                description="SHA-256 of the key's secret, in hexadecimal.",
                pattern="^([0-9a-f]{64})?$",
            ),
        ] = "",
    ) -> Introspection:
        """Validates a key for another service. A caller proves that it saw the key by sending the hash of its secret."""
        _of_no_brand(caller)
        try:
            return Introspection.of(await holders.holder_of(key_id, bytes.fromhex(hashed)))
        except ClosedKeyError as error:
            return Introspection(active=False, detail=str(error))

    return routes


def _of_no_brand(caller: Caller) -> None:
    if caller.brands is not None:
        raise RefusalError(
            KEY_BOUND_TO_BRANDS, "keys are managed with a key that is bound to no brand; yours is"
        )


def _unknown(key_id: str) -> RefusalError:
    return RefusalError(codes.UNKNOWN_KEY, f"there is no key {key_id}; GET /v1/keys lists their ids")
