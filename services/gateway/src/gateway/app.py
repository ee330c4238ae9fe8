"""Builds the service from its parts."""

import asyncio
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Final, TypeAlias

from chassis import App
from chassis.http.audit import log as audit_log
from chassis.http.callers import Scope
from chassis.http.introspection import callers_by_key
from chassis.http.service_key import PairAccess, PairKeys
from gateway import environment
from gateway.accounts import (
    AccountCaller,
    AccountHandovers,
    AccountHealthChecker,
    AccountMailer,
    AccountRateLimiter,
    AccountRegistry,
    CredentialRenewal,
    LoginFlow,
    OAuthApps,
    RequestSender,
)
from gateway.calls import PaidCalls, ProviderCaller
from gateway.credentials import Keyring, ProviderAccounts
from gateway.egress import EgressClient, FetchLimits
from gateway.egress.connections import Resolve, system_resolver
from gateway.http_api import AccountServices, ApiServices, create_api
from gateway.limits import RateLimiter
from gateway.metrics import CallMetrics
from gateway.model import ChatCompletions
from gateway.money import SpendingCaps, SpendingControl, micros
from gateway.operator_keys import OperatorKeys
from gateway.pages import CrawlPolicy, PageReader, count_pages, user_agent
from gateway.providers import ProviderHttpClient
from gateway.search import WebSearch
from gateway.settings import Settings
from gateway.sign_in import IdentityProvider, ProviderSettings, SignInExchange

Clock: TypeAlias = Callable[[], float]
"""Monotonic seconds."""

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
        "POST /v1/accounts/{name}/mail",
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
ASKED_BY_EVENTS: Final = frozenset({"GET /v1/accounts", "POST /v1/accounts/{name}/requests"})
"""Routes that each service's key opens; none of them manages providers or caps."""


class GatewayApp(App):
    """The process; it finishes paid calls before it stops."""

    def __init__(
        self, settings: Settings, resolve: Resolve = system_resolver, clock: Clock = time.monotonic
    ) -> None:
        super().__init__("gateway", settings, system="brand_engine")
        spending = SpendingControl(
            SpendingCaps(micros(settings.cap_brand_day), micros(settings.cap_brand_month)),
            SpendingCaps(micros(settings.cap_all_day), micros(settings.cap_all_month)),
        )
        self.paid_calls = PaidCalls(
            self.connections, spending, ledger=timedelta(days=settings.keep_ledger_days)
        )
        self._egress = EgressClient(
            user_agent(settings.robot_about), exceptions=settings.egress_reachable_networks, resolve=resolve
        )
        self._reader = PageReader(self.connections, self._egress, _policy(settings))
        keyring = Keyring(settings.gateway_keys, settings.gateway_keys_file)
        accounts = ProviderAccounts(self.connections, keyring, environment.accounts(settings))
        limiter = RateLimiter(self.connections)
        self._http = ProviderHttpClient(
            user_agent(settings.robot_about), settings.egress_reachable_networks, resolve
        )
        caller = ProviderCaller(accounts, self.paid_calls, limiter, self._http)
        web_search = WebSearch(caller, fresh=timedelta(hours=settings.search_fresh_hours))
        completions = ChatCompletions(caller, fresh=timedelta(hours=settings.model_fresh_hours))
        reader = self._reader if settings.robot_about else None
        registry, apps = AccountRegistry(self.connections, keyring), OAuthApps(self.connections, keyring)
        self._registry = registry
        sender = RequestSender(user_agent(settings.robot_about), resolve, settings.egress_reachable_networks)
        renewal = CredentialRenewal(self.connections, registry, apps, sender)
        rate_limiter = AccountRateLimiter(self.connections, limiter)
        self._asking = AccountCaller(
            self.connections, registry, renewal, rate_limiter, self.paid_calls, sender
        )
        self._health = AccountHealthChecker(self.connections, registry, renewal, sender)
        connected = AccountServices(
            registry,
            apps,
            self._asking,
            AccountMailer(registry, rate_limiter, sender),
            LoginFlow(self.connections, keyring, registry, apps, sender),
            self._health,
            AccountHandovers(self.connections, keyring, registry, settings.moves_key),
        )
        provider = _identity_provider(settings, resolve, clock)
        services = ApiServices(
            self.connections,
            spending,
            accounts,
            self._http,
            web_search,
            completions,
            reader,
            connected,
            SignInExchange(self.connections, keyring, provider),
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
            PairAccess("events", settings.events_to_gateway_key, ASKED_BY_EVENTS),
        )
        people = OperatorKeys(callers_by_key(settings.orchestrator, settings.service_key, self.closes))
        self.serve(create_api(PairKeys(people, pairs), services))
        self.poll("audit log", self._forget_old, every=timedelta(hours=1))
        self.poll("accounts", self._health.tick, every=timedelta(seconds=30))
        self.poll("calls", self.paid_calls.sweep, every=timedelta(seconds=5))
        self.poll("ledger", self.paid_calls.forget_old, every=timedelta(hours=1))
        cleaned = partial(self._reader.clean_cache, settings.page_cache_megabytes * 1_000_000)
        self.poll("pages", cleaned, every=timedelta(minutes=5))
        shown = CallMetrics(self.metrics.families, self.paid_calls.counts, spending, accounts)
        self.metrics.add_sample(shown.sample)
        for counter in self.paid_calls.counts:
            self.metrics.add_collector(counter)
        self.gauge(
            "pages_kept", "Pages of the web that are kept, by whether they are good.", "state", count_pages
        )

    async def _forget_old(self) -> None:
        async with self.connections.connection() as connection:
            await audit_log.forget(connection, timedelta(days=self.settings.keep_audit_log_days))
        await self._registry.forget_erased()

    async def _finish_work(self, grace_seconds: float) -> None:
        await asyncio.gather(self.paid_calls.finish(grace_seconds), self._asking.finish(grace_seconds))

    async def _disconnect(self) -> None:
        await self._reader.finish()
        await self._egress.aclose()
        await self._http.close()


def _identity_provider(settings: Settings, resolve: Resolve, clock: Clock) -> IdentityProvider | None:
    """Returns the identity provider; None without one in the settings."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    return IdentityProvider(
        ProviderSettings(settings.oidc_issuer, settings.oidc_client_id, settings.oidc_client_secret),
        user_agent(settings.robot_about),
        resolve,
        settings.egress_reachable_networks,
        clock,
    )


def _policy(settings: Settings) -> CrawlPolicy:
    return CrawlPolicy(
        limits=FetchLimits(settings.page_seconds, settings.page_max_bytes),
        pause=timedelta(seconds=settings.page_pause_seconds),
        patience=timedelta(seconds=settings.page_patience_seconds),
    )


def build(settings: Settings, *, resolve: Resolve = system_resolver) -> App:
    """Creates the process; `resolve` replaces name look-ups in tests."""
    return GatewayApp(settings, resolve)
