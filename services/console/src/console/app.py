"""Builds the console from its parts."""

import pkgutil
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from fastapi import FastAPI
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Match, Mount
from starlette.types import Scope

import console
from chassis import App, ServiceKey
from chassis.http.api import add_routes, api
from chassis.http.audit import log as audit_log
from chassis.http.audit.routes import keep_audit_log
from chassis.http.conventions.answers import WORTH_COMPRESSING_BYTES
from chassis.http.route_index import RouteIndex
from console import problem_codes
from console.assistants.endpoint import AssistantEndpoint, AssistantMiddleware
from console.brand_archives import store as brand_archives
from console.brand_archives.running import BrandImports
from console.drafts import guest_links
from console.freed_memory import give_back_large_blocks
from console.identity_provider.client import SignInProvider
from console.live.answering import LiveAnswers
from console.notices import UndoAct
from console.notices import store as notices
from console.pages.assets import Assets
from console.pages.brands import BrandNames
from console.pages.errors import add_error_pages
from console.pages.guard import PageGuard, is_of_api
from console.pages.layout import templates
from console.pages.navigation import NavigationEntry
from console.pages.once import forget_shown
from console.pages.parts import ConsoleParts
from console.pages.paused_queues import PausedQueues
from console.pages.present_codes import PresentCodes
from console.passkeys import store as passkeys
from console.passkeys.confirming import PasskeyProof
from console.people import store as people
from console.people.api import INVITATIONS, people_routes
from console.sealing import PasswordKeys
from console.service_clients import ServiceConnections
from console.sessions import store as sessions
from console.settings import Settings
from console.sign_in import slowing
from console.texts import TextCatalogue
from console.urls import ConsoleUrls
from console.watching.pages import LivePage
from console.watching.streams import LiveStreams


class ConsoleApp(App):
    """The process; it has no queue, and no key of its own."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("console", settings, system="brand_engine")
        self._console = settings
        urls = ConsoleUrls.under(settings.console_url)
        services = ServiceConnections(settings.service_urls, seconds=settings.service_seconds)
        self.closes(services)
        app = api(
            "Brand Engine: console",
            ServiceKey(settings.service_key),
            codes=problem_codes.ALL,
            description="People of the console; its pages are for browsers.",
        )
        add_routes(app, people_routes(self.connections, urls))
        keep_audit_log(app, self.connections, shown_once=[INVITATIONS])
        navigation: list[NavigationEntry] = []
        live_pages: list[LivePage] = []
        undo: dict[str, UndoAct] = {}
        self._live = LiveStreams(
            every=settings.live_seconds,
            reads=settings.live_reads_per_second,
            of_person=settings.live_streams_per_person,
            of_process=settings.live_streams,
            idle=settings.session_idle,
            age=settings.session_age,
        )
        self.pages = pages = FastAPI(
            telemetry={"tracing": False, "metrics": False, "logs": False},
            openapi_url=None,
            docs_url=None,
            redoc_url=None,
            redirect_slashes=False,
        )
        assets = Assets()
        paused_queues = PausedQueues()
        self.closes(paused_queues)
        assistants = AssistantEndpoint(services, urls, is_open=settings.assistants)
        self.closes(assistants)
        imports = BrandImports(self.connections)
        self.closes(imports)
        RouteIndex(pages.router.routes)
        pages.add_route("/assets/{version}/{name}", assets.serve)
        for screen in _screens():
            add_routes(pages, screen.router)
            navigation += getattr(screen, "NAVIGATION", ())
            live_pages += getattr(screen, "LIVE", ())
            undo |= getattr(screen, "UNDO", {})
        add_error_pages(pages)
        # Streams of events are left as they are.
        # At half the cost of level 5, whose answers are a tenth shorter.
        pages.add_middleware(GZipMiddleware, minimum_size=WORTH_COMPRESSING_BYTES, compresslevel=3)
        pages.state.console = ConsoleParts(
            settings,
            self.connections,
            services,
            SignInProvider(services, settings.oidc_name, urls.absolute("/sign-in/callback")),
            PasswordKeys(),
            urls,
            assets,
            TextCatalogue(),
            templates(),
            BrandNames(services),
            paused_queues,
            PresentCodes(),
            imports,
            sorted(navigation, key=lambda entry: entry.order),
            self._live,
            tuple(live_pages),
            PasskeyProof(),
            undo,
            notices.find,
        )
        app.router.routes.append(_PagesMount("/", pages))
        app.add_middleware(LiveAnswers, pages=pages, live=self._live)
        app.add_middleware(AssistantMiddleware, endpoint=assistants)
        # The outermost, so that it sees the path as the proxy sends it.
        app.add_middleware(PageGuard, urls=urls)
        self.serve(app)
        self.poll("clean-up", self._forget_old, every=timedelta(minutes=10))

        self.poll("live-sessions", self._end_streams, every=timedelta(seconds=settings.live_seconds))

    def stop(self) -> None:
        """Ends the live streams first, which would keep the server waiting."""
        self._live.stop()
        super().stop()

    async def _end_streams(self) -> None:
        await self._live.end_with_sessions(self.connections)

    async def _forget_old(self) -> None:
        settings = self._console
        async with self.connections.connection() as connection:
            await sessions.forget_ended(connection, idle=settings.session_idle, age=settings.session_age)
            await slowing.forget_old(connection)
            await passkeys.forget_old_challenges(connection)
            await people.empty_expired_invitations(connection)
            await guest_links.forget_ended(connection)
            await notices.forget_old(connection)
            await forget_shown(connection)
            await brand_archives.forget_old(connection)
            await connection.execute("delete from done_once where begun_at < now() - interval '1 day'")
            await audit_log.forget(connection, timedelta(days=settings.keep_audit_log_days))


class _PagesMount(Mount):
    """Takes all paths but the API's, which refuses what it does not know as every API does."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.NONE, {}) if is_of_api(scope["path"]) else super().matches(scope)


def _screens() -> list[Any]:
    """Imports the `routes` of every screen: a package of the console with a module of that name."""
    names = [each.name for each in pkgutil.iter_modules(console.__path__) if each.ispkg]
    return [
        import_module(f"console.{name}.routes")
        for name in sorted(names)
        if find_spec(f"console.{name}.routes") is not None
    ]


def build(settings: Settings) -> App:
    give_back_large_blocks()
    return ConsoleApp(settings)
