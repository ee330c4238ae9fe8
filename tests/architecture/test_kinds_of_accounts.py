"""`brandctl accounts` speaks of the kinds that the gateway has, and calls what they need by the gateway's names."""

from typing import get_args

import pytest
from pydantic import SecretStr

from brandctl.gateway import accounts
from gateway.accounts.kinds import KINDS
from gateway.accounts.oauth import OAuthKind


def test_the_command_and_the_gateway_know_the_same_kinds() -> None:
    assert set(accounts.SECRETS) == set(KINDS)
    assert set(get_args(get_args(accounts.Kind)[0])) == set(KINDS)


def test_who_is_asked_to_log_in_with_a_browser_has_a_login() -> None:
    logins = {name for name, kind in KINDS.items() if isinstance(kind, OAuthKind)}
    assert logins == accounts.LOGINS
    assert set(get_args(get_args(accounts.LoginKind)[0])) == logins


@pytest.mark.parametrize("name", KINDS)
def test_what_the_command_asks_for_is_what_the_kind_takes(name: str) -> None:
    kind = KINDS[name]
    credentials, settings = kind.credentials.model_fields, kind.settings.model_fields
    secret = accounts.SECRETS[name]
    needed = {field for field, info in credentials.items() if info.is_required()}
    if secret:
        assert SecretStr in (credentials[secret].annotation, *get_args(credentials[secret].annotation))
    assert needed <= {secret, accounts.USERS.get(name, "")}
    assert name not in accounts.USERS or accounts.USERS[name] in credentials
    places = "url" in settings and settings["url"].is_required()
    assert places == (name in accounts.PLACES)
    assert (name in accounts.MAY_HAVE_NONE) <= (secret not in needed)
