"""A registry finds each declaration under its name, in the declared order."""

import pytest

from integrations.account import Account
from integrations.account_kinds import ACCOUNT_KINDS, LOGIN_KINDS
from integrations.discovery import find_entries
from integrations.networks import NETWORKS, Network
from integrations.sites import SITES, Site


@pytest.mark.parametrize(
    ("package", "entry_type", "registry"),
    [("integrations.networks", Network, NETWORKS), ("integrations.sites", Site, SITES)],
)
def test_an_entry_has_the_name_of_its_module_and_a_position_of_its_own(
    package: str, entry_type: type, registry: dict[str, Network | Site]
) -> None:
    assert {name: entry.name for name, entry in find_entries(package, entry_type)} == {
        name: name for name in registry
    }
    positions = [each.position for each in registry.values()]
    assert positions == list(range(1, len(positions) + 1))


def test_whoever_has_no_account_is_known() -> None:
    assert set(NETWORKS) <= set(ACCOUNT_KINDS)
    assert set(SITES) - set(ACCOUNT_KINDS) == {"files"}
    assert list(ACCOUNT_KINDS) == sorted(ACCOUNT_KINDS)
    assert set(LOGIN_KINDS) < set(ACCOUNT_KINDS)


def test_an_account_that_has_a_log_in_says_where() -> None:
    for account in ACCOUNT_KINDS.values():
        assert isinstance(account, Account)
        assert account.api is None or account.api.startswith("https://")
        if account.login is not None:
            assert account.login.authorize_url.startswith("https://")
            assert account.login.token_url.startswith("https://")
            assert account.login.scopes
            assert account.secret == "access"


def test_a_network_says_what_to_do_about_each_refusal() -> None:
    for network in NETWORKS.values():
        assert "connect" in network.errors["needs_reconnecting"], network.name
        assert network.placements
        assert network.lost_post
