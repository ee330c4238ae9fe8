"""Facts about networks, sites and other kinds of accounts are defined once, and the code that serves them uses these."""

from typing import get_args

import pytest
from pydantic import SecretStr

from brandctl.gateway import accounts
from fakes.found import PLACES
from gateway.accounts.kinds import KINDS
from gateway.accounts.oauth import OAuthKind
from integrations.account_kinds import ACCOUNT_KINDS, LOGIN_KINDS
from integrations.networks import NETWORKS
from integrations.sites import SITES
from publisher.targets.accounts import ACCOUNTS
from social.channels import CHANNELS, REMOTE


def test_every_service_knows_the_same() -> None:
    assert set(KINDS) == set(ACCOUNT_KINDS) == set(get_args(get_args(accounts.Kind)[0]))
    assert [channel.name for channel in REMOTE] == list(NETWORKS)
    assert {*ACCOUNTS, "files"} == set(SITES)
    played = {place.account_kind for place in PLACES}
    assert played == {*NETWORKS, *ACCOUNTS}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_is_what_its_channel_can_do(name: str) -> None:
    channel = CHANNELS[name]
    assert channel.network is NETWORKS[name]
    assert channel.sending is not None
    assert channel.network.has_metrics == (channel.sending.reach is not None)
    assert len(channel.limits) == len(channel.counts)
    assert channel.network.limits_source.startswith("https://")


def test_who_is_asked_to_log_in_with_a_browser_has_a_login() -> None:
    logins = {name for name, kind in KINDS.items() if isinstance(kind, OAuthKind)}
    assert logins == set(LOGIN_KINDS) == set(get_args(get_args(accounts.LoginKind)[0]))


@pytest.mark.parametrize("name", KINDS)
def test_what_a_person_is_asked_for_is_what_the_gateway_takes(name: str) -> None:
    kind, account = KINDS[name], ACCOUNT_KINDS[name]
    assert kind.account is account
    credentials, settings = kind.credentials.model_fields, kind.settings.model_fields
    needed = {field for field, info in credentials.items() if info.is_required()}
    if account.secret:
        secret = credentials[account.secret].annotation
        assert SecretStr in (secret, *get_args(secret))
    assert needed <= {account.secret, account.user}
    assert account.user in {"", *credentials}
    has_address = "url" in settings and settings["url"].is_required()
    assert has_address == bool(account.address_example)
    assert account.needs_secret or account.secret not in needed
    assert account.can_be_checked or kind.check_request is None
