"""`/v1/brands/{slug}/newsletter`: turns a brand's newsletter on and off, and shows subscribers and letters."""

from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, StringConstraints

from chassis.http.api import UNKNOWN, MayOperate, MayRead, Moment, View, refusal, router
from chassis.http.conventions.pages import AFTER, DEFAULT_PAGE, PageLimit
from chassis.http.problem_codes import RefusalError
from envelope.brand.payloads import BrandSlug as Slug
from messaging import Database
from publisher import problem_codes as codes
from publisher.domain import BrandSlug, PageSlug
from publisher.mailing import store
from publisher.site_settings import address_of
from publisher.urls import SiteUrls
from receipts import EffectsGateway
from receipts.errors import GatewayAway

KIND = "smtp"
Brand = Annotated[Slug, Path(description="The brand.")]
Account = Annotated[str, StringConstraints(pattern=r"^[a-z0-9]+([._-][a-z0-9]+)*$", max_length=63)]


class MailAccount(View):
    """A mail server that the brand may use."""

    name: str
    sender: str
    state: str
    """`ok`, `unchecked`, `needs_reconnecting`."""


class NewsletterView(View):
    is_on: bool
    account: str | None
    """The gateway's mail account that sends it."""
    sign_up_url: str | None
    """The page on which readers subscribe."""
    problem: str
    """Why nothing goes out now; empty if the last letter did."""
    subscribers: int
    """Confirmed ones."""
    pending: int
    """Sign-ups that wait to be confirmed."""
    ended: int
    """Subscriptions that ended; their addresses are deleted."""
    signed_up: int
    """Sign-ups in the last 30 days."""
    mail_accounts: list[MailAccount] | None
    """Mail servers to choose from; null: the gateway does not answer."""


class TurnOnNewsletter(BaseModel):
    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)

    account: Account | None = None
    """The gateway's mail account; left out: the only one, or the first."""


class SubscriberView(View):
    id: UUID
    address: str
    state: Literal["pending", "confirmed"]
    signed_up_at: datetime
    confirmed_at: datetime | None
    bounces: int
    """Letters in a row that the mail server refused, as it knows no such address; the third ends the subscription."""


class SubscriberList(View):
    items: list[SubscriberView]
    next: UUID | None


class RemovedSubscriber(View):
    """Without the address, which stands nowhere any more, the audit log included."""

    id: UUID


class LetterView(View):
    """An article's letter, with the number of subscribers in each state."""

    content_id: UUID
    title: str | None
    """Null: the article was deleted."""
    url: str | None
    made_at: datetime
    due_at: datetime
    """Ten minutes after publication; a page taken down by then gets no letter."""
    addressed_at: datetime | None
    waiting: int
    sent: int
    failed: int
    in_doubt: int
    """Nobody knows whether it arrived: the answer was lost. It is not sent again by itself."""


class LetterList(View):
    items: list[LetterView]
    next: datetime | None


class LetterSentAgain(View):
    subscribers: int
    """To whom it is sent again."""


def mailing_routes(database: Database, urls: SiteUrls, door: EffectsGateway | None) -> APIRouter:
    """Without `door`, no mail server is known."""
    routes = router("/brands/{slug}/newsletter", tags=["newsletters"])
    _add_settings(routes, database, urls, door)
    _add_subscribers(routes, database)
    _add_letters(routes, database, urls)
    return routes


