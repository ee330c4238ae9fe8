"""What the page about channels and targets says, from the services' answers alone."""

from typing import Any

import pytest

from console.accounts.views import channel_line, connection_of, target_lines
from integrations.account_kinds import ACCOUNT_KINDS


def post(at: str, **changes: Any) -> dict[str, Any]:
    return {
        "post_id": "p1",
        "title": "Cold brew",
        "since": at,
        "posted_at": None,
        "reason": "",
        "detail": "",
        **changes,
    }


@pytest.mark.parametrize("kind", ACCOUNT_KINDS)
def test_the_command_has_all_that_a_kind_needs(kind: str) -> None:
    account, found = ACCOUNT_KINDS[kind], connection_of(kind, "acme")
    assert found is not None
    assert found.command.startswith(f"brandctl accounts connect {kind} --brand acme")
    assert ("--url" in found.command) == bool(account.address_example)
    assert ("--user" in found.command) == bool(account.user)
    assert ("<" in found.command.split("--set")[0]) == (
        bool(account.secret) and account.login is None and not account.needed_settings
    )


def test_a_channel_is_as_its_newest_post_says() -> None:
    out = [post("2027-03-01T08:00:00Z", posted_at="2027-03-01T08:01:00Z")]
    revoked = [
        post("2027-03-02T08:00:00Z", reason="needs_reconnecting", detail="The access token was revoked")
    ]
    assert channel_line("mastodon", "acme", [], []).state == "unknown"
    assert channel_line("feed", "acme", [], []).state == "built_in"
    assert channel_line("mastodon", "acme", out, []).state == "works"
    line = channel_line("mastodon", "acme", out, revoked)
    assert line.state == "not_connected"
    assert line.failure is not None
    assert line.failure.detail == "The access token was revoked"
    assert "connect the account again" in line.failure.step
    assert channel_line("mastodon", "acme", [post("2027-03-03T08:00:00Z")], revoked).state == "works"


def test_targets_are_those_of_the_brand_then_those_with_settings() -> None:
    configured = [{"target": "company-blog", "settings": {"kind": "ghost", "account": "acme-ghost"}}]
    failed = [
        {
            "target": "wordpress",
            "kind": "wordpress",
            "changed_at": at,
            "detail": f"refused {at}",
            "reason": "x",
        }
        for at in ("2027-03-02", "2027-03-01")
    ]
    site, wordpress, blog = target_lines("acme", ["site", "wordpress"], configured, failed)
    assert (site.is_used, site.connection, site.documentation) == (True, None, "")
    assert wordpress.failure is not None
    assert wordpress.failure.detail == "refused 2027-03-02"
    assert (blog.is_used, blog.title, blog.account) == (False, "Ghost", "acme-ghost")
