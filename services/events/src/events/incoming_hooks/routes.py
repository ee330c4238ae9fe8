"""Routes of incoming webhooks: define them, renew their secrets, and see what arrived."""

from datetime import timedelta
from http import HTTPStatus
from typing import Annotated, Final

from fastapi import APIRouter, Path, Response

from chassis import Connection
from chassis.http.api import UNKNOWN, MayOperate, MayRead, refusal, router
from chassis.http.callers import Caller, Scope
from chassis.http.problem_codes import SCOPE_MISSING, RefusalError
from envelope.brand.payloads import BrandSlug
from events import problem_codes as codes
from events.erased import ERASURES
from events.incoming_hooks import store
from events.incoming_hooks.models import (
    HookArrival,
    HookArrivalList,
    HookForm,
    HookList,
    HookView,
    HookWithSecret,
    RotateHook,
)
from events.incoming_hooks.signatures import new_secret
from events.incoming_hooks.store import Hook
from messaging import Database

MOST_HOOKS: Final = 20
"""Of a brand."""
HOOK: Final = "/v1/brands/{slug}/hooks/{name}"
ROTATE: Final = f"{HOOK}/rotate"
SHOWN_ONCE: Final = (HOOK, ROTATE)
"""Routes that answer with a secret."""
Slug = Annotated[BrandSlug, Path(description="The brand.")]
Name = Annotated[
    str, Path(description="Name of the hook.", pattern=r"^[a-z0-9][a-z0-9-]{0,62}$", max_length=63)
]


def hook_routes(database: Database) -> APIRouter:
    routes = router("/brands/{slug}/hooks", tags=["incoming webhooks"])

    @routes.get("", summary="Incoming webhooks of a brand", responses=UNKNOWN)
    async def list_hooks(caller: MayRead, slug: Slug) -> HookList:
        caller.check_visible(slug)
        async with database.connection() as connection:
            found = await store.list_of(connection, slug)
        return HookList(items=[HookView.of(each) for each in found])

    @routes.get("/{name}", summary="An incoming webhook", responses=UNKNOWN)
    async def get_hook(caller: MayRead, slug: Slug, name: Name) -> HookView:
        async with database.connection() as connection:
            return HookView.of(await _find(connection, slug, name, caller))

    @routes.put(
        "/{name}",
        summary="Make or change an incoming webhook",
        responses={
            200: {"description": "The hook existed and is now as given; its secret stays."},
            201: {"model": HookWithSecret, "description": "The hook is new; this answer shows its secret."},
            **UNKNOWN,
            **refusal(HTTPStatus.CONFLICT, "The hook is of another kind."),
        },
    )
    async def set_hook(
        caller: MayOperate, slug: Slug, name: Name, form: HookForm, response: Response
    ) -> HookWithSecret:
        """What is sent to the hook's address becomes a command for its brand. This also takes the scope `submit`, which such commands need."""
        caller.check_visible(slug)
        _check_submits(caller)
        async with database.transaction() as tx:
            # If the brand is erased at the same time, the hook is stored before that, and erased, or after it.
            await ERASURES.block_erasures(tx.connection)
            await store.block_others(tx.connection, slug)
            secret = await _put(tx.connection, slug, name, form, caller)
            hook = await _find(tx.connection, slug, name, caller)
        if secret is not None:
            response.status_code = HTTPStatus.CREATED
        return HookWithSecret.made(hook, secret)

    @routes.delete("/{name}", status_code=204, summary="Remove an incoming webhook", responses=UNKNOWN)
    async def delete_hook(caller: MayOperate, slug: Slug, name: Name) -> None:
        """Removes it with the list of what arrived, and what still waits."""
        async with database.transaction() as tx:
            hook = await _find(tx.connection, slug, name, caller, lock=True)
            await store.remove(tx.connection, hook.hook_id)

    @routes.post("/{name}/rotate", summary="Renew the secret of an incoming webhook", responses=UNKNOWN)
    async def rotate_hook(
        caller: MayOperate, slug: Slug, name: Name, request: RotateHook | None = None
    ) -> HookWithSecret:
        """Shows the new secret once. Both secrets are valid until the former one ends."""
        _check_submits(caller)
        grace = timedelta(hours=(request or RotateHook()).grace_hours)
        async with database.transaction() as tx:
            hook = await _find(tx.connection, slug, name, caller, lock=True)
            secret, stored = new_secret(hook.kind)
            await store.rotate(tx.connection, hook.hook_id, stored, grace)
            return HookWithSecret.made(await _find(tx.connection, slug, name, caller), secret)

    @routes.get("/{name}/arrivals", summary="What arrived at an incoming webhook", responses=UNKNOWN)
    async def list_hook_arrivals(caller: MayRead, slug: Slug, name: Name) -> HookArrivalList:
        """The last hundred, with the reasons of refusals. Bodies and secrets are not kept."""
        async with database.connection() as connection:
            hook = await _find(connection, slug, name, caller)
            found = await store.newest(connection, hook.hook_id)
        return HookArrivalList(items=[HookArrival.of(each) for each in found])

    return routes


def _check_submits(caller: Caller) -> None:
    if Scope.SUBMIT not in caller.scopes:
        raise RefusalError(
            SCOPE_MISSING, "a hook sends commands, so this takes a key with the scope 'submit', too"
        )


async def _put(connection: Connection, slug: str, name: str, form: HookForm, caller: Caller) -> str | None:
    """Makes or changes the hook; returns the secret of a new one."""
    known = await store.find(connection, slug, name, lock=True)
    if known is None:
        if len(await store.list_of(connection, slug)) >= MOST_HOOKS:
            raise RefusalError(
                codes.TOO_MANY_HOOKS,
                f"the brand '{slug}' has {MOST_HOOKS} incoming webhooks, the most that one may have; remove one",
            )
        secret, stored = new_secret(form.kind)
        await store.insert(connection, slug, name, form.kind, stored, form.command, by=caller.name)
        return secret
    if known.kind is not form.kind:
        raise RefusalError(
            codes.HOOK_OF_ANOTHER_KIND,
            f"'{name}' is of the kind {known.kind}, which cannot be changed; remove it, or make another one",
        )
    await store.change(connection, known.hook_id, form.command)
    return None


async def _find(connection: Connection, slug: str, name: str, caller: Caller, *, lock: bool = False) -> Hook:
    hook = await store.find(connection, slug, name, lock=lock) if caller.may_see(slug) else None
    if hook is None:
        raise RefusalError(
            codes.UNKNOWN_HOOK,
            f"the brand has no incoming webhook of this name; GET /v1/brands/{slug}/hooks lists those that it has",
        )
    return hook
