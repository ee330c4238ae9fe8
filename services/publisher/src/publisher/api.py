"""What the publisher serves: the API for those who run brands, and the sites for everybody."""

from http import HTTPStatus
from typing import Final

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis.http.api import add_routes, api
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from chassis.http.introspection import ReplicaQuotas
from chassis.http.service_key import API_PREFIX
from messaging import Database
from publisher.covers import Covers
from publisher.exporting import export_routes
from publisher.indexnow import indexnow_routes
from publisher.links import measure_routes
from publisher.logos import FILES, logo_routes
from publisher.newsletters import newsletter_routes
from publisher.previews import MADE_ONCE, preview_routes
from publisher.site_settings import HostProof, site_settings_routes
from publisher.targets import target_routes
from publisher.urls import TAKEN, SiteUrls
from publisher.views import view_routes
from receipts import Receipts, serve_receipts

DESCRIPTION: Final = (
    "How the sites look, and where articles go beside them. What they say comes with the articles."
)


def create_api(
    database: Database,
    authorise: Authorise,
    urls: SiteUrls,
    *,
    sites: ASGIApp,
    covers: Covers | None = None,
    articles_per_page: int = 12,
    receipts: Receipts | None = None,
    host_proof: HostProof | None = None,
) -> FastAPI:
    """The API under `/v1`, behind the key; everything else is the sites'."""
    app = api(
        "Brand Engine: publisher",
        authorise,
        files=FILES,
        takes_api_keys=True,
        quotas=ReplicaQuotas(),
        description=DESCRIPTION,
    )
    add_routes(
        app,
        logo_routes(database, urls),
        site_settings_routes(database, urls, host_proof),
        export_routes(database, urls, covers or Covers(database), articles_per_page=articles_per_page),
        newsletter_routes(database, urls),
        preview_routes(database, urls),
        view_routes(database, urls),
        indexnow_routes(database, urls),
        measure_routes(database, urls),
        target_routes(database),
    )
    if receipts is not None:
        serve_receipts(app, receipts)
    keep_audit_log(app, database, shown_once=MADE_ONCE)

    async def others(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(API_PREFIX):
            # In the API's words: who calls it reads no pages.
            raise HTTPException(HTTPStatus.NOT_FOUND)
        await sites(scope, receive, send)

    app.mount("/", others)
    # Outermost, as the layers of the API have nothing to do for visitors.
    app.add_middleware(_Visitors, sites=sites)
    return app


_FOR_WHOEVER_RUNS_IT: Final = TAKEN | {"openapi.json"}


class _Visitors:
    """ASGI middleware: leads to the sites whatever cannot be for the API, by the first part of its path."""

    def __init__(self, app: ASGIApp, *, sites: ASGIApp) -> None:
        self._app = app
        self._sites = sites

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_api = scope["type"] != "http" or _first_part(scope["path"]) in _FOR_WHOEVER_RUNS_IT
        await (self._app if is_api else self._sites)(scope, receive, send)


def _first_part(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]
