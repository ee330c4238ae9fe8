"""The publisher's HTTP servers: the API for operators and the public sites."""

from collections.abc import Sequence
from typing import Any, Final

from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from chassis import DatabaseUnavailableError
from chassis.http.api import add_routes, answer_without_route, api, is_api_path
from chassis.http.audit.routes import keep_audit_log
from chassis.http.callers import Authorise
from chassis.http.introspection import ReplicaQuotas
from envelope.brand.payloads import SLUG_PATTERN
from messaging import Database
from messaging.backbone_routes import backbone_routes
from messaging.brand_parts import BrandPart
from messaging.departure_routes import departure_routes
from messaging.doctor_routes import doctor_routes
from messaging.edit_routes import EDIT_BODIES
from messaging.message_routes import message_routes
from messaging.part_routes import PART_BODIES, part_routes
from messaging.problem_codes import ALL as MESSAGE_CODES
from messaging.retry_routes import retry_routes
from publisher import problem_codes
from publisher.covers import Covers
from publisher.erasure import DEPARTURES
from publisher.indexnow import indexnow_routes
from publisher.logos import FILES, logo_routes
from publisher.mailing import mailing_routes
from publisher.newsletters import newsletter_routes
from publisher.previews import MADE_ONCE, DraftReader, draft_page_routes, preview_routes, site_page_routes
from publisher.short_links import measure_routes
from publisher.site_export import export_routes
from publisher.site_settings import CustomHosts, HostProof, site_settings_routes
from publisher.targets import target_routes
from publisher.urls import TAKEN, SiteUrls
from publisher.views import view_routes
from receipts import EffectsGateway, Receipts, serve_receipts

DESCRIPTION: Final = "Settings of the built-in sites and of publishing targets, and statistics about them. The texts come from the articles."


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
    drafts: DraftReader | None = None,
    door: EffectsGateway | None = None,
) -> FastAPI:
    """The API under `/v1`, which requires a key; the public sites answer all other paths.

    Without `drafts`, it shows none; without `door`, no mail server is known.
    """
    app = api(
        "Brand Engine: publisher",
        authorise,
        files=FILES,
        takes_api_keys=True,
        quotas=ReplicaQuotas(),
        codes=(*problem_codes.ALL, *MESSAGE_CODES),
        larger_bodies=EDIT_BODIES | PART_BODIES,
        description=DESCRIPTION,
    )
    add_routes(
        app,
        logo_routes(database, urls),
        site_settings_routes(database, urls, host_proof),
        export_routes(database, urls, covers or Covers(database), articles_per_page=articles_per_page),
        newsletter_routes(database, urls),
        mailing_routes(database, urls, door),
        preview_routes(database, urls),
        site_page_routes(database, urls),
        *([draft_page_routes(database, urls, drafts)] if drafts else []),
        view_routes(database, urls),
        indexnow_routes(database, urls),
        measure_routes(database, urls),
        target_routes(database),
        part_routes(database, lambda _: _load_parts(drafts, urls), slug_pattern=SLUG_PATTERN),
        departure_routes(database, DEPARTURES, slug_pattern=SLUG_PATTERN),
        retry_routes(database),
        message_routes(database),
        doctor_routes(database),
        backbone_routes(database),
    )
    if receipts is not None:
        serve_receipts(app, receipts)
    keep_audit_log(app, database, shown_once=MADE_ONCE)

    async def others(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and is_api_path(scope["path"]):
            # The API's error format: callers of the API do not read HTML pages.
            await answer_without_route(app, scope)(scope, receive, send)
            return
        await sites(scope, receive, send)

    app.mount("/", others)
    # Outermost: requests for the sites pass none of the API's layers.
    app.add_middleware(_SiteDispatcher, sites=sites, hosts=CustomHosts(database, urls))
    return app


_FOR_WHOEVER_RUNS_IT: Final = TAKEN | {"openapi.json"}


class _SiteDispatcher:
    """ASGI middleware that sends requests to the sites unless the first part of their path belongs to the API.

    Under a brand's own host, every request goes to the sites, because a proxy may forward all paths of such a host.
    """

    def __init__(self, app: ASGIApp, *, sites: ASGIApp, hosts: CustomHosts) -> None:
        self._app = app
        self._sites = sites
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_for_api = scope["type"] != "http" or (
            _first_part(scope["path"]) in _FOR_WHOEVER_RUNS_IT and not await self._is_own_host(scope)
        )
        await (self._app if is_for_api else self._sites)(scope, receive, send)

    async def _is_own_host(self, scope: Scope) -> bool:
        try:
            return await self._hosts.site_at(scope) is not None
        except DatabaseUnavailableError:
            return True  # The host may belong to a site; the sites answer 503.


def _first_part(path: str) -> str:
    return path.removeprefix("/").partition("/")[0]


def _load_parts(drafts: DraftReader | None, urls: SiteUrls) -> Sequence[BrandPart[Any]]:
    # Loaded on demand: exports and imports are rare.
    from publisher.brand_parts import build_parts  # noqa: PLC0415

    return build_parts(drafts, urls)