def _add_settings(routes: APIRouter, database: Database, urls: SiteUrls, door: EffectsGateway | None) -> None:
    async def accounts(brand: str) -> list[MailAccount] | None:
        if door is None:
            return []
        try:
            found = await door.accounts(brand)
        except GatewayAway:
            return None
        return [
            MailAccount(name=each.name, sender=each.label, state=each.state)
            for each in found
            if each.kind == KIND
        ]

    async def view(slug: str) -> NewsletterView:
        brand = BrandSlug(slug)
        async with database.connection() as connection:
            found = await store.find(connection, brand)
            counts = await store.counts(connection, brand)
            home = urls.at(brand, await address_of(connection, brand))
        return NewsletterView(
            is_on=found is not None,
            account=found and found.account,
            sign_up_url=None if found is None else home.absolute(home.newsletter(brand)),
            problem=found.problem if found else "",
            subscribers=counts.confirmed,
            pending=counts.pending,
            ended=counts.ended,
            signed_up=counts.signed_up,
            mail_accounts=await accounts(slug),
        )

    @routes.get("", summary="Show a brand's newsletter", responses=UNKNOWN)
    async def get_newsletter_state(caller: MayRead, slug: Brand) -> NewsletterView:
        """Shows whether it is on, what is missing, and how many subscribe; no addresses."""
        return await view(caller.check_visible(slug))

    @routes.put(
        "",
        summary="Turn a brand's newsletter on",
        responses={**UNKNOWN, **refusal(HTTPStatus.CONFLICT, "No mail server is connected for the brand.")},
    )
    async def enable_newsletter(caller: MayOperate, slug: Brand, request: TurnOnNewsletter) -> NewsletterView:
        """From now on readers can subscribe on the site, and each article published later goes to them as a letter."""
        caller.check_visible(slug)
        known = await accounts(slug)
        if known is None:
            raise RefusalError(codes.GATEWAY_AWAY, "the gateway does not answer; try again in a minute")
        names = [each.name for each in known]
        account = request.account or (names[0] if names else None)
        if account is None or account not in names:
            raise RefusalError(
                codes.NO_MAIL_ACCOUNT,
                f"{slug} may use no mail server{f' {account!r}' if account else ''}: connect one with brandctl accounts connect smtp --brand {slug}",
            )
        async with database.transaction() as tx:
            await store.turn_on(tx.connection, slug, account)
        return await view(slug)

    @routes.delete(
        "", status_code=HTTPStatus.NO_CONTENT, summary="Turn a brand's newsletter off", responses=UNKNOWN
    )
    async def disable_newsletter(caller: MayOperate, slug: Brand) -> None:
        """Sends nothing more, not even what waits. Subscribers stay, and can still leave."""
        caller.check_visible(slug)
        async with database.transaction() as tx:
            await store.turn_off(tx.connection, slug)


def _add_subscribers(routes: APIRouter, database: Database) -> None:
    @routes.get("/subscribers", summary="List the subscribers", responses=UNKNOWN)
    async def list_subscribers(
        caller: MayOperate,
        slug: Brand,
        state: Annotated[
            Literal["pending", "confirmed"] | None, Query(description="Only those in this state.")
        ] = None,
        after: Annotated[UUID | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> SubscriberList:
        """Lists the addresses. They are personal data: only the brand's operators may read them."""
        caller.check_visible(slug)
        async with database.connection() as connection:
            found = await store.subscribers(connection, slug, state=state, after=after, limit=limit + 1)
        return SubscriberList(
            items=[SubscriberView.model_validate(each, from_attributes=True) for each in found[:limit]],
            next=found[limit - 1].id if len(found) > limit else None,
        )

    @routes.delete(
        "/subscribers/{subscriber_id}",
        summary="Remove a subscriber",
        responses=UNKNOWN,
    )
    async def remove_subscriber(caller: MayOperate, slug: Brand, subscriber_id: UUID) -> RemovedSubscriber:
        """Deletes the address. The person can subscribe again."""
        caller.check_visible(slug)
        async with database.transaction() as tx:
            removed = await store.end(tx.connection, slug, subscriber_id, "removed")
        if not removed:
            raise RefusalError(codes.UNKNOWN_SUBSCRIBER, f"{slug} has no such subscriber")
        return RemovedSubscriber(id=subscriber_id)


def _add_letters(routes: APIRouter, database: Database, urls: SiteUrls) -> None:
    @routes.get("/letters", summary="List the letters", responses=UNKNOWN)
    async def list_letters(
        caller: MayRead,
        slug: Brand,
        after: Annotated[Moment | None, Query(description=AFTER)] = None,
        limit: PageLimit = DEFAULT_PAGE,
    ) -> LetterList:
        """Lists the letters, the newest first, with how many went out."""
        brand = BrandSlug(caller.check_visible(slug))
        async with database.connection() as connection:
            found = await store.letters(connection, brand, after=after, limit=limit + 1)
            home = urls.at(brand, await address_of(connection, brand))
        return LetterList(
            items=[
                LetterView(
                    **{name: getattr(each, name) for name in LetterView.model_fields.keys() - {"url"}},
                    url=home.absolute(home.article(brand, PageSlug(each.slug))) if each.slug else None,
                )
                for each in found[:limit]
            ],
            next=found[limit - 1].made_at if len(found) > limit else None,
        )

    @routes.post(
        "/letters/{content_id}/again", summary="Send a letter again where it is in doubt", responses=UNKNOWN
    )
    async def repeat_letter(caller: MayOperate, slug: Brand, content_id: UUID) -> LetterSentAgain:
        """Sends it again to the subscribers in doubt. Those who did receive it get it twice."""
        caller.check_visible(slug)
        async with database.transaction() as tx:
            count = await store.send_again(tx.connection, slug, content_id)
        return LetterSentAgain(subscribers=count)
