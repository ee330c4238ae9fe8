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
    ChangeRequest,
    Introspection,
    KeyList,
    KeyRequest,
    KeyView,
    NewKeyView,
    RotateRequest,
)
from orchestrator.api.keys.store import TakenNameError
from orchestrator.brands import find_brand

SHOWN_ONCE: Final = ("/v1/keys", "/v1/keys/{key_id}/rotate")
"""Routes that answer with a key."""
_TAKEN: Final = refusal(HTTPStatus.CONFLICT, "Another key has the name.")
_OVER: Final = refusal(HTTPStatus.CONFLICT, "The key was revoked.")

KeyId = Annotated[str, Path(pattern="^[0-9A-Za-z]{12}$", examples=["4fX0w8QbVn2L"])]


def key_routes(database: Database) -> APIRouter:
    routes = APIRouter()
    add_routes(routes, _making(database), _looking_after(database), _telling(database))
    return routes


def _making(database: Database) -> APIRouter:
    """What answers with a key."""
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
        """An answer that is lost loses the key: rotate it then, by its name in the list."""
        _of_no_brand(caller)
        key = ApiKey.make()
        async with database.transaction() as tx:
            for slug in request.brands or ():
                if await find_brand(tx.connection, slug) is None:
                    raise RefusalError(
                        codes.UNKNOWN_KEYS_BRAND,
                        f"brands: there is no brand '{slug}'; create it first with PUT /v1/brands/{slug}",
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
        caller: MayAdminister, key_id: KeyId, request: RotateRequest | None = None
    ) -> NewKeyView:
        """Two secrets open until the grace is over. Rotating again meanwhile ends the older of them at once."""
        _of_no_brand(caller)
        key = ApiKey.make(key_id)
        grace = timedelta(seconds=(request or RotateRequest()).grace_seconds)
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
        """Those that were revoked, too. No answer has anything of a secret."""
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
    async def update_key(caller: MayAdminister, key_id: KeyId, request: ChangeRequest) -> KeyView:
        """From the next minute on at the latest, on every replica."""
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
        """From the next request on, on every replica, nothing is answered to who sends it. Again changes nothing."""
        _of_no_brand(caller)
        async with database.transaction() as tx:
            revoked = await store.revoke_key(tx.connection, key_id, by=caller.name)
        if revoked is None:
            raise _unknown(key_id)

    return routes


def _telling(database: Database) -> APIRouter:
    routes = router("/keys", tags=["keys"])
    holders = KeyHolders(database)

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
        """For services that take API keys and keep none: whoever shows the hash of the secret was shown the key."""
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
