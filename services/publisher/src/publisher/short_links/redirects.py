"""`/s/{code}`: redirects a visitor to the article's current address; a removed article is gone under its short link, too."""

from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from chassis.links import public_link
from messaging import Database
from publisher.short_links import store
from publisher.short_links.clicks import LinkClickCounter
from publisher.short_links.store import ShortLinkDestination
from publisher.urls import SiteUrls

_HEADERS: Final = {
    # Browsers request the link each time, so every click counts; shared caches store nothing.
    "Cache-Control": "private, no-store",
    "X-Robots-Tag": "noindex",
}


class ShortLinkRedirector:
    def __init__(self, database: Database, urls: SiteUrls, clicks: LinkClickCounter | None) -> None:
        self._database = database
        self._urls = urls
        self._clicks = clicks

    async def redirect(self, request: Request) -> Response:
        """Redirects to the article.

        Raises:
            HTTPException: 404 for an unknown link; 410 if its article is gone.
        """
        code = store.parse_code(request.path_params["code"])
        if code is None:
            raise HTTPException(404)
        async with self._database.connection() as connection:
            lead = await store.find(connection, code.article, code.mark)
        # A brand's own host serves no links of other brands.
        if lead is None or request.path_params.get("brand", lead.brand_slug) != lead.brand_slug:
            raise HTTPException(404)
        address = self._address(lead)
        if address is None:
            raise HTTPException(410)
        if self._clicks is not None:
            self._clicks.record(
                lead.content_id,
                lead.mark,
                method=request.method,
                headers=request.headers,
                address=request.client.host if request.client else "",
            )
        return RedirectResponse(address, status_code=302, headers=_HEADERS)

    def _address(self, lead: ShortLinkDestination) -> str | None:
        if lead.slug is None:
            return public_link(lead.url)
        home = self._urls.at(lead.brand_slug, lead.address)
        return home.absolute(home.article(lead.brand_slug, lead.slug))
