"""Contents of the page about channels and targets, from the services' answers alone."""

from typing import Any

import pytest

from console.accounts.kinds import (
    KINDS,
    AccountKind,
    can_return_to,
    credentials_of,
    free_name,
    login_result,
    missing_field,
)
from console.accounts.views import channel_line, target_lines
from console.help.guides import guide
from console.pages import Form
from console.texts import LANGUAGES, TextCatalogue, Texts


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


def form(**fields: str) -> Form:
    return Form([(name.replace("_", "-"), value) for name, value in fields.items()])


@pytest.mark.parametrize("kind", KINDS.values(), ids=lambda each: each.name)
def test_every_kind_has_steps_and_a_page_of_help(kind: AccountKind) -> None:
    for language in LANGUAGES:
        assert Texts(TextCatalogue(), language)(f"connect_steps.{kind.name}")
    found = guide(kind.documentation.removesuffix(".md"))
    assert found is not None
    assert "<h1>" in found[1]
    assert "<script" not in found[1]
    assert '.md"' not in found[1]


def test_a_form_asks_for_all_that_a_kind_needs() -> None:
    telegram, wordpress, webhook = KINDS["telegram"], KINDS["wordpress"], KINDS["webhook"]
    assert missing_field(telegram, form(secret="t"), secret=True) == "chat"
    assert missing_field(telegram, form(secret="t", setting_chat="@a"), secret=True) is None
    assert missing_field(wordpress, form(setting_url="https://a.example"), secret=True) == "user"
    assert missing_field(webhook, form(setting_url="https://a.example"), secret=True) is None
    given = form(setting_url="https://a.example", user="ann", secret=" a b ")
    assert credentials_of(wordpress, given) == {"user": "ann", "password": "a b"}
    assert free_name("x", "acme", ["acme-x"]) == "acme-x-2"


@pytest.mark.parametrize(
    ("address", "code", "refusal"),
    [
        ("https://a.example/?code=c&state=s", "c", ""),
        ("https://a.example/?code=c&state=other", "", ""),
        ("https://a.example/?code=c", "", ""),
        ("https://a.example/?error=access_denied&error_description=No+%3Cb%3E&state=s", "", "No <b>"),
        ("http://[", "", ""),
    ],
)
def test_the_address_that_a_login_ended_at_is_read(address: str, code: str, refusal: str) -> None:
    found = login_result(address, "s")
    assert (found.code, found.refusal) == (code, refusal)


def test_networks_send_browsers_back_over_https_or_to_a_port_of_this_machine() -> None:
    allowed = ("https://console.acme.example/accounts/logged-in", "http://127.0.0.1:8016/accounts/logged-in")
    assert all(map(can_return_to, allowed))
    assert not can_return_to("http://console.acme.example/accounts/logged-in")


def test_a_channel_is_as_its_newest_post_says() -> None:
    out = [post("2027-03-01T08:00:00Z", posted_at="2027-03-01T08:01:00Z")]
    revoked = [
        post("2027-03-02T08:00:00Z", reason="needs_reconnecting", detail="The access token was revoked")
    ]
    assert channel_line("mastodon", [], []).state == "unknown"
    assert channel_line("feed", [], []).state == "built_in"
    assert channel_line("mastodon", out, []).state == "works"
    line = channel_line("mastodon", out, revoked)
    assert line.state == "not_connected"
    assert line.failure is not None
    assert line.failure.detail == "The access token was revoked"
    assert "connect the account again" in line.failure.step
    assert channel_line("mastodon", [post("2027-03-03T08:00:00Z")], revoked).state == "works"


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
    site, wordpress, blog = target_lines(["site", "wordpress"], configured, failed)
    assert (site.is_used, site.kind, site.documentation) == (True, None, "")
    assert wordpress.failure is not None
    assert wordpress.failure.detail == "refused 2027-03-02"
    assert (blog.is_used, blog.title, blog.account) == (False, "Ghost", "acme-ghost")
