"""The only place that wires the service together."""

import asyncio
from datetime import timedelta
from typing import Final

from chassis import App, ServiceKey
from chassis.http.audit import log as audit_log
from chassis.http.callers import Scope
from chassis.http.service_key import PairAccess, PairKeys
from gateway import environment
from gateway.accounts import (
    Apps,
    AskingAccounts,
    Authorizing,
    Health,
    Mailing,
    Registry,
    Renewing,
    Sender,
    Turns,
    fences,
)
from gateway.calls import Paying
from gateway.calls.store import SENT_BY_BRAND
from gateway.credentials import Accounts, Keyring
from gateway.egress import Egress, Limits
from gateway.egress.connecting import Resolve, system_resolver
from gateway.http_api import ConnectedAccounts, Rooms, create_api
from gateway.limits import Gates
from gateway.metrics import CallMetrics
from gateway.model import Writing
from gateway.money import Caps, Spending, micros
from gateway.pages import Cleaning, Manners, Reader, counted, robot
from gateway.providers.asking import Http
from gateway.search import Searching
from gateway.settings import Settings

_AN_HOUR: Final = 3600.0
ASKED_BY_ORCHESTRATOR: Final = frozenset(
    {
        "POST /v1/chat/completions",
        "GET /v1/models",
        "GET /v1/pages/answer",
        "GET /v1/accounts",
        "PUT /v1/erasures/{erasure_id}",
    }
)
ASKED_BY_RESEARCH: Final = frozenset({"POST /v1/search", "POST /v1/chat/completions", "GET /v1/pages"})
ASKED_BY_PUBLISHER: Final = frozenset(
    {
        "GET /v1/accounts",
        "POST /v1/accounts/{name}/requests",
        "POST /v1/accounts/{name}/fences",
        "GET /v1/pages",
    }
)
ASKED_BY_SOCIAL: Final = frozenset(
    {"GET /v1/accounts", "POST /v1/accounts/{name}/requests", "POST /v1/accounts/{name}/fences"}
)
ASKED_BY_MONITOR: Final = frozenset(
    {
        "GET /v1/accounts",
        "POST /v1/accounts/{name}/requests",
        "POST /v1/accounts/{name}/mail",
        "GET /v1/spend",
    }
)
"""What the keys of those who ask for the outside open: neither providers nor what may be spent."""


class Gateway(App):
    """A process that hears the end of what it has paid for before it stops."""

    def __init__(self, settings: Settings, resolve: Resolve = system_resolver) -> None:
        super().__init__("gateway", settings, system="brand_engine")
        spending = Spending(
            Caps(micros(settings.cap_brand_day), micros(settings.cap_brand_month)),
            Caps(micros(settings.cap_all_day), micros(settings.cap_all_month)),
        )
        self.paying = Paying(self.connections, spending, ledger=timedelta(days=settings.keep_ledger_days))
        self._egress = Egress(
            robot(settings.robot_about), exceptions=settings.egress_reachable_networks, resolve=resolve
        )
        self._reader = Reader(self.connections, self._egress, _manners(settings))
        keyring = Keyring(settings.gateway_keys, settings.gateway_keys_file)
        accounts = Accounts(self.connections, keyring, environment.accounts(settings))
        gates = Gates(self.connections, SENT_BY_BRAND)
        self._http = Http(robot(settings.robot_about))
        fresh = timedelta(hours=settings.search_fresh_hours)
        searching = Searching(accounts, self.paying, gates, self._http, fresh=fresh)
        fresh = timedelta(hours=settings.model_fresh_hours)
        writing = Writing(accounts, self.paying, gates, self._http, fresh=fresh)
        reader = self._reader if settings.robot_about else None
        registry, apps = Registry(self.connections, keyring), Apps(self.connections, keyring)
        self._registry = registry
        sender = Sender(robot(settings.robot_about), resolve, settings.egress_reachable_networks)
        renewing = Renewing(self.connections, registry, apps, sender)
        turns = Turns(self.connections, Gates(self.connections, fences.UNDER_WAY))
        self._asking = AskingAccounts(self.connections, registry, renewing, turns, self.paying, sender)
        self._health = Health(self.connections, registry, renewing, sender)
        connected = ConnectedAccounts(
            registry,
            apps,
            self._asking,
            Mailing(self.connections, registry, turns, sender),
            Authorizing(self.connections, keyring, registry, apps, sender),
            self._health,
        )
        rooms = Rooms(
            self.connections,
            spending,
            accounts,
            searching,
            writing,
            reader,
            connected,
        )
        pairs = (
            PairAccess(
                "orchestrator",
                settings.orchestrator_to_gateway_key,
                ASKED_BY_ORCHESTRATOR,
                frozenset({Scope.READ, Scope.SUBMIT, Scope.ADMIN}),
            ),
            PairAccess("research", settings.research_to_gateway_key, ASKED_BY_RESEARCH),
            PairAccess("publisher", settings.publisher_to_gateway_key, ASKED_BY_PUBLISHER),
            PairAccess("social", settings.social_to_gateway_key, ASKED_BY_SOCIAL),
            PairAccess("monitor", settings.monitor_to_gateway_key, ASKED_BY_MONITOR),
        )
        self.serve(create_api(PairKeys(ServiceKey(settings.service_key), pairs), rooms))
        self.background("audit log", self._forget_old)
        self.background("accounts", self._health.run)
        self.background("calls", self.paying.keep_sweeping)
        self.background("pages", Cleaning(self.connections, settings.page_cache_megabytes * 1_000_000).run)
        shown = CallMetrics(self.metrics.families, self.paying.counts, spending, accounts)
        self.metrics.add_collector(shown)
        self.metrics.add_sample(shown.sample)
        self.gauge(
            "pages_kept", "Pages of the web that are kept, by whether they are good.", "state", counted
        )

    async def _forget_old(self) -> None:
        while True:
            async with self.connections.connection() as connection:
                await audit_log.forget(connection, timedelta(days=self.settings.keep_audit_log_days))
            await self._registry.forget_erased()
            await asyncio.sleep(_AN_HOUR)

    async def _finish_work(self, grace_seconds: float) -> None:
        await asyncio.gather(self.paying.finish(grace_seconds), self._asking.finish(grace_seconds))

    async def _disconnect(self) -> None:
        await self._reader.finish()
        await self._egress.aclose()
        await self._http.close()


def _manners(settings: Settings) -> Manners:
    return Manners(
        limits=Limits(settings.page_seconds, settings.page_max_bytes),
        pause=timedelta(seconds=settings.page_pause_seconds),
        patience=timedelta(seconds=settings.page_patience_seconds),
    )


def build(settings: Settings, *, resolve: Resolve = system_resolver) -> App:
    """The process; `resolve`, how names are looked up, is for tests and no setting."""
    return Gateway(settings, resolve)
