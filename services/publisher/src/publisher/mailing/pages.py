"""The pages on which readers subscribe, confirm and leave: forms without scripts, under the brand's site.

Opening a link changes nothing, as mail programs open links to look at them; a button does, or the one click of RFC 8058.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import ip_address, ip_network
from typing import Any, Final
from urllib.parse import parse_qs
from uuid import UUID

from starlette.datastructures import Address
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from chassis.http.public import CONTENT_SECURITY_POLICY
from chassis.networks import network_of
from messaging import Database
from publisher import store as site_store
from publisher.domain import BrandSlug, Site, is_slug
from publisher.mailing import store
from publisher.mailing.addresses import LinkPurpose, is_word, mail_address, subscriber_of
from publisher.mailing_texts import texts_for
from publisher.rendering import Renderer
from publisher.site_settings import URLS
from publisher.urls import SiteUrls

_MAX_FORM: Final = 4_000
_HEADERS: Final = {
    "Cache-Control": "no-store",
    # The word of a link must not leak.
    "Referrer-Policy": "no-referrer",
    "X-Robots-Tag": "noindex",
    "Content-Security-Policy": CONTENT_SECURITY_POLICY.replace("form-action 'none'", "form-action 'self'"),
}


def visitor_network(client: Address | None, proxies: Sequence[str]) -> str | None:
    """Returns the network of a visitor, as far as it is sure.

    Without a trusted proxy, a connection may come from any proxy, behind which are all visitors. The same holds for a trusted one that
    does not say for whom it asks. Then there is no bound for one visitor, as it would be one for all.
    """
    if client is None or not proxies:
        return None
    try:
        address = ip_address(client.host)
    except ValueError:
        return None
    if any(address in ip_network(each, strict=False) for each in proxies):
        return None
    return network_of(client.host)


@dataclass(frozen=True, slots=True)
class SubscriptionPages:
    """Args: `per_hour`: sign-ups that a brand takes in an hour; `proxies`: addresses and networks of the trusted proxies."""

    database: Database
    renderer: Renderer
    per_hour: int
    proxies: Sequence[str] = ()

    async def form(self, request: Request) -> Response:
        site = await self._site(request, must_be_on=True)
        if request.method != "POST":
            return self._page(request, site, "form")
        if request.headers.get("sec-fetch-site") == "cross-site":
            return self._page(request, site, "form", problem="elsewhere", status=HTTPStatus.FORBIDDEN)
        typed = (await _fields(request)).get("address", "")
        address = mail_address(typed)
        if address is None:
            return self._page(
                request,
                site,
                "form",
                problem="wrong",
                typed=typed[:254],
                status=HTTPStatus.UNPROCESSABLE_ENTITY,
            )
        async with self.database.transaction() as tx:
            refusal = await store.sign_up(
                tx.connection,
                site.brand_slug,
                address,
                per_hour=self.per_hour,
                network=visitor_network(request.client, self.proxies),
            )
        if refusal is not None:
            return self._page(
                request, site, "form", problem=refusal, typed=typed, status=HTTPStatus.TOO_MANY_REQUESTS
            )
        return RedirectResponse(
            f"{_urls(request).newsletter(site.brand_slug)}sent", HTTPStatus.SEE_OTHER, headers=_HEADERS
        )

    async def sent(self, request: Request) -> Response:
        return self._page(request, await self._site(request, must_be_on=True), "sent")

    async def confirm(self, request: Request) -> Response:
        site = await self._site(request)
        word, subscriber = _word(request)
        async with self.database.transaction() as tx:
            key = await store.key_of_installation(tx.connection)
            sign_up = (
                await store.sign_up_of(tx.connection, site.brand_slug, subscriber) if subscriber else None
            )
            if (
                subscriber is None
                or sign_up is None
                or not is_word(key, word, LinkPurpose.CONFIRM, subscriber, sign_up)
            ):
                return self._page(request, site, "void", status=HTTPStatus.NOT_FOUND)
            if request.method != "POST":
                return self._page(request, site, "confirm")
            await store.confirm(tx.connection, subscriber, sign_up)
        return self._page(request, site, "confirmed")

    async def leave(self, request: Request) -> Response:
        """Takes the one click of mail programs, too, which comes without cookies and from anywhere."""
        site = await self._site(request)
        word, subscriber = _word(request)
        async with self.database.transaction() as tx:
            key = await store.key_of_installation(tx.connection)
            if subscriber is None or not is_word(key, word, LinkPurpose.LEAVE, subscriber):
                return self._page(request, site, "void", status=HTTPStatus.NOT_FOUND)
            if request.method != "POST":
                return self._page(request, site, "leave")
            await store.end(tx.connection, site.brand_slug, subscriber, "left")
        return self._page(request, site, "left")

    def _page(
        self,
        request: Request,
        site: Site,
        step: str,
        *,
        status: int = HTTPStatus.OK,
        problem: str = "",
        typed: str = "",
    ) -> Response:
        renderer, texts = self.renderer.with_urls(_urls(request)), texts_for(site.language)
        told: dict[str, Any] = {"step": step, "problem": texts[problem] if problem else "", "typed": typed}
        headers = {**_HEADERS, **({"Retry-After": "3600"} if status == HTTPStatus.TOO_MANY_REQUESTS else {})}
        return HTMLResponse(renderer.subscription(site, texts, **told), status, headers=headers)

    async def _site(self, request: Request, *, must_be_on: bool = False) -> Site:
        brand = request.path_params["brand"]
        if not is_slug(brand):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        async with self.database.connection() as connection:
            site = await site_store.site(connection, BrandSlug(brand))
        if site is None or (must_be_on and not site.has_newsletter):
            raise HTTPException(HTTPStatus.NOT_FOUND)
        return site


def _word(request: Request) -> tuple[str, UUID | None]:
    word = request.path_params["word"]
    return word, subscriber_of(word)


async def _fields(request: Request) -> dict[str, str]:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _MAX_FORM:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    try:
        found = parse_qs(body.decode(errors="replace"), max_num_fields=20)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in found.items()}


def _urls(request: Request) -> SiteUrls:
    urls: SiteUrls = request.scope[URLS]
    return urls
